#include "rpc/board/board.h"

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "rpc/check/checks_text.h"
#include "rpc/check/outputs.h"
#include "rpc/net/pause.h"
#include "rpc/wire/rpc_error.h"
#include "src/runtime/inputs.h"
#include "src/runtime/timing.h"
#include "src/support/json_text.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

constexpr uint32_t kChunksUnderWay = 8;  // of one blob
constexpr size_t kUploadsAtOnce = 4;
constexpr size_t kMostUnsent = 64;
constexpr double kSilentS = 1;  // and another client may ask whether it is there
constexpr double kAnswerS = 3;  // in which it has to answer then
constexpr double kLeavesS = 1;  // in which who has gone is seen to have

// Nobody waits for it: who reads notices a connection that is lost.
template <Message M>
awaitable<void> send_quietly(Connection connection, M message, uint16_t stream) try {
  co_await connection.send(message, stream);
} catch (const std::exception& error) {
  connection.close(error.what());
}

}  // namespace

struct Board::Session {
  Session(Connection c, const Options& options, BoardSession::FindBlob find, asio::thread_pool& waiting)
      : connection(std::move(c)),
        kept(options.serves_kernels, options.threads, options.session_bytes, std::move(find), waiting) {}
  bool silent() const { return runtime::seconds_now() - heard_at > kSilentS; }
  void end() {
    uploads.clear();
    kept.end();
  }

  Connection connection;
  BoardSession kept;
  double heard_at = runtime::seconds_now();
  std::map<uint16_t, BlobStore::Upload> uploads;  // by their stream
  std::map<Digest, uint16_t> asked;               // the streams of tasks and jobs without an answer
  size_t unsent = 0;                              // answers of the queue
};

