// What the threads of a launch touch, and whether two of them can meet at one element.
#pragma once

#include <string>
#include <vector>

#include "src/ir/walk.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// A variable whose value is each thread's own affair: 0 <= var < extent; without an extent any.
struct OwnVariable {
  ir::Var var;
  ir::Expr extent;
};

// One access of a statement, as each thread of a launch makes it. Variables that are not its own are the same for all
// threads that the access is compared with.
struct Access {
  ir::Buffer buffer;  // as declared
  std::vector<ir::Expr> at;
  bool writes = false;
  std::vector<OwnVariable> own;
  std::vector<ir::Expr> conditions;  // under which it is made
  ir::Stmt statement;
  bool unsure = false;  // under others too, which are not of indices
};

struct LaunchIndices {
  std::vector<OwnVariable> blocks, threads;
  int64_t in_cluster = 1;  // blocks
};

// Who may meet: two threads of one block, or of different blocks; kNothing: any of a block, a thread and itself too.
enum class Apart : uint8_t { kThreads, kBlocks, kNothing };

// Why two such threads may touch one element: nothing where it is proved that they don't; certain where two are known
// that do.
struct Verdict {
  std::string why;
  bool certain = false;
  int64_t rows = 0;  // of the systems that were looked at
  bool apart() const { return why.empty(); }
};
// `changing`: ids of the buffers that the launch writes, whose elements are not the same at any two times.
Verdict meeting(const Access& a, const Access& b, const LaunchIndices& launch, Apart apart,
                const std::unordered_set<uint64_t>& changing);

// Whether 0 <= value < extent is proved wherever the access is made: of its subscripts, which `value` is one of, or a
// sum.
bool is_within(const Access& access, const ir::Expr& value, const ir::Expr& extent);

// Whether the condition holds for all threads of a block or for none, of those that `here` says.
bool same_for_all(const ir::Expr& condition, const Access& here, const LaunchIndices& launch,
                  const std::unordered_set<uint64_t>& changing);

}  // namespace tw::lower
