// How the scratch of a kernel lies in memory, in every back end, the interpreter and the runtime: a function that is
// given its address may count on it.
#pragma once

#include <cstdint>

namespace tw {

inline constexpr int64_t kScratchAlignment = 64;  // bytes; tw_context.alloc promises the same

}  // namespace tw
