// Counts of each stage, then the time of each launch.
#include "schedule/device_account.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <utility>

#include "schedule/bank_wavefronts.h"
#include "schedule/group_operands.h"
#include "schedule/memory_strides.h"
#include "schedule/nest_view.h"
#include "schedule/roles_of.h"
#include "schedule/sliding.h"
#include "schedule/swizzling.h"
#include "schedule/traffic.h"
#include "schedule/warp_accesses.h"
#include "src/ir/async_copies.h"
#include "src/ir/warp_products.h"

namespace tw::schedule {

namespace {

constexpr double kWarp = 32, kSector = 32, kBanks = 128, kVectorBytes = 16;
constexpr double kIssues = 4;  // instructions of warps that a processor starts in a cycle
constexpr double kRegisters = 65536, kMostRegisters = 255,
                 kOwnRegisters = 32;  // of a processor; of a thread: addresses, factors
constexpr double kLaunch = 3e-6;      // seconds until the first block runs and after the last one ended
constexpr double kHiding = 12;        // warps of a processor that hide each other's waiting, or copies ahead of a warp
constexpr double kSpilled = 4;        // what registers that lie in memory cost
constexpr double kOverlap = 0.2;      // share of the lesser terms that the largest does not hide
constexpr double kLockstep = 0.6;     // the same of one block whose warps do one after the other together
constexpr double kLatency = 700;      // cycles until memory answers
constexpr double kMeeting = 150;  // cycles of an iteration that finds a tile: threads meet, and read the first of it
constexpr double kTurn = 20;      // instructions of each warp for a tile: addresses, waiting, the loop itself

class Counter {
 public:
  Counter(const LoopNest& nest, const Placement& placed)
      : nest_(nest), placed_(placed), views_(view_stages(nest)), view_of_(nest.size(), nullptr) {
    for (const StageView& view : views_) view_of_[static_cast<size_t>(view.stage)] = &view;
  }

  std::vector<LaunchAccount> run() {
    std::vector<LaunchAccount> all;
    for (int i = 0; i < nest_.size(); ++i)
      if (placed_.launch[static_cast<size_t>(i)] == i) {
        launch_[i] = all.size();
        LaunchAccount& launch = all.emplace_back();
        launch.root = i;
        launch.registers = kOwnRegisters;
      }
    for (const StageView& view : views_)
      if (LaunchAccount* launch = launch_of(view, all))
        for (const std::vector<LoopView>* loops : {&view.around, &view.loops}) measure(*loops, lanes_of(view), *launch);
    for (LaunchAccount& launch : all) {
      launch.copying = stage_with_roles(nest_, placed_, launch.root) == kNone ? 0 : kThreadsOfRole;
      launch.threads += launch.copying;
    }
    for (const StageView& view : views_)
      if (LaunchAccount* launch = launch_of(view, all)) {
        launch->stages.push_back(counted(view, *launch));
        keep(view, *launch);
      }
    return all;
  }

 private:
  LaunchAccount* launch_of(const StageView& view, std::vector<LaunchAccount>& all) const {
    const auto found = launch_.find(placed_.launch[static_cast<size_t>(view.stage)]);
    return found == launch_.end() ? nullptr : &all[found->second];
  }
  bool together(const StageView& view) const {
    return placed_.together[static_cast<size_t>(view.stage)] == Team::kBlock;
  }

  // The extents of the launch's indices: the largest of its loops.
  static void measure(const std::vector<LoopView>& loops, double lanes, LaunchAccount& launch) {
    double threads = lanes, blocks = 1;
    for (const LoopView& loop : loops) {
      if (is_thread(loop.annotation)) threads *= static_cast<double>(loop.extent);
      if (is_block(loop.annotation)) blocks *= static_cast<double>(loop.extent);
    }
    launch.threads = std::max(launch.threads, threads);
    launch.blocks = std::max(launch.blocks, blocks);
  }

  // Threads that no loop of the stage stands for.
  double lanes_of(const StageView& view) const {
    const ir::WarpProduct* product = warp_product_of(nest_.stage(view.stage));
    return product ? product->lanes : 1;
  }

