// cumsum and cumprod: a scan whose time is the axis, and behind it the stage that puts the axis back to its place.
//
//   scan[0, ..] = x[0];  scan[t, ..] = scan[t - 1, ..] + x[t];  out[.., i, ..] = scan[i, ..], or scan[i - 1, ..]
#include "tensorwright/ops/cumulative.h"

#include "src/ir/simplify.h"
#include "te/dtype.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

class Cumulative {
 public:
  Cumulative(Site site, const Tensor& x, const CumulativeOptions& options, ir::ReduceOp op)
      : site_(std::move(site)), x_(x), options_(options), op_(op) {
    expect_given(site_, "x", x);
    if (x.dtype().is_storage()) expect_number(site_, "x", x);
    axis_ = axis_of(site_, x.rank(), options.axis);
    const Type type = x.dtype();
    result_ = !options.dtype.empty()                   ? site_.dtype("dtype", options.dtype)
              : type.is_float() || type == Type::u(64) ? type
                                                       : Type::i(64);
    if (result_.is_storage() || result_.is_bool() || (type.is_float() && !result_.is_float()))
      site_.refuse(ErrorKind::kDType, "dtype must be one to add up in, not " + dtype_name(result_), {describe("x", x)});
    type_ = accumulator(result_);
    time_first_ = {x.shape()[axis_]};
    for (size_t d = 0; d < x.rank(); ++d)
      if (d != axis_) time_first_.push_back(x.shape()[d]);
  }

  Tensor result() const {
    const std::string name = options_.name.empty() ? site_.op : options_.name;
    if (ir::is_int(x_.shape()[axis_], 0))  // no first element that a scan could begin with
      return compute(
          x_.shape(), [&](const std::vector<Var>& i) { return convert(result_, x_(exprs(i))); }, name, {}, site_.where);
    const bool in_place = axis_ == 0 && !options_.reverse && !options_.exclusive && type_ == result_;
    const Tensor values = running(in_place ? name : name + "_scan", name);
    if (in_place) return values;
    return compute(
        x_.shape(),
        [&](const std::vector<Var>& i) {
          const Expr time = options_.reverse ? mirrored(i[axis_]) : Expr(i[axis_]);
          std::vector<Expr> at = {options_.exclusive ? time - Expr(1) : time};
          for (size_t d = 0; d < i.size(); ++d)
            if (d != axis_) at.push_back(i[d]);
          if (!options_.exclusive) return convert(result_, values(at));
          return if_then_else(time > Expr(0), convert(result_, values(at)), ir::identity_of(op_, result_));
        },
        name, {}, site_.where);
  }

 private:
  Expr mirrored(const Expr& i) const { return ir::simplify(x_.shape()[axis_] - Expr(1) - i); }

  // The element of x at a time and the other axes.
  Expr element(const Expr& time, const std::vector<Var>& point) const {
    std::vector<Expr> at(point.begin() + 1, point.end());
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis_), options_.reverse ? mirrored(time) : time);
    return convert(type_, x_(at));
  }

  // The first element; of an axis that may turn out to be empty only where there is one.
  Expr beginning(const std::vector<Var>& point) const {
    const Expr& extent = x_.shape()[axis_];
    if (ir::as_int(extent)) return element(0, point);
    return if_then_else(extent > Expr(0), element(0, point), ir::identity_of(op_, type_));
  }

  Tensor running(const std::string& name, const std::string& prefix) const {
    const Tensor state =
        placeholder(time_first_, dtype_name(type_), prefix + "_state", std::vector<Expr>{}, site_.where);
    std::vector<Expr> first = time_first_;
    first[0] = 1;
    const std::vector<std::string> axes = {"t"};
    const Tensor init =
        compute(first, [&](const std::vector<Var>& i) { return beginning(i); }, prefix + "_init", axes, site_.where);
    const Tensor update = compute(
        time_first_,
        [&](const std::vector<Var>& i) {
          std::vector<Expr> before = exprs(i);
          before[0] = before[0] - Expr(1);
          return ir::combine(op_, state(before), element(i[0], i));
        },
        prefix + "_update", axes, site_.where);
    return scan({init}, {update}, {state}, name, site_.where)[0];
  }

  Site site_;
  const Tensor& x_;
  const CumulativeOptions& options_;
  ir::ReduceOp op_;
  size_t axis_ = 0;
  Type type_, result_;
  std::vector<Expr> time_first_;
};

}  // namespace

Tensor cumsum(const Tensor& x, CumulativeOptions options, SourceLine where) {
  return Cumulative({"cumsum", std::move(where)}, x, options, ir::ReduceOp::kSum).result();
}

Tensor cumprod(const Tensor& x, CumulativeOptions options, SourceLine where) {
  return Cumulative({"cumprod", std::move(where)}, x, options, ir::ReduceOp::kProd).result();
}

}  // namespace tw::te::ops
