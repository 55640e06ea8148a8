// Reads outside a tensor. What is outside for all sizes is refused; what is inside wherever it is read stays; what is
// neither is clamped, so that a program has a meaning whatever the subscript:
//
//   A[i*i]  of 16 elements   ==>   A[min(i*i, 15)]
#include <algorithm>
#include <map>
#include <unordered_map>

#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/check_body.h"
#include "te/check_statement.h"
#include "te/index_overflow.h"
#include "te/promote.h"
#include "te/read_example.h"
#include "te/read_walk.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

struct Clamp {
  bool start = false, end = false;
  bool any() const { return start || end; }
};

// What one subscript of a read needs. The cast of an index to data is dropped where it changes nothing, and where the
// index is inside.
struct Subscript {
  bool bare = false, cast = false;
  bool wraps = false;
  Clamp clamp;
  bool is_cast = false;
  std::string text;  // of a clamp
  bool stays() const { return !is_cast && !wraps && !clamp.any(); }
};

// An index that a wide cast made data, for the subscript: that index again, where it is inside.
Expr without_cast(const Expr& at) {
  const auto* to_index = ir::as<ir::Cast>(at);
  const auto* to_data = to_index ? ir::as<ir::Cast>(to_index->value) : nullptr;
  const bool wide = to_data && to_index->value.type().bits >= 32 && to_data->value.type().is_index();
  return wide ? to_data->value : Expr();
}

class ReadChecker : public ReadWalk {
 public:
  ReadChecker(const std::string& what, const Compute& c, const SourceLine& where, bool strict)
      : ReadWalk(c), what_(what), where_(where), strict_(strict), first_(c.axis.empty() ? Var() : c.axis[0].var) {}

  // At one place of a statement.
  ReadChecker(const std::string& what, const StatementPlace& place, const SourceLine& where)
      : ReadWalk(place), what_(what), where_(where), strict_(false), of_statement_(true) {}

  Expr clamped_here(const Expr& e) {
    walk(e);
    return clamped(e);
  }

  // Where the element is inside; empty: always.
  Expr guard_here(const Buffer& buffer, std::vector<Expr>& at) {
    const ir::Load to{buffer, at, {}};
    const Expr element = ir::load(buffer, at);
    verb_ = "writes";
    Expr inside;
    for (size_t d = 0; d < at.size(); ++d) {
      if (surely_inside(to, d)) continue;
      const bool wraps = may_overflow(at[d], innermost().ranges);
      if (wraps) at[d] = wrapped_index(at[d]);
      const Clamp clamp = clamp_of(element, to, d, at[d]);
      if (clamp.start) inside = both(inside, in_lanes(0, at[d]) <= at[d]);
      if (clamp.end) inside = both(inside, at[d] < in_lanes(buffer.shape()[d], at[d]));
      if (clamp.any())
        subscripts_[{element.get(), d}] = {.clamp = clamp,
                                           .text = short_text(element) + ": dimension " + std::to_string(d) +
                                                   ", not stored outside of 0.." + ir::to_string(buffer.shape()[d])};
    }
    return inside;
  }

  bool before() const { return before_; }

  ReadNotes notes() const {
    ReadNotes notes{requirements_, {}};
    for (const auto& [key, s] : subscripts_)
      if (s.clamp.any()) notes.clamps.push_back(s.text);
    return notes;
  }

  void add_notes(ReadNotes& to) const {
    std::vector<Expr> known;
    for (const ir::Requirement& r : to.requirements) known.push_back(r.test);
    for (const ir::Requirement& r : requirements_)
      if (!follows(r.test, known, innermost().extents)) to.requirements.push_back(r);
    for (std::string& text : notes().clamps)
      if (std::ranges::find(to.clamps, text) == to.clamps.end()) to.clamps.push_back(std::move(text));
  }

  Expr clamped(const Expr& body) {
    std::erase_if(subscripts_, [](const auto& s) { return s.second.stays(); });
    if (subscripts_.empty()) return body;
    return support::with_deep_stack([&] { return with_clamps(body); });
  }

 private:
  static Expr both(const Expr& a, const Expr& b) { return a ? a && b : b; }

  static Expr in_lanes(const Expr& e, const Expr& like) { return ir::broadcast(e, like.type().lanes); }

  void at_read(const Expr& read, const ir::Load& load) override {
    if (!of_statement_ && !producer(load.buffer)) return;
    for (size_t d = 0; d < load.at.size(); ++d) {
      if (surely_inside(load, d)) continue;
      Subscript& subscript = subscripts_[{read.get(), d}];
      const Expr bare = without_cast(load.at[d]);
      subscript.is_cast = static_cast<bool>(bare);
      subscript.bare = subscript.is_cast && fits_the_type(bare, load.at[d]);
      Expr at = subscript.bare ? bare : load.at[d];
      if (subscript.is_cast && !subscript.bare && !subscript.cast) {
        subscript.cast = may_overflow(bare, innermost().ranges) || clamp_of(read, load, d, bare, true).any();
        if (!subscript.cast) continue;
      }
      subscript.wraps = may_overflow(at, innermost().ranges);
      if (subscript.wraps) at = wrapped_index(at);
      const Clamp found = clamp_of(read, load, d, at);
      subscript.clamp.start |= found.start || subscript.cast;
      subscript.clamp.end |= found.end || subscript.cast;
      if (!subscript.clamp.any()) continue;
      const std::string extent = ir::to_string(load.buffer.shape()[d]);
      subscript.text = short_text(read) + ": dimension " + std::to_string(d) + " to 0.." + extent;
      const ReadPlace& here = place();
      for (const Expr& test : not_empty(load.buffer.shape(), d, here)) {
        if (depends_on_loops(test, here)) report(read, load, d, at);  // no call could say that it holds
        require(test, read);
      }
    }
  }