  StageAccount counted(const StageView& view, LaunchAccount& launch) {
    double times = 1;
    for (const LoopView& loop : view.around) {
      const bool for_all = loop.annotation == Annotation::kVirtual && together(view);
      if (!is_bound(loop.annotation) && !for_all) times *= static_cast<double>(loop.extent);
    }
    StageAccount stage{view.stage};
    if (const ir::WarpProduct* product = warp_product_of(nest_.stage(view.stage)))
      multiplies(*product, view, launch, times, stage);
    else if (together(view))
      copies(view, launch, times, stage);
    else
      computes(view, launch, times, stage);
    return stage;
  }

  // How far one iteration of the loop moves the access, in elements of a tensor of these strides. Of axes that were
  // fused it goes along the innermost, but for the ends of rows.
  static double stride_of(const AccessView& access, const LoopView& loop, const std::vector<double>& strides) {
    double stride = 0;
    for (size_t d = 0; d < access.shape.size() && !loop.roots.empty(); ++d) {
      const auto root = static_cast<size_t>(loop.roots.back());
      stride += strides[d] * static_cast<double>(access.coefficients[d][root] * loop.step);
    }
    return access.affine ? std::abs(stride) : kSector;
  }

  // Of the tensor in memory, or of what a block or a thread keeps of it.
  std::vector<double> strides_of(const AccessView& access, int source) const {
    std::vector<ir::Expr> shape;
    const StageView* kept = source == kNone ? nullptr : view_of_[static_cast<size_t>(source)];
    const bool part = kept != nullptr && placed_.parent[static_cast<size_t>(source)] != kNone &&
                      !nest_.stage(source).layout && kept->root_extents.size() >= access.shape.size();
    for (size_t d = 0; d < access.shape.size(); ++d) shape.emplace_back(part ? kept->root_extents[d] : access.shape[d]);
    std::vector<ir::Expr> aligned;
    if (part) aligned = aligned_strides(nest_.stage(source), shape);
    std::vector<double> strides(shape.size());
    double stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= static_cast<double>(ir::as_int(shape[d]).value_or(1))) {
      if (!aligned.empty()) stride = static_cast<double>(ir::as_int(aligned[d]).value_or(1));
      strides[d] = stride;
    }
    return strides;
  }

  int source_of(const StageView& view, const AccessView& access) const {
    return access.store ? view.stage : nest_.find_stage(access.buffer);
  }

  // What a block's threads do for each other: elements one after the other, by vectors where rows allow it; or the
  // device does it, by a box that one thread begins.
  void copies(const StageView& view, LaunchAccount& launch, double times, StageAccount& stage) {
    const std::vector<double> range = region(view);
    double elements = 1;
    for (double extent : range) elements *= extent;
    const double row = range.empty() ? 1 : range.back();
    double terms = 1;  // of a reduction
    for (const LoopView& loop : view.loops)
      if (loop.reduction) terms *= static_cast<double>(loop.extent);
    const double warps = launch.blocks * times * elements * terms / kWarp;
    const PipelineNote* note = pipeline_of(view.stage);
    const bool boxes =
        note != nullptr && note->stages > 1 &&
        (note->by == kByBoxes || (note->by == ir::Arrival::kLater && is_group_operand(nest_, placed_, view.stage) &&
                                  !is_rounded_operand(nest_, placed_, view.stage)));
    if (boxes) stage.instructions += 2 * launch.blocks * times;
    double widest = kVectorBytes;  // bytes that come at once
    for (const AccessView& access : view.accesses)
      if (!access.store && scope_of(source_of(view, access)) == ir::Scope::kGlobal)
        widest = std::min(widest, bytes_at_once(view, access));
    if (times > 1) takes_turns(view, times, elements, boxes, widest, launch, stage);
    for (const AccessView& access : view.accesses) {
      const double stride = stride_along_row(view, access);
      const double vector = stride == 1 ? std::clamp(widest / access.element_bytes, 1.0, row) : 1;
      const double bytes = stride <= 1 ? std::ceil(row * access.element_bytes / kSector) * kSector / row
                                       : std::min(kSector, stride * access.element_bytes);
      if (!boxes) stage.instructions += 2 * warps / vector;
      if (access.store) {
        const double wavefronts = std::max(1.0, kWarp * access.element_bytes / kBanks) * warps;
        stage.requests += boxes ? launch.blocks * times : warps / vector;
        stage.wavefronts += wavefronts;
        stage.least += wavefronts;
      } else if (scope_of(source_of(view, access)) == ir::Scope::kGlobal) {
        to_memory(access, warps * kWarp * bytes / kSector / (boxes ? readers_of(view, access) : 1), stage);
      }
    }
    stage.operations += warps * kWarp * view.operations;
    stage.arithmetic += warps * view.operations;
    stage.instructions += warps * view.operations;
  }

