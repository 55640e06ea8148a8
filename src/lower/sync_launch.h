// The walk of sync_check through a launch, in the order of the program: it keeps what was touched since the last
// barrier on some path, and compares each access with all of that.
//
//   sync_check.cc       statements, conditions, barriers
//   sync_loops.cc       which iterations stand for all
//   sync_accesses.cc    what is touched, and whom it meets
//   sync_turn_calls.cc  turns of barriers that copies have
//   sync_products.cc    what is the same for all threads, or for those of a product
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/interval.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"
#include "src/lower/sync_access.h"
#include "src/lower/sync_check.h"
#include "src/lower/sync_forms.h"
#include "src/lower/sync_group.h"
#include "src/lower/sync_place.h"
#include "src/lower/sync_turns.h"
#include "src/lower/sync_warp.h"
#include "src/lower/sync_ways.h"

namespace tw::lower {

std::string line_of(const ir::Stmt&);  // the first of its text

class LaunchCheck {
 public:
  LaunchCheck(const std::unordered_map<uint64_t, ir::Buffer>& declared, const std::vector<ir::Expr>& required,
              int64_t most_rows, std::vector<SyncFinding>& findings)
      : declared_(declared), required_(required), most_rows_(most_rows), findings_(findings) {}

  void run(const ir::Stmt& launch);

 private:
  using Kind = SyncFinding::Kind;
  static constexpr int64_t kMostPairs = 1'000'000;  // of accesses that are looked at

  void judge(const ir::Stmt& launch);
  bool too_much() const { return pairs_ > kMostPairs || known_.rows() > most_rows_; }

  void statement(const ir::Stmt& s, const Place& place);
  void pass(const ir::Sync& sync);
  void expect_arrived(const std::optional<ir::Buffer>& of);  // what is stored later, there or anywhere

  // Whose threads go on by turns that are theirs to count: sync_roles.h. The rest of it is as elsewhere.
  void roles(const ir::If& i, const ir::Stmt& s, const Place& place);

  void branch(const ir::If& i, const Place& place);
  void otherwise(const ir::If& i, const Place& place, const std::vector<Touched>& before);

  // ---- loops

  void loop(const ir::For& f, const ir::Stmt& s, const Place& place);
  void iterations(const ir::For& f, const ir::Stmt& s, const Place& place);

  // Iteration n is thread n's modulo their number.
  void cooperative(const ir::For& f, const ir::Expr& extent, const Place& place);

  // The threads are in one iteration at a time.
  void together(const ir::For& f, const ir::Expr& extent, const Place& place);

  // The same where what an iteration begins arrives in a later one: after `lasts` more nothing of it is left, nor of
  // what was begun before the loop, so that the first ones are known, and every other one by as many before it.
  void in_turn(const ir::For& f, const ir::Expr& extent, const Place& place);

  // How many iterations after one everything of it is done with.
  template <class F>
  int64_t how_long(const F& iteration);

  // The access where the extent is that; nothing where it is known to be another there.
  std::optional<Touched> where_equal(Touched access, const ir::Expr& extent, int64_t n);

  template <class F>
  std::vector<Touched> what_is_left(const F& f);

  // What was there already is not there twice, or nested loops would double it each time.
  void join(std::vector<Touched> others);

  // But for where and when they are.
  bool alike(const Touched& a, const Touched& b) const;

  // The same access, under the first of the other's conditions or all of them.
  bool says_no_less(const Touched& b, const Touched& a) const;

  // ---- accesses

  void reads(const ir::Expr& e, const ir::Stmt& s, const Place& place);

  Place with_let(const ir::Var& var, const ir::Expr& e, const Place& place) const;

  // Where the condition holds, of one with lanes in one of them.
  Place where(const ir::Expr& condition, const Place& place) const;

  ir::Expr value(const ir::Expr& e, const Place& place) const {
    return place.values.empty() ? e : ir::substitute(e, place.values);
  }

  Access with_conditions(const Place& place) const;

  void touch(const ir::Buffer& buffer, const std::vector<ir::Expr>& at, const ir::Expr& pred, bool writes,
             const ir::Stmt& s, const Place& place);

