#include "src/runtime/shares.h"

#include "src/runtime/thread_pool.h"

namespace tw::runtime {

void over_shares(size_t shares, const std::function<void(size_t share)>& f) {
  if (shares == 1) return f(0);
  const tw_parallel_body body = [](int64_t begin, int64_t end, void* closure) {
    for (int64_t share = begin; share < end; ++share)
      (*static_cast<const std::function<void(size_t)>*>(closure))(static_cast<size_t>(share));
    return int32_t{0};
  };
  parallel_for(static_cast<int64_t>(shares), body, const_cast<std::function<void(size_t)>*>(&f));
}

}  // namespace tw::runtime
