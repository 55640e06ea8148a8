// Where all threads of a block meet, and conditions that threads find different.
//
//   if tx < 30:                     P[..] = ...                    // by all threads, for all
//     P[..] = ...           ==>     sync
//     sync                          if tx < 30: C[tx] = P[tx]
//     C[tx] = P[tx]
//
// What threads compute for each other they compute whether or not they need it themselves, and a sync is for all of
// them: such a condition stands around everything else instead.
#pragma once

#include <unordered_set>
#include <vector>

#include "tensorwright/ir.h"

namespace tw::schedule {

class Meetings {
 public:
  // All threads must come to this statement, or to each of a sequence.
  void add(const ir::Stmt&);
  // Whether all must come to something there.
  bool in(const ir::Stmt&) const;
  // `body`, what all must come to without the condition.
  ir::Stmt guarded(const ir::Expr& condition, const ir::Stmt& body) const;

 private:
  bool is_one(const ir::Stmt&) const;
  ir::Stmt each_guarded(const ir::Expr& condition, const ir::Seq&) const;

  std::vector<ir::Stmt> kept_;  // so that no other statement has the place in memory of one of them
  std::unordered_set<const ir::StmtNode*> known_;
};

}  // namespace tw::schedule
