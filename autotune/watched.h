// What those who watch a tuning are shown (TuneOptions::on_trial).
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "autotune/model/roofline.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

class Watched {
 public:
  // Both outlive it.
  Watched(const Task& task, const TuneOptions& options) : task_(task), options_(options) {}

  void begin();
  double elapsed_s() const;
  std::atomic<int> pruned = 0;  // by what was proposed

  // After a trial. `arrived` is what was measured and doesn't count yet; `boards` is what a Runner says of its own.
  void show(const Trial& current, const TuneResult& so_far, const std::vector<Trial>& arrived,
            const MachineDescription& where, const std::string& boards);

 private:
  const Task& task_;
  const TuneOptions& options_;
  double start_ = 0;
  std::optional<Roofline> roofline_;
};

}  // namespace tw::autotune
