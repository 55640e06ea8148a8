// In this order: caches, inlining, loops of each stage, annotations, placement from the readers backwards. The state of
// the schedule is looked up, its opinion on what is legal is not.
#include "tests/diff/sample_steps.h"

#include <algorithm>
#include <map>
#include <set>

#include "schedule/loop_nest.h"
#include "src/ir/walk.h"

namespace tw::diff {

using namespace tw::schedule;

namespace {

// A loop that encloses a reader: a stage and one of its loops, by its position.
struct Place {
  std::string stage;
  int position;
  bool operator==(const Place&) const = default;
};

class Stepper {
 public:
  Stepper(Random& random, Sample& sample) : random_(random), sample_(sample), schedule_(sample.outputs) {}

  void run() {
    caches();
    inlining();
    for (const std::string& name : computed()) {
      if (inlined_.contains(name)) continue;
      loops(name);
      annotate(name);
    }
    placement();
    sample_.steps = schedule_.steps();
  }

 private:
  const LoopNest& nest() const { return schedule_.nest(); }
  const StageNest& stage(const std::string& name) const { return nest().stage(nest().find_stage(name)); }

  std::vector<std::string> computed() const {
    std::vector<std::string> names;
    for (int i = 0; i < nest().size(); ++i)
      if (!nest().stage(i).is_placeholder()) names.push_back(nest().stage(i).name);
    return names;
  }

  bool propose(Step step, const std::string& feature) {
    ++sample_.proposed;
    std::string text = to_string(step);
    Status applied = schedule_.try_apply(std::move(step));
    if (applied.ok()) {
      sample_.features.insert(feature);
      return true;
    }
    ++sample_.refused;
    sample_.refusals.push_back(text + "\n" + applied.error().render());
    return false;
  }

  // ------------------------------------------------------------------------------------------------------ caches,
  // inlining

  std::vector<std::string> direct_readers(const std::string& name) const {
    std::vector<std::string> readers;
    for (int i : readers_of(nest(), nest().find_stage(name))) readers.push_back(nest().stage(i).name);
    return readers;
  }

  void caches() {
    for (const std::string& name : computed())
      if (random_.chance(15)) propose(CacheWrite{name, scope()}, "cache_write");
    std::vector<std::string> all;
    for (int i = 0; i < nest().size(); ++i) all.push_back(nest().stage(i).name);
    for (const std::string& name : all) {
      std::vector<std::string> readers = direct_readers(name);
      if (readers.empty() || !random_.chance(12)) continue;
      if (readers.size() > 1 && random_.chance(50)) readers.resize(1);
      propose(CacheRead{name, scope(), readers}, "cache_read");
    }
  }

  Scope scope() { return random_.chance(60) ? Scope::kLocal : Scope::kGlobal; }

  void inlining() {
    for (const std::string& name : computed())
      if (!stage(name).output && !stage(name).is_reduction() && random_.chance(15) &&
          propose(ComputeInline{name}, "compute_inline"))
        inlined_.insert(name);
  }

  // ------------------------------------------------------------------------------------------------------ loops

  std::vector<std::string> loop_names(const std::string& name) const {
    std::vector<std::string> names;
    for (AxisId leaf : stage(name).leaves) names.push_back(stage(name).axes[leaf].name);
    return names;
  }

  void loops(const std::string& name) {
    int changes = static_cast<int>(random_.below(5));
    for (int i = 0; i < changes && !stage(name).leaves.empty(); ++i) {
      int kind = static_cast<int>(random_.below(100));
      if (kind < 50) {
        split(name);
      } else if (kind < 62) {
        tile(name);
      } else if (kind < 78) {
        fuse(name);
      } else if (!shifted_.contains(name)) {
        reorder(name);
      }
    }
  }

  Factor factor(int64_t extent) {
    return random_.chance(30) ? Factor(std::max<int64_t>(extent / 2, 1))
                              : Factor(random_.one_of<int64_t>({1, 2, 3, 4, 4, 5, 6, 8, 8, 16, 19}));
  }

  Tail tail(const std::string& name, bool reduction) {
    // Revisited values are harmless while nothing is added to what is there: no reduction outside, so no reordering
    // later.
    bool in_order = !reordered_.contains(name);
    Tail tail = random_.one_of({Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel, Tail::kShiftInward});
    if (tail == Tail::kShiftInward && (reduction || !in_order)) return Tail::kGuard;
    if (tail == Tail::kShiftInward) shifted_.insert(name);
    return tail;
  }

  void split(const std::string& name) {
    AxisId leaf = random_.pick(stage(name).leaves);
    const Axis axis = stage(name).axes[leaf];
    Factor f = factor(axis.extent);
    Tail t = tail(name, axis.reduction);
    Split step{name, axis.name, {}, {}, t};
    (random_.chance(75) ? step.factor : step.nparts) = f;
    if (propose(step, "split") && axis.extent % f.value != 0) {
      sample_.features.insert("uneven");
      sample_.features.insert("tail " + to_string(t));
    }
  }

