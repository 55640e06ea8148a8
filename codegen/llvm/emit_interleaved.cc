// Stores that lie side by side: statements that each write every second or fourth element become one.
//
//   P[ramp(p, 4, 16)] = a                  P[p : 64] = a[0], b[0], c[0], d[0], a[1], b[1], ...
//   P[ramp(p + 1, 4, 16)] = b        ==>
//   P[ramp(p + 2, 4, 16)] = c
//   P[ramp(p + 3, 4, 16)] = d
//
// Shuffles and whole stores instead of four scatters: panels whose lanes hold the terms of dot products side by side.
#include <llvm/Analysis/VectorUtils.h>

#include "codegen/llvm/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;
using llvm::Value;

namespace {

// The subscript of a store of vectors for which this is worth it; null for others.
const ir::Ramp* spread(const ir::Store& store) {
  const auto* ramp = store.at.size() == 1 && !store.pred ? ir::as<ir::Ramp>(store.at[0]) : nullptr;
  const bool vector = store.value.type().lanes >= 4 && !store.value.type().is_bool();
  return ramp && vector && (ir::is_int(ramp->stride, 2) || ir::is_int(ramp->stride, 4)) ? ramp : nullptr;
}

}  // namespace

// How many of these statements become one store; 0 where they do not.
size_t Emitter::interleaved_of(std::span<const Stmt> stmts) const {
  const auto* first = ir::as<ir::Store>(stmts[0]);
  const ir::Ramp* places = first ? spread(*first) : nullptr;
  if (!places || frame_.buffers.at(first->buffer.id()).slot) return 0;
  const auto count = static_cast<size_t>(*ir::as_int(places->stride));
  if (stmts.size() < count) return 0;
  for (size_t i = 0; i < count; ++i) {
    const auto* next = ir::as<ir::Store>(stmts[i]);
    const ir::Ramp* at = next ? spread(*next) : nullptr;
    if (!at || next->buffer.id() != first->buffer.id() || !(next->value.type() == first->value.type()) ||
        !ir::equal(at->stride, places->stride) || ir::reads(next->value, first->buffer) ||
        !ir::is_int(ir::simplify(at->base - places->base), static_cast<int64_t>(i)))
      return 0;
  }
  return count;
}

void Emitter::emit_interleaved(std::span<const Stmt> stmts) {
  CacheLevel level(*this);
  frame_.tiles.held.clear();
  const auto& first = *ir::as<ir::Store>(stmts[0]);
  const ir::Type type = first.value.type();
  const Expr& base = ir::as<ir::Ramp>(first.at[0])->base;
  std::vector<Value*> values;
  for (const Stmt& s : stmts) values.push_back(emit(ir::as<ir::Store>(s)->value));
  const auto count = static_cast<int>(values.size());
  Value* all = b_.CreateShuffleVector(
      llvm::concatenateVectors(b_, values),
      llvm::createInterleaveMask(static_cast<unsigned>(type.lanes), static_cast<unsigned>(count)));
  emit_block_store(frame_.buffers.at(first.buffer.id()), type.with_lanes(type.lanes * count), emit(base),
                   multiple_of(base), all, nullptr);
}

}  // namespace tw::codegen
