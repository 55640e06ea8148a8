// The vector form of statements and expressions.

#include "src/lower/vector_body.h"

#include <algorithm>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::lower {

using namespace ir;

namespace {

// Which lanes are active, besides those that the count leaves out. `any` is a scalar condition that holds exactly when
// some lane is; empty when none is known.
struct Mask {
  Expr lanes;  // empty: all of them
  Expr any;
  std::vector<std::pair<Expr, Expr>> reads;  // what its conditions have read in all of them, and the vectors of that
};

bool has_lanes(const Expr& e) { return e ? !e.type().is_scalar() : false; }

bool any_has_lanes(const std::vector<Expr>& list) { return std::any_of(list.begin(), list.end(), has_lanes); }

// The first active lane decides for conditions of the form  ramp < uniform  (ramp rising) and  uniform < ramp  (ramp
// falling).
// `only_first`: of the lanes only the first is known to be counted.
Expr any_lane(const Expr& condition, bool only_first) {
  const auto* compare = as<Binary>(condition);
  if (!compare) return {};
  const auto uniform = [](const Expr& e) -> Expr {
    const auto* b = as<Broadcast>(e);
    return b ? b->value : Expr();
  };
  const bool less = compare->op == BinOp::kLt || compare->op == BinOp::kLe;
  const bool greater = compare->op == BinOp::kGt || compare->op == BinOp::kGe;
  if (!less && !greater) return {};
  const auto* left = as<Ramp>(compare->a);
  const auto* right = as<Ramp>(compare->b);
  const auto* r = left ? left : right;
  const Expr other = left ? uniform(compare->b) : uniform(compare->a);
  if (!r || !other || !as_int(r->stride)) return {};
  const bool rising = *as_int(r->stride) > 0;
  const bool ramp_is_smaller = less == (left != nullptr);
  if (only_first && rising != ramp_is_smaller) return {};
  const Expr lane = rising == ramp_is_smaller ? r->base : add(r->base, multiply(r->stride, r->lanes - 1));
  return left ? binary(compare->op, lane, other) : binary(compare->op, other, lane);
}

constexpr int kMostNested = 3;  // choices within choices, each with masks of its own

class VectorBody {
 public:
  VectorBody(const VectorSite& site, const PrivateBuffers& shared, const Expr& base, int lanes, int count)
      : site_(site), bounds_(site.bounds), shared_(shared), base_(base), lanes_(lanes) {
    values_[site.var.id()] = ramp(base, 1, lanes);
    if (count < lanes) count_ = binary(BinOp::kLt, ramp(0, 1, lanes), broadcast(count, lanes));
  }

  Stmt visit(const Stmt& s) {
    return match(
        s, [&](const Store& st) { return visit(st); },
        [&](const For& f) {
          if (const auto n = as_int(f.extent)) bounds_[f.var.id()] = {0, *n - 1};
          return loop(f.var, visit(f.extent), visit(f.body), f.kind == ForKind::kVectorized ? ForKind::kSerial : f.kind,
                      f.tail);
        },
        [&](const If& i) { return visit(i); },
        [&](const Seq& all) {
          std::vector<Stmt> out;
          for (const Stmt& child : all.stmts) out.push_back(visit(child));
          return seq(std::move(out));
        },
        [&](const Allocate& a) {
          const Buffer buffer = with_lane_dimension(a.buffer, lanes_);
          own_[a.buffer.id()] = {buffer, base_, false};
          return allocate(buffer, visit(a.body));
        },
        [&](const LetStmt& l) {
          const Expr value = visit(l.value);
          const Var var = bind(l.var, value.type());
          return let_stmt(var, value, visit(l.body));
        },
        [&](const Evaluate&) { return s; }, [&](const Sync&) { return s; });
  }

 private:
  // Runs `f` where only the lanes of `condition` are active, which is that of a statement or of the expression `asked`.
  template <class F>
  auto under(const Expr& condition, const Expr& asked, F f) {
    const Mask outer = mask_;
    mask_ = {both(outer.lanes, condition), outer.lanes ? Expr() : any_lane(condition, static_cast<bool>(count_)),
             asked ? reads_in(asked, outer) : std::vector<std::pair<Expr, Expr>>()};
    ++nested_;
    auto out = f();
    --nested_;
    mask_ = outer;
    return out;
  }

  // A variable for a value that may have become a vector.
  Var bind(const Var& var, Type type) {
    if (type == var.type()) return var;
    const Var vector(var.name(), type);
    values_[var.id()] = vector;
    return vector;
  }

