// Vectors as elements: in Python a tensor of float32x2, in C++ one of float32 with a last axis of 2 lanes. What reads
// one has lanes itself and gives them no subscript, so that tensors of vectors are read by stages of this kind only.
// Their names begin with V, by which te_python.cc knows them.
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

// In Python the axis of the lanes names itself.
std::vector<std::string> axis_names(size_t rank) {
  std::vector<std::string> names = {"i", "j", "k", "l"};
  names.resize(rank - 1);
  names.emplace_back("lane");
  return names;
}

bool define(Maker& m, const std::vector<Expr>& shape, const Facts& facts, const Body& body) {
  return m.adopt({te::compute(shape, body, "V" + std::to_string(m.count()), axis_names(shape.size()))}, {facts});
}

// A sum of each lane along one of the other axes.
bool sum(Maker& m, const Tensor& v) {
  const size_t d = static_cast<size_t>(m.random().below(static_cast<int64_t>(v.rank()) - 1));
  const IterVar k = te::reduce_axis(0, v.shape()[d], "r");
  std::vector<Expr> shape = v.shape();
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
  return define(m, shape, sum_of(m.facts(v), m.most(v.shape()[d]), v.dtype()), [&](const Vars& axes) {
    std::vector<Expr> at = exprs(axes);
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(d), Expr(k));
    return te::sum(v(at), {k});
  });
}

}  // namespace

bool is_of_vectors(const std::string& tensor) { return tensor.starts_with("V"); }

bool vectors(Maker& m, const Tensor& t) {
  if (t.dtype().is_bool() || t.rank() == 0 || t.rank() > 3) return false;
  std::vector<Expr> shape = t.shape();
  shape.emplace_back(m.random().one_of<int64_t>({2, 2, 3, 4, 8}));
  const Tensor v = m.placeholder(shape, t.dtype(), {}, "VA");
  const Facts x = m.facts(t), y = m.facts(v), c{3, 1, 0};
  const int64_t kind = m.random().below(3);
  const Facts facts = kind == 0 ? add(y, x) : kind == 1 ? join(y, x) : add(mul(y, c), x);
  const Body body = [&](const Vars& axes) -> Expr {
    const Expr a = v(exprs(axes)), scalar = t(std::vector<Expr>(axes.begin(), axes.end() - 1));
    if (kind == 0) return a + scalar;
    return kind == 1 ? te::max(a, scalar) : a * constant(3, t.dtype()) + scalar;
  };
  if (!define(m, shape, facts, body)) return false;
  if (m.random().chance(40)) sum(m, m.last());
  return true;
}

}  // namespace tw::diff
