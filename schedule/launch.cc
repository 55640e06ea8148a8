#include "schedule/launch.h"

#include <algorithm>

#include "schedule/roles_of.h"
#include "schedule/vthreads.h"
#include "src/ir/simplify.h"

namespace tw::schedule {

namespace {

AxisId bound_to(const StageNest& stage, Annotation index) {
  for (AxisId leaf : stage.leaves)
    if (stage.axes[leaf].annotation == index) return leaf;
  return kNone;
}

// How many points the loop takes of the index. One thread has the first value of a reduction of nothing.
Extent points_of(const StageNest& stage, const StageBounds& bounds, AxisId leaf) {
  const Extent& own = bounds.extent[leaf];
  return own == 0 && stage.axes[leaf].reduction && is_thread(stage.axes[leaf].annotation) ? Extent(1) : own;
}

// blockIdx.x -> bx
std::string short_name(Annotation index) {
  const std::string name = to_string(index);
  return {name.front(), name.back()};
}

ir::ForKind kind_of(Annotation index, bool of_cluster) {
  const auto from = [&](ir::ForKind first, Annotation x) {
    return static_cast<ir::ForKind>(static_cast<int>(first) + static_cast<int>(index) - static_cast<int>(x));
  };
  if (is_thread(index)) return from(ir::ForKind::kThreadX, Annotation::kThreadX);
  return from(of_cluster ? ir::ForKind::kClusterX : ir::ForKind::kBlockX, Annotation::kBlockX);
}

}  // namespace

Launches::Launches(const LoopNest& nest, const Placement& placed, const NestBounds& all)
    : nest_(nest), placed_(placed), all_(all), indices_(nest.size()), clusters_(nest.size()) {
  for (int i = 0; i < nest.size(); ++i) {
    if (placed.launch[i] != i) continue;
    add_indices(i);
    clusters_[i] = cluster_of(nest, placed, all, i);
  }
}

void Launches::add_indices(int root) {
  for (Annotation kind : kDeviceIndices) {
    DeviceIndex index{kind, ir::Var(short_name(kind)), 0};
    std::vector<ir::Var> loops;
    for (int i = 0; i < nest_.size(); ++i) {
      const AxisId leaf = placed_.launch[i] == root ? bound_to(nest_.stage(i), kind) : kNone;
      if (leaf == kNone) continue;
      const StageBounds& bounds = all_.stages[i];
      const Extent own = points_of(nest_.stage(i), bounds, leaf);
      index.extent = index.extent == 0 ? own : own.value_or(0) > index.extent.value_or(0) ? own : index.extent;
      if (bounds.loop[leaf]) loops.push_back(bounds.loop[leaf]);
    }
    if (const int64_t lanes = lanes_of(root); kind == Annotation::kThreadX && index.extent.value_or(0) < lanes)
      index.extent = lanes;
    if (kind == Annotation::kThreadY && index.extent == 0 && has_roles(root)) index.extent = 1;
    if (index.extent == 0) continue;
    for (const ir::Var& loop : loops) index_of_[loop.id()] = index.var;
    if (is_thread(kind)) {
      threads_.insert(index.var.id());
      for (const ir::Var& loop : loops) threads_.insert(loop.id());
    }
    indices_[root].push_back(std::move(index));
  }
  for (int i = 0; i < nest_.size(); ++i) {
    if (placed_.launch[i] != root) continue;
    for (AxisId leaf : nest_.stage(i).leaves)
      if (const ir::Var& loop = all_.stages[i].loop[leaf];
          nest_.stage(i).axes[leaf].annotation == Annotation::kVirtual && loop) {
        virtual_.insert(loop.id());
        threads_.insert(loop.id());
      }
  }
}

// How many threads along x compute products together; none: 0.
int64_t Launches::lanes_of(int root) const {
  int64_t lanes = 0;
  for (int i = 0; i < nest_.size(); ++i)
    if (const ir::WarpProduct* product = warp_product_of(nest_.stage(i)); product && placed_.launch[i] == root)
      lanes = std::max<int64_t>(lanes, product->lanes);
  return lanes;
}

bool Launches::has_roles(int root) const { return stage_with_roles(nest_, placed_, root) != kNone; }

std::optional<DeviceIndex> Launches::role(int root) const {
  const auto index = std::ranges::find(indices_[root], Annotation::kThreadY, &DeviceIndex::kind);
  return has_roles(root) && index != indices_[root].end() ? std::optional(*index) : std::nullopt;
}

const std::vector<DeviceIndex>& Launches::indices(int stage) const {
  static const std::vector<DeviceIndex> kOfHost;
  return placed_.launch[stage] == kNone ? kOfHost : indices_[placed_.launch[stage]];
}

const std::optional<ClusterOf>& Launches::cluster(int stage) const {
  static const std::optional<ClusterOf> kNoCluster;
  return placed_.launch[stage] == kNone ? kNoCluster : clusters_[placed_.launch[stage]];
}

// Whether the stage's own loops say which threads along the index compute it, rather than those around it.
bool Launches::decides_itself(int stage, Annotation index) const {
  return placed_.parent[stage] == kNone || placed_.scope[stage] == Scope::kShared ||
         bound_to(nest_.stage(stage), index) != kNone;
}

// The stage whose guard a reader of stage i stands behind, where that is around the reader alone; else the reader.
int Launches::guard_of(int reader, int i, const DeviceIndex& index) const {
  for (int inner = reader; placed_.parent[inner] != kNone; inner = placed_.parent[inner]) {
    const int host = placed_.parent[inner];
    if (!decides_itself(host, index.kind)) continue;
    const AxisId around = bound_to(nest_.stage(host), index.kind);
    const int position = around == kNone ? kNone : nest_.stage(host).position(around);
    if (position > placed_.level[inner]) return reader;
    for (int own = i; placed_.parent[own] != kNone; own = placed_.parent[own])
      if (placed_.parent[own] == host && placed_.level[own] >= position) return reader;
    return host;
  }
  return reader;
}

std::optional<Extent> Launches::limit(int i, const DeviceIndex& index) const {
  const StageNest& stage = nest_.stage(i);
  if (!is_thread(index.kind) || band(i).begin != kNone) return std::nullopt;
  if (index.kind == Annotation::kThreadX && warp_product_of(stage)) return std::nullopt;
  const AxisId leaf = bound_to(stage, index.kind);
  if (leaf == kNone && decides_itself(i, index.kind))
    return index.extent == 1 ? std::nullopt : std::optional<Extent>(1);
  if (leaf != kNone) {
    const Extent own = points_of(stage, all_.stages[i], leaf);
    const bool all = own == index.extent || (own == 1 && placed_.scope[i] == Scope::kLocal);
    return all ? std::nullopt : std::optional<Extent>(own);
  }
  const bool of_warp = placed_.together[i] == Team::kWarp && index.kind != Annotation::kThreadX;
  if (placed_.together[i] != Team::kNone && !of_warp) return std::nullopt;
  for (int inner = i; placed_.parent[inner] != kNone; inner = placed_.parent[inner]) {
    const int host = placed_.parent[inner];
    const AxisId around = bound_to(nest_.stage(host), index.kind);
    const int position = around == kNone ? kNone : nest_.stage(host).position(around);
    if (decides_itself(host, index.kind) && position <= placed_.level[inner]) return std::nullopt;  // it has the guard
    if (decides_itself(host, index.kind)) break;
  }
  Extent most = 0;  // a reader's loop inside stands still: it reads what its own threads need
  for (int reader : placed_.readers[i]) {
    const std::optional<Extent> needs = limit(guard_of(reader, i, index), index);
    if (!needs) return std::nullopt;
    if (needs->value_or(0) > most.value_or(0)) most = *needs;
  }
  return most;
}

// Whether threads meet for the stage, or for one that is computed inside of it.
bool Launches::meets_in(int stage) const {
  if (placed_.together[stage] == Team::kBlock) return true;
  for (int inner = 0; inner < stage; ++inner)
    if (placed_.parent[inner] == stage && meets_in(inner)) return true;
  return false;
}

Band Launches::band(int i) const {
  const StageNest& stage = nest_.stage(i);
  if (placed_.launch[i] == kNone || placed_.parent[i] == kNone) return {};
  if (placed_.scope[i] != Scope::kShared || binds(stage) || warp_product_of(stage)) return {};
  const auto leaves = static_cast<int>(stage.leaves.size());
  std::vector<char> has_producers(leaves, 0);
  int begin = 0;
  for (int inner = 0; inner < nest_.size(); ++inner) {
    if (placed_.parent[inner] != i) continue;
    has_producers[placed_.level[inner]] = 1;
    if (meets_in(inner)) begin = std::max(begin, placed_.level[inner] + 1);
  }
  const auto axis = [&](int position) -> const Axis& { return stage.axes[stage.leaves[position]]; };
  const bool lanes = std::ranges::any_of(stage.leaves, [&](AxisId leaf) {
    return stage.axes[leaf].reduction && stage.axes[leaf].annotation == Annotation::kVectorized;
  });
  while (begin < leaves && axis(begin).reduction && !lanes) ++begin;
  int end = begin;
  for (bool open = true; open && end < leaves; ++end) {
    const Annotation annotation = axis(end).annotation;
    if (axis(end).reduction || (annotation != Annotation::kNone && annotation != Annotation::kVirtual)) break;
    open = !has_producers[end];
  }
  return {begin, end};
}

bool Launches::differs(const ir::Expr& e) const {
  if (ir::has_load(e)) return true;
  const auto used = ir::used_vars(e);
  return std::ranges::any_of(used, [&](uint64_t id) { return threads_.contains(id) || virtual_.contains(id); });
}

bool Launches::repeats(int stage, int level) const {
  for (; stage != kNone; level = placed_.level[stage], stage = placed_.parent[stage]) {
    const StageNest& nest = nest_.stage(stage);
    for (int position = 0; position <= level; ++position) {
      const AxisId leaf = nest.leaves[position];
      if (!!all_.stages[stage].loop[leaf] && !is_bound(nest.axes[leaf].annotation)) return true;
    }
  }
  return false;
}

ir::Stmt Launches::around(int root, const ir::Stmt& body) const {
  const auto* nothing = ir::as<ir::Seq>(body);
  if (nothing != nullptr && nothing->stmts.empty()) return body;
  const std::optional<ClusterOf>& cluster = clusters_[root];
  ir::Stmt launch = side_by_side(ir::substitute(body, index_of_), virtual_);
  for (auto index = indices_[root].rbegin(); index != indices_[root].rend(); ++index) {
    const bool parts = index->kind == Annotation::kThreadY && has_roles(root);
    const Extent all = parts ? Extent(index->extent.value() + 1) : index->extent;
    launch = ir::loop(index->var, all.expr(), launch, kind_of(index->kind, cluster && cluster->index == index->kind));
  }
  return launch;
}

ir::Stmt cooperative(const StageNest& stage, const StageBounds& bounds, const Band& band, const ir::Bounds& all,
                     const ir::Stmt& body) {
  Extent extent = 1;
  std::string name;
  std::vector<AxisId> loops;
  for (int position = band.begin; position < band.end; ++position) {
    const AxisId leaf = stage.leaves[position];
    if (!bounds.loop[leaf]) continue;
    extent = extent * bounds.extent[leaf];
    name += (name.empty() ? "" : "_") + bounds.loop[leaf].name();
    loops.push_back(leaf);
  }
  if (extent == 0) return ir::seq({});
  const ir::Var one(name.empty() ? "once" : name);
  ir::Substitution values;
  ir::Expr rest = one;
  for (size_t i = loops.size(); i-- > 0;) {
    const ir::Expr inner = bounds.extent[loops[i]].expr();
    values[bounds.loop[loops[i]].id()] = i == 0 ? rest : ir::floormod(rest, inner);
    rest = ir::floordiv(rest, inner);
  }
  ir::Bounds ranges = all;
  if (extent.known()) ranges[one.id()] = {0, extent.value() - 1};
  const ir::Stmt shared = ir::simplify(ir::substitute(body, values), ranges);
  return ir::loop(one, extent.expr(), shared, ir::ForKind::kCooperative);
}

}  // namespace tw::schedule
