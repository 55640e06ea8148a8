// Counts of what each stage of a launch takes on a device: operations, instructions, passes through shared memory,
// sectors, bytes. Without time, which device_account.cc makes of them.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedule/device_account.h"
#include "schedule/nest_view.h"

namespace tw::ir {
struct WarpProduct;
}

namespace tw::schedule {

class DeviceCounter {
 public:
  static constexpr double kWarp = 32, kSector = 32, kBanks = 128, kVectorBytes = 16;
  static constexpr double kMostRegisters = 255, kOwnRegisters = 32;  // of a thread; of these, for addresses and factors

  DeviceCounter(const LoopNest& nest, const Placement& placed)
      : nest_(nest), placed_(placed), views_(view_stages(nest)), view_of_(nest.size(), nullptr) {
    for (const StageView& view : views_) view_of_[static_cast<size_t>(view.stage)] = &view;
  }

  // Of all launches, in the order of the stages at root: what they hold, and the counts of their stages.
  std::vector<LaunchAccount> run();

 private:
  // device_counts.cc
  LaunchAccount* launch_of(const StageView& view, std::vector<LaunchAccount>& all) const;
  bool together(const StageView& view) const;
  bool stores_registers(const StageView& view) const;
  bool follows_sums(const StageView& view) const;
  static void measure(const std::vector<LoopView>& loops, double lanes, LaunchAccount& launch);
  double lanes_of(const StageView& view) const;
  StageAccount counted(const StageView& view, LaunchAccount& launch);
  int source_of(const StageView& view, const AccessView& access) const;
  ir::Scope scope_of(int source) const;
  const PipelineNote* pipeline_of(int stage) const;
  double slots_of(int stage) const;
  void to_memory(const AccessView& access, double sectors, StageAccount& stage);
  void keep(const StageView& view, LaunchAccount& launch) const;
  double padding(const StageView& view) const;
  std::vector<double> region(const StageView& view) const;

  // device_accesses.cc
  static double bytes_of(const AccessView& access) { return access.packed ? 0.5 : access.element_bytes; }
  static double moved(const AccessView& access, const LoopView& loop, const std::vector<double>& strides,
                      int64_t iterations);
  static double stride_of(const AccessView& access, const LoopView& loop, const std::vector<double>& strides);
  std::vector<double> strides_of(const AccessView& access, int source) const;
  void computes(const StageView& view, const LaunchAccount& launch, double times, StageAccount& stage);
  static double terms_in_registers(const StageView& view);
  void accesses(const StageView& view, const AccessView& access, double times, StageAccount& stage);
  bool begins_vectors(const StageView& view, const AccessView& access, int source, const std::vector<double>& strides,
                      double vector) const;
  static bool is_written_out(const LoopView& loop, bool own);
  static std::vector<std::pair<LoopView, double>> warp_of(const StageView& view);
  static std::vector<int64_t> first_warp(const StageView& view, const AccessView& access,
                                         const std::vector<double>& strides);
  double wavefronts(const AccessView& access, int source, std::vector<int64_t> at, double width) const;
  void exchange(int source, std::vector<int64_t>& bytes) const;
  struct Runs {
    double count = 1, bytes = 0;  // of each
  };
  static Runs runs_of_warp(const StageView& view, const AccessView& access, const std::vector<double>& strides,
                           double width);

  // device_copies.cc
  void copies(const StageView& view, LaunchAccount& launch, double times, StageAccount& stage);
  int innermost(const StageView& view) const;
  double stride_along_row(const StageView& view, const AccessView& access) const;
  double bytes_at_once(const StageView& view, const AccessView& access) const;
  void takes_turns(const StageView& view, double times, double elements, bool boxes, double widest,
                   LaunchAccount& launch, StageAccount& stage);
  double readers_of(const StageView& view, const AccessView& access) const;
  bool is_parted(const StageView& view, int64_t blocks) const;

  // device_products.cc
  struct WarpLoops {
    const LoopView *m = nullptr, *n = nullptr, *k = nullptr;
    double outside = 1, sums = 1,
           terms = 1;  // products: around the reduction, of different sums in it, one after another
    std::vector<const LoopView*> repeated;  // the loops over these sums
  };
  void multiplies(const ir::WarpProduct& product, const StageView& view, LaunchAccount& launch, double times,
                  StageAccount& stage);
  static double next_fragment(const WarpLoops& tile, const AccessView& access, const std::vector<double>& strides);
  static WarpLoops warp_loops(const StageView& view);

  const LoopNest& nest_;
  const Placement& placed_;
  const std::vector<StageView> views_;
  std::vector<const StageView*> view_of_;
  std::map<int, size_t> launch_;                      // of each root: which of the accounts
  std::map<std::pair<int, uint64_t>, double> bytes_;  // of each launch's tensors: those that memory gave
};

}  // namespace tw::schedule
