// Statements of a device: whole vectors, loops that stay loops, shared memory, barriers.
#include <algorithm>

#include "codegen/cuda/emitter.h"
#include "codegen/cuda/wide.h"
#include "codegen/scratch.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::codegen {

using ir::Expr;

namespace {

constexpr int kWidest = 16;                                // bytes, and the alignment of whatever is not in registers
constexpr int64_t kMostWrittenOut = 64, kRegisters = 256;  // of a thread
constexpr int64_t kCopiedAtOnce = 32;                      // registers that wait for memory together
constexpr int64_t kReadsAtOnce = 4;                        // iterations that do
constexpr int64_t kMostOfAnIteration = 256;                // parts of expressions
constexpr int64_t kWords = 4;                              // elements, of vectors that are read as words

bool is_stored_to(const ir::Stmt& body, const ir::Buffer& buffer) {
  bool found = false;
  ir::walk(body, [&](const ir::Stmt& s) {
    const auto* store = ir::as<ir::Store>(s);
    return !(found = found || (store && store->buffer == buffer));
  });
  return found;
}

// Whether lanes of the vector go different ways: it is neither handed on as a whole nor given to an instruction.
bool is_taken_apart(const ir::Stmt& body, const ir::Buffer& vector) {
  bool whole = false;
  ir::walk(
      body,
      [&](const ir::Stmt& s) {
        const auto* store = ir::as<ir::Store>(s);
        return !(whole = whole || (store && is_wide_copy(*store) && ir::as<ir::Load>(store->value)->buffer == vector));
      },
      [&](const Expr& e) {
        const auto* address = ir::as<ir::Address>(e);
        return !(whole = whole || (address && address->buffer == vector));
      });
  return !whole;
}

}  // namespace

std::string CudaEmitter::vector_type(ir::Type element, int64_t lanes) {
  const std::string name = type_suffix(element) + "x" + std::to_string(lanes);
  const int64_t aligned = std::min<int64_t>(kWidest, element.bytes() * lanes);
  vector_types_[name] = "struct alignas(" + std::to_string(aligned) + ") " + name + " { " + c_type(element) + " at[" +
                        std::to_string(lanes) + "]; };\n";
  return name;
}

// A vector that stands alone is a struct of its lanes.
std::string CudaEmitter::access(const ir::Buffer& buffer, const std::vector<Expr>& at) {
  if (!vectors_.contains(buffer.id())) return CEmitter::access(buffer, at);
  return names_.of(buffer.id()) + ".at[" + argument(at[0]) + "]";
}

std::string CudaEmitter::whole_vector(const ir::Buffer& buffer, const std::vector<Expr>& at, bool read) {
  if (vectors_.contains(buffer.id())) return names_.of(buffer.id());
  const auto& ramp = *ir::as<ir::Ramp>(at[0]);
  const std::string type = vector_type(buffer.element(), ramp.lanes);
  return "*(" + std::string(read ? "const " : "") + type + "*)&" + names_.of(buffer.id()) + "[" + argument(ramp.base) +
         "]";
}

std::string CudaEmitter::instruction(const std::string& name) {
  instructions_.insert(name);
  return name;
}

// A bfloat16 is the upper half of a float32; all else the device converts.
std::string CudaEmitter::half_cast(ir::Type from, ir::Type to) {
  if (from.code == ir::TypeCode::kBFloat) return helpers_.half_cast(from, to);
  return instruction(type_suffix(from) + "_to_" + type_suffix(to));
}

// A copy that is narrower than those of the device is there at once, which is one of the times that it may be there.
bool CudaEmitter::emit_copy(const ir::Store& store) {
  const bool wide = is_wide_copy(store);
  const int bytes = store.buffer.element().bytes() * (wide ? store.value.type().lanes : 1);
  if ((!wide && !store.value.type().is_scalar()) || (bytes != 4 && bytes != 8 && bytes != 16)) return false;
  const auto& from = *ir::as<ir::Load>(store.value);
  const auto first = [&](const std::vector<Expr>& at) { return wide ? ir::as<ir::Ramp>(at[0])->base : at[0]; };
  begin_statement({first(store.at), first(from.at)});
  const std::string to = access(store.buffer, {first(store.at)}), of = access(from.buffer, {first(from.at)});
  line(instruction("cp_async_" + std::to_string(bytes)) + "(&" + to + ", &" + of + ");");
  return true;
}

void CudaEmitter::emit_store(const ir::Store& store, bool alone) {
  if (store.arrival != ir::Arrival::kNow && emit_copy(store)) return;
  if (!is_wide_copy(store)) return CEmitter::emit_store(store, alone);
  const auto& from = *ir::as<ir::Load>(store.value);
  const auto base = [](const std::vector<Expr>& at) { return ir::as<ir::Ramp>(at[0])->base; };
  begin_statement({base(store.at), base(from.at)});
  const std::string to = whole_vector(store.buffer, store.at, false);
  line(to + " = " + whole_vector(from.buffer, from.at, true) + ";");
}

