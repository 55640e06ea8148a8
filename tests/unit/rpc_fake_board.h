// A board in this process that speaks the protocol and invents its times, well or badly.
#pragma once

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "rpc/board/description.h"
#include "rpc/net/listener.h"

namespace tw::rpc::testing {

class FakeBoard {
 public:
  struct Behaviour {
    int run_ms = 0;
    std::string hardware = "a fake board, 4 cores";
    std::function<JobResult(const Job&)> result = invented;
    int drop_at = 0;           // the connection ends at this job, the first being 1, before its result
    bool garbage = false;      // in the place of results
    bool silent = false;       // no results at all
    bool reversed = false;     // of two jobs the second is answered first
    std::string refusal = {};  // of every job
  };

  static JobResult invented(const Job& job) {
    JobResult result;
    result.name = job.name;
    result.status = "ok";
    result.seconds = 1e-3 * (1 + static_cast<double>(job.candidate % 1000) / 1000);
    result.spread = 0.01;
    result.runs = 5;
    result.hertz = 1.8e9;
    result.celsius = 55;
    result.governor = "performance";
    return result;
  }

  FakeBoard() : FakeBoard(Behaviour{}) {}
  explicit FakeBoard(Behaviour behaviour, uint16_t port = 0)
      : behaviour_(std::move(behaviour)), listener_(context_.get_executor(), {"127.0.0.1", port}, std::nullopt) {
    port_ = listener_.port();
    asio::co_spawn(context_,
                   listener_.run(Role::kBoard, Role::kClient, [this](Connection c, Hello) { return serve(c); }),
                   asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~FakeBoard() {
    asio::post(context_, [this] {
      listener_.stop();
      for (Connection& c : open_) c.close("the board is off");
      context_.stop();
    });
    thread_.join();
  }

  uint16_t port() const { return port_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Ends the connections that there are.
  void drop() {
    asio::post(context_, [this] {
      for (Connection& c : open_) c.close("dropped");
      open_.clear();
    });
  }

  std::atomic<int> jobs = 0, tasks = 0, connections = 0;
  std::atomic<uint64_t> received = 0;  // bytes of blobs
  int runs(const Digest& job) {
    const std::lock_guard lock(mutex_);
    return runs_[job];
  }
  int most_runs() {
    const std::lock_guard lock(mutex_);
    int most = 0;
    for (const auto& [job, runs] : runs_) most = std::max(most, runs);
    return most;
  }

 private:
  using Stored = std::set<Digest>;

  asio::awaitable<void> pause(int ms) {
    asio::steady_timer timer(context_, std::chrono::milliseconds(ms));
    co_await timer.async_wait(asio::use_awaitable);
  }

  asio::awaitable<void> serve(Connection connection) {
    ++connections;
    open_.push_back(connection);
    std::map<uint16_t, std::pair<Put, uint64_t>> uploads;
    for (;;) {
      const Frame frame = co_await connection.receive();
      switch (frame.type) {
        case MessageType::kDescribe: {
          const Description description{described()};
          co_await connection.send(description, frame.stream);
          break;
        }
        case MessageType::kHave: {
          Present present;
          for (const Digest& digest : read_as<Have>(frame).blobs) present.blobs.push_back(stored_.contains(digest));
          co_await connection.send(present, frame.stream);
          break;
        }
        case MessageType::kPut: {
          uploads[frame.stream] = {read_as<Put>(frame), 0};
          const Credit credit{4};
          co_await connection.send(credit, frame.stream);
          break;
        }
        case MessageType::kChunk: {
          auto& [put, have] = uploads[frame.stream];
          have += frame.payload.size();
          received += frame.payload.size();
          if (have == put.bytes) {
            stored_.insert(put.digest);
            const tw::rpc::Stored stored{put.digest};
            co_await connection.send(stored, frame.stream);
          } else {
            const Credit credit{1};
            co_await connection.send(credit, frame.stream);
          }
          break;
        }
        case MessageType::kTask: {
          ++tasks;
          const TaskReady ready{sha256(frame.payload)};
          co_await connection.send(ready, frame.stream);
          break;
        }
        case MessageType::kJob:
          asio::co_spawn(context_, run(connection, frame.stream, read_as<Job>(frame)), asio::detached);
          break;
        default:
          break;
      }
    }
  }

  // One after the other, as a board does.
  asio::awaitable<void> run(Connection connection, uint16_t stream, Job job) try {
    const int number = ++jobs;
    if (behaviour_.drop_at == number) {
      connection.close("dropped");
      co_return;
    }
    if (behaviour_.silent) co_return;
    if (!behaviour_.refusal.empty()) {
      const ErrorReply refusal{static_cast<uint8_t>(ErrorKind::kTarget), behaviour_.refusal};
      co_await connection.send(refusal, stream);
      co_return;
    }
    if (behaviour_.reversed && number % 2 == 1) co_await pause(30);
    while (busy_) co_await pause(1);
    if (!known_.contains(job.name)) {
      busy_ = true;
      {
        const std::lock_guard lock(mutex_);
        ++runs_[job.name];
      }
      if (behaviour_.run_ms > 0) co_await pause(behaviour_.run_ms);
      busy_ = false;
      known_[job.name] = behaviour_.result(job);
    }
    if (behaviour_.garbage)
      co_await connection.send(MessageType::kResult, stream, "no result");
    else
      co_await connection.send(known_[job.name], stream);
  } catch (const std::exception&) {
    busy_ = false;
  }

  std::string described() const {
    static const BoardDescription kHere = describe_this_board();
    BoardDescription board = kHere;
    board.machine.name = behaviour_.hardware;
    return to_text(board);
  }

  Behaviour behaviour_;
  asio::io_context context_{1};
  Listener listener_;
  uint16_t port_ = 0;
  std::vector<Connection> open_;
  std::set<Digest> stored_;
  std::map<Digest, JobResult> known_;
  bool busy_ = false;
  std::mutex mutex_;
  std::map<Digest, int> runs_;
  std::thread thread_;
};

}  // namespace tw::rpc::testing
