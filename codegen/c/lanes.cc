#include "codegen/c/lanes.h"

#include <functional>
#include <set>
#include <unordered_map>
#include <utility>

#include "codegen/c/dot.h"
#include "src/ir/equal.h"
#include "src/ir/interval.h"
#include "src/ir/simplify.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using namespace ir;

namespace {

Expr sum(const Expr& base, const Expr& offset) {
  const auto a = as_int(base), b = as_int(offset);
  if (a && b && base.type().is_index()) return Expr(*a + *b);
  return a == 0 ? offset : b == 0 ? base : base + offset;
}

// The loops over lanes of one program.
class LaneWriter {
 public:
  explicit LaneWriter(std::function<bool(const Store&)> stays) : stays_(std::move(stays)) {}

  Stmt visit(const Stmt& s) {
    if (const auto* st = as<Store>(s)) return store_of(*st, s);
    if (const auto* let = as<LetStmt>(s); let && !let->var.type().is_scalar()) return vector_of(*let);
    if (const auto* loop = as<For>(s); loop && loop->kind == ForKind::kVectorized)
      return ir::loop(loop->var, loop->extent, visit(loop->body), ForKind::kSerial, loop->tail);
    return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
  }

 private:
  Stmt store_of(const Store& st, const Stmt& whole) {
    const int lanes = std::max<int>(st.value.type().lanes, lanes_of(st.at));
    if (lanes == 1 || (stays_ && stays_(st))) return whole;
    if (hazard(st)) return in_two_steps(st, lanes);
    std::vector<bool> wanted;  // lanes, where they are known
    if (is_known(st.pred))
      for (int l = 0; l < lanes; ++l) wanted.push_back(known_at(st.pred, l));
    return over_lanes(lanes, {st.value, st.at[0], st.pred}, [&](int first) {
      if (wanted.empty()) return lane_store(st, st.pred);
      return wanted[static_cast<size_t>(first)] ? lane_store(st, {}) : Stmt();
    });
  }

  // gcc 12 makes of a load under a condition that is known for each lane a blend with memory, which reads all lanes.
  // So, while that gcc is in use, lanes for which `read` knows different conditions have loops of their own.
  template <class Body>
  Stmt over_lanes(int lanes, const std::vector<Expr>& read, const Body& body) {
    lanes_ = lanes;
    std::vector<Stmt> parts;
    int begin = 0;
    for (const int end : changes(lanes, read)) {
      const Var l("l");
      number_ = sum(Expr(begin), l);
      done_.clear();
      const Stmt part = body(begin);
      if (part) parts.push_back(loop(l, end - begin, part, ForKind::kVectorized));
      begin = end;
    }
    return seq(std::move(parts));
  }

  // The lanes, and the last one, at which a condition that is known turns.
  std::vector<int> changes(int lanes, const std::vector<Expr>& read) {
    std::set<int> found = {lanes};
    const auto note = [&](const Expr& condition) {
      if (!is_known(condition)) return;
      for (int l = 1; l < lanes; ++l)
        if (known_at(condition, l) != known_at(condition, l - 1)) found.insert(l);
    };
    for (const Expr& e : read) {
      if (!e) continue;
      if (e.type().is_bool()) note(e);
      walk(e, [&](const Expr& part) {
        const auto* l = as<Load>(part);
        const auto* choice = as<Select>(part);
        if (l) note(l->pred);
        if (choice) note(choice->cond);
        return true;
      });
    }
    return {found.begin(), found.end()};
  }

  static bool is_known(const Expr& condition) {
    bool known = static_cast<bool>(condition) && !condition.type().is_scalar();
    if (!known) return false;
    walk(condition, [&](const Expr& e) { return known = known && !as<VarRef>(e) && !as<Load>(e); });
    return known;
  }

  bool known_at(const Expr& condition, int l) {
    number_ = Expr(l);
    done_.clear();
    return is_int(simplify(lane(condition)), 1);
  }

  Stmt lane_store(const Store& st, const Expr& pred) {
    std::vector<Expr> at;
    for (const Expr& e : st.at) at.push_back(lane(e));
    return store(st.buffer, std::move(at), lane(st.value), pred ? lane(pred) : Expr(), st.arrival);
  }

