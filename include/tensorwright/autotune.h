// Tuning: search a space of schedules, measure candidates on this machine, keep every measurement in a log.
//
//   Space       knobs, each with finitely many values. A candidate is one value per knob, or its index in the space.
//   Template    a function that declares a computation and schedules it with knobs. It runs once, its Steps refer to
//               knobs, and a candidate's Steps are made from that trace. A template that looks at a knob's value
//               (Config::value) runs again for each value that it looks at.
//   Task        a template with its arguments, or the tensors alone, and a target. Its key in the log is the
//               computation itself.
//   tune        proposes, builds and runs candidates in worker processes, checks outputs, and appends one JSON line for
//               each measurement. Running it again on the same log continues; nothing is measured twice. The same seed
//               and the same log give the same decisions.
//   best, build read a log and measure nothing.
//
// C++:
//   Task task("scale", "[1000]", [](Config& cfg) {
//     Tensor A = placeholder({1000}, "float32", "A");
//     Tensor B = compute({1000}, [&](Var i) { return A(i) * 2.0f; }, "B");
//     Schedule s({B});
//     cfg.define_split("tile", 1000, {.outputs = 2});
//     auto axes = cfg.apply_split("tile", s, "B", "i");          // {"i.o", "i.i"}
//     s.apply(Vectorize{"B", axes[1]});
//     return Scheduled{s, {A, B}};
//   }, Target::host());
//   TuneResult r = tune(task, {.trials = 64, .log = "scale.jsonl"});
//   auto module = build(task, "scale.jsonl");
//
// Thread-safety: Space and Task are immutable after construction and may be shared; a template is called by one thread
// at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensorwright/build.h"
#include "tensorwright/runtime.h"
#include "tensorwright/schedule.h"
#include "tensorwright/target.h"

namespace tw::autotune {

// --------------------------------------------------------------------------------------------------------------- space

enum class KnobKind : uint8_t { kSplit, kValue, kReorder, kAnnotate };
enum class AnnotateChoice : uint8_t { kNone, kUnroll, kVectorize };

// One value that a knob can take.
struct KnobValue {
  // kSplit: the extents that result, outermost first; kValue: the number; kReorder: the permutation; kAnnotate: one
  // AnnotateChoice per axis.
  std::vector<int64_t> numbers;
  ir::Tail tail = ir::Tail::kAuto;  // kSplit
  std::string text;                 // kValue that is no integer: its JSON
  bool operator==(const KnobValue&) const = default;
};

struct Knob {
  std::string name;
  KnobKind kind = KnobKind::kValue;
  std::vector<std::string> axes;  // labels of the axes that it splits, orders or annotates; for people
  std::vector<KnobValue> values;  // at least one, all different
};
std::string to_json(const Knob&, const KnobValue&);  // what prints and what the log stores: [9, 2, 32], "fast", ...

// The digits of a candidate: for each knob the position of its value.
using Digits = std::vector<uint32_t>;

// The product of the knobs. Indices are mixed radix, the first knob being the fastest digit.
class Space {
 public:
  Space() = default;
  explicit Space(std::vector<Knob> knobs);  // more than 2^62 points are refused
  const std::vector<Knob>& knobs() const { return knobs_; }
  uint64_t size() const { return size_; }
  Digits digits(uint64_t index) const;
  uint64_t index(const Digits&) const;
  const KnobValue& value(uint64_t index, size_t knob) const;
  std::string describe(uint64_t index) const;                  // {"tile_j": [9, 2, 32], "unroll": 4}
  Result<uint64_t> find(const std::string& knobs_json) const;  // the inverse of describe
  bool operator==(const Space&) const;

