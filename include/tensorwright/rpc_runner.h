// Measuring on boards, over a network, for a tuning here (docs/boards.md).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorwright/runtime.h"

namespace tw::rpc {

struct RPCRunnerOptions {
  std::vector<std::string> boards = {};  // "pi4-1:9090", of boards that are reached directly; or
  std::string key = {};                  // what a tracker knows them by,
  std::string host = {};                 // and where that is
  int port = 0;
  std::string secret = {};       // path of the file that all share; empty: none, for boards on this machine only
  int priority = 0;              // of the request to a tracker: who asks with more gets a board sooner
  double session_timeout_s = 0;  // after which a tracker takes boards back; 0: never
};

// Measures on boards, a few jobs on each at once; docs/boards.md says what becomes of boards that go away, run hot or
// lie. Thread-safe.
class RPCRunner final : public runtime::Runner {
 public:
  // Reaches all boards. Throws tw::Error (kRpc): who is away, and that boards are not alike.
  explicit RPCRunner(const RPCRunnerOptions&);
  ~RPCRunner() override;

  runtime::RunResult run(const runtime::RunRequest&) override;
  int slots() const override;
  bool elsewhere() const override { return true; }
  MachineDescription machine() const override;  // each of the boards
  std::string why_not(const Target&) const override;
  std::string state() const override;
  void cancel() override;      // the runs under way; later ones run
  std::string target() const;  // what -mcpu=native is on the boards: for target=

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tw::rpc
