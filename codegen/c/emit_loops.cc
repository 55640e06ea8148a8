// Loops of the host, what kernels require of sizes, and prefetches.
#include "codegen/c/file_emitter.h"
#include "src/ir/requirement.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Expr;
using ir::Stmt;

namespace {

// Of the constants and variables that a loop's end is compared with each time round, none changes inside.
bool is_fixed(const Expr& e) { return ir::as<ir::IntImm>(e) || ir::as<ir::VarRef>(e); }

// gcc 12 makes of a read that a condition guards a blend with memory where it knows the condition in each iteration of
// the loop around, and reads what no iteration wants. So, while that gcc is in use, such a loop is kept from it.
bool reads_in_turn(const Stmt& stmt) {
  bool reads = false, loops = false;
  ir::walk(
      stmt,
      [&](const Stmt& at) {
        loops = loops || ir::as<ir::For>(at);
        return !loops;
      },
      [&](const Expr& e) {
        reads = reads || ir::as<ir::Load>(e);
        return !reads;
      });
  return reads && !loops;
}

}  // namespace

void CFileEmitter::emit_evaluate(const Expr& value) {
  if (const auto required = ir::requirement_in(value)) {
    const Expr holds = ir::checked_test(*required);
    begin_statement({holds});
    return leave_if("!" + in(holds, kUnary, Need::kTruth), "TW_ERROR_SIZES");
  }
  begin_statement({value});
  const auto* call = ir::as<ir::Call>(value);
  if (!call || !ir::is_prefetch(call->fn)) return line(emit(value).text + ";");
  const auto* address = ir::as<ir::Address>(call->args[0]);
  helpers_.uses_prefetch(address->written);
  line((address->written ? "TW_PREFETCH_WRITTEN(&" : "TW_PREFETCH(&") + access(address->buffer, address->at) +
       (call->fn == ir::Fn::kPrefetchL2 ? ", 2);" : ", 3);"));
}

void CFileEmitter::emit_sync(const ir::Sync&) { TW_CHECK(false, "a barrier in a kernel of the host"); }

void CFileEmitter::begin_branch(const Stmt& then) {
  if (frame_.loops == 0 || !reads_in_turn(then)) return;
  const Indent deeper(*this);
  helpers_.uses_in_turn();
  line("TW_IN_TURN;");
}

// Loops that are vectorized are those of lanes.h. Unrolled ones that lowering left, and parallel loops inside a
// parallel loop, run one iteration after the other.
void CFileEmitter::emit_for(const ir::For& loop) {
  const auto extent = ir::as_int(loop.extent);
  if (extent && *extent <= 0) return;
  bound_loop(loop);
  if (loop.kind == ir::ForKind::kVectorized) return emit_lanes(loop);
  if (runs_concurrently(loop.kind) && !frame_.in_parallel && extent != 1) return emit_parallel(loop);
  begin_statement({loop.extent});
  std::string end = emit(loop.extent).text;
  if (!is_fixed(loop.extent)) {
    const std::string name = names_.fresh(loop.var.name() + "_end");
    line("const int64_t " + name + " = " + end + ";");
    end = name;
  }
  emit_counted_loop("0", end, loop);
}

void CFileEmitter::emit_counted_loop(const std::string& begin, const std::string& end, const ir::For& loop) {
  const CNames::Block block(names_);
  const std::string name = names_.bind(loop.var.id(), loop.var.name());
  line("for (int64_t " + name + " = " + begin + "; " + name + " < " + end + "; ++" + name + ") {");
  const ir::BoundsInside inside(bounds_, loop.extent);
  ++frame_.loops;
  emit_block(loop.body);
  --frame_.loops;
  line("}");
}

}  // namespace tw::codegen
