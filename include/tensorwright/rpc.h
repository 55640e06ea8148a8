// Machines elsewhere: arrays, files and kernels on a board (docs/boards.md).
//
//   rpc::Session board = rpc::Session::connect({"pi4-1", 9090, "farm.secret"});
//   board.upload("dense.so", bytes);
//   rpc::RemoteKernel dense = board.load_module("dense.so");
//   rpc::RemoteArray a = board.array(ir::Type::f(32), {257, 513}, data), c = board.array(ir::Type::f(32), {257, 257});
//   dense({a, c});
//   c.copy_to(result);
//   double median = dense.time({a, c}, {.repeat = 9}).median;
//
// A handle may be copied, and what it stands for goes with the last one, or with the connection. Thread-safety: each
// may be used by several threads; requests of one session are served one after the other. All throw tw::Error: kRpc
// where the board is away, refuses the secret or breaks the protocol, and otherwise what a call on this machine would
// throw.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::rpc {

struct Address {
  std::string host;  // a name or a number
  uint16_t port = 0;
  std::string secret = {};  // its file; without one only this machine is spoken to
  double timeout_s = 10;    // for the connection
};

// Which board of a tracker is wanted.
struct RequestOptions {
  std::string key;             // of the class of devices
  std::string predicate = {};  // over what boards say of themselves
  int priority = 0;            // greater: sooner
  double wait_s = 60;          // for one to be free
  double session_s = 0;        // after which it is taken back; 0: never
  int max_retry = 5;           // how often one that is lost before it answers is replaced by another
};

class RemoteArray {
 public:
  ir::Type dtype() const;
  const std::vector<int64_t>& shape() const;
  size_t bytes() const;
  void copy_from(const void* data);  // that many bytes, row-major
  void copy_to(void* data) const;

  struct State;
  explicit RemoteArray(std::shared_ptr<State> state) : state_(std::move(state)) {}
  const State& state() const { return *state_; }

 private:
  std::shared_ptr<State> state_;
};

class RemoteKernel {
 public:
  const std::string& name() const;
  const std::vector<runtime::ArgSpec>& args() const;        // an extent that is symbolic is -1
  const std::vector<runtime::ScalarSpec>& scalars() const;  // that are passed after the arrays
  // Arguments are checked there, as in a call on this machine. `timeout_s`: after which the kernel is given up and
  // gone.
  void operator()(const std::vector<RemoteArray>&, const std::vector<runtime::ScalarValue>& scalars = {},
                  double timeout_s = 60) const;
  // As runtime::time has it, there; `cooldown_ms` passes between two repeats.
  runtime::Timing time(const std::vector<RemoteArray>&, const runtime::TimingOptions& = {}, double cooldown_ms = 0,
                       const std::vector<runtime::ScalarValue>& scalars = {}, double timeout_s = 600) const;

  struct State;
  explicit RemoteKernel(std::shared_ptr<State> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<State> state_;
};

class Session {
 public:
  static Session connect(const Address& board);
  static Session request(const Address& tracker, const RequestOptions&);

  // The board is free again, and what handles stand for is gone, however many there are.
  void close();

  const std::string& description() const;  // what the board is, as JSON

  // Files are names and bytes, in the board's memory.
  void upload(const std::string& name, std::string_view content);
  std::string download(const std::string& name) const;
  std::vector<std::pair<std::string, uint64_t>> listdir() const;  // and their bytes
  void remove(const std::string& name);

  // A shared object that was uploaded; `kernel` says which, where it has several.
  RemoteKernel load_module(const std::string& name, const std::string& kernel = "");

  // Zeros without data.
  RemoteArray array(ir::Type dtype, std::vector<int64_t> shape, const void* data = nullptr);

  struct State;

 private:
  explicit Session(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

// Who is there, who has whom, who waits, as JSON.
std::string tracker_summary(const Address& tracker);

}  // namespace tw::rpc
