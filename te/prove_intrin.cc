#include "te/prove_intrin.h"

#include <algorithm>
#include <map>
#include <new>
#include <numeric>
#include <unordered_map>

#include "src/ir/externs.h"
#include "src/ir/interp.h"
#include "src/ir/interp_value.h"
#include "src/ir/walk.h"
#include "src/support/scratch_alignment.h"
#include "tensorwright/externs.h"

namespace tw::te {
namespace {

// A function may count on the data_alignment that its buffers declare.
template <class T>
struct Aligned {
  using value_type = T;
  Aligned() = default;
  template <class U>
  Aligned(const Aligned<U>&) {}
  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* memory, size_t) { ::operator delete(memory, kAlignment); }
  bool operator==(const Aligned&) const = default;
  static constexpr std::align_val_t kAlignment{kScratchAlignment};
};
using Bytes = std::vector<char, Aligned<char>>;
using Memory = std::vector<Bytes>;  // one for each parameter

constexpr int64_t kHigh = 7, kLow = -13;  // beyond all inputs: neither a maximum nor a minimum hides them

void write(Type type, int64_t small, Bytes& bytes, int64_t at) {
  ir::interp::write_function(type)(bytes.data(), at, ir::interp::value_of(static_cast<double>(small), type));
}

// With what lies between, where rows are apart.
int64_t elements(const Buffer& buffer) {
  int64_t all = 1, last = 0;
  for (size_t d = 0; d < buffer.rank(); ++d) {
    const int64_t extent = *ir::as_int(buffer.shape()[d]);
    all *= extent;
    last += (extent - 1) * (buffer.strides().empty() ? 0 : *ir::as_int(buffer.strides()[d]));
  }
  return buffer.strides().empty() || all == 0 ? all : last + 1;
}

void fill(const Buffer& buffer, int64_t value, Bytes& bytes) {
  const Type type = buffer.element();
  if (type.is_bool() || (type.is_uint() && value < 0)) value = value > 0;
  for (int64_t i = 0; i < elements(buffer); ++i) write(type, value, bytes, i);
}

class Proof {
 public:
  // Rows of the buffers whose strides are variables lie `gap` elements apart; `inside`: tiles whose elem_offset is a
  // variable begin after other elements.
  Proof(const Operation& op, IntrinBodies& does, int64_t gap, bool inside) : op_(op), does_(does) {
    std::vector<Tensor> args = op->inputs;
    args.push_back(op.output());
    program_ = naive_program({op.output()}, args);
    lay_out(gap);
    for (size_t i = 0; i < program_.params.size(); ++i) begin_tile(program_.params[i].buffer, inside);
    int64_t next = 1;
    for (const ir::Param& param : program_.params) {
      const Type type = param.buffer.element();
      inputs_.emplace_back(static_cast<size_t>(elements(param.buffer) * type.bytes()));
      for (int64_t i = 0; i < elements(param.buffer) && !param.written; ++i) {
        next = (next * 75 + 74) % 65537;
        const int64_t small = type.is_bool() ? next % 2 : type.is_uint() ? next % 4 : next % 7 - 3;
        write(type, small, inputs_.back(), i);
      }
    }
  }

  Status run() {
    for (const int64_t poison : {kHigh, kLow}) {
      TW_TRY(expected_[poison], memory_after(program_.body, poison, "its expression"));
    }
    TW_TRY([[maybe_unused]] Unit summed, update());
    return does_.body ? body() : Status(Unit{});
  }

 private:
  void lay_out(int64_t gap) {
    std::unordered_map<uint64_t, int64_t> values;
    for (size_t i = 0; i < 2 * program_.params.size(); ++i) {  // twice: one variable may stand in two buffers
      const ir::Param& param = program_.params[i % program_.params.size()];
      const std::vector<Expr>& declared = does_.tile(param.buffer).strides;
      int64_t stride = 1;
      for (size_t d = declared.size(); d-- > 0;) {
        if (const auto* v = ir::as<ir::VarRef>(declared[d])) {
          if (values.emplace(v->var.id(), 0).second) program_.scalars.push_back(v->var);
          stride = values[v->var.id()] = std::max(stride + gap, values[v->var.id()]);
        } else {
          stride = *ir::as_int(declared[d]);
        }
        stride *= *ir::as_int(param.buffer.shape()[d]);
      }
    }
    for (const Var& var : program_.scalars) scalars_.push_back(static_cast<uint64_t>(values[var.id()]));
    for (ir::Param& param : program_.params) {
      const std::vector<Expr>& declared = does_.tile(param.buffer).strides;
      if (declared.empty()) continue;
      ir::BufferNode node = *param.buffer.operator->();
      node.strides.clear();
      for (const Expr& stride : declared) {
        const auto* v = ir::as<ir::VarRef>(stride);
        node.strides.push_back(v ? Expr(values[v->var.id()]) : stride);
      }
      param.buffer = laid_out_[param.buffer.id()] = Buffer(std::move(node));
    }
  }

