// Running kernels: argument specifications, modules, timing, the thread pool, and the Runner that measures in a worker
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorwright/blob.h"
#include "tensorwright/ir.h"
#include "tensorwright/kernel_abi.h"
#include "tensorwright/machine.h"
#include "tensorwright/target.h"

namespace tw::runtime {

// What a kernel expects of one argument.
struct ArgSpec {
  std::string name;
  ir::Type dtype;
  std::vector<int64_t> shape;    // -1 where it is symbolic
  std::vector<int64_t> strides;  // in elements; empty: compact row-major
  bool written = false;
  // Of symbolic shapes and strides, else empty: one expression over the kernel's scalars for each dimension.
  std::vector<ir::Expr> symbolic_shape = {}, symbolic_strides = {};
  // Of an input that is packed outside of the kernel: how, as text; shape is the packed one. Empty: as it was declared.
  std::string layout = {};
  std::optional<std::pair<int64_t, int64_t>> range = {};  // the caller's promise: every value is in it
  bool symbolic() const { return !symbolic_shape.empty() || !symbolic_strides.empty(); }
  int64_t elements() const;  // that the memory must span; not of a symbolic one
  size_t bytes() const { return static_cast<size_t>(dtype.bytes_of(elements())); }
};

// A scalar that a kernel takes besides its arrays.
struct ScalarSpec {
  ir::Var var;     // in symbolic shapes; its type is what the kernel reads (an index: 64 bits)
  int place = -1;  // how many arrays stand before it in the argument list; -1: the arrays' shapes give it
};
// The value of one: its low bytes hold a value of the scalar's type.
using ScalarValue = uint64_t;

// A view of the caller's memory, as DLPack or NumPy describe it.
struct ArrayView {
  void* data = nullptr;
  ir::Type dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;  // in elements; empty: compact row-major
  bool read_only = false;
  std::string layout = {};  // of a packed array, as `pack` gave it
};

using KernelFn = int32_t (*)(const tw_args*, const tw_context*);

// The library's own context: the thread pool and an allocator that keeps freed scratch.
const tw_context* host_context();

int num_threads();            // TW_NUM_THREADS, else the cores this process may use
void set_num_threads(int n);  // >= 1; takes effect at the next kernel
// Stops the pool's threads from spinning or waking until the next kernel: benches call it between interleaved rounds.
void park_threads();

// Compiled code with its arguments. Immutable and thread-safe; outlives every call that runs in it.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const = 0;
  virtual const std::vector<ArgSpec>& args() const = 0;
  virtual const std::vector<ScalarSpec>& scalars() const;  // none, unless overridden
  // Of an argument with a layout: the kernel that makes it, whose arguments are the array as declared and the packed
  // one.
  virtual const Kernel* packer(size_t argument) const;  // null, unless overridden
  // Runs on raw pointers, one per argument and then one per scalar, unchecked. 0 or an error code.
  virtual int32_t run(void* const* data) const = 0;
};

// Shape, dtype, strides, alignment, read-only outputs, overlap of outputs with anything: ok or a kArgument / kDType
// Diagnostic that names the argument by position and name, what was expected and what came. `scalars` are those with a
// place.
Status check_args(const Kernel&, std::span<const ArrayView>, std::span<const ScalarValue> scalars = {});
// check_args, then run. Throws tw::Error.
void call(const Kernel&, std::span<const ArrayView>, std::span<const ScalarValue> scalars = {});

// An input in the layout that a kernel wants.
struct Packed {
  std::shared_ptr<std::byte> memory;  // null where the kernel takes the array as it is, which is then the view
  ArrayView view;
};
// Packs `array`, which is as declared; an argument that the kernel does not pack stays as it is, and so does one that
// is packed so already. Throws tw::Error for an array that is not what was declared, and for outputs.
Packed pack(const Kernel&, size_t argument, const ArrayView& array);

// Whether all values of the inputs with a range are in it, packed ones excepted: ok, or which is not.
Status check_ranges(const Kernel&, std::span<const ArrayView>);

struct Timing {
  std::vector<double> runs;  // seconds per call, one per repeat
  double median = 0;
  double spread = 0;  // (90th - 10th percentile) / median
};
struct TimingOptions {
  int number = 0;  // calls per repeat; 0: as many as make a repeat last min_repeat_ms
  int repeat = 5;
  double min_repeat_ms = 1;
};
Timing time(const Kernel&, std::span<const ArrayView>, const TimingOptions& = {},
            std::span<const ScalarValue> scalars = {});

