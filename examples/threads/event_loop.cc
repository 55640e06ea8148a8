// An event loop that never waits for a kernel: a thread beside it runs them, one after the other and each on one
// thread, and wakes the loop by an eventfd. The loop's timer goes on meanwhile.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "dense_arrays.h"
#include "kernels.h"

namespace {

struct Request {
  std::vector<float> d;
  int32_t code;
};

class Kernels {
 public:
  Kernels() : ready_(eventfd(0, EFD_CLOEXEC)), thread_([this] { serve(); }) {}
  ~Kernels() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    asked_.notify_one();
    thread_.join();
    close(ready_);
  }

  int descriptor() const { return ready_; }  // readable when there are answers
  void ask() {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.push_back({std::vector<float>(M * N), 0});
    asked_.notify_one();
  }
  std::deque<Request> answers() {
    uint64_t count = 0;
    if (read(ready_, &count, sizeof count) < 0) return {};
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(answers_, {});
  }

 private:
  void serve() {
    tw_context context = tensorwright_default_context();
    context.parallel_for = [](const tw_context*, int64_t n, int32_t (*body)(int64_t, int64_t, void*), void* closure) {
      return n > 0 ? body(0, n, closure) : 0;
    };
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      asked_.wait(lock, [this] { return stop_ || !requests_.empty(); });
      if (stop_) return;
      Request request = std::move(requests_.front());
      requests_.pop_front();
      lock.unlock();
      request.code = acme_dense_run_in(&context, a, b, bias, request.d.data());
      lock.lock();
      answers_.push_back(std::move(request));
      const uint64_t one = 1;
      if (write(ready_, &one, sizeof one) < 0) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable asked_;
  std::deque<Request> requests_, answers_;
  bool stop_ = false;
  int ready_;
  std::thread thread_;
};

}  // namespace

int main() {
  constexpr int kRequests = 20, kEachNanoseconds = 1000000;
  fill_arrays();
  Kernels kernels;
  const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  const itimerspec each = {{0, kEachNanoseconds}, {0, kEachNanoseconds}};
  timerfd_settime(timer, 0, &each, nullptr);
  pollfd events[2] = {{timer, POLLIN, 0}, {kernels.descriptor(), POLLIN, 0}};
  int asked = 0, answered = 0;
  while (answered < kRequests && poll(events, 2, -1) > 0) {
    uint64_t ticks = 0;
    if ((events[0].revents & POLLIN) && read(timer, &ticks, sizeof ticks) > 0 && asked < kRequests) {
      kernels.ask();
      ++asked;
    }
    if (!(events[1].revents & POLLIN)) continue;
    for (const Request& request : kernels.answers()) {
      if (request.code != 0) return std::printf("code %d\n", static_cast<int>(request.code)), 1;
      if (!is_right(request.d.data())) return std::printf("wrong\n"), 1;
      ++answered;
    }
  }
  close(timer);
  std::printf("right\n");
}