  // Whole rows before the tile, as many as offset_factor asks for.
  void begin_tile(Buffer& buffer, bool inside) {
    const TileBuffer& tile = does_.tile(buffer);
    if (!tile.elem_offset) return;
    int64_t row = buffer.strides().empty() ? 1 : *ir::as_int(buffer.strides()[0]), rows = 0;
    for (size_t d = 1; buffer.strides().empty() && d < buffer.rank(); ++d) row *= *ir::as_int(buffer.shape()[d]);
    if (inside && buffer.rank() > 0) rows = tile.offset_factor / std::gcd(tile.offset_factor, row);
    program_.scalars.push_back(tile.elem_offset);
    scalars_.push_back(static_cast<uint64_t>(rows * row));
    ir::BufferNode node = *buffer.operator->();
    if (rows > 0) node.shape[0] = *ir::as_int(node.shape[0]) + rows;
    rows_[node.id] = rows;
    buffer = laid_out_[node.id] = Buffer(std::move(node));
    if (tile.memory) whole_[tile.memory.id()] = buffer;
  }

  // The subscripts in what is laid out.
  std::vector<Expr> inside(const Buffer& buffer, std::vector<Expr> at) const {
    const auto found = rows_.find(buffer.id());
    if (found == rows_.end() || found->second == 0) return at;
    const Expr rows(found->second);
    at[0] = at[0] + (at[0].type().is_scalar() ? rows : ir::broadcast(rows, at[0].type().lanes));
    return at;
  }

  ir::Stmt over_memory(const ir::Stmt& s) const {
    return ir::rewrite(
        ir::replace_buffers(s, laid_out_),
        [&](const ir::Stmt& inner) {
          const auto* st = ir::as<ir::Store>(inner);
          return st ? ir::store(st->buffer, inside(st->buffer, st->at), st->value, st->pred) : inner;
        },
        [&](const Expr& e) {
          if (const auto* l = ir::as<ir::Load>(e)) return ir::load(l->buffer, inside(l->buffer, l->at), l->pred);
          const auto* a = ir::as<ir::Address>(e);
          if (!a) return e;
          const auto whole = whole_.find(a->buffer.id());
          if (whole == whole_.end()) return ir::address_of(a->buffer, inside(a->buffer, a->at), a->read, a->written);
          return ir::address_of(whole->second, std::vector<Expr>(whole->second.rank(), Expr(0)), a->read, a->written);
        });
  }

  Buffer output() const { return program_.params.back().buffer; }

  Diagnostic wrong(const std::string& rule, const std::string& note) const {
    Diagnostic d;
    d.kind = ErrorKind::kSchedule;
    d.what = rule;
    d.notes.push_back(note);
    return d;
  }

  // The output after the statement has found `poison` in all of its elements.
  Result<Bytes> memory_after(const ir::Stmt& s, int64_t poison, const std::string& who) const {
    Memory memory = inputs_;
    fill(output(), poison, memory.back());
    return run(s, std::move(memory), who, true);
  }

