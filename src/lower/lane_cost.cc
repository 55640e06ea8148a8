// One walk over a statement, with the loops around at hand.

#include "src/lower/lane_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <unordered_set>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"
#include "src/lower/clamps.h"
#include "src/lower/vector_form.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr double kInstruction = 0.5;  // two of them in a cycle
constexpr double kStore = 1;
constexpr double kFarLane = 2.5;  // of a load or store whose lanes are apart in memory, for each of them
constexpr double kSumLatency = 4;
constexpr double kIteration = 0.5;
constexpr double kCall = 20;
constexpr double kMostTrips = 1e12;

double of_call(Fn fn) {
  switch (fn) {
    case Fn::kAbs:
    case Fn::kFloor:
    case Fn::kCeil:
    case Fn::kRound:
    case Fn::kTrunc:
    case Fn::kFma:
    case Fn::kScale:
    case Fn::kReinterpret:
      return kInstruction;
    case Fn::kTF32:
      return 4 * kInstruction;
    case Fn::kSqrt:
    case Fn::kRsqrt:
      return 5;
    default:
      return 10;
  }
}

class Cost {
 public:
  Cost(const Target& target, const Bounds& sizes) : target_(target), sizes_(sizes) {}

  double of(const Stmt& s) {
    return match(
        s, [&](const Store& st) { return of(st); }, [&](const For& f) { return of(f); },
        [&](const If& i) {
          return of(i.cond, false) + kInstruction + of(i.then) + (i.otherwise ? of(i.otherwise) : 0);
        },
        [&](const Seq& all) {
          double sum = 0;
          for (const Stmt& child : all.stmts) sum += of(child);
          return sum;
        },
        [&](const Allocate& a) { return of(a.body); },
        [&](const LetStmt& l) { return of(l.value, false) + of(l.body); },
        [&](const Evaluate&) -> double { return kIteration; }, [&](const Sync&) -> double { return kIteration; });
  }

 private:
  double of(const For& f) {
    if (lane_ && uses_var(f.extent, lane_)) return lane_by_lane([&] { return of(f); });
    const auto trips = static_cast<int64_t>(trips_of(f.extent));
    if (f.kind == ForKind::kVectorized) {
      lane_ = f.var;
      lanes_ =
          static_cast<int>(std::min<int64_t>(std::max(1, lanes_for(f.body, target_)), std::max<int64_t>(1, trips)));
      vectors_ = static_cast<double>((trips + lanes_ - 1) / lanes_);
    }
    const BoundsInside inside(sizes_, f.extent);
    loops_.push_back({f.var, trips, f.kind});
    const double body = of(f.body);
    loops_.pop_back();
    if (f.kind == ForKind::kVectorized) {
      lane_ = Var();
      vectors_ = lanes_ = 1;
      return body;
    }
    return static_cast<double>(trips) * (body + (f.kind == ForKind::kUnrolled ? 0 : kIteration));
  }

  // As if all that is no number were kAssumedTrips.
  static double trips_of(const Expr& extent) {
    if (const auto n = as_int(extent)) return static_cast<double>(*n);
    const auto* b = as<Binary>(extent);
    const double x = b ? trips_of(b->a) : 0, y = b ? trips_of(b->b) : 0;
    switch (b ? b->op : BinOp::kEq) {
      case BinOp::kAdd:
        return std::min(x + y, kMostTrips);
      case BinOp::kMul:
        return std::min(x * y, kMostTrips);
      case BinOp::kFloorDiv:
        return y > 0 ? std::floor(x / y) : kAssumedTrips;
      case BinOp::kMin:
        return std::min(x, y);
      default:
        return kAssumedTrips;
    }
  }

  // What has no vector form.
  template <class F>
  double lane_by_lane(F cost) {
    const Cost vectors = *this;
    lane_ = Var();
    vectors_ = lanes_ = 1;
    const double one = cost();
    lane_ = vectors.lane_, lanes_ = vectors.lanes_, vectors_ = vectors.vectors_;
    return one * lanes_ * vectors_;
  }

  static bool calls(const Expr& value) {
    bool found = false;
    walk(value, [&](const Expr& e) {
      found = found || as<CallExtern>(e);
      return !found;
    });
    return found;
  }

