// A board: takes what a client sends, has its queue measure it, and answers. One client at a time, which may also keep
// arrays there and call kernels on them (session.h).
//
// A session is its connection, whoever made that: one that was accepted, or that a tracker brought. Where it ends, what
// waits is dropped and what is measured goes on for half a minute: a client that is back by then, and sends again what
// it had asked for, loses nothing (job_queue.h). A second client is refused, unless the first does not answer any more.
//
// For coroutines of one thread, which are not resumed once it has gone.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rpc/board/blob_store.h"
#include "rpc/board/job_queue.h"
#include "rpc/board/session.h"
#include "rpc/net/connection.h"

namespace tw::rpc {

class Board {
 public:
  struct Options {
    std::string description;  // to_text of description.h
    JobQueue::MakeRunner make_runner;
    JobQueue::MakeHeat make_heat = [](auto sleep) { return Heat(Heat::this_machine(std::move(sleep))); };
    uint64_t blob_bytes = uint64_t{256} << 20;
    double goes_on_s = 30;  // without its client, what is measured
    // Of what a client keeps besides (session.h): nothing where it has no path.
    runtime::WorkerCommand serves_kernels = {};
    int threads = 1;
    uint64_t session_bytes = uint64_t{1} << 30;
  };
  Board(asio::any_io_executor, Options);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  // Of a client, both sides of which have said HELLO; until it ends.
  asio::awaitable<void> serve(Connection);

  bool in_session() const { return session_ != nullptr; }
  JobQueue::Lost lost_workers() const { return queue_.lost_workers(); }
  double busy_s() const { return queue_.busy_s(); }
  const BlobStore& blobs() const { return blobs_; }

 private:
  struct Session;

  asio::awaitable<bool> enter(std::shared_ptr<Session>);
  asio::awaitable<void> take_frames(std::shared_ptr<Session>);
  asio::awaitable<void> take(std::shared_ptr<Session>, Frame);
  asio::awaitable<void> have(std::shared_ptr<Session>, Frame);
  asio::awaitable<void> put(std::shared_ptr<Session>, Frame);
  asio::awaitable<void> chunk(std::shared_ptr<Session>, Frame);
  void prepare(Session&, const Frame&);
  void run(Session&, const Frame&);
  void leave(const std::shared_ptr<Session>&);

  Blob blob(const Digest&);
  Checks checks_of(const TaskSpec&);
  JobQueue::Events events();
  // By the session, on the stream on which this was asked for; nothing where it was asked for by another one.
  template <Message M>
  void answer(const Digest& name, M message, bool last);

  asio::any_io_executor executor_;
  const Options options_;
  BlobStore blobs_;
  std::shared_ptr<Session> session_;
  asio::steady_timer without_session_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // for what the queue's thread leaves to be done
  asio::thread_pool waiting_{2};  // for kernels; what comes of these is told to the executor, which is there for longer
  JobQueue queue_;                // last: its events use the others
};

}  // namespace tw::rpc
