// The largest of 16-bit floats that a thread has in registers, two of which an instruction compares.
//
//   for r in 0..4: for l in 0..8: m[0] = max(m[0], float32(A[r*8 + l]))      ==>      m[0] = max_bf16<32>(m[0], &A[0]);
//
// Maxima do not depend on the order but for what a zero's sign is and where a NaN goes: max_bf16 compares one by one
// where it finds these.
#include <optional>

#include "codegen/cuda/emitter.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::codegen {

namespace {

// The element that follows the largest so far, if the statement is that of a maximum.
const ir::Load* compared(const ir::Store& store) {
  const auto* most = ir::as<ir::Binary>(store.value);
  if (!most || most->op != ir::BinOp::kMax || !!store.pred || store.buffer.scope() != ir::Scope::kLocal) return nullptr;
  const auto* so_far = ir::as<ir::Load>(most->a);
  const auto* cast = ir::as<ir::Cast>(most->b);
  const auto* next = cast ? ir::as<ir::Load>(cast->value) : nullptr;
  if (!so_far || !next || !!so_far->pred || !!next->pred || so_far->buffer != store.buffer ||
      !ir::equal(so_far->at[0], store.at[0]))
    return nullptr;
  const bool widened = next->buffer.element().is_half() && most->b.type() == ir::Type::f(32);
  return widened && next->buffer.scope() == ir::Scope::kLocal ? next : nullptr;
}

// The subscript with which loops, the innermost last, begin to count up one by one; empty where they don't.
ir::Expr counted_from(const std::vector<const ir::For*>& loops, const ir::Expr& subscript, int64_t count) {
  ir::Linear rest = ir::decompose(ir::simplify(subscript));
  for (const ir::For* loop : loops) {
    count /= *ir::as_int(loop->extent);
    rest.add(loop->var, -count);
  }
  rest.normalise();
  const ir::Expr first = ir::build(rest, 1);
  for (const ir::For* loop : loops)
    if (rest.overflow || ir::uses_var(first, loop->var)) return {};
  return first;
}

}  // namespace

bool CudaEmitter::emit_maxima(const ir::For& outermost) {
  constexpr int64_t kFewest = 4, kMost = 64;
  std::vector<const ir::For*> loops;
  int64_t count = 1;
  const ir::Stmt* inside = nullptr;
  for (const ir::For* loop = &outermost; loop; loop = ir::as<ir::For>(*inside)) {
    const auto extent = ir::as_int(loop->extent);
    if (!extent || *extent < 1 || *extent > kMost ||
        (loop->kind != ir::ForKind::kSerial && loop->kind != ir::ForKind::kUnrolled))
      return false;
    loops.push_back(loop);
    count *= *extent;
    inside = &loop->body;
  }
  const auto* store = ir::as<ir::Store>(*inside);
  const ir::Load* next = store ? compared(*store) : nullptr;
  if (!next || count < kFewest || count > kMost || count % 2 != 0) return false;
  const ir::Expr first = counted_from(loops, next->at[0], count);
  if (!first) return false;
  for (const ir::For* loop : loops)
    if (ir::uses_var(store->at[0], loop->var)) return false;
  begin_statement({store->at[0], first});
  half_cast(next->buffer.element(), ir::Type::f(32));  // which is called there
  const std::string most = access(store->buffer, store->at);
  line(most + " = " + instruction("max_" + type_suffix(next->buffer.element())) + "<" + std::to_string(count) + ">(" +
       most + ", &" + access(next->buffer, {first}) + ");");
  return true;
}

}  // namespace tw::codegen
