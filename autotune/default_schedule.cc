// The schedule for those who give none: the best of the automatic space by the prior, which measures nothing.
//
// From the knobs' first values, which are the mildest, one knob after the other takes the value that the prior likes
// best, until no knob moves, nor two together. The same tensors and target give the same schedule on any machine. Where
// extents are not known the space is that of an assumed size, and what is chosen has to hold for any; where nothing in
// it does, rules choose (schedule/rule_schedule.h).
#include <algorithm>
#include <set>

#include "autotune/model/device_prior.h"
#include "autotune/model/prior.h"
#include "autotune/sketch/sketch.h"
#include "schedule/rule_schedule.h"
#include "src/ir/contract.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"
#include "te/at_size.h"
#include "tensorwright/autotune.h"

namespace tw {

namespace {

constexpr int kThreads = 4;  // of a machine that nobody has named
constexpr int64_t kL3 = 16 << 20;
constexpr int kRounds = 12;      // over all knobs, at most
constexpr double kAlike = 0.03;  // what estimates of a device do not tell apart: the milder one stays
constexpr double kWorth = 0.12;  // what they may be wrong by about processors that have no block, and banks
constexpr int kMostPairs = 64;   // values of two knobs that are tried together
constexpr int kEstimates = 480;  // 60 ms or less
constexpr int kHopeless = 64;    // candidates of which none holds for any size
// In the place of sizes that vary: so odd that all loops are ready for ends, and more than one loop of vectors takes.
constexpr int64_t kAssumedSize = 1031;

schedule::Machine assumed_machine(const Target& target) {
  MachineDescription machine{.hardware = schedule::usual_hardware(target), .threads = kThreads};
  if (machine.hardware.l3_bytes == 0) machine.hardware.l3_bytes = kL3;
  return schedule::describe_machine(target, machine);
}

class Choice {
 public:
  // Of outputs of any size, where the task is of one.
  Choice(const autotune::Task& task, const Target& target, const std::vector<te::Tensor>& any_size = {})
      : task_(task), any_size_(any_size), machine_(assumed_machine(target)) {}

  std::optional<schedule::Schedule> run() {
    consider(task_.space().digits(0));
    for (int round = 0; round < kRounds; ++round) {
      const uint64_t before = best_;
      const size_t knobs = task_.space().knobs().size();
      for (size_t knob = 0; knob < knobs; ++knob) vary({knob});
      if (best_ != before) continue;
      for (size_t one = 0; one < knobs; ++one)
        for (size_t other = one + 1; other < knobs; ++other)
          if (values(one) * values(other) <= kMostPairs) vary({one, other});
      if (best_ == before) break;
    }
    if (machine_.device && schedule_) prefer_what_lacks_nothing();
    return std::move(schedule_);
  }

 private:
  // Where the best leaves processors idle or waits for banks: the fastest that does not, if it takes hardly longer.
  void prefer_what_lacks_nothing() {
    int least = autotune::device_shortfalls(*schedule_, machine_);
    if (least == 0) return;
    const uint64_t size = task_.space().size();
    for (uint64_t index = 0; index < size && may_estimate(); ++index) consider(task_.space().digits(index));
    least = autotune::device_shortfalls(*schedule_, machine_);
    std::ranges::stable_sort(estimates_, {}, &Estimate::seconds);
    for (const Estimate& other : estimates_) {
      if (least == 0 || other.seconds > (1 + kWorth) * seconds_) return;
      Result<autotune::Scheduled> candidate = task_.candidate(other.index);
      const int lacks = candidate ? autotune::device_shortfalls(candidate->schedule, machine_) : least;
      if (lacks >= least) continue;
      least = lacks;
      schedule_ = std::move(candidate->schedule);
    }
  }

  bool may_estimate() const { return static_cast<int>(seen_.size()) < kEstimates; }

  uint32_t values(size_t knob) const { return static_cast<uint32_t>(task_.space().knobs()[knob].values.size()); }

  // All values of these knobs, the others as in the best so far.
  void vary(const std::vector<size_t>& knobs) {
    autotune::Digits digits = task_.space().digits(best_);
    for (size_t knob : knobs) digits[knob] = 0;
    for (bool more = true; more;) {
      consider(digits);
      more = false;
      for (size_t k = 0; k < knobs.size() && !more; ++k) {
        more = ++digits[knobs[k]] < values(knobs[k]);
        if (!more) digits[knobs[k]] = 0;
      }
    }
  }

