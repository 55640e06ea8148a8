#include "rpc/client/boards.h"

#include <algorithm>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <set>
#include <utility>

#include "rpc/net/pause.h"
#include "rpc/wire/rpc_error.h"
#include "src/runtime/run_result.h"

namespace tw::rpc {

using asio::awaitable;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kDialS = 5;
constexpr double kPauseS = 0.1, kPauseOfLostS = 3;  // between two attempts
constexpr int kMostLost = 3;                        // boards, by one job
constexpr int kMostRefused = 3;                     // times that a board may refuse a job before that is the answer
constexpr int kMostBreaks = 5;                      // of its connection, without a result between

// What code and records go by.
std::string identity(const BoardDescription& board) {
  std::string text =
      board.machine.hardware_name() + ", " + std::to_string(board.machine.threads) + " threads, " + board.cpu.triple;
  for (const std::string& feature : board.cpu.features)
    text += (text.ends_with(board.cpu.triple) ? " " : ",") + feature;
  return board.cpu.sve_bits > 0 ? text + ", SVE of " + std::to_string(board.cpu.sve_bits) + " bits" : text;
}

}  // namespace

Connect dial_board(const std::string& name, const Endpoint& at, const std::optional<Secret>& secret) {
  return [=]() -> awaitable<Reached> {
    const Connection connection = co_await dial(at, secret, kDialS);
    Reached reached{name, connection};
    co_return reached;
  };
}

struct Boards::Work {
  std::shared_ptr<const RemoteTask> task;
  Parcel object;
  Job job;
  std::promise<BoardResult> promise = {};
  int lost = 0, refused = 0;
  bool over = false;

  void end(const std::string& board, const JobResult& result) {
    if (!std::exchange(over, true)) promise.set_value({board, result});
  }
  void end_lost(const std::string& why) {
    JobResult result;
    result.name = job.name;
    result.status = to_string(runtime::RunStatus::kDeviceLost);
    result.detail = why;
    end({}, result);
  }
  void fail(const Error& error) {
    if (!std::exchange(over, true)) promise.set_exception(std::make_exception_ptr(error));
  }
};

struct Boards::Member {
  Connect connect;
  std::string name = "a board";
  std::shared_ptr<RemoteBoard> online = nullptr;  // null while there is no connection
  std::set<WorkPtr> running = {};                 // over that
  std::deque<WorkPtr> left = {};                  // by a connection that ended
  RemoteBoard::Sent sent = std::make_shared<std::set<Digest>>();
  Clock::time_point gone = Clock::now();
  bool tried = false, lost = false, barred = false, throttled = false;
  int breaks = 0;
  std::optional<BoardDescription> described = {};
  Diagnostic why = {};  // it is not there
  asio::cancellation_signal stop = {};
};

// Of coroutines that end together.
struct Boards::Count {
  explicit Count(const asio::any_io_executor& executor) : changed(executor) {}
  int running = 0;
  Event changed;
};

// ------------------------------------------------------------------------------------------------- from other threads

Boards::Boards(std::vector<Connect> connects, double away_s)
    : away_s_(away_s), changed_(loop_.context().get_executor()) {
  for (Connect& connect : connects) {
    members_.push_back(std::make_shared<Member>());
    members_.back()->connect = std::move(connect);
  }
  asio::post(loop_.context(), [this] {
    for (const MemberPtr& member : members_)
      asio::co_spawn(loop_.context(), keep(member),
                     asio::bind_cancellation_slot(member->stop.slot(), [](const std::exception_ptr&) {}));
  });
  try {
    begun_.get_future().get();
  } catch (...) {
    end();
    throw;
  }
}

Boards::~Boards() { end(); }

void Boards::end() {
  asio::post(loop_.context(), [this] {
    ending_ = true;
    for (const MemberPtr& member : members_) {
      member->stop.emit(asio::cancellation_type::terminal);
      if (member->online) member->online->streams().close("the client is done");
    }
    changed_.wake();
  });
  loop_.drain();
}

