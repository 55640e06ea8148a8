// A scan on a device: its states are shared out, and each thread goes through all times.
//
//   for t: for i: S[t, i] = f(S[t - 1, i], X[t, i])    ==>    for t: blockIdx.x i.o: threadIdx.x i.i
//
// What is computed at each time is the thread's own. Sums over states that others wrote are the block's, whose threads
// meet at each time:
//
//   P[t, b, j] += S[t - 1, b, k] * W[k, j]      ==>    for t: blockIdx.x b: P shared; threadIdx.x j.i: for j.o
//   S[t, b, j] = f(P[t, b, j])
//
// Of W[j, k] a warp has neighbouring terms of a sum, and each warp sums of its own:
//
//                                                      for t: blockIdx.x b:
//                                                        for j.o: threadIdx.y j.i: for k.o: threadIdx.x k.i: P shared
//                                                        threadIdx.y j.o.i: threadIdx.x j.i: for j.o.o
//
// Other updates that read other places, as in S[t, i] = f(S[t - 1, i - 1]), are in one thread along those axes.
#include <algorithm>
#include <functional>

#include "autotune/sketch/device.h"
#include "autotune/sketch/lanes.h"
#include "schedule/loop_nest.h"
#include "src/ir/warp_products.h"

namespace tw::autotune::sketch {

namespace {

constexpr int64_t kMostShared = 48 << 10;  // bytes of a block, so that several find room

bool is_in_time(const Stage& stage, int scan) { return stage.scan == scan && !stage.inlined; }

// Whether along d it reads states, and what is computed of them but for these, where it writes.
bool reads_states_in_place(
    const Graph& graph, const Stage& stage, int scan, size_t d,
    const std::function<bool(const Access&)>& but = [](const Access&) { return false; }) {
  return std::ranges::all_of(stage.reads, [&](const Access& read) {
    if ((read.stage != scan && graph.at(read.stage).scan != scan) || but(read)) return true;
    const auto* var = d < read.at().size() ? ir::as<ir::VarRef>(read.at()[d]) : nullptr;
    return var != nullptr && d < stage.data.size() && var->var == stage.data[d].var;
  });
}

class DeviceScan {
 public:
  DeviceScan(Sketch& sketch, const Group& group)
      : k_(sketch), group_(group), states_(sketch.graph.at(group.root)), name_(states_.name) {}

  void run() {
    for (const int member : group_.members) {
      const Stage& stage = k_.graph.at(member);
      if (stage.kind == StageKind::kPointwise && stage.readers.size() == 1 && !stage.output)
        k_.step(schedule::ComputeInline{stage.name});
      else if (member != group_.root)
        computed_.push_back(member);
    }
    part_axes();
    if (meets())
      by_blocks();
    else
      by_threads();
  }

 private:
  // Along which threads, or blocks, have states of their own; and the others.
  void part_axes() {
    const bool parts = states_.same_shapes && !states_.type.is_packed();
    for (size_t d = 1; d < states_.data.size(); ++d) {
      const bool own =
          parts && std::ranges::all_of(k_.graph.stages, [&](const Stage& stage) {
            return !is_in_time(stage, group_.root) || reads_states_in_place(k_.graph, stage, group_.root, d);
          });
      (own ? own_ : others_).push_back(states_.data[d].name);
      (own ? own_at_ : others_at_).push_back(d);
    }
    if (!own_.empty() && !others_.empty()) {
      std::vector<std::string> order = own_;
      order.insert(order.end(), others_.begin(), others_.end());
      k_.reorder(name_, order);
    }
  }

  // Whether it is sums alone that read states which other threads wrote, and a block keeps those of a time.
  bool meets() const {
    if (others_.empty() || !states_.same_shapes || states_.type.is_packed()) return false;
    int64_t bytes = 0;
    for (size_t i = 0; i < k_.graph.stages.size(); ++i) {
      const Stage& stage = k_.graph.stages[i];
      if (!is_in_time(stage, group_.root) || in_place(stage)) continue;
      if (!is_of_block(stage) || stage.type.is_packed()) return false;
      int64_t elements = stage.elements / std::max<int64_t>(1, stage.data[0].extent);
      for (const size_t d : own_at_) elements /= std::max<int64_t>(1, states_.data[d].extent);
      bytes += elements * stage.type.bytes();
    }
    return bytes <= kMostShared;
  }
  // Sums over states, which all threads find in shared memory.
  bool is_of_block(const Stage& stage) const {
    return stage.reduces() && std::ranges::all_of(stage.reads, [&](const Access& read) {
             return read.stage == group_.root || !in_time(read);
           });
  }
  // Whether a thread has of the states, and of what is computed of them, all that it reads but for the block's sums.
  bool in_place(const Stage& stage) const {
    const auto is_sum = [&](const Access& read) {
      const Stage& source = k_.graph.at(read.stage);
      return read.stage != group_.root && in_time(read) && is_of_block(source) && !reads_in_place(source);
    };
    return std::ranges::all_of(
        others_at_, [&](size_t d) { return reads_states_in_place(k_.graph, stage, group_.root, d, is_sum); });
  }
  bool reads_in_place(const Stage& stage) const {
    return std::ranges::all_of(others_at_,
                               [&](size_t d) { return reads_states_in_place(k_.graph, stage, group_.root, d); });
  }
  bool in_time(const Access& read) const {
    return read.stage == group_.root || k_.graph.at(read.stage).scan == group_.root;
  }