  void consider(const autotune::Digits& digits) {
    const uint64_t index = task_.space().index(digits);
    if (!may_estimate() || (!schedule_ && refused_ >= kHopeless)) return;
    if (!seen_.insert(index).second) return;
    const Result<autotune::Scheduled> applied = task_.applied(index);
    if (!applied) return;
    const double seconds = autotune::estimate_seconds(applied->schedule, machine_);
    estimates_.push_back({index, seconds});
    if (schedule_ && seconds >= (machine_.device ? 1 - kAlike : 1) * seconds_) return;
    Result<autotune::Scheduled> candidate = task_.candidate(index);  // the rules of the whole nest take longest
    if (!candidate) return;
    if (!any_size_.empty()) {
      Result<schedule::Schedule> any = schedule::Schedule::from_steps(any_size_, task_.steps(index).value_or_throw());
      if (!any || !any->check().ok()) {
        ++refused_;
        return;
      }
      candidate->schedule = std::move(*any);
    }
    best_ = index;
    seconds_ = seconds;
    schedule_ = std::move(candidate->schedule);
  }

  const autotune::Task& task_;
  const std::vector<te::Tensor> any_size_;
  const schedule::Machine machine_;
  struct Estimate {
    uint64_t index;
    double seconds;
  };
  std::vector<Estimate> estimates_;
  std::set<uint64_t> seen_;
  uint64_t best_ = 0;
  double seconds_ = 0;
  int refused_ = 0;  // since they do not hold for any size
  std::optional<schedule::Schedule> schedule_;
};

// Placeholders, then outputs.
std::vector<te::Tensor> arguments(const std::vector<te::Tensor>& outputs) {
  std::vector<te::Tensor> args;
  for (const te::Operation& op : te::topological_order(outputs))
    if (op->is_placeholder()) args.push_back(op.output());
  args.insert(args.end(), outputs.begin(), outputs.end());
  return args;
}

// Variables in extents, in their order.
std::vector<ir::Var> sizes(const std::vector<te::Tensor>& outputs) {
  std::vector<ir::Var> all;
  const auto find_in = [&](const ir::Expr& extent) {
    ir::walk(extent, [&](const ir::Expr& e) {
      const auto* v = ir::as<ir::VarRef>(e);
      if (v && std::ranges::find(all, v->var) == all.end()) all.push_back(v->var);
      return true;
    });
  };
  for (const te::Operation& op : te::topological_order(outputs)) {
    for (const ir::Expr& extent : op->shape()) find_in(extent);
    if (!op->compute()) continue;
    for (const te::IterVar& axis : op->compute()->reduce_axis) find_in(axis.extent);
  }
  return all;
}

std::optional<schedule::Schedule> best_of_any_size(const std::vector<te::Tensor>& args, const Target& target,
                                                   const std::vector<te::Tensor>& outputs) {
  for (const Target& fewer : autotune::with_fewer_products(target)) {
    std::optional<autotune::Task> task;
    try {
      task.emplace(args, fewer);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kSchedule) throw;
      continue;
    }
    if (auto best = Choice(*task, target, outputs).run()) return best;
  }
  return std::nullopt;
}

std::optional<schedule::Schedule> best_by_prior(const std::vector<te::Tensor>& outputs, const Target& target) {
  try {
    std::vector<te::Tensor> args = arguments(outputs);
    const std::vector<ir::Var> varying = sizes(outputs);
    if (varying.empty()) return Choice(autotune::Task(args, target), target).run();
    if (target.abilities.device) return std::nullopt;
    for (const ir::Var& size : varying) args = te::at_size(args, size, kAssumedSize);
    return best_of_any_size(args, target, outputs);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::kSchedule && ir::verifies()) throw;  // a rule of the space is wrong
    return std::nullopt;                                            // what cannot be tuned
  }
}

}  // namespace

schedule::Schedule default_schedule(const std::vector<te::Tensor>& outputs, const Target& target) {
  return support::with_deep_stack([&] {
    std::optional<schedule::Schedule> best = best_by_prior(outputs, target);
    return best ? *std::move(best) : schedule::rule_schedule(outputs, target);
  });
}

}  // namespace tw
