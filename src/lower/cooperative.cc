#include "src/lower/cooperative.h"

#include <algorithm>

#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/scalars.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"
#include "src/lower/lanes_alike.h"
#include "src/lower/neighbours.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kWidestAccess = 16;  // bytes

// An element of the loop, as its body accesses it.
struct Access {
  Buffer buffer;
  std::vector<Expr> at;
};

// An element as it lies, or as te.tf32 rounds it; null: another value.
const Load* copied_element(const Expr& value) {
  const auto* rounded = as<Call>(value);
  return as<Load>(rounded && rounded->fn == Fn::kTF32 ? rounded->args[0] : value);
}

// A choice between an element and a number.
const Select* padded_element(const Expr& value) {
  const auto* choice = as<Select>(value);
  const bool element = choice && copied_element(choice->yes);
  return element && (as<FloatImm>(choice->no) || as<IntImm>(choice->no)) ? choice : nullptr;
}

// The accesses of a body that copies an element, under conditions that may stand around; empty for any other one.
std::vector<Access> copy_accesses(const Stmt& body, std::vector<Expr>& conditions) {
  if (const auto* i = as<If>(body); i && !i->otherwise) {
    conditions.push_back(i->cond);
    return copy_accesses(i->then, conditions);
  }
  const auto* store = as<Store>(body);
  if (!store || !!store->pred) return {};
  Expr value = store->value;
  if (const Select* choice = padded_element(value)) {
    conditions.push_back(choice->cond);
    value = choice->yes;
  }
  const Load* load = copied_element(value);
  if (!load || !!load->pred) return {};
  return {{store->buffer, store->at}, {load->buffer, load->at}};
}

// Such a body with other conditions.
template <class Change>
Stmt under(const Stmt& body, const Change& change) {
  if (const auto* i = as<If>(body)) return if_then(change(i->cond), under(i->then, change));
  const auto& st = *as<Store>(body);
  const Select* choice = padded_element(st.value);
  if (!choice) return body;
  return store(st.buffer, st.at, select(change(choice->cond), choice->yes, choice->no), st.pred, st.arrival);
}

class Sharing {
 public:
  explicit Sharing(const Program& p) : ranges_(bounds_of(p)) {}

  Stmt visit(const Stmt& s) {
    const auto* f = as<For>(s);
    if (!f) return map_children(s, [&](const Stmt& child) { return visit(child); }, [](const Expr& e) { return e; });
    const Interval times = interval_of(f->extent, ranges_);
    if (f->kind == ForKind::kCooperative) return shared(*f);
    const bool outermost = is_device_index(f->kind) && !in_launch_;
    if (outermost) threads_.clear();
    in_launch_ = in_launch_ || outermost;
    if (is_thread(f->kind)) threads_.push_back(*f);
    ranges_[f->var.id()] = {0, std::max<int64_t>(shifted(times, -1).hi, 0)};
    const Stmt body = visit(f->body);
    if (outermost) in_launch_ = false;
    return loop(f->var, f->extent, body, f->kind, f->tail);
  }

 private:
  static Bounds bounds_of(const Program& p) {
    std::vector<Expr> extents;
    for (const Param& param : p.params)
      extents.insert(extents.end(), param.buffer.shape().begin(), param.buffer.shape().end());
    return bounds_of_extents(extents);
  }

  // x is the fastest of the indices.
  Expr thread() const {
    Expr linear = 0;
    for (ForKind kind : {ForKind::kThreadZ, ForKind::kThreadY, ForKind::kThreadX})
      for (const For& f : threads_)
        if (f.kind == kind) linear = add(multiply(linear, *as_int(f.extent)), f.var);
    return linear;
  }
  int64_t thread_count() const {
    int64_t count = 1;
    for (const For& f : threads_) count *= as_int(f.extent).value_or(1);
    return count;
  }

  Stmt shared(const For& f) {
    if (const int64_t lanes = lanes_of(f); lanes > 1) {
      const Var lane(f.var.name() + ".v"), vector(f.var.name());
      const Stmt one = under(f.body, [&](const Expr& e) { return of_all(f, e, lanes, vector, lane); });
      const Stmt body = substitute(one, {{f.var.id(), add(multiply(vector, lanes), lane)}});
      return shared_out(vector, Expr(*as_int(f.extent) / lanes), loop(lane, lanes, body, ForKind::kVectorized), lane,
                        lanes);
    }
    return shared_out(f.var, f.extent, f.body, {}, 1);
  }