  void compare(const Touched& a, const Touched& b, Apart apart);

  // A store and what comes behind a barrier, before which no fence stood.
  void expect_fenced(const Touched& store, const Touched& now);

  // ---- turns of barriers that copies have

  // A wait for a turn is a read of its barrier, by all, and what begins the next one there a write: a barrier of the
  // block stands between.
  void of_turn(const ir::AsyncCall& call, const ir::Stmt& s, const Place& place);

  void on_its_way(const ir::AsyncCall& call, const ir::Stmt& s, const std::string& why);

  bool is_of(const Touched& a, const TurnOf& turn) const;

  // All wait, and see what came with the turn.
  void is_over(const ir::AsyncCall& call, const ir::Stmt& s);

  void expect_only_boxes(const ir::AsyncCall& call, const ir::Stmt& s);

  void box(const ir::AsyncCall& call, const ir::Stmt& s, const Place& place);

  void expect_uniform(const ir::Expr& e, const Place& place);

  // `threads`: their indices in terms of those of the launch that is asked of.
  void expect_same(const ir::Expr& e, const Place& place, const ir::Substitution& threads, const LaunchIndices& indices,
                   Kind kind, const std::string& differ);

  // ---- products of a warp

  // Where registers are: the same place for all lanes. What they hold is each thread's own. Of a load each lane reads a
  // row of shared memory.
  void of_warp(const ir::CallExtern& call, const ir::Stmt& s, const Place& place);

  // Whose element a lane gets.
  void lane_of_warp(const ir::Expr& lane, const ir::Stmt& s, const Place& place);

  void expect_same_in_warp(const ir::Expr& e, const Place& place);
  void expect_same_in_group(const ir::Expr& e, const Place& place);

  // A loop around a product has the same iterations for all lanes of a warp, who are in one at a time: its variable is
  // none of their own.
  void expect_same_among(const std::optional<WarpIndices>& those, const ir::Expr& e, const Place& place,
                         const std::string& differ);

  // ---- products of four warps

  void touch_registers(const ir::Buffer& buffer, const ir::Stmt& s);

  void of_group(const ir::GroupCall& call, const ir::Stmt& s, const Place& place);

  // Whole lines, within which elements are exchanged.
  void operand(const ir::GroupCall& call, const ir::GroupOperand& of, ir::Fragment which, const ir::Stmt& s,
               const Place& place);

  void report(SyncFinding finding);

  std::unordered_map<uint64_t, ir::Buffer> declared_;
  const std::vector<ir::Expr>& required_;  // of sizes, or the kernel does not run
  const int64_t most_rows_;
  std::vector<SyncFinding>& findings_;
  LaunchIndices indices_;
  std::unordered_map<uint64_t, int> axis_;  // of a thread's index: 0 for x
  std::optional<WarpIndices> warp_, group_;
  std::unordered_set<uint64_t> of_warp_;  // variables of loops around products
  ir::Bounds bounds_;
  std::unordered_set<uint64_t> changing_;  // written by the launch
  std::unordered_set<uint64_t> stored_;    // by its threads
  const ir::Var lane_{"lane"};
  AccessForms forms_;
  Verdicts known_;
  std::vector<Touched> open_;  // since the last barrier, on some path
  bool later_ = false;         // what is touched is on its way
  bool of_group_ = false;      // by a product
  GroupRegisters registers_;
  std::unordered_set<uint64_t> operands_;  // of products
  TurnOf turn_;                            // that what is touched belongs to
  BarrierTurns turns_;
  std::unordered_map<uint64_t, int64_t> arrivals_;  // that a ring's barriers count
  std::unordered_set<uint64_t> of_roles_;           // what boxes of roles come to, where these are parted
  std::set<std::tuple<Kind, const ir::StmtNode*, const ir::StmtNode*, uint64_t>>
      reported_;  // pairs that have a finding
  int64_t met_ = 0, pairs_ = 0;
  bool between_blocks_ = false;  // then all accesses of the launch, whatever barriers there are
  int quiet_ = 0;
  SyncWays ways_;
};

}  // namespace tw::lower
