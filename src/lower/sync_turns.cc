#include "src/lower/sync_turns.h"

#include <cstdlib>
#include <utility>

#include "src/ir/equal.h"
#include "src/ir/simplify.h"

namespace tw::lower {

using namespace ir;

void BarrierTurns::makes_or_ends(const AsyncCall& call) {
  const uint64_t ring = call.ring.buffer.id();
  if (call.op == AsyncOp::kInit) made_.insert(ring);
  if (call.op == AsyncOp::kEnd) made_.erase(ring);
  begun_.insert_or_assign(ring, Begun{Expr(-1), 0});
}

std::string BarrierTurns::not_made(const TurnOf& turn) const {
  return made_.contains(turn.ring) ? "" : "nobody has made it a ring of barriers";
}

std::string BarrierTurns::brings_all(const TurnOf& turn) {
  const auto last = begun_.find(turn.ring);
  if (last == begun_.end() || last->second.missing == 0) return {};
  const int64_t missing = std::exchange(last->second.missing, 0);
  return "turn " + to_string(last->second.turn) + " brings " + std::to_string(std::abs(missing)) + " bytes " +
         (missing > 0 ? "less" : "more") + " than are expected of it";
}

std::string BarrierTurns::begins(const TurnOf& turn, int64_t bytes, const Bounds& bounds) {
  std::string why;
  const auto before = begun_.find(turn.ring);
  if (before != begun_.end() && !is_int(simplify(turn.number - before->second.turn, bounds), 1))
    why = "turn " + to_string(turn.number) + " is begun behind " + to_string(before->second.turn);
  begun_.insert_or_assign(turn.ring, Begun{turn.number, bytes});
  return why;
}

std::string BarrierTurns::brings(const TurnOf& turn, int64_t bytes) {
  const auto last = begun_.find(turn.ring);
  if (last == begun_.end()) return {};
  last->second.missing -= bytes;
  if (equal(last->second.turn, turn.number)) return {};
  return "a box comes with turn " + to_string(turn.number) + " behind the beginning of " + to_string(last->second.turn);
}

}  // namespace tw::lower
