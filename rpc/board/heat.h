// How hot a board is, as its clock tells it: each timing stands between two looks at the clock of a busy core, and one
// at which the clock is over 3 % slower than this session has seen it is made again once the board has cooled.
#pragma once

#include <functional>
#include <string>

#include "tensorwright/runtime.h"

namespace tw::rpc {

// When something was timed. What a system does not say is 0 or empty.
struct BoardState {
  double hertz = 0;
  double celsius = 0;  // of the hottest that the system reports
  std::string governor = {};
};

class Heat {
 public:
  // What is asked of the machine, which tests replace.
  struct Machine {
    std::function<double(int looks)> hertz;     // of the core that kernels are timed on
    std::function<bool(double seconds)> sleep;  // false: it shall not wait any longer
    std::string root = {};                      // of /sys
  };
  static Machine this_machine(std::function<bool(double seconds)> sleep);
  explicit Heat(Machine machine) : machine_(std::move(machine)) {}

  // What the clock is now is the least that later timings are held to.
  void begin_session();

  struct Timed {
    runtime::RunResult result;
    BoardState state;
    bool throttled = false;  // it was too hot each time, and the result is none
  };
  // Runs it, and again where it was too hot; what gave no time is run once.
  Timed timed(const std::function<runtime::RunResult()>& run);

 private:
  bool is_slow();
  bool looked_just_now() const;  // and the clock was what it should be
  bool cool(double most_s);

  Machine machine_;
  double reference_ = 0, hertz_ = 0, looked_at_ = 0;
};

}  // namespace tw::rpc