  double stride_along_row(const StageView& view, const AccessView& access) const {
    const auto last = static_cast<int>(nest_.stage(view.stage).data_rank) - 1;
    return last < 0 ? 0 : stride_of(access, LoopView{1, {last}, 1}, strides_of(access, source_of(view, access)));
  }

  // Neighbours, where rows of the tensor begin at multiples of as many bytes.
  double bytes_at_once(const StageView& view, const AccessView& access) const {
    if (stride_along_row(view, access) != 1) return access.element_bytes;
    const int64_t row = access.shape.size() > 1 ? access.shape.back() * access.element_bytes : 0;
    return static_cast<double>(std::gcd(row, static_cast<int64_t>(kVectorBytes)));
  }

  // Each of so many iterations finds a tile of the stage. What is copied as it lies, 4 bytes or more at once, comes by
  // itself while others are used; the rest waits in registers, or for nobody.
  void takes_turns(const StageView& view, double times, double elements, bool boxes, double widest,
                   LaunchAccount& launch, StageAccount& stage) {
    constexpr double kRegister = 4;  // bytes
    const PipelineNote* note = pipeline_of(view.stage);
    const double slots = note == nullptr ? slots_of(view.stage) : static_cast<double>(note->stages);
    const bool later = boxes || (note != nullptr && view.operations == 0 && widest >= kRegister &&
                                 !is_rounded_operand(nest_, placed_, view.stage));
    launch.by_registers = launch.by_registers || !later;
    if (!later && slots > 1)
      launch.registers +=
          std::ceil(elements * view.element_bytes / widest / launch.threads) * std::max(1.0, widest / kRegister);
    if (!boxes) stage.instructions += kTurn * launch.blocks * times * std::max(1.0, launch.threads / kWarp);
    launch.turns = std::max(launch.turns, times);
    launch.ahead = std::max(launch.ahead, slots - 1);
  }

  // Blocks of a cluster that have of it what one of them reads.
  double readers_of(const StageView& view, const AccessView& access) const {
    const int root = placed_.launch[static_cast<size_t>(view.stage)];
    for (int i = 0; i < nest_.size(); ++i) {
      const StageNest& stage = nest_.stage(i);
      if (placed_.launch[static_cast<size_t>(i)] != root || stage.cluster.axis == kNone) continue;
      const Annotation index = stage.axes[stage.cluster.axis].annotation;
      for (const LoopView& loop : view.around)
        if (loop.annotation == index && !touches(access, loop))
          return is_parted(view, loop.extent) ? static_cast<double>(loop.extent) : 1;
    }
    return 1;
  }

  // Whether each of so many blocks can bring a part of the box: of its first lines (cluster_of.cc).
  bool is_parted(const StageView& view, int64_t blocks) const {
    const auto data = static_cast<ptrdiff_t>(nest_.stage(view.stage).data_rank);
    const std::vector<int64_t> box(view.root_extents.begin(), view.root_extents.begin() + data);
    const auto first = std::ranges::find_if(box, [](int64_t extent) { return extent > 1; });
    if (box.end() - first < 2 || *first % blocks != 0) return false;
    const Swizzling swizzling = swizzling_of(nest_, placed_, view.stage, {box.begin(), box.end()});
    int64_t bytes = view.element_bytes * *first / blocks;
    for (auto within = first + 1; within != box.end(); ++within) bytes *= *within;
    return bytes / swizzling.panels % ir::box_alignment(swizzling.bytes()) == 0;
  }

