#include "tests/diff/sample_te.h"

#include <algorithm>

#include "te/promote.h"

namespace tw::diff {

namespace {

using ir::Expr;
using ir::Var;
using te::IterVar;
using te::Tensor;
using Vars = std::vector<Var>;

constexpr int64_t kLargest = 3000;  // elements of a tensor

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {
    static const std::vector<std::string> kTypes = {"int32",   "int32", "int32",   "float32", "float32",
                                                    "float32", "int64", "float64", "uint8",   "int16"};
    type_ = random_.pick(kTypes);
    float_ = type_.starts_with("float");
    exact_ = !float_;
  }

  Expression run() {
    int rank = static_cast<int>(random_.below(3)) + 1;
    placeholder(std::vector<int64_t>(rank, 0));
    int stages = static_cast<int>(random_.below(4)) + 1;
    while (static_cast<int>(made_.size()) < stages) add_stage();
    return finish();
  }

 private:
  // ------------------------------------------------------------------------------------------------------ tensors

  int64_t extent() {
    return random_.chance(4) ? random_.one_of<int64_t>({0, 1})
                             : random_.one_of<int64_t>({2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17});
  }

  Tensor placeholder(std::vector<int64_t> shape) {
    std::vector<Expr> extents;
    for (int64_t e : shape) extents.push_back(e ? e : extent());
    Tensor t = te::placeholder(extents, type_, "A" + std::to_string(inputs_.size()));
    inputs_.push_back(t);
    return t;
  }

  static int64_t size(const Tensor& t, size_t d) { return *ir::as_int(t.shape()[d]); }
  static int64_t elements(const Tensor& t) {
    int64_t n = 1;
    for (size_t d = 0; d < t.rank(); ++d) n *= size(t, d);
    return n;
  }

  Tensor source() {
    if (!made_.empty() && random_.chance(75)) return random_.chance(70) ? made_.back() : random_.pick(made_);
    return random_.pick(inputs_);
  }

  // A tensor of the same shape, computed or not.
  Tensor like(const Tensor& t) {
    std::vector<Tensor> found;
    for (const auto& pool : {inputs_, made_})
      for (const Tensor& other : pool) {
        bool same = other.rank() == t.rank();
        for (size_t d = 0; same && d < t.rank(); ++d) same = size(other, d) == size(t, d);
        if (same) found.push_back(other);
      }
    return random_.pick(found);
  }

  Expr constant(int64_t value) { return te::constant(static_cast<double>(value), type_); }

  void define(std::vector<Expr> shape, const std::function<Expr(const Vars&)>& body) {
    made_.push_back(te::compute(std::move(shape), body, "T" + std::to_string(made_.size())));
  }

  static std::vector<Expr> exprs(const Vars& vars) { return {vars.begin(), vars.end()}; }

  // ------------------------------------------------------------------------------------------------------ stages

  void add_stage() {
    Tensor t = source();
    using Kind = void (Maker::*)(const Tensor&);
    static const std::vector<Kind> kKinds = {
        &Maker::elementwise, &Maker::elementwise, &Maker::diamond,   &Maker::halo,   &Maker::halo,   &Maker::pad,
        &Maker::transpose,   &Maker::strided,     &Maker::broadcast, &Maker::reduce, &Maker::reduce, &Maker::matmul,
        &Maker::matmul,      &Maker::convolve,    &Maker::flatten,   &Maker::gather};
    (this->*random_.pick(kKinds))(t);
  }

  void elementwise(const Tensor& t) {
    Tensor other = like(t);
    int64_t c = random_.below(5) + 1;
    int kind = static_cast<int>(random_.below(float_ ? 7 : 5));
    define(t.shape(), [&](const Vars& v) -> Expr {
      Expr x = t(exprs(v)), y = other(exprs(v));
      switch (kind) {
        case 0:
          return x + constant(c);
        case 1:
          return x * constant(c) - y;
        case 2:
          return te::max(x, y);
        case 3:
          return te::select(x < y, y, x + constant(c));
        case 4:
          return te::min(x, constant(c)) + y;
        case 5:
          return te::tanh(x);
        default:
          return te::sigmoid(x) * y;
      }
    });
  }

