#undef _FORTIFY_SOURCE  // whose longjmp ends the process where it goes to another stack
#define _FORTIFY_SOURCE 0
#include "src/support/fiber.h"

#include <setjmp.h>
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
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TW_SANITIZED 1  // they follow swapcontext, and not who jumps between stacks
#else
#define TW_SANITIZED 0
#endif

namespace tw::support {
namespace {

thread_local Fiber* entered = nullptr;  // makecontext hands no pointer over

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

struct Stack {
  void* memory = MAP_FAILED;
  size_t bytes = 0;

  explicit Stack(size_t stack_bytes) {
    const size_t page = page_bytes();
    bytes = (stack_bytes + page - 1) / page * page + page;
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    mprotect(memory, page, PROT_NONE);
  }
  ~Stack() { munmap(memory, bytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  char* begin() const { return static_cast<char*>(memory) + page_bytes(); }
  size_t size() const { return bytes - page_bytes(); }
};

void make(ucontext_t& context, const Stack& stack, void (*entry)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack.begin();
  context.uc_stack.ss_size = stack.size();
  context.uc_link = nullptr;
  makecontext(&context, entry, 0);
}

}  // namespace

#if TW_SANITIZED

struct Fiber::Context {
  Stack stack;
  ucontext_t own{}, outside{};
#if defined(__SANITIZE_ADDRESS__)
  void *own_fake = nullptr, *outside_fake = nullptr;
  const void* outside_stack = nullptr;
  size_t outside_bytes = 0;
#elif defined(__SANITIZE_THREAD__)
  void *own_tsan = __tsan_create_fiber(0), *outside_tsan = nullptr;
  ~Context() { __tsan_destroy_fiber(own_tsan); }
#endif

  explicit Context(size_t stack_bytes) : stack(stack_bytes) {}

  void begin() { make(own, stack, &Fiber::entry); }

  void entered() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &outside_stack, &outside_bytes);
#endif
  }

  void enter() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&outside_fake, stack.begin(), stack.size());
#elif defined(__SANITIZE_THREAD__)
    outside_tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(own_tsan, 0);
#endif
    swapcontext(&outside, &own);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(outside_fake, nullptr, nullptr);
#endif
  }

  void leave() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&own_fake, outside_stack, outside_bytes);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(outside_tsan, 0);
#endif
    swapcontext(&own, &outside);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(own_fake, &outside_stack, &outside_bytes);
#endif
  }

  void end() {
#if defined(__SANITIZE_ADDRESS__)  // no frame of this stack will be needed again
    __sanitizer_start_switch_fiber(nullptr, outside_stack, outside_bytes);
#elif defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(outside_tsan, 0);
#endif
    setcontext(&outside);
  }
};

#else

// Contexts are switched by system calls, which keep a mask of signals that is the same on both sides. A context is only
// where a stack is entered first: from there on jumps go back and forth, and its first frame waits for the next
// function.
struct Fiber::Context {
  Stack stack;
  bool is_entered = false;
  jmp_buf own{}, outside{};

  explicit Context(size_t stack_bytes) : stack(stack_bytes) {}

  void begin() {}
  void entered() {}

  void enter() {
    if (_setjmp(outside) != 0) return;
    if (is_entered) _longjmp(own, 1);
    is_entered = true;
    ucontext_t context;
    make(context, stack, &Fiber::entry);
    setcontext(&context);
  }

  void leave() {
    if (_setjmp(own) == 0) _longjmp(outside, 1);
  }

  void end() { leave(); }
};

#endif

Fiber::Fiber(size_t stack_bytes) : context_(std::make_unique<Context>(stack_bytes)) {}

Fiber::~Fiber() {
  if (!waits_) return;
  ending_ = true;
  enter();
}

void Fiber::begin(std::function<void()> f) {
  function_ = std::move(f);
  context_->begin();
}

bool Fiber::resume() {
  enter();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return waits_;
}

void Fiber::wait() {
  waits_ = true;
  context_->leave();
  waits_ = false;
  if (ending_) throw Left{};
}

void Fiber::entry() { entered->run(); }

// Exceptions end here: none crosses stacks.
void Fiber::run() {
  context_->entered();
  for (;;) {
    try {
      function_();
    } catch (const Left&) {
    } catch (...) {
      error_ = std::current_exception();
    }
    context_->end();
  }
}

void Fiber::enter() {
  entered = this;
  context_->enter();
}

}  // namespace tw::support
