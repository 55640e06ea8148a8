// Kernels for AArch64 under qemu-aarch64: linked here, run there by tw-kernels (tests/emulated), which the build makes
// where it finds a cross compiler.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"
#include "tests/diff/jobs.h"

namespace tw::diff {

struct EmulatedCpu {
  const char* name;    // as qemu-aarch64 -cpu takes it
  const char* target;  // what code for it is made for
};
std::span<const EmulatedCpu> emulated_cpus();

// "" where kernels can be run so; else why not.
std::string no_aarch64();

// The programs, by the names k0, k1, ..., as one shared object in a file. Throws tw::Error.
void compile_for(const Target&, const std::vector<ir::Program>& lowered, const std::string& path, int opt_level = 3);

// One result for each job. A job that kills the emulated program, or takes more than `seconds` with those before it,
// has that as its damage; those behind it are run all the same. Throws tw::Error where the emulator itself fails.
std::vector<Ran> run_emulated(const EmulatedCpu&, const std::string& shared_object, std::vector<Job> jobs,
                              int seconds = 60);

}  // namespace tw::diff
