// conv2d_winograd: F(m x m, 3 x 3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2016), over
// tiles of m + 2 elements in each direction, p = (n, tile row, tile column).
//
//   U[e, f, c, o] = sum over i, j of G[e, i] * G[f, j] * w[i, j, c, o]
//   V[e, f, p, c] = sum over i, j of B[e, i] * B[f, j] * x_pad[n, tile row * m + i, tile column * m + j, c]
//   M[e, f, p, o] = sum over c of V[e, f, p, c] * U[e, f, c, o]
//   out[n, y, x, o] = sum over e, f of A[y % m, e] * A[x % m, f] * M[e, f, p(n, y / m, x / m), o]
//
// Each transform is two stages, one for a direction; a row of a matrix is an arm of a selection, so that a schedule
// that unrolls e or f is left with the few additions of that row.
#include "te/dtype.h"
#include "te/ops/axes.h"
#include "te/ops/conv.h"

namespace tw::te::ops {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Transforms {
  Matrix data, weights, result;  // B, G, A
};

// clang-format off: tables
const Transforms kF2{
    {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
    {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
    {{1, 1, 1, 0}, {0, 1, -1, -1}}};
const Transforms kF4{
    {{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0},
     {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
    {{0.25, 0, 0}, {-1 / 6., -1 / 6., -1 / 6.}, {-1 / 6., 1 / 6., -1 / 6.},
     {1 / 24., 1 / 12., 1 / 6.}, {1 / 24., -1 / 12., 1 / 6.}, {0, 0, 1}},
    {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}}};
// clang-format on

using Element = std::function<Expr(int64_t)>;

// The sum of coefficient * element over the coefficients that are not 0, one that is positive first where there is one.
Expr combination(const std::vector<double>& coefficients, const Element& element) {
  Expr result;
  for (const bool positive : {true, false}) {
    for (size_t i = 0; i < coefficients.size(); ++i) {
      const double c = coefficients[i];
      if (c == 0 || (c > 0) != positive) continue;
      const Expr value = element(static_cast<int64_t>(i));
      const Expr term = std::abs(c) == 1 ? value : value * ir::float_imm(value.type(), std::abs(c));
      result = !result ? (positive ? term : ir::float_imm(term.type(), 0) - term)
                       : (positive ? result + term : result - term);
    }
  }
  return result;
}

// Row `row` of the matrix times the elements.
Expr transformed(const Matrix& matrix, const Expr& row, const Element& element) {
  Expr result = combination(matrix.back(), element);
  for (size_t r = matrix.size() - 1; r-- > 0;)
    result = te::select(ir::eq(row, Expr(static_cast<int64_t>(r))), combination(matrix[r], element), result);
  return result;
}

struct Tiles {
  int64_t size, rows, columns;  // of results; how many
};

struct Winograd {
  const Site& site;
  Transforms by;
  Tiles tiles;
  Type type;
  std::string name;

  Expr width() const { return static_cast<int64_t>(by.data.size()); }

  Tensor stage(std::vector<Expr> shape, const char* suffix, const std::function<Expr(const std::vector<Var>&)>& body,
               std::vector<std::string> axes) const {
    return compute(std::move(shape), body, name + suffix, std::move(axes), site.where);
  }

  Tensor weights(const Tensor& w) const {
    const Expr in = w.shape()[2], out = w.shape()[3];
    const Tensor columns = stage(
        {width(), 3, in, out}, "_weights_y",
        [&](const std::vector<Var>& at) {
          return transformed(by.weights, at[0], [&](int64_t i) { return convert(type, w(i, at[1], at[2], at[3])); });
        },
        {"e", "j", "kc", "c"});
    return stage({width(), width(), in, out}, "_weights",
                 [&](const std::vector<Var>& at) {
                   return transformed(by.weights, at[1], [&](int64_t j) { return columns(at[0], j, at[2], at[3]); });
                 },
                 {"e", "f", "kc", "c"});
  }

  // x: padded so that every tile is whole.
  Tensor data(const Tensor& x) const {
    const Expr count = times(x.shape()[0], tiles.rows * tiles.columns), channels = x.shape()[3];
    const Tensor columns = stage(
        {width(), width(), count, channels}, "_data_y",
        [&](const std::vector<Var>& at) {
          const Expr column = ir::floormod(at[2], Expr(tiles.columns)), rest = ir::floordiv(at[2], Expr(tiles.columns));
          const Expr n = ir::floordiv(rest, Expr(tiles.rows));
          const Expr top = ir::floormod(rest, Expr(tiles.rows)) * Expr(tiles.size);
          return transformed(by.data, at[0], [&](int64_t i) {
            return convert(type, x(n, i == 0 ? top : top + Expr(i), column * Expr(tiles.size) + at[1], at[3]));
          });
        },
        {"e", "j", "p", "c"});
    return stage({width(), width(), count, channels}, "_data",
                 [&](const std::vector<Var>& at) {
                   return transformed(by.data, at[1], [&](int64_t j) { return columns(at[0], j, at[2], at[3]); });
                 },
                 {"e", "f", "p", "c"});
  }

  Tensor products(const Tensor& v, const Tensor& u) const {
    const IterVar kc = reduce_axis(0, u.shape()[2], "kc", site.where);
    return stage(
        {width(), width(), v.shape()[2], u.shape()[3]}, "_product",
        [&](const std::vector<Var>& at) { return sum(v(at[0], at[1], at[2], kc) * u(at[0], at[1], kc, at[3]), {kc}); },
        {"e", "f", "p", "c"});
  }

  Tensor result(const Tensor& products, const std::vector<Expr>& shape, const std::string& called) const {
    const Tensor rows =
        stage({tiles.size, width(), products.shape()[2], products.shape()[3]}, "_result_y",
              [&](const std::vector<Var>& at) {
                return transformed(by.result, at[0], [&](int64_t e) { return products(e, at[1], at[2], at[3]); });
              },
              {"y", "f", "p", "c"});
    const Expr m = tiles.size;
    const auto body = [&](const std::vector<Var>& at) {
      const Expr tile =
          (Expr(at[0]) * Expr(tiles.rows) + ir::floordiv(at[1], m)) * Expr(tiles.columns) + ir::floordiv(at[2], m);
      return transformed(by.result, ir::floormod(at[2], m),
                         [&](int64_t f) { return rows(ir::floormod(at[1], m), f, tile, at[3]); });
    };
    return compute(shape, body, called, {"n", "y", "x", "c"}, site.where);
  }
};

// The weights are 3 x 3 of the channels of x.
void check(const Site& site, const Tensor& x, const Tensor& w, int64_t tile) {
  site.rank("x", x, 4);
  site.rank("w", w, 4);
  expect_float(site, "x", x);
  expect_float(site, "w", w);
  const std::vector<std::string> shapes{describe("x", x), describe("w", w)};
  if (!ir::is_int(w.shape()[0], 3) || !ir::is_int(w.shape()[1], 3))
    site.refuse(ErrorKind::kExpr,
                "the window must be 3 x 3, not " + short_text(w.shape()[0]) + " x " + short_text(w.shape()[1]),
                {describe("w", w), "ops.conv2d takes any window"});
  site.same("channels that w reads", w.shape()[2], "channels of x", x.shape()[3], shapes);
  if (tile != 2 && tile != 4) site.refuse(ErrorKind::kArgument, "tile must be 2 or 4, not " + std::to_string(tile));
}

}  // namespace

Tensor conv2d_winograd(const Tensor& x, const Tensor& w, WinogradOptions options, SourceLine where) {
  const Site site{"conv2d_winograd", std::move(where)};
  check(site, x, w, options.tile);
  const Epilogue epilogue{site, sums(site, accumulator(site, "x", x, "w", w), options.out_dtype), options.bias,
                          options.activation, options.name};
  epilogue.check(w.shape()[3]);
  Window over = window(site, {3, 3}, {{1}, options.padding, {1}});
  const Layout layout;
  const std::vector<Expr> places = over.results(site, spatial_extents(x, layout));
  std::vector<int64_t> tiles;
  for (size_t d = 0; d < 2; ++d) {
    const int64_t extent = site.constant("a spatial extent of x", places[d]);
    tiles.push_back((extent + options.tile - 1) / options.tile);
    over.behind[d] += tiles[d] * options.tile - extent;
  }
  const Winograd form{site,
                      options.tile == 2 ? kF2 : kF4,
                      {options.tile, tiles[0], tiles[1]},
                      epilogue.dtypes.accumulator,
                      options.name};
  const Tensor data = padded(site, x, layout, over, ir::imm(x.dtype(), 0), options.name + "_pad");
  const std::vector<Expr> shape = layout.at(x.shape()[0], places, {w.shape()[3]});
  const Tensor result = form.result(form.products(form.data(data), form.weights(w)), shape, epilogue.name_of_sums());
  return epilogue.apply(result, axis_names(layout), [](const std::vector<Var>& at) { return at[3]; });
}

}  // namespace tw::te::ops
