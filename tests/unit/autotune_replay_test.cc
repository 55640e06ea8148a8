// Same seed and same journal, same decisions: proposals that are made again from any part of a journal.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "autotune/log/record.h"
#include "autotune/search/proposer.h"
#include "tests/unit/autotune_templates.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

using testing::dense_task;

constexpr size_t kBatch = 8, kBatches = 8;

// Made of what the nest is: fixed, rough, and some fail.
double invented_seconds(const Description& d) {
  support::Rng rng(d.hash);
  return rng.below(11) == 0 ? INFINITY : d.estimate * (0.7 + 0.6 * rng.uniform());
}

class Replayed {
 public:
  Replayed(const Task& task, const std::string& search, const std::string& model, uint64_t seed)
      : machine_(schedule::describe_machine(task.target(), {.hardware = host_hardware(), .threads = 2})),
        proposer_(
            task.space(), make_search(search), make_cost_model(model, seed),
            [this, &task](uint64_t i) -> std::optional<Description> {
              const Result<Scheduled> s = task.applied(i);
              if (!s) return std::nullopt;
              return description_of(s->schedule, machine_);
            },
            [&task](uint64_t i) { return task.candidate(i).ok(); }, seed, 0.1) {}

  std::vector<uint64_t> propose(uint64_t batch) { return proposer_.propose(kBatch, batch); }
  void tell(uint64_t index) { proposer_.tell(index, invented_seconds(*proposer_.description_of(index))); }

 private:
  Machine machine_;
  Proposer proposer_;
};

using Batches = std::vector<std::vector<uint64_t>>;

Batches all_batches(const Task& task, const std::string& search, const std::string& model, uint64_t seed) {
  Replayed run(task, search, model, seed);
  Batches batches;
  for (uint64_t b = 0; b < kBatches; ++b) {
    batches.push_back(run.propose(b));
    for (uint64_t i : batches.back()) run.tell(i);
  }
  return batches;
}

TEST(Replay, EveryBatchFollowsFromTheJournalBeforeIt) {
  const Task task = dense_task(37, 130, 50);
  for (const char* search : {"evolutionary", "random", "grid"}) {
    for (const char* model : {"auto", "none"}) {
      const Batches whole = all_batches(task, search, model, 7);
      for (uint64_t cut = 0; cut < kBatches; ++cut) {
        Replayed resumed(task, search, model, 7);
        for (uint64_t b = 0; b < cut; ++b) {
          for (uint64_t i : whole[b]) resumed.tell(i);
        }
        EXPECT_EQ(resumed.propose(cut), whole[cut]) << search << " " << model << " batch " << cut;
      }
    }
  }
}

TEST(Replay, OtherSeedsDecideOtherwise) {
  const Task task = dense_task(37, 130, 50);
  EXPECT_NE(all_batches(task, "evolutionary", "auto", 1), all_batches(task, "evolutionary", "auto", 2));
}

// The Runner sees an object: its bytes are the nest's.
class FixedTimes final : public runtime::Runner {
 public:
  runtime::RunResult run(const runtime::RunRequest& request) override {
    uint64_t h = 1;
    for (const char c : request.object.bytes()) h = h * 31 + static_cast<unsigned char>(c);
    support::Rng rng(h);
    if (rng.below(13) == 0) return {runtime::RunStatus::kCrashed, 0, 0, 0, "SIGSEGV"};
    return {runtime::RunStatus::kOk, 1e-3 * (1 + rng.uniform()), 0.01, 5, ""};
  }
  MachineDescription machine() const override {
    return {.hardware = host_hardware(), .threads = 2, .name = "fixed times"};
  }
};

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> decisions(const std::string& path) {
  std::vector<std::string> out;
  for (const Record& r : load_log(path).records) out.push_back(r.kind + " " + r.trial.knobs);
  return out;
}

TEST(Replay, TuningContinuesAnyTruncatedJournalAsIfNothingHadHappened) {
  if (Target::host().kind != "llvm") GTEST_SKIP() << "built without LLVM: nothing to measure";
  const Task task = dense_task(21, 66, 30);
  const test::Folder folder;
  TuneOptions o;
  o.trials = 30;
  o.batch = kBatch;
  o.confirm = 2;
  o.log = folder / "whole.jsonl";
  FixedTimes runner;
  const TuneResult whole = tune(task, o, runner);
  const std::vector<std::string> lines = lines_of(o.log), expected = decisions(o.log);
  support::Rng rng(3);
  for (int run = 0; run < 6; ++run) {
    const size_t kept = rng.below(lines.size());
    o.log = folder / (std::to_string(run) + ".jsonl");
    {
      std::ofstream out(o.log, std::ios::binary);
      for (size_t i = 0; i < kept; ++i) out << lines[i] << "\n";
      out << lines[kept].substr(0, rng.below(lines[kept].size()));
    }
    const TuneResult resumed = tune(task, o, runner);
    EXPECT_EQ(decisions(o.log), expected) << "after " << kept << " lines";
    EXPECT_EQ(resumed.best->knobs, whole.best->knobs);
  }
}

}  // namespace
}  // namespace tw::autotune
