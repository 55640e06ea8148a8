// A sample on its way through the oracles, and what those of a kind share.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "src/ir/interp.h"
#include "tests/diff/fenced_run.h"
#include "tests/diff/memory.h"
#include "tests/diff/oracles.h"
#include "tests/diff/packing.h"

namespace tw::diff {

inline constexpr const char* kAArch64 = "aarch64";
inline constexpr const char* kCudaHost = "cuda-host";  // of samples with launches

// One set of sizes of a sample's symbols.
struct Run {
  std::vector<int64_t> sizes;
  Memory inputs, expected, got;  // got: by the lowered program
  Memory wild, wild_got;         // on any bits; empty for most samples
  bool refused = false;          // the sizes are not what the program requires
};

// A sample on its way through the oracles.
struct Trial {
  const Sample& sample;
  ir::Program scheduled, lowered;
  std::vector<schedule::PositiveSize> positive;  // where one is not, the kernel does not run
  ir::InterpOptions contract;                    // of `scheduled`
  Packing packing;
  std::vector<Run> runs;
  int64_t left_out = 0;  // runs
  Finding finding;
};

std::string at_sizes(const Sample&, const std::vector<int64_t>& sizes);
// The first thing that is wrong at some sizes, with these, or "".
std::string each_run(Trial&, const std::function<std::string(Run&)>& judge);
// Sizes at which the program takes too long are left out of the trial.
std::string means_the_definition(Trial&, const ir::Program&, const ir::InterpOptions&);
// The trial as it is for another CPU: lowered for it, and judged by the interpreter. Only short runs.
Trial trial_for(const Trial&, const Target&, const char* oracle);

// A call of the lowered program in machine code, and what the interpreter made of it.
struct Call {
  const Run& run;
  const Memory &inputs, &expected;
  Memory packed;
  std::vector<uint64_t> scalars;
};
std::vector<Call> calls_of(const Trial&);
std::vector<Argument> arguments_of(const Sample&);
// What is wrong with a call that went so, or "".
std::string judged(const Trial&, const Call&, Ran);

// oracles_interpreted.cc: what the interpreter says.
enum class NeededBy : uint8_t { kNobody, kCompiled, kAll };  // other oracles: what it makes
struct Interpreted {
  const char* name;
  int percent;  // of the samples
  std::string (*judge)(Trial&);
  NeededBy needed_by = NeededBy::kNobody;
};
std::span<const Interpreted> interpreted_oracles();
std::string defined(Trial&);       // the definition's results
std::string lowered_wild(Trial&);  // those of the lowered program on any bits

// oracles_emulated.cc, oracles_cuda_host.cc: all trials that suit, together.
void emulate(std::vector<Trial>&, const std::string& cpu_name, Usages&);
void run_texts_of(std::vector<Trial>&, Usages&);

}  // namespace tw::diff
