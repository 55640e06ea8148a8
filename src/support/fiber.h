// A function on a stack of its own, which waits in its middle and goes on from there when it is resumed.
//
// Belongs to one thread of the system: who makes it resumes it. Address and thread sanitizers are told of each switch.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

namespace tw::support {

class Fiber {
 public:
  explicit Fiber(size_t stack_bytes);  // rounded up to pages; a page below it is not accessible
  ~Fiber();                            // a function that waits is left as by an exception, which it must let pass
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  void begin(std::function<void()> f);  // to be resumed; no other function waits here
  // Runs the function until it waits (true) or has ended (false). What it throws is thrown here.
  bool resume();
  void wait();  // by the function itself: back to who resumed it

 private:
  struct Context;
  struct Left {};  // thrown by wait() where the function is to end

  static void entry();
  void run();
  void enter();

  std::unique_ptr<Context> context_;
  std::function<void()> function_;
  std::exception_ptr error_;
  bool waits_ = false, ending_ = false;
};

}  // namespace tw::support