  double of(const Store& st) {
    if (lane_ && calls(st.value)) return lane_by_lane([&] { return of(st); });
    const auto chains = side_by_side(st);
    const bool in_registers = chains && *chains <= target_.abilities.vector_registers;
    double once = of(st.value, in_registers, &st);
    for (const Expr& e : st.at) once += of(e, false);
    if (!in_registers) once += kStore * apart(st.buffer, st.at);
    return chains ? std::max(once * vectors_, kSumLatency * vectors_ / *chains) : once * vectors_;
  }

  // How many sums the innermost loop that adds to this one grows in turn; none where the store is no such sum.
  std::optional<double> side_by_side(const Store& st) const {
    if (!reads(st)) return std::nullopt;
    double chains = vectors_;
    for (size_t n = loops_.size(); n-- > 0;) {
      const Loop& loop = loops_[n];
      if (loop.kind == ForKind::kVectorized || loop.trips <= 1) continue;
      const bool moves = std::any_of(st.at.begin(), st.at.end(), [&](const Expr& e) { return uses_var(e, loop.var); });
      if (!moves) return chains;
      chains *= static_cast<double>(loop.trips);
    }
    return std::nullopt;
  }

  static bool reads(const Store& st) {
    bool found = false;
    walk(st.value, [&](const Expr& e) {
      const auto* l = as<Load>(e);
      found = found || (l && l->buffer == st.buffer);
      return !found;
    });
    return found;
  }

  // All distinct nodes of a value; what it reads of its own buffer is free where that is in registers.
  double of(const Expr& value, bool in_registers, const Store* own = nullptr) {
    double sum = 0;
    walk(value, [&](const Expr& e) {
      if (const auto* l = as<Load>(e)) {
        const bool sum_so_far = own && in_registers && l->buffer == own->buffer;
        if (!sum_so_far) sum += kInstruction * apart(l->buffer, l->at);
        return true;
      }
      if (e.type().is_index()) return false;
      if (const auto* s = as<Select>(e); s && is_clamped_read(*s)) return sum += of(s->yes, false), false;
      if (const auto* b = as<Binary>(e)) sum += b->op == BinOp::kDiv ? 5 : kInstruction;
      if (as<Select>(e) || as<Cast>(e)) sum += kInstruction;
      if (as<CallExtern>(e)) sum += kCall;
      if (const auto* c = as<Call>(e)) sum += of_call(c->fn);
      return true;
    });
    return sum;
  }

  // Accesses that one vector takes.
  double apart(const Buffer& buffer, const std::vector<Expr>& at) const {
    if (!lane_ || at.empty() || lanes_ == 1) return 1;
    const auto step = step_of(buffer, at);
    if (step && (*step == 0 || *step == 1)) return 1;
    if (step == -1) return 2;
    return kFarLane * lanes_ / kInstruction;
  }

  // How far apart in memory neighbouring lanes are.
  std::optional<int64_t> step_of(const Buffer& buffer, const std::vector<Expr>& at) const {
    std::vector<Expr> strides = buffer.strides();
    Expr offset = 0;
    for (size_t d = at.size(); d-- > 0;) {
      if (buffer.strides().empty())
        strides.insert(strides.begin(), d + 1 < at.size() ? strides[0] * buffer.shape()[d + 1] : Expr(1));
      if (uses_var(at[d], lane_)) offset = offset + at[d] * (buffer.strides().empty() ? strides[0] : strides[d]);
    }
    return rise_of(offset);
  }

  std::optional<int64_t> rise_of(const Expr& e) const {
    int64_t step = 0;
    for (const Term& t : decompose(simplify(e, sizes_)).terms) {
      const auto* v = as<VarRef>(t.atom);
      if (v && v->var == lane_)
        step += t.factor;
      else if (uses_var(t.atom, lane_))
        return std::nullopt;
    }
    return step;
  }

  struct Loop {
    Var var;
    int64_t trips;
    ForKind kind;
  };
  const Target& target_;
  Bounds sizes_;
  std::vector<Loop> loops_;
  Var lane_;
  int lanes_ = 1;
  double vectors_ = 1;
};

}  // namespace

double cycles(const Stmt& s, const Target& target, const Bounds& sizes) { return Cost(target, sizes).of(s); }

}  // namespace tw::lower