 private:
  std::vector<Knob> knobs_;
  uint64_t size_ = 1;
};
std::string to_string(const Space&);

// ----------------------------------------------------------------------------------------------------------- templates

enum class SplitPolicy : uint8_t {
  kFactors,  // the divisors of the extent, and sizes that do not divide but fit registers: small ones and multiples of
             // a vector
  kPower2,   // powers of two
  kVerbose,  // both, and everything up to 32
  kCandidate,  // those that are given
};
struct SplitOptions {
  int outputs = 2;
  SplitPolicy policy = SplitPolicy::kFactors;
  int64_t max_factor = 0;                                        // of the inner axes; 0: no limit
  std::function<bool(const std::vector<int64_t>&)> filter = {};  // keeps the extents for which it is true
  std::vector<ir::Tail> tails = {ir::Tail::kAuto};               // tried where a factor does not divide
  std::vector<std::vector<int64_t>> candidates = {};             // of kCandidate: extents; the outermost is derived
};

// What a template receives. The first run collects knobs; further runs find them fixed.
class Config {
 public:
  Config();
  Config(const Space& space, Digits digits);                      // one candidate; other knobs are refused
  static Config with_choices(const Space& known, Digits digits);  // collects; knobs that are known have these values

  // Define a knob; a second definition under one name must be the same, and the name must not be empty.
  void define_split(const std::string& name, int64_t extent, const SplitOptions& = {}, const std::string& axis = "");
  void define_knob(const std::string& name, const std::vector<int64_t>& values);
  // Each value as JSON. An array of integers counts as its numbers: factor("tile", 1) is the second of [6, 64].
  void define_knob_json(const std::string& name, const std::vector<std::string>& values);
  void define_reorder(const std::string& name, const std::vector<std::string>& axes,
                      const std::vector<std::vector<int>>& orders = {});
  void define_annotate(const std::string& name, const std::vector<std::string>& axes,
                       const std::string& policy = "try_unroll_vec");

  // Leaves out candidates for which it is false, by all their knobs (Space::describe). Those of the first run count.
  using Keeps = std::function<bool(const std::string& knobs_json)>;
  void multi_filter(Keeps keeps) { filters_.push_back(std::move(keeps)); }
  const std::vector<Keeps>& filters() const { return filters_; }
  // This run alone has the value, one of the knob's or not.
  void choose(const std::string& name, KnobValue value);

  // Issue the knob's Steps. Split: returns the axes, outermost first.
  std::vector<std::string> apply_split(const std::string& name, schedule::Schedule&, const std::string& stage,
                                       const std::string& axis);
  void apply_reorder(const std::string& name, schedule::Schedule&, const std::string& stage,
                     const std::vector<std::string>& axes);
  void apply_annotate(const std::string& name, schedule::Schedule&, const std::string& stage,
                      const std::vector<std::string>& axes);

  // A reference to one of a knob's numbers, for Steps; and its value, which makes the template run again for others.
  schedule::Factor factor(const std::string& name, int part = 0) const;
  int64_t value(const std::string& name, int part = 0);
  std::string value_json(const std::string& name);

  // For front ends that issue the Steps themselves: steps[first, last) of the schedule came from this knob.
  const Knob& knob(const std::string& name) const;
  const KnobValue& chosen(const std::string& name) const;
  void mark_steps(const std::string& name, size_t first, size_t last, const std::string& stage,
                  const std::vector<std::string>& axes);
  void mark_read(const std::string& name);  // the template looked at this knob's value
  void mark_opaque() { opaque_ = true; }    // it looks at knobs in a way that cannot be seen
  const std::vector<size_t>& read() const { return read_; }
  bool opaque() const { return opaque_; }

  struct Mark {  // steps [first, last) are what knob `knob` stands for
    size_t first = 0, last = 0, knob = 0;
    std::string stage;
    std::vector<std::string> axes;
  };
  const std::vector<Mark>& marks() const { return marks_; }
  const std::vector<Knob>& knobs() const { return knobs_; }
  const Digits& digits() const { return digits_; }

 private:
  void define(Knob knob);
  size_t position(const std::string& name) const;

