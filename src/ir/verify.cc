#include "src/ir/verify.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "src/ir/async_copies.h"
#include "src/ir/fields.h"
#include "src/ir/group_products.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

struct Fault {
  Diagnostic diagnostic;
};

class Verifier {
 public:
  void program(const Program& p) {
    if (p.places.size() > p.scalars.size()) fail("kernel " + p.name + ": no more places than scalars expected");
    for (const Var& scalar : p.scalars) {
      if (!scalar.type().is_scalar()) fail(scalar.name() + ": a scalar of one lane expected");
      if (!bound_.insert(scalar.id()).second) fail(scalar.name() + ": a scalar that is declared twice");
      vars_.emplace(scalar.id(), scalar.type());
    }
    for (const Param& param : p.params) {
      declare(param.buffer);
      if (param.buffer.scope() != Scope::kArgument)
        fail(param.buffer.name() + ": a parameter of scope argument expected");
      if (param.nontemporal && !param.written)
        fail(param.buffer.name() + ": an output expected where stores are nontemporal");
      buffers_.at(param.buffer.id()).written = param.written;
    }
    if (!p.body) fail("kernel " + p.name + ": a body expected");
    statement(p.body);
  }

 private:
  struct Declared {
    Buffer buffer;
    bool written = true;
    bool of_launch = false;  // within which it is allocated
  };

  void statement(const Stmt& s) {
    here_ = &s;
    match(
        s, [&](const Store& st) { store(st); }, [&](const For& f) { loop(f); }, [&](const If& i) { branch(i); },
        [&](const Seq& q) { sequence(q); }, [&](const Allocate& a) { allocation(a); },
        [&](const LetStmt& l) { let(l); }, [&](const Evaluate& v) { effect(v.value); },
        [&](const Sync& sync) {
          if (!in_launch_) fail("sync: a place within a launch expected");
          if (sync.op == SyncOp::kCluster) within_cluster("sync");
          if (sync.count < 0 || (sync.count > 0 && sync.op != SyncOp::kWait))
            fail("sync: a number of groups from 0 on expected, of a wait");
        });
  }

  void store(const Store& st) {
    for (const Expr& e : st.at) expression(e);
    stored_ = st.value.get();
    expression(st.value);
    if (st.pred) expression(st.pred);
    access(st.buffer, st.at, st.pred);
    if (!buffers_.at(st.buffer.id()).written)
      fail(st.buffer.name() + ": a parameter that is not an output is stored to");
    if (st.arrival != Arrival::kNow && !(in_launch_ && st.buffer.scope() == Scope::kShared))
      fail(st.buffer.name() + ": shared memory of a launch expected where a value arrives later");
    const Type type = st.buffer.element().with_lanes(lanes_of(st.at));
    if (st.value.type() != type)
      fail(st.buffer.name() + ": a value of type " + to_string(type) + " expected, not " + to_string(st.value.type()));
  }

  void loop(const For& f) {
    expression(f.extent);
    if (!(f.extent.type() == Type::index() && f.var.type() == Type::index()))
      fail(f.var.name() + ": a loop over an index expected");
    const std::optional<int64_t> extent = as_int(f.extent);
    if (f.kind == ForKind::kVectorized && !extent)
      fail(f.var.name() + ": a constant extent expected in a vectorized loop");
    if (extent.value_or(0) < 0)
      fail(f.var.name() + ": an extent from 0 on expected, not " + std::to_string(extent.value_or(0)));
    if (!f.body) fail(f.var.name() + ": a loop without a body");
    if (is_device_index(f.kind)) return device_index(f);
    if (f.kind == ForKind::kCooperative && !in_launch_) fail(f.var.name() + ": a place within a launch expected");
    if (f.kind == ForKind::kParallel && in_launch_) fail(f.var.name() + ": a parallel loop within a launch");
    if (f.kind == ForKind::kCooperative && in_cooperative_) fail(f.var.name() + ": a cooperative loop within another");
    const bool outside = std::exchange(in_loop_, true);
    const bool shared = std::exchange(in_cooperative_, in_cooperative_ || f.kind == ForKind::kCooperative);
    in_scope(f.var, f.body);
    in_cooperative_ = shared;
    in_loop_ = outside;
  }