  // What each thread does for itself.
  void computes(const StageView& view, const LaunchAccount& launch, double times, StageAccount& stage) {
    double trips = times;
    for (const LoopView& loop : view.loops)
      if (!is_bound(loop.annotation)) trips *= static_cast<double>(loop.extent);
    const double warps = launch.blocks * std::max(1.0, launch.threads / kWarp);
    stage.operations += warps * trips * kWarp * view.operations;
    stage.arithmetic += warps * trips * std::max(0.0, view.operations - view.fused);
    stage.instructions += warps * trips * std::max(1.0, view.operations - view.fused);
    for (const AccessView& access : view.accesses)
      accesses(view, access, warps * trips / (access.store ? terms_in_registers(view) : 1), stage);
  }

  // How many terms a sum adds before it is stored: all, where a thread's sums fit into registers meanwhile.
  static double terms_in_registers(const StageView& view) {
    double terms = 1, sums = 1;
    for (const LoopView& loop : view.loops) {
      if (loop.reduction)
        terms *= static_cast<double>(loop.extent);
      else if (terms > 1 && !is_bound(loop.annotation))
        sums *= static_cast<double>(loop.extent);
    }
    return sums <= kMostRegisters ? terms : 1;
  }

  // Products of a warp. Each lane has its sums in registers from the first term to the last, and reads its part of an
  // operand once for all sums that need it.
  void multiplies(const ir::WarpProduct& product, const StageView& view, LaunchAccount& launch, double times,
                  StageAccount& stage) {
    const WarpLoops tile = warp_loops(view);
    const double groups = launch.blocks * std::max(1.0, launch.threads / product.lanes), warps = product.lanes / kWarp;
    const double all = groups * times * tile.outside * tile.sums * tile.terms;
    stage.products += all * product.m * product.n * product.k * product.operand.bits / 16;
    stage.operations += all * product.m * product.n * product.k * view.operations;
    stage.instructions += all * warps;
    launch.lockstep = product.lanes == ir::kLanesOfWarp;
    launch.registers += tile.sums * ir::elements_of(product, ir::Fragment::kSum);
    for (const AccessView& access : view.accesses) {
      const int source = source_of(view, access);
      if (scope_of(source) == ir::Scope::kLocal) continue;
      const std::vector<double> strides = strides_of(access, source);
      const double m = stride_of(access, *tile.m, strides), n = stride_of(access, *tile.n, strides),
                   k = stride_of(access, *tile.k, strides);
      const ir::Fragment which = access.store ? ir::Fragment::kSum : n > 0 ? ir::Fragment::kRight : ir::Fragment::kLeft;
      const double row = which == ir::Fragment::kRight ? k : m, column = which == ir::Fragment::kLeft ? k : n;
      const FragmentAccesses parts = fragment_accesses(product, which, (access.store ? n : k) == 1);
      double often = access.store ? all * warps / tile.terms : all;
      if (!access.store && product.lanes > ir::kLanesOfWarp) {  // tensor cores read it themselves, whatever repeats it
        const double bytes = (which == ir::Fragment::kLeft ? product.m : product.n) * product.k * access.element_bytes;
        stage.requests += all;
        stage.least += all * bytes / kBanks;
        stage.wavefronts += all * bytes / kBanks;
        continue;
      }
      for (const LoopView* loop : tile.repeated)
        if (!access.store && stride_of(access, *loop, strides) == 0) often /= static_cast<double>(loop->extent);
      const int bytes = access.element_bytes;
      const bool shared = scope_of(source) == ir::Scope::kShared;
      const bool transposed = k != 1;
      const double beside = which == ir::Fragment::kLeft ? m : n;
      const bool matrices =  // ldmatrix
          shared && !access.store && bytes <= 4 && (!transposed || (bytes == 2 && beside == 1));
      if (!matrices) often *= parts.count;
      std::vector<int64_t> at = matrices ? matrix_addresses(product, which, row * bytes, column * bytes, transposed)
                                         : lane_addresses(product, which, row * bytes, column * bytes);
      if (const double next = which == ir::Fragment::kRight && matrices ? next_fragment(tile, access, strides) : 0) {
        often /= 2;  // one load brings two
        for (size_t lane = 0, lanes = at.size(); lane < lanes; ++lane)
          at.push_back(at[lane] + static_cast<int64_t>(next * bytes));
      }
      stage.instructions += often;
      if (!shared) {
        to_memory(access, often * static_cast<double>(pieces_of(at, static_cast<int64_t>(kSector))), stage);
        continue;
      }
      exchange(source, at);
      const int64_t width = matrices ? ir::kMatrixRowBytes : int64_t{parts.elements} * bytes;
      const double least = std::max(1.0, static_cast<double>(at.size()) * static_cast<double>(width) / kBanks);
      stage.requests += often;
      stage.least += often * least;
      stage.wavefronts += often * std::max(least, static_cast<double>(bank_wavefronts(at, width)));
    }
  }

