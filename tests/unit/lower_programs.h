// Loop programs as to_ir would derive them, for the tests of passes.
#pragma once

#include <functional>

#include "src/target/abilities.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::lower {

inline Target target_with(std::vector<std::string> features) {
  Target t;
  t.kind = "llvm";
  t.triple = "x86_64-pc-linux-gnu";
  t.features = std::move(features);
  t.abilities = target::abilities_of(t.kind, t.triple, t.features);
  return t;
}
inline Target avx512_target() { return target_with({"avx", "avx2", "avx512f", "f16c", "fma", "sse4.1"}); }
inline Target avx2_target() { return target_with({"avx", "avx2", "f16c", "fma", "sse4.1"}); }
inline Target sse_target() { return target_with({"sse2"}); }

// How a matmul C[m, n] = sum over k of A[m, k] * B[k, n] is scheduled.
struct MatmulSchedule {
  int64_t m, n, k;
  int64_t tile_m, tile_n, block_k = 0;  // block_k: an outer reduction block around the tile's loops when > 0
  ir::ForKind outer = ir::ForKind::kSerial;
  ir::Tail tail = ir::Tail::kAuto;
  bool reduce_guarded_inside = true;
};

inline int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

//   for io: for jo: { for ii, ji: if guards: C = 0;   for k: for ii: for ji vectorized: if guards: C = C + A * B }
// With block_k:  init of everything, then  for ko: for io: for jo: for ki: for ii: for ji.
inline ir::Program matmul_program(const MatmulSchedule& s) {
  using namespace ir;
  const Type f32 = Type::f(32);
  const Buffer A("A", f32, {s.m, s.k}, Scope::kArgument), B("B", f32, {s.k, s.n}, Scope::kArgument),
      C("C", f32, {s.m, s.n}, Scope::kArgument);
  const auto tile = [&](const Expr& io, const Expr& jo, const std::function<Stmt(Expr, Expr)>& body) {
    Var ii("ii"), ji("ji");
    const Expr i = io * static_cast<int>(s.tile_m) + Expr(ii), j = jo * static_cast<int>(s.tile_n) + Expr(ji);
    Expr guard;
    const auto add_guard = [&](const Expr& c) { guard = guard ? guard && c : c; };
    if (s.m % s.tile_m) add_guard(i < Expr(s.m));
    if (s.n % s.tile_n) add_guard(j < Expr(s.n));
    const Stmt inner = body(i, j);
    return loop(ii, s.tile_m, loop(ji, s.tile_n, guard ? if_then(guard, inner) : inner, ForKind::kVectorized, s.tail));
  };
  const auto init = [&](const Expr& i, const Expr& j) { return store(C, {i, j}, float_imm(f32, 0)); };
  const auto update = [&](const Expr& i, const Expr& j, const Expr& k) {
    return store(C, {i, j}, load(C, {i, j}) + load(A, {i, k}) * load(B, {k, j}));
  };
  const auto outer = [&](const std::function<Stmt(Expr, Expr)>& body) {
    Var io("io"), jo("jo");
    return loop(io, ceil_of(s.m, s.tile_m), loop(jo, ceil_of(s.n, s.tile_n), body(io, jo), ForKind::kSerial, s.tail),
                s.outer, s.tail);
  };
  Stmt body;
  if (s.block_k == 0) {
    body = outer([&](Expr io, Expr jo) {
      Var k("k");
      return seq({tile(io, jo, init), loop(k, s.k, tile(io, jo, [&](Expr i, Expr j) { return update(i, j, k); }))});
    });
  } else {
    Var ko("ko");
    const Stmt block = outer([&](Expr io, Expr jo) {
      Var ki("ki");
      const Expr k = Expr(ko) * static_cast<int>(s.block_k) + Expr(ki);
      const Stmt nest = tile(io, jo, [&](Expr i, Expr j) {
        return s.k % s.block_k ? if_then(k < Expr(s.k), update(i, j, k)) : update(i, j, k);
      });
      return loop(ki, s.block_k, nest);
    });
    body = seq({outer([&](Expr io, Expr jo) { return tile(io, jo, init); }),
                loop(ko, ceil_of(s.k, s.block_k), block, ForKind::kSerial, s.tail)});
  }
  return Program{"matmul", {{A}, {B}, {C, true}}, body};
}

}  // namespace tw::lower