// Loads a shared object that `Module::save` wrote (or any that follows the ABI and has a descriptor).
std::shared_ptr<const Kernel> load(const std::string& path, const std::string& name = "");

// ---------------------------------------------------------------------------------------------------- measuring a
// candidate

enum class RunStatus : uint8_t {
  kOk,
  kBeaten,       // clearly slower than `give_up_above`; seconds is a bound
  kWrongAnswer,  // an output differs from the reference, was not written, or a guard zone was touched
  kCrashed,      // SEGV, ILL, FPE, ABRT, exit without a result, rlimit
  kTimeout,
  kTooFast,  // faster than the work allows
  kLoadFailed,
  kDeviceLost,  // the worker was lost through no fault of the candidate, three times
};
std::string_view to_string(RunStatus);

// An element of an output that is known from the declaration, by the interpreter.
struct Probe {
  size_t argument = 0;
  int64_t element = 0;  // in row-major order
  double expected = 0;
  bool operator==(const Probe&) const = default;
};

// A reference that would be large to carry: made where the runs are, by the default schedule, whose outputs count once
// they have these elements.
struct MadeReference {
  Blob object = {};  // with a kernel of the request's name
  std::vector<Probe> probes = {};
};

struct RunRequest {
  Blob object;         // a shared object
  std::string kernel;  // its name in there
  std::vector<ArgSpec> args;
  Blob inputs;                    // the initial bytes of every argument, one after the other at multiples of 64
  int inputs_version = 0;         // of random_inputs (src/runtime/inputs.h), which they are; 0: they are others
  std::optional<Blob> reference;  // laid out likewise, the outputs as they must be; without it nothing is timed
  std::optional<MadeReference> made_reference = {};  // in its place, of a Runner elsewhere, which finds atol then
  Blob device_checks = {};         // an object that looks at large arguments on a device; of no bytes: the host does
  std::vector<double> rtol, atol;  // per argument, of the comparison with it
  int threads = 1;
  double timeout_s = 10;
  double give_up_above_s = 0;  // one run slower than this ends it (kBeaten); 0: never
  double lower_bound_s = 0;    // less than 0.75 x this is refused (kTooFast)
  int number = 0, repeat = 0;  // 0: adaptive, until the median's confidence interval is tight
  uint64_t candidate = 0;      // its index in the space that is tuned, for those who ask; workers do not
};
// Where a run was, and how it was there; what is not known is 0 and empty.
struct RunPlace {
  std::string board = {};  // empty: this machine
  double hertz = 0, celsius = 0;
  std::string governor = {};
  double drift = 1;  // how much longer than at first the same took then: the time has been divided by it
  bool operator==(const RunPlace&) const = default;
};
struct RunResult {
  RunStatus status = RunStatus::kDeviceLost;
  double seconds = 0;  // median
  double spread = 0;
  int runs = 0;
  std::string detail;                // for people: which argument, which element, expected, got; the signal
  std::optional<Blob> outputs = {};  // of a good run without a reference: all arguments as it left them
  RunPlace place = {};
};

// What a local Runner measures on: this machine, with num_threads() threads.
MachineDescription this_machine();

class Builder;  // src/runtime/builder.h

// Bytes and argument specifications in, times out. Local workers (src/runtime/local_runner.h) or a remote board (rpc).
class Runner {
 public:
  virtual ~Runner() = default;
  // From any thread; more at once than there are slots wait.
  virtual RunResult run(const RunRequest&) = 0;
  virtual int slots() const { return 1; }          // runs that it takes at once, at least one
  virtual MachineDescription machine() const = 0;  // that it measures on; its hardware_name is part of a record's key
  virtual std::string why_not(
      const Target&) const;  // "" where it runs code for the target; else what this machine lacks
  virtual void cancel() {}   // from another thread: the runs under way end soon, with any status
  virtual std::string state() const { return {}; }  // for people who watch: "4 boards, pi4-2 throttled"
  // On another machine, which makes inputs that have a version, and references: requests come without these bytes.
  virtual bool elsewhere() const { return false; }
  virtual Builder* builder() { return nullptr; }  // that builds what it measures; null: this machine does
};

}  // namespace tw::runtime