std::future<BoardResult> Boards::measure(std::shared_ptr<const RemoteTask> task, Parcel object, const Job& job) {
  const auto work = std::make_shared<Work>(Work{std::move(task), std::move(object), job});
  asio::post(loop_.context(), [this, work] {
    waiting_.push_back(work);
    changed_.wake();
    fail_if_none_is_left();
  });
  return work->promise.get_future();
}

void Boards::cancel() {
  asio::post(loop_.context(), [this] {
    for (const WorkPtr& work : std::exchange(waiting_, {})) work->end_lost("cancelled");
    for (const MemberPtr& member : members_) {
      for (const WorkPtr& work : std::exchange(member->left, {})) work->end_lost("cancelled");
      for (const WorkPtr& work : member->running) {
        work->end_lost("cancelled");
        if (member->online) member->online->cancel(work->job.name);
      }
    }
  });
}

std::string Boards::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

// ---------------------------------------------------------------------------------------------------------- one board

awaitable<void> Boards::pause(double seconds) {
  asio::steady_timer timer(loop_.context());
  co_await rpc::pause(timer, seconds);
}

void Boards::spawn(awaitable<void> what, const std::shared_ptr<Count>& count) {
  ++count->running;
  asio::co_spawn(loop_.context(), std::move(what), [this, count](const std::exception_ptr&) {
    --count->running;
    count->changed.wake();
    changed_.wake();
  });
}

awaitable<void> Boards::keep(MemberPtr member) {
  while (!ending_ && !member->barred) {
    try {
      co_await converse(member);
    } catch (const Error& e) {
      member->why = e.diagnostic();
    } catch (const std::exception& e) {
      member->why = Diagnostic{ErrorKind::kRpc, e.what(), {}, {}};
    }
    if (ending_) co_return;
    if (!std::exchange(member->tried, true)) first_try_is_over();
    if (std::exchange(member->online, nullptr)) {
      member->gone = Clock::now();
      ++member->breaks;
      asio::co_spawn(loop_.context(), lose_if_away(member), [](const std::exception_ptr&) {});
    }
    if (member->barred || member->breaks >= kMostBreaks) lose(*member);
    note_state();
    co_await pause(member->lost ? kPauseOfLostS : kPauseS);
  }
}

// Until the connection ends; throws why.
awaitable<void> Boards::converse(MemberPtr member) {
  const Reached reached = co_await member->connect();
  member->name = reached.name;
  const Connection connection = reached.connection;
  struct Closing {
    Connection connection;
    ~Closing() { connection.close("it is not used any more"); }
  } closing{connection};
  co_await greet(connection, Role::kClient, Role::kBoard);
  const auto board = std::make_shared<RemoteBoard>(connection, member->sent);
  const auto count = std::make_shared<Count>(loop_.context().get_executor());
  spawn(board->streams().read(), count);
  spawn(board->streams().watch(), count);
  const BoardDescription description = co_await board->describe();
  admit(*member, description);
  member->online = board;
  member->lost = false;
  if (!std::exchange(member->tried, true)) first_try_is_over();
  note_state();
  for (int i = 0; i < kDeep; ++i) spawn(serve(member, board), count);
  while (count->running > 0) co_await count->changed.wait();
  throw rpc_error(board->streams().why_ended());
}

void Boards::admit(Member& member, const BoardDescription& description) {
  const BoardDescription& expected = member.described ? *member.described : description_.value_or(description);
  if (identity(description) != identity(expected)) {
    member.barred = member.tried;
    throw rpc_error(member.name + " is another machine than it was",
                    {"it was " + identity(expected), "it is " + identity(description)});
  }
  member.described = description;
}

