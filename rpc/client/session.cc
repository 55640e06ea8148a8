// Sessions, as their clients have them: each request is sent and its answer waited for.
#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "rpc/client/loop.h"
#include "rpc/client/tracker_client.h"
#include "rpc/net/connection.h"
#include "rpc/wire/rpc_error.h"
#include "src/runtime/timing.h"
#include "tensorwright/rpc.h"

namespace tw::rpc {

using asio::awaitable;
using runtime::ArgSpec;
using runtime::ScalarValue;

namespace {

constexpr double kAnswerS = 60;  // of what is quick there
constexpr double kMarginS = 10;  // beyond the deadline of a call
constexpr double kLoadS = 90;
constexpr size_t kMostHeard = 16;  // frames that nobody has taken yet

TrackerAddress address_of(const Address& a) { return {{a.host, a.port}, secret_in(a.secret), a.timeout_s}; }

ir::Type type_of(const std::string& dtype) {
  const std::optional<ir::Type> type = ir::parse_type(dtype);
  if (!type) throw rpc_error("the board speaks of a dtype " + dtype + ", which is none");
  return *type;
}

}  // namespace

struct Session::State {
  // Of the thread of the loop, as all that is awaited.
  awaitable<void> open(Endpoint board, std::optional<Secret> secret, double seconds) {
    connection.emplace(co_await dial(board, secret, seconds));
    co_await begin(seconds);
  }
  awaitable<void> open(TrackerAddress tracker, WantedBoard wanted, double seconds) {
    connection.emplace((co_await request_board(tracker, wanted)).connection);
    granted = true;
    co_await begin(seconds);
  }
  awaitable<void> begin(double seconds) {
    co_await greet(*connection, Role::kClient, Role::kBoard, seconds);
    asio::co_spawn(loop.context(), listen(*connection), asio::detached);
    description = (co_await asked<Description>(Describe{}, kAnswerS)).json;
  }

  // As long as the connection lasts: a board may ask whether this side is there while nothing is asked of it.
  awaitable<void> listen(Connection board) {
    try {
      for (;;) {
        Frame frame = co_await board.receive();
        if (frame.type == MessageType::kPing) {
          const Pong pong{read_as<Ping>(frame).number};
          co_await board.send(pong, frame.stream);
          continue;
        }
        if (frame.type == MessageType::kError && frame.stream == 0) refuse_frame(frame);  // of the whole session
        heard.push_back(std::move(frame));
        more.cancel();
        while (heard.size() >= kMostHeard) co_await wait(room);
      }
    } catch (const std::exception& error) {
      lost = std::current_exception();
      board.close(error.what());
    }
    more.cancel();
  }

  awaitable<Frame> answer(uint16_t stream) {
    for (;;) {
      while (!heard.empty()) {
        Frame frame = std::move(heard.front());
        heard.pop_front();
        room.cancel();
        if (frame.stream == stream) co_return frame;
      }
      if (lost) std::rethrow_exception(lost);
      co_await wait(more);
    }
  }

  static awaitable<void> wait(asio::steady_timer& timer) {
    timer.expires_at(asio::steady_timer::time_point::max());
    asio::error_code woken;
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }

  // But for 0, which is the whole session's.
  uint16_t next_stream() {
    if (++last_stream == 0) ++last_stream;
    return last_stream;
  }

  template <Message Reply, Message Asked>
  awaitable<Reply> asked(Asked message, double seconds) {
    const Deadline deadline(*connection, seconds, "no answer in time");
    const uint16_t mine = next_stream();
    co_await connection->send(message, mine);
    co_return read_as<Reply>(co_await answer(mine));
  }

  // How long all of it takes is the link's affair: only silence ends it.
  awaitable<void> chunks_into(uint16_t mine, char* into, uint64_t bytes, Deadline& silence) {
    while (bytes > 0) {
      const Frame frame = co_await answer(mine);
      silence.renew();
      if (frame.type != MessageType::kChunk || frame.payload.empty() || frame.payload.size() > bytes)
        refuse_frame(frame);
      into = std::ranges::copy(frame.payload, into).out;
      bytes -= frame.payload.size();
    }
  }

  awaitable<void> read(ReadArray message, char* into) {
    Deadline silence(*connection, kAnswerS, "no answer in time");
    const uint16_t mine = next_stream();
    co_await connection->send(message, mine);
    co_await chunks_into(mine, into, message.bytes, silence);
  }

  awaitable<void> write(WriteArray message, std::string_view bytes) {
    Deadline silence(*connection, kAnswerS, "no answer in time");
    const uint16_t mine = next_stream();
    co_await connection->send(message, mine);
    for (std::string_view rest = bytes; !rest.empty(); rest.remove_prefix(std::min<size_t>(rest.size(), kChunkBytes))) {
      co_await connection->send(MessageType::kChunk, mine, std::string(rest.substr(0, kChunkBytes)));
      silence.renew();
    }
    read_as<Done>(co_await answer(mine));
  }

  awaitable<std::string> content_of(std::string name) {
    Deadline silence(*connection, kAnswerS, "no answer in time");
    const uint16_t mine = next_stream();
    const Download download{name};
    co_await connection->send(download, mine);
    const uint64_t bytes = read_as<Content>(co_await answer(mine)).bytes;
    if (bytes > kMostOfBlob)
      throw ConnectionLost(Diagnostic{
          ErrorKind::kRpc, "a file of " + std::to_string(bytes) + " bytes is more than boards keep", {}, {}});
    std::string content(bytes, '\0');
    co_await chunks_into(mine, content.data(), bytes, silence);
    co_return content;
  }

