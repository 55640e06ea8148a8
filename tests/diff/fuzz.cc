#include "tests/diff/fuzz.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "src/support/json_text.h"
#include "tests/diff/automatic.h"
#include "tests/diff/isolated.h"
#include "tests/diff/script.h"

namespace tw::diff {

namespace {

using nlohmann::json;
using Seconds = std::chrono::duration<double>;
using Time = std::chrono::steady_clock::time_point;

constexpr int64_t kCompiledBatch = 16;  // pairs that are compiled together
constexpr int kLongestBatch = 120;      // seconds, then its pairs are tried one by one
constexpr int kLongestSample = 300;     // seconds, of which LLVM takes 40 for 5,000 lanes that are loaded one by one
constexpr double kProgressEvery = 10;   // seconds

Time now() { return std::chrono::steady_clock::now(); }
double since(Time begin) { return Seconds(now() - begin).count(); }

// ------------------------------------------------------------------------------------------------- what workers say

struct Judged {
  Tally tally;
  std::vector<Found> found;
};

Judged judge(const std::vector<uint64_t>& seeds, const FuzzOptions& options) {
  Judged judged;
  std::vector<Sample> samples;
  for (uint64_t seed : seeds) {
    const Clock clock(judged.tally.oracles, kDrawing, 1);
    try {
      Sample sample = draw_pair(seed, options.devices);
      if (options.launches && sample.refusals.empty() && !sample.features.contains("launch")) continue;
      samples.push_back(std::move(sample));
      judged.tally.add(samples.back());
    } catch (const std::exception& e) {
      ++judged.tally.pairs;
      judged.found.push_back({seed, 0, {"drawing", e.what()}, ""});
    }
  }
  const std::vector<Finding> findings = check(samples, options.judges, judged.tally.oracles);
  for (size_t i = 0; i < findings.size(); ++i)
    if (findings[i].wrong()) judged.found.push_back({samples[i].recipe.seed, 0, findings[i], ""});
  return judged;
}

std::string to_line(const Judged& judged) {
  json line = {{"pairs", judged.tally.pairs},
               {"proposed", judged.tally.proposed},
               {"refused", judged.tally.refused},
               {"features", judged.tally.features}};
  for (const auto& [name, usage] : judged.tally.oracles) line["oracles"][name] = {usage.count, usage.seconds};
  for (const Found& f : judged.found) line["found"].push_back({f.seed, f.finding.oracle, f.finding.text});
  return support::to_printable_text(line) + "\n";
}

Judged from_line(const std::string& text) {
  const json line = support::parse_json<json>(text);
  Judged judged;
  judged.tally.pairs = line["pairs"];
  judged.tally.proposed = line["proposed"];
  judged.tally.refused = line["refused"];
  judged.tally.features = line["features"];
  if (line.contains("oracles"))
    for (const auto& [name, usage] : line["oracles"].items()) judged.tally.oracles[name] = {usage[0], usage[1]};
  if (line.contains("found"))
    for (const json& f : line["found"]) judged.found.push_back({f[0], 0, {f[1], f[2]}, ""});
  return judged;
}

// ------------------------------------------------------------------------------------------------- the workers

// Memory that parent and workers share.
struct Shared {
  struct Slot {
    std::atomic<int64_t> first{0}, count{0};  // the batch under way
  };
  std::atomic<int64_t> next{0};
  std::atomic<bool> stop{false};
  Slot slots[64];
};

struct Worker {
  pid_t process = -1;
  int pipe = -1;
  std::string partial;
  Time heard;
  bool late = false;  // and therefore ended
};

class Fuzzer {
 public:
  Fuzzer(const FuzzOptions& options, bool progress) : options_(options), progress_(progress) {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    TW_CHECK(memory != MAP_FAILED, "no shared memory");
    shared_ = new (memory) Shared;
    shared_->next = options.from;
    workers_.resize(static_cast<size_t>(std::min(options.workers, 64)));
  }
  ~Fuzzer() { munmap(shared_, sizeof(Shared)); }