  std::vector<Knob> knobs_;
  Digits digits_;
  std::vector<Keeps> filters_;
  std::vector<Mark> marks_;
  std::vector<size_t> read_;  // knobs, in the order in which they were looked at
  bool fixed_ = false, opaque_ = false;
};

struct Scheduled {
  schedule::Schedule schedule;
  std::vector<te::Tensor> args;
};
using Template = std::function<Scheduled(Config&)>;

// One measured configuration.
struct Trial {
  uint64_t index = 0;
  std::string knobs;  // Space::describe
  std::vector<schedule::Step> steps;
  std::string status;  // ok, beaten, wrong_answer, crashed, timeout, too_fast, build_failed, ...
  double seconds = 0;  // median of one call; a lower bound when `beaten`
  double spread = 0;
  int runs = 0;
  double rtol = 0;  // of the check of its output; 0: exact
  std::string detail;
  runtime::RunPlace place = {};
  bool ok() const { return status == "ok"; }
  bool timed() const { return ok() || status == "beaten"; }  // and right; the rest failed, or was lost
};

class Task {
 public:
  // `args` is a JSON array, for the log and for messages. Runs the template (twice: one that gives two different
  // answers is refused). Throws TuneError when it raises, or when what it returns cannot be lowered.
  Task(std::string name, std::string args_json, Template, Target);
  // A space made from the tensors alone: the outputs are those of `args` that are computed, the schedule is found by
  // rules (docs/tuning.md). Without a name, that of the last output. `args_json` may be an object too: the parameters
  // of the operator that declared the tensors.
  Task(std::vector<te::Tensor> args, Target, std::string name = "", std::string args_json = "[]");

  // Of tensors in whose extents `size` varies, at one of its values: candidates are schedules of the kernel that takes
  // any size, and that is what is built and measured; the space and what is expected of a candidate are those of this
  // size. `others` are all other variables of the extents, and where they are meanwhile. Records are of the computation
  // and the values, and say them in their arguments.
  static Task at_size(const std::vector<te::Tensor>& args, Target, const ir::Var& size, int64_t value,
                      std::string name = "", const std::vector<std::pair<ir::Var, int64_t>>& others = {});

