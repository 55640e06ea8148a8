// Finds reads outside a tensor, by example: a read is refused only with values of the axes at hand for which all
// conditions around it hold and its subscript lies outside. Intervals skip the reads that are inside for certain.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "src/ir/interval.h"
#include "src/ir/interval_arith.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/check_body.h"
#include "te/refuse.h"

namespace tw::te {
namespace {

using ir::BinOp;
using Values = std::unordered_map<uint64_t, int64_t>;

constexpr size_t kMaxExamples = 4096;   // tried for one subscript
constexpr size_t kMaxVisits = 100'000;  // nested conditions over shared parts multiply; what is beyond stays unchecked

constexpr int kShallow = 400;

struct Condition {
  Expr test;
  bool holds;
  const Condition* outer;
};

// The value of an index expression or condition; nothing where it depends on data.
std::optional<int64_t> evaluate(const Expr& e, const Values& values);

std::optional<int64_t> evaluate(const ir::Binary& b, const Values& values) {
  const auto x = evaluate(b.a, values);
  if (x && b.op == BinOp::kAnd && *x == 0) return 0;
  if (x && b.op == BinOp::kOr && *x == 1) return 1;
  const auto y = evaluate(b.b, values);
  if (!x || !y) return {};
  if (b.op == BinOp::kAnd || b.op == BinOp::kOr) return *y;
  const auto px = ir::Interval::point(*x), py = ir::Interval::point(*y);
  const bool comparison = b.op >= BinOp::kEq && b.op <= BinOp::kGe;
  const ir::Interval result = comparison ? ir::compare(b.op, px, py) : ir::apply(b.op, px, py);
  return result.is_point() ? std::optional(result.lo) : std::nullopt;
}

std::optional<int64_t> evaluate(const Expr& e, const Values& values) {
  if (const auto* c = ir::as<ir::IntImm>(e)) return c->value;
  if (const auto* v = ir::as<ir::VarRef>(e)) {
    const auto found = values.find(v->var.id());
    return found == values.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto* n = ir::as<ir::Not>(e)) {
    const auto x = evaluate(n->a, values);
    return x ? std::optional<int64_t>(*x == 0) : std::nullopt;
  }
  if (const auto* s = ir::as<ir::Select>(e)) {
    const auto c = evaluate(s->cond, values);
    return c ? evaluate(*c != 0 ? s->yes : s->no, values) : std::nullopt;
  }
  if (const auto* b = ir::as<ir::Binary>(e)) {
    const Type t = b->a.type();  // data wraps: only index arithmetic is followed
    if (t.is_index() || t.is_bool()) return evaluate(*b, values);
  }
  return {};
}

class ReadChecker {
 public:
  ReadChecker(const std::string& what, const SourceLine& where, const std::vector<IterVar>& axes, bool strict)
      : what_(what), where_(where), strict_(strict), first_(axes.empty() ? Var() : axes[0].var) {
    for (const IterVar& a : axes) {
      const auto min = ir::as_int(a.min), extent = ir::as_int(a.extent);
      if (!min || !extent) continue;  // no example can be given
      bounds_[a.var.id()] = {*min, *min + *extent - 1};
      names_[a.var.id()] = a.var.name();
    }
  }

  // Only deep expressions pay for a deep stack.
  void visit(const Expr& e, const Condition* around) {
    ++depth_;
    if (depth_ == kShallow) {
      support::on_deep_stack([&] { visit_node(e, around); });
    } else {
      visit_node(e, around);
    }
    --depth_;
  }

  bool before() const { return before_; }

 private:
  void visit_node(const Expr& e, const Condition* around) {
    if (++visits_ > kMaxVisits || unconditional_.contains(e.get()) || !visited_.insert({e.get(), around}).second)
      return;
    if (around == nullptr) unconditional_.insert(e.get());
    if (const auto* s = ir::as<ir::Select>(e)) {
      visit(s->cond, around);
      visit_under(s->yes, s->cond, true, around);
      visit_under(s->no, s->cond, false, around);
      return;
    }
    if (const auto* b = ir::as<ir::Binary>(e); b && (b->op == BinOp::kAnd || b->op == BinOp::kOr)) {
      visit(b->a, around);
      visit_under(b->b, b->a, b->op == BinOp::kAnd, around);
      return;
    }
    if (const auto* r = ir::as<ir::Reduce>(e); r && static_cast<bool>(r->where)) {
      visit(r->where, around);
      for (const Expr& source : r->sources) visit_under(source, r->where, true, around);
      for (const Expr& init : r->init) visit(init, around);
      return;
    }
    for (const Expr& child : ir::children(e)) visit(child, around);
    if (const auto* load = ir::as<ir::Load>(e)) check(e, *load, around);
  }

  void visit_under(const Expr& e, const Expr& test, bool holds, const Condition* around) {
    conditions_.push_back(std::make_unique<Condition>(Condition{test, holds, around}));
    visit(e, conditions_.back().get());
  }

  void check(const Expr& read, const ir::Load& load, const Condition* around) {
    for (size_t d = 0; d < load.at.size(); ++d) {
      const auto extent = ir::as_int(load.buffer.shape()[d]);
      const ir::Interval range = ir::interval_of(load.at[d], bounds_);
      if (!extent || (range.lo >= 0 && range.hi < *extent)) continue;
      const auto example = find_example(load.at[d], *extent, around);
      if (!example) continue;
      if (d > 0 || !is_before(load)) report(read, load, d, *example);
      before_ = true;
    }
  }

