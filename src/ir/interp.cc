// The interpreter's entry: prepares the program, binds the caller's buffers, runs, and says what went wrong where.

#include "src/ir/interp.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/interp_program.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

using interp::Fault;

std::vector<int64_t> constants(const std::vector<Expr>& extents, const Buffer& buffer) {
  std::vector<int64_t> out;
  for (const Expr& e : extents) {
    const auto value = as_int(e);
    if (!value)
      throw Fault{
          ErrorKind::kInternal, "interpret: parameter " + buffer.name() + " has no constant shape", {to_string(e)}};
    out.push_back(*value);
  }
  return out;
}

void bind(interp::Memory& memory, const Param& param, const InterpBuffer& given) {
  memory.bind(given.data, constants(param.buffer.shape(), param.buffer),
              constants(param.buffer.strides(), param.buffer), !param.written);
  const size_t needed = static_cast<size_t>(memory.span()) * static_cast<size_t>(param.buffer.element().bytes());
  if (given.bytes < needed) {
    throw Fault{ErrorKind::kArgument,
                "interpret: buffer " + param.buffer.name() + " must have " + std::to_string(needed) + " bytes, not " +
                    std::to_string(given.bytes),
                {}};
  }
}

// The buffers with a store whose value, lets looked through, reads the element that it writes.
std::unordered_set<uint64_t> updated_buffers(const Stmt& body) {
  std::unordered_set<uint64_t> out;
  std::unordered_map<uint64_t, Expr> lets;
  const auto reads = [&](const auto& self, const Expr& value, const Store& st) -> bool {
    bool found = false;
    walk(value, [&](const Expr& e) {
      const auto* v = as<VarRef>(e);
      if (v && lets.contains(v->var.id())) found = found || self(self, lets.at(v->var.id()), st);
      const auto* l = as<Load>(e);
      found = found || (l && l->buffer == st.buffer && std::ranges::equal(l->at, st.at, ExprEqual()));
      return !found;
    });
    return found;
  };
  walk(body, [&](const Stmt& s) {
    if (const auto* l = as<LetStmt>(s)) lets.emplace(l->var.id(), l->value);
    if (const auto* st = as<Store>(s); st && !out.contains(st->buffer.id()) && reads(reads, st->value, *st))
      out.insert(st->buffer.id());
    return true;
  });
  return out;
}

void execute(const Program& program, std::span<const InterpBuffer> buffers, const InterpOptions& options,
             interp::State& state, interp::StmtPtr& body) {
  if (buffers.size() != program.params.size()) {
    throw Fault{ErrorKind::kArgument,
                "interpret: " + program.name + " takes " + std::to_string(program.params.size()) + " buffers, not " +
                    std::to_string(buffers.size()),
                {}};
  }
  interp::Preparation preparation;
  for (const Param& p : program.params) preparation.memory_of(p.buffer);
  preparation.count_uses(program.body);
  body = preparation.stmt(program.body);
  state.slots.resize(preparation.slots());
  state.max_stores = options.max_steps;
  const bool races = options.check_races && preparation.has_parallel();
  const std::unordered_set<uint64_t> updated =
      options.check_one_value ? updated_buffers(program.body) : std::unordered_set<uint64_t>();
  for (const Buffer& b : preparation.buffers()) {
    const bool one_value = options.check_one_value && !updated.contains(b.id());
    state.memories.emplace_back(b.name(), b.element(), options.check_unwritten, races, one_value);
  }
  for (size_t i = 0; i < buffers.size(); ++i) bind(state.memories[i], program.params[i], buffers[i]);
  body->run(state);
  if (!options.check_one_value || !options.check_unwritten) return;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (program.params[i].written) state.memories[i].expect_whole();
}

// "at io = 3, ii = 5"
std::string place(const interp::State& state) {
  std::string out;
  for (const interp::ForNode* loop : state.loops)
    out += (out.empty() ? "at " : ", ") + loop->name + " = " + std::to_string(state.slots[loop->slot].i);
  return out;
}

}  // namespace

Status interpret(const Program& program, std::span<const InterpBuffer> buffers, const InterpOptions& options) {
  return support::with_deep_stack([&]() -> Status {
    interp::StmtPtr body;  // the state names its loops when something goes wrong
    interp::State state;
    try {
      execute(program, buffers, options, state, body);
      return Unit{};
    } catch (Fault& fault) {
      Diagnostic d;
      d.kind = fault.kind;
      d.what = std::move(fault.what);
      d.notes = std::move(fault.notes);
      if (!state.loops.empty()) d.notes.push_back(place(state));
      return d;
    }
  });
}

}  // namespace tw::ir
