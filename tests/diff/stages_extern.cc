// A stage that the user wrote as a statement: what it touches is whole, and nobody looks inside.
#include "tensorwright/te_extern.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

bool external(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool()) return false;
  const auto body = [&](const std::vector<ir::Buffer>& in, const std::vector<ir::Buffer>& out) {
    std::vector<ir::Var> vars;
    std::vector<Expr> at;
    for (size_t d = 0; d < t.rank(); ++d) {
      vars.emplace_back("i" + std::to_string(d));
      at.push_back(vars.back());
    }
    ir::Stmt loops = ir::store(out[0], at, ir::load(in[0], at) + constant(1, type));
    for (size_t d = t.rank(); d-- > 0;) loops = ir::loop(vars[d], t.shape()[d], loops);
    return loops;
  };
  const std::string name = "T" + std::to_string(m.count());
  return m.adopt(te::external({{type, t.shape()}}, {t}, body, name), {add(m.facts(t), {1, 1, 0})});
}

}  // namespace tw::diff