  bool surely_inside(const ir::Load& load, size_t d) const {
    const auto extent = ir::as_int(load.buffer.shape()[d]);
    const auto* v = ir::as<ir::VarRef>(load.at[d]);
    const auto known = v ? innermost().ranges.find(v->var.id()) : innermost().ranges.end();
    return extent && known != innermost().ranges.end() && known->second.lo >= 0 && known->second.hi < *extent;
  }

  // The first or the last of neighbours; of anything else itself.
  static Expr end_of(const Expr& at, Side side) {
    const auto* r = ir::as<ir::Ramp>(at);
    if (!r || ir::as_int(r->stride).value_or(-1) < 0) return at;
    return side == Side::kStart ? r->base : ir::simplify(r->base + r->stride * Expr(r->lanes - 1));
  }

  bool fits_the_type(const Expr& index, const Expr& cast) const {
    const ir::Interval range = ir::interval_of(index, innermost().ranges);
    const ir::Interval type = ir::range_of(ir::as<ir::Cast>(cast)->value.type());
    return range.bounded() && range.lo >= type.lo && range.hi <= type.hi;
  }

  Clamp clamp_of(const Expr& read, const ir::Load& load, size_t d, const Expr& at, bool quiet = false) {
    const auto extent = ir::as_int(load.buffer.shape()[d]);
    const ir::Interval range = ir::interval_of(at, innermost().ranges);
    Clamp clamp{range.lo < 0, !extent || range.hi >= *extent};
    if (!clamp.any()) return clamp;
    const ReadPlace& here = place();
    const auto judge = [&](Side side) {
      const Expr end = end_of(at, side);
      ReadVerdict verdict = judge_read(end, load.buffer.shape(), d, here, side);
      if (verdict.reading == Reading::kInside) return false;
      if (!quiet && verdict.reading == Reading::kOutside && !strict_ && early(load, d, side)) {
        before_ = true;
        return false;
      }
      if (verdict.reading == Reading::kOutside && !known(here) && !quiet) report(read, load, d, end);
      if (verdict.reading == Reading::kUnproved)
        verdict = judge_assuming_sizes(end, load.buffer.shape(), d, here, side);
      if (verdict.reading == Reading::kInside) return false;
      if (verdict.reading != Reading::kConditional || quiet) return true;
      for (const Expr& test : verdict.required) require(test, read);
      return false;
    };
    clamp.start = clamp.start && judge(Side::kStart);
    clamp.end = clamp.end && judge(Side::kEnd);
    if (clamp.any() && extent && !quiet) {
      const Expr first = end_of(at, Side::kStart), last = end_of(at, Side::kEnd);
      for (const Expr& end : {first, last})
        if (const auto example = find_example(end, *extent, here)) {
          if (strict_ || !all_early(load, d, clamp)) report(read, load, d, end, *example);
          before_ = true;
          return {};
        }
      if (always_inside(first, *extent, here) && always_inside(last, *extent, here)) return {};
    }
    if (strict_ && ((clamp.start && early(load, d, Side::kStart)) || (clamp.end && early(load, d, Side::kEnd))))
      report(read, load, d, at);
    return clamp;
  }

  // In a scan, what is read of an earlier time.
  bool early(const ir::Load& load, size_t d, Side side) const {
    return first_ && outside_early(load.at[d], load.buffer.shape()[d], first_, side);
  }

  bool all_early(const ir::Load& load, size_t d, Clamp outside) const {
    return (!outside.start || early(load, d, Side::kStart)) && (!outside.end || early(load, d, Side::kEnd));
  }

  void require(const Expr& test, const Expr& read) {
    std::vector<Expr> known;
    for (const ir::Requirement& r : requirements_) known.push_back(r.test);
    if (!follows(test, known, innermost().extents))
      requirements_.push_back(ir::requirement(test, what_ + " " + verb_ + " " + short_text(read)));
  }

  // Whether all sizes are numbers: then an example shows what is wrong.
  static bool known(const ReadPlace& here) { return here.ranges.size() == here.axes.size(); }

