#include "autotune/model/nest_hash.h"

#include <functional>

#include "schedule/placement.h"

namespace tw::autotune {

using schedule::AccessView;
using schedule::LoopView;
using schedule::StageNest;
using schedule::StageView;

namespace {

class NestHash {
 public:
  uint64_t of(const schedule::LoopNest& nest, const std::vector<StageView>& views) {
    for (const StageView& view : views) add_stage(nest, view);
    for (int i = 0; i < nest.size(); ++i) add(static_cast<uint64_t>(nest.stage(i).attach.kind));
    return h_;
  }

 private:
  void add(uint64_t x) { h_ = (h_ ^ x) * 0x9e3779b97f4a7c15ull, h_ ^= h_ >> 29; }
  template <class Range>
  void add_all(const Range& range) {
    add(range.size());
    for (const auto& x : range) add(static_cast<uint64_t>(x));
  }
  void add_text(const std::string& text) { add(std::hash<std::string>()(text)); }

  // The loop as one counts that are loops.
  static uint64_t place_of(const StageNest& stage, schedule::AxisId axis) {
    uint64_t place = 0;
    for (schedule::AxisId leaf : stage.leaves) {
      if (leaf == axis) break;
      place += stage.axes[static_cast<size_t>(leaf)].extent.value_or(2) != 1;
    }
    return place;
  }

  void add_stage(const schedule::LoopNest& nest, const StageView& view) {
    const StageNest& stage = nest.stage(view.stage);
    add_text(stage.name);
    for (const LoopView& loop : view.loops) {
      if (loop.extent == 1) continue;
      add(static_cast<uint64_t>(loop.extent));
      add_all(loop.roots);
      add(static_cast<uint64_t>(loop.step));
      add(static_cast<uint64_t>(loop.annotation) * 2 + loop.reduction);
    }
    for (const AccessView& access : view.accesses) add_access(nest, access);
    for (const schedule::Relation& relation : stage.relations) {
      const auto* split = std::get_if<schedule::SplitRelation>(&relation);
      if (split != nullptr && split->tail != ir::Tail::kAuto) add(static_cast<uint64_t>(split->tail) + 17);
    }
    if (stage.attach.kind == schedule::AttachKind::kAt) {
      const int host = nest.find_stage(stage.attach.stage);
      add(static_cast<uint64_t>(host));
      if (host != schedule::kNone)
        add(place_of(nest.stage(host), schedule::attach_leaf(nest.stage(host), stage.attach.axis)));
    }
    add(stage.scope ? static_cast<uint64_t>(*stage.scope) + 1 : 0);
    add_notes(stage);
  }

  void add_access(const schedule::LoopNest& nest, const AccessView& access) {
    add(static_cast<uint64_t>(nest.find_stage(access.buffer)));
    for (const auto& coefficients : access.coefficients) add_all(coefficients);
    add_all(access.divisors);
    add_all(access.offsets);
    add_all(access.shape);
  }

  void add_notes(const StageNest& stage) {
    for (const auto& pragma : stage.pragmas) {
      add(place_of(stage, pragma.axis));
      add_text(pragma.key);
      add(static_cast<uint64_t>(pragma.value));
    }
    for (const auto& a : stage.alignments) add_all(std::vector<int64_t>{a.axis, a.factor, a.offset});
    for (const auto& p : stage.prefetches) {
      add_text(p.source);
      add(place_of(stage, p.axis));
      add_text(p.from);
      add_text(p.of);
      add(static_cast<uint64_t>(p.offset) * 2 + (p.second ? 1 : 0));
    }
    for (const auto& p : stage.pipelines) {
      add(place_of(stage, p.axis));
      add(static_cast<uint64_t>(p.stages) * 8 + static_cast<uint64_t>(p.by));
    }
    add(static_cast<uint64_t>(stage.swizzled));
    if (stage.tensorized.axis != schedule::kNone) {
      add(place_of(stage, stage.tensorized.axis));
      add_text(stage.tensorized.intrin->key);
    }
    add(static_cast<uint64_t>(stage.double_buffered != schedule::kNone) * 2 + (stage.rolling != schedule::kNone));
    add(static_cast<uint64_t>(stage.nontemporal != schedule::kNone));
    if (stage.store_predicate) add(stage.store_predicate.hash());
  }

  uint64_t h_ = 0x243f6a8885a308d3ull;
};

}  // namespace

uint64_t hash_of(const schedule::LoopNest& nest, const std::vector<StageView>& views) {
  return NestHash().of(nest, views);
}

}  // namespace tw::autotune
