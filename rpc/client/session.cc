// Sessions, as their clients have them: each request is sent and its answer waited for.
#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "rpc/client/exchange.h"
#include "rpc/client/loop.h"
#include "rpc/client/tracker_client.h"
#include "rpc/client/transfers.h"
#include "rpc/wire/rpc_error.h"
#include "src/runtime/timing.h"
#include "tensorwright/rpc.h"

namespace tw::rpc {

using asio::awaitable;
using runtime::ArgSpec;
using runtime::ScalarValue;

namespace {

constexpr double kMarginS = 10;  // beyond the deadline of a call
constexpr double kLoadS = 90;

TrackerAddress address_of(const Address& a) { return {{a.host, a.port}, secret_in(a.secret), a.timeout_s}; }

ir::Type type_of(const std::string& dtype) {
  const std::optional<ir::Type> type = ir::parse_type(dtype);
  if (!type) throw rpc_error("the board speaks of a dtype " + dtype + ", which is none");
  return *type;
}

}  // namespace

// From threads of callers; requests are served one after the other.
struct Session::State {
 private:
  template <class Begin>
  auto one_after_the_other(Begin begin) {
    const std::lock_guard lock(one_at_a_time);
    return loop.wait(begin());
  }

 public:
  void open(Endpoint board, std::optional<Secret> secret, double seconds) {
    one_after_the_other([&]() -> awaitable<void> {
      const Connection connection = co_await dial(board, secret, seconds);
      co_await begin(connection, seconds);
    });
  }
  void open(TrackerAddress tracker, WantedBoard wanted, double seconds) {
    one_after_the_other([&]() -> awaitable<void> {
      const Connection connection = (co_await request_board(tracker, wanted)).connection;
      granted = true;
      co_await begin(connection, seconds);
    });
  }

  template <class Begin>
  auto run(Begin begin) {
    return one_after_the_other([&] { return begin(*board); });
  }
  template <Message Reply, Message Asked>
  Reply ask(Asked message, double seconds = kAnswerS) {
    return run([&](Link& link) { return asked<Reply>(link, std::move(message), seconds); });
  }
  // For handles that are let go: whoever does waits for nothing, and what is asked next finds it done.
  template <Message M>
  void tell(const M& message) {
    asio::post(loop.context(), [this, message] { board->tell(message); });
  }

  ~State() {
    asio::post(loop.context(), [this] {
      if (board) board->close("the session has ended");
    });
    loop.drain();  // what listens has ended
  }

  Loop loop;                  // what follows waits on it, and goes before it
  std::optional<Link> board;  // once it is open; of the loop's thread
  std::string description;
  bool granted = false;

 private:
  awaitable<void> begin(Connection connection, double seconds) {
    co_await greet(connection, Role::kClient, Role::kBoard, seconds);
    board.emplace(connection);
    asio::co_spawn(loop.context(), board->listen(), asio::detached);
    description = (co_await asked<Description>(*board, Describe{})).json;
  }

  std::mutex one_at_a_time;
};

// ------------------------------------------------------------------------------------------------------------- arrays

struct RemoteArray::State {
  std::shared_ptr<Session::State> session;
  uint64_t number = 0;
  ir::Type dtype;
  std::vector<int64_t> shape;
  size_t bytes = 0;

  ~State() { session->tell(FreeArray{number}); }
};

ir::Type RemoteArray::dtype() const { return state_->dtype; }
const std::vector<int64_t>& RemoteArray::shape() const { return state_->shape; }
size_t RemoteArray::bytes() const { return state_->bytes; }

void RemoteArray::copy_from(const void* data) {
  const std::string_view bytes(static_cast<const char*>(data), state_->bytes);
  state_->session->run([&](Link& board) { return write_array(board, state_->number, bytes); });
}

void RemoteArray::copy_to(void* data) const {
  const ReadArray all{state_->number, 0, state_->bytes};
  state_->session->run([&](Link& board) { return read_array(board, all, static_cast<char*>(data)); });
}

// ------------------------------------------------------------------------------------------------------------ kernels

struct RemoteKernel::State {
  std::shared_ptr<Session::State> session;
  uint64_t module = 0;
  std::string name;
  std::vector<ArgSpec> args;
  std::vector<runtime::ScalarSpec> scalars;

  ~State() { session->tell(UnloadModule{module}); }