  struct WarpLoops;
  // How far apart the fragments of two iterations of their innermost loop are, where these come in pairs; else 0.
  static double next_fragment(const WarpLoops& tile, const AccessView& access, const std::vector<double>& strides) {
    for (auto loop = tile.repeated.rbegin(); loop != tile.repeated.rend(); ++loop)
      if (const double stride = stride_of(access, **loop, strides); stride != 0)
        return (*loop)->extent % 2 == 0 ? stride : 0;
    return 0;
  }

  struct WarpLoops {
    const LoopView *m = nullptr, *n = nullptr, *k = nullptr;
    double outside = 1, sums = 1,
           terms = 1;  // products: around the reduction, of different sums in it, one after another
    std::vector<const LoopView*> repeated;  // the loops over these sums
  };
  static WarpLoops warp_loops(const StageView& view) {
    WarpLoops out;
    for (const LoopView& loop : view.loops) {
      if (loop.reduction) out.k = &loop;
      if (!loop.reduction) out.m = std::exchange(out.n, &loop);
    }
    bool reduces = false;
    for (const LoopView& loop : view.loops) {
      reduces = reduces || loop.reduction;
      if (is_bound(loop.annotation) || &loop == out.m || &loop == out.n || &loop == out.k) continue;
      (loop.reduction ? out.terms : reduces ? out.sums : out.outside) *= static_cast<double>(loop.extent);
      if (reduces && !loop.reduction) out.repeated.push_back(&loop);
    }
    return out;
  }

  // What lanes keep for their warp lies in registers too.
  ir::Scope scope_of(int source) const {
    if (source == kNone) return ir::Scope::kGlobal;
    const ir::Scope scope = placed_.scope[static_cast<size_t>(source)];
    return scope == ir::Scope::kWarp ? ir::Scope::kLocal : scope;
  }

  // An access that some loops that are written out do not move happens once for all of these; one that a vector moves
  // by one element, once for each 16 bytes.
  void accesses(const StageView& view, const AccessView& access, double times, StageAccount& stage) {
    const int source = source_of(view, access);
    const ir::Scope scope = scope_of(source);
    if (scope == ir::Scope::kLocal) return;
    const std::vector<double> strides = strides_of(access, source);
    double vector = 1;
    for (const std::vector<LoopView>* loops : {&view.around, &view.loops})
      for (const LoopView& loop : *loops) {
        if (!is_written_out(loop, loops == &view.loops)) continue;
        const double stride = stride_of(access, loop, strides), extent = static_cast<double>(loop.extent);
        if (stride == 0) times /= extent;
        if (stride == 1 && loop.annotation == Annotation::kVectorized)
          vector = std::min(extent, std::max(1.0, kVectorBytes / access.element_bytes));
      }
    if (scope == ir::Scope::kShared && !begins_vectors(view, access, source, strides, vector)) vector = 1;
    times /= vector;
    stage.instructions += times;
    const double width = vector * access.element_bytes;
    if (scope == ir::Scope::kShared) {
      const std::vector<int64_t> at = first_warp(view, access, strides);
      const auto different = static_cast<double>(std::set<int64_t>(at.begin(), at.end()).size());
      const double least = std::max(1.0, different * width / kBanks);
      stage.requests += times;
      stage.least += times * least;
      stage.wavefronts += times * std::max(least, wavefronts(access, source, at, width));
      return;
    }
    to_memory(access, times * sectors(view, access, strides, width), stage);
  }

