// Scaled dot-product attention in stages, of which each row of the result needs one row:
//
//   scores = sum over d of q * k;  masked = softcap(scores * scale) + mask, or -inf;  max = max over t of masked
//   exp = exp(masked - max);  sum = sum over t of exp;  factor = 1 / sum;  weights = exp * factor
//   attention = sum over t of weights * v
//
// Weights of bfloat16 are rounded to it, as flash attention rounds them, so that both operands of the second product
// are such as tensor cores and dot products take. Of float16, which has eight times the precision, they are not: ONNX's
// cases ask for a thousandth.
#include "tensorwright/ops/attention.h"

#include <cmath>
#include <limits>

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/operation.h"
#include "te/ops/broadcast.h"

namespace tw::te::ops {
namespace {

using Point = std::vector<Var>;

class Attention {
 public:
  Attention(Site site, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options)
      : site_(std::move(site)), q_(q), k_(k), v_(v), options_(options) {
    for (const auto& [argument, t] : {std::pair("q", &q), std::pair("k", &k), std::pair("v", &v)}) {
      expect_float(site_, argument, *t);
      site_.rank_at_least(argument, *t, 2);
      expect_dtype(site_, argument, *t, q.dtype());
      if (t->rank() != q.rank()) site_.refuse(ErrorKind::kExpr, "q, k and v must have the same rank", shapes());
    }
    front_ = q.rank() - 2;
    site_.same("columns of k", k.shape()[front_ + 1], "columns of q", q.shape()[front_ + 1], shapes());
    site_.same("rows of v", v.shape()[front_], "rows of k", k.shape()[front_], shapes());
    share_heads();
    rows_.assign(q.shape().begin(), q.shape().end() - 1);
    scores_shape_ = rows_;
    scores_shape_.push_back(k.shape()[front_]);
    check_mask();
    check_reach();
  }

  Tensor result() const {
    const Tensor masked = masked_scores(scores());
    const auto t = reduce_axis(0, k_.shape()[front_], "t", site_.where);
    const auto in_row = [&](const Tensor& x, const Point& i) { return x(with(i, t)); };
    const Tensor largest = stage("_max", rows_, [&](const Point& i) { return te::max(in_row(masked, i), {t}); });
    const Tensor e = stage("_exp", scores_shape_, [&](const Point& i) { return exp_below(masked, largest, i); });
    const Tensor total = stage("_sum", rows_, [&](const Point& i) { return te::sum(in_row(e, i), {t}); });
    const Tensor factor = stage("_factor", rows_, [&](const Point& i) { return inverse_or_zero(total(exprs(i))); });
    const Tensor weights = stage("_weights", scores_shape_, [&](const Point& i) {
      const Expr weight = e(exprs(i)) * factor(exprs(row(i)));
      return q_.dtype() == ir::Type::bf16() ? convert(q_.dtype(), weight) : weight;
    });
    std::vector<Expr> shape = rows_;
    shape.push_back(v_.shape()[front_ + 1]);
    const bool halves = e.dtype() != q_.dtype();
    const Tensor values = stage(halves ? "_wide" : "", shape, [&](const Point& i) {
      return te::sum(wide(weights(with(row(i), t))) * wide(v_(of_head(v_, i, t, i.back()))), {t});
    });
    if (!halves) return values;
    return stage("", shape, [&](const Point& i) { return convert(q_.dtype(), values(exprs(i))); });
  }

 private:
  static Expr wide(const Expr& e) { return convert(accumulator(e.type()), e); }
  static Point row(const Point& i) { return {i.begin(), i.end() - 1}; }
  static std::vector<Expr> with(const Point& row, const Expr& last) {
    std::vector<Expr> at = exprs(row);
    at.push_back(last);
    return at;
  }
  std::vector<std::string> shapes() const { return {describe("q", q_), describe("k", k_), describe("v", v_)}; }

  // Heads of k and v are shared by so many neighbouring ones of q.
  void share_heads() {
    for (size_t d = 0; d < front_; ++d) {
      site_.same("axis " + std::to_string(d) + " of v", v_.shape()[d], "those of k", k_.shape()[d], shapes());
      if (same_extent(q_.shape()[d], k_.shape()[d])) continue;
      const auto heads = ir::as_int(q_.shape()[d]), fewer = ir::as_int(k_.shape()[d]);
      if (d + 1 != front_ || !heads || !fewer || *fewer == 0 || *heads % *fewer != 0)
        site_.refuse(ErrorKind::kExpr,
                     "axis " + std::to_string(d) + " of k and v must be that of q, " + short_text(q_.shape()[d]) +
                         (d + 1 == front_ ? ", or divide it" : "") + ", not " + short_text(k_.shape()[d]),
                     shapes());
      sharing_ = *heads / *fewer;
    }
  }
  // The subscripts in k or v of the head that point i belongs to.
  std::vector<Expr> of_head(const Tensor& t, const Point& i, const Expr& place, const Expr& column) const {
    std::vector<Expr> at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(front_));
    if (sharing_ > 1) at.back() = ir::floordiv(at.back(), sharing_);
    at.insert(at.end(), {place, column});
    return at;
  }

