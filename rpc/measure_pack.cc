#include "rpc/measure_pack.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "src/runtime/anchor.h"
#include "src/runtime/rounds.h"
#include "src/runtime/run_result.h"
#include "src/support/json_text.h"
#include "src/support/line_file.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;
using runtime::RunRequest;
using runtime::RunResult;
using runtime::RunStatus;

const std::string kDeviceLost(to_string(RunStatus::kDeviceLost));

[[noreturn]] void refuse(ErrorKind kind, std::string what, std::vector<std::string> notes) {
  throw Error(Diagnostic{kind, std::move(what), {}, std::move(notes)});
}

// ------------------------------------------------------------------------------------------------------------ records

bool failed(const std::string& status) { return status != "ok" && status != "beaten" && status != kDeviceLost; }

// A candidate, and what is known of it.
struct Entry {
  Json record;
  std::string status;  // empty: nothing
  double seconds = 0, spread = 0;
  std::vector<double> again;  // where it was timed again
  size_t rounds = 0;
  bool failed_again = false;

  bool ok() const { return status == "ok"; }
  void note(const std::string& kind, const std::string& result, double took, double varied) {
    if (kind == "confirm") {
      ++rounds;
      failed_again = failed_again || failed(result);
      if (result == "ok") again.push_back(took);
    } else if (status.empty() && result != kDeviceLost) {
      status = result, seconds = took, spread = varied;
    }
  }
};

// What two records have in common that are of one candidate on one machine.
std::string identity(const Json& record) {
  std::string text = record.at("task").at("hash").get<std::string>();
  for (const char* field : {"target", "threads", "hardware", "knobs", "steps"})
    text += "\n" + support::to_text(record.at(field));
  return text;
}

std::vector<Entry> entries_of(const Pack& pack, const RunRequest& request, const MachineDescription& here) {
  std::vector<Entry> entries;
  for (const PackedCandidate& c : pack.candidates) {
    Entry& entry = entries.emplace_back();
    entry.record = support::parse_json<Json>(c.record);
    entry.record["threads"] = request.threads;
    entry.record["hardware"] = here.hardware_name();
  }
  return entries;
}

// The log may be new; what is none is not written to.
void require_log(const std::string& path) {
  constexpr std::string_view kMark = "{\"tensorwright\":";
  std::ifstream in(path, std::ios::binary);
  std::string beginning(kMark.size(), ' ');
  in.read(beginning.data(), static_cast<std::streamsize>(kMark.size()));
  beginning.resize(static_cast<size_t>(in.gcount()));
  if (!beginning.empty() && !kMark.starts_with(beginning))
    refuse(ErrorKind::kLog, "the file " + path + " is not a tuning log of Tensorwright",
           {"give another one, or none that exists, as --log"});
}

void read_log(const std::string& path, std::vector<Entry>& entries) {
  std::map<std::string, Entry*> known;
  for (Entry& entry : entries) known.emplace(identity(entry.record), &entry);
  std::ifstream in(path, std::ios::binary);
  for (std::string line; std::getline(in, line);) {
    const Result<std::string> object = support::unsealed(line);
    const Json record = object ? support::read_json<Json>(*object) : Json();
    if (!record.is_object()) continue;  // a damaged line does not count
    try {
      const auto found = known.find(identity(record));
      if (found == known.end()) continue;
      const Json& result = record.at("result");
      found->second->note(record.at("kind").get<std::string>(), result.at("status").get<std::string>(),
                          result.at("seconds").get<double>(), result.at("spread").get<double>());
    } catch (const Json::exception&) {
      continue;  // nor does one of somebody else
    }
  }
}

// ---------------------------------------------------------------------------------------------------------- measuring

class PackMeasurer {
 public:
  PackMeasurer(const Pack& pack, runtime::Runner& runner, const MeasurePackOptions& options)
      : pack_(pack),
        runner_(runner),
        options_(options),
        request_(request_here(pack.checks, runner)),
        entries_(entries_of(pack, request_, runner.machine())),
        log_(options.log) {
    read_log(options.log, entries_);
    for (size_t i = 0; i < entries_.size() && !anchor_.begun(); ++i) begin_anchor(i, true);
  }

  MeasuredPack measure() {
    for (size_t i = 0; i < entries_.size() && !stop(); ++i) measure(i);
    confirm();
    out_.progress = progress();
    return out_;
  }

 private:
  bool stop() {
    out_.stopped = out_.stopped || (options_.should_stop && options_.should_stop());
    return out_.stopped;
  }

  void measure(size_t i) {
    if (!entries_[i].status.empty()) return;
    if (pack_.candidates[i].object.size() > 0) {
      if (anchor_.due()) time_anchor();
      run(i, "trial", give_up_above(i));
      anchor_.count();
      begin_anchor(i, false);
    } else {
      write(i, "trial", not_built(entries_[i].record));
    }
    ++out_.measured;
    if (options_.on_trial) options_.on_trial(progress());
  }

