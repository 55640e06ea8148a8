// Loads beside a tile of sums that moves to registers: under which guards they stand there.
//
//   for i in 0..16 vectorized:                     if o * 16 < 70:                         the first lane's
//     if o * 16 + i < 70:                    ==>     for i in 0..16 vectorized:
//       C[i] = C[i] + A[k] * B[o * 16 + i]             acc[i] = acc[i] + A[k] * B[o * 16 + i where o * 16 + i < 70]
#pragma once

#include <unordered_set>
#include <vector>

#include "src/lower/reduction_tile.h"

namespace tw::lower {

struct LaneGuards {
  ir::Expr varying;             // those of which each lane has another
  ir::Expr uniform;             // those that are the same for all lanes,
  std::vector<ir::Expr> first;  // provided that these hold, which the statement around can ask
};

// A statement that is rewritten with an accumulator.
class LaneGuarded {
 public:
  LaneGuarded(const ir::Stmt&, const ir::Buffer& tile);

  LaneGuards under(const ir::Expr& guard, const LaneGuards& outer, const std::vector<TileLoop>&) const;

  // Whether lanes read different elements: what is the same for all is there if it is for the first.
  bool varies(const ir::Load&, const std::vector<TileLoop>&) const;

  // Loads under conditions to which each lane has an answer of its own: what one that counts would read, the others
  // may not.
  using Loads = std::unordered_set<const ir::ExprNode*>;
  Loads chosen_by_lanes(const ir::Expr& value, const std::vector<TileLoop>&) const;

  void ask(const std::vector<ir::Expr>& conditions);
  const std::vector<ir::Expr>& asked() const { return asked_; }  // where one does not hold, no lane counts

 private:
  bool on_lane(const ir::Expr&, const std::vector<TileLoop>&) const;
  void add_chosen(Loads& to, const ir::Expr& value, const std::vector<TileLoop>&) const;

  std::unordered_set<uint64_t> bound_, lets_;  // variables that it binds; those of Lets among them
  bool only_tile_ = true;                      // it does nothing else
  std::vector<ir::Expr> asked_;
};

}  // namespace tw::lower
