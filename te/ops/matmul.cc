// matmul and dense:   out[..., i, j] = sum over k of a[..., i, k] * b[..., k, j]
#include "te/ops/matmul.h"

#include <algorithm>

#include "te/operation.h"
#include "te/ops/axes.h"

namespace tw::te::ops {
namespace {

constexpr size_t kMaxBatch = kMaxRank - 2;

// The dimensions in front of the last two, those of `a` and `b` side by side.
struct Batch {
  const Tensor &a, &b;
  size_t rank() const { return std::max(a.rank(), b.rank()) - 2; }

  // Extent `d` of the batch in t; 1 where t has none.
  Expr extent(const Tensor& t, size_t d) const {
    const size_t missing = rank() - (t.rank() - 2);
    return d < missing ? Expr(1) : t.shape()[d - missing];
  }
  // The subscripts of t's part of the batch.
  std::vector<Expr> at(const Tensor& t, const std::vector<Var>& point) const {
    std::vector<Expr> result;
    for (size_t d = rank() - (t.rank() - 2); d < rank(); ++d)
      result.push_back(ir::is_int(extent(t, d), 1) ? Expr(0) : Expr(point[d]));
    return result;
  }
  std::vector<Expr> shape(const Site& site) const {
    std::vector<Expr> result;
    for (size_t d = 0; d < rank(); ++d) {
      const Expr ea = extent(a, d), eb = extent(b, d);
      if (!ir::is_int(ea, 1) && !ir::is_int(eb, 1) && !same_extent(ea, eb))
        site.refuse(ErrorKind::kExpr,
                    "batch dimensions must agree or be 1, not " + short_text(ea) + " and " + short_text(eb),
                    {describe("a", a), describe("b", b)});
      result.push_back(ir::is_int(ea, 1) ? eb : ea);
    }
    return result;
  }
};

std::vector<std::string> axis_names(size_t batch) {
  std::vector<std::string> names;
  for (size_t d = 0; d < batch; ++d) names.push_back(batch == 1 ? "b" : "b" + std::to_string(d));
  names.insert(names.end(), {"i", "j"});
  return names;
}

// A row and a column behind the batch, as the matrix is kept.
Expr element(const Tensor& t, std::vector<Expr> batch, bool transposed, Expr row, Expr column) {
  if (transposed) std::swap(row, column);
  batch.insert(batch.end(), {row, column});
  return t(std::move(batch));
}

const Expr& extent(const Tensor& t, bool transposed, size_t dimension) {
  return t.shape()[t.rank() - 2 + (transposed ? 1 - dimension : dimension)];
}

}  // namespace

Tensor multiply(const Product& p, const std::string& a_name, const std::string& b_name, const Epilogue& epilogue) {
  const Site& site = epilogue.site;
  const Batch batch{p.a, p.b};
  if (batch.rank() > kMaxBatch)
    site.refuse(
        ErrorKind::kExpr,
        "the batch must have at most " + std::to_string(kMaxBatch) + " dimensions, not " + std::to_string(batch.rank()),
        {describe(a_name, p.a), describe(b_name, p.b)});
  const Expr depth = extent(p.a, p.transpose_a, 1);
  site.same("rows of " + b_name, extent(p.b, p.transpose_b, 0), "columns of " + a_name, depth,
            {describe(a_name, p.a) + (p.transpose_a ? ", transposed" : ""),
             describe(b_name, p.b) + (p.transpose_b ? ", transposed" : "")});
  const Expr columns = extent(p.b, p.transpose_b, 1);
  epilogue.check(columns);
  std::vector<Expr> shape = batch.shape(site);
  shape.insert(shape.end(), {extent(p.a, p.transpose_a, 0), columns});
  const std::vector<std::string> names = axis_names(batch.rank());
  const IterVar k = reduce_axis(0, depth, "k", site.where);
  const auto body = [&](const std::vector<Var>& at) {
    const Var &i = at[at.size() - 2], &j = at.back();
    return sum(product(epilogue.dtypes, element(p.a, batch.at(p.a, at), p.transpose_a, i, k),
                       element(p.b, batch.at(p.b, at), p.transpose_b, k, j)),
               {k});
  };
  const Tensor sums = compute(shape, body, epilogue.name_of_sums(), names, site.where);
  return epilogue.apply(sums, names, [](const std::vector<Var>& at) { return at.back(); });
}

Tensor matmul(const Tensor& a, const Tensor& b, MatmulOptions options, SourceLine where) {
  const Site site{"matmul", std::move(where)};
  site.rank_at_least("a", a, 2);
  site.rank_at_least("b", b, 2);
  const Sums dtypes = sums_of(site, "a", a, "b", b, options);
  return multiply({a, b, options.transpose_a, options.transpose_b}, "a", "b", {site, dtypes, {}, {}, options.name});
}

Tensor dense(const Tensor& x, const Tensor& w, DenseOptions options, SourceLine where) {
  const Site site{"dense", std::move(where)};
  site.rank_at_least("x", x, 2);
  site.rank("w", w, 2);
  const Sums dtypes = sums_of(site, "x", x, "w", w, options);
  return multiply({x, w, false, options.transpose_w}, "x", "w",
                  {site, dtypes, options.bias, options.activation, options.name});
}

}  // namespace tw::te::ops
