// Turns of the barriers that boxes come with (src/ir/async_copies.h) on a way through a launch: which rings are made,
// which turn of each was begun last, and what it still has to bring.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include "src/ir/async_copies.h"
#include "src/ir/interval.h"

namespace tw::lower {

// Of a ring's barriers; what is touched there belongs to it.
struct TurnOf {
  ir::Expr number;  // none: no turn
  uint64_t ring = 0;
  bool waits = false;
};

class BarrierTurns {
 public:
  void makes_or_ends(const ir::AsyncCall&);
  void forget() { begun_.clear(); }  // the walk goes on where another one may have been begun last

  // Each says what is wrong; nothing where nothing is.
  std::string not_made(const TurnOf&) const;
  std::string brings_all(const TurnOf&);  // the turn that was begun last has all of its boxes
  std::string begins(const TurnOf&, int64_t bytes, const ir::Bounds&);
  std::string brings(const TurnOf&, int64_t bytes);

 private:
  struct Begun {
    ir::Expr turn;
    int64_t missing;  // bytes
  };
  std::unordered_set<uint64_t> made_;          // rings whose barriers have begun to be some
  std::unordered_map<uint64_t, Begun> begun_;  // the last turn of each ring, where it is known
};

}  // namespace tw::lower