  // Whether all that moves the access within what a block keeps moves it by whole vectors.
  bool begins_vectors(const StageView& view, const AccessView& access, int source, const std::vector<double>& strides,
                      double vector) const {
    const bool here = source != kNone && placed_.parent[static_cast<size_t>(source)] == view.stage;
    const size_t first = here ? static_cast<size_t>(placed_.level[static_cast<size_t>(source)]) + 1 : 0;
    const auto whole = [&](const LoopView& loop) {
      return loop.annotation == Annotation::kVectorized || loop.extent == 1 ||
             std::fmod(stride_of(access, loop, strides), vector) == 0;
    };
    const auto runs = [](const LoopView& loop) {
      return is_thread(loop.annotation) || loop.annotation == Annotation::kVirtual;
    };
    for (const LoopView& loop : view.around)
      if (runs(loop) && !whole(loop)) return false;
    for (size_t i = 0; i < view.loops.size(); ++i)
      if ((i >= first || runs(view.loops[i])) && !whole(view.loops[i])) return false;
    return true;
  }

  static bool is_written_out(const LoopView& loop, bool own) {
    if (loop.annotation == Annotation::kVirtual) return true;
    return own && (loop.annotation == Annotation::kVectorized || loop.annotation == Annotation::kUnrolled);
  }

  // The loops over the threads of a warp, the fastest first.
  static std::vector<std::pair<LoopView, double>> warp_of(const StageView& view) {
    std::vector<std::pair<LoopView, double>> loops;
    double left = kWarp;
    for (Annotation index : {Annotation::kThreadX, Annotation::kThreadY, Annotation::kThreadZ})
      for (const std::vector<LoopView>* all : {&view.around, &view.loops})
        for (const LoopView& loop : *all) {
          if (loop.annotation != index || left <= 1) continue;
          loops.emplace_back(loop, std::min(left, static_cast<double>(loop.extent)));
          left /= static_cast<double>(loop.extent);
        }
    return loops;
  }

  // Where the accesses of the first warp's threads begin, in bytes: threads are numbered along x, then y, then z.
  static std::vector<int64_t> first_warp(const StageView& view, const AccessView& access,
                                         const std::vector<double>& strides) {
    std::vector<std::pair<int64_t, int64_t>> loops;  // extents, bytes of a step
    int64_t threads = 1;
    for (const auto& [loop, reached] : warp_of(view)) {
      loops.emplace_back(loop.extent, static_cast<int64_t>(stride_of(access, loop, strides) * access.element_bytes));
      threads *= loop.extent;
    }
    std::vector<int64_t> at;
    for (int64_t thread = 0; thread < std::min(threads, static_cast<int64_t>(kWarp)); ++thread) {
      int64_t left = thread, byte = 0;
      for (const auto& [extent, stride] : loops) byte += std::exchange(left, left / extent) % extent * stride;
      at.push_back(byte);
    }
    return at;
  }

  double wavefronts(const AccessView& access, int source, std::vector<int64_t> at, double width) const {
    if (!access.affine) return 1;
    exchange(source, at);
    return static_cast<double>(bank_wavefronts(at, static_cast<int64_t>(width)));
  }

  // Bytes of what is kept of a stage, where swizzle puts them.
  void exchange(int source, std::vector<int64_t>& bytes) const {
    const StageView* kept = view_of_[static_cast<size_t>(source)];
    if (kept == nullptr || nest_.stage(source).swizzled == 0) return;
    const std::vector<Extent> region(kept->root_extents.begin(), kept->root_extents.end());
    const Swizzling swizzling = swizzling_of(nest_, placed_, source, region);
    for (int64_t& byte : bytes) byte = swizzled_byte(swizzling, byte);
  }

  // The pipeline of the loop that the stage, in shared memory, is computed in; null: there is none.
  const PipelineNote* pipeline_of(int stage) const {
    const int parent = placed_.parent[static_cast<size_t>(stage)];
    if (parent == kNone || placed_.scope[static_cast<size_t>(stage)] != ir::Scope::kShared) return nullptr;
    const StageNest& host = nest_.stage(parent);
    const AxisId loop = host.leaves[static_cast<size_t>(placed_.level[static_cast<size_t>(stage)])];
    const auto note = std::ranges::find(host.pipelines, loop, &PipelineNote::axis);
    return note == host.pipelines.end() ? nullptr : &*note;
  }

