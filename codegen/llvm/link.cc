// Links an object into a shared object with lld, inside this process.
#include <fcntl.h>
#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

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

// What the linker writes, by a pipe. A file it would map, and where the disk is full, writing to that ends the process.
class PipedOutput {
 public:
  PipedOutput() {
    if (pipe2(ends_, O_CLOEXEC) == 0) reader_ = std::jthread([this] { read_all(); });
  }
  ~PipedOutput() { end(); }
  PipedOutput(const PipedOutput&) = delete;
  bool usable() const { return ends_[0] >= 0; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(ends_[1]); }
  std::string bytes() && {  // once the linker is done
    end();
    return std::move(bytes_);
  }

 private:
  // A process that was forked meanwhile may keep the pipe open: its end is then that nobody writes any more.
  void read_all() {
    constexpr int kLookMs = 10;
    for (std::array<char, size_t{1} << 16> chunk;;) {
      pollfd readable{ends_[0], POLLIN, 0};
      const bool over = over_;
      if (poll(&readable, 1, kLookMs) <= 0) {
        if (over) return;
        continue;
      }
      const ssize_t n = read(ends_[0], chunk.data(), chunk.size());
      if (n == 0) return;
      if (n > 0) bytes_.append(chunk.data(), static_cast<size_t>(n));
    }
  }
  void end() {
    if (!reader_.joinable()) return;
    over_ = true;
    close(ends_[1]);
    reader_.join();
    close(ends_[0]);
  }

  int ends_[2] = {-1, -1};
  std::string bytes_;
  std::atomic<bool> over_ = false;
  std::jthread reader_;
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

Result<std::string> link_shared(std::span<const std::string_view> objects, const std::string& soname) {
  PipedOutput output;
  if (!output.usable()) return Diagnostic{ErrorKind::kBuild, "build: no memory for the linker's output", {}, {}};
  std::vector<std::string> words = {
      "ld.lld", "-shared",     "--no-undefined",   "--eh-frame-hdr",  "-z", "relro",      "-z",
      "now",    "--threads=1", "--hash-style=gnu", "--build-id=none", "-o", output.path()};
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
  if (result.retCode == 0) return std::move(output).bytes();
  return Diagnostic{ErrorKind::kBuild, "build: the linker refuses what was compiled", {}, {errors}};
}

}  // namespace tw::codegen
