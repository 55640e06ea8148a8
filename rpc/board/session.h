// What one client keeps on a board besides what it tunes: arrays, files by their names, kernels that it calls. All of
// it is memory, and goes with the connection.
//
// A kernel runs in a process of its own (runtime/kernel_process.h), on arrays that both share: what it does to them is
// between it and its client.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/thread_pool.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "rpc/net/connection.h"
#include "src/runtime/kernel_process.h"

namespace tw::rpc {

class BoardSession {
 public:
  using FindBlob = std::function<std::optional<Blob>(const Digest&)>;
  // `serves_kernels` starts what calls runtime::serve_kernel; `waiting` is where kernels are waited for.
  BoardSession(runtime::WorkerCommand serves_kernels, int threads, uint64_t most_bytes, FindBlob,
               asio::thread_pool& waiting);
  ~BoardSession();
  // Ends the kernels, those that run and those that are being loaded.
  void end();

  // Whether the frame is one of a session's; then it is answered, on its stream, or will be once a kernel has run.
  asio::awaitable<bool> answer(Connection, Frame);

 private:
  struct State;
  std::shared_ptr<State> state_;  // calls that run hold it
};

}  // namespace tw::rpc
