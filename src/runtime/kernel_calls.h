// What is said to a process that serves the calls of one kernel (kernel_service.h), and what it answers. Each request
// has one answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/runtime/messages.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Shared memory as a kernel is to see it. Which one, by a number that the asking side has given it.
struct PlacedArray {
  uint64_t memory = 0;
  ir::Type dtype = {};
  std::vector<int64_t> shape = {}, strides = {};  // in elements; none: compact row-major
};

struct LoadKernel {
  Blob object;
  std::string name;  // of several; empty: the only one
  int threads = 1;
};
struct ShareMemory {
  uint64_t memory = 0, bytes = 0;  // the descriptor travels along
};
struct ForgetMemory {
  uint64_t memory = 0;
};
struct CallKernel {
  std::vector<PlacedArray> arrays;
  std::vector<ScalarValue> scalars;
  std::optional<TimingOptions> timing = {};  // as tw::runtime::time has it
  double cooldown_s = 0;                     // between two repeats
};
using KernelRequest = std::variant<LoadKernel, ShareMemory, ForgetMemory, CallKernel>;

// The kernel as its caller sees it.
struct KernelSummary {
  std::string name;
  std::vector<ArgSpec> args;         // without expressions: an extent that is symbolic is -1
  std::vector<ScalarSpec> scalars;  // those that are passed
};
struct KernelAnswer {
  std::optional<Diagnostic> refused = {};
  std::optional<KernelSummary> loaded = {};
  std::vector<double> runs = {};  // seconds of a call, of each repeat
};

Message encode(const KernelRequest&, int descriptor = -1);
Message encode(const KernelAnswer&);
// Nothing for what nobody would send. The descriptor of ShareMemory stays in the message.
std::optional<KernelRequest> decode_kernel_request(ReceivedMessage&);
std::optional<KernelAnswer> decode_kernel_answer(const ReceivedMessage&);

}  // namespace tw::runtime
