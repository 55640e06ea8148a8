#include <gtest/gtest.h>

#include <algorithm>

#include "rpc/tracker/state.h"

namespace tw::rpc {
namespace {

const char* const kFourCores = R"({"cores":4})";
const char* const kTwoCores = R"({"cores":2})";

class ATracker : public testing::Test {
 protected:
  BoardId board(const std::string& name, const char* description = kFourCores, bool in_session = false,
                const std::string& key = "rpi4") {
    return state.enter(now, key, name, description, in_session).value_or_throw();
  }
  ClientId client(const std::string& name, int priority = 0, const std::string& predicate = "", double wait_s = 1000,
                  double session_s = 0, const std::string& key = "rpi4") {
    return state.ask(now, {key, predicate, priority, wait_s, session_s, name}).value_or_throw();
  }
  // Of all boards, as they would say it, while time passes.
  void pass(double seconds, const std::vector<BoardId>& heard = {}) {
    for (const double until = now + seconds; now < until - 1e-9;) {
      now += std::min(0.5, until - now);
      for (const BoardId id : heard) state.hear(now, id, false);
      state.pass(now);
    }
  }
  // "client:board ..." of what has been granted since.
  std::string granted() {
    std::string text;
    for (const Decision& decision : decide())
      if (const Grant* grant = std::get_if<Grant>(&decision)) {
        text += (text.empty() ? "" : " ") + std::to_string(grant->client) + ":" + state.name_of(grant->board);
        state.attach(now, grant->client);
      }
    return text;
  }
  std::string grant_of(ClientId id, const std::string& name) { return std::to_string(id) + ":" + name; }
  // Of the first decision of that kind since.
  template <class T>
  T decided() {
    for (const Decision& decision : decide())
      if (const T* found = std::get_if<T>(&decision)) return *found;
    ADD_FAILURE() << "nothing of the kind was decided";
    return {};
  }
  std::vector<Decision> decide() { return state.decide(now); }
  BoardView view(const std::string& name) {
    for (const BoardView& v : state.boards())
      if (v.name == name) return v;
    ADD_FAILURE() << "no board " << name;
    return {};
  }
  std::string status(const std::string& name) { return std::string(to_string(view(name).status)); }

