#include "autotune/proposals.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "autotune/log/transfer.h"
#include "autotune/model/features.h"

namespace tw::autotune {

Proposals::Proposals(const Task& task, const TuneOptions& options, const schedule::Machine& machine)
    : task_(task),
      machine_(machine),
      proposer_(
          task.space(), make_search(options.search), make_cost_model(options.model, options.seed),
          [this](uint64_t i) { return describe(i); }, [this](uint64_t i) { return is_legal(i); }, options.seed,
          options.explore) {
  limit(options);
}

void Proposals::limit(const TuneOptions& options) {
  if (!options.range) return;
  const auto [first, last] = *options.range;
  if (first > last || last >= task_.space().size())
    throw Error({ErrorKind::kArgument,
                 "tune: range_idx must lie within 0.." + std::to_string(task_.space().size() - 1) + ", not be (" +
                     std::to_string(first) + ", " + std::to_string(last) + ")",
                 {},
                 {"the first and the last index that are measured"}});
  proposer_.limit(first, last);
}

void Proposals::start_from(const TuneOptions& options) {
  std::error_code ignored;
  if (!options.model_file.empty() && std::filesystem::exists(options.model_file, ignored))
    proposer_.start_from(read_model_file(options.model_file));
  if (!options.transfer.empty()) proposer_.start_from(samples_of_logs(options.transfer));
}

std::optional<Description> Proposals::describe(uint64_t index) {
  Result<Scheduled> s = task_.applied(index);
  if (s) return description_of(s->schedule, machine_);
  refuse(s.error().what);
  return std::nullopt;
}

// What is proposed is prepared by then. It is applied once more for that: keeping the schedules of all that are
// described would cost more than applying the few that are proposed.
bool Proposals::is_legal(uint64_t index) {
  Result<Candidate> c = prepare(task_, index);
  const bool legal = c.ok();
  if (legal)
    prepared_.insert_or_assign(index, *std::move(c));
  else
    refuse(c.error().what);
  return legal;
}

void Proposals::refuse(const std::string& why) {
  const std::lock_guard lock(refusing_);
  ++refusals_[why];
}

std::vector<uint64_t> Proposals::propose(size_t count, uint64_t batch, std::span<const uint64_t> under_way) {
  prepared_.clear();
  return proposer_.propose(count, batch, under_way);
}

std::vector<Candidate> Proposals::take(const std::vector<uint64_t>& indices) {
  std::vector<Candidate> candidates;
  for (const uint64_t index : indices) {
    candidates.push_back(std::move(prepared_.at(index)));
    candidates.back().bound = proposer_.description_of(index)->bound;
  }
  return candidates;
}

// A lost worker says nothing about the candidate.
void Proposals::tell(const Trial& t) {
  if (t.status == to_string(runtime::RunStatus::kDeviceLost))
    proposer_.exclude(t.index);
  else
    proposer_.tell(t.index, t.timed() ? t.seconds : INFINITY);
}

}  // namespace tw::autotune
