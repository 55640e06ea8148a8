// Expressions of the interpreter: one small node per operation.

#include "src/ir/fields.h"
#include "src/ir/interp_extern.h"
#include "src/ir/interp_index.h"
#include "src/ir/interp_program.h"
#include "src/ir/typing.h"

namespace tw::ir::interp {
namespace {

struct ConstantCode final : ExprCode {
  Value value;
  explicit ConstantCode(Value v) : value(v) {}
  Value eval(State&) const override { return value; }
};

struct VariableCode final : ExprCode {
  size_t slot;
  bool vector;
  VariableCode(size_t s, bool v) : slot(s), vector(v) {}
  Value eval(State& s) const override { return s.slots[vector ? slot + static_cast<size_t>(s.lane) : slot]; }
};

struct UnaryCode final : ExprCode {
  UnaryFn fn;
  ExprPtr a;
  UnaryCode(UnaryFn f, ExprPtr x) : fn(f), a(std::move(x)) {}
  Value eval(State& s) const override { return fn(a->eval(s)); }
};

struct BinaryCode final : ExprCode {
  BinaryFn fn;
  ExprPtr a, b;
  BinaryCode(BinaryFn f, ExprPtr x, ExprPtr y) : fn(f), a(std::move(x)), b(std::move(y)) {}
  Value eval(State& s) const override {
    const Value left = a->eval(s);
    return fn(left, b->eval(s));
  }
};

struct TernaryCode final : ExprCode {
  TernaryFn fn;
  ExprPtr a, b, c;
  TernaryCode(TernaryFn f, ExprPtr x, ExprPtr y, ExprPtr z)
      : fn(f), a(std::move(x)), b(std::move(y)), c(std::move(z)) {}
  Value eval(State& s) const override {
    const Value first = a->eval(s), second = b->eval(s);
    return fn(first, second, c->eval(s));
  }
};

// cond ? yes : no; and, or and not are selects as well.
struct SelectCode final : ExprCode {
  ExprPtr cond, yes, no;
  SelectCode(ExprPtr c, ExprPtr y, ExprPtr n) : cond(std::move(c)), yes(std::move(y)), no(std::move(n)) {}
  Value eval(State& s) const override { return cond->eval(s).i ? yes->eval(s) : no->eval(s); }
};

struct LoadCode final : ExprCode {
  Subscripts at;
  ExprPtr pred;
  LoadCode(Subscripts subscripts, ExprPtr p) : at(std::move(subscripts)), pred(std::move(p)) {}
  Value eval(State& s) const override {
    if (pred && !pred->eval(s).i) return Value{};
    const int64_t offset = at.offset(s);
    return s.memories[at.memory()]->load(offset, s.tasks);
  }
};

struct RampCode final : ExprCode {
  ExprPtr base, stride;
  BinaryFn add, multiply;
  UnaryFn from_index;
  RampCode(ExprPtr b, ExprPtr st, Type t)
      : base(std::move(b)),
        stride(std::move(st)),
        add(binary_function(BinOp::kAdd, t)),
        multiply(binary_function(BinOp::kMul, t)),
        from_index(cast_function(Type::index(), t)) {}
  Value eval(State& s) const override {
    Value lane{};
    lane.i = s.lane;
    const Value first = base->eval(s);
    return add(first, multiply(stride->eval(s), from_index(lane)));
  }
};

struct LetCode final : ExprCode {
  size_t slot;
  bool vector;
  ExprPtr value, body;
  LetCode(size_t at, bool v, ExprPtr x, ExprPtr in) : slot(at), vector(v), value(std::move(x)), body(std::move(in)) {}
  Value eval(State& s) const override {
    const Value v = value->eval(s);
    s.slots[vector ? slot + static_cast<size_t>(s.lane) : slot] = v;
    s.forget();  // the same id may have stood for something else a moment ago
    return body->eval(s);
  }
};

struct ReduceCode final : ExprCode {
  struct Axis {
    size_t slot;
    ExprPtr min, extent;
  };
  std::vector<Axis> axes;
  ExprPtr source;
  BinaryFn combine;
  Value identity;

