// Links an object into a shared object with lld, inside this process.
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>
#include <mutex>

#include "codegen/llvm/backend.h"

LLD_HAS_DRIVER(elf)

namespace tw::codegen {

namespace {

std::mutex linker_lock;  // lld keeps its state in globals

// The object as a file that needs no folder.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("kernel.o", MFD_CLOEXEC)) {
    while (descriptor_ >= 0 && !bytes.empty()) {
      const ssize_t n = write(descriptor_, bytes.data(), bytes.size());
      if (n <= 0) break;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    complete_ = descriptor_ >= 0 && bytes.empty();
  }
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  bool complete() const { return complete_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
  bool complete_ = false;
};

// lld installs handlers for most signals of the process and leaves them there; a library has no business doing that.
class SignalHandlersKept {
 public:
  SignalHandlersKept() {
    for (int signal = 1; signal < kSignals; ++signal)
      known_[signal] = sigaction(signal, nullptr, &actions_[signal]) == 0;
  }
  ~SignalHandlersKept() {
    for (int signal = 1; signal < kSignals; ++signal)
      if (known_[signal]) sigaction(signal, &actions_[signal], nullptr);
  }
  SignalHandlersKept(const SignalHandlersKept&) = delete;

 private:
  static constexpr int kSignals = 32;
  struct sigaction actions_[kSignals];
  bool known_[kSignals] = {};
};

}  // namespace

Status link_shared(std::span<const std::string_view> objects, const std::string& path, const std::string& soname) {
  std::vector<std::string> words = {"ld.lld", "-shared",     "--no-undefined",   "--eh-frame-hdr",  "-z", "relro", "-z",
                                    "now",    "--threads=1", "--hash-style=gnu", "--build-id=none", "-o", path};
  if (!soname.empty()) words.push_back("-soname=" + soname);
  std::deque<MemoryFile> inputs;
  for (const std::string_view object : objects) {
    if (!inputs.emplace_back(object).complete())
      return Diagnostic{ErrorKind::kBuild, "build: no memory for the linker's input", {}, {}};
    words.push_back(inputs.back().path());
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  std::string errors;
  llvm::raw_string_ostream out(errors);
  std::lock_guard lock(linker_lock);
  const SignalHandlersKept kept;
  const lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode == 0) return Unit{};
  return Diagnostic{ErrorKind::kBuild, "build: cannot link " + path, {}, {errors}};
}

}  // namespace tw::codegen