  Expr with_clamps(const Expr& e) {
    if (!e) return e;
    auto [it, fresh] = rewritten_.try_emplace(e.get());
    if (!fresh) return it->second;
    const auto* load = ir::as<ir::Load>(e);
    Expr out = ir::map_children(e, [&](const Expr& child) { return with_clamps(child); });
    if (load) {
      ir::Load changed = *ir::as<ir::Load>(out);
      bool any = false;
      for (size_t d = 0; d < load->at.size(); ++d) any |= change(e, d, *load, changed.at[d]);
      if (any) out = ir::load(changed.buffer, changed.at, changed.pred);
    }
    return rewritten_[e.get()] = out;
  }

  bool change(const Expr& read, size_t d, const ir::Load& load, Expr& at) const {
    const auto found = subscripts_.find({read.get(), d});
    if (found == subscripts_.end()) return false;
    const Subscript& s = found->second;
    const Expr bare = without_cast(at);
    const bool drops = static_cast<bool>(bare) && (s.bare || !s.cast);
    if (drops) at = bare;
    if (s.wraps) at = wrapped_index(at);
    if (s.clamp.end) at = ir::min(at, in_lanes(ir::simplify(load.buffer.shape()[d] - 1), at));
    if (s.clamp.start) at = ir::max(at, in_lanes(0, at));
    return drops || s.wraps || s.clamp.any();
  }

  [[noreturn]] void report(const Expr& read, const ir::Load& load, size_t d, const Expr& at,
                           const AxisValues& example = {}) const {
    std::string point;
    std::map<uint64_t, int64_t> sorted(example.begin(), example.end());
    for (const auto& [var, value] : sorted)
      point += (point.empty() ? " at " : ", ") + name_of(var) + " = " + std::to_string(value);
    const std::string extent = ir::to_string(load.buffer.shape()[d]);
    const auto value = evaluate(at, example);
    refuse(ErrorKind::kExpr,
           what_ + ": index out of bounds: " + short_text(read) + " " + verb_ + " " +
               (value ? std::to_string(*value) : range_text(at)) + " of 0.." + extent + point,
           {"dimension " + std::to_string(d) + " of " + load.buffer.name() + " has extent " + extent,
            way_out(load, extent)},
           where_);
  }

  const std::string& name_of(uint64_t axis) const {
    return std::ranges::find(innermost().axes, axis, [](const IterVar& a) { return a.var.id(); })->var.name();
  }

  std::string way_out(const ir::Load& load, const std::string& extent) const {
    if (of_statement_) return "run less, or guard it: with ib.if_scope(te.all(0 <= x, x < " + extent + "))";
    return "read less, or guard the read: te.if_then_else(te.all(0 <= x, x < " + extent + "), " + load.buffer.name() +
           "[...], 0)";
  }

  std::string range_text(const Expr& at) const {
    std::unordered_map<uint64_t, Expr> extents;
    ir::Substitution from_min;
    for (const IterVar& a : innermost().axes) {
      extents[a.var.id()] = a.extent;
      if (!ir::is_int(a.min, 0)) from_min[a.var.id()] = a.min + Expr(a.var);
    }
    const ir::SymbolicInterval range = ir::symbolic_interval(ir::substitute(at, from_min), extents, {});
    return range.known ? ir::to_string(range.lo) + ".." + ir::to_string(ir::simplify(range.hi + 1)) : short_text(at);
  }

  const std::string& what_;
  const SourceLine& where_;
  const bool strict_;
  const Var first_ = {};
  const bool of_statement_ = false;
  std::string verb_ = "reads";
  bool before_ = false;
  std::map<std::pair<const ir::ExprNode*, size_t>, Subscript> subscripts_;  // by the read and the dimension
  std::unordered_map<const ir::ExprNode*, Expr> rewritten_;
  std::vector<ir::Requirement> requirements_;
};

bool never_runs(const Compute& c) {
  std::vector<IterVar> axes = c.axis;
  axes.insert(axes.end(), c.reduce_axis.begin(), c.reduce_axis.end());
  return std::any_of(axes.begin(), axes.end(), [](const IterVar& a) { return ir::is_int(a.extent, 0); });
}

}  // namespace

ReadNotes clamp_reads(const std::string& what, Compute& c, const SourceLine& where) {
  if (never_runs(c)) return {};
  ReadChecker checker(what, c, where, false);
  for (const Expr& value : c.bodies) checker.walk(value);
  for (Expr& value : c.bodies) value = checker.clamped(value);
  c.reads_before = checker.before();
  return checker.notes();
}

Expr clamped_at(const std::string& what, const StatementPlace& place, const Expr& e, const SourceLine& where,
                ReadNotes& notes) {
  ReadChecker checker(what, place, where);
  const Expr out = checker.clamped_here(e);
  checker.add_notes(notes);
  return out;
}

Expr guard_at(const std::string& what, const StatementPlace& place, const Buffer& buffer, std::vector<Expr>& at,
              const SourceLine& where, ReadNotes& notes) {
  ReadChecker checker(what, place, where);
  const Expr guard = checker.guard_here(buffer, at);
  checker.add_notes(notes);
  return guard;
}

void refuse_reads_before(const std::string& what, const Compute& c, const SourceLine& where) {
  if (never_runs(c)) return;
  ReadChecker checker(what, c, where, true);
  for (const Expr& value : c.bodies) checker.walk(value);
}

}  // namespace tw::te
