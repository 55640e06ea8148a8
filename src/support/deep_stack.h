// Recursive walks over trees whose depth is the user's (a sum of 5,000 terms, 2,000 chained stages) run on a stack that
// is large enough, instead of each walk being made iterative by hand.
#pragma once

#include <functional>
#include <optional>
#include <utility>

namespace tw::support {

// Runs `f` on a stack of 1 GiB (reserved, not committed). Nested calls run `f` directly. Exceptions pass through.
// Public entry points that walk trees (lower, build, interpret, print, parse) call this once.
void on_deep_stack(const std::function<void()>& f);

template <class F>
auto with_deep_stack(F&& f) {
  using R = decltype(f());
  if constexpr (std::is_void_v<R>) {
    on_deep_stack([&] { f(); });
  } else {
    std::optional<R> result;
    on_deep_stack([&] { result.emplace(f()); });
    return std::move(*result);
  }
}

}  // namespace tw::support
