#include "src/support/deep_stack.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <system_error>
#include <utility>

namespace tw::support {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr size_t kStackBytes = size_t{64} << 20;  // the sanitizer fills a shadow of it, and ends at 65,536 frames
#else
constexpr size_t kStackBytes = size_t{1} << 30;
#endif
constexpr size_t kLeastStackBytes = size_t{8} << 20;
constexpr size_t kGuardBytes = size_t{64} << 10;  // a page, whatever its size
constexpr size_t kWarmBytes = size_t{1} << 20;    // what stays in memory between calls
thread_local bool on_deep_stack_now = false;

class Stack {
 public:
  explicit Stack(size_t bytes) : bytes_(bytes) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (usable()) mprotect(memory_, kGuardBytes, PROT_NONE);
  }
  ~Stack() {
    if (usable()) munmap(memory_, bytes_);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  bool usable() const { return memory_ != MAP_FAILED; }
  int start(pthread_t& thread, void* (*f)(void*), void* argument) const {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory_, bytes_);
    const int failed = pthread_create(&thread, &attributes, f, argument);
    pthread_attr_destroy(&attributes);
    return failed;
  }
  void cool() const { madvise(memory_, bytes_ - kWarmBytes, MADV_DONTNEED); }

 private:
  void* memory_;
  size_t bytes_;
};

// Less, where the process may not have so much address space (ulimit -v): few expressions are deep.
std::unique_ptr<const Stack> new_stack() {
  for (size_t bytes = kStackBytes; bytes >= kLeastStackBytes; bytes /= 2)
    if (auto stack = std::make_unique<const Stack>(bytes); stack->usable()) return stack;
  throw std::system_error(ENOMEM, std::generic_category(), "a deep stack");
}

// For the next call of this thread, as mapping one and touching its pages takes longer than most walks.
void keep(std::unique_ptr<const Stack> stack, std::unique_ptr<const Stack>& kept) {
  rlimit address_space = {};
  if (getrlimit(RLIMIT_AS, &address_space) != 0 || address_space.rlim_cur != RLIM_INFINITY) return;  // it is needed
  stack->cool();
  kept = std::move(stack);
}

struct Job {
  const std::function<void()>& f;
  std::exception_ptr error;
};

void* run(void* argument) {
  Job& job = *static_cast<Job*>(argument);
  on_deep_stack_now = true;
  try {
    job.f();
  } catch (...) {
    job.error = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void on_deep_stack(const std::function<void()>& f) {
  if (on_deep_stack_now) return f();
  static thread_local std::unique_ptr<const Stack> kept;
  std::unique_ptr<const Stack> stack = kept ? std::move(kept) : new_stack();
  Job job{f, nullptr};
  pthread_t thread;
  if (const int failed = stack->start(thread, run, &job))
    throw std::system_error(failed, std::generic_category(), "a thread with a deep stack");
  pthread_join(thread, nullptr);
  keep(std::move(stack), kept);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace tw::support