  Result<Bytes> run(const ir::Stmt& s, Memory memory, const std::string& who, bool unwritten) const {
    ir::Program program = program_;
    program.body = over_memory(s);
    std::vector<ir::InterpBuffer> buffers;
    for (Bytes& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
    ir::InterpOptions options;
    options.check_unwritten = unwritten;
    options.scalars = scalars_;
    const Status status = ir::interpret(program, buffers, options);
    if (status.ok()) return std::move(memory.back());
    Diagnostic d = wrong(who + " must run", status.error().what);
    d.notes.insert(d.notes.end(), status.error().notes.begin(), status.error().notes.end());
    return d;
  }

  // An update adds to whatever is there; after a reset that is where the reduction starts.
  Status update() const {
    if (!does_.update) return Unit{};
    const auto* reduce = ir::as<ir::Reduce>(op_->compute()->body());
    if (!reduce) return whole(does_.update, "the update");
    TW_TRY([[maybe_unused]] Unit fresh,
           whole(ir::seq({does_.reset ? does_.reset : first_values(), does_.update}), "reset and update together"));
    for (const int64_t old : {kHigh, kLow}) {
      TW_TRY(Bytes sum, added(*reduce, old));
      Memory memory = inputs_;
      fill(output(), old, memory.back());
      TW_TRY(Bytes found, run(does_.update, std::move(memory), "its update", false));
      if (found != sum)
        return wrong("the update must add the expression of op to what the output holds",
                     "after " + std::to_string(old) + " in all elements the values differ on small integers");
    }
    return Unit{};
  }

  Status body() {
    Status fine = whole(does_.body, "the body");
    if (fine.ok() || !does_.update || !adds(does_.body)) return fine;
    does_.body = {};
    return Unit{};
  }

  Status whole(const ir::Stmt& s, const std::string& who) const {
    for (const int64_t poison : {kHigh, kLow}) {
      TW_TRY(Bytes found, memory_after(s, poison, who));
      if (found == expected_.at(poison)) continue;
      Diagnostic d =
          wrong(who + " must compute the expression of op", "the values of " + op_->name + " differ on small integers");
      if (adds(s))
        d.notes = {"it adds to what the output holds, and nothing says what that is",
                   "return (None, reset, update): reset gives the values from which a reduction starts, update adds"};
      return d;
    }
    return Unit{};
  }

  bool adds(const ir::Stmt& s) const {
    const auto* reduce = ir::as<ir::Reduce>(op_->compute()->body());
    for (const int64_t old : {kHigh, kLow}) {
      Memory memory = inputs_;
      fill(output(), old, memory.back());
      const auto found = run(s, std::move(memory), "", false);
      const auto sum = reduce ? added(*reduce, old) : Result<Bytes>(expected_.at(old));
      if (!reduce || !found.ok() || !sum.ok() || *found != *sum) return false;
    }
    return true;
  }

  // The values of op, combined with `old`.
  Result<Bytes> added(const ir::Reduce& reduce, int64_t old) const {
    const Buffer out = output(), more("more", out.element(), out.shape(), ir::Scope::kArgument, out.strides());
    const ir::Stmt sum = at_each_element([&](const std::vector<Expr>& at) {
      const std::vector<Expr> place = inside(out, at);
      return ir::store(out, place, ir::combine(reduce, {ir::load(out, place)}, {ir::load(more, place)})[0]);
    });
    ir::Program program{"sum", {{more, false}, {out, true}}, sum};
    Bytes values = expected_.at(old), sums(values.size());
    fill(out, old, sums);
    std::vector<ir::InterpBuffer> buffers = {{values.data(), values.size()}, {sums.data(), sums.size()}};
    ir::InterpOptions options;
    options.check_unwritten = false;
    TW_TRY([[maybe_unused]] Unit done, ir::interpret(program, buffers, options));
    return sums;
  }

  ir::Stmt first_values() const {
    const auto& reduce = *ir::as<ir::Reduce>(op_->compute()->body());
    return at_each_element(
        [&](const std::vector<Expr>& at) { return ir::store(op_.output().buffer(), at, ir::identity_of(reduce)[0]); });
  }

  ir::Stmt at_each_element(const std::function<ir::Stmt(const std::vector<Expr>&)>& element) const {
    const std::vector<IterVar>& axes = op_->compute()->axis;
    std::vector<Expr> at;
    for (const IterVar& axis : axes) at.push_back(axis.var);
    ir::Stmt s = element(at);
    for (size_t d = axes.size(); d-- > 0;) s = ir::loop(axes[d].var, axes[d].extent, s);
    return ir::refresh(s);
  }

  const Operation& op_;
  IntrinBodies& does_;
  ir::Program program_;
  ir::BufferMap laid_out_;
  ir::BufferMap whole_;                         // by the buffer of a memory
  std::unordered_map<uint64_t, int64_t> rows_;  // before the tile, by its buffer
  std::vector<uint64_t> scalars_;
  Memory inputs_;
  std::map<int64_t, Bytes> expected_;  // by what the output held before
};

}  // namespace

std::vector<std::string> missing_functions(const IntrinBodies& does) {
  std::vector<std::string> missing;
  for (const ir::Stmt& s : {does.body, does.reset, does.update}) {
    if (!s) continue;
    for (const std::string& symbol : ir::extern_symbols({"intrin", {}, s}))
      if (!find_extern(symbol)) missing.push_back(symbol);
  }
  return missing;
}

Status prove_intrin(const Operation& op, IntrinBodies& does) {
  bool anywhere = false;
  for (const auto& [buffer, tile] : does.tiles)
    anywhere |= tile.elem_offset ||
                std::any_of(tile.strides.begin(), tile.strides.end(), [](const Expr& e) { return !ir::as_int(e); });
  TW_TRY([[maybe_unused]] Unit compact, Proof(op, does, 0, false).run());
  return anywhere ? Proof(op, does, 3, true).run() : Status(Unit{});
}

}  // namespace tw::te
