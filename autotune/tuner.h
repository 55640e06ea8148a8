// One task's tuning, a batch at a time: what tune() runs to its end, and a TaskScheduler interleaves with others.
#pragma once

#include <memory>

#include "rpc/pack.h"
#include "tensorwright/autotune.h"

namespace tw::autotune {

class Tuning {
 public:
  virtual ~Tuning() = default;
  virtual void begin() = 0;  // reads the log; first
  // Measures the rest of the batch that the log cut off, or the next one: at most `room` trials. With a Runner
  // elsewhere that batch has begun then, and the one before counts. False when the space holds nothing more, when an
  // early stop was asked for and is due, or on request.
  virtual bool step(int room) = 0;
  virtual bool stopping() = 0;                   // TuneOptions::should_stop said so
  virtual const TuneResult& so_far() const = 0;  // trials, curve and counts: what decides
  virtual int begun() const = 0;                 // trials of the above, and those that are still to count
  virtual bool cut_off() const = 0;              // the log ends within a batch
  // Times the leaders again. Throws TuneError when every candidate failed. Last.
  virtual TuneResult finish() = 0;
  // In the place of the last two: the next candidates, at most `count`, built and not run.
  virtual rpc::Pack pack(int count) = 0;
};

// The task and the options stay the caller's; a null runner measures in local workers.
std::unique_ptr<Tuning> start_tuning(const Task&, const TuneOptions&, runtime::Runner*);
// For a machine that is not reached from here, where nothing but pack() works.
std::unique_ptr<Tuning> start_packing(const Task&, const TuneOptions&, const MachineDescription& where);

// Throw Error for options that have no meaning, and TuneError where the Runner cannot run the target's code.
void check_options(const TuneOptions&);
void check_target(const Target&, const runtime::Runner&);

}  // namespace tw::autotune