  void check_mask() const {
    if (!options_.mask) return;
    const Tensor& mask = options_.mask;
    if (!mask.dtype().is_bool()) expect_float(site_, "mask", mask);
    bool fits = mask.rank() <= scores_shape_.size();
    for (size_t d = 0; fits && d < mask.rank(); ++d)
      fits = ir::is_int(mask.shape()[d], 1) ||
             same_extent(mask.shape()[d], scores_shape_[scores_shape_.size() - mask.rank() + d]);
    if (!fits)
      site_.refuse(ErrorKind::kExpr,
                   "mask must have the shape of the scores, " + shape_text(scores_shape_) +
                       ", or 1 where it is repeated, not " + shape_text(mask.shape()),
                   shapes());
  }

  void check_reach() const {
    const auto known = ir::as_int(options_.past);
    if (!is_extent(options_.past) || (known && *known < 0))
      site_.refuse(ErrorKind::kArgument,
                   "past must be an integer from 0 on or an expression of te.var, not " + short_text(options_.past));
    const std::vector<int64_t>& w = options_.window;
    if (!w.empty() && (w.size() != 2 || w[0] < -1 || w[1] < -1))
      site_.refuse(ErrorKind::kArgument, "window must be two numbers, (left, right), from 0 on or -1 for no end");
    if (!(options_.softcap >= 0))
      site_.refuse(ErrorKind::kArgument,
                   "softcap must be a positive number, or 0 for none, not " + std::to_string(options_.softcap));
  }

  Tensor stage(const char* suffix, const std::vector<Expr>& shape,
               const std::function<Expr(const Point&)>& body) const {
    return compute(shape, body, options_.name + suffix, {}, site_.where);
  }

  Tensor scores() const {
    const auto d = reduce_axis(0, q_.shape()[front_ + 1], "d", site_.where);
    return stage("_scores", scores_shape_, [&](const Point& i) {
      return te::sum(wide(q_(with(row(i), d))) * wide(k_(of_head(k_, i, i.back(), d))), {d});
    });
  }

  Tensor masked_scores(const Tensor& scores) const {
    const auto columns = ir::as_int(q_.shape()[front_ + 1]);
    if (!options_.scale && !columns)
      site_.refuse(ErrorKind::kArgument, "scale must be given where the columns of q are not known", shapes());
    const double scale = options_.scale ? *options_.scale : 1 / std::sqrt(static_cast<double>(*columns));
    return stage("_masked", scores_shape_, [&](const Point& i) {
      const Expr least = ir::imm(scores.dtype(), -std::numeric_limits<double>::infinity());
      Expr value = scores(exprs(i)) * ir::imm(scores.dtype(), scale);
      if (options_.softcap > 0) {
        const Expr cap = ir::imm(scores.dtype(), options_.softcap);
        value = cap * te::tanh(divide(value, cap));
      }
      if (options_.mask) {
        const Expr m = options_.mask(broadcast_at(options_.mask, exprs(i)));
        value = m.type().is_bool() ? te::select(m, value, least) : value + convert(value.type(), m);
      }
      const Expr near = in_reach(i);
      return near ? te::select(near, value, least) : value;
    });
  }

  // Whether column t is one that row s may see; empty where it may see all.
  Expr in_reach(const Point& i) const {
    const Expr t = i.back(), s = ir::simplify(Expr(i[front_]) + options_.past);
    std::vector<Expr> conditions;
    if (options_.causal) conditions.push_back(t <= s);
    if (!options_.window.empty()) {
      const int64_t left = options_.window[0], right = options_.window[1];
      if (left >= 0) conditions.push_back(ir::simplify(s - Expr(left)) <= t);
      if (right >= 0 && !options_.causal) conditions.push_back(t <= ir::simplify(s + Expr(right)));
    }
    return conditions.empty() ? Expr() : te::all(conditions);
  }

  static Expr inverse_or_zero(const Expr& total) {
    const Expr none = ir::imm(total.type(), 0);
    return te::select(ir::eq(total, none), none, divide(ir::imm(total.type(), 1), total));
  }

  // Where nothing takes part the largest is -inf, and exp(-inf - -inf) would be NaN.
  Expr exp_below(const Tensor& masked, const Tensor& largest, const Point& i) const {
    const Expr m = largest(exprs(row(i))), least = ir::imm(m.type(), -std::numeric_limits<double>::infinity());
    return exp(masked(exprs(i)) - te::select(ir::eq(m, least), ir::imm(m.type(), 0), m));
  }

  Site site_;
  const Tensor &q_, &k_, &v_;
  const AttentionOptions& options_;
  size_t front_ = 0;  // how many dimensions stand in front of the last two
  int64_t sharing_ = 1;
  std::vector<Expr> rows_, scores_shape_;
};

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, AttentionOptions options, SourceLine where) {
  return Attention({"attention", std::move(where)}, q, k, v, options).result();
}

}  // namespace tw::te::ops