  void diamond(const Tensor& t) {
    elementwise(t);
    Tensor a = made_.back();
    define(t.shape(), [&](const Vars& v) { return a(exprs(v)) + t(exprs(v)) * a(exprs(v)); });
  }

  size_t dimension(const Tensor& t) { return static_cast<size_t>(random_.below(static_cast<int64_t>(t.rank()))); }

  void halo(const Tensor& t) {
    if (t.rank() == 0) return elementwise(t);
    size_t d = dimension(t);
    int64_t width = random_.below(3) + 1;
    if (size(t, d) < width + 1) return elementwise(t);
    std::vector<Expr> shape = t.shape();
    shape[d] = size(t, d) - width;
    define(shape, [&](const Vars& v) {
      Expr total = t(exprs(v));
      for (int64_t w = 1; w <= width; ++w) {
        std::vector<Expr> at = exprs(v);
        at[d] = at[d] + Expr(w);
        total = total + t(at) * constant(w);
      }
      return total;
    });
  }

  void pad(const Tensor& t) {
    if (t.rank() == 0 || elements(t) == 0) return elementwise(t);
    size_t d = dimension(t);
    int64_t left = random_.below(3), right = random_.below(3);
    std::vector<Expr> shape = t.shape();
    shape[d] = size(t, d) + left + right;
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      at[d] = at[d] - Expr(left);
      Expr inside = te::all({Expr(v[d]) >= Expr(left), Expr(v[d]) < Expr(left + size(t, d))});
      return te::if_then_else(inside, t(at), constant(3));
    });
  }

  void transpose(const Tensor& t) {
    std::vector<size_t> order(t.rank());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    for (size_t d = order.size(); d > 1; --d) std::swap(order[d - 1], order[random_.below(static_cast<int64_t>(d))]);
    std::vector<Expr> shape;
    for (size_t d : order) shape.push_back(t.shape()[d]);
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at(order.size());
      for (size_t d = 0; d < order.size(); ++d) at[order[d]] = v[d];
      return t(at) + constant(1);
    });
  }

  void strided(const Tensor& t) {
    if (t.rank() == 0 || elements(t) == 0) return elementwise(t);
    size_t d = dimension(t);
    bool reversed = random_.chance(40);
    std::vector<Expr> shape = t.shape();
    if (!reversed) shape[d] = (size(t, d) + 1) / 2;
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      at[d] = reversed ? Expr(size(t, d) - 1) - v[d] : Expr(v[d]) * Expr(2);
      return t(at) * constant(2);
    });
  }

  void broadcast(const Tensor& t) {
    int64_t n = random_.below(7) + 2;
    if (t.rank() >= 3 || elements(t) * n > kLargest) return elementwise(t);
    std::vector<Expr> shape = t.shape();
    size_t d = static_cast<size_t>(random_.below(static_cast<int64_t>(t.rank()) + 1));
    shape.insert(shape.begin() + static_cast<int64_t>(d), Expr(n));
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      at.erase(at.begin() + static_cast<int64_t>(d));
      return t(at) - constant(1);
    });
  }

  void reduce(const Tensor& t) {
    if (t.rank() == 0) return elementwise(t);
    size_t d = dimension(t);
    bool both = t.rank() > 1 && random_.chance(25);
    int64_t from = size(t, d) > 2 && random_.chance(20) ? 2 : 0;
    std::vector<IterVar> axes = {te::reduce_axis(from, t.shape()[d], "k")};
    if (both) axes.push_back(te::reduce_axis(0, t.shape()[d == 0 ? 1 : 0], "r"));
    std::vector<Expr> shape;
    for (size_t e = 0; e < t.rank(); ++e)
      if (e != d && !(both && e == (d == 0 ? 1u : 0u))) shape.push_back(t.shape()[e]);
    int kind = static_cast<int>(random_.below(4));
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at(t.rank());
      size_t next = 0;
      for (size_t e = 0; e < t.rank(); ++e)
        at[e] = e == d ? Expr(axes[0]) : both && e == (d == 0 ? 1u : 0u) ? Expr(axes[1]) : Expr(v[next++]);
      Expr x = t(at);
      return kind == 0 ? te::max(x, axes) : kind == 1 ? te::min(x, axes) : te::sum(kind == 2 ? x : x * x, axes);
    });
  }

  void matmul(const Tensor& t) {
    if (t.rank() != 2) return reduce(t);
    Tensor w = random_.chance(50) ? placeholder({size(t, 1), 0}) : t;
    bool transposed = w == t;  // T * T^T
    IterVar k = te::reduce_axis(0, t.shape()[1], "k");
    Expr columns = transposed ? w.shape()[0] : w.shape()[1];
    define({t.shape()[0], columns},
           [&](const Vars& v) { return te::sum(t(v[0], k) * (transposed ? w(v[1], k) : w(k, v[1])), {k}); });
  }

  void convolve(const Tensor& t) {
    if (t.rank() == 0) return elementwise(t);
    size_t d = dimension(t);
    int64_t taps = random_.below(3) + 2;
    if (size(t, d) < taps) return elementwise(t);
    Tensor w = placeholder({taps});
    IterVar k = te::reduce_axis(0, taps, "k");
    std::vector<Expr> shape = t.shape();
    shape[d] = size(t, d) - taps + 1;
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      at[d] = at[d] + Expr(k);
      return te::sum(t(at) * w(k), {k});
    });
  }

  void flatten(const Tensor& t) {
    if (t.rank() != 2 || elements(t) == 0) return elementwise(t);
    int64_t columns = size(t, 1);
    define({elements(t)}, [&](const Vars& v) {
      return t(ir::floordiv(v[0], Expr(columns)), ir::floormod(v[0], Expr(columns))) + constant(1);
    });
  }

  // Subscripts that are data: nobody knows what is read.
  void gather(const Tensor& t) {
    if (t.rank() == 0 || elements(t) == 0) return elementwise(t);
    size_t d = dimension(t);
    int64_t n = size(t, d);
    std::vector<Expr> shape = t.shape();
    shape[d] = random_.below(9) + 1;
    Tensor index = te::placeholder({shape[d]}, "int32", "I" + std::to_string(inputs_.size()));
    define(shape, [&](const Vars& v) {
      std::vector<Expr> at = exprs(v);
      at[d] = te::arith(ir::BinOp::kFloorMod, index(v[d]), te::constant(static_cast<double>(n), "int32"));
      return t(at) + constant(1);
    });
  }

  // ------------------------------------------------------------------------------------------------------ end

  bool is_read(const Tensor& t) const {
    for (const Tensor& reader : made_)
      for (const Tensor& input : reader.op()->inputs)
        if (input == t) return true;
    return false;
  }

  Expression finish() {
    Expression e;
    e.exact = exact_;
    for (const Tensor& t : made_)
      if (!is_read(t) || random_.chance(6)) e.outputs.push_back(t);
    for (const te::Operation& op : te::topological_order(e.outputs)) {
      Tensor t = op.output();
      bool output = std::find(e.outputs.begin(), e.outputs.end(), t) != e.outputs.end();
      if (op->is_placeholder() || output) e.args.push_back(t);
    }
    return e;
  }

  Random& random_;
  std::string type_;
  bool float_ = false, exact_ = true;
  std::vector<Tensor> inputs_, made_;
};

}  // namespace

Expression random_expression(Random& random) { return Maker(random).run(); }

}  // namespace tw::diff
