// Calls a function from a thread of its own once another, which it polls, says so.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace tw::autotune {

class StopWatch {
 public:
  StopWatch(const std::function<bool()>& should_stop, std::function<void()> on_stop) {
    if (!should_stop) return;
    thread_ = std::jthread([this, should_stop, on_stop = std::move(on_stop)](std::stop_token token) {
      std::unique_lock lock(mutex_);
      while (!token.stop_requested() && !should_stop())
        wake_.wait_for(lock, token, std::chrono::milliseconds(30), [] { return false; });
      if (!token.stop_requested()) on_stop();
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace tw::autotune