  Stmt visit(const Store& st) {
    Buffer buffer = st.buffer;
    std::vector<Expr> at = subscripts(buffer, st.at);
    // All lanes may meet in one place where a shifted loop visits it again: the last lane's value stays, as in the
    // loop.
    if (!any_has_lanes(at)) at[0] = with_lanes(at[0], lanes_);
    const Expr pred = both(active(st.buffer, st.at), visit(st.pred));
    return store(buffer, at, with_lanes(visit(st.value), lanes_), pred ? with_lanes(pred, lanes_) : pred, st.arrival);
  }

  Stmt visit(const If& i) {
    const Expr cond = visit(i.cond);
    if (cond.type().is_scalar()) return if_then(cond, visit(i.then), i.otherwise ? visit(i.otherwise) : Stmt());
    std::vector<Stmt> parts;
    parts.push_back(under(cond, Expr(), [&] { return visit(i.then); }));
    if (i.otherwise) parts.push_back(under(logical_not(cond), Expr(), [&] { return visit(i.otherwise); }));
    return seq(std::move(parts));
  }

  Expr visit(const Expr& e) {
    if (!e) return e;
    const auto key = key_of(e);
    if (const auto it = done_.find(key); it != done_.end()) return it->second;
    return done_[key] = rebuild(e);
  }

  // What is made of an expression depends on the mask.
  std::pair<const ExprNode*, const ExprNode*> key_of(const Expr& e) {
    keep_.push_back(mask_.lanes);
    return {e.get(), mask_.lanes.get()};
  }

  Expr rebuild(const Expr& e) {
    return match(
        e, [&](const IntImm&) { return e; }, [&](const FloatImm&) { return e; },
        [&](const VarRef& v) {
          const auto it = values_.find(v.var.id());
          return it == values_.end() ? e : it->second;
        },
        [&](const Cast& c) {
          const Expr value = visit(c.value);
          return cast(e.type().with_lanes(value.type().lanes), value);
        },
        [&](const Binary& b) { return rebuild(b, e); }, [&](const Not& n) { return logical_not(visit(n.a)); },
        [&](const Select& s) { return rebuild(s); },
        [&](const Load& l) {
          const auto known = std::ranges::find_if(mask_.reads, [&](const auto& read) { return equal(read.first, e); });
          return known == mask_.reads.end() ? rebuild(l) : known->second;
        },
        [&](const Call& c) { return rebuild(c, e.type()); },
        [&](const Let& l) {
          const Expr value = visit(l.value);
          const Var var = bind(l.var, value.type());
          return let(var, value, visit(l.body));
        },
        [&](const Ramp&) { return vector_inside(e); }, [&](const Broadcast&) { return vector_inside(e); },
        [&](const Reduce&) { return vector_inside(e); }, [&](const CallExtern&) { return vector_inside(e); },
        [&](const Address&) { return vector_inside(e); });
  }

  Expr vector_inside(const Expr& e) {
    TW_CHECK(false, "no vectors or reductions inside a vectorized loop: " + to_string(e));
    return e;
  }

  Expr rebuild(const Binary& b, const Expr& e) {
    const Expr x = visit(b.a);
    const bool logic = b.op == BinOp::kAnd || b.op == BinOp::kOr;
    const Expr y = logic && needs_mask(b.b) && !x.type().is_scalar()
                       ? under(b.op == BinOp::kAnd ? x : logical_not(x), b.a, [&] { return visit(b.b); })
                       : visit(b.b);
    if (x.same_as(b.a) && y.same_as(b.b)) return e;
    if (x.type().is_index()) {
      if (b.op == BinOp::kAdd) return add(x, y);
      if (b.op == BinOp::kSub) return subtract(x, y);
      if (b.op == BinOp::kMul) return multiply(x, y);
    }
    const int lanes = std::max(x.type().lanes, y.type().lanes);
    const Expr out = binary(b.op, with_lanes(x, lanes), with_lanes(y, lanes));
    if (!x.type().is_index()) return out;
    const Expr simple = simplify(out, bounds_);
    const auto* same_in_all = as<Broadcast>(simple);  // a quotient that the lanes don't change
    return same_in_all ? same_in_all->value : simple;
  }

