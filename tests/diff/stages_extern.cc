// A stage that the user wrote as a statement: what it touches is whole, and nobody looks inside.
#include "tensorwright/te_extern.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

bool external(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool()) return false;
  // Which arm is taken must not depend on a rounding.
  const bool branch = m.facts(t).exact() && m.random().chance(60);
  const std::optional<int64_t> inner = Maker::size(t, t.rank() - 1);
  const bool lanes = inner && *inner > 1 && *inner <= 64 && m.random().chance(60);
  const auto body = [&](const std::vector<ir::Buffer>& in, const std::vector<ir::Buffer>& out) {
    std::vector<ir::Var> vars;
    std::vector<Expr> at;
    for (size_t d = 0; d < t.rank(); ++d) {
      vars.emplace_back("i" + std::to_string(d));
      at.push_back(vars.back());
    }
    const Expr x = ir::load(in[0], at), one = constant(1, type);
    ir::Stmt loops = ir::store(out[0], at, x + one);
    if (branch) loops = ir::if_then(ir::binary(ir::BinOp::kLt, x, one), loops, ir::store(out[0], at, x - one));
    for (size_t d = t.rank(); d-- > 0;)
      loops = ir::loop(vars[d], t.shape()[d], loops,
                       lanes && d + 1 == t.rank() ? ir::ForKind::kVectorized : ir::ForKind::kSerial);
    return loops;
  };
  const std::string name = "T" + std::to_string(m.count());
  return m.adopt(te::external({{type, t.shape()}}, {t}, body, name), {add(m.facts(t), {1, 1, 0})});
}

}  // namespace tw::diff
