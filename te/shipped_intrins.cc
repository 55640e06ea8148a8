// A matrix-vector tile each: the output lies along the lanes, one group of the reduction is a product of the
// instruction.
//
//   fma_16                  c[j] += a[k] * b[k, j]     16 x 1   float32
//   avx512_vnni_dot_16x4    c[j] += a[k] * b[j, k]     16 x 4   int32 += uint8 * int8                      vpdpbusd
//   avx512_vnni_s8s8_16x4   c[j] += a[k] * b[j, k]     16 x 4   int32 += int8 * int8            vpdpbusd, corrected
//   avx_vnni_dot_8x4        c[j] += a[k] * b[j, k]      8 x 4   int32 += uint8 * int8                      vpdpbusd
//   avx_vnni_s8s8_8x4       c[j] += a[k] * b[j, k]      8 x 4   int32 += int8 * int8            vpdpbusd, corrected
//   avx2_maddubs_8x4        c[j] += a[k] * b[j, k]      8 x 4   int32 += uint8 * int8, two in int16  vpmaddubsw
//   avx512_bf16_dot_16x2    c[j] += a[k] * b[j, k]     16 x 2   float32 += bfloat16 * bfloat16            vdpbf16ps
//   neon_sdot_4x4           c[j] += a[k] * b[j, k]      4 x 4   int32 += int8 * int8                       sdot
//   neon_udot_4x4           c[j] += a[k] * b[j, k]      4 x 4   int32 += uint8 * uint8                     udot
//   neon_usdot_4x4          c[j] += a[k] * b[j, k]      4 x 4   int32 += uint8 * int8                      usdot
//   neon_bfdot_4x2          c[j] += a[k] * b[j, k]      4 x 2   float32 += bfloat16 * bfloat16, to odd      bfdot
//
// and two of matrices, of which the terms of both factors lie side by side:
//
//   neon_smmla_2x2x8        c[i, j] += a[i, k] * b[j, k]   2 x 2 x 8   int32 += int8 * int8                smmla
//   neon_bfmmla_2x2x4       c[i, j] += a[i, k] * b[j, k]   2 x 2 x 4   float32 += bfloat16 * bfloat16      bfmmla
//
// and of whole tiles, the right factor packed by pairs or fours of terms:
//
//   amx.bf16     c[i, j] += a[i, k, p] * b[k, j, p]   16 x 16 x 16 x 2   float32 += bfloat16 * bfloat16    tdpbf16ps
//   amx.u8s8     c[i, j] += a[i, k, p] * b[k, j, p]   16 x 16 x 16 x 4   int32 += uint8 * int8             tdpbusd
//   amx.s8s8     c[i, j] += a[i, k, p] * b[k, j, p]   16 x 16 x 16 x 4   int32 += int8 * int8              tdpbssd
//
// or of fewer rows: amx.bf16.m1 to amx.bf16.m15, and so the others; or of fewer groups of terms: amx.bf16.k1 to
// amx.bf16.k15, and amx.bf16.m1.k1 to amx.bf16.m15.k15;
//
// and, for a warp of a device, of matrices of which each lane has a part (src/ir/warp_products.h); of these alone there
// is no statement for one thread:
//
//   mma.m16n8k16.bf16, .f16, mma.m16n8k32.s8, mma.m16n8k8.tf32     c[i, j] += a[i, k] * b[k, j]
//
// or of four warps together, whose operands lie in shared memory (src/ir/group_products.h), n from 8 to 256:
//
//   wgmma.m64nNk16.bf16, .f16, wgmma.m64nNk32.s8, wgmma.m64nNk8.tf32   c[i, j] += a[i, k] * b[k, j]
//
// They are known by the instruction that they are made for, and run on every target.
#include "te/shipped_intrins.h"

#include "src/ir/group_products.h"
#include "te/intrin_names.h"
#include "tensorwright/te_functions.h"