awaitable<void> Boards::serve(MemberPtr member, std::shared_ptr<RemoteBoard> board) {
  for (bool connected = true; connected && !board->streams().ended();) {
    const WorkPtr work = next(*member);
    if (!work) {
      co_await changed_.wait();
      continue;
    }
    member->running.insert(work);
    try {
      const JobResult result = co_await board->measure(*work->task, work->object, work->job);
      if (result.status != kThrottled && !runtime::run_status(result.status))
        throw rpc_error("it reports a status that there is not: " + result.status);
      member->breaks = 0;
      member->throttled = result.status == kThrottled;
      note_state();
      work->end(member->name, result);
    } catch (const ConnectionLost&) {
      connected = false;
    } catch (const Refused& e) {
      board->doubt();
      if (e.kind() != ErrorKind::kRpc || ++work->refused == kMostRefused) work->fail(e);
    } catch (const std::exception& e) {
      connected = false;
      member->barred = true;
      board->streams().close(e.what());
    }
    member->running.erase(work);
    if (!work->over) member->left.push_back(work);
  }
}

Boards::WorkPtr Boards::next(Member& member) {
  for (std::deque<WorkPtr>* from : {&member.left, &waiting_}) {
    while (!from->empty()) {
      WorkPtr work = std::move(from->front());
      from->pop_front();
      if (!work->over) return work;
    }
  }
  return nullptr;
}

// ---------------------------------------------------------------------------------------------------------- all boards

void Boards::first_try_is_over() {
  if (++tried_ < members_.size()) return;
  std::vector<std::string> away, kinds;
  std::set<std::string> distinct;
  for (const MemberPtr& member : members_) {
    if (!member->described) {
      away.push_back(member->why.what);
      away.insert(away.end(), member->why.notes.begin(), member->why.notes.end());
      continue;
    }
    kinds.push_back(member->name + ": " + identity(*member->described));
    distinct.insert(identity(*member->described));
  }
  if (members_.size() == 1 && !away.empty()) {
    begun_.set_exception(std::make_exception_ptr(Error(members_[0]->why)));
  } else if (!away.empty()) {
    begun_.set_exception(std::make_exception_ptr(
        rpc_error("of " + std::to_string(members_.size()) + " boards some are not there", std::move(away))));
  } else if (distinct.size() > 1) {
    kinds.push_back("times of different machines are not compared: give a runner boards of one kind");
    begun_.set_exception(std::make_exception_ptr(rpc_error("the boards of a runner must be alike", std::move(kinds))));
  } else {
    description_ = members_[0]->described;
    note_state();
    begun_.set_value();
  }
}

awaitable<void> Boards::lose_if_away(MemberPtr member) {
  const Clock::time_point gone = member->gone;
  const auto since = [&] { return std::chrono::duration<double>(Clock::now() - gone).count(); };
  while (!ending_ && !member->online && member->gone == gone && since() < away_s_) co_await pause(0.1);
  if (!ending_ && !member->online && member->gone == gone) lose(*member);
}

// Its jobs go to the others.
void Boards::lose(Member& member) {
  member.lost = true;
  for (; !member.left.empty(); member.left.pop_back()) {
    const WorkPtr work = member.left.back();
    if (++work->lost == kMostLost)
      work->end_lost(member.name + " was lost: " + member.why.what);
    else
      waiting_.push_front(work);
  }
  changed_.wake();
  note_state();
  fail_if_none_is_left();
}

bool Boards::none_is_left() const {
  return std::ranges::all_of(members_, [](const MemberPtr& member) { return member->lost; });
}

void Boards::fail_if_none_is_left() {
  if (!none_is_left()) return;
  for (const WorkPtr& work : std::exchange(waiting_, {})) work->fail(left_error());
}

Error Boards::left_error() const {
  std::vector<std::string> notes;
  for (const MemberPtr& member : members_) notes.push_back(member->name + ": " + member->why.what);
  notes.push_back("what was measured is in the log: the same call goes on from there");
  return rpc_error("no board is left", std::move(notes));
}

void Boards::note_state() {
  std::string text = std::to_string(members_.size()) + (members_.size() == 1 ? " board" : " boards");
  for (const MemberPtr& member : members_)
    if (!member->online || member->throttled) text += ", " + member->name + (member->online ? " throttled" : " away");
  const std::lock_guard lock(mutex_);
  state_ = std::move(text);
}

}  // namespace tw::rpc
