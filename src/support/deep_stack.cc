#include "src/support/deep_stack.h"

#include <pthread.h>

#include <cerrno>
#include <exception>
#include <system_error>

namespace tw::support {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr size_t kStackBytes = size_t{64} << 20;  // the sanitizer fills a shadow of it, and ends at 65,536 frames
#else
constexpr size_t kStackBytes = size_t{1} << 30;
#endif
constexpr size_t kLeastStackBytes = size_t{8} << 20;
thread_local bool on_deep_stack_now = false;

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
  Job job{f, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread;
  int failed = EAGAIN;
  // Less, where the process may not have so much address space (ulimit -v): few expressions are deep.
  for (size_t bytes = kStackBytes; failed == EAGAIN && bytes >= kLeastStackBytes; bytes /= 2) {
    pthread_attr_setstacksize(&attributes, bytes);
    failed = pthread_create(&thread, &attributes, run, &job);
  }
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "a thread with a deep stack");
  pthread_join(thread, nullptr);
  if (job.error) std::rethrow_exception(job.error);
}

}  // namespace tw::support
