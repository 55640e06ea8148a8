#include "tests/diff/emulated.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "codegen/files.h"
#include "codegen/llvm/backend.h"
#include "src/support/subprocess.h"
#include "src/support/temporary_folder.h"
#include "tests/aarch64.h"

namespace tw::diff {

namespace {

constexpr EmulatedCpu kCpus[] = {
    {"cortex-a72", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"},
    {"neoverse-n1", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1"},
    {"max,sve=off", "llvm -mtriple=aarch64-linux-gnu -mcpu=ampere1"},
    {"max", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1 -mattr=-sve"},
    {"max,sve-max-vq=1", "llvm -mtriple=aarch64-linux-gnu -mattr=+sve -msve-vector-bits=128"},
    {"max,sve-max-vq=2", "llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1"},
    {"max,sve-max-vq=4", "llvm -mtriple=aarch64-linux-gnu -mcpu=a64fx"},
};

constexpr const char* kProgram = TW_AARCH64_PROGRAMS "/tests/tw-kernels";

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// One process: the results of the jobs that it ended, and what came of the next one, if any.
std::vector<Ran> run_some(const EmulatedCpu& cpu, const std::string& shared_object, const std::vector<Job>& jobs,
                          int seconds) {
  const support::TemporaryFolder folder("tensorwright-emulated");
  const std::string asked = folder / "jobs", answered = folder / "results";
  std::ofstream(asked, std::ios::binary) << encode(jobs);
  support::Subprocess process(
      {TW_AARCH64_QEMU, {"-L", TW_AARCH64_SYSROOT, "-cpu", cpu.name, kProgram, shared_object, asked, answered}});
  const support::ExitStatus status = process.wait(seconds);
  std::vector<Ran> results = decode_results(content(answered));
  if (status.known && status.signal == 0 && status.code == 0 && results.size() == jobs.size()) return results;
  if (status.code == 3 || results.size() >= jobs.size())
    throw Error({ErrorKind::kInternal, "tw-kernels: " + process.error_text(), {}, {}});
  results.push_back({{},
                     -1,
                     status.ours ? "still running after " + std::to_string(seconds) + " s"
                                 : "ended with " + to_string(status) + ": " + process.error_text()});
  return results;
}

}  // namespace

std::span<const EmulatedCpu> emulated_cpus() { return kCpus; }

std::string no_aarch64() {
#if !TW_LLVM
  return "built without LLVM";
#else
  if (*TW_AARCH64_MISSING) return TW_AARCH64_MISSING;
  return access(kProgram, X_OK) == 0 ? "" : std::string(kProgram) + " is not built (target tw_aarch64)";
#endif
}

void compile_for([[maybe_unused]] const Target& target, [[maybe_unused]] const std::vector<ir::Program>& lowered,
                 [[maybe_unused]] const std::string& path, [[maybe_unused]] int opt_level) {
#if TW_LLVM
  std::vector<ir::Program> named = lowered;
  for (size_t i = 0; i < named.size(); ++i) {
    named[i].name = "k" + std::to_string(i);
    for (ir::Param& param : named[i].params) param.layout.clear();  // else the loader looks for the kernels that pack
  }
  const std::string object = codegen::compile(named, target, opt_level, codegen::Output::kObject).value_or_throw();
  codegen::write_file(path, codegen::link_shared(object).value_or_throw());
#endif
}

std::vector<Ran> run_emulated(const EmulatedCpu& cpu, const std::string& shared_object, std::vector<Job> jobs,
                              int seconds) {
  std::vector<Ran> results;
  while (!jobs.empty()) {
    std::vector<Ran> some = run_some(cpu, shared_object, jobs, seconds);
    jobs.erase(jobs.begin(), jobs.begin() + static_cast<int64_t>(some.size()));
    for (Ran& ran : some) results.push_back(std::move(ran));
  }
  return results;
}

}  // namespace tw::diff