  Value eval(State& s) const override {
    Value acc = identity;
    accumulate(s, 0, acc);
    s.forget();
    return acc;
  }
  void accumulate(State& s, size_t depth, Value& acc) const {
    if (depth == axes.size()) {
      s.forget();
      acc = combine(acc, source->eval(s));
      return;
    }
    const Axis& axis = axes[depth];
    const int64_t first = axis.min->eval(s).i, extent = axis.extent->eval(s).i;
    for (int64_t n = 0; n < extent; ++n) {
      s.slots[axis.slot].i = first + n;
      accumulate(s, depth + 1, acc);
    }
  }
};

// c[lane] and the products that belong to it. A short `a` is the same for all lanes.
struct DotCode final : ExprCode {
  static constexpr int kMostTerms = 64;
  Fn fn;
  DotForm form;
  int a_lanes;
  ExprPtr c, a, b;
  Value eval(State& s) const override {
    const int lane = s.lane;
    const Value sum = c->eval(s);
    Value left[kMostTerms], right[kMostTerms];
    for (int j = 0; j < form.group; ++j) {
      s.next_lane(form.left_at(lane, j) % a_lanes);
      left[j] = a->eval(s);
      s.next_lane(form.right_at(lane, j));
      right[j] = b->eval(s);
    }
    s.next_lane(lane);
    return dot(fn, form.group, sum, left, right);
  }
};

// Changes no value.
struct PrefetchCode final : ExprCode {
  Value eval(State&) const override { return Value{}; }
};

// A node with several users keeps its value until the statement, the lane or a reduction moves on.
struct SharedCode final : ExprCode {
  ExprPtr code;
  bool vector;
  mutable uint64_t epoch = 0;
  mutable Value value{};
  SharedCode(ExprPtr c, bool v) : code(std::move(c)), vector(v) {}
  Value eval(State& s) const override {
    if (epoch == (vector ? s.lane_epoch : s.statement)) return value;
    value = code->eval(s);
    epoch = vector ? s.lane_epoch : s.statement;
    return value;
  }
};

Value truth(bool b) {
  Value out{};
  out.i = b;
  return out;
}

}  // namespace

size_t Preparation::slot_of(const Var& v, int lanes) {
  auto [it, fresh] = slot_ids_.insert({v.id(), slots_});
  if (fresh) slots_ += static_cast<size_t>(lanes);
  return it->second;
}

size_t Preparation::memory_of(const Buffer& b) {
  auto [it, fresh] = memory_ids_.insert({b.id(), buffers_.size()});
  if (fresh) buffers_.push_back(b);
  return it->second;
}

void Preparation::count(const Expr& e) {
  if (++uses_[e.get()] == 1) for_each_child(*e, [&](const Expr& child) { count(child); });
}

void Preparation::count_uses(const Stmt& s) {
  for_each_child(*s, [&](const auto& child) {
    if constexpr (std::is_same_v<std::decay_t<decltype(child)>, Stmt>) {
      count_uses(child);
    } else {
      count(child);
    }
  });
}

ExprPtr Preparation::shared(ExprPtr code, Type type) const {
  const bool cheap = dynamic_cast<const ConstantCode*>(code.get()) || dynamic_cast<const VariableCode*>(code.get()) ||
                     is_affine(*code) || dynamic_cast<const SharedCode*>(code.get());
  return cheap ? code : std::make_shared<SharedCode>(std::move(code), !type.is_scalar());
}

ExprPtr Preparation::expr(const Expr& e) {
  if (!e) return nullptr;
  if (auto it = prepared_.find(e.get()); it != prepared_.end()) return it->second;
  ExprPtr out = prepare(e);
  if (uses_[e.get()] > 1) out = shared(std::move(out), e.type());
  prepared_.insert({e.get(), out});
  return out;
}

ExprPtr Preparation::prepare(const Expr& e) {
  const Type t = e.type();
  if (ExprPtr affine = affine_code(*this, e)) return affine;
  return match(
      e, [&](const IntImm& c) -> ExprPtr { return std::make_shared<ConstantCode>(value_of(c)); },
      [&](const FloatImm& c) -> ExprPtr { return std::make_shared<ConstantCode>(value_of(c, t)); },
      [&](const VarRef& v) -> ExprPtr {
        return std::make_shared<VariableCode>(slot_of(v.var, t.lanes), !t.is_scalar());
      },
      [&](const Cast& c) -> ExprPtr {
        return std::make_shared<UnaryCode>(cast_function(c.value.type(), t), expr(c.value));
      },
      [&](const Binary& b) -> ExprPtr {
        if (ExprPtr of_indices = index_code(*this, b)) return of_indices;
        const ExprPtr left = expr(b.a), right = expr(b.b);
        if (b.op == BinOp::kAnd)
          return std::make_shared<SelectCode>(left, right, std::make_shared<ConstantCode>(truth(false)));
        if (b.op == BinOp::kOr)
          return std::make_shared<SelectCode>(left, std::make_shared<ConstantCode>(truth(true)), right);
        return std::make_shared<BinaryCode>(binary_function(b.op, b.a.type()), left, right);
      },
      [&](const Not& n) -> ExprPtr {
        return std::make_shared<SelectCode>(expr(n.a), std::make_shared<ConstantCode>(truth(false)),
                                            std::make_shared<ConstantCode>(truth(true)));
      },
      [&](const Select& s) -> ExprPtr {
        const ExprPtr cond = expr(s.cond), yes = expr(s.yes);
        return std::make_shared<SelectCode>(cond, yes, expr(s.no));
      },
      [&](const Load& l) -> ExprPtr {
        return std::make_shared<LoadCode>(Subscripts(*this, l.buffer, l.at), expr(l.pred));
      },
      [&](const Call& c) -> ExprPtr {
        if (is_prefetch(c.fn)) return std::make_shared<PrefetchCode>();
        const ExprPtr first = expr(c.args[0]);
        if (is_dot(c.fn)) {
          auto code = std::make_shared<DotCode>();
          code->fn = c.fn;
          code->form = dot_form(c.fn, c.args);
          code->a_lanes = c.args[1].type().lanes;
          code->c = first;
          code->a = expr(c.args[1]);
          code->b = expr(c.args[2]);
          return code;
        }
        if (c.fn == Fn::kReinterpret)
          return std::make_shared<UnaryCode>(reinterpret_function(c.args[0].type(), t), first);
        if (c.fn == Fn::kPow) return std::make_shared<BinaryCode>(pow_function(t), first, expr(c.args[1]));
        if (c.fn == Fn::kScale) return std::make_shared<BinaryCode>(scale_function(t), first, expr(c.args[1]));
        if (c.fn == Fn::kFma)
          return std::make_shared<TernaryCode>(fma_function(t), first, expr(c.args[1]), expr(c.args[2]));
        return std::make_shared<UnaryCode>(unary_function(c.fn, c.args[0].type()), first);
      },
      [&](const Ramp& r) -> ExprPtr { return std::make_shared<RampCode>(expr(r.base), expr(r.stride), t); },
      [&](const Broadcast& b) -> ExprPtr { return shared(expr(b.value), b.value.type()); },
      [&](const Let& l) -> ExprPtr {
        const int lanes = l.var.type().lanes;
        const size_t slot = slot_of(l.var, lanes);
        const ExprPtr value = expr(l.value);
        return std::make_shared<LetCode>(slot, lanes > 1, value, expr(l.body));
      },
      [&](const Reduce& r) -> ExprPtr {
        auto code = std::make_shared<ReduceCode>();
        for (const ReduceAxis& axis : r.axes)
          code->axes.push_back({slot_of(axis.var, 1), expr(axis.min), expr(axis.extent)});
        TW_CHECK(!r.combiner && !r.where && r.init.empty(), "a reduction of tuples in a program");
        code->source = expr(r.sources[0]);
        code->combine = binary_function(operator_of(r.op), t);
        State nothing;
        code->identity = prepare(identity_of(r.op, t))->eval(nothing);
        return code;
      },
      [&](const CallExtern& c) -> ExprPtr { return extern_code(*this, c, t); },
      [&](const Address& a) -> ExprPtr {
        throw Fault{ErrorKind::kArgument, "interpret: takes no address, such as that of " + a.buffer.name(), {}};
      });
}

}  // namespace tw::ir::interp