  double now = 1000;
  TrackerState state;
};

// ------------------------------------------------------------------------------------------------------- who is served

TEST_F(ATracker, GivesABoardToWhoAsksForItsKey) {
  board("a");
  const ClientId other = client("x", 0, "", 1000, 0, "rpi5"), fits = client("y");
  EXPECT_EQ(granted(), grant_of(fits, "a"));
  EXPECT_EQ(view("a").client, "y");
  board("b", kFourCores, false, "rpi5");
  EXPECT_EQ(granted(), grant_of(other, "b"));
}

TEST_F(ATracker, ServesTheHighestPriorityFirstAndOfEqualsTheFirst) {
  const ClientId first = client("first"), second = client("second"), urgent = client("urgent", 5),
                 low = client("low", -1);
  std::vector<ClientId> order;
  for (const WaitingView& w : state.waiting()) order.push_back(w.id);
  EXPECT_EQ(order, (std::vector{urgent, first, second, low}));
  const BoardId a = board("a");
  for (const ClientId expected : order) {
    EXPECT_EQ(granted(), grant_of(expected, "a"));
    state.leave(now, expected);
    EXPECT_EQ(granted(), "") << "before the board has said that its session is over";
    state.hear(now, a, false);
  }
  EXPECT_EQ(granted(), "");
}

TEST_F(ATracker, WhoWantsMoreThanABoardHasHoldsUpNobody) {
  const ClientId large = client("large", 9, "cores >= 4"), any = client("any");
  board("small", kTwoCores);
  EXPECT_EQ(granted(), grant_of(any, "small"));
  board("big");
  EXPECT_EQ(granted(), grant_of(large, "big"));
}

TEST_F(ATracker, GivesTheBoardThatHasBeenFreeForLongest) {
  const BoardId a = board("a");
  now += 1;
  board("b");
  const ClientId first = client("first");
  EXPECT_EQ(granted(), grant_of(first, "a"));
  state.leave(now, first);
  now += 1;
  state.hear(now, a, false);
  const ClientId second = client("second"), third = client("third");
  EXPECT_EQ(granted(), grant_of(second, "b") + " " + grant_of(third, "a"));
}

TEST_F(ATracker, WhoGoesWhileWaitingIsForgotten) {
  const ClientId gone = client("gone", 9), stays = client("stays");
  state.leave(now, gone);
  board("a");
  EXPECT_EQ(granted(), grant_of(stays, "a"));
}

TEST_F(ATracker, KeysNamesAndPredicatesThatAreNoneAreRefused) {
  EXPECT_FALSE(state.enter(now, "", "a", "{}", false).ok());
  EXPECT_FALSE(state.enter(now, "k", "a b", "{}", false).ok());
  EXPECT_FALSE(state.enter(now, "k", std::string(65, 'a'), "{}", false).ok());
  EXPECT_FALSE(state.enter(now, "k", "a", "no JSON", false).ok());
  EXPECT_FALSE(state.enter(now, "k", "a", std::string(17 << 10, ' ') + "{}", false).ok());
  EXPECT_FALSE(state.ask(now, {"rpi 4"}).ok());
  EXPECT_FALSE(state.ask(now, {"rpi4", "cores >="}).ok());
  EXPECT_TRUE(state.boards().empty() && state.waiting().empty());
}

TEST_F(ATracker, TakesNoMoreBoardsAndClientsThanItsRulesSay) {
  TrackerRules few;
  few.boards = few.clients = 1;
  state = TrackerState(few);
  board("a");
  client("x");
  EXPECT_FALSE(state.enter(now, "k", "b", "{}", false).ok());
  EXPECT_FALSE(state.ask(now, {"rpi4"}).ok());
}

TEST_F(ATracker, WhatIsLostMakesRoomForWhatComes) {
  TrackerRules few;
  few.boards = 2;
  state = TrackerState(few);
  state.lose(now, board("a"), "lost first");
  now += 1;
  state.lose(now, board("b"), "lost second");
  board("c");
  EXPECT_EQ(status("b"), "lost");
  EXPECT_EQ(status("c"), "free");
  board("d");
  EXPECT_FALSE(state.enter(now, "k", "e", "{}", false).ok());
}

// ------------------------------------------------------------------------------------------------------------ sessions

TEST_F(ATracker, ABoardInASessionOfAnotherTimeIsGrantedOnlyAfterIt) {
  const BoardId a = board("a", kFourCores, true);
  const ClientId x = client("x");
  EXPECT_EQ(granted(), "");
  EXPECT_EQ(status("a"), "in session");
  state.hear(now, a, true);
  EXPECT_EQ(granted(), "");
  state.hear(now, a, false);
  EXPECT_EQ(granted(), grant_of(x, "a"));
}

TEST_F(ATracker, ASessionThatHasLastedLongEnoughEnds) {
  const BoardId a = board("a");
  const ClientId x = client("x", 0, "", 1000, 60);
  EXPECT_EQ(granted(), grant_of(x, "a"));
  pass(59, {a});
  EXPECT_TRUE(decide().empty());
  EXPECT_EQ(status("a"), "leased");
  pass(2, {});
  const auto end = decided<EndOfLease>();
  EXPECT_EQ(end.client, x);
  EXPECT_EQ(end.why, "its session has lasted for 60 s");
  EXPECT_FALSE(end.waits);
  EXPECT_EQ(status("a"), "in session");
}

TEST_F(ATracker, WhoWasNotConnectedYetWaitsAgainInItsOldPlace) {
  const BoardId a = board("a");
  const ClientId x = client("x");
  ASSERT_EQ(decide().size(), 1u);  // granted, not connected
  const ClientId y = client("y");
  state.lose(now, a, "it did not open a connection");
  const auto end = decided<EndOfLease>();
  EXPECT_EQ(end.client, x);
  EXPECT_TRUE(end.waits);
  board("b");
  EXPECT_EQ(granted(), grant_of(x, "b"));
  board("c");
  EXPECT_EQ(granted(), grant_of(y, "c"));
}

// ------------------------------------------------------------------------------------------------ lost and quarantined

TEST_F(ATracker, ABoardThatIsSilentForThreeSecondsIsLost) {
  const BoardId a = board("a"), b = board("b");
  pass(10, {a, b});
  EXPECT_TRUE(decide().empty());
  pass(2.9, {b});
  EXPECT_EQ(status("a"), "free");
  pass(0.5, {b});
  const auto loss = decided<Loss>();
  EXPECT_EQ(loss.board, a);
  EXPECT_EQ(view("a").why, "it was silent for 3 s");
  state.hear(now, a, false);
  EXPECT_EQ(status("a"), "lost") << "it has to register again";
}

TEST_F(ATracker, ABoardThatTimesMayBeSilentForAsLongAsItSays) {
  const BoardId a = board("a");
  state.hear(now, a, true, 20);
  pass(22.9);
  EXPECT_EQ(status("a"), "in session");
  pass(0.5);
  EXPECT_EQ(status("a"), "lost");
  const BoardId b = board("b");
  state.hear(now, b, true, 1e9);
  pass(304);
  EXPECT_EQ(status("b"), "lost") << "nobody may be silent for ever";
}

TEST_F(ATracker, TheLeaseOfABoardThatIsLostEnds) {
  const BoardId a = board("a");
  const ClientId x = client("x");
  granted();
  state.lose(now, a, "its connection ended");
  const auto end = decided<EndOfLease>();
  EXPECT_EQ(end.client, x);
  EXPECT_EQ(end.why, "the board is lost: its connection ended");
  state.leave(now, x);
  EXPECT_EQ(status("a"), "lost");
}

TEST_F(ATracker, ABoardThatComesBackHasItsNameAgain) {
  const BoardId a = board("a");
  state.lose(now, a, "its connection ended");
  board("a");
  EXPECT_EQ(state.boards().size(), 1u);
  EXPECT_EQ(status("a"), "free");
  board("a");
  EXPECT_EQ(status("a-2"), "free") << "another one, as the first is heard of";
  now += 2;  // a beat was missed
  board("a");
  EXPECT_EQ(state.boards().size(), 2u);
}

TEST_F(ATracker, ALostBoardIsForgottenAfterAnHour) {
  state.lose(now, board("a"), "its connection ended");
  pass(3590);
  EXPECT_EQ(status("a"), "lost");
  pass(20);
  EXPECT_TRUE(state.boards().empty());
}

TEST_F(ATracker, ABoardThatLosesThreeWorkersInARowIsQuarantined) {
  const BoardId a = board("a");
  const ClientId x = client("x");
  granted();
  state.hear(now, a, true, 0, 2, "SIGKILL");
  EXPECT_EQ(status("a"), "leased");
  state.hear(now, a, true, 0, 3, "SIGKILL");
  EXPECT_EQ(view("a").why, "3 workers were lost in a row, the last: SIGKILL");
  EXPECT_EQ(status("a"), "quarantined");
  EXPECT_EQ(decided<EndOfLease>().client, x);
  const ClientId y = client("y");
  state.hear(now, a, false, 0, 0);
  EXPECT_EQ(granted(), "") << "it stays there";
  EXPECT_TRUE(state.release(now, "a").ok());
  EXPECT_EQ(granted(), grant_of(y, "a"));
}

TEST_F(ATracker, WorkersThatWereLostBeforeABoardWasReleasedDoNotCount) {
  const BoardId a = board("a");
  state.hear(now, a, false, 0, 3);
  EXPECT_TRUE(state.release(now, "a").ok());
  state.hear(now, a, false, 0, 3);
  state.hear(now, a, false, 0, 5);
  EXPECT_EQ(status("a"), "free");
  state.hear(now, a, false, 0, 6);
  EXPECT_EQ(status("a"), "quarantined");
  EXPECT_TRUE(state.release(now, "a").ok());
  state.hear(now, a, false, 0, 0);
  state.hear(now, a, false, 0, 3);
  EXPECT_EQ(status("a"), "quarantined");
}

TEST_F(ATracker, OnlyAQuarantinedBoardIsReleased) {
  board("a");
  const BoardId b = board("b");
  state.hear(now, b, false, 0, 3);
  const Status refused = state.release(now, "a");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().render(), "no board named a is quarantined\n    quarantined: b");
}

// ------------------------------------------------------------------------------------------------------------ refusals

TEST_F(ATracker, WhoAsksForAKeyThatNobodyHasIsToldWhichThereAre) {
  board("a");
  client("x", 0, "", 2, 0, "rpi5");
  pass(1.5);
  EXPECT_TRUE(decide().empty());
  pass(0.5);
  EXPECT_EQ(decided<Refusal>().why.render(),
            "no board is registered under the key rpi5\n"
            "    did you mean rpi4?\n"
            "    tw-board --tracker HOST:PORT --key rpi5 registers one; tw rpc-query lists those that are there");
}

TEST_F(ATracker, WhoAsksForMoreThanAnyBoardHasIsToldWhatTheyLack) {
  board("a", kTwoCores);
  board("b");
  client("x", 0, "cores >= 8", 0);
  pass(0.1);
  EXPECT_EQ(decided<Refusal>().why.render(),
            "no board of the key rpi4 meets cores >= 8\n"
            "    a: cores is 2, not >= 8\n"
            "    b: cores is 4, not >= 8");
}

TEST_F(ATracker, WhoWaitsForBoardsThatOthersHaveIsToldSo) {
  const BoardId a = board("a"), b = board("b");
  client("x");
  granted();
  state.hear(now, b, false, 0, 3, "SIGKILL");
  decide();
  client("y", 0, "", 2);
  pass(2, {a, b});
  EXPECT_EQ(decided<Refusal>().why.render(),
            "no board of the key rpi4 was free within 2 s\n"
            "    a: leased for 2 s\n"
            "    b: quarantined for 2 s: 3 workers were lost in a row, the last: SIGKILL");
  EXPECT_TRUE(state.waiting().empty());
}

TEST_F(ATracker, WhoWouldNotWaitGetsWhatIsFree) {
  board("a");
  const ClientId x = client("x", 0, "", 0);
  state.pass(now);
  EXPECT_EQ(granted(), grant_of(x, "a"));
}

}  // namespace
}  // namespace tw::rpc
