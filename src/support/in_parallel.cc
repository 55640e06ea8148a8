#include "src/support/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "src/support/cpu_quota.h"
#include "src/support/deep_stack.h"

namespace tw::support {

void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& f) {
  std::atomic<size_t> next = 0;
  std::mutex lock;
  std::exception_ptr thrown;
  const auto work = [&] {
    try {
      on_deep_stack([&] {
        for (size_t i = next++; i < count; i = next++) f(i);
      });
    } catch (...) {
      next = count;
      const std::lock_guard locked(lock);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (size_t t = 1; t < std::min(threads, count); ++t) others.emplace_back(work);
    } catch (const std::system_error&) {
    }  // no more threads may be had: those there are do it
    work();
  }
  if (thrown) std::rethrow_exception(thrown);
}

size_t threads_for_work() {
  constexpr double kMost = 16;
  static const double threads = std::min<double>(std::thread::hardware_concurrency(), cpu_quota());
  return static_cast<size_t>(std::clamp(threads, 1.0, kMost));
}

}  // namespace tw::support
