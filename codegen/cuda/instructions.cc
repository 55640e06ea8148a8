#include "codegen/cuda/instructions.h"

namespace tw::codegen {

namespace {

// Copies from global to shared memory that go past registers; .cg, which is for 16 bytes, past L1 too.
constexpr Instruction kInstructions[] = {
    {"cp_async_4", R"(
static __device__ inline void cp_async_4(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}
)"},
    {"cp_async_8", R"(
static __device__ inline void cp_async_8(void* to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}
)"},
    {"cp_async_16", R"(
static __device__ inline void cp_async_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from) : "memory");
}
)"},
    {"cp_async_commit", R"(
static __device__ inline void cp_async_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
)"},
    {"cp_async_wait", R"(
template <int groups>
static __device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(groups) : "memory");
}
)"},
};

}  // namespace

std::span<const Instruction> instructions() { return kInstructions; }

}  // namespace tw::codegen