  using Kept = std::function<Expr()>;  // the value of the lane at hand

  // x = value of every lane, then C[at] = x: subscripts and predicate are part of what is read first.
  Stmt in_two_steps(const Store& st, int lanes) {
    std::vector<std::pair<Buffer, Expr>> kept;
    const auto keep = [&](const char* name, const Expr& e) -> Kept {
      const Buffer buffer(name, e.type().element(), {Expr(lanes)}, Scope::kLocal);
      kept.emplace_back(buffer, e);
      return [=, this] { return load(buffer, {number_}); };
    };
    const Kept value = keep("value", st.value);
    const Kept pred = st.pred ? keep("wanted", st.pred) : [] { return Expr(); };
    const Expr at = st.at[0];
    const Kept place = has_load(at) ? keep("place", at) : [this, at] { return lane(at); };
    std::vector<Stmt> steps;
    for (const auto& [buffer, e] : kept)
      steps.push_back(over_lanes(lanes, {e}, [&](int) { return store(buffer, {number_}, lane(e)); }));
    steps.push_back(
        over_lanes(lanes, {}, [&](int) { return store(st.buffer, {place()}, value(), pred(), st.arrival); }));
    Stmt out = seq(std::move(steps));
    for (const auto& [buffer, e] : kept) out = allocate(buffer, out);
    return out;
  }

  Stmt vector_of(const LetStmt& let) {
    const Type type = let.var.type();
    const Buffer buffer(let.var.name(), type.element(), {Expr(type.lanes)}, Scope::kLocal);
    const Stmt fill =
        over_lanes(type.lanes, {let.value}, [&](int) { return store(buffer, {number_}, lane(let.value)); });
    vectors_.emplace(let.var.id(), buffer);
    return allocate(buffer, seq({fill, visit(let.body)}));
  }

  // One lane of an expression.
  Expr lane(const Expr& e) {
    if (e.type().is_scalar()) return e;
    auto [at, fresh] = done_.try_emplace(e.get());
    if (!fresh) return at->second;
    const Expr out = lane_of(e);
    return done_[e.get()] = out;
  }

  std::vector<Expr> lanes(const std::vector<Expr>& list) {
    std::vector<Expr> out;
    for (const Expr& e : list) out.push_back(lane(e));
    return out;
  }

  Expr lane_of(const Expr& e) {
    if (const auto* r = as<Ramp>(e)) return ramp_lane(*r);
    if (const auto* b = as<Broadcast>(e)) return b->value;
    if (const auto* v = as<VarRef>(e)) {
      const auto kept = vectors_.find(v->var.id());
      if (kept != vectors_.end()) return load(kept->second, {number_});
      const auto wider = wider_.find(v->var.id());
      return wider == wider_.end() ? Expr(scalar(v->var)) : lane(wider->second);
    }
    if (const auto* l = as<Let>(e)) {
      const int lanes = l->var.type().lanes;
      if (lanes != 1 && lanes != lanes_) {  // an operand of a dot product: no lane of ours is the only one
        wider_.emplace(l->var.id(), l->value);
        return lane(l->body);
      }
      const Expr value = lane(l->value);
      return let(lanes == 1 ? l->var : scalar(l->var), value, lane(l->body));
    }
    if (const auto* l = as<Load>(e)) return load(l->buffer, lanes(l->at), l->pred ? lane(l->pred) : Expr());
    if (const auto* c = as<Cast>(e)) return cast(e.type().element(), lane(c->value));
    if (const auto* c = as<Call>(e)) {
      if (c->fn == Fn::kReinterpret) return reinterpret(e.type().element(), lane(c->args[0]));
      TW_CHECK(!is_tile(c->fn), "a product of tiles, for which C has no words: " + to_string(e));
      if (is_dot(c->fn)) return dot(*c);
      return call(c->fn, lanes(c->args));
    }
    if (const auto* b = as<Binary>(e)) return binary(b->op, lane(b->a), lane(b->b));
    if (const auto* n = as<Not>(e)) return logical_not(lane(n->a));
    if (const auto* s = as<Select>(e)) return select(lane(s->cond), lane(s->yes), lane(s->no));
    TW_CHECK(false, "no lane of " + to_string(e));
    return e;
  }

