// Runs of kernels as files: what to run, and what came of it. Written here and read by the program that an emulator
// runs, and back.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/diff/fenced_run.h"

namespace tw::diff {

struct Job {
  std::string kernel;  // of the shared object that all of them are in
  std::vector<Argument> arguments;
  Memory inputs;
  std::vector<uint64_t> scalars;
};

std::string encode(const std::vector<Job>&);
std::optional<std::vector<Job>> decode_jobs(std::string_view);

// Results stand one behind the other: a program that dies leaves those of the jobs before.
std::string encode(const Ran&);
std::vector<Ran> decode_results(std::string_view);

}  // namespace tw::diff