  Expr rebuild(const Select& s) {
    const Expr cond = visit(s.cond);
    const bool split =
        !cond.type().is_scalar() && (nested_ < kMostNested || !reads_inside(s.yes) || !reads_inside(s.no));
    const std::vector<Expr> same = split ? reads_of_both(s) : std::vector<Expr>();
    const Expr read = same.empty() ? Expr() : visit(s.no);
    const auto visit_yes = [&] {
      for (const Expr& load : same) done_[key_of(load)] = read;
      return visit(s.yes);
    };
    Expr yes = split && needs_mask(s.yes) ? under(cond, s.cond, visit_yes) : visit(s.yes);
    Expr no = read                        ? read
              : split && needs_mask(s.no) ? under(logical_not(cond), s.cond, [&] { return visit(s.no); })
                                          : visit(s.no);
    const int lanes = std::max({cond.type().lanes, yes.type().lanes, no.type().lanes});
    return select(with_lanes(cond, lanes), with_lanes(yes, lanes), with_lanes(no, lanes));
  }

  // Whether all that it reads is there in every lane, whatever the conditions: then it needs no mask, of which a chain
  // of choices, whose values have parts in common, has twice as many with each.
  bool reads_inside(const Expr& e) const {
    bool inside = true;
    walk(e, [&](const Expr& x) {
      const auto* l = as<Load>(x);
      inside = inside && (!l || is_inside(*l));
      return inside;
    });
    return inside;
  }

  bool is_inside(const Load& l) const {
    Bounds all = bounds_;
    all[site_.var.id()] = interval_of(base_, bounds_) + Interval{0, lanes_ - 1};
    for (size_t d = 0; d < l.at.size(); ++d)
      if (!can_prove(Expr(0) <= l.at[d], all) || !can_prove(l.at[d] < l.buffer.shape()[d], all)) return false;
    return true;
  }

  // Whether lanes for which no iteration asks may read what is not there, or not yet.
  bool needs_mask(const Load& l) const { return !site_.constant_buffers->contains(l.buffer.id()) || !is_inside(l); }
  bool needs_mask(const Expr& e) {
    const auto [known, first] = masked_.try_emplace(e.get(), false);
    if (!first) return known->second;
    const auto* l = as<Load>(e);
    bool needs = l && needs_mask(*l);
    for (const Expr& child : children(e)) needs = needs || needs_mask(child);
    return masked_[e.get()] = needs;
  }

  // Of  select(c, x[i] + t, x[i])  each lane reads x[i], for one value or the other: without a mask.
  std::vector<Expr> reads_of_both(const Select& s) const {
    if (!as<Load>(s.no)) return {};
    std::vector<Expr> same = always_read(s.yes);
    std::erase_if(same, [&](const Expr& e) { return !equal(e, s.no); });
    return same;
  }

  // The loads that each active lane does, whatever is chosen.
  static std::vector<Expr> always_read(const Expr& e) {
    std::vector<Expr> loads;
    add_always_read(loads, e);
    return loads;
  }
  static void add_always_read(std::vector<Expr>& loads, const Expr& e) {
    const auto first = [&](const Expr& part) {
      add_always_read(loads, part);
      return false;
    };
    walk(e, [&](const Expr& x) {
      if (as<Load>(x)) return loads.push_back(x), false;
      if (const auto* s = as<Select>(x)) return first(s->cond);
      if (const auto* l = as<Let>(x)) return first(l->value);
      const auto* b = as<Binary>(x);
      return b && (b->op == BinOp::kAnd || b->op == BinOp::kOr) ? first(b->a) : true;
    });
  }

  // Of a condition that has been visited.
  std::vector<std::pair<Expr, Expr>> reads_in(const Expr& condition, const Mask& outer) const {
    std::vector<std::pair<Expr, Expr>> reads = outer.reads;
    for (const Expr& load : always_read(condition))
      if (const auto made = done_.find({load.get(), outer.lanes.get()}); made != done_.end())
        reads.emplace_back(load, made->second);
    return reads;
  }

  Expr rebuild(const Call& c, Type type) {
    std::vector<Expr> args;
    int lanes = 1;
    for (const Expr& a : c.args) {
      args.push_back(visit(a));
      lanes = std::max<int>(lanes, args.back().type().lanes);
    }
    for (Expr& a : args) a = with_lanes(a, lanes);
    return c.fn == Fn::kReinterpret ? reinterpret(type.with_lanes(lanes), args[0]) : call(c.fn, std::move(args));
  }

