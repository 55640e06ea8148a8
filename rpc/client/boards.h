// The boards that measure for one client: each is kept at work on a few jobs, and jobs go from those that are lost to
// those that are there.
//
// A board whose connection ends is dialled again, and its jobs are sent again under their names: it has the results of
// those that it ran. When it has stayed away for half a minute it is lost, until it comes back. A job of which three
// boards were lost ends as "device_lost". A board that breaks the protocol, or is another than it was, is lost for
// good.
#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rpc/client/loop.h"
#include "rpc/client/remote_board.h"

namespace tw::rpc {

// A connection to a board, on which nothing was said yet, and what the board is called.
struct Reached {
  std::string name;
  Connection connection;
};
using Connect = std::function<asio::awaitable<Reached>()>;
Connect dial_board(const std::string& name, const Endpoint&, const std::optional<Secret>&);

struct BoardResult {
  std::string board;
  JobResult result;
};

class Boards {
 public:
  static constexpr int kDeep = 3;  // jobs of a board, so that it never waits for the next

  // Reaches each. One that stays away for `away_s` is lost. Throws Error: who is not there, or that they are not alike.
  explicit Boards(std::vector<Connect>, double away_s = 30);
  ~Boards();

  size_t size() const { return members_.size(); }
  const BoardDescription& description() const { return *description_; }  // of each

  // From any thread. The future throws Error: what a board refused, or that no board is left.
  std::future<BoardResult> measure(std::shared_ptr<const RemoteTask>, Parcel object, const Job&);
  void cancel();              // what is under way ends as "device_lost"
  std::string state() const;  // for people: "4 boards, pi4-2 throttled, pi4-3 away"

 private:
  struct Work;
  struct Member;
  struct Count;
  using WorkPtr = std::shared_ptr<Work>;
  using MemberPtr = std::shared_ptr<Member>;

  asio::awaitable<void> keep(MemberPtr);
  asio::awaitable<void> converse(MemberPtr);
  asio::awaitable<void> serve(MemberPtr, std::shared_ptr<RemoteBoard>);
  asio::awaitable<void> lose_if_away(MemberPtr);
  asio::awaitable<void> pause(double seconds);
  void spawn(asio::awaitable<void>, const std::shared_ptr<Count>&);
  void admit(Member&, const BoardDescription&);
  void first_try_is_over();
  WorkPtr next(Member&);
  void lose(Member&);
  bool none_is_left() const;
  Error left_error() const;
  void fail_if_none_is_left();
  void note_state();
  void end();

  const double away_s_;
  Loop loop_;
  std::vector<MemberPtr> members_;
  std::deque<WorkPtr> waiting_;
  Event changed_;  // there is work, or a connection has ended
  bool ending_ = false;
  size_t tried_ = 0;
  std::promise<void> begun_;
  std::optional<BoardDescription> description_;
  mutable std::mutex mutex_;  // of what other threads read
  std::string state_;
};

}  // namespace tw::rpc
