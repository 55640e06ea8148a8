// What the ways through a statement meet with.
#pragma once

#include <unordered_map>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

class SyncWays {
 public:
  bool has_sync(const ir::Stmt& s);
  bool has_product(const ir::Stmt& s);  // of a warp, or a load of one
  bool has_group(const ir::Stmt& s);    // products of four warps, and what is said of them
  bool has_copies(const ir::Stmt& s);   // commits, waits, or what arrives later, turns of barriers
  bool has_turns(const ir::Stmt& s);    // src/ir/async_copies.h
  // Whether every way through passes a barrier.
  bool passes_barrier(const ir::Stmt& s, const ir::Bounds& bounds) const;

 private:
  std::unordered_map<const ir::StmtNode*, bool> syncs_, copies_, products_, groups_, turns_;
};

}  // namespace tw::lower
