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

// The values of extents or strides, which are constants or expressions over the scalars.
std::vector<int64_t> numbers(const std::vector<Expr>& extents, interp::Preparation& preparation, interp::State& state) {
  std::vector<int64_t> out;
  for (const Expr& e : extents) {
    state.forget();
    out.push_back(preparation.expr(e)->eval(state).i);
  }
  return out;
}

// As the caller has them in memory.
void set_scalars(const Program& program, const InterpOptions& options, interp::Preparation& preparation,
                 interp::State& state) {
  if (options.scalars.size() != program.scalars.size())
    throw Fault{ErrorKind::kArgument,
                "interpret: " + program.name + " takes " + std::to_string(program.scalars.size()) + " scalars, not " +
                    std::to_string(options.scalars.size()),
                {}};
  for (size_t s = 0; s < program.scalars.size(); ++s) {
    const Var& var = program.scalars[s];
    const Type held = var.type().is_index() ? Type::i(64) : var.type();
    state.slots[preparation.slot_of(var, 1)] = interp::read_function(held)(&options.scalars[s], 0);
  }
}

void bind(interp::Memory& memory, const Param& param, const InterpBuffer& given, std::vector<int64_t> shape,
          std::vector<int64_t> strides) {
  memory.bind(given.data, std::move(shape), std::move(strides), !param.written);
  const size_t needed = static_cast<size_t>(param.buffer.element().bytes_of(memory.span()));
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
    const auto* st = as<Store>(s);
    if (!st || out.contains(st->buffer.id())) return true;
    if (reads(reads, st->value, *st)) out.insert(st->buffer.id());
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
  for (const Var& scalar : program.scalars) preparation.slot_of(scalar, 1);
  preparation.count_uses(program.body);
  body = preparation.stmt(program.body);
  state.slots.resize(preparation.slots());
  state.max_steps = options.max_steps;
  state.order = options.order;
  state.seed = options.seed;
  set_scalars(program, options, preparation, state);
  const bool races = options.check_races && preparation.has_parallel();
  const std::unordered_set<uint64_t> updated =
      options.check_one_value ? updated_buffers(program.body) : std::unordered_set<uint64_t>();
  for (size_t m = 0; m < preparation.buffers().size(); ++m) {
    const Buffer& b = preparation.buffers()[m];
    const bool changing = std::ranges::find(options.changing, b.name()) != options.changing.end();
    const bool one_value = options.check_one_value && !updated.contains(b.id()) && !changing;
    state.own.emplace_back(b.name(), b.element(), options.check_unwritten, races && !preparation.is_of_threads(m),
                           one_value);
    state.memories.push_back(&state.own.back());
  }
  state.entered.resize(state.memories.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    const Buffer& declared = program.params[i].buffer;
    bind(*state.memories[i], program.params[i], buffers[i], numbers(declared.shape(), preparation, state),
         numbers(declared.strides(), preparation, state));
  }
  body->run(state);
  if (!options.check_one_value || !options.check_unwritten) return;
  for (size_t i = 0; i < buffers.size(); ++i)
    if (program.params[i].written) state.memories[i]->expect_whole();
}

// "at io = 3, ii = 5"
std::string place(const interp::State& state) {
  std::string out;
  for (const interp::ForNode* loop : state.loops)
    out += (out.empty() ? "at " : ", ") + loop->name + " = " + std::to_string(state.slots[loop->slot].i);
  return out;
}

}  // namespace

std::string stopped_after(int64_t steps) { return "interpret: stopped after " + std::to_string(steps) + " steps"; }

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