  // Directly within each other, within no other loop; what stands within the innermost is the launch's body.
  void device_index(const For& f) {
    if (has_load(f.extent)) fail(f.var.name() + ": an extent that is read from memory: " + to_string(f.extent));
    for (const Var& index : indices_)
      if (uses_var(f.extent, index)) fail(f.var.name() + ": an extent that depends on " + index.name());
    indices_.push_back(f.var);
    if (in_launch_ || in_loop_) fail(f.var.name() + ": a launch within a loop");
    const auto taken = [&](ForKind k) {
      return is_thread(k) == is_thread(f.kind) && dimension_of(k) == dimension_of(f.kind);
    };
    if (std::any_of(launch_.begin(), launch_.end(), taken))
      fail(f.var.name() + ": an index that the launch has already");
    if (is_cluster(f.kind)) cluster_index(f);
    launch_.insert(f.kind);
    if (is_block(f.kind) && std::any_of(launch_.begin(), launch_.end(), is_thread))
      fail(f.var.name() + ": blocks outside of threads expected");
    const For* inner = as<For>(f.body);
    if (inner != nullptr && is_device_index(inner->kind)) return in_scope(f.var, f.body);
    in_launch_ = true;
    in_scope(f.var, f.body);
    in_launch_ = false;
    launch_.clear();
    indices_.clear();
  }

  void cluster_index(const For& f) {
    if (std::any_of(launch_.begin(), launch_.end(), is_cluster))
      fail(f.var.name() + ": a second index of the blocks of a cluster");
    if (const auto blocks = as_int(f.extent); !blocks || *blocks > kMostInCluster)
      fail(f.var.name() + ": a cluster of up to " + std::to_string(kMostInCluster) + " blocks expected, not " +
           to_string(f.extent));
  }
  void within_cluster(const std::string& what) {
    if (std::none_of(launch_.begin(), launch_.end(), is_cluster))
      fail(what + ": a launch whose blocks are a cluster expected");
  }

  void branch(const If& i) {
    expression(i.cond);
    if (i.cond.type() != Type::boolean())
      fail("if: a condition of type bool expected, not " + to_string(i.cond.type()));
    if (!i.then) fail("if: without a body");
    statement(i.then);
    if (i.otherwise) statement(i.otherwise);
  }

  void sequence(const Seq& q) {
    if (q.stmts.size() == 1) fail("a sequence of one statement");
    for (const Stmt& s : q.stmts)
      if (!s || as<Seq>(s)) fail("a sequence inside a sequence");
    for (const Stmt& s : q.stmts) statement(s);
  }

  void allocation(const Allocate& a) {
    if (a.buffer.scope() == Scope::kArgument || a.buffer.scope() == Scope::kWarp)
      fail(a.buffer.name() + ": an allocation of scope global, shared or local expected");
    if ((a.buffer.scope() == Scope::kShared) != in_launch_ && a.buffer.scope() != Scope::kLocal)
      fail(a.buffer.name() + ": shared memory within a launch, global memory outside of it expected");
    if (!a.body) fail(a.buffer.name() + ": an allocation without a body");
    declare(a.buffer);
    const size_t mark = checked_.size();
    statement(a.body);
    buffers_.erase(a.buffer.id());
    forget(mark);
  }

  void let(const LetStmt& l) {
    expression(l.value);
    if (l.value.type() != l.var.type())
      fail(l.var.name() + ": a value of type " + to_string(l.var.type()) + " expected, not " +
           to_string(l.value.type()));
    if (!l.body) fail(l.var.name() + ": a let without a body");
    in_scope(l.var, l.body);
  }

  void effect(const Expr& call) {
    evaluated_ = call.get();
    expression(call);
    if (!as<CallExtern>(call) && !is_prefetch(call)) fail("a call of an extern function or a prefetch expected");
  }

  void in_scope(const Var& var, const Stmt& body) {
    if (!bound_.insert(var.id()).second) fail(var.name() + ": a variable that is bound twice");
    const size_t mark = checked_.size();
    vars_.emplace(var.id(), var.type());
    statement(body);
    vars_.erase(var.id());
    forget(mark);
  }

  void declare(const Buffer& b) {
    if (!bound_.insert(b.id()).second) fail(b.name() + ": a buffer that is declared twice");
    if (!(b.element().is_scalar() && !b.element().is_index() && !b.element().is_handle()))
      fail(b.name() + ": elements of a scalar data type expected, not " + to_string(b.element()));
    for (const Expr& extent : b.shape()) {
      if (!(extent.type() == Type::index() && as_int(extent).value_or(0) >= 0))
        fail(b.name() + ": an extent from 0 on expected, not " + to_string(extent));
      over_scalars(extent);
    }
    if (!(b.strides().empty() || b.strides().size() == b.rank()))
      fail(b.name() + ": as many strides as extents expected");
    for (const Expr& stride : b.strides()) {
      if (stride.type() != Type::index()) fail(b.name() + ": an index as stride expected, not " + to_string(stride));
      over_scalars(stride);
    }
    buffers_.insert_or_assign(b.id(), Declared{b, true, in_launch_});
  }

  // Constant, or known where the buffer is declared.
  void over_scalars(const Expr& e) {
    if (as_int(e)) return;
    if (has_load(e)) fail("an extent that is read from memory: " + to_string(e));
    expression(e);
  }