namespace tw::te {
namespace {

Expr lanes(int n) { return ir::ramp(0, 1, n); }
Expr all(int64_t value, int n) { return ir::broadcast(Expr(value), n); }

TensorIntrin made(const char* key, const Tensor& c, ir::Stmt update) {
  return {key, c.op(), {{}, {}, std::move(update)}};
}

TensorIntrin fma(const char* key, int n) {
  const Tensor a = placeholder({1}, "float32", "a"), b = placeholder({1, n}, "float32", "b");
  const IterVar k = reduce_axis(0, 1, "k");
  const Tensor c = compute({n}, [&](Var j) { return sum(a(Expr(k)) * b(Expr(k), Expr(j)), {k}); }, "c");
  const Expr old = ir::load(c.buffer(), {lanes(n)});
  const Expr product = ir::broadcast(ir::load(a.buffer(), {0}), n) * ir::load(b.buffer(), {0, lanes(n)});
  return made(key, c, ir::store(c.buffer(), {lanes(n)}, old + product));
}

TensorIntrin dot(const char* key, ir::Fn fn, int n, int group, const char* left, const char* right, const char* out) {
  const Tensor a = placeholder({group}, left, "a"), b = placeholder({n, group}, right, "b");
  const IterVar k = reduce_axis(0, group, "k");
  const Tensor c =
      compute({n}, [&](Var j) { return sum(astype(a(Expr(k)), out) * astype(b(Expr(j), Expr(k)), out), {k}); }, "c");
  const int width = n * group;
  const Expr row = ir::floordiv(lanes(width), all(group, width)),
             column = ir::floormod(lanes(width), all(group, width));
  const Expr value = ir::call(fn, {ir::load(c.buffer(), {lanes(n)}), ir::load(a.buffer(), {lanes(group)}),
                                   ir::load(b.buffer(), {row, column})});
  return made(key, c, ir::store(c.buffer(), {lanes(n)}, value));
}

// Row and column of each element of a matrix.
std::vector<Expr> elements(int rows, int columns) {
  const int n = rows * columns;
  return {ir::floordiv(lanes(n), all(columns, n)), ir::floormod(lanes(n), all(columns, n))};
}

TensorIntrin matrix(const char* key, ir::Fn fn, int group, const char* in, const char* out) {
  const Tensor a = placeholder({2, group}, in, "a"), b = placeholder({2, group}, in, "b");
  const IterVar k = reduce_axis(0, group, "k");
  const Tensor c = compute(
      {2, 2},
      [&](Var i, Var j) { return sum(astype(a(Expr(i), Expr(k)), out) * astype(b(Expr(j), Expr(k)), out), {k}); }, "c");
  const Expr value = ir::call(fn, {ir::load(c.buffer(), elements(2, 2)), ir::load(a.buffer(), elements(2, group)),
                                   ir::load(b.buffer(), elements(2, group))});
  return made(key, c, ir::store(c.buffer(), elements(2, 2), value));
}

constexpr int kTile = 16;  // rows, columns, groups of terms

struct TileKind {
  const char* name;
  ir::Fn fn;
  int packed;
  const char *left, *right, *out;
};
constexpr TileKind kTileKinds[] = {{"amx.bf16", ir::Fn::kTileBF16, 2, "bfloat16", "bfloat16", "float32"},
                                   {"amx.u8s8", ir::Fn::kTileU8I8, 4, "uint8", "int8", "int32"},
                                   {"amx.s8s8", ir::Fn::kTileI8I8, 4, "int8", "int8", "int32"}};

TensorIntrin tile(const TileKind& kind, int m, int groups) {
  constexpr int n = kTile;
  const int packed = kind.packed;
  const Tensor a = placeholder({m, groups, packed}, kind.left, "a"),
               b = placeholder({groups, n, packed}, kind.right, "b");
  const IterVar k = reduce_axis(0, groups, "k"), p = reduce_axis(0, packed, "p");
  const Tensor c = compute(
      {m, n},
      [&](Var i, Var j) {
        return sum(astype(a(Expr(i), Expr(k), Expr(p)), kind.out) * astype(b(Expr(k), Expr(j), Expr(p)), kind.out),
                   {k, p});
      },
      "c");
  const auto packs = [&](int rows, int columns) -> std::vector<Expr> {
    const std::vector<Expr> pack = elements(rows * columns, packed);
    const Expr by = all(columns, rows * columns * packed);
    return {ir::floordiv(pack[0], by), ir::floormod(pack[0], by), pack[1]};
  };
  const Expr value = ir::call(kind.fn, {ir::load(c.buffer(), elements(m, n)), ir::load(a.buffer(), packs(m, groups)),
                                        ir::load(b.buffer(), packs(groups, n))});
  return made(tile_intrin(kind.name, m, groups).c_str(), c, ir::store(c.buffer(), elements(m, n), value));
}

TensorIntrin warp(const ir::WarpProduct& p) {
  const std::string in = to_string(p.operand), out = to_string(p.sum);
  const Tensor a = placeholder({p.m, p.k}, in, "a"), b = placeholder({p.k, p.n}, in, "b");
  const IterVar k = reduce_axis(0, p.k, "k");
  const auto factor = [&](const Expr& e) { return p.operand == p.sum ? tf32(e) : astype(e, out); };
  const Tensor c = compute(
      {p.m, p.n}, [&](Var i, Var j) { return sum(factor(a(Expr(i), Expr(k))) * factor(b(Expr(k), Expr(j))), {k}); },
      "c");
  return made(std::string(p.name).c_str(), c, {});
}

}  // namespace

std::string tile_intrin(const std::string& whole, int64_t rows, int64_t groups) {
  const auto fewer = [](const char* of, int64_t n) { return n == kTile ? "" : of + std::to_string(n); };
  return whole + fewer(".m", rows) + fewer(".k", groups);
}

std::vector<TensorIntrin> shipped_intrins() {
  std::vector<TensorIntrin> all = {
      fma("fma_16", 16),
      dot("avx512_vnni_dot_16x4", ir::Fn::kDotU8I8, 16, 4, "uint8", "int8", "int32"),
      dot("avx512_vnni_s8s8_16x4", ir::Fn::kDotI8I8, 16, 4, "int8", "int8", "int32"),
      dot("avx_vnni_dot_8x4", ir::Fn::kDotU8I8, 8, 4, "uint8", "int8", "int32"),
      dot("avx_vnni_s8s8_8x4", ir::Fn::kDotI8I8, 8, 4, "int8", "int8", "int32"),
      dot("avx2_maddubs_8x4", ir::Fn::kDotU8I8Sat, 8, 4, "uint8", "int8", "int32"),
      dot("avx512_bf16_dot_16x2", ir::Fn::kDotBF16, 16, 2, "bfloat16", "bfloat16", "float32"),
      dot("neon_sdot_4x4", ir::Fn::kDotI8I8, 4, 4, "int8", "int8", "int32"),
      dot("neon_udot_4x4", ir::Fn::kDotU8U8, 4, 4, "uint8", "uint8", "int32"),
      dot("neon_usdot_4x4", ir::Fn::kDotU8I8, 4, 4, "uint8", "int8", "int32"),
      dot("neon_bfdot_4x2", ir::Fn::kDotBF16Odd, 4, 2, "bfloat16", "bfloat16", "float32"),
      matrix("neon_smmla_2x2x8", ir::Fn::kMatI8I8, 8, "int8", "int32"),
      matrix("neon_bfmmla_2x2x4", ir::Fn::kMatBF16Odd, 4, "bfloat16", "float32")};
  for (int m = 1; m <= kTile; ++m)
    for (const TileKind& kind : kTileKinds) all.push_back(tile(kind, m, kTile));
  for (const auto& products : {ir::warp_products(), ir::group_products()})
    for (const ir::WarpProduct& p : products) all.push_back(warp(p));
  return all;
}

std::optional<TensorIntrin> shipped_tile_of_fewer_terms(const std::string& key) {
  for (const TileKind& kind : kTileKinds)
    for (int m = 1; m <= kTile; ++m)
      for (int groups = 1; groups < kTile; ++groups)
        if (tile_intrin(kind.name, m, groups) == key) return tile(kind, m, groups);
  return std::nullopt;
}

}  // namespace tw::te