  FuzzResult run() {
    for (size_t i = 0; i < workers_.size(); ++i) start(i);
    while (listen()) {
      if (static_cast<int>(result_.found.size()) >= options_.findings ||
          (options_.seconds > 0 && since(begin_) > options_.seconds))
        shared_->stop = true;
      for (size_t i = 0; i < workers_.size(); ++i)
        if (workers_[i].pipe >= 0 && since(workers_[i].heard) > kLongestBatch) end(workers_[i]);
      if (progress_ && since(begin_) > next_progress_) show_progress();
    }
    result_.seconds = since(begin_);
    if (options_.minimise)
      for (Found& f : result_.found) f.report = report_of(f);
    return std::move(result_);
  }

 private:
  void start(size_t i) {
    int ends[2];
    TW_CHECK(pipe(ends) == 0, "no pipe");
    std::fflush(nullptr);
    const pid_t child = fork();
    TW_CHECK(child >= 0, "no process");
    if (child == 0) {
      close(ends[0]);
      work(shared_->slots[i], ends[1]);
      _exit(0);
    }
    close(ends[1]);
    workers_[i] = {child, ends[0], "", now(), false};
  }

  static void end(Worker& worker) {
    worker.late = true;
    kill(worker.process, SIGKILL);
  }

  void work(Shared::Slot& slot, int out) {
    while (!shared_->stop) {
      const int64_t first = shared_->next.fetch_add(batch_);
      const int64_t end = options_.from + options_.pairs;
      if (first >= end) return;
      slot.count = std::min(batch_, end - first);
      slot.first = first;
      const std::string line = to_line(judge(seeds_of(slot), options_));
      slot.count = 0;
      if (!write_all(out, line)) return;
    }
  }

  std::vector<uint64_t> seeds_of(const Shared::Slot& slot) const {
    std::vector<uint64_t> seeds;
    for (int64_t i = 0; i < slot.count; ++i) seeds.push_back(pair_seed(options_.seed, slot.first + i));
    return seeds;
  }