  static runtime::RecordedResult not_built(const Json& record) {
    const Json& result = record.at("result");
    return {result.at("status").get<std::string>(), 0, 0, 0, result.at("detail").get<std::string>(), 0};
  }

  // As the tuner has it.
  double give_up_above(size_t i) const {
    const size_t first = i / static_cast<size_t>(pack_.batch) * static_cast<size_t>(pack_.batch);
    double best = pack_.best_s > 0 ? pack_.best_s : INFINITY;
    for (size_t e = 0; e < first; ++e)
      if (entries_[e].ok()) best = std::min(best, entries_[e].seconds);
    const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(i);
    const auto timed =
        std::find_if(entries_.begin() + static_cast<std::ptrdiff_t>(first), end, std::mem_fn(&Entry::ok));
    return runtime::give_up_above(best, timed == end ? 0 : timed->seconds);
  }

  // Of GPUs, whose clocks go with their heat and with what else draws power.
  void begin_anchor(size_t i, bool before) {
    if (anchor_.begun() || !entries_[i].ok() || !is_for_gpu(pack_.checks)) return;
    anchor_.begin(entries_[i].seconds, entries_[i].spread, before);
    anchor_at_ = i;
  }
  void time_anchor() {
    const RunResult result = result_of(anchor_at_, 0);
    result.status == RunStatus::kOk ? anchor_.again(result.seconds, result.spread) : anchor_.failed();
  }

  RunResult result_of(size_t i, double give_up_above) {
    RunRequest request = request_;
    request.object = pack_.candidates[i].object;
    request.lower_bound_s = pack_.candidates[i].lower_bound_s;
    request.give_up_above_s = give_up_above;
    request.candidate = i;
    return runtime::judged(runner_.run(request));
  }

  void run(size_t i, const std::string& kind, double give_up_above) {
    RunResult result = result_of(i, give_up_above * anchor_.drift());
    result.seconds /= anchor_.drift();
    write(i, kind,
          {std::string(to_string(result.status)), result.seconds, result.spread, result.runs,
           runtime::one_line(result.detail), *std::max_element(request_.rtol.begin(), request_.rtol.end())});
  }

  void write(size_t i, const std::string& kind, const runtime::RecordedResult& result) {
    Json record = entries_[i].record;
    record["kind"] = kind;
    runtime::put_result(record, result);
    record["environment"]["time"] = runtime::utc_now();
    if (anchor_.drift() != 1) record["environment"]["drift"] = anchor_.drift();
    if (kind == "confirm") record.erase("features");
    log_.append(support::sealed(support::to_printable_text(record)));
    entries_[i].note(kind, result.status, result.seconds, result.spread);
  }

  void confirm() {
    std::vector<size_t> leaders;
    for (size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].ok()) leaders.push_back(i);
    std::stable_sort(leaders.begin(), leaders.end(),
                     [&](size_t a, size_t b) { return entries_[a].seconds < entries_[b].seconds; });
    if (leaders.size() > static_cast<size_t>(pack_.confirm)) leaders.resize(static_cast<size_t>(pack_.confirm));
    for (;;) {
      std::vector<runtime::LeaderTimes> times;
      for (const size_t i : leaders)
        times.push_back({entries_[i].seconds, entries_[i].again, entries_[i].rounds, entries_[i].failed_again});
      const std::vector<size_t> round = runtime::next_round(times);
      if (round.empty()) return;
      for (const size_t place : round) {
        if (stop()) return;
        if (anchor_.due()) time_anchor();
        run(leaders[place], "confirm", 0);
        anchor_.count();
      }
    }
  }

  PackProgress progress() const {
    PackProgress p{.total = static_cast<int>(entries_.size())};
    for (const Entry& entry : entries_) {
      p.done += !entry.status.empty();
      p.failures += !entry.status.empty() && failed(entry.status);
      if (entry.ok() && (p.best_s == 0 || entry.seconds < p.best_s)) p.best_s = entry.seconds;
    }
    return p;
  }

  const Pack& pack_;
  runtime::Runner& runner_;
  const MeasurePackOptions& options_;
  const RunRequest request_;  // of every candidate
  std::vector<Entry> entries_;
  runtime::Anchor anchor_;
  size_t anchor_at_ = 0;  // which of them that is
  support::LineFile log_;
  MeasuredPack out_;
};

}  // namespace

MeasuredPack measure_pack(const Pack& pack, runtime::Runner& runner, const MeasurePackOptions& options) {
  require_log(options.log);
  return PackMeasurer(pack, runner, options).measure();
}

}  // namespace tw::rpc
