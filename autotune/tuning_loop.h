// The tuning loop: propose, build, run, record, learn.
//
// Decisions depend on the seed and the log only. Batch b is proposed from the first b * batch records of the log; what
// the log holds beyond them counts as the batch's first part. A run that was killed and continued proposes what it
// would have. Where the Runner is elsewhere all of that is one batch late, and this machine builds meanwhile (ahead.h).
//
// tune.cc begins and ends it. Batches are measured in tune_here.cc or, where the Runner is elsewhere, tune_ahead.cc;
// leaders are timed again in tune_again.cc, what drifts with the clock in tune_anchor.cc; what is read from the log and
// written to it is tune_log.cc's.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "autotune/account.h"
#include "autotune/ahead.h"
#include "autotune/leaders.h"
#include "autotune/log/record.h"
#include "autotune/measure/run_queue.h"
#include "autotune/proposals.h"
#include "autotune/stop_watch.h"
#include "autotune/tuner.h"
#include "autotune/watched.h"
#include "src/runtime/anchor.h"

namespace tw::autotune {

class Tuner final : public Tuning {
 public:
  // `elsewhere`: a machine that no Runner reaches; without it and without a Runner, this one.
  Tuner(const Task&, const TuneOptions&, runtime::Runner*, const MachineDescription* elsewhere);

  void begin() override;
  bool step(int room) override;
  bool stopping() override;
  const TuneResult& so_far() const override { return result_; }
  int begun() const override;
  bool cut_off() const override;
  TuneResult finish() override;
  rpc::Pack pack(int count) override;

 private:
  Measurer& measurer();
  void tell_all();
  bool exhausted_early() const;
  bool sees_no_gain() const;
  void keep_model();
  void take_notes();
  void pick_best();
  [[noreturn]] void nothing_to_pack() const;
  [[noreturn]] void every_candidate_failed() const;

  // tune_here.cc
  bool next_batch(size_t room);
  void measure(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing);

  // tune_anchor.cc
  void run_here(Built&, double give_up_above);
  void begin_anchor(const Built&, bool before);
  void time_anchor();

  // tune_ahead.cc
  bool next_batch_ahead(size_t room);
  void go_ahead(std::vector<uint64_t> proposal);
  std::vector<size_t> missing_of(const std::vector<uint64_t>& proposal, size_t room) const;
  void begin_runs(const std::vector<uint64_t>& proposal, const std::vector<size_t>& missing);
  double give_up_ahead() const;
  void begin_run(Record, Built, double limit);
  void arrives(Record, Built);
  bool count(size_t batch);

  // tune_again.cc
  void time_incumbent_again();
  void begin_again(const Trial& leader);
  void wait_for_those_again();
  void confirm_leaders();

  // tune_log.cc
  void find_rates();
  void read_history();
  Record record_of(const std::string& kind, const Trial&, int64_t number);
  void append(Record);
  void report(const Trial& current);

  const Task& task_;
  const TuneOptions& options_;
  runtime::Runner* runner_;  // null until something is measured here
  const bool elsewhere_;
  std::unique_ptr<runtime::Runner> local_;
  MachineDescription where_;
  std::optional<Journal> journal_;
  Log log_;
  schedule::Machine machine_;
  Proposals proposals_;
  TuneResult result_;
  Account account_{result_};
  std::vector<Record> confirmed_;
  Leaders leaders_;
  Watched watched_;
  runtime::Anchor anchor_;
  Built anchor_built_;  // without its object until it is needed, where the log has it
  size_t told_ = 0;
  bool begun_ = false;  // candidates were asked for
  std::unique_ptr<Measurer> measurer_;
  std::unique_ptr<StopWatch> watch_;  // after the measurer, which it stops

  // Where runs are elsewhere.
  std::unique_ptr<Ahead> ahead_;         // null where they are not
  size_t next_ = 0, counted_ = 0;        // batches: the next to begin, and how many count
  std::vector<uint64_t> last_proposal_;  // of the batch before the next
  std::atomic<int> again_under_way_ = 0;
  std::mutex shared_;                // what arrives is noted, and what counts
  std::unique_ptr<RunQueue> queue_;  // last: its threads use the others
};

}  // namespace tw::autotune