  void access(const Buffer& b, const std::vector<Expr>& at, const Expr& pred) {
    const auto found = buffers_.find(b.id());
    if (found == buffers_.end()) fail(b.name() + ": a buffer that is accessed outside its scope");
    const Buffer& declared = found->second.buffer;
    if (in_launch_ && !found->second.of_launch && declared.scope() == Scope::kLocal)
      fail(b.name() + ": local memory of the host that a launch accesses");
    if (b.element() != declared.element())
      fail(b.name() + ": elements of " + to_string(declared.element()) + " expected, not " + to_string(b.element()));
    const bool linear = b.rank() == 1 && b.strides().empty();
    if (!(linear || b.rank() == declared.rank()))
      fail(b.name() + ": " + std::to_string(declared.rank()) + " subscripts expected, not " + std::to_string(b.rank()));
    require(access_fault(b, at, pred));
  }

  // Each node once within the scopes in which it was met: what holds there holds further in.
  void expression(const Expr& e) {
    if (!e) fail("an expression that is missing");
    if (e.shared() && !seen_.insert(e.get()).second) return;
    if (e.shared()) checked_.push_back(e.get());
    if (const Let* l = as<Let>(e)) return let(*l, e);
    if (const Reduce* r = as<Reduce>(e)) return reduction(*r);
    if (const auto* call = as<Call>(e); call && is_tile(call->fn) && e.get() != stored_)
      fail(name_of(call->fn) + ": a product of tiles that is not the whole of what is stored");
    if (const auto* call = as<CallExtern>(e); call && is_of_warp(call->symbol)) device_call(*call, e, warp_fault);
    if (const auto* call = as<CallExtern>(e); call && is_async(call->symbol)) {
      device_call(*call, e, async_fault);
      if (reaches_cluster(call->symbol)) within_cluster(call->symbol);
    }
    if (const auto* call = as<CallExtern>(e); call && is_of_group(call->symbol)) device_call(*call, e, group_fault);
    const bool takes_addresses = as<CallExtern>(e) || is_prefetch(e);
    for_each_child(*e, [&](const Expr& child) {
      expression(child);
      if (!takes_addresses && static_cast<bool>(child) && child.type().is_handle())
        fail("an address that is no argument of a call");
    });
    require(fault_of(e));
  }

  static bool is_prefetch(const Expr& e) {
    const auto* call = as<Call>(e);
    return call && ir::is_prefetch(call->fn);
  }

  void device_call(const CallExtern& call, const Expr& e, std::string (*fault_of)(const CallExtern&)) {
    if (!in_launch_ || e.get() != evaluated_) fail(call.symbol + ": a statement of a launch expected");
    if (const std::string fault = fault_of(call); !fault.empty()) fail(call.symbol + ": " + fault);
  }

  void let(const Let& l, const Expr& e) {
    expression(l.value);
    if (!(l.value.type() == l.var.type() && l.body.get() != nullptr && l.body.type() == e.type()))
      fail(l.var.name() + ": a let whose types differ");
    const size_t mark = checked_.size();
    enter(l.var);
    expression(l.body);
    leave(l.var);
    forget(mark);
  }

  void reduction(const Reduce& r) {
    if (r.axes.empty()) fail("a reduction without an axis");
    const size_t mark = checked_.size();
    for (const ReduceAxis& axis : r.axes) {
      expression(axis.min);
      expression(axis.extent);
    }
    for (const ReduceAxis& axis : r.axes) enter(axis.var);
    for (const Expr& source : r.sources) expression(source);
    if (r.where) expression(r.where);
    for (const Expr& init : r.init) expression(init);
    require(reduce_fault(r));
    for (const ReduceAxis& axis : r.axes) leave(axis.var);
    if (r.combiner) combiner(*r.combiner, r.sources);
    forget(mark);
  }

  // Its identity stands alone; its results see nothing but the two tuples.
  void combiner(const Combiner& c, const std::vector<Expr>& sources) {
    const size_t n = sources.size();
    if (c.lhs.size() != n || c.rhs.size() != n || c.result.size() != n || c.identity.size() != n)
      fail(c.name + ": as many components as sources expected");
    auto outside = std::exchange(vars_, {});
    for (const Expr& identity : c.identity) expression(identity);
    for (size_t i = 0; i < n; ++i) {
      enter(c.lhs[i]);
      enter(c.rhs[i]);
    }
    for (const Expr& result : c.result) expression(result);
    vars_ = std::move(outside);
    for (size_t i = 0; i < n; ++i) {
      const Type type = sources[i].type();
      if (c.lhs[i].type() != type || c.rhs[i].type() != type || c.result[i].type() != type ||
          c.identity[i].type() != type)
        fail(c.name + ": " + to_string(type) + " expected throughout component " + std::to_string(i));
    }
  }