  // A[t - c, ...] of a placeholder: in a scan, a state of an earlier time.
  bool is_before(const ir::Load& load) const {
    const Operation op = producer(load.buffer);
    if (strict_ || !first_ || !op || !op->is_placeholder()) return false;
    const auto back = ir::as_int(ir::simplify(Expr(first_) - load.at[0]));
    return back && *back > 0;
  }

  // The numbers that decide: ends of the axes, and what subscript and conditions compare with.
  std::map<uint64_t, std::vector<int64_t>> candidates(const std::vector<Expr>& parts) const {
    std::set<int64_t> numbers;
    std::set<uint64_t> vars;
    for (const Expr& part : parts) {
      ir::walk(part, [&](const Expr& e) {
        if (const auto* c = ir::as<ir::IntImm>(e)) numbers.insert({c->value - 1, c->value, c->value + 1});
        if (const auto* v = ir::as<ir::VarRef>(e)) vars.insert(v->var.id());
        return true;
      });
    }
    std::map<uint64_t, std::vector<int64_t>> result;
    for (const uint64_t var : vars) {
      const auto range = bounds_.find(var);
      if (range == bounds_.end()) return {};
      const auto [lo, hi] = range->second;
      std::set<int64_t> values = {lo, hi};
      if (hi - lo < 64) {
        for (int64_t v = lo; v <= hi; ++v) values.insert(v);
      }
      for (const int64_t n : numbers) {
        for (const int64_t v : {n, lo + n, hi - n})
          if (v >= lo && v <= hi) values.insert(v);
      }
      auto& list = result[var];
      list.assign(values.begin(), values.end());
      // The ends first: they decide where nothing else does.
      std::stable_partition(list.begin(), list.end(), [lo = lo, hi = hi](int64_t v) { return v == lo || v == hi; });
    }
    return result;
  }

  std::optional<Values> find_example(const Expr& at, int64_t extent, const Condition* around) const {
    std::vector<Expr> parts = {at};
    for (const Condition* c = around; c != nullptr; c = c->outer) parts.push_back(c->test);
    const auto choices = candidates(parts);
    if (choices.empty() && !ir::as_int(at)) return {};
    double combinations = 1;
    for (const auto& [var, list] : choices) combinations *= static_cast<double>(list.size());
    const bool every = combinations <= kMaxExamples;
    uint64_t random = 0x9e3779b97f4a7c15;
    for (size_t n = 0; n < (every ? static_cast<size_t>(combinations) : kMaxExamples); ++n) {
      Values values;
      size_t rest = n;
      for (const auto& [var, list] : choices) {
        if (!every) random = random * 6364136223846793005u + 1442695040888963407u;
        // Beyond what can be tried: all corners, then a sample.
        const bool corner = n < (size_t{1} << std::min<size_t>(choices.size(), 10));
        const size_t digit = every    ? rest % list.size()
                             : corner ? rest % std::min<size_t>(2, list.size())
                                      : (random >> 33) % list.size();
        rest /= every ? list.size() : std::min<size_t>(2, list.size());
        values[var] = list[digit];
      }
      if (is_example(at, extent, around, values)) return values;
    }
    return {};
  }

  static bool is_example(const Expr& at, int64_t extent, const Condition* around, const Values& values) {
    const auto index = evaluate(at, values);
    if (!index || (*index >= 0 && *index < extent)) return false;
    for (const Condition* c = around; c != nullptr; c = c->outer)
      if (evaluate(c->test, values) != std::optional<int64_t>(c->holds)) return false;
    return true;
  }

  [[noreturn]] void report(const Expr& read, const ir::Load& load, size_t d, const Values& example) const {
    std::string point;
    std::map<uint64_t, int64_t> sorted(example.begin(), example.end());
    for (const auto& [var, value] : sorted)
      point += (point.empty() ? " at " : ", ") + names_.at(var) + " = " + std::to_string(value);
    const std::string extent = ir::to_string(load.buffer.shape()[d]);
    refuse(ErrorKind::kExpr,
           what_ + ": index out of bounds: " + short_text(read) + " reads " +
               std::to_string(*evaluate(load.at[d], example)) + " of 0.." + extent + point,
           {"dimension " + std::to_string(d) + " of " + load.buffer.name() + " has extent " + extent,
            "read less, or guard the read: te.if_then_else(te.all(0 <= x, x < " + extent + "), " + load.buffer.name() +
                "[...], 0)"},
           where_);
  }

  const std::string& what_;
  const SourceLine& where_;
  const bool strict_;
  const Var first_;
  bool before_ = false;
  ir::Bounds bounds_;
  std::unordered_map<uint64_t, std::string> names_;
  std::vector<std::unique_ptr<Condition>> conditions_;
  std::set<const ir::ExprNode*> unconditional_;
  std::set<std::pair<const ir::ExprNode*, const Condition*>> visited_;
  size_t visits_ = 0;
  int depth_ = 0;
};

}  // namespace

Reads check_reads(const std::string& what, const Compute& c, const SourceLine& where, bool strict) {
  std::vector<IterVar> axes = c.axis;
  axes.insert(axes.end(), c.reduce_axis.begin(), c.reduce_axis.end());
  const bool never_runs =
      std::any_of(axes.begin(), axes.end(), [](const IterVar& a) { return ir::is_int(a.extent, 0); });
  if (never_runs) return Reads::kInside;
  ReadChecker checker(what, where, axes, strict);
  for (const Expr& value : c.bodies) checker.visit(value, nullptr);
  return checker.before() ? Reads::kBefore : Reads::kInside;
}

}  // namespace tw::te