  // Of the ring that the stage is kept in.
  double slots_of(int stage) const {
    if (const PipelineNote* note = pipeline_of(stage)) return static_cast<double>(note->stages);
    const bool shared = placed_.parent[static_cast<size_t>(stage)] != kNone &&
                        placed_.scope[static_cast<size_t>(stage)] == ir::Scope::kShared;
    return shared && nest_.stage(stage).double_buffered != kNone ? 2 : 1;
  }

  static double sectors(const StageView& view, const AccessView& access, const std::vector<double>& strides,
                        double width) {
    double count = 1, side_by_side = width;
    for (const auto& [loop, threads] : warp_of(view)) {
      const double stride = stride_of(access, loop, strides) * access.element_bytes;
      if (stride == 0) continue;
      if (stride <= side_by_side)
        side_by_side += (threads - 1) * stride;
      else
        count *= stride >= kSector ? threads : std::max(1.0, threads * stride / kSector);
    }
    return count * std::ceil(side_by_side / kSector);
  }

  // Memory gives each byte of a tensor once, to whoever is first.
  void to_memory(const AccessView& access, double sectors, StageAccount& stage) {
    stage.sectors += sectors;
    double size = access.element_bytes;
    for (int64_t extent : access.shape) size *= static_cast<double>(extent);
    double& bytes = bytes_[{placed_.launch[static_cast<size_t>(stage.stage)], access.buffer}];
    const double all = std::min(size, bytes + sectors * kSector);
    stage.bytes += all - bytes;
    bytes = all;
  }

  // Memory that the stage needs where it is computed.
  void keep(const StageView& view, LaunchAccount& launch) const {
    if (view.stage == launch.root) return;
    double bytes = view.element_bytes;
    for (double extent : region(view)) bytes *= extent;
    if (placed_.scope[static_cast<size_t>(view.stage)] == ir::Scope::kWarp) bytes /= ir::kLanesOfWarp;
    const ir::Scope scope = scope_of(view.stage);
    const double slots = slots_of(view.stage);
    launch.slots = std::max(launch.slots, slots);
    if (scope == ir::Scope::kShared) launch.shared += slots * bytes;
    if (scope != ir::Scope::kLocal) return;
    for (const LoopView& loop : view.around)
      if (loop.annotation == Annotation::kVirtual && !loop.roots.empty()) bytes *= static_cast<double>(loop.extent);
    launch.registers += std::ceil(bytes / 4);
  }

  // Of the data axes, what is computed where the stage stands.
  std::vector<double> region(const StageView& view) const {
    const auto data = static_cast<ptrdiff_t>(nest_.stage(view.stage).data_rank);
    return {view.root_extents.begin(), view.root_extents.begin() + data};
  }