  // c[l] and the products that belong to it.
  Expr dot(const Call& call) {
    const DotForm form = dot_form(call.fn);
    const int group = form.group;
    const bool same_for_all = form.columns == 0 && call.args[1].type().lanes == group;
    std::vector<Expr> a, b;
    const Expr outer = number_;
    auto outer_done = std::exchange(done_, {});
    const int outer_lanes = lanes_;
    const auto lane_number = [&](const Expr& call_arg, const Expr& number) {
      number_ = number;
      lanes_ = call_arg.type().lanes;
      done_.clear();
      return lane(call_arg);
    };
    const Expr left = form.columns > 0 ? floordiv(outer, Expr(form.columns)) : outer,
               right = form.columns > 0 ? floormod(outer, Expr(form.columns)) : outer;
    for (int j = 0; j < group; ++j) {
      const auto number = [&](const Expr& row) { return j == 0 ? row * Expr(group) : row * Expr(group) + Expr(j); };
      a.push_back(lane_number(call.args[1], same_for_all ? Expr(j) : number(left)));
      b.push_back(lane_number(call.args[2], number(right)));
    }
    number_ = outer;
    lanes_ = outer_lanes;
    done_ = std::move(outer_done);
    return dot_lane(call.fn, lane(call.args[0]), a, b);
  }

  Expr ramp_lane(const Ramp& r) {
    const Type type = r.base.type();
    const Expr number = type.is_index() ? number_ : cast(type, number_);
    if (is_int(r.stride, 1)) return sum(r.base, number);
    if (is_int(r.stride, -1)) return r.base - number;
    return sum(r.base, number * r.stride);
  }

  Var scalar(const Var& var) {
    return scalars_.try_emplace(var.id(), Var(var.name(), var.type().element())).first->second;
  }

  // Whether a lane may write what a later lane reads.
  static bool hazard(const Store& st) {
    bool found = false;
    const auto look = [&](const Expr& e) {
      const auto* l = as<Load>(e);
      found = found || (l && l->buffer == st.buffer && !harmless(st, *l));
      return !found;
    };
    for (const Expr& e : st.at) walk(e, look);
    walk(st.value, look);
    if (st.pred) walk(st.pred, look);
    return found;
  }

  static bool harmless(const Store& st, const Load& l) {
    const Ramp* to = st.at.empty() ? nullptr : as<Ramp>(st.at[0]);
    if (!to || l.at.empty()) return false;
    const auto stride = as_int(to->stride);
    if (stride.value_or(0) != 0 && equal(st.at[0], l.at[0])) return true;
    if (stride != 1) return false;
    const Ramp* from = as<Ramp>(l.at[0]);
    const auto* all = as<Broadcast>(l.at[0]);
    if (from && is_int(from->stride, 1))  // later lanes are read from further on, or all from further below
      return can_prove(from->base >= to->base, {}) || can_prove(from->base + Expr(from->lanes) <= to->base, {});
    const Expr one = all ? all->value : l.at[0];
    if (!one.type().is_scalar()) return false;
    return can_prove(one < to->base, {}) || can_prove(one >= to->base + Expr(to->lanes), {});
  }

  std::function<bool(const Store&)> stays_;
  Expr number_;    // of the lane at hand
  int lanes_ = 1;  // of the vectors whose lanes are numbered so
  std::unordered_map<const ExprNode*, Expr> done_;
  std::unordered_map<uint64_t, Var> scalars_;
  std::unordered_map<uint64_t, Buffer> vectors_;
  std::unordered_map<uint64_t, Expr> wider_;
};

}  // namespace

Program lanes_as_loops(const Program& program, std::function<bool(const Store&)> stays) {
  Program out = program;
  out.body = LaneWriter(std::move(stays)).visit(program.body);
  return out;
}

}  // namespace tw::codegen
