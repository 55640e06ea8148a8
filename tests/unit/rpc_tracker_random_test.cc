#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>

#include "rpc/tracker/state.h"
#include "src/support/rng.h"

namespace tw::rpc {
namespace {

const char* const kFourCores = R"({"cores":4})";
const char* const kTwoCores = R"({"cores":2})";

// What carries out decisions would know of boards and clients, for 100,000 random events.
class Anything {
 public:
  explicit Anything(uint64_t seed) : rng_(seed), state_(few()) {}

  void event() {
    now_ += rng_.uniform() * 0.05;
    switch (rng_.below(12)) {
      case 0:
        enter();
        break;
      case 1:
        ask();
        break;
      case 2:
        ask();
        break;
      case 3:
        leave();
        break;
      case 4:
        lose();
        break;
      case 5:
        release();
        break;
      case 6:
        state_.pass(now_);
        break;
      default:
        hear();
        break;
    }
    for (const Decision& d : state_.decide(now_)) std::visit([&](const auto& decision) { carry_out(decision); }, d);
    check();
  }
  void end() {
    for (const BoardId id : boards_) state_.lose(now_, id, "the end");
    for (const auto& [id, request] : clients_) state_.leave(now_, id);
    state_.pass(now_ += 1e6);
    EXPECT_TRUE(state_.boards().empty());
    EXPECT_TRUE(state_.waiting().empty());
  }
  int grants() const { return grants_; }

 private:
  static TrackerRules few() {
    TrackerRules rules;
    rules.boards = 8;
    rules.clients = 20;
    rules.remembered_s = 2;
    return rules;
  }

  void enter() {
    const bool in_session = rng_.below(4) == 0;
    const auto id = state_.enter(now_, key(), "b" + std::to_string(rng_.below(6)),
                                 rng_.below(2) == 0 ? kTwoCores : kFourCores, in_session);
    if (id) boards_.insert(*id);
  }
  void ask() {
    const BoardRequest request{key(), rng_.below(3) == 0 ? "cores >= 4" : "", static_cast<int32_t>(rng_.below(3)),
                               rng_.uniform() * 5, rng_.below(2) == 0 ? 0 : rng_.uniform() * 3};
    const auto id = state_.ask(now_, request);
    if (id) clients_[*id] = request;
  }
  void leave() {
    if (clients_.empty()) return;
    const ClientId id = std::next(clients_.begin(), static_cast<long>(rng_.below(clients_.size())))->first;
    state_.leave(now_, id);
    forget(id);
  }
  void lose() {
    if (rng_.below(4) == 0 && !boards_.empty()) state_.lose(now_, any_board(), "lost");
  }
  void release() { (void)state_.release(now_, "b" + std::to_string(rng_.below(6))); }
  void hear() {
    if (boards_.empty()) return;
    const BoardId id = any_board();
    const bool in_session = leases_.count(id) > 0 || rng_.below(8) == 0;
    state_.hear(now_, id, in_session, rng_.below(8) == 0 ? 2 : 0, static_cast<uint32_t>(rng_.below(16) == 0 ? 3 : 0),
                "x");
  }

  void carry_out(const Grant& g) {
    ++grants_;
    EXPECT_EQ(clients_.count(g.client), 1u) << "granted to nobody";
    EXPECT_EQ(boards_.count(g.board), 1u) << "a board that is gone was granted";
    EXPECT_TRUE(leases_.emplace(g.board, g.client).second) << "a board was granted twice";
    expect_first(g);
    if (rng_.below(3) > 0) state_.attach(now_, g.client);
  }
  // Nobody who still waits for such a board comes before who got it.
  void expect_first(const Grant& g) {
    const BoardRequest& served = clients_.at(g.client);
    for (const BoardView& v : state_.boards())
      for (const WaitingView& w : state_.waiting()) {
        if (v.id != g.board || w.request->key != served.key || !suits(v, *w.request)) continue;
        EXPECT_FALSE(std::pair(-w.request->priority, w.id) < std::pair(-served.priority, g.client));
      }
  }
  void carry_out(const EndOfLease& e) {
    EXPECT_EQ(leases_.count(e.board) > 0 && leases_[e.board] == e.client, true) << "a lease that was none ended";
    leases_.erase(e.board);
    if (!e.waits) clients_.erase(e.client);
  }
  void carry_out(const Refusal& r) {
    for (const auto& [board, client] : leases_) EXPECT_NE(client, r.client) << "who has a board was refused";
    EXPECT_EQ(clients_.erase(r.client), 1u);
  }
  void carry_out(const Loss& l) {
    EXPECT_EQ(leases_.count(l.board), 0u) << "a board was lost with a lease out";
    boards_.erase(l.board);
  }

  // Each board and client is what the decisions made of it, and nobody waits for a board that is free and suits.
  void check() {
    std::map<std::string, int> names;
    size_t leased = 0, there = 0;
    std::vector<BoardView> free;
    for (const BoardView& v : state_.boards()) {
      EXPECT_EQ(++names[v.name], 1);
      there += v.status != BoardStatus::kLost;
      leased += v.status == BoardStatus::kLeased;
      EXPECT_EQ(v.status == BoardStatus::kLeased, leases_.count(v.id) > 0);
      if (v.status == BoardStatus::kFree) free.push_back(v);
    }
    EXPECT_EQ(there, boards_.size());
    EXPECT_EQ(leased, leases_.size());
    const std::vector<WaitingView> waiting = state_.waiting();
    EXPECT_EQ(waiting.size() + leased, clients_.size());
    for (size_t i = 0; i < waiting.size(); ++i) {
      const BoardRequest& r = *waiting[i].request;
      for (const BoardView& v : free) EXPECT_FALSE(v.key == r.key && suits(v, r)) << "a free board, and somebody waits";
      if (i == 0 || waiting[i - 1].request->key != r.key) continue;
      const int32_t before = waiting[i - 1].request->priority;
      EXPECT_TRUE(before > r.priority || (before == r.priority && waiting[i - 1].id < waiting[i].id));
    }
  }

  static bool suits(const BoardView& board, const BoardRequest& request) {
    return Predicate::parse(request.predicate).value_or_throw().lacking(*board.facts).empty();
  }
  std::string key() { return rng_.below(2) == 0 ? "k" : "l"; }
  BoardId any_board() { return *std::next(boards_.begin(), static_cast<long>(rng_.below(boards_.size()))); }
  void forget(ClientId id) {
    clients_.erase(id);
    std::erase_if(leases_, [&](const auto& lease) { return lease.second == id; });
  }

  support::Rng rng_;
  TrackerState state_;
  double now_ = 0;
  int grants_ = 0;
  std::set<BoardId> boards_;
  std::map<ClientId, BoardRequest> clients_;
  std::map<BoardId, ClientId> leases_;
};

TEST(TrackerState, KeepsItsRulesWhateverHappens) {
  Anything anything(7);
  for (int i = 0; i < 100000 && !testing::Test::HasFailure(); ++i) anything.event();
  anything.end();
  EXPECT_GT(anything.grants(), 5000);
}

}  // namespace
}  // namespace tw::rpc
