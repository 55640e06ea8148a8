// A schedule for a device by rules, for extents that are variables and for scans:
//
//   for i: for j: C[i, j]                 blockIdx.x i*j.o: threadIdx.x i*j.i, where threads have neighbours to read
//   for i: for k: R[i] += A[i, k]         blockIdx.x i: for k.o: threadIdx.x k.i, where the sums' terms are neighbours
//   for t: for i: S[t, i]                 for t: blockIdx.x i.o: threadIdx.x i.i, where states are read in place
//
// What is refused so is one thread's: scans whose updates read other places, rows of 4-bit integers that share bytes.
#include "schedule/rule_device.h"

#include <algorithm>

#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::schedule {

bool contiguous_along(const ir::Load& load, const ir::Var& axis) {
  for (size_t d = 0; d + 1 < load.at.size(); ++d)
    if (ir::uses_var(load.at[d], axis)) return false;
  if (load.at.empty() || !ir::uses_var(load.at.back(), axis)) return false;
  const ir::Expr next = ir::substitute(load.at.back(), {{axis.id(), ir::Expr(axis) + ir::Expr(1)}});
  return ir::is_int(ir::simplify(next - load.at.back()), 1);
}

namespace {

constexpr int64_t kThreads = 256, kThreadsOfSum = 128, kWarp = 32;
constexpr int64_t kProcessors = 128;       // which have a block each before one has many threads
constexpr int64_t kFewElements = 1 << 12;  // which leave most of a device idle where each is one thread's
constexpr int64_t kNeighbours = 8;         // elements that share bytes are one thread's

class DeviceRules {
 public:
  DeviceRules(Schedule s, bool scans_by_one, bool all_by_one)
      : s_(std::move(s)), scans_by_one_(scans_by_one), all_by_one_(all_by_one) {}

  Schedule run() {
    std::vector<std::string> names;
    for (int i = 0; i < s_.nest().size(); ++i)
      if (const StageNest& st = s_.nest().stage(i); !st.is_placeholder() && st.attach.kind == AttachKind::kRoot)
        if (st.op->compute() || st.op->scan()) names.push_back(st.name);
    for (const std::string& name : names) bind_stage(name);
    return std::move(s_);
  }

 private:
  const StageNest& at(const std::string& name) const { return s_.nest().stage(s_.nest().find_stage(name)); }
  template <class K>
  bool step(K k) {
    return s_.try_apply(Step(std::move(k))).ok();
  }

  void bind_stage(const std::string& name) {
    const StageNest& st = at(name);
    const bool scan = st.op->scan() != nullptr;
    const std::vector<std::string> data = axes(st, scan ? 1 : 0, st.data_rank);
    if (all_by_one_ || (scan && scans_by_one_) || !whole_bytes(st))
      by_one_thread(name);
    else if (st.reduce_rank > 0 && shares_terms(st))
      share_terms(name, data, axes(st, st.data_rank, st.data_rank + st.reduce_rank).back());
    else if (data.empty())
      by_one_thread(name);
    else
      share_elements(name, data);
  }

  // Whether no two rows share one.
  static bool whole_bytes(const StageNest& st) {
    if (!st.op->dtype().is_packed() || st.data_rank < 2) return true;
    return st.axes[static_cast<size_t>(st.data_rank - 1)].extent.value_or(1) % 2 == 0;
  }

  static std::vector<std::string> axes(const StageNest& st, int from, int to) {
    std::vector<std::string> names;
    for (int d = from; d < to; ++d) names.push_back(st.axes[static_cast<size_t>(d)].name);
    return names;
  }

  // Whether the terms of a sum lie side by side, and those of neighbouring sums don't; or there are few sums.
  static bool shares_terms(const StageNest& st) {
    if (st.op->dtype().is_packed()) return false;
    const auto reads_along = [&](int axis) {
      bool reads = false;
      for (const ir::Expr& body : st.bodies)
        ir::walk(body, [&](const ir::Expr& e) {
          const auto* load = ir::as<ir::Load>(e);
          reads = reads || (load && contiguous_along(*load, st.axes[static_cast<size_t>(axis)].var));
          return !reads;
        });
      return reads;
    };
    int64_t sums = 1;
    for (int d = 0; d < st.data_rank; ++d) {
      const Extent& extent = st.axes[static_cast<size_t>(d)].extent;
      sums = extent.known() ? std::min(sums * std::min(extent.value(), kFewElements), kFewElements) : kFewElements;
    }
    return sums < kFewElements || (reads_along(st.data_rank + st.reduce_rank - 1) && !reads_along(st.data_rank - 1));
  }

  std::string fused(const std::string& name, const std::vector<std::string>& loops) {
    if (loops.size() < 2 || !step(Fuse{name, loops})) return loops.back();
    std::string all;
    for (const std::string& loop : loops) all += (all.empty() ? "" : "*") + loop;
    return all;
  }

  void share_terms(const std::string& name, const std::vector<std::string>& data, const std::string& terms) {
    if (!data.empty()) step(Bind{name, fused(name, data), "blockIdx.x"});
    if (step(Split{name, terms, Factor(kThreadsOfSum), {}, ir::Tail::kAuto}))
      step(Bind{name, terms + ".i", "threadIdx.x"});
  }

  // Of few elements, as the states of a scan are at one time, fewer to a block.
  static int64_t threads_for(const StageNest& st, const std::vector<std::string>& data) {
    int64_t elements = 1;
    for (const Axis& axis : st.axes)
      if (std::ranges::find(data, axis.name) != data.end()) {
        if (!axis.extent.known()) return kThreads;
        elements = std::min(elements * axis.extent.value(), kThreads * kProcessors);
      }
    int64_t threads = kThreads;
    while (threads > kWarp && elements < threads * kProcessors) threads /= 2;
    return threads;
  }

  void share_elements(const std::string& name, const std::vector<std::string>& data) {
    std::string all = fused(name, data);
    if (at(name).op->dtype().is_packed() && step(Split{name, all, Factor(kNeighbours), {}, ir::Tail::kAuto}))
      all += ".o";
    step(Split{name, all, Factor(threads_for(at(name), data)), {}, ir::Tail::kAuto});
    step(Bind{name, all + ".o", "blockIdx.x"});
    step(Bind{name, all + ".i", "threadIdx.x"});
  }

  // A loop of one iteration around all others; of a scan, within its time.
  void by_one_thread(const std::string& name) {
    const size_t outermost = at(name).op->scan() ? 1 : 0;
    if (step(Fuse{name, {}}))
      step(Bind{name, at(name).axes[static_cast<size_t>(at(name).leaves[outermost])].name, "threadIdx.x"});
  }

  Schedule s_;
  const bool scans_by_one_, all_by_one_;
};

}  // namespace

Schedule bind_by_rules(Schedule s) {
  for (const bool scans_by_one : {false, true})
    if (Schedule bound = DeviceRules(s, scans_by_one, false).run(); bound.check().ok()) return bound;
  return DeviceRules(std::move(s), true, true).run();
}

}  // namespace tw::schedule
