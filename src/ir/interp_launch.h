// Launches in the interpreter: who runs, in which order, and where they wait for each other.
#pragma once

#include <optional>

#include "src/ir/interp_program.h"

namespace tw::ir::interp {

// Where the thread that runs waits for others.
struct Meeting {
  virtual ~Meeting() = default;
  virtual void wait(int barrier, bool of_cluster) = 0;  // for all of its block, or of all blocks of its cluster
  virtual void meet(struct LaneCall& call) = 0;         // for all lanes of its warp
  virtual void wait_for(const Barriers::Turn&) = 0;     // for what others begin, or arrive at
  virtual void arrive(const Barriers::Turn&) = 0;
  virtual void let_go_on() = 0;                                // those for whom it was the last to arrive
  virtual void hold_registers(int64_t count) = 0;              // waits for those that others give back
  virtual void know(const Barriers::Turn&) = 0;                // what others did who arrived at a turn that is over
  virtual size_t blocks() const = 0;                           // of the cluster
  virtual Memory& memory_of(size_t block, size_t memory) = 0;  // that its threads share
  // The thread touches such memory, of this block, until it says that it does no longer.
  virtual void reach(std::optional<size_t> block) = 0;
};

// Of the outermost index.
StmtPtr launch_code(Preparation&, const For&);
// A barrier is the next one in the text of the launch that is being prepared.
StmtPtr sync_code(Preparation&, const Sync&);

}  // namespace tw::ir::interp