  // Iteration n of thread n modulo their number.
  Stmt shared_out(const Var& var, const Expr& extent, const Stmt& body, const Var& lane, int64_t lanes) {
    const int64_t threads = thread_count();
    const auto times = as_int(extent);
    const Var turn(var.name() + ".c");
    const Expr turns = times ? Expr((*times + threads - 1) / threads)
                             : simplify(floordiv(extent + Expr(threads - 1), Expr(threads)), ranges_);
    const bool once = is_int(turns, 1);
    const Expr mine = once ? thread() : add(multiply(turn, threads), thread());
    Bounds ranges = ranges_;
    ranges[turn.id()] = {0, std::max<int64_t>(shifted(interval_of(turns, ranges_), -1).hi, 0)};
    if (lane) ranges[lane.id()] = {0, lanes - 1};
    Stmt one = substitute(body, {{var.id(), mine}});
    if (threads > 1 && (!times || *times % threads != 0)) one = if_then(mine < extent, one);
    one = simplify(one, ranges);
    return once ? one : loop(turn, turns, one);
  }

  // How many neighbouring elements one access may take.
  int64_t lanes_of(const For& f) const {
    std::vector<Expr> conditions;
    const std::vector<Access> accesses = copy_accesses(f.body, conditions);
    const auto extent = as_int(f.extent);
    if (accesses.empty() || !extent) return 1;
    int64_t widest = 1;
    for (const Access& access : accesses) {
      if (access.buffer.element().is_packed()) return 1;
      widest = std::max<int64_t>(widest, access.buffer.element().bytes());
    }
    for (int64_t lanes = kWidestAccess / widest; lanes > 1; lanes /= 2) {
      const auto fits = [&](const Access& access) { return is_vector(f, access, lanes); };
      const Var vector("vector"), lane("lane");
      const auto same = [&](const Expr& condition) { return !!of_all(f, condition, lanes, vector, lane); };
      if (*extent % lanes == 0 && std::ranges::all_of(accesses, fits) && std::ranges::all_of(conditions, same))
        return lanes;
    }
    return 1;
  }

  // An expression of the loop's variable, at a lane of a vector of its iterations.
  Expr at_lane(const For& f, const Expr& e, int64_t lanes, const Var& vector, const Var& lane) const {
    Bounds ranges = ranges_;
    ranges[vector.id()] = {0, *as_int(f.extent) / lanes - 1};
    ranges[lane.id()] = {0, lanes - 1};
    return simplify(substitute(e, {{f.var.id(), add(multiply(vector, lanes), lane)}}), ranges);
  }

  // The condition as one of the vector, where it holds for all of its lanes or for none; else empty.
  Expr of_all(const For& f, const Expr& e, int64_t lanes, const Var& vector, const Var& lane) const {
    Bounds ranges = ranges_;
    ranges[vector.id()] = {0, *as_int(f.extent) / lanes - 1};
    return of_all_lanes(substitute(e, {{f.var.id(), add(multiply(vector, lanes), lane)}}), lane, lanes, ranges);
  }

  // Whether the lanes are neighbours in a row, from a multiple of their number on.
  bool is_vector(const For& f, const Access& access, int64_t lanes) const {
    const Var vector("vector"), lane("lane");
    Bounds ranges = ranges_;
    ranges[vector.id()] = {0, *as_int(f.extent) / lanes - 1};
    std::vector<Expr> at;
    for (const Expr& subscript : access.at) at.push_back(at_lane(f, subscript, lanes, vector, lane));
    return are_neighbours(access.buffer, at, lane, lanes, ranges);
  }

  Bounds ranges_;
  bool in_launch_ = false;
  std::vector<For> threads_;  // of the launch at hand
};

}  // namespace

Program cooperative(const Program& p, const Target&) {
  Program out = p;
  out.body = Sharing(p).visit(p.body);
  return out;
}

}  // namespace tw::lower