  Expr rebuild(const Load& l) {
    Buffer buffer = l.buffer;
    std::vector<Expr> at = subscripts(buffer, l.at);
    Expr pred = visit(l.pred);
    bool vector = has_lanes(pred) || any_has_lanes(at);
    if (vector) {
      if (needs_mask(l)) pred = both(active(l.buffer, l.at), pred);
    } else if (mask_.lanes.get() && !always_readable(buffer, at)) {
      if (!mask_.any)
        pred = both(both(count_, mask_.lanes), pred);  // a gather from one place
      else
        pred = both(mask_.any, pred);
      vector = !mask_.any;
    }
    if (!vector) return load(buffer, at, pred);
    if (!at.empty() && !any_has_lanes(at)) at[0] = with_lanes(at[0], lanes_);
    if (at.empty()) return with_lanes(load(buffer, at), lanes_);
    return load(buffer, at, pred ? with_lanes(pred, lanes_) : pred);
  }

  // Reads what was written before the kernel began, and inside its bounds for all iterations around.
  bool always_readable(const Buffer& buffer, const std::vector<Expr>& at) const {
    return site_.constant_buffers->count(buffer.id()) && inside(buffer, at, at.size());
  }

  // Whether the first of these subscripts are those of elements, for all iterations around.
  bool inside(const Buffer& buffer, const std::vector<Expr>& at, size_t count) const {
    for (size_t d = 0; d < count; ++d)
      if (!can_prove(Expr(0) <= at[d], bounds_) || !can_prove(at[d] < buffer.shape()[d], bounds_)) return false;
    return true;
  }

  std::vector<Expr> subscripts(Buffer& buffer, const std::vector<Expr>& at) {
    std::vector<Expr> out;
    for (const Expr& i : at) out.push_back(visit(i));
    if (const PrivateBuffer* kept = find_private(buffer)) {
      buffer = kept->buffer;
      out.push_back(simplify(ramp(subtract(base_, kept->first_lane), 1, lanes_), bounds_));
    }
    return out;
  }

  const PrivateBuffer* find_private(const Buffer& buffer) const {
    for (const PrivateBuffers* all : {&own_, &shared_})
      if (const auto found = all->find(buffer.id()); found != all->end()) return &found->second;
    return nullptr;
  }

  // The lanes that may touch `buffer`. Where it has room for all lanes of the loop, those that don't count do no harm;
  // under a condition they may come where no iteration does, so it is asked whether the elements beside are there.
  Expr active(const Buffer& buffer, const std::vector<Expr>& at) const {
    const PrivateBuffer* own = find_private(buffer);
    const auto* last = at.empty() ? nullptr : as<VarRef>(at.back());
    const bool row = last && last->var == site_.var && site_.padded->count(buffer.id());
    const size_t others = row ? at.size() - 1 : at.size();
    const bool roomy = row || (own && own->padded);
    const bool elsewhere =
        std::any_of(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(others), [&](const Expr& e) {
          const auto used = used_vars(e);
          return std::any_of(used.begin(), used.end(), [&](uint64_t id) { return values_.count(id) > 0; });
        });
    const bool harmless = roomy && !elsewhere && (!mask_.lanes.get() || inside(buffer, at, others));
    return harmless ? mask_.lanes : both(count_, mask_.lanes);
  }

  struct KeyHash {
    size_t operator()(const std::pair<const ExprNode*, const ExprNode*>& key) const {
      return std::hash<const void*>()(key.first) * 31 + std::hash<const void*>()(key.second);
    }
  };

  const VectorSite& site_;
  Bounds bounds_;
  const PrivateBuffers& shared_;  // allocated around what becomes vectors here
  PrivateBuffers own_;            // and inside it
  Expr base_;
  int lanes_;
  Expr count_;  // the lanes that are iterations; empty: all
  Mask mask_;
  int nested_ = 0;                             // conditions of the mask
  std::unordered_map<uint64_t, Expr> values_;  // variables that became vectors
  std::unordered_map<std::pair<const ExprNode*, const ExprNode*>, Expr, KeyHash> done_;
  std::unordered_map<const ExprNode*, bool> masked_;  // whether it needs a mask
  std::vector<Expr> keep_;                            // masks that keys of done_ point to
};

}  // namespace

Buffer with_lane_dimension(const Buffer& buffer, int64_t lanes) {
  std::vector<Expr> shape = buffer.shape();
  shape.push_back(lanes);
  return Buffer(buffer.name(), buffer.element(), std::move(shape), buffer.scope());
}

Stmt vector_body(const Stmt& body, const VectorSite& site, const PrivateBuffers& shared, const Expr& base, int lanes,
                 int count) {
  return VectorBody(site, shared, base, lanes, count).visit(body);
}

}  // namespace tw::lower