  // Unless it is there already.
  awaitable<void> put(std::string_view bytes) {
    const Digest digest = sha256(bytes);
    Have have;
    have.blobs = {digest};
    const Present present = co_await asked<Present>(have, kAnswerS);
    if (present.blobs == std::vector<uint8_t>{1}) co_return;
    Deadline silence(*connection, kAnswerS, "no answer in time");
    const uint16_t mine = next_stream();
    co_await connection->send(Put{digest, bytes.size()}, mine);
    uint64_t credit = 0;
    while (!bytes.empty()) {
      for (; credit == 0;) credit += read_as<Credit>(co_await answer(mine)).chunks;
      co_await connection->send(MessageType::kChunk, mine, std::string(bytes.substr(0, kChunkBytes)));
      bytes.remove_prefix(std::min<size_t>(bytes.size(), kChunkBytes));
      --credit;
      silence.renew();
    }
    for (;;) {
      const Frame frame = co_await answer(mine);
      if (frame.type == MessageType::kCredit) continue;
      read_as<Stored>(frame);
      co_return;
    }
  }

  awaitable<void> end() {
    connection->close("the session was closed");
    co_return;
  }

  // From threads of callers.
  template <Message Reply, Message Asked>
  Reply ask(Asked message, double seconds = kAnswerS) {
    return run([&] { return asked<Reply>(std::move(message), seconds); });
  }
  template <class Begin>
  auto run(Begin begin) {
    const std::lock_guard lock(one_at_a_time);
    return loop.wait(begin());
  }

  std::mutex one_at_a_time;
  Loop loop;  // what follows waits on it, and goes before it
  std::optional<Connection> connection;
  uint16_t last_stream = 0;
  std::string description;
  std::deque<Frame> heard;
  std::exception_ptr lost;
  bool granted = false;
  asio::steady_timer more{loop.context()}, room{loop.context()};

  ~State() {
    asio::post(loop.context(), [this] {
      if (connection) connection->close("the session has ended");
      heard.clear();
      room.cancel();
    });
    loop.drain();  // what listens has ended
  }
};

// ------------------------------------------------------------------------------------------------------------- arrays

struct RemoteArray::State {
  std::shared_ptr<Session::State> session;
  uint64_t number = 0;
  ir::Type dtype;
  std::vector<int64_t> shape;
  size_t bytes = 0;

  ~State() {
    try {
      session->ask<Done>(FreeArray{number});
    } catch (const std::exception&) {  // the board is gone, and the array with it
    }
  }
};

ir::Type RemoteArray::dtype() const { return state_->dtype; }
const std::vector<int64_t>& RemoteArray::shape() const { return state_->shape; }
size_t RemoteArray::bytes() const { return state_->bytes; }

void RemoteArray::copy_from(const void* data) {
  Session::State& session = *state_->session;
  const std::string_view bytes(static_cast<const char*>(data), state_->bytes);
  session.run([&] { return session.write({state_->number, 0, bytes.size()}, bytes); });
}

void RemoteArray::copy_to(void* data) const {
  Session::State& session = *state_->session;
  session.run([&] { return session.read({state_->number, 0, state_->bytes}, static_cast<char*>(data)); });
}

// ------------------------------------------------------------------------------------------------------------ kernels

struct RemoteKernel::State {
  std::shared_ptr<Session::State> session;
  uint64_t module = 0;
  std::string name;
  std::vector<ArgSpec> args;
  std::vector<runtime::ScalarSpec> scalars;

  ~State() {
    try {
      session->ask<Done>(UnloadModule{module});
    } catch (const std::exception&) {
    }
  }

  CallModule call(const std::vector<RemoteArray>& arrays, const std::vector<ScalarValue>& values,
                  double timeout_s) const {
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
  state->run([&] { return state->open(address.at, address.secret, board.timeout_s); });
  return Session(std::move(state));
}

Session Session::request(const Address& tracker, const RequestOptions& wanted) {
  const TrackerAddress address = address_of(tracker);
  const WantedBoard board{wanted.key, wanted.predicate, wanted.priority, wanted.wait_s, wanted.session_s};
  for (int left = wanted.max_retry;; --left) {
    auto state = std::make_shared<State>();
    try {
      state->run([&] { return state->open(address, board, tracker.timeout_s); });
      return Session(std::move(state));
    } catch (const Error&) {
      if (!state->granted || left <= 0) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until the tracker knows, too
  }
}

std::string tracker_summary(const Address& tracker) { return Loop().wait(query_tracker(address_of(tracker))); }

void Session::close() {
  State& state = *state_;
  state.run([&]() -> awaitable<void> { return state.end(); });
}

const std::string& Session::description() const { return state_->description; }

void Session::upload(const std::string& name, std::string_view content) {
  state_->run([&] { return state_->put(content); });
  state_->ask<Done>(Upload{name, sha256(content)});
}

std::string Session::download(const std::string& name) const {
  return state_->run([&] { return state_->content_of(name); });
}

std::vector<std::pair<std::string, uint64_t>> Session::listdir() const { return state_->ask<Files>(ListFiles{}).files; }

void Session::remove(const std::string& name) { state_->ask<Done>(RemoveFile{name}); }

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
  ArgSpec spec;
  spec.dtype = dtype;
  spec.shape = shape;
  auto made = std::make_shared<RemoteArray::State>();
  made->session = state_;
  made->dtype = dtype;
  made->shape = std::move(shape);
  made->bytes = spec.bytes();
  made->number = state_->ask<ArrayReply>(NewArray{made->bytes}).array;
  RemoteArray array(std::move(made));
  if (data) array.copy_from(data);
  return array;
}

}  // namespace tw::rpc