  CallModule call(const std::vector<RemoteArray>& arrays, const std::vector<ScalarValue>& values,
                  double timeout_s) const {
    if (!(timeout_s > 0))
      throw Error(Diagnostic{ErrorKind::kArgument,
                             name + ": timeout must be seconds, more than 0, not " + std::to_string(timeout_s),
                             {},
                             {}});
    CallModule call;
    call.module = module;
    call.scalars = values;
    call.timeout_s = timeout_s;
    for (const RemoteArray& a : arrays) {
      if (a.state().session != session)
        throw Error(Diagnostic{ErrorKind::kArgument,
                               name + ": an array must be of the kernel's own session",
                               {},
                               {"make it by array() of the session that loaded " + name}});
      call.args.push_back({a.state().number, ir::to_string(a.dtype()), a.shape()});
    }
    return call;
  }
};

const std::string& RemoteKernel::name() const { return state_->name; }
const std::vector<ArgSpec>& RemoteKernel::args() const { return state_->args; }
const std::vector<runtime::ScalarSpec>& RemoteKernel::scalars() const { return state_->scalars; }

void RemoteKernel::operator()(const std::vector<RemoteArray>& arrays, const std::vector<ScalarValue>& scalars,
                              double timeout_s) const {
  state_->session->ask<Called>(state_->call(arrays, scalars, timeout_s), timeout_s + kMarginS);
}

runtime::Timing RemoteKernel::time(const std::vector<RemoteArray>& arrays, const runtime::TimingOptions& options,
                                   double cooldown_ms, const std::vector<ScalarValue>& scalars,
                                   double timeout_s) const {
  constexpr int kMostRuns = 4096;  // whose times are one answer
  runtime::check_timing(options);
  runtime::Timing timing;
  for (int left = options.repeat; left > 0; left -= kMostRuns) {
    CallModule call = state_->call(arrays, scalars, timeout_s);
    call.number = options.number;
    call.repeat = std::min(left, kMostRuns);
    call.min_repeat_ms = options.min_repeat_ms;
    call.cooldown_ms = cooldown_ms;
    const std::vector<double> runs = state_->session->ask<Called>(std::move(call), timeout_s + kMarginS).runs;
    timing.runs.insert(timing.runs.end(), runs.begin(), runs.end());
  }
  runtime::summarise(timing);
  return timing;
}

// ----------------------------------------------------------------------------------------------------------- sessions

Session Session::connect(const Address& board) {
  const TrackerAddress address = address_of(board);
  auto state = std::make_shared<State>();
  state->open(address.at, address.secret, board.timeout_s);
  return Session(std::move(state));
}

Session Session::request(const Address& tracker, const RequestOptions& wanted) {
  const TrackerAddress address = address_of(tracker);
  const WantedBoard board{wanted.key, wanted.predicate, wanted.priority, wanted.wait_s, wanted.session_s};
  for (int left = wanted.max_retry;; --left) {
    auto state = std::make_shared<State>();
    try {
      state->open(address, board, tracker.timeout_s);
      return Session(std::move(state));
    } catch (const Error&) {
      if (!state->granted || left <= 0) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the tracker knows, too
  }
}

std::string tracker_summary(const Address& tracker) { return Loop().wait(query_tracker(address_of(tracker))); }

void Session::close() {
  state_->run([](Link& board) -> awaitable<void> {
    board.close("the session was closed");
    co_return;
  });
}

const std::string& Session::description() const { return state_->description; }

void Session::upload(const std::string& name, std::string_view content) {
  state_->run([&](Link& board) { return bring(board, content); });
  state_->ask<Done>(Upload{name, sha256(content)});
}

std::string Session::download(const std::string& name) const {
  return state_->run([&](Link& board) { return rpc::download(board, name); });
}

std::vector<std::pair<std::string, uint64_t>> Session::listdir() const { return state_->ask<Files>(ListFiles{}).files; }

void Session::remove(const std::string& name) { state_->ask<Done>(RemoveFile{name}); }

// Whether the bytes can be counted; whether the board has as many it says itself. As reals, which do not overflow.
void require_extents(const std::vector<int64_t>& shape) {
  constexpr double kMost = 1e15;  // more is nowhere
  double elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0)
      throw Error(Diagnostic{
          ErrorKind::kArgument, "array: an extent must not be negative, not " + std::to_string(extent), {}, {}});
    elements *= static_cast<double>(extent);
  }
  if (elements > kMost)
    throw Error(Diagnostic{ErrorKind::kArgument, "array: there is no memory for so many elements", {}, {}});
}

RemoteKernel Session::load_module(const std::string& name, const std::string& kernel) {
  const ModuleReply reply = state_->ask<ModuleReply>(LoadModule{name, kernel}, kLoadS);
  auto made = std::make_shared<RemoteKernel::State>();
  made->session = state_;
  made->module = reply.module;
  made->name = reply.kernel;
  for (const ModuleScalar& s : reply.scalars) made->scalars.push_back({ir::Var(s.name, type_of(s.dtype)), s.place});
  for (const ModuleArgument& a : reply.args) {
    ArgSpec& spec = made->args.emplace_back();
    spec.name = a.name;
    spec.dtype = type_of(a.dtype);
    spec.shape = a.shape;
    spec.strides = a.strides;
    spec.written = a.written;
  }
  return RemoteKernel(std::move(made));
}

RemoteArray Session::array(ir::Type dtype, std::vector<int64_t> shape, const void* data) {
  require_extents(shape);
  ArgSpec spec;
  spec.dtype = dtype;
  spec.shape = shape;
  const uint64_t number = state_->ask<ArrayReply>(NewArray{spec.bytes()}).array;
  auto made = std::make_shared<RemoteArray::State>();
  made->session = state_;
  made->number = number;
  made->dtype = dtype;
  made->shape = std::move(shape);
  made->bytes = spec.bytes();
  RemoteArray array(std::move(made));
  if (data) array.copy_from(data);
  return array;
}

}  // namespace tw::rpc
