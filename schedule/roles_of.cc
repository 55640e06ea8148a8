#include "schedule/roles_of.h"

#include <algorithm>

#include "schedule/refuse.h"
#include "schedule/thread_sums.h"
#include "src/ir/group_products.h"
#include "src/support/launch_limits.h"

namespace tw::schedule {

namespace {

constexpr int64_t kRegisters = 65536;                       // of a block
constexpr int64_t kOfProducer = 40, kMostOfConsumer = 232;  // where the Step does not say

int64_t in_steps(int64_t registers) { return registers / ir::kRegistersStep * ir::kRegistersStep; }

// What a thread of each role has together: a block begins with as many whole steps for each thread, and who takes more
// than others have given waits for ever.
int64_t to_share(int64_t consumers) {
  return in_steps(kRegisters / kThreadsOfRole / (consumers + 1)) * (consumers + 1);
}

AxisId bound_to(const StageNest& stage, Annotation index) {
  const auto leaf = std::ranges::find(stage.leaves, index, [&](AxisId axis) { return stage.axes[axis].annotation; });
  return leaf == stage.leaves.end() ? kNone : *leaf;
}

class Check {
 public:
  Check(const LoopNest& nest, const Placement& placed, const NestBounds& all, const std::vector<Slide>& slides,
        const std::vector<Step>& steps, int stage)
      : nest_(nest), placed_(placed), all_(all), slides_(slides), steps_(steps), i_(stage), stage_(nest.stage(stage)) {}

  Status run() const {
    if (!placed_.live(i_) || placed_.launch[i_] == kNone)
      return wrong("a stage with roles must be computed by a device, which " + stage_.name + " is not",
                   "bind the loops of the stages at root to blockIdx and threadIdx");
    const ir::WarpProduct* product = warp_product_of(stage_);
    if (product == nullptr || product->lanes != kThreadsOfRole)
      return wrong("what consumers compute must be products of four warps, and " + stage_.name + " is none",
                   "tensorize(.., \"wgmma.m64n64k16.bf16\") makes it one");
    TW_TRY([[maybe_unused]] Unit rings, rings_only());
    TW_TRY([[maybe_unused]] Unit alone, nobody_meets());
    TW_TRY([[maybe_unused]] Unit once, comes_once());
    return threads();
  }

 private:
  Diagnostic wrong(const std::string& rule, const std::string& way_out) const {
    return blame(refuse(Roles::kName, rule) << describe(stage_) << way_out, steps_, stage_.roles.step);
  }

  // The pipeline's, and no other.
  Status rings_only() const {
    int level = kNone;
    for (int i = 0; i < nest_.size(); ++i) {
      if (!placed_.live(i) || placed_.launch[i] != placed_.launch[i_] || slides_[i].kind != SlideKind::kRing) continue;
      const std::string& name = nest_.stage(i).name;
      if (placed_.parent[i] != i_ || (level != kNone && level != placed_.level[i]))
        return wrong("a producer must fill the rings of one loop of " + stage_.name + ", and " + name +
                         " is computed ahead elsewhere",
                     "leave one pipeline in the launch");
      if (!slides_[i].boxes)
        return wrong("a producer's copies must be the device's own, by tma, and those of " + name + " are not",
                     "pipeline(.., by=\"tma\") says what stands against it");
      level = placed_.level[i];
    }
    if (level == kNone)
      return wrong("a stage with roles must have a pipeline of more than one slot and one iteration, and " +
                       stage_.name + " has none",
                   "pipeline(.., 3, by=\"tma\") of the loop in which what it reads is copied to shared memory");
    return Unit{};
  }

  Status nobody_meets() const {
    for (int i = 0; i < nest_.size(); ++i) {
      if (!placed_.live(i) || placed_.launch[i] != placed_.launch[i_]) continue;
      const StageNest& other = nest_.stage(i);
      const bool meets = placed_.together[i] == Team::kBlock && slides_[i].kind != SlideKind::kRing;
      if (!meets && !sums_across_threads(other)) continue;
      return wrong(
          "nothing but the pipeline must make threads of the launch wait for each other, as " + other.name + " does",
          "the producer's threads come to no barrier of the block: compute it in a launch of its own");
    }
    return Unit{};
  }

  Status comes_once() const {
    for (int ring = 0; ring < nest_.size(); ++ring) {
      if (placed_.parent[ring] != i_ || slides_[ring].kind != SlideKind::kRing) continue;
      const std::optional<LoopOfStage> loop = loop_that_repeats(nest_, placed_, all_, slides_, ring);
      if (!loop) continue;
      const bool tiles = loop->axis == nest_.stage(placed_.launch[i_]).persistent.tiles;
      return wrong("a block must come to the pipeline once, and the loop " +
                       nest_.stage(loop->stage).axes[loop->axis].name + " comes back to it",
                   tiles ? "give the pipelined loop a known number of iterations"
                         : "bind the loop to blocks; persistent has a block compute several tiles");
    }
    return Unit{};
  }

