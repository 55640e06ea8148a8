// Production builds: kernels are frozen where they are tuned, and built from what was frozen (docs/production.md).
//
//   freeze      a task, its best record and a target become a Frozen, the text of a .twk: the lowered program, and
//   where it
//               comes from. Follows from the task and the log, not from the machine that does it.
//   read        gives it back, checked: a text that is damaged, newer or unsafe is refused
//   stale       what a log says today against what was frozen
//   build       .twk files become a header and libraries (docs/libraries.md); needs no task, log or schedule
//
// All functions throw tw::Error, and leave files as they were where they do.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::aot {

inline constexpr int kFormat = 1;  // read by all releases of one major version

// The measurement by which a kernel was chosen.
struct FrozenRecord {
  std::string checksum;  // of its line in the log
  double seconds = 0;
  std::string hardware;
  int threads = 1;
  bool operator==(const FrozenRecord&) const = default;
};

// Up to a size of the kernel these Steps.
struct FrozenRange {
  int64_t up_to = 0;
  std::vector<schedule::Step> steps;
  std::optional<FrozenRecord> record = {};  // of that size; none: written by hand
  bool operator==(const FrozenRange&) const = default;
};

// How much longer than schedules that were tuned for one size each the kernel took at most, of these sizes.
struct FrozenLoss {
  double worst = 0;  // 0.08: 8 % longer
  int64_t at = 0;
  std::vector<int64_t> sizes;
  std::string hardware;
  int threads = 1;
  int trials = 0;  // of the tuning at each
};

struct Frozen {
  Frozen();
  TW_DECLARE_VALUE(Frozen);

  std::string name;  // of the kernel
  Target target;
  std::string task, args, hash;  // the computation, as records name it; no task: a schedule that was written by hand
  std::optional<FrozenRecord> record;  // none: the default schedule, or one written by hand
  std::vector<schedule::Step> steps;
  // Ranges of the size `size`; beyond the last one `steps`. Tuned: `record` is of the size `at_size`, the largest one.
  std::string size = {};
  int64_t at_size = 0;
  std::vector<std::pair<std::string, int64_t>> others = {};  // sizes that vary too, and where they were measured
  std::vector<FrozenRange> sized = {};
  std::optional<FrozenLoss> loss = {};  // of what was tuned at sizes, if that was measured
  std::string source;                   // what `tw freeze` was given, for the line that freezes again
  std::string release;                  // of Tensorwright that froze it
  ir::Program program;                  // lowered for the target
  std::vector<ir::Program> packers;

  // Of a Frozen that was read.
  std::string path;
  int program_line = 1;  // where the program begins
  bool edited = false;   // it has no checksum
};

struct FreezeOptions {
  std::string name = {};       // of the kernel; the task's by default
  std::string log = {};        // none: default schedules
  std::string hardware = {};   // which of the log's machines; needed where it has several
  int threads = 0;             // of the kernel there; 0: the most that were measured
  bool allow_default = false;  // the default schedule where the log has no record
  std::string source = {};
};
Frozen freeze(const autotune::Task&, const FreezeOptions& = {});
// A schedule that is complete as it stands. `computation` is what of a task's identity is known.
Frozen freeze(const schedule::Schedule&, const std::vector<te::Tensor>& args, const Target&, const FreezeOptions& = {},
              const std::vector<te::ScalarArgument>& scalars = {});

// x86-64-v3, neoverse-n1, sm_80, or a target's whole text.
Result<Target> target_named(const std::string&);

// A schedule for each range of a size, which is a variable of the tensors' extents: up to each bound, in ascending
// order, the one beside it, and beyond the last one `otherwise`. The kernel chooses at each call.
struct SizedSchedule {
  int64_t up_to;
  schedule::Schedule schedule;
};
Frozen freeze_by_size(const std::string& size, const std::vector<SizedSchedule>&, const schedule::Schedule& otherwise,
                      const std::vector<te::Tensor>& args, const Target&, const FreezeOptions& = {},
                      const std::vector<te::ScalarArgument>& scalars = {});

// Tensors in whose extents a variable is: with a log that autotune::tune wrote at several of its sizes
// (autotune::Task::at_size), for the range up to each of these sizes the schedule that is the best there by the log,
// and beyond the last one that of the last; else as a schedule that is complete.
Frozen freeze_any_size(const std::vector<te::Tensor>& args, const Target&, const FreezeOptions& = {},
                       const std::vector<te::ScalarArgument>& scalars = {});

std::string file_name(const Frozen&);  // dense.x86-64-v3.twk
std::string to_text(const Frozen&);
// `path` is for messages.
Frozen from_text(const std::string& text, const std::string& path);
Frozen read(const std::string& path);
// Of several all or none: texts go to new files that then take their names. Files that say the same stay as they are;
// the loss that one says stays where its kernel does. Returns their paths.
std::vector<std::string> write(const std::vector<Frozen>&, const std::string& folder);

// One line each: the kernel, its shapes, its target, what is wrong, and the command that mends it.
//
// By the best record of a log: of the hardware and threads by which it was frozen, or, where it was by none, of any.
std::optional<std::string> stale(const Frozen&, const std::string& log, bool require_tuned = false);
// By its source, which declares a computation of this hash today.
std::optional<std::string> stale_source(const Frozen&, const std::string& hash);

struct BuildOptions {
  std::string folder;
  std::string name = "kernels";  // NAME.h, libNAME.a, libNAME.so
  std::string prefix = {};       // of what C sees
  std::optional<Target> baseline = {};
  bool archive = true, shared = false;
  bool debug_lines = false;               // those of the .twk files
  std::vector<std::string> externs = {};  // C functions that the caller brings
  std::string host = {};  // the triple of what launches kernels for GPUs; that of the other kernels by default
};
struct Built {
  std::vector<std::string> files;                // the header and the libraries
  std::vector<std::string> compiled, unchanged;  // objects, by their names
};
// Compiles what has changed since the last time in that folder.
Built build(const std::vector<std::string>& paths, const BuildOptions&);

}  // namespace tw::aot
