// A stage that the user wrote as a statement: what it touches is whole, and nobody looks inside.
#include <functional>

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

// Elements that data says, mostly outside. Each is stored to once: where nothing else is, something is stored before.
bool wild_external(Maker& m, const Tensor& t) {
  const Type type = t.dtype();
  if (t.rank() == 0 || type.is_bool() || m.most_elements(t) == 0) return false;
  const size_t d = m.dimension(t);
  const Tensor index = m.placeholder({t.shape()[d]}, Type::i(32), {2, 1, 0});
  const bool reads = m.random().chance(60), writes = !reads || m.random().chance(50);
  const auto body = [&](const std::vector<ir::Buffer>& in, const std::vector<ir::Buffer>& out) {
    const auto data = [&](const std::vector<Expr>& at) { return ir::load(in[1], {at[d]}); };
    const auto each = [&](const std::function<ir::Stmt(const std::vector<Expr>&)>& element) {
      std::vector<ir::Var> vars;
      for (size_t i = 0; i < t.rank(); ++i) vars.emplace_back("i" + std::to_string(i));
      ir::Stmt loops = element({vars.begin(), vars.end()});
      for (size_t i = t.rank(); i-- > 0;) loops = ir::loop(vars[i], t.shape()[i], loops);
      return loops;
    };
    const ir::Stmt first = each([&](const std::vector<Expr>& at) {
      const Expr moved = ir::binary(ir::BinOp::kNe, data(at), constant(0, Type::i(32)));
      return ir::if_then(moved, ir::store(out[0], at, constant(1, type)));
    });
    const ir::Stmt second = each([&](const std::vector<Expr>& at) {
      std::vector<Expr> from = at, to = at;
      const Expr wild = ir::cast(Type::index(), data(at));
      if (reads) from[d] = wild * Expr(3) + at[d];
      if (writes) to[d] = wild * t.shape()[d] + at[d];
      return ir::store(out[0], to, ir::load(in[0], from));
    });
    return writes ? ir::seq({first, second}) : second;
  };
  const std::string name = "T" + std::to_string(m.count());
  return m.adopt(te::external({{type, t.shape()}}, {t, index}, body, name), {join(m.facts(t), {1, 1, 0})});
}

}  // namespace tw::diff
