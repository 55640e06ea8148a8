// Several kernels as one static library with one header, each in variants for CPUs of one architecture, or for GPUs.
//
// What is made depends on what is given alone, for one release of Tensorwright and LLVM: not on the machine, its
// threads, folders, users, environment or the order of anything. No bytes name them. Objects have no undefined symbol;
// a symbol of variant x86-64-v3 of a kernel `dense` ends with its suffix, `tw_dense__x86_64_v3`. A variant is what
// `build` makes for its target.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// Lowered for the target, which is one of LLVM's.
struct LibraryVariant {
  Target target;
  ir::Program program;
  std::string origin;                     // one line for the header: the record, the hardware
  std::vector<ir::Program> packers = {};  // as pack_programs makes them
  // Where its text is, for line tables: a file, and the line there on which the program begins.
  std::string text_file = {};
  int text_line = 1;
};
struct LibraryKernel {
  std::string name;
  std::vector<LibraryVariant> variants;
};

struct LibraryOptions {
  std::string name;    // of the files: NAME.h, libNAME.a
  std::string prefix;  // of what C sees: PREFIXdense_run
  // What every CPU has that the library is for; on one that has less calls return TW_ERROR_CPU. By default that of the
  // variant that asks for least.
  std::optional<Target> baseline = {};
  // The triple of what launches kernels for GPUs where none is for a CPU, whose triple counts.
  std::string host = "x86_64-linux-gnu";
  bool debug_lines = false;               // line tables, of the variants whose text is a file's
  std::vector<std::string> externs = {};  // C functions that kernels may call: whoever calls the kernel brings them
};

struct LibraryFile {
  std::string name, bytes;
};

// x86-64-v3, neoverse-v1-no-sve: what a target says beyond its kind and architecture.
std::string short_name(const Target&);

// The header, the archive, and the archive's objects. kArgument and kTarget errors name the kernel.
Result<std::vector<LibraryFile>> make_library(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options);

// The parts of it, for builds that make what has changed alone: `kernels` as checked_library returns them.
Result<std::vector<LibraryKernel>> checked_library(const std::vector<LibraryKernel>& kernels,
                                                   const LibraryOptions& options);
std::string launching_host(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options);  // a triple
std::string library_header(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options);
// In the order of the kernels and their variants. Those that `known` has are taken from there; it is asked by several
// threads at once.
using KnownObject = std::function<std::optional<LibraryFile>(const LibraryKernel&, const LibraryVariant&)>;
Result<std::vector<LibraryFile>> library_objects(const std::vector<LibraryKernel>& kernels,
                                                 const LibraryOptions& options, const KnownObject& known = {});
std::string object_name(const LibraryKernel&, const LibraryVariant&, const LibraryOptions&);
Result<LibraryFile> library_archive(const std::vector<LibraryFile>& objects, const LibraryOptions& options);
// libNAME.so, which exports the kernels.
Result<LibraryFile> library_shared(const std::vector<LibraryFile>& objects, const LibraryOptions& options);

}  // namespace tw::codegen