  std::string fault_of(const Expr& e) {
    const Type type = e.type();
    return match(
        e, [&](const IntImm& i) { return constant_fault(type, i.value); },
        [&](const FloatImm& f) { return constant_fault(type, f.value); },
        [&](const VarRef& v) {
          const auto found = vars_.find(v.var.id());
          if (found == vars_.end()) return v.var.name() + ": a variable that is used outside its scope";
          return found->second == type ? ""
                                       : v.var.name() + ": a variable of type " + to_string(found->second) +
                                             " used as " + to_string(type);
        },
        [&](const Cast& c) { return cast_fault(type, c.value); },
        [&](const Binary& b) { return binary_fault(b.op, b.a, b.b); },
        [&](const Not& n) { return std::string(n.a.type().is_bool() ? "" : "not: a bool expected"); },
        [&](const Select& s) { return select_fault(s.cond, s.yes, s.no); },
        [&](const Load& l) { return access(l.buffer, l.at, l.pred), std::string(); },
        [&](const Call& c) {
          return c.fn == Fn::kReinterpret ? reinterpret_fault(type, c.args.at(0)) : ir::call_fault(c.fn, c.args);
        },
        [&](const Ramp& r) { return ramp_fault(r.base, r.stride, r.lanes); },
        [&](const Broadcast& b) { return broadcast_fault(b.value, b.lanes); },
        [&](const Let&) { return std::string(); }, [&](const Reduce&) { return std::string(); },
        [&](const CallExtern& c) { return call_fault(c); }, [&](const Address& a) { return address_fault(a); });
  }

  static std::string call_fault(const CallExtern& c) {
    if (c.symbol.empty()) return "call: the name of a function expected";
    for (const Expr& arg : c.args)
      if (!arg.type().is_scalar()) return c.symbol + ": scalar arguments expected, not " + to_string(arg.type());
    return {};
  }

  std::string address_fault(const Address& a) {
    access(a.buffer, a.at, {});
    if (a.written && !buffers_.at(a.buffer.id()).written)
      return a.buffer.name() + ": a parameter that is not an output is written through its address";
    return lanes_of(a.at) == 1 ? "" : a.buffer.name() + ": the address of one element expected";
  }

  static std::string constant_fault(Type type, int64_t value) {
    const bool fits = !type.is_float() && type.is_scalar() && as_int(int_imm(type, value)) == value;
    return fits ? "" : std::to_string(value) + ": not a value of " + to_string(type);
  }
  static std::string constant_fault(Type type, double value) {
    const bool fits = type.is_float() && type.is_scalar() && (std::isnan(value) || round_to(type, value) == value);
    return fits ? "" : std::to_string(value) + ": not a value of " + to_string(type);
  }

  void enter(const Var& var) {
    if (!(vars_.emplace(var.id(), var.type()).second))
      fail(var.name() + ": a variable that is bound inside its own scope");
  }
  void leave(const Var& var) { vars_.erase(var.id()); }

  void forget(size_t mark) {
    for (size_t i = mark; i < checked_.size(); ++i) seen_.erase(checked_[i]);
    checked_.resize(mark);
  }

  void require(const std::string& fault) {
    if (!fault.empty()) fail(fault);
  }

  [[noreturn]] void fail(const std::string& what) {
    Diagnostic d;
    d.kind = ErrorKind::kInternal;
    d.what = what;
    if (here_ != nullptr) d.notes.push_back("in " + first_line(*here_));
    throw Fault{std::move(d)};
  }

  static std::string first_line(const Stmt& s) {
    const std::string text = to_string(s);
    return text.substr(0, std::min(text.find('\n'), size_t{200}));
  }

  const Stmt* here_ = nullptr;
  bool in_loop_ = false;    // of the host
  bool in_launch_ = false;  // within the innermost of a launch's indices
  bool in_cooperative_ = false;
  std::set<ForKind> launch_;  // the indices of the launch at hand
  std::vector<Var> indices_;
  std::unordered_set<uint64_t> bound_;
  std::unordered_map<uint64_t, Declared> buffers_;
  std::unordered_map<uint64_t, Type> vars_;
  std::unordered_set<const ExprNode*> seen_;
  const ExprNode* stored_ = nullptr;      // by the statement at hand
  const ExprNode* evaluated_ = nullptr;   // by the last one of that kind
  std::vector<const ExprNode*> checked_;  // what is in seen_, in order: scopes forget what they met
};

}  // namespace

Status verify(const Program& p) {
  return support::with_deep_stack([&]() -> Status {
    try {
      Verifier().program(p);
      return Unit{};
    } catch (Fault& fault) {
      return std::move(fault.diagnostic);
    }
  });
}

}  // namespace tw::ir
