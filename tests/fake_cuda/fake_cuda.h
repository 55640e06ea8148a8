// A driver of CUDA without a device: the functions that src/runtime/cuda calls, over memory of the host. A launch runs
// the interpreter, with all its checks, on the program that the image holds (codegen/cuda/program_image.h), and only
// after the sizes that were asked for have been compared with what the program says.
//
// TW_CUDA_DRIVER names this library, TW_CUDA_IMAGES=ir has such images made. FAKE_CUDA_DEVICES, FAKE_CUDA_CAPABILITY
// ("9.0"), FAKE_CUDA_VERSION ("13.0") and FAKE_CUDA_BYTES say what it pretends to be and to have; with FAKE_CUDA_IDLE=1
// a launch runs nothing, for benches of calls. A fault goes to stderr, and is the error of all calls after.
//
// FAKE_CUDA_FAULT plants one: "illegal" (a launch touches what nobody has), "lost" (the device is gone at a launch),
// "hang" (a launch never ends), "outside" (a launch writes in front of its first array) or "input" (a candidate's
// first launch writes into that array). With FAKE_CUDA_ONCE, a file, only the process that removes it has the fault.
// While the file FAKE_CUDA_GONE is there the device is lost at a launch or an allocation, and no process finds another
// one. FAKE_CUDA_TRACE is a file that gets a line for each launch: its process, and where its first array is;
// FAKE_CUDA_UPLOADS one for each copy from the host: its process, and bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "src/runtime/cuda/driver.h"
#include "tensorwright/ir.h"

namespace tw::fake {

using namespace runtime::cuda;

inline constexpr Code kInvalid = 1, kInvalidContext = 201, kNotFound = 500;

// Under `mutex`, but for what never changes.
inline std::mutex mutex;
struct Memory {
  std::unique_ptr<std::byte[]> bytes;  // null: of addresses that were reserved
  size_t size;
  int ordinal;
};
inline std::map<Address, Memory> memory;
inline size_t used = 0;
inline Code fault = 0;                          // of a kernel: what every call returns from then on
inline thread_local std::vector<int> contexts;  // ordinals

struct Image {
  std::vector<ir::Program> programs;
};
struct LoadedFunction {
  const ir::Program* program;
  int dynamic_bytes = 0;
};

// What is put into a stream while it is captured.
struct Recorded {
  const LoadedFunction* function;
  unsigned sizes[6];
  unsigned shared_bytes;
  std::vector<uint64_t> operands;
};
struct Recording {
  std::vector<Recorded> launches;
  std::vector<Address> scratch, spare;  // spare: of it what was released, which the next allocation may take
};
inline std::map<Stream, Recording> captured;
inline std::map<Stream, int> streams;  // that were made here: of which device

// Whether the stream may be of the current context: of others than ours nothing is known.
bool is_here(Stream);

// The variable's number.
int64_t number(const char* variable, int64_t otherwise);

// Whether the device has been lost, the ordinal of the current context (-1: none), and what the device can do.
bool is_gone();
int current();
std::pair<int, int> capability();

const std::pair<const Address, Memory>* block_with(Address);
Code release(Address);

// Of the program's axes those whose extent it does not know.
size_t unknown_axes(const ir::Program&);

// Under `mutex`. `sizes`: of the grid, then of a block, x first.
Code launch(const LoadedFunction&, const std::array<unsigned, 6>& sizes, unsigned shared_bytes, void** operands);

}  // namespace tw::fake