  // Waits for what workers say; false when all are gone.
  bool listen() {
    std::vector<pollfd> polled;
    std::vector<size_t> who;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].pipe < 0) continue;
      polled.push_back({workers_[i].pipe, POLLIN, 0});
      who.push_back(i);
    }
    if (polled.empty()) return false;
    poll(polled.data(), polled.size(), 1000);
    for (size_t i = 0; i < polled.size(); ++i)
      if (polled[i].revents) hear(who[i]);
    return true;
  }

  void hear(size_t i) {
    Worker& worker = workers_[i];
    char chunk[65536];
    const ssize_t n = read(worker.pipe, chunk, sizeof chunk);
    if (n <= 0) return ended(i);
    worker.heard = now();
    worker.partial.append(chunk, static_cast<size_t>(n));
    for (size_t end; (end = worker.partial.find('\n')) != std::string::npos; worker.partial.erase(0, end + 1))
      take(from_line(worker.partial.substr(0, end)));
  }

  void take(const Judged& judged) {
    result_.tally.add(judged.tally);
    for (Found f : judged.found) {
      f.after = result_.tally.pairs;
      add(std::move(f));
    }
  }

  void add(Found f) {
    if (progress_)
      std::fprintf(stderr, "seed %llu: %s: %s\n", static_cast<unsigned long long>(f.seed), f.finding.oracle.c_str(),
                   f.finding.text.substr(0, f.finding.text.find('\n')).c_str());
    result_.found.push_back(std::move(f));
  }

  // A worker that died left a batch behind: each of its pairs is tried again, alone. Meanwhile nobody hears the others.
  void ended(size_t i) {
    Worker& worker = workers_[i];
    close(worker.pipe);
    worker.pipe = -1;
    int status = 0;
    waitpid(worker.process, &status, 0);
    const std::string how = death(status);
    if (how.empty()) return;
    const size_t before = result_.found.size();
    const std::vector<uint64_t> seeds = seeds_of(shared_->slots[i]);
    for (uint64_t seed : seeds) {
      const Isolated alone = in_own_process([&] { return to_line(judge({seed}, options_)); }, kLongestSample);
      if (alone.death.empty()) {
        take(from_line(alone.text));
      } else {
        ++result_.tally.pairs;
        add({seed, result_.tally.pairs, {"crash", alone.death}, ""});
      }
    }
    if (result_.found.size() == before && !worker.late)
      add({seeds.empty() ? 0 : seeds[0],
           result_.tally.pairs,
           {"crash", "a worker was " + how + "; no pair of its batch does that alone"},
           ""});
    if (result_.found.size() == before && progress_)
      std::fprintf(stderr, "a batch took more than %d s; each of its pairs ended alone\n", kLongestBatch);
    for (Worker& other : workers_) other.heard = now();
    if (!shared_->stop && static_cast<int>(result_.found.size()) < options_.findings) start(i);
  }

  std::string report_of(const Found& f) const {
    const Isolated drawn =
        in_own_process([&] { return (draw_pair(f.seed, options_.devices), "drawn"); }, kLongestSample);
    if (drawn.text != "drawn") return "seed " + std::to_string(f.seed) + ": drawing it fails\n";
    return report(draw_pair(f.seed, options_.devices), f.finding, options_.folder, options_.judges);
  }

  void show_progress() {
    next_progress_ = since(begin_) + kProgressEvery;
    std::fprintf(stderr, "%8lld pairs, %zu wrong, %.0f pairs/s\n", static_cast<long long>(result_.tally.pairs),
                 result_.found.size(), static_cast<double>(result_.tally.pairs) / since(begin_));
  }

  FuzzOptions options_;
  int64_t batch_ = options_.judges.cpus.empty() ? kCompiledBatch : kEmulatedBatch;
  bool progress_;
  Shared* shared_;
  std::vector<Worker> workers_;
  FuzzResult result_;
  Time begin_ = now();
  double next_progress_ = kProgressEvery;
};

}  // namespace

uint64_t pair_seed(uint64_t seed, int64_t i) { return seed * 1'000'000'000 + static_cast<uint64_t>(i); }

FuzzResult fuzz(const FuzzOptions& options, bool progress) { return Fuzzer(options, progress).run(); }

Finding check_isolated(const Sample& sample, const Judges& judges) {
  const Isolated alone = in_own_process(
      [&] {
        const Finding finding = check(sample, judges);
        return finding.oracle + "\n" + finding.text;
      },
      kLongestSample);
  if (!alone.death.empty()) return {"crash", alone.death};
  const size_t end = alone.text.find('\n');
  return {alone.text.substr(0, end), end == std::string::npos ? "" : alone.text.substr(end + 1)};
}

std::string report(const Sample& sample, const Finding& finding, const std::string& folder, const Judges& judges) {
  const Sample smallest =
      minimise(sample, [&](const Sample& s) { return check_isolated(s, judges).oracle == finding.oracle; });
  const Finding last = check_isolated(smallest, judges);
  const std::string at_fault =
      last.oracle == "crash" ? "" : in_own_process([&] { return culprit(smallest); }, kLongestSample).text;
  const std::string script = python_script(smallest, last);
  const std::string path = write_script(folder, sample.recipe.seed, script);
  return "seed " + std::to_string(sample.recipe.seed) + ": " + (last.wrong() ? last : finding).oracle + ": " +
         (last.wrong() ? last : finding).text + "\n" + (at_fault.empty() ? "" : "at fault: " + at_fault + "\n") +
         "replay: ./dev fuzz --replay " + path + ", or run it with ./dev run python " + path + "\n" + script;
}

}  // namespace tw::diff