Board::Board(asio::any_io_executor executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      blobs_(options_.blob_bytes),
      without_session_(executor),
      queue_(options_.make_runner, options_.make_heat, events()) {}

Board::~Board() {
  *alive_ = false;
  if (session_) session_->end();  // a coroutine may hold it for longer
}

// ------------------------------------------------------------------------------------------------------- the session

awaitable<void> Board::serve(Connection connection) {
  const auto find = [this](const Digest& digest) { return blobs_.get(digest); };
  const auto session = std::make_shared<Session>(connection, options_, find, waiting_);
  if (!co_await enter(session)) co_return;
  try {
    co_await take_frames(session);
  } catch (const std::exception& error) {
    connection.close(error.what());
  }
  leave(session);
}

// One that is silent may be gone without a word: it is asked. One that has gone may have left something to do, as
// arrays to free, before it is seen that it has: it is waited for.
awaitable<bool> Board::enter(std::shared_ptr<Session> session) {
  const std::shared_ptr<Session> other = session_;
  asio::steady_timer a_moment(executor_);
  if (other && other->silent()) {
    const double asked_at = runtime::seconds_now();
    asio::co_spawn(executor_, send_quietly(other->connection, Ping{}, 0), asio::detached);
    while (session_ == other && other->heard_at < asked_at && runtime::seconds_now() < asked_at + kAnswerS)
      co_await pause(a_moment, 0.05);
    if (session_ == other && other->heard_at < asked_at) {
      other->connection.close("it did not answer, and another client came");
      leave(other);
    }
  }
  const double came_at = runtime::seconds_now();
  while (other && session_ == other && runtime::seconds_now() < came_at + kLeavesS) co_await pause(a_moment, 0.01);
  if (session_) {
    const Error busy = rpc_error("this board is in a session with " + session_->connection.peer(),
                                 {"wait until that has ended; a tracker hands boards out one after the other"});
    const ErrorReply reply = reply_of(busy);
    co_await send_quietly(session->connection, reply, 0);
    co_await session->connection.part(busy.diagnostic().what);
    co_return false;
  }
  session_ = session;
  without_session_.cancel();
  queue_.begin_session();
  co_return true;
}

void Board::leave(const std::shared_ptr<Session>& session) {
  session->end();
  if (session_ != session) return;
  session_.reset();
  queue_.cancel_waiting();
  without_session_.expires_after(nanoseconds(options_.goes_on_s));
  without_session_.async_wait([this, alive = alive_](asio::error_code code) {
    if (!code && *alive && !session_) queue_.cancel_all();
  });
}

awaitable<void> Board::take_frames(std::shared_ptr<Session> session) {
  for (;;) {
    Frame frame = co_await session->connection.receive();
    session->heard_at = runtime::seconds_now();
    std::optional<Error> refused;
    const uint16_t stream = frame.stream;
    try {
      co_await take(session, std::move(frame));
    } catch (const ConnectionLost&) {
      throw;
    } catch (const Error& error) {
      refused = error;
    }
    if (!refused) continue;
    session->uploads.erase(stream);
    const ErrorReply reply = reply_of(*refused);
    co_await session->connection.send(reply, stream);
  }
}

// What it throws is answered on the same stream, and the session goes on. (GCC 12 destroys twice what is made with
// braces where it is awaited: messages have names here.)
awaitable<void> Board::take(std::shared_ptr<Session> session, Frame frame) {
  Connection& connection = session->connection;
  switch (frame.type) {
    case MessageType::kDescribe: {
      const Description description{options_.description};
      co_return co_await connection.send(description, frame.stream);
    }
    case MessageType::kPing: {
      const Pong pong{read_as<Ping>(frame).number};
      co_return co_await connection.send(pong, frame.stream);
    }
    case MessageType::kPong:
      co_return;
    case MessageType::kHave:
      co_return co_await have(session, std::move(frame));
    case MessageType::kPut:
      co_return co_await put(session, std::move(frame));
    case MessageType::kChunk:
      co_return co_await chunk(session, std::move(frame));
    case MessageType::kTask:
      co_return prepare(*session, frame);
    case MessageType::kJob:
      co_return run(*session, frame);
    case MessageType::kCancel: {
      const Cancel cancel = read_as<Cancel>(frame);
      session->asked.erase(cancel.name);
      co_return queue_.cancel(cancel.name);
    }
    default: {
      if (options_.serves_kernels.path.empty()) refuse_frame(frame);
      const bool answered = co_await session->kept.answer(connection, frame);
      if (!answered) refuse_frame(frame);
    }
  }
}

// ------------------------------------------------------------------------------------------------------------- blobs

awaitable<void> Board::have(std::shared_ptr<Session> session, Frame frame) {
  Present present;
  for (const Digest& digest : read_as<Have>(frame).blobs) present.blobs.push_back(blobs_.has(digest) ? 1 : 0);
  co_await session->connection.send(present, frame.stream);
}

awaitable<void> Board::put(std::shared_ptr<Session> session, Frame frame) {
  const Put put = read_as<Put>(frame);
  session->uploads.erase(frame.stream);
  if (session->uploads.size() >= kUploadsAtOnce)
    throw rpc_error(std::to_string(kUploadsAtOnce) + " blobs are under way, and more are not taken",
                    {"end one of them first"});
  BlobStore::Upload upload = blobs_.receive(put.digest, put.bytes);
  if (upload.complete()) {  // of no bytes
    std::move(upload).finish();
    const Stored stored{put.digest};
    co_return co_await session->connection.send(stored, frame.stream);
  }
  session->uploads.emplace(frame.stream, std::move(upload));
  const Credit credit{kChunksUnderWay};
  co_await session->connection.send(credit, frame.stream);
}

awaitable<void> Board::chunk(std::shared_ptr<Session> session, Frame frame) {
  const auto found = session->uploads.find(frame.stream);
  if (found == session->uploads.end()) {  // of an array, or of a blob that was refused
    co_await session->kept.answer(session->connection, frame);
    co_return;
  }
  found->second.add(frame.payload);
  if (!found->second.complete()) {
    const Credit credit{1};
    co_return co_await session->connection.send(credit, frame.stream);
  }
  BlobStore::Upload upload = std::move(found->second);
  session->uploads.erase(found);
  const Stored stored{upload.digest()};
  std::move(upload).finish();
  co_await session->connection.send(stored, frame.stream);
}

Blob Board::blob(const Digest& digest) {
  if (std::optional<Blob> found = blobs_.get(digest)) return *std::move(found);
  throw rpc_error("this board does not have the blob " + to_hex(digest), {"send it, and ask again"});
}

// --------------------------------------------------------------------------------------------------------- measuring

Checks Board::checks_of(const TaskSpec& spec) try {
  const auto json = support::parse_json<nlohmann::ordered_json>(spec.checks);
  Checks checks = checks_from(json);
  if (json.contains("device_checks"))  // a digest, as those of other blobs
    checks.device_checks = blob(digest_from_hex(json["device_checks"].get<std::string>()).value_or(Digest{}));
  if (spec.inputs)
    checks.inputs = blob(*spec.inputs);
  else if (spec.inputs_version != runtime::kInputsVersion)
    throw rpc_error("the task needs inputs that this release does not make",
                    {"use the same release of Tensorwright on both sides"});
  if (checks.made_reference)
    checks.made_reference->object = blob(spec.reference_object.value_or(Digest{}));
  else
    checks.reference = arguments_with(checks.args, blob(spec.reference.value_or(Digest{})));
  if (const std::string why = unsound(checks); !why.empty()) throw std::runtime_error(why);
  return checks;
} catch (const Error&) {
  throw;
} catch (const std::exception& e) {
  throw rpc_error("the task makes no sense: " + std::string(e.what()));
}

void Board::prepare(Session& session, const Frame& frame) {
  const Digest name = sha256(frame.payload);
  queue_.prepare(name, checks_of(read_as<TaskSpec>(frame)));
  session.asked[name] = frame.stream;
}

void Board::run(Session& session, const Frame& frame) {
  const Job job = read_as<Job>(frame);
  if (job.name != name_of(job)) throw rpc_error("the job has another name than what it is");
  queue_.run(job, blob(job.object));
  session.asked[job.name] = frame.stream;
}

// ------------------------------------------------------------------------------------------------------------ answers

JobQueue::Events Board::events() {
  // The queue's thread hands them to this one.
  const auto here = [this, alive = alive_](auto then) {
    asio::post(executor_, [alive, then = std::move(then)] {
      if (*alive) then();
    });
  };
  return {[this, here](const Digest& name, double seconds) {
            here([this, name, ms = static_cast<uint32_t>(std::min(seconds * 1e3, 4e9))] {
              answer(name, Busy{name, ms}, false);
            });
          },
          [this, here](const Digest& task) { here([this, task] { answer(task, TaskReady{task}, true); }); },
          [this, here](const JobResult& result) { here([this, result] { answer(result.name, result, true); }); },
          [this, here](const Digest& name, const Error& error) {
            here([this, name, reply = reply_of(error)] { answer(name, reply, true); });
          }};
}

template <Message M>
void Board::answer(const Digest& name, M message, bool last) {
  if (!session_) return;
  const auto asked = session_->asked.find(name);
  if (asked == session_->asked.end()) return;
  const uint16_t stream = asked->second;
  if (last) session_->asked.erase(asked);
  if (session_->unsent == kMostUnsent) return session_->connection.close("it does not read what it is answered");
  ++session_->unsent;
  asio::co_spawn(executor_, send_quietly(session_->connection, std::move(message), stream),
                 [session = session_](const std::exception_ptr&) { --session->unsent; });
}

}  // namespace tw::rpc
