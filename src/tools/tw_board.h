// The parts of tw-board: a file each for what takes more than a screen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/board/device.h"
#include "src/runtime/confinement.h"
#include "src/runtime/local_runner.h"

namespace tw::tools {

struct BoardOptions {
  std::string pack, log;      // of measure
  std::string listen;         // HOST:PORT
  std::string tracker;        // HOST:PORT
  std::string key, name;      // there
  double give_up_s = 0;       // after so long without it; 0: never
  std::string secret;         // its file
  uint64_t blob_limit = 256;  // megabytes
  std::string worker;
  std::vector<std::string> required;  // layers of the sandbox
  bool trust_clients = false;         // what they send may run without it
  bool json = false, quiet = false;
};

// What measures candidates, and what holds a kernel of a session.
runtime::WorkerCommand worker_command(const BoardOptions&);
runtime::WorkerCommand kernel_command(const BoardOptions&);
// By these; the device is the worker's, where it has one.
std::unique_ptr<runtime::Runner> make_runner(const BoardOptions&, const std::optional<rpc::BoardDevice>&);
std::optional<rpc::BoardDevice> device_of(const BoardOptions&);
rpc::BoardDescription description_of(const std::optional<rpc::BoardDevice>&);
// Throws tw::Error where one that is required does not hold.
void require_layers(const std::vector<runtime::Layer>&, const std::vector<std::string>& required);

// Serve clients until it is interrupted.
int listen(const BoardOptions&);
int serve_at_tracker(const BoardOptions&);

}  // namespace tw::tools