// Whether iterations touch elements of private arrays that differ: registers have no addresses, so that such arrays are
// registers only if the loop is written out.
bool CudaEmitter::counts_registers(const ir::For& loop) const {
  bool found = false;
  const auto look = [&](const ir::Buffer& buffer, const std::vector<Expr>& at) {
    found = found || (buffer.scope() == ir::Scope::kLocal && !at.empty() && ir::uses_var(at[0], loop.var) &&
                      known_elements(buffer).value_or(kRegisters) < kRegisters);
  };
  ir::walk(
      loop.body,
      [&](const ir::Stmt& s) {
        if (const auto* store = ir::as<ir::Store>(s)) look(store->buffer, store->at);
        return !found;
      },
      [&](const Expr& e) {
        if (const auto* load = ir::as<ir::Load>(e)) look(load->buffer, load->at);
        if (const auto* address = ir::as<ir::Address>(e)) look(address->buffer, address->at);
        return !found;
      });
  return found && ir::interval_of(loop.extent, bounds_).hi <= kMostWrittenOut;
}

namespace {

// What is read, whatever it is then converted to.
const Expr& before_conversion(const Expr& value) {
  if (const auto* cast = ir::as<ir::Cast>(value)) return before_conversion(cast->value);
  const auto* call = ir::as<ir::Call>(value);
  if (call && (call->fn == ir::Fn::kReinterpret || call->fn == ir::Fn::kTF32)) return before_conversion(call->args[0]);
  return value;
}

// How many iterations wait for memory together: of those that copy an element or a vector, under conditions too.
int64_t copies_at_once(const ir::Stmt& s) {
  constexpr int64_t kBytesOfOne = 4;
  if (const auto* f = ir::as<ir::For>(s)) {
    if (f->kind != ir::ForKind::kVectorized) return 1;
    return std::max<int64_t>(copies_at_once(f->body) / ir::as_int(f->extent).value_or(kCopiedAtOnce), 1);
  }
  if (const auto* i = ir::as<ir::If>(s)) return i->otherwise ? 1 : copies_at_once(i->then);
  const auto* store = ir::as<ir::Store>(s);
  if (!store) return 1;
  const auto* choice = ir::as<ir::Select>(before_conversion(store->value));
  const Expr& value = before_conversion(choice ? choice->yes : store->value);
  if (!ir::as<ir::Load>(value)) return 1;
  const int64_t bytes = value.type().bytes() * value.type().lanes;
  return std::max<int64_t>(kCopiedAtOnce * kBytesOfOne / std::max(bytes, kBytesOfOne), 1);
}

// Short iterations that read memory and meet nobody.
bool reads_memory(const ir::For& loop) {
  bool reads = false, alone = true;
  int64_t parts = 0;
  ir::walk(
      loop.body,
      [&](const ir::Stmt& s) {
        const auto* inner = ir::as<ir::For>(s);
        alone =
            alone && (inner ? inner->kind != ir::ForKind::kSerial : !ir::as<ir::Sync>(s) && !ir::as<ir::Evaluate>(s));
        return alone;
      },
      [&](const Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        reads = reads || (load && !ir::is_private(load->buffer.scope()));
        return ++parts <= kMostOfAnIteration;
      });
  return reads && alone && parts <= kMostOfAnIteration;
}

}  // namespace

void CudaEmitter::emit_for(const ir::For& loop) {
  const auto extent = ir::as_int(loop.extent);
  if (extent && *extent <= 0) return;
  if (emit_maxima(loop)) return;
  TW_CHECK(loop.kind <= ir::ForKind::kUnrolled && loop.kind != ir::ForKind::kParallel,
           "a loop that lowering should have turned into others");
  bound_loop(loop);
  begin_statement({loop.extent});
  const CText end = emit(loop.extent);
  const int64_t copies = copies_at_once(loop.body);
  const bool registers = counts_registers(loop),
             whole = registers || loop.kind != ir::ForKind::kSerial || (copies > 1 && extent && *extent <= copies);
  if (loop.kind == ir::ForKind::kVectorized) {
    line("#pragma unroll");
    return emit_lanes(loop);
  }
  std::string last = end.text;  // stands beside the loop
  if (!ir::as<ir::IntImm>(loop.extent) && !ir::as<ir::VarRef>(loop.extent))
    last = declare(ir::Type::index(), names_.fresh(loop.var.name() + "_end"), end).text;
  const CNames::Block block(names_);
  const std::string name = names_.bind(loop.var.id(), loop.var.name());
  if (!end.wide) int_vars_.insert(loop.var.id());
  const int64_t together = copies > 1 ? copies : !whole && reads_memory(loop) ? kReadsAtOnce : 1;
  line(whole ? "#pragma unroll" : "#pragma unroll " + std::to_string(together));
  std::string wanted = name + " < " + last;
  if (registers && !extent)  // a number of iterations at most, which a compiler needs to know
    wanted = name + " < " + std::to_string(ir::interval_of(loop.extent, bounds_).hi) + " && " + wanted;
  line("for (" + std::string(end.wide ? "int64_t " : "int ") + name + " = 0; " + wanted + "; ++" + name + ") {");
  const ir::BoundsInside inside(bounds_, loop.extent);
  emit_block(loop.body);
  line("}");
}

