// A context over a pool of std::threads: whoever calls a kernel works too, and waits for the others at the end of each
// parallel loop. Scratch is in memory that is asked for once, so that a call allocates nothing.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "dense_arrays.h"
#include "kernels.h"

namespace {

using Body = int32_t (*)(int64_t, int64_t, void*);

class Pool {
 public:
  explicit Pool(int64_t threads) {
    for (int64_t i = 1; i < threads; ++i) workers_.emplace_back([this, i, threads] { serve(i, threads); });
  }
  ~Pool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    begun_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  // The code of one that failed, else 0.
  int32_t run(int64_t n, Body body, void* closure) {
    const int64_t threads = static_cast<int64_t>(workers_.size()) + 1;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      n_ = n, body_ = body, closure_ = closure, code_ = 0;
      left_ = threads - 1;
      ++generation_;
    }
    begun_.notify_all();
    const int32_t mine = part(0, threads);
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait(lock, [this] { return left_ == 0; });
    return mine != 0 ? mine : code_;
  }

 private:
  int32_t part(int64_t i, int64_t threads) const {
    const int64_t begin = n_ * i / threads, end = n_ * (i + 1) / threads;
    return begin < end ? body_(begin, end, closure_) : 0;
  }

  void serve(int64_t i, int64_t threads) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (int seen = 0;; seen = generation_) {
      begun_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      lock.unlock();
      const int32_t code = part(i, threads);
      lock.lock();
      if (code != 0) code_ = code;
      if (--left_ == 0) ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable begun_, ended_;
  std::vector<std::thread> workers_;
  int generation_ = 0;
  int64_t n_ = 0, left_ = 0;
  Body body_ = nullptr;
  void* closure_ = nullptr;
  int32_t code_ = 0;
  bool stop_ = false;
};

}  // namespace

int main() {
  constexpr int64_t kThreads = 3;
  Pool pool(kThreads);
  tw_context context = tensorwright_default_context();
  context.state = &pool;
  context.parallel_for = [](const tw_context* self, int64_t n, Body body, void* closure) {
    return static_cast<Pool*>(self->state)->run(n, body, closure);
  };
  std::vector<char> memory(acme_dense_workspace_bytes(kThreads));
  const tw_context* const workspace = acme_dense_workspace(memory.data(), &context, kThreads);

  fill_arrays();
  for (int call = 0; call < 100; ++call) {
    std::vector<float> d(M * N);
    const int32_t code = acme_dense_run_in(workspace, a, b, bias, d.data());
    if (code != 0) return std::printf("code %d\n", static_cast<int>(code)), 1;
    if (!is_right(d.data())) return std::printf("wrong\n"), 1;
  }
  std::printf("right\n");
}