  // By its own loop, or by one around the place that it is computed at.
  int64_t groups_that_compute() const {
    for (int i = i_, level = kNone; i != kNone; level = placed_.level[i], i = placed_.parent[i]) {
      const std::vector<AxisId>& leaves = nest_.stage(i).leaves;
      for (size_t l = 0; l < leaves.size() && (level == kNone || l <= static_cast<size_t>(level)); ++l)
        if (nest_.stage(i).axes[leaves[l]].annotation == Annotation::kThreadY)
          return all_.stages[i].extent[leaves[l]].value_or(1);
    }
    return 1;
  }

  Status threads() const {
    int64_t groups = 1;
    for (int i = 0; i < nest_.size(); ++i) {
      if (!placed_.live(i) || placed_.launch[i] != placed_.launch[i_]) continue;
      if (bound_to(nest_.stage(i), Annotation::kThreadZ) != kNone)
        return wrong("a launch with roles must have no threadIdx.z, as " + nest_.stage(i).name + " has",
                     "fuse the loops of threadIdx.y and threadIdx.z");
      if (const AxisId y = bound_to(nest_.stage(i), Annotation::kThreadY); y != kNone)
        groups = std::max(groups, all_.stages[i].extent[y].value_or(1));
    }
    if (const int64_t mine = groups_that_compute(); mine != groups)
      return wrong("all consumers must compute " + stage_.name + ", and " + std::to_string(mine) + " of " +
                       std::to_string(groups) + " do",
                   "bind as many rows of 128 threads in each stage of the launch");
    if (stage_.roles.consumers != 0 && stage_.roles.consumers != groups)
      return wrong(
          "consumers must be as many as the schedule binds, 128 threads each: " + std::to_string(groups) + ", not " +
              std::to_string(stage_.roles.consumers),
          "bind a loop of " + std::to_string(stage_.roles.consumers) + " to threadIdx.y, or leave consumers out");
    if ((groups + 1) * kThreadsOfRole > support::kMostThreadsOfBlock)
      return wrong("a block must have at most " + std::to_string(support::kMostThreadsOfBlock) + " threads, and " +
                       std::to_string(groups) + " consumers and a producer have " +
                       std::to_string((groups + 1) * kThreadsOfRole),
                   "bind fewer rows to threadIdx.y");
    const RoleRegisters registers = registers_of(stage_.roles, groups);
    const int64_t all = registers.producer + groups * registers.consumer;
    if (all > to_share(groups))
      return wrong("registers of a producer and of " + std::to_string(groups) + " consumers must be at most " +
                       std::to_string(to_share(groups)) + " together, and " + std::to_string(registers.producer) +
                       " + " + std::to_string(groups) + " * " + std::to_string(registers.consumer) + " are " +
                       std::to_string(all),
                   "leave registers out: they are shared out then");
    return Unit{};
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const NestBounds& all_;
  const std::vector<Slide>& slides_;
  const std::vector<Step>& steps_;
  const int i_;
  const StageNest& stage_;
};

}  // namespace

int stage_with_roles(const LoopNest& nest, const Placement& placed, int root) {
  for (int i = 0; i < nest.size(); ++i)
    if (placed.live(i) && placed.launch[i] == root && nest.stage(i).roles.step != kNone) return i;
  return kNone;
}

std::optional<LoopOfStage> loop_that_repeats(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                                             const std::vector<Slide>& slides, int ring) {
  if (!!slides[ring].tiles) return std::nullopt;
  for (int at = placed.parent[ring], level = placed.level[ring]; at != kNone;
       level = placed.level[at] + 1, at = placed.parent[at]) {
    const StageNest& host = nest.stage(at);
    for (int position = 0; position < level; ++position) {
      const AxisId leaf = host.leaves[position];
      if (!!all.stages[at].loop[leaf] && !is_bound(host.axes[leaf].annotation)) return LoopOfStage{at, leaf};
    }
  }
  return std::nullopt;
}

RoleRegisters registers_of(const RolesNote& note, int64_t consumers) {
  RoleRegisters out{note.producer_registers, note.consumer_registers};
  if (out.producer == 0)
    out = {kOfProducer, std::min(kMostOfConsumer, in_steps((to_share(consumers) - kOfProducer) / consumers))};
  out.move = out.consumer > to_share(consumers) / (consumers + 1);  // what each has from the beginning
  return out;
}

Status check_roles(const LoopNest& nest, const Placement& placed, const NestBounds& all,
                   const std::vector<Slide>& slides, const std::vector<Step>& steps) {
  for (int i = 0; i < nest.size(); ++i) {
    if (nest.stage(i).roles.step == kNone) continue;
    TW_TRY([[maybe_unused]] Unit fine, Check(nest, placed, all, slides, steps, i).run());
  }
  return Unit{};
}

}  // namespace tw::schedule
