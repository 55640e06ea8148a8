// Independent pieces of work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tw::support {

// Calls f(0) .. f(count - 1), each once, on up to `threads` threads with deep stacks (deep_stack.h). What one of them
// throws is thrown when all have ended; what has not begun by then is left out.
void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& f);

// Threads for work that keeps a core busy: no more than there are cores, nor than control groups grant.
size_t threads_for_work();

}  // namespace tw::support
