#include "src/support/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tw::support {
namespace {

thread_local Fiber* entered = nullptr;  // makecontext hands no pointer over

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

struct Fiber::Context {
  void* memory = MAP_FAILED;
  size_t bytes = 0;
  ucontext_t own{}, outside{};
#if defined(__SANITIZE_ADDRESS__)
  void *own_fake = nullptr, *outside_fake = nullptr;
  const void* outside_stack = nullptr;
  size_t outside_bytes = 0;
#elif defined(__SANITIZE_THREAD__)
  void *own_tsan = nullptr, *outside_tsan = nullptr;
#endif

  explicit Context(size_t stack_bytes) {
    const size_t page = page_bytes();
    bytes = (stack_bytes + page - 1) / page * page + page;
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, page, PROT_NONE);
#if defined(__SANITIZE_THREAD__)
    own_tsan = __tsan_create_fiber(0);
#endif
  }
  ~Context() {
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(own_tsan);
#endif
    munmap(memory, bytes);
  }
  char* stack() const { return static_cast<char*>(memory) + page_bytes(); }
  size_t stack_bytes() const { return bytes - page_bytes(); }
};

Fiber::Fiber(size_t stack_bytes) : context_(std::make_unique<Context>(stack_bytes)) {}

Fiber::~Fiber() {
  if (!waits_) return;
  ending_ = true;
  enter();
}

void Fiber::begin(std::function<void()> f) {
  function_ = std::move(f);
  getcontext(&context_->own);
  context_->own.uc_stack.ss_sp = context_->stack();
  context_->own.uc_stack.ss_size = context_->stack_bytes();
  context_->own.uc_link = nullptr;
  makecontext(&context_->own, &Fiber::entry, 0);
}

bool Fiber::resume() {
  enter();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return waits_;
}

void Fiber::wait() {
  waits_ = true;
  leave();
  waits_ = false;
  if (ending_) throw Left{};
}

void Fiber::entry() { entered->run(); }

// Exceptions end here: none crosses stacks.
void Fiber::run() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &context_->outside_stack, &context_->outside_bytes);
#endif
  try {
    function_();
  } catch (const Left&) {
  } catch (...) {
    error_ = std::current_exception();
  }
#if defined(__SANITIZE_ADDRESS__)  // no frame of this stack will be needed again
  __sanitizer_start_switch_fiber(nullptr, context_->outside_stack, context_->outside_bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(context_->outside_tsan, 0);
#endif
  setcontext(&context_->outside);
}

void Fiber::enter() {
  entered = this;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&context_->outside_fake, context_->stack(), context_->stack_bytes());
#elif defined(__SANITIZE_THREAD__)
  context_->outside_tsan = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(context_->own_tsan, 0);
#endif
  swapcontext(&context_->outside, &context_->own);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(context_->outside_fake, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&context_->own_fake, context_->outside_stack, context_->outside_bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(context_->outside_tsan, 0);
#endif
  swapcontext(&context_->own, &context_->outside);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(context_->own_fake, &context_->outside_stack, &context_->outside_bytes);
#endif
}

}  // namespace tw::support
