#include "codegen/cuda/instructions.h"

#include <string>
#include <utility>
#include <vector>

namespace tw::codegen {

namespace {

struct Row {
  const char *name, *text;
  const char* type = "";  // in the place of each @
};

constexpr const char* kProductOfHalves = R"(
static __device__ inline void mma_m16n8k16_@(float* c, const uint16_t* a, const uint16_t* b) {
  uint32_t r[6];
  #pragma unroll
  for (int i = 0; i < 4; ++i) r[i] = a[2 * i] | static_cast<uint32_t>(a[2 * i + 1]) << 16;
  #pragma unroll
  for (int i = 0; i < 2; ++i) r[4 + i] = b[2 * i] | static_cast<uint32_t>(b[2 * i + 1]) << 16;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.@.@.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
}
)";

// Copies from global to shared memory that go past registers; .cg, which is for 16 bytes, past L1 too.
constexpr Row kRows[] = {
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

    // Loads of a warp: words of 32 bits of matrices in shared memory.
    {"ldmatrix_x2", R"(
template <class T>
static __device__ inline void ldmatrix_x2(T* to, const T* from) {
  uint32_t r[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  constexpr int n = 4 / sizeof(T);
  #pragma unroll
  for (int i = 0; i < 2 * n; ++i) to[i] = static_cast<T>(r[i / n] >> (i % n * 8 * sizeof(T)));
}
)"},
    {"ldmatrix_x2_trans", R"(
template <class T>
static __device__ inline void ldmatrix_x2_trans(T* to, const T* from) {
  uint32_t r[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  constexpr int n = 4 / sizeof(T);
  #pragma unroll
  for (int i = 0; i < 2 * n; ++i) to[i] = static_cast<T>(r[i / n] >> (i % n * 8 * sizeof(T)));
}
)"},
    {"ldmatrix_x4", R"(
template <class T>
static __device__ inline void ldmatrix_x4(T* to, const T* from) {
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  constexpr int n = 4 / sizeof(T);
  #pragma unroll
  for (int i = 0; i < 4 * n; ++i) to[i] = static_cast<T>(r[i / n] >> (i % n * 8 * sizeof(T)));
}
)"},
    {"ldmatrix_x4_trans", R"(
template <class T>
static __device__ inline void ldmatrix_x4_trans(T* to, const T* from) {
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  constexpr int n = 4 / sizeof(T);
  #pragma unroll
  for (int i = 0; i < 4 * n; ++i) to[i] = static_cast<T>(r[i / n] >> (i % n * 8 * sizeof(T)));
}
)"},
    // Products of a warp. Operands stand in registers of 32 bits, the first element lowest; tf32 rounds to nearest,
    // ties away from zero.
    {"mma_m16n8k16_bf16", kProductOfHalves, "bf16"},
    {"mma_m16n8k16_f16", kProductOfHalves, "f16"},
    {"mma_m16n8k32_s8", R"(
static __device__ inline void mma_m16n8k32_s8(int32_t* c, const int8_t* a, const int8_t* b) {
  uint32_t r[6];
  #pragma unroll
  for (int i = 0; i < 6; ++i) {
    const int8_t* const p = i < 4 ? a + 4 * i : b + 4 * (i - 4);
    r[i] = static_cast<uint8_t>(p[0]) | static_cast<uint32_t>(static_cast<uint8_t>(p[1])) << 8 |
           static_cast<uint32_t>(static_cast<uint8_t>(p[2])) << 16 |
           static_cast<uint32_t>(static_cast<uint8_t>(p[3])) << 24;
  }
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
}
)"},
    {"mma_m16n8k8_tf32", R"(
static __device__ inline void mma_m16n8k8_tf32(float* c, const float* a, const float* b) {
  uint32_t r[6];
  #pragma unroll
  for (int i = 0; i < 6; ++i) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r[i]) : "f"(i < 4 ? a[i] : b[i - 4]));
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "r"(r[4]), "r"(r[5]));
}
)"},
};

}  // namespace

std::span<const Instruction> instructions() {
  static const std::vector<Instruction> all = [] {
    std::vector<Instruction> out;
    for (const Row& row : kRows) {
      std::string text = row.text;
      for (size_t at = text.find('@'); at != text.npos; at = text.find('@')) text.replace(at, 1, row.type);
      out.push_back({row.name, std::move(text)});
    }
    return out;
  }();
  return all;
}

}  // namespace tw::codegen
