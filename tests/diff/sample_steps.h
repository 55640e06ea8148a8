// Random Steps: the table of proposals, and what a proposal draws with.
//
// A proposal is one line of the table in sample_steps.cc: when it is made, how often, and a function that proposes
// Steps for a stage. Two ways to propose: what `must` is legal by rules written beside it, and a refusal is a fault of
// one of the two; what `may` is refused (by the Step itself or by the rules of the whole nest) is taken back and
// counted. Each Step counts itself by its name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "schedule/loop_nest.h"
#include "tests/diff/random.h"
#include "tests/diff/sampler.h"

namespace tw::diff {

using namespace tw::schedule;

// For each phase in this order, for each stage in the order of the nest (for kPlace: readers first).
enum class Phase {
  kGraph,     // Steps that make stages or change what a stage is: before its loops change
  kLoops,     // up to four per stage, by weight
  kAnnotate,  // when the loops are final
  kPlace,     // where a stage is computed
  kStorage,   // how its values lie, after it was placed
  kDevice,    // of a schedule for a device, in the end: what its loops are bound to, all stages together
  kShared,    // and what lies in memory that its threads share: how, and how far ahead of its use
};

class Stepper;
struct Proposal {
  const char* name;
  Phase phase;
  int chance;  // kLoops: the weight among them; else percent, per stage
  void (*draw)(Stepper&, const std::string& stage);
};
const std::vector<Proposal>& proposals();

class Stepper {
 public:
  Stepper(Random& random, Sample& sample);
  void run();

  Random& random() { return random_; }
  bool must(Step);
  bool may(Step);
  void fault(const std::string& what);  // of what only a rule here can see
  void count(const std::string& feature) { sample_.features.insert(feature); }

  const LoopNest& nest() const { return schedule_.nest(); }
  const StageNest& stage(const std::string& name) const { return nest().stage(nest().find_stage(name)); }
  std::vector<std::string> loop_names(const std::string& stage) const;
  std::vector<std::string> direct_readers(const std::string& stage) const;
  // Stages that read the values, reads through inlined stages included.
  std::set<std::string> readers(const std::string& stage) const;
  Factor factor(const Extent& extent);
  Factor size(const Extent& extent);  // the same, or one over scalars of the sample
  Scope scope() { return random_.chance(60) ? Scope::kLocal : Scope::kGlobal; }
  void count_tail(Tail, const Extent& extent, int64_t factor);

  // What the proposals made so far mean for later ones.
  std::set<std::string> inlined, shifted, reordered, plain;
  struct Place {  // a loop that encloses a reader: a stage and one of its loops, by its position
    std::string stage;
    int position;
    bool operator==(const Place&) const = default;
  };
  std::map<std::string, Place> attached;
  bool on_device = false;    // the schedule is to be one for a device
  std::vector<Step> launch;  // the Steps that make it one

 private:
  std::vector<std::string> names(Phase) const;
  bool has_free_rules() const;
  bool has_layout(const Step&) const;
  void draw_loops(const std::string& stage);
  void draw(Phase);
  bool shares_bytes() const;
  void make_serial();
  bool start_on_device();
  void draw_shared();

  Random& random_;
  Sample& sample_;
  Schedule schedule_;
};

// Fills steps, features and the counts of a sample that has its expression.
void random_steps(Random&, Sample&);

// The proposals, by file.
void cache_read(Stepper&, const std::string&), cache_write(Stepper&, const std::string&),
    relayout(Stepper&, const std::string&), hoist(Stepper&, const std::string&),
    compute_inline(Stepper&, const std::string&);                                         // steps_graph.cc
void rfactor(Stepper&, const std::string&);                                               // steps_rfactor.cc
void transform_layout(Stepper&, const std::string&);                                      // steps_layout.cc
void pad_terms(Stepper&, const std::string&);                                             // steps_terms.cc
void tensorize(Stepper&, const std::string&), leave_plain(Stepper&, const std::string&);  // steps_tensorize.cc
bool has_loops_of_intrinsic(const StageNest&);  // as it stands; few have them once loops have changed
bool has_loops_of_warp(const StageNest&), multiply_in_warps(Stepper&, const std::string&);     // steps_warp.cc
bool rounds_factors(const StageNest&);                                                         // steps_warp.cc
bool multiply_in_groups(Stepper&, const std::string&);                                         // steps_group.cc
bool keep_in_lanes(Stepper&, const std::string&), sum_in_lanes(Stepper&, const std::string&);  // steps_lanes.cc
void split(Stepper&, const std::string&), tile(Stepper&, const std::string&), fuse(Stepper&, const std::string&),
    reorder(Stepper&, const std::string&), annotate(Stepper&, const std::string&);  // steps_loops.cc
void compute_at(Stepper&, const std::string&), group(Stepper&, const std::string&),
    set_scope(Stepper&, const std::string&);                                                     // steps_place.cc
void storage_align(Stepper&, const std::string&), rolling_buffer(Stepper&, const std::string&),  // steps_storage.cc
    double_buffer(Stepper&, const std::string&), set_store_predicate(Stepper&, const std::string&),
    prefetch(Stepper&, const std::string&), nontemporal(Stepper&, const std::string&);
void bind(Stepper&, const std::string&);  // steps_bind.cc
void pipeline(Stepper&, const std::string&), swizzle(Stepper&, const std::string&), roles(Stepper&, const std::string&),
    cluster(Stepper&, const std::string&);  // steps_shared.cc

}  // namespace tw::diff
