// Which record a kernel is frozen by. Follows from the log and what is asked for, whichever machine asks.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "autotune/log/record.h"
#include "tensorwright/aot.h"

namespace tw::aot {

// What a log says of one computation on one target.
class RecordChoice {
 public:
  RecordChoice(const std::string& log, const std::string& hash, const Target& target);

  bool empty() const { return log_.records.empty(); }
  struct Best {
    FrozenRecord record;
    autotune::Trial trial;
  };
  // The best of that hardware (of the only one there is) and so many threads (the most); none where all failed. Throws
  // kLog, naming what there is, where it has several or not this one.
  std::optional<Best> best(const std::string& log, const std::string& hardware, int threads) const;

 private:
  autotune::Log log_;
  std::vector<std::string> checksums_;  // of the records
};

}  // namespace tw::aot
