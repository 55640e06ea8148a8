// Measuring: candidates become shared objects in builder processes, then run, checked and timed, in a worker.
//
// Builds and runs on this machine alternate: no compiler shares a core with a kernel that is being timed.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autotune/measure/check_data.h"
#include "autotune/measure/verdicts.h"
#include "rpc/pack.h"
#include "schedule/machine.h"
#include "src/runtime/builder.h"
#include "src/support/temporary_folder.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

// A legal candidate with what was found out on the way to knowing that, so that nobody does it again.
struct Candidate {
  uint64_t index = 0;
  Scheduled scheduled;  // its Steps applied
  Scheduled built;      // the same; of a task at a size, on the tensors of any size
  ir::Program loops;    // that follow from that
  double bound = 0;     // seconds that no run goes below
};

// Applies the Steps and derives the loops, which asks all rules of the nest; or which of them is broken.
Result<Candidate> prepare(const Task&, uint64_t index);

struct Built {
  Trial trial;  // index, knobs and steps; status "build_failed", or why it is not to run, when there is no object
  Blob object;
  double lower_bound = 0;  // seconds that the work which it executes takes at least
  bool ok() const { return object.size() > 0; }
};

class Measurer {
 public:
  // Builds and checks the reference, where the Runner's machine does not. Throws TuneError.
  Measurer(const Task&, const TuneOptions&, runtime::Runner&);
  // For a machine that is not reached from here: builds, and runs nothing there.
  Measurer(const Task&, const TuneOptions&, const MachineDescription& where);
  ~Measurer();

  // As many at once as the builder takes. Candidates after a stop are left out.
  std::vector<Built> build(std::span<const Candidate>);
  Built rebuild(const Trial& recorded);
  // Fills in status, seconds and so on. `give_up_above` as in RunRequest. By any thread, also while others are built.
  void run(Built&, double give_up_above);
  double argument_bytes() const;
  // What a machine elsewhere runs them with: without candidates, and what only who proposed them knows.
  rpc::Pack pack() const;

  // From another thread: ends what is under way; build and run return soon.
  void stop();
  bool stopped() const { return stopped_; }

 private:
  Measurer(const Task&, const TuneOptions&, runtime::Runner*, const MachineDescription& where);
  Built build(const Candidate&);
  void make_object(const Candidate&, Built&);
  void compile(const Candidate&, const Target&, Built&);
  Blob build(const ir::Program&, const std::vector<ir::Program>& more, const Target&, Built&);
  void build_by_user(Built&);
  Blob take_object(const std::string& path) const;  // which is gone then
  std::string new_path();
  void require_room() const;  // throws TuneError
  Built default_schedule(const Target&);
  void make_reference();
  void make_checks_for_elsewhere();
  void leave_reference_to_machine();
  void make_device_checks();

  const Task& task_;
  const TuneOptions& options_;
  runtime::Runner* const runner_;  // null for a machine elsewhere
  const MachineDescription where_;
  const schedule::Machine machine_;
  const support::TemporaryFolder folder_;  // of shared objects that are being built
  const std::string library_;              // that builders load; empty: none
  const std::unique_ptr<runtime::Builder> own_builder_;
  runtime::Builder& builder_;  // own_builder_, or the Runner's
  CheckData data_;
  Verdicts verdicts_;
  Blob device_checks_;                                    // RunRequest's
  std::optional<runtime::MadeReference> made_reference_;  // in the place of data_'s where that would be large to carry
  std::atomic<bool> stopped_ = false;
  std::atomic<int> objects_ = 0;
};

}  // namespace tw::autotune