void CudaEmitter::emit_allocate(const ir::Allocate& alloc) {
  const ir::Buffer& buffer = alloc.buffer;
  const auto elements = known_elements(buffer);
  if (!elements)
    throw Error({ErrorKind::kSchedule,
                 "build: " + buffer.name() + " must have a constant size in " + to_string(buffer.scope()) + " memory",
                 {},
                 {"split its axes by constants, or compute it at the root"}});
  declare_elements(buffer);
  const std::string name = names_.bind(buffer.id(), buffer.name()), type = c_type(buffer.element());
  const std::string count = "[" + std::to_string(std::max<int64_t>(*elements, 1)) + "]";
  if (vectors_.contains(buffer.id())) {
    const auto* steps = ir::as<ir::Seq>(alloc.body);
    const auto* first = steps && !steps->stmts.empty() ? ir::as<ir::Store>(steps->stmts[0]) : nullptr;
    const std::string vector = vector_type(buffer.element(), *elements);
    if (first && first->buffer == buffer && is_wide_copy(*first)) {
      const auto& from = *ir::as<ir::Load>(first->value);
      begin_statement({ir::as<ir::Ramp>(from.at[0])->base});
      const ir::Stmt rest = ir::seq({steps->stmts.begin() + 1, steps->stmts.end()});
      const std::string changes = is_stored_to(rest, buffer) ? "" : "const ";
      std::string read = whole_vector(from.buffer, from.at, true);
      if (buffer.element() == ir::Type::bf16() && *elements >= kWords && is_taken_apart(rest, buffer))
        read = instruction("two_by_two") + "<" + vector + ">(" + read.substr(read.find('&')) + ")";
      line(changes + vector + " " + name + " = " + read + ";");
      return emit(rest);
    }
    line(vector + " " + name + ";");
  } else if (const auto begin = in_block_.find(buffer.id()); begin != in_block_.end()) {
    line(type + "* const " + name + " = (" + type + "*)(shared_memory + " + std::to_string(begin->second) + ");");
  } else if (buffer.scope() == ir::Scope::kShared) {
    line("alignas(" + std::to_string(alignment_of(buffer)) + ") __shared__ " + type + " " + name + count + ";");
  } else {
    line(type + " " + name + count + ";");
    if (const auto sums = sums_.find(buffer.id()); sums != sums_.end()) sums->second = *elements;
  }
  emit(alloc.body);
}

// A product, a load or an exchange of a warp; or a prefetch, which a device has no need of.
void CudaEmitter::emit_evaluate(const Expr& value) {
  const auto* call = ir::as<ir::CallExtern>(value);
  if (call != nullptr && ir::is_async(call->symbol)) return emit_async(ir::async_call(*call));
  if (call != nullptr && ir::is_of_group(call->symbol)) return emit_group(ir::group_call(*call), value);
  if (call == nullptr || !ir::is_of_warp(call->symbol)) return;
  std::string name = call->symbol, fragments;
  std::ranges::replace(name, '.', '_');
  const auto* to = call->args.empty() ? nullptr : ir::as<ir::Address>(call->args[0]);
  if (ir::warp_load(call->symbol) && to->buffer.element().is_float() && to->buffer.element().bits == 32) name += "_b32";
  std::vector<Expr> subscripts;
  for (const Expr& arg : call->args) {
    const auto* address = ir::as<ir::Address>(arg);
    subscripts.push_back(address ? address->at[0] : arg);
  }
  begin_statement(subscripts);
  for (const Expr& arg : call->args) {
    const auto* address = ir::as<ir::Address>(arg);
    fragments += fragments.empty() ? "" : ", ";
    fragments += address ? "&" + access(address->buffer, address->at) : emit(arg).text;
  }
  line(instruction(name) + "(" + fragments + ");");
}

void CudaEmitter::emit_sync(const ir::Sync& sync) {
  switch (sync.op) {
    case ir::SyncOp::kBlock:
      return line("__syncthreads();");
    case ir::SyncOp::kCluster:
      return line(instruction("cluster_sync") + "();");
    case ir::SyncOp::kCommit:
      return line(instruction("cp_async_commit") + "();");
    case ir::SyncOp::kWait:
      return line(instruction("cp_async_wait") + "<" + std::to_string(sync.count) + ">();");
  }
}

CText CudaEmitter::emit_extern(const ir::CallExtern& call, ir::Type) {
  TW_CHECK(false, "a C function on a device: " + call.symbol);
  return {};
}

}  // namespace tw::codegen