  const LoopNest& nest_;
  const Placement& placed_;
  const std::vector<StageView> views_;
  std::vector<const StageView*> view_of_;
  std::map<int, size_t> launch_;                      // of each root: which of the accounts
  std::map<std::pair<int, uint64_t>, double> bytes_;  // of each launch's tensors: those that memory gave
};

DeviceTerm longest(const DeviceSeconds& seconds) {
  return static_cast<DeviceTerm>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

void hold(LaunchAccount& launch, const DeviceRates& device) {
  const double warps = std::ceil(launch.threads / kWarp);
  const double registers = std::min(launch.registers, kMostRegisters) * (warps * kWarp - launch.copying) +
                           std::min(launch.registers, kOwnRegisters) * launch.copying;
  launch.spills = launch.registers > kMostRegisters;
  launch.resident = std::min(std::floor(device.threads / (warps * kWarp)), std::floor(kRegisters / registers));
  if (launch.shared > 0)
    launch.resident = std::min(launch.resident, std::floor(static_cast<double>(device.shared_bytes) / launch.shared));
  if (launch.resident < 1) return;
  const double turns = std::ceil(launch.blocks / device.processors);
  const double held = std::min(launch.resident, turns) * (warps - launch.copying / kWarp);
  launch.occupancy = launch.resident * warps * kWarp / device.threads;
  launch.waves = launch.blocks / (launch.resident * device.processors);
  launch.used = launch.blocks / (turns * device.processors);
  const double slots = launch.by_registers ? std::min(2.0, launch.slots) : launch.slots;
  launch.hidden = std::min(1.0, held * slots / kHiding);
}

// Blocks that a processor holds at a time go through their turns together, others after them. The wait for memory is
// divided among the turns that are ahead.
double waiting_seconds(const LaunchAccount& launch, const DeviceRates& device) {
  if (launch.turns < 1) return 0;
  const double ahead = launch.by_registers ? 1 : launch.ahead;
  const double turn = kLatency / ahead + (launch.lockstep || launch.by_registers ? kMeeting : kMeeting / 2);
  const double held = std::ceil(launch.blocks / (launch.resident * device.processors));
  return (kLatency + held * launch.turns * turn) / device.hertz;
}

// Of the terms but the largest: what it does not hide. Of blocks in lockstep others hide it.
double exposed_share(const LaunchAccount& launch, const DeviceRates& device) {
  if (!launch.lockstep || launch.turns < 1) return kOverlap / launch.slots;
  const double held = std::min(launch.resident, std::ceil(launch.blocks / device.processors));
  return std::max(kOverlap / launch.slots, kLockstep / (held * held));
}

void time(LaunchAccount& launch, const DeviceRates& device) {
  hold(launch, device);
  if (launch.resident < 1) {
    launch.total = std::numeric_limits<double>::infinity();
    return;
  }
  const double spilled = launch.spills ? kSpilled : 1;
  const double cycles = device.processors * launch.used * launch.hidden * device.hertz;
  for (StageAccount& stage : launch.stages) {
    stage.seconds = {stage.products / device.tensor_products / cycles,
                     stage.arithmetic * spilled * kWarp / device.lanes / cycles,
                     stage.instructions * spilled / kIssues / cycles,
                     stage.wavefronts / cycles,
                     stage.sectors * kSector / (device.l2_bytes * launch.used * launch.hidden),
                     stage.bytes / (device.memory * std::min(1.0, 2 * launch.used * launch.hidden))};
    stage.bound = longest(stage.seconds);
    for (size_t term = 0; term < launch.seconds.size(); ++term) launch.seconds[term] += stage.seconds[term];
  }
  launch.bound = longest(launch.seconds);
  double sum = 0;
  for (double seconds : launch.seconds) sum += seconds;
  const double most = launch.seconds[launch.bound];
  // Arithmetic is instructions too: what they have in common is hidden by nothing and hides nothing.
  sum -= std::min(launch.seconds[kArithmetic], launch.seconds[kIssue]);
  launch.waiting = waiting_seconds(launch, device);
  const double working = most + exposed_share(launch, device) * std::max(0.0, sum - most);
  launch.total = kLaunch + std::max(working, launch.waiting) +
                 (launch.slots < 2 ? 1 : kOverlap) * std::min(working, launch.waiting);
}

}  // namespace

const char* to_string(DeviceTerm term) {
  constexpr const char* kNames[] = {"tensor cores", "FMA", "issue", "shared memory", "L2", "HBM"};
  return kNames[term];
}

std::vector<LaunchAccount> device_account(const LoopNest& nest, const Placement& placed, const DeviceRates& device) {
  std::vector<LaunchAccount> all = Counter(nest, placed).run();
  for (LaunchAccount& launch : all) time(launch, device);
  return all;
}

std::vector<LoopAccount> loop_accounts(const LoopNest& nest, const Placement& placed, const LaunchAccount& launch,
                                       int stage) {
  std::vector<LoopAccount> loops(launch.resident < 1 ? 0 : nest.stage(stage).leaves.size());
  for (const StageAccount& inner : launch.stages) {
    int within = inner.stage, level = static_cast<int>(loops.size()) - 1;
    for (; within != stage && within != kNone; within = placed.parent[static_cast<size_t>(within)])
      level = placed.level[static_cast<size_t>(within)];
    for (int l = 0; within == stage && l <= level && !loops.empty(); ++l) {
      LoopAccount& loop = loops[static_cast<size_t>(l)];
      loop.wavefronts += inner.wavefronts;
      for (size_t term = 0; term < loop.seconds.size(); ++term) loop.seconds[term] += inner.seconds[term];
    }
  }
  for (LoopAccount& loop : loops) loop.bound = longest(loop.seconds);
  return loops;
}

}  // namespace tw::schedule