  // A loop of one iteration within time.
  std::string once() {
    k_.step(schedule::Fuse{name_, {}});
    const schedule::StageNest& nest = k_.s.nest().stage(k_.s.nest().find_stage(name_));
    return nest.axes[static_cast<size_t>(nest.leaves[1])].name;
  }

  void by_threads() {
    std::string thread = own_.empty() ? once() : k_.fuse(name_, own_);
    if (own_.empty()) {
      k_.bind(name_, thread, "threadIdx.x");
    } else {
      k_.cfg.define_knob(name_ + ".threads", {32, 64, 128, 256});
      share(k_, name_, thread, k_.cfg.factor(name_ + ".threads"));
      k_.bind(name_, thread + ".o", "blockIdx.x");
      thread += ".i";
    }
    for (const int member : computed_) k_.step(schedule::ComputeAt{k_.graph.at(member).name, name_, thread});
  }

  void by_blocks() {
    const std::string block = own_.empty() ? once() : k_.fuse(name_, own_);
    k_.bind(name_, block, "blockIdx.x");
    const std::string states = k_.fuse(name_, others_);
    if (std::ranges::any_of(computed_, [&](int member) { return lies_along_terms(k_.graph.at(member)); }))
      return by_warps(block, states);
    k_.cfg.define_knob(name_ + ".threads", {256, 128, 512, 1024, 64});
    share(k_, name_, states, k_.cfg.factor(name_ + ".threads"));
    k_.reorder(name_, {states + ".i", states + ".o"});
    for (const int member : computed_) {
      const Stage& stage = k_.graph.at(member);
      k_.step(schedule::ComputeAt{stage.name, name_, in_place(stage) ? states + ".o" : block});
    }
  }

  // A sum of the block's whose terms are neighbours in memory, in what is no state.
  bool lies_along_terms(const Stage& stage) const {
    if (in_place(stage) || stage.sums.size() != 1 || stage.sums[0].extent < kLeastShared) return false;
    const auto lies_along = [&](const Axis& axis) {
      return std::ranges::any_of(stage.reads, [&](const Access& read) {
        return !in_time(read) && read.uses(stage.sums[0]) && stride_along(read, axis) == 1;
      });
    };
    return lies_along(stage.sums[0]) && !lies_along(stage.data.back());
  }

  void by_warps(const std::string& block, const std::string& states) {
    const std::string warps = name_ + ".warps";
    k_.cfg.define_knob(warps, {8, 16, 32, 4, 2});
    share(k_, name_, states, ir::kLanesOfWarp);
    k_.split(name_, states + ".o", k_.cfg.factor(warps));
    k_.bind(name_, states + ".o.i", "threadIdx.y");
    k_.reorder(name_, {states + ".o.i", states + ".i", states + ".o.o"});
    for (const int member : computed_) {
      const Stage& stage = k_.graph.at(member);
      k_.step(schedule::ComputeAt{stage.name, name_, in_place(stage) ? states + ".o.o" : block});
      if (!lies_along_terms(stage)) continue;
      std::vector<std::string> loops;
      for (size_t d = 1; d < stage.data.size(); ++d)
        if (std::ranges::find(own_at_, d) == own_at_.end()) loops.push_back(stage.data[d].name);
      const std::string sums = k_.fuse(stage.name, loops);
      k_.split(stage.name, sums, k_.cfg.factor(warps));
      k_.bind(stage.name, sums + ".i", "threadIdx.y");
      share(k_, stage.name, stage.sums[0].name, ir::kLanesOfWarp);
    }
  }

  Sketch& k_;
  const Group& group_;
  const Stage& states_;
  const std::string name_;
  std::vector<int> computed_;
  std::vector<std::string> own_, others_;
  std::vector<size_t> own_at_, others_at_;
};

}  // namespace

std::optional<Group> match_device_scan(const Graph& graph, int root) {
  if (graph.at(root).kind != StageKind::kScan) return std::nullopt;
  Group group{root, root, {}};
  for (int i = 0; i < root; ++i) {
    const Stage& stage = graph.at(i);
    const bool begins = stage.kind == StageKind::kPointwise && stage.readers == std::vector{root};
    if (is_in_time(stage, root) || (begins && !stage.inlined && !stage.output)) group.members.push_back(i);
  }
  group.members.push_back(root);
  return group;
}

void apply_device_scan(Sketch& sketch, const Group& group) { DeviceScan(sketch, group).run(); }

}  // namespace tw::autotune::sketch
