#include "src/support/subprocess.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <system_error>
#include <thread>

extern char** environ;

namespace tw::support {
namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

// Descriptors stay clear of those which the child arranges anew. Throws where the process may not have so many.
Descriptor above_standard(Descriptor low) {
  constexpr int kFirst = 16;
  Descriptor moved(low.get() < 0 ? -1 : fcntl(low.get(), F_DUPFD_CLOEXEC, kFirst));
  if (moved.get() >= 0) return moved;
  if (errno == EINVAL) errno = EMFILE;  // kFirst is beyond the limit
  fail("descriptors for a process");
}

// Runs jobs on one thread that never ends.
class Spawner {
 public:
  Spawner() {
    std::thread([this] { loop(); }).detach();
  }
  void run(const std::function<void()>& job) {
    std::promise<void> done;
    {
      std::lock_guard lock(mutex_);
      jobs_.push_back([&] {
        job();
        done.set_value();
      });
    }
    ready_.notify_one();
    done.get_future().wait();
  }

 private:
  void loop() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, nullptr);  // signals are for the user's threads
    for (;;) {
      std::unique_lock lock(mutex_);
      ready_.wait(lock, [&] { return !jobs_.empty(); });
      const std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
    }
  }
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> jobs_;
};

std::atomic<Spawner*> the_spawner{nullptr};

// Never destroyed; a forked child makes its own, for threads do not survive fork.
Spawner& spawner() {
  static std::mutex making;
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { the_spawner.store(nullptr); }); });
  std::lock_guard lock(making);
  if (!the_spawner.load()) the_spawner.store(new Spawner);
  return *the_spawner.load();
}

// Everything the child needs, made before vfork: between vfork and exec it may only make system calls.
struct Plan {
  const char* path;
  std::vector<char*> argv;
  int null, errors, channel;
  int failure;  // a pipe: the reason why exec failed, or nothing
  uint64_t address_space, file_bytes;
  pid_t parent;
  int most_descriptors;  // that are looked at where nothing lists them
};

constexpr int kFailure = kChannel + 1;

void limit(int resource, uint64_t value) {
  const rlimit both{value, value};
  setrlimit(static_cast<__rlimit_resource>(resource), &both);
}

// Those of this process from `first` on: by what /proc lists where the kernel is old or a filter refuses close_range.
void close_from(int first, int most) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  const int listing = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listing < 0)
    for (int fd = first; fd < most; ++fd) close(fd);
  char entries[1024];
  constexpr long kLength = 16, kName = 19;  // where these lie in an entry
  uint16_t length = 0;
  for (long bytes; (bytes = syscall(SYS_getdents64, listing, entries, sizeof entries)) > 0;)
    for (long at = 0; at < bytes; at += length) {
      std::memcpy(&length, entries + at + kLength, sizeof length);
      int fd = 0;
      for (const char* name = entries + at + kName; *name >= '0' && *name <= '9'; ++name) fd = 10 * fd + (*name - '0');
      if (fd >= first && fd != listing) close(fd);
    }
}

