// Proposals of tensor intrinsics.
#include <algorithm>

#include "tensorwright/tensor_intrin.h"
#include "tests/diff/intrins.h"
#include "tests/diff/sample_steps.h"

namespace tw::diff {

namespace {

std::string leaf(Stepper& s, const std::string& name, size_t from_end) {
  const StageNest& stage = s.stage(name);
  return stage.axes[stage.leaves[stage.leaves.size() - from_end]].name;
}

// Whether nothing is summed outside of the tile, and nothing is there before: then the body of an intrinsic stands.
bool is_whole_sum(const StageNest& stage, const std::string& tile) {
  return stage.reduction()->init.empty() && std::ranges::all_of(stage.leaves, [&](AxisId leaf) {
           const Axis& axis = stage.axes[leaf];
           return !axis.reduction || axis.name == tile || axis.extent == 1;
         });
}

// A tile of the sum, which may leave a tail: the body where nothing is summed outside of it, else the update.
bool own(Stepper& s, const std::string& name) {
  const StageNest& stage = s.stage(name);
  AxisId axis = kNone;
  for (const AxisId at : stage.leaves)
    if (stage.axes[at].reduction && stage.axes[at].annotation == Annotation::kNone) axis = at;
  if (axis == kNone || stage.buffers.size() != 1) return false;
  const std::string dtype = ir::to_string(stage.op->dtype());
  if (dtype != "float32" && dtype != "int32") return false;
  const std::string loop = stage.axes[axis].name;
  const Extent& extent = stage.axes[axis].extent;
  int64_t n = s.random().one_of<int64_t>({2, 4, 8});
  if (extent == 2 || extent == 4 || extent == 8) n = extent.value();  // the whole sum, where a body may stand
  const bool tail = !extent.known() || extent.value() % n != 0;
  std::string tile = loop;
  if (!(extent == n)) {
    if (!s.may(Split{name, loop, Factor(n), {}, s.random().one_of({Tail::kAuto, Tail::kGuard, Tail::kPeel})}))
      return false;
    tile = loop + ".i";
  }
  std::vector<std::string> order;
  for (const AxisId at : s.stage(name).leaves)
    if (s.stage(name).axes[at].name != tile && s.stage(name).axes[at].annotation == Annotation::kNone)
      order.push_back(s.stage(name).axes[at].name);
  order.push_back(tile);
  if (leaf(s, name, 1) != tile && !s.may(Reorder{name, order})) return false;
  std::vector<std::string> fitting;
  for (const std::string& intrin : own_intrins())
    if (intrin.find("_" + dtype + "_" + std::to_string(n) + "_") != intrin.npos) fitting.push_back(intrin);
  const auto first = static_cast<size_t>(s.random().below(static_cast<int64_t>(fitting.size())));
  for (size_t i = 0; i < fitting.size(); ++i) {
    const std::string& intrin = fitting[(first + i) % fitting.size()];
    if (!s.may(Tensorize{name, tile, intrin})) continue;
    const bool body = (intrin.ends_with("both") || intrin.ends_with("adds")) && is_whole_sum(s.stage(name), tile);
    s.count(body ? "intrinsic with a body" : "intrinsic that adds");
    if (intrin.ends_with("from")) s.count("intrinsic with elem_offset");
    if (tail) s.count("tail of an intrinsic");
    return true;
  }
  return false;
}

constexpr int64_t kTile = 16;

// Of a tile: as many as divide all of them.
int64_t part_of_tile(int64_t all) {
  int64_t part = std::min(all, kTile);
  while (part > 1 && all % part != 0) --part;
  return part;
}

// Axes of 16 columns of sums of groups of terms, or of several such tiles, and no other loops yet.
bool has_whole_tiles(const StageNest& stage) {
  if (stage.data_rank != 2 || stage.reduce_rank != 2 || stage.leaves.size() != 4) return false;
  for (AxisId d = 0; d < 4; ++d) {
    const Axis& axis = stage.axes[static_cast<size_t>(d)];
    if (axis.annotation != Annotation::kNone || !axis.extent.known()) return false;
    if (axis.extent == 0 || (d == 1 && axis.extent.value() % kTile != 0) || (d == 3 && axis.extent.value() > 4))
      return false;
  }
  return true;
}

bool whole(Stepper& s, const std::string& name) {
  if (!has_whole_tiles(s.stage(name))) return false;
  std::vector<std::string> outer, inner;
  const auto part_of = [&](size_t axis) { return part_of_tile(s.stage(name).axes[axis].extent.value()); };
  const int64_t rows = part_of(0), groups = part_of(2);
  for (AxisId d = 0; d < 4; ++d) {
    const Axis axis = s.stage(name).axes[static_cast<size_t>(d)];
    const int64_t part = d == 0 ? rows : d == 1 ? kTile : groups;
    const bool fits = d == 3 || axis.extent == part;
    if (!fits && !s.may(Split{name, axis.name, Factor(part), {}, Tail::kAuto})) return false;
    if (!fits) outer.push_back(axis.name + ".o");
    inner.push_back(axis.name + (fits ? "" : ".i"));
  }
  const std::string first = inner[0];
  outer.insert(outer.end(), inner.begin(), inner.end());
  if (!s.may(Reorder{name, outer})) return false;
  const auto fewer = [](const char* of, int64_t n) { return n < kTile ? of + std::to_string(n) : ""; };
  const std::string size = fewer(".m", rows) + fewer(".k", groups);
  for (const char* key : {"amx.bf16", "amx.u8s8", "amx.s8s8"})
    if (s.may(Tensorize{name, first, key + size})) {
      s.count(groups < kTile ? "intrinsic of tiles of fewer terms"
              : rows < kTile ? "intrinsic of lower tiles"
                             : "intrinsic of tiles");
      return true;
    }
  return false;
}

}  // namespace

bool has_loops_of_intrinsic(const StageNest& stage) {
  if (has_whole_tiles(stage)) return true;
  if (!stage.is_reduction() || stage.data_rank != 1 || stage.reduce_rank != 1) return false;
  const Extent& terms = stage.axes[1].extent;
  return terms == 2 || terms == 4 || terms == 8;
}

// Intrinsics stand in plain loops only, and most sums have others by the time one is proposed.
void leave_plain(Stepper& s, const std::string& name) {
  if (s.stage(name).is_reduction()) s.plain.insert(name);
}

// Whether the loops are those of an intrinsic is for the matcher to find out. The reduction may have to go outside
// first.
void tensorize(Stepper& s, const std::string& name) {
  if (!s.stage(name).is_reduction() || s.stage(name).leaves.empty()) return;
  if ((s.plain.contains(name) || s.random().chance(50)) && own(s, name)) return;
  if (whole(s, name)) return;
  if (s.stage(name).leaves.size() < 2) return;
  for (const char* key : {"avx512_vnni_dot_16x4", "avx512_vnni_s8s8_16x4", "avx_vnni_dot_8x4", "avx_vnni_s8s8_8x4",
                          "avx512_bf16_dot_16x2", "neon_sdot_4x4", "neon_udot_4x4", "neon_usdot_4x4", "neon_bfdot_4x2"})
    if (s.may(Tensorize{name, leaf(s, name, 2), key})) return;
  for (const char* key : {"neon_smmla_2x2x8", "neon_bfmmla_2x2x4"})
    if (s.stage(name).leaves.size() > 2 && s.may(Tensorize{name, leaf(s, name, 3), key})) return;
  if (s.may(Reorder{name, {leaf(s, name, 1), leaf(s, name, 2)}})) s.may(Tensorize{name, leaf(s, name, 1), "fma_16"});
}

}  // namespace tw::diff