  void tile(const std::string& name) {
    std::vector<std::string> names = loop_names(name);
    // A tile reorders, so a reduction may come to stand outside of a loop that revisits values.
    if (names.size() < 2 || shifted_.contains(name)) return;
    size_t x = static_cast<size_t>(random_.below(static_cast<int64_t>(names.size()) - 1));
    const StageNest& nest = stage(name);
    Tail t = random_.one_of({Tail::kAuto, Tail::kGuard, Tail::kMask, Tail::kPeel});
    int64_t ex = nest.axes[nest.leaves[x]].extent, ey = nest.axes[nest.leaves[x + 1]].extent;
    Factor fx = factor(ex), fy = factor(ey);
    reordered_.insert(name);
    if (propose(Tile{name, names[x], names[x + 1], fx, fy, t}, "tile") && (ex % fx.value || ey % fy.value)) {
      sample_.features.insert("uneven");
      sample_.features.insert("tail " + to_string(t));
    }
  }

  void fuse(const std::string& name) {
    const StageNest& nest = stage(name);
    if (nest.leaves.size() < 2) return;
    size_t first = static_cast<size_t>(random_.below(static_cast<int64_t>(nest.leaves.size()) - 1));
    std::vector<std::string> names = {nest.axes[nest.leaves[first]].name};
    for (size_t next = first + 1; next < nest.leaves.size() && (next == first + 1 || random_.chance(30)); ++next) {
      if (nest.axes[nest.leaves[next]].reduction != nest.axes[nest.leaves[first]].reduction) break;
      names.push_back(nest.axes[nest.leaves[next]].name);
    }
    if (names.size() > 1) propose(Fuse{name, names}, "fuse");
  }

  void reorder(const std::string& name) {
    std::vector<std::string> names = loop_names(name);
    for (size_t i = names.size(); i > 1; --i) std::swap(names[i - 1], names[random_.below(static_cast<int64_t>(i))]);
    if (names.size() > 2 && random_.chance(40)) names.pop_back();
    reordered_.insert(name);
    propose(Reorder{name, names}, "reorder");
  }

  // ------------------------------------------------------------------------------------------------------ annotations

  void annotate(const std::string& name) {
    const std::vector<AxisId> leaves = stage(name).leaves;
    int64_t copies = 1;
    size_t serial_from = leaves.size();  // loops from here on stand inside a vectorized one
    for (size_t i = 0; i < leaves.size(); ++i) {
      const Axis axis = stage(name).axes[leaves[i]];
      bool inside_vector = i > serial_from;
      if (!axis.reduction && !inside_vector && !shifted_.contains(name) && i < 2 && random_.chance(25)) {
        propose(Parallel{name, axis.name}, "parallel");
      } else if (!axis.reduction && !inside_vector && axis.extent <= 1024 &&
                 random_.chance(i + 1 == leaves.size() ? 60 : 15)) {
        if (propose(Vectorize{name, axis.name}, "vectorize")) serial_from = i;
      } else if (axis.extent * copies <= 32 && random_.chance(25)) {
        copies *= std::max<int64_t>(axis.extent, 1);
        propose(Unroll{name, axis.name}, "unroll");
      } else if (random_.chance(5)) {
        bool explicitly = random_.chance(70);
        propose(Pragma{name, axis.name, explicitly ? "auto_unroll_max_step" : "unroll_explicit", random_.below(20)},
                "pragma");
      }
    }
    if (!stage(name).output && random_.chance(10)) propose(SetScope{name, scope()}, "set_scope");
  }

  // ------------------------------------------------------------------------------------------------------ placement

  // Stages that read the values of `name`, reads through inlined stages included.
  std::set<std::string> readers(const std::string& name) const {
    std::set<std::string> found;
    for (const std::string& reader : direct_readers(name)) {
      if (!inlined_.contains(reader)) {
        found.insert(reader);
        continue;
      }
      for (const std::string& through : readers(reader)) found.insert(through);
    }
    return found;
  }

  // All loops around the computation of a stage's elements.
  std::vector<Place> loops_around(const std::string& name) const {
    std::vector<Place> places;
    for (size_t i = 0; i < stage(name).leaves.size(); ++i) places.push_back({name, static_cast<int>(i)});
    for (auto at = attached_.find(name); at != attached_.end(); at = attached_.find(at->second.stage))
      for (int i = 0; i <= at->second.position; ++i) places.push_back({at->second.stage, i});
    return places;
  }

  void placement() {
    std::vector<std::string> names = computed();
    for (size_t i = names.size(); i-- > 0;) {  // readers are placed before what they read
      const std::string& name = names[i];
      bool cache = name.find(".local") != std::string::npos || name.find(".global") != std::string::npos;
      if (stage(name).output || inlined_.contains(name) || !random_.chance(cache ? 80 : 55)) continue;
      std::vector<Place> common;
      bool first = true;
      for (const std::string& reader : readers(name)) {
        std::vector<Place> around = loops_around(reader);
        if (first) common = around;
        std::erase_if(common,
                      [&](const Place& p) { return std::find(around.begin(), around.end(), p) == around.end(); });
        first = false;
      }
      if (common.empty()) continue;
      Place place = random_.pick(common);
      const StageNest& at = stage(place.stage);
      if (propose(ComputeAt{name, place.stage, at.axes[at.leaves[place.position]].name}, "compute_at"))
        attached_[name] = place;
      if (attached_.contains(name) && random_.chance(8) && propose(ComputeRoot{name}, "compute_root"))
        attached_.erase(name);
    }
  }

  Random& random_;
  Sample& sample_;
  Schedule schedule_;
  std::set<std::string> inlined_, shifted_, reordered_;
  std::map<std::string, Place> attached_;
};

}  // namespace

void random_steps(Random& random, Sample& sample) { Stepper(random, sample).run(); }

}  // namespace tw::diff
