#include "codegen/c/compiler.h"

#include <dlfcn.h>
#include <elf.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "src/support/subprocess.h"
#include "src/support/temporary_folder.h"
#include "src/target/c_compiler.h"
#include "src/target/triple.h"

namespace tw::codegen {

namespace {

constexpr double kPatience = 600;  // seconds; thousands of unrolled statements take long

Diagnostic cannot_compile(const std::string& what, std::vector<std::string> notes) {
  return Diagnostic{ErrorKind::kBuild, "build: " + what, {}, std::move(notes)};
}

// The instructions that the target has, one flag each: compilers know features longer than they know CPUs.
void add_features_of_x86(const Target& target, std::vector<std::string>& flags) {
  for (const char* feature : {"sse3",     "ssse3",    "sse4.1",   "sse4.2",   "popcnt",     "avx",       "avx2",
                              "bmi",      "bmi2",     "f16c",     "fma",      "lzcnt",      "movbe",     "avx512f",
                              "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16"})
    if (target.has(feature)) flags.push_back(std::string("-m") + feature);
  if (target.abilities.vector_bits == 512) flags.push_back("-mprefer-vector-width=512");
}

// NEON and what widens it; for the cores that GCC has known since its release 9, how they schedule.
void add_features_of_aarch64(const Target& target, std::vector<std::string>& flags) {
  std::string march = "-march=armv8-a";
  for (const auto& [feature, extension] :
       {std::pair{"fullfp16", "+fp16"}, {"dotprod", "+dotprod"}, {"i8mm", "+i8mm"}, {"bf16", "+bf16"}})
    if (target.has(feature)) march += extension;
  flags.push_back(march);
  for (const char* core : {"cortex-a35", "cortex-a53", "cortex-a55", "cortex-a57", "cortex-a72", "cortex-a73",
                           "cortex-a75", "cortex-a76", "neoverse-n1", "thunderx2t99", "tsv110"})
    if (target.cpu == core) flags.push_back(std::string("-mtune=") + core);
}

// VFP without NEON, whose float arithmetic flushes subnormal numbers.
void add_features_of_arm(const Target&, std::vector<std::string>& flags) {
  flags.insert(flags.end(), {"-march=armv7-a+fp", "-mfloat-abi=hard"});
}

void add_features_of_riscv64(const Target&, std::vector<std::string>& flags) {
  flags.insert(flags.end(), {"-march=rv64gc", "-mabi=lp64d"});
}

struct Architecture {
  const char* name;
  uint16_t machine;  // of an ELF file
  void (*add_features)(const Target&, std::vector<std::string>& flags);
};
constexpr Architecture kArchitectures[] = {{"x86_64", EM_X86_64, add_features_of_x86},
                                           {"aarch64", EM_AARCH64, add_features_of_aarch64},
                                           {"arm", EM_ARM, add_features_of_arm},
                                           {"riscv64", EM_RISCV, add_features_of_riscv64}};

const Architecture* architecture_of(const Target& target) {
  for (const Architecture& row : kArchitectures)
    if (target::architecture_of(target.triple) == row.name) return &row;
  return nullptr;
}

std::vector<std::string> flags_for(const Target& target, int opt_level) {
  // -O2, not -O3: gcc unrolls loops over lanes before it makes vectors of them. Values without optimisation are those
  // of -O1, which differs in that functions such as sqrt are instructions.
  std::vector<std::string> flags = {"-std=c99", opt_level == 0 ? "-O1" : "-O2", "-w", "-fPIC"};
  for (const char* meaning : {"-fwrapv", "-fno-math-errno", "-ffp-contract=off"}) flags.push_back(meaning);
  // Loops that copy or fill stay loops, and nothing is added that a C library would have to bring.
  for (const char* alone :
       {"-fno-builtin-memset", "-fno-builtin-memcpy", "-fno-tree-loop-distribute-patterns", "-fno-stack-protector"})
    flags.push_back(alone);
  if (const Architecture* architecture = architecture_of(target)) architecture->add_features(target, flags);
  return flags;
}

std::string last_lines(const std::string& text, int count) {
  size_t at = text.size();
  while (at != std::string::npos && at > 0 && count-- > 0) at = text.rfind('\n', at - 1);
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

std::string another_compiler(const Target& target) {
  return "the variable " + target::c_compiler_variable(target.triple) + " names another compiler";
}

// When the file was written; where there is none, never.
std::filesystem::file_time_type written(const std::string& path) {
  std::error_code none;
  return std::filesystem::last_write_time(path, none);
}

// How a compiler ended is lost where this process ignores SIGCHLD: then whether it wrote what it was to make counts.
bool succeeded(const support::ExitStatus& status, bool wrote) {
  if (status.known) return status.signal == 0 && status.code == 0;
  return !status.ours && wrote;
}

// The compiler with `args`, to make the file `made`.
Status run(const std::vector<std::string>& compiler, const Target& target, const std::string& made,
           std::vector<std::string> args) {
  const auto before = written(made);
  args.insert(args.end(), {"-o", made});
  args.insert(args.begin(), compiler.begin() + 1, compiler.end());
  try {
    support::Subprocess process({compiler[0], std::move(args)});
    const support::ExitStatus status = process.wait(kPatience);
    if (succeeded(status, written(made) > before)) return Unit{};
    return cannot_compile("the C compiler " + compiler[0] + " failed: " + support::to_string(status),
                          {last_lines(process.error_text(), 12), another_compiler(target)});
  } catch (const std::system_error& e) {
    return cannot_compile("the C compiler " + compiler[0] + " cannot be started: " + e.what(), {});
  }
}

// That the compiler, which anybody may name, makes code for the target's architecture.
Status check_machine(const std::string& compiler, const Target& target, const std::string& path) {
  Elf32_Ehdr header = {};  // one of 64 bits is the same up to the machine
  std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(&header), sizeof header);
  const Architecture* architecture = architecture_of(target);
  if (!architecture || header.e_machine == architecture->machine) return Unit{};
  return cannot_compile("the C compiler " + compiler + " makes no code for " + target.triple,
                        {another_compiler(target)});
}

}  // namespace

Status compile_c(const std::string& source, const Target& target, int opt_level, COutput output,
                 const std::string& path, const std::vector<std::string>& more) {
  const std::vector<std::string> compiler = target::c_compiler(target.triple);
  if (compiler.empty())
    return cannot_compile("no C compiler for " + target.triple + " was found",
                          {"target c needs " + target::c_compiler_wanted(target.triple) +
                           ", or another one's name in " + target::c_compiler_variable(target.triple)});
  const support::TemporaryFolder folder("tensorwright-c");
  if (!folder.usable()) return cannot_compile("no temporary folder for the C compiler", {"TMPDIR may name one"});
  const std::string text = folder / "kernel.c";
  std::ofstream(text) << source;
  std::vector<std::string> args = flags_for(target, opt_level);
  args.insert(args.end(), more.begin(), more.end());
  if (output == COutput::kShared)
    args.insert(args.end(), {"-shared", "-nostdlib", "-Wl,-z,defs", "-Wl,-z,now"});
  else
    args.push_back("-c");
  args.push_back(text);
  // gcc 12 calls ceilf in some places though it has the instruction; where it does not, the library is left out.
  // Divisions of 64 bits are functions of its own library on CPUs of 32.
  if (output == COutput::kShared) args.insert(args.end(), {"-Wl,--as-needed", "-lm", "-lgcc"});
  // Those of ARM call raise where a divisor is 0, as none of ours is.
  if (output == COutput::kShared && target::architecture_of(target.triple) == "arm") args.push_back("-lc");
  if (Status ran = run(compiler, target, path, std::move(args)); !ran) {
    // One for another architecture gives up at the options already.
    const std::string nothing = folder / "nothing.c";
    std::ofstream(nothing).flush();
    if (!run(compiler, target, path, {"-c", nothing})) return ran;
    TW_TRY([[maybe_unused]] Unit same, check_machine(compiler[0], target, path));
    return ran;
  }
  return check_machine(compiler[0], target, path);
}

Result<std::shared_ptr<void>> load_c(const std::string& source, const Target& target, int opt_level,
                                     const std::vector<std::string>& more) {
  const support::TemporaryFolder folder("tensorwright-c");
  if (!folder.usable()) return cannot_compile("no temporary folder for the C compiler", {"TMPDIR may name one"});
  const std::string path = folder / "kernel.so";
  TW_TRY([[maybe_unused]] Unit compiled, compile_c(source, target, opt_level, COutput::kShared, path, more));
  std::shared_ptr<void> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
    if (handle) dlclose(handle);
  });
  if (!library) return cannot_compile("the compiled C cannot be loaded", {dlerror()});
  return library;
}

}  // namespace tw::codegen