  const std::string& name() const;
  const std::string& args() const;
  const Target& target() const;
  const Space& space() const;
  const std::string& hash() const;          // of the computation, the same in every process
  bool branching() const;                   // the template looks at knobs' values
  std::vector<te::Tensor> outputs() const;  // of the first run
  const std::vector<te::Tensor>& arguments() const;
  Result<std::vector<schedule::Step>> steps(uint64_t index) const;
  Result<Scheduled> applied(uint64_t index) const;    // its Steps applied, the rules of the whole nest not asked
  Result<Scheduled> candidate(uint64_t index) const;  // legal on the whole nest, or why not
  Result<Scheduled> replay(const Trial&) const;       // a recorded trial's Steps on this computation
  // What is built of a candidate: the same, or, of a task at a size, its Steps on the tensors of any size.
  Result<Scheduled> built(const Scheduled& candidate) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// -------------------------------------------------------------------------------------------------------------- tuning

struct Progress {
  int trials = 0, total = 0, failures = 0;
  double best_seconds = 0;  // 0: none yet
  double elapsed_s = 0, left_s = 0;
  const Trial* current = nullptr;
  double flops = 0;                   // arithmetic of one call
  double roof = 0;                    // FLOP/s that this machine can reach on it; 0: not known
  std::string bound;                  // by what: "peak", "L2 bandwidth", "memory bandwidth"
  std::map<std::string, int> failed;  // by status
  int pruned = 0;                     // candidates that were not built: their lower bound exceeds the best time
  std::string boards = {};            // where runs are elsewhere: "4 boards, 31 trials/s, pi4-2 throttled"
};

// A bar on stderr, rewritten: trials, best and its share of the peak, failures by kind, time left. For
// TuneOptions::on_trial.
void print_progress(const Progress&);

struct TuneOptions {
  int trials = 64;       // configurations measured, those of the log included
  std::string log = {};  // empty: nothing is kept
  uint64_t seed = 0;
  std::string search = "evolutionary";     // random, grid, evolutionary
  std::string model = "auto";              // none, xgb; auto: xgb where it was built in
  int early_stop = 0;                      // stop after so many trials without a better one; 0: never
  bool stop_without_gain = false;          // stop when two batches brought nothing and the model sees nothing better
  double timeout_s = 10;                   // of one run or build
  int number = 0, repeat = 0;              // calls per repeat and repeats; 0: adaptive
  int batch = 16;                          // proposals between two updates of the model
  int confirm = 4;                         // leaders that are timed again at the end
  double explore = 0.1;                    // share of proposals drawn at random
  std::string model_file = {};             // the model starts from this file where there is one, and is kept in it
  std::vector<std::string> transfer = {};  // logs, of any tasks, that the model learns from before the first batch
  std::function<void(const Progress&)> on_trial = {};  // by one thread at a time
  std::function<void(const std::vector<Trial>&)> on_batch = {};
  std::function<bool()> should_stop = {};                   // polled; true keeps what was measured and returns
  std::optional<std::pair<uint64_t, uint64_t>> range = {};  // the first and the last index that are proposed
  // Writes the shared object of a candidate, whose kernel is `candidate`, to the path in the place of the workers that
  // build: "" or why it failed. Called by several threads.
  std::function<std::string(uint64_t index, const std::string& path)> build = {};
};

struct TuneResult {
  std::optional<Trial> best;
  std::vector<Trial> trials;  // in order of measurement, those of the log first
  std::vector<double> curve;  // best seconds after each trial; infinity while there is none
  std::vector<Trial> failures;
  double elapsed_s = 0;
  int measured = 0;      // by this call
  int pruned = 0;        // never built: their lower bound exceeds the best time
  int alike = 0;         // never built: other knobs for the loops of a candidate that was measured
  bool stopped = false;  // by should_stop
  std::string note;      // e.g. that there is no learned model in this build
};

// Throws TuneError when nothing can be tuned or every candidate failed (with the commonest reason), LogError for a log
// that is not ours. The overload takes the Runner that measures: a board behind rpc, or a stub.
TuneResult tune(const Task&, const TuneOptions& = {});
TuneResult tune(const Task&, const TuneOptions&, runtime::Runner&);

// A machine that nothing reaches but a file.
struct MachineElsewhere {
  int threads = 0;            // of the kernel there; 0: as the log's records have it, or all cores
  std::string hardware = {};  // which of the log's machines; empty: the only one
};
struct PackSummary {
  int candidates = 0, not_built = 0;  // the second among the first
  uint64_t bytes = 0;                 // of the file
  MachineElsewhere where;             // of what records the candidates were proposed; no hardware: there were none
};

// The next `options.trials` candidates for a machine elsewhere, in one file (docs/boards.md): proposed from the records
// of `options.log`, which is only read, and built, with what checks them. `tw-board measure` runs them there and writes
// lines of a log; with those in options.log, pack again, or build. The same records give the same pack. Throws
// TuneError when nothing is left to propose, or when the log has several such machines and none is named; LogError.
PackSummary pack(const Task&, const TuneOptions&, const std::string& path, const MachineElsewhere& = {});

// One budget for many tasks: each next batch goes to the task where it should save most, by the time of its kernel, its
// weight, and what its last batches brought, for each second of measuring.
class TaskScheduler {
 public:
  // A weight says how often a kernel runs in the whole; without weights each runs once.
  explicit TaskScheduler(std::vector<Task> tasks, std::vector<double> weights = {});

  // `options.trials` are those of all tasks together, and one log holds them. The results stand in the order of the
  // tasks. Throws as the function tune does.
  std::vector<TuneResult> tune(const TuneOptions& options = {}) const;
  std::vector<TuneResult> tune(const TuneOptions& options, runtime::Runner&) const;

 private:
  std::vector<TuneResult> run(const TuneOptions&, runtime::Runner*) const;

  std::vector<Task> tasks_;
  std::vector<double> weights_;
};

// The best recorded candidate for the task's computation and target: for a machine, of its hardware and thread count or
// what comes nearest; without one, as where a product is built, of the one class of hardware that the log holds, with
// the most threads. Throws LogError, where it holds several classes too, or NoRecord, which names the task, its
// arguments, the target and the call that tunes it.
Trial best(const Task&, const std::string& log, const std::optional<MachineDescription>& machine = {});
std::shared_ptr<const Module> build(const Task&, const std::string& log, const std::string& name = "",
                                    const std::optional<MachineDescription>& machine = {});

// Whether model = "xgb" is part of this build.
bool has_xgboost();

}  // namespace tw::autotune