[[noreturn]] void become(Plan& plan) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);  // it died before the line above
  limit(RLIMIT_CORE, 0);
  if (plan.address_space) limit(RLIMIT_AS, plan.address_space);
  if (plan.file_bytes) limit(RLIMIT_FSIZE, plan.file_bytes);
  dup2(plan.null, 0);
  dup2(plan.null, 1);
  dup2(plan.errors, 2);
  dup2(plan.channel, kChannel);
  dup3(plan.failure, kFailure, O_CLOEXEC);
  close_from(kFailure + 1, plan.most_descriptors);
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < 32; ++signal) sigaction(signal, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(plan.path, plan.argv.data(), environ);
  const int reason = errno;
  if (write(kFailure, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

int most_descriptors() {
  constexpr rlim_t kMost = 1 << 16;  // a limit may be a thousand times that, and nobody opens so many
  rlimit most{};
  getrlimit(RLIMIT_NOFILE, &most);
  return static_cast<int>(std::min(most.rlim_cur, kMost));
}

__attribute__((noinline)) pid_t start(Plan& plan) {
  const pid_t pid = vfork();
  if (pid == 0) become(plan);
  return pid;
}

}  // namespace

void begin_starting_processes() { spawner(); }

Subprocess::Subprocess(const Command& command) {
  int pair[2], ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair");
  Descriptor ours(pair[0]), theirs(pair[1]);
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe");
  const Descriptor failure(ends[0]);
  Descriptor fails(ends[1]);
  channel_ = above_standard(std::move(ours));
  theirs = above_standard(std::move(theirs));
  fails = above_standard(std::move(fails));
  errors_ = above_standard(Descriptor(memfd_create("stderr", MFD_CLOEXEC)));
  const Descriptor null = above_standard(Descriptor(open("/dev/null", O_RDWR | O_CLOEXEC)));
  Plan plan{command.path.c_str(),
            {},
            null.get(),
            errors_.get(),
            theirs.get(),
            fails.get(),
            command.address_space_bytes,
            command.file_bytes,
            creator_,
            most_descriptors()};
  plan.argv.push_back(const_cast<char*>(plan.path));
  for (const std::string& arg : command.args) plan.argv.push_back(const_cast<char*>(arg.c_str()));
  plan.argv.push_back(nullptr);
  int reason = 0;
  spawner().run([&] {
    pid_ = start(plan);
    if (pid_ < 0) reason = errno;
  });
  theirs = Descriptor();
  fails = Descriptor();  // so that reading ends
  if (pid_ > 0 && read(failure.get(), &reason, sizeof(reason)) == sizeof(reason)) waitpid(pid_, nullptr, 0);
  if (reason == 0) return;
  errno = reason;
  fail("cannot start " + command.path);
}

Subprocess::~Subprocess() {
  kill();
  reap(1e9);
}

void Subprocess::signal_group(int signal) {
  if (!is_ours()) return;
  std::lock_guard lock(mutex_);
  if (reaped_) return;
  signalled_ = true;
  // The child makes its group itself; before that only its own id is known.
  if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
}

void Subprocess::kill() { signal_group(SIGKILL); }

void Subprocess::terminate(double grace_s) {
  signal_group(SIGTERM);
  if (!reap(grace_s)) kill();
}

// A process that was forked from the one that made it has a copy of the object, and not the child.
bool Subprocess::is_ours() const { return getpid() == creator_; }

bool Subprocess::reap(double patience_s) {
  if (!is_ours()) return true;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  for (int round = 0;; ++round) {
    {
      std::lock_guard lock(mutex_);
      if (reaped_) return true;
      siginfo_t info = {};
      // Looked at first and reaped after the rest of its group is gone, so that the group's number is still its own.
      const int got = waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
      // Where somebody else has reaped it, its number may be another's by now.
      if (got == 0 ? info.si_pid == pid_ : errno != EINTR) {
        if (got == 0) ::kill(-pid_, SIGKILL);
        int raw = 0;
        status_.known = waitpid(pid_, &raw, 0) == pid_;
        if (status_.known && WIFEXITED(raw)) status_.code = WEXITSTATUS(raw);
        if (status_.known && WIFSIGNALED(raw)) status_.signal = WTERMSIG(raw);
        status_.ours = signalled_;
        reaped_ = true;
        return true;
      }
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(round < 20 ? 100 : 2000));
  }
}

ExitStatus Subprocess::wait(double patience_s) {
  if (!reap(patience_s)) {
    kill();
    reap(1e9);
  }
  return status_;
}

std::string Subprocess::error_text() const {
  constexpr off_t kMost = 4096;
  const off_t size = lseek(errors_.get(), 0, SEEK_END);
  if (size <= 0) return {};
  std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
  const ssize_t got = pread(errors_.get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string to_string(const ExitStatus& status) {
  if (!status.known) return "unknown exit status";
  if (status.signal == 0) return "exit code " + std::to_string(status.code);
  const char* name = sigabbrev_np(status.signal);
  const char* words = sigdescr_np(status.signal);
  return std::string("SIG") + (name ? name : std::to_string(status.signal).c_str()) +
         (words ? " (" + std::string(words) + ")" : "");
}

}  // namespace tw::support
