// How hot a board is, as its clock tells it: each timing stands between two looks at the clock of a busy core, and one
// at which the clock is over 3 % slower than this session has seen it is made again once the board has cooled.
//
// Not every slow clock is a hot one: that of a virtual machine is what its neighbours leave. Heat goes while a board
// rests, so what the clock still is at the end of a rest, and no longer rises from, is the board's own, and timings at
// it count, with their hertz. A board that slows down while it works and recovers while it rests gains nothing by that.
// Nor is a clock that differs with what the cores do, as where few busy ones may be faster than many: a session begins
// with a fifth of a second of work on all of them, from which nothing becomes hot, and what the clock is then counts.
#pragma once

#include <functional>
#include <limits>
#include <string>

#include "src/runtime/timing.h"
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
    std::function<void()> work = [] {};         // some milliseconds on all cores that kernels are timed on
    std::string root = {};                      // of /sys
    std::function<double()> now = runtime::seconds_now;
  };
  static Machine this_machine(std::function<bool(double seconds)> sleep);
  // Kernels are timed on something else than this machine's cores, of whose clock nothing is known: nothing is hot.
  static Machine unknown();
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
  void work_a_little();
  bool slow(double hertz) const;
  bool is_slow();
  bool looked_just_now() const;  // and the clock was what it should be
  void raise();
  // False: it shall not wait any longer.
  bool recover(bool first);
  bool rest();

  Machine machine_;
  double reference_ = 0, hertz_ = 0, looked_at_ = 0;
  double cool_ = std::numeric_limits<double>::infinity();  // the slowest clock of a board that was not hot
  double slowest_lately_ = std::numeric_limits<double>::infinity();
  int looks_lately_ = 0;
  double worked_at_ = 0;
};

}  // namespace tw::rpc
