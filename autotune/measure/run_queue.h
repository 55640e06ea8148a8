// Runs on a Runner elsewhere: as many at once as it has slots, begun in the order in which they were given. They end in
// any order, while the thread that gave them builds the next.
//
// A run that was lost goes to the end of the queue; when it was lost for the third time that is its status, which is
// never the candidate's fault.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "autotune/measure/measure.h"

namespace tw::autotune {

class RunQueue {
 public:
  // Told of each that has its result or needs none, by its slot before that runs another; what it throws ends all.
  using Arrived = std::function<void(Built)>;

  // The measurer outlives it.
  RunQueue(Measurer&, int slots);
  ~RunQueue();  // forgets what was not begun, and waits for what was

  void add(Built, double give_up_above, Arrived);
  // Until `enough`, which is asked after each run, or the measurer was stopped. Throws what a run threw.
  void wait(const std::function<bool()>& enough);

 private:
  struct Run {
    Built built;
    double give_up_above = 0;
    Arrived arrived;
    int lost = 0;  // times
  };
  void serve_slot();
  bool done(Run&);

  Measurer& measurer_;
  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::deque<Run> waiting_;
  std::exception_ptr thrown_;
  bool ending_ = false;
  std::vector<std::jthread> slots_;  // last: they use the others
};

}  // namespace tw::autotune
