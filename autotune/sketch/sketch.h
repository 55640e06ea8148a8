// Automatic spaces: a schedule over knobs made from nothing but the tensor expression.
//
//   tensors -> Graph (what each stage is, who reads it) -> Groups (stages that share one loop nest) -> Steps and knobs
//
// The result is an ordinary Template, so a Space, a log, resuming and replaying are those of templates. Structural
// choices are knobs whose value is looked at; sizes of tiles are references, which a trace fills in. Each knob is named
// by the stage that it is about ("C.tile"), and its first value is the mildest one.
//
// A rule claims a group by its last stage and schedules it. The table of rules stands in sketch.cc, the most special
// rule first; the last one takes anything, so every expression has a space. Devices have a table of their own
// (device.h).
#pragma once

#include <string>
#include <vector>

#include "autotune/sketch/graph.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

// Outputs are the tensors of `args` that are computed. Throws TuneError where there are none, or where an extent is not
// known. Steps of `any_size` are for tensors whose extents vary.
Template automatic(std::vector<te::Tensor> args, const Target&, bool any_size = false);

// The target, and the same with ever fewer instructions that multiply groups of terms: copies that round these up have
// a place in fewer schedules of tensors whose extents vary.
std::vector<Target> with_fewer_products(const Target&);

namespace sketch {

// What a rule works on: Steps go to the schedule, choices to the config.
struct Sketch {
  Config& cfg;
  schedule::Schedule& s;
  const Graph& graph;
  const Target& target;
  bool any_size = false;  // Steps are for other extents too

  template <class K>
  void step(K k) {
    s.apply(schedule::Step(std::move(k)));
  }
  // Loops "i.o" around "i.i": of so many iterations each, and so many times.
  struct Halves {
    std::string outer, inner;
  };
  Halves split(const std::string& stage, const std::string& loop, schedule::Factor by, ir::Tail = ir::Tail::kAuto);
  Halves split_in(const std::string& stage, const std::string& loop, schedule::Factor parts);
  // One loop of several neighbours, given from the outside in; of one axis itself.
  std::string fuse(const std::string& stage, const std::vector<std::string>& axes);
  void reorder(const std::string& stage, const std::vector<std::string>& axes);
  // Not of a stage whose elements share bytes: where a thread's part of them begins depends on knobs.
  void parallel(const std::string& stage, const std::string& loop);
  void bind(const std::string& stage, const std::string& loop, const char* index);
  // The names of the stages that these make.
  std::string cache_write(const std::string& stage, ir::Scope = ir::Scope::kLocal);
  std::string cache_read(const std::string& stage, const std::vector<std::string>& readers,
                         ir::Scope = ir::Scope::kGlobal, const std::vector<std::string>& axes = {});
};

// Stages that one rule schedules together.
struct Group {
  int root = -1;             // the last one: computed at root, and read by other groups only
  int anchor = -1;           // whose loops matter most; the root itself where there is nothing else
  std::vector<int> members;  // all stages that the rule places, producers first; the root is the last of them
  bool has(int stage) const;
};
// A sum and what reads it in place, or it alone; -1: there is no such sum.
int sum_of_root(const Graph&, int root);
Group group_of_sum(int root, int sum);

struct Rule {
  const char* name;
  // The group whose last stage is `root`, or nothing where the rule does not fit. Members must be free.
  std::optional<Group> (*match)(const Graph&, int root);
  // Issues the Steps of the group, and defines the knobs that they depend on.
  void (*apply)(Sketch&, const Group&);
  const char* why;  // it stands where it stands
};

// The target's table, and the partition that it makes of a graph: each stage that is computed and not inlined is in one
// group. Producers come first.
struct Claim {
  const Rule* rule;
  Group group;
};
std::vector<Claim> partition(const Graph&, const Target&);
std::vector<std::string> rule_names(const Target&);

// The rules, each in a file of its own.
std::optional<Group> match_whole(const Graph&, int root), match_rows(const Graph&, int root),
    match_reduction(const Graph&, int root), match_pointwise(const Graph&, int root);
void apply_whole(Sketch&, const Group&), apply_rows(Sketch&, const Group&), apply_reduction(Sketch&, const Group&),
    apply_pointwise(Sketch&, const Group&);
std::optional<Group> match_strips(const Graph&, int root);
void apply_strips(Sketch&, const Group&);
std::optional<Group> match_split_sum(const Graph&, int root);
void apply_split_sum(Sketch&, const Group&);
std::optional<Group> match_few_rows(const Graph&, int root);
void apply_few_rows(Sketch&, const Group&);
std::optional<Group> match_short_runs(const Graph&, int root);
void apply_short_runs(Sketch&, const Group&);
std::optional<Group> match_pixels(const Graph&, int root);
void apply_pixels(Sketch&, const Group&);
std::optional<Group> match_contraction(const Graph&, int root);
void apply_contraction(Sketch&, const Group&);
std::optional<Group> match_running(const Graph&, int root);
void apply_running(Sketch&, const Group&);
std::optional<Group> match_anything(const Graph&, int root);
void apply_anything(Sketch&, const Group&);

}  // namespace sketch
}  // namespace tw::autotune
