// What a tuning proposes: candidates that are worth a run, with their Steps applied.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "autotune/measure/measure.h"
#include "autotune/search/proposer.h"

namespace tw::autotune {

class Proposals {
 public:
  // All outlive it; what the machine is, it asks when it proposes. Throws kArgument where the range of the options lies
  // outside of the space.
  Proposals(const Task&, const TuneOptions&, const schedule::Machine&);

  void start_from(const TuneOptions&);  // its model file and other tasks' logs
  // As Proposer::propose.
  std::vector<uint64_t> propose(size_t count, uint64_t batch, std::span<const uint64_t> under_way = {});
  // Of the last proposal, once each.
  std::vector<Candidate> take(const std::vector<uint64_t>& indices);
  void tell(const Trial&);

  Proposer& proposer() { return proposer_; }
  const Proposer& proposer() const { return proposer_; }
  // Of what has no legal schedule: how many for each reason.
  const std::map<std::string, int>& refusals() const { return refusals_; }

 private:
  void limit(const TuneOptions&);
  std::optional<Description> describe(uint64_t index);
  bool is_legal(uint64_t index);
  void refuse(const std::string& why);

  const Task& task_;
  const schedule::Machine& machine_;
  Proposer proposer_;
  std::mutex refusing_;  // candidates are described on several threads
  std::map<std::string, int> refusals_;
  std::unordered_map<uint64_t, Candidate> prepared_;  // of the last proposal
};

}  // namespace tw::autotune
