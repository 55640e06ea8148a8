#include "codegen/cuda/instructions.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/cluster_instructions.h"
#include "codegen/cuda/group_instructions.h"

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

constexpr const char* kRoundedToHalf = R"(
static __device__ inline uint16_t f32_to_@(float value) {
  uint16_t half;
  asm("cvt.rn.@.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}
)";

// Two at once. Where no order of comparisons gives another result, which a zero or a NaN could.
constexpr const char* kMaximumOfHalves = R"(
template <int n>
static __device__ inline float max_@(float most, const uint16_t* at) {
  uint32_t two = at[0] | static_cast<uint32_t>(at[1]) << 16;
  #pragma unroll
  for (int i = 2; i < n; i += 2)
    asm("max.NaN.@x2 %0, %0, %1;" : "+r"(two) : "r"(at[i] | static_cast<uint32_t>(at[i + 1]) << 16));
  float largest = most;
  #pragma unroll
  for (int i = 0; i < 2; ++i)
    asm("max.NaN.f32 %0, %0, %1;" : "+f"(largest) : "f"(@_to_f32(static_cast<uint16_t>(two >> 16 * i))));
  if (fabsf(largest) > 0.0f) return largest;
  #pragma unroll
  for (int i = 0; i < n; ++i) {
    const float next = @_to_f32(at[i]);
    most = most > next ? most : next;
  }
  return most;
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

    // Boxes that the device copies by itself, and the barriers that count their bytes, or the warps that have read
    // them. Their initialisation is there for the copies too; coordinates are innermost first.
    {"tensor_map", R"(
struct alignas(64) TensorMap { unsigned long long opaque[16]; };
)"},
    {"mbarrier_init", R"(
static __device__ inline void mbarrier_init(uint64_t* ring, int count, int arrivals) {
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(ring + i))), "r"(arrivals) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
)"},
    {"mbarrier_inval", R"(
static __device__ inline void mbarrier_inval(uint64_t* ring, int count) {
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.inval.shared::cta.b64 [%0];"
                 :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(ring + i))) : "memory");
}
)"},
    {"mbarrier_expect", R"(
static __device__ inline void mbarrier_expect(uint64_t* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(bytes) : "memory");
}
)"},
    {"mbarrier_arrive", R"(
static __device__ inline void mbarrier_arrive(uint64_t* barrier) {
  unsigned lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  __syncwarp();
  if (lane == 0)
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];"
                 :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))) : "memory");
}
)"},
    {"mbarrier_wait", R"(
static __device__ inline void mbarrier_wait(uint64_t* barrier, int parity) {
  unsigned done;
  do {
    asm volatile("{\n .reg .pred p;\n mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(parity) : "memory");
  } while (done == 0);
}
)"},
    {"tma_load_1d", R"(
static __device__ inline void tma_load_1d(void* to, const TensorMap* map, int c0, uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3}], [%2];"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(map),
                  "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(c0) : "memory");
}
)"},
    {"tma_load_2d", R"(
static __device__ inline void tma_load_2d(void* to, const TensorMap* map, int c0, int c1, uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4}], [%2];"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(map),
                  "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(c0), "r"(c1) : "memory");
}
)"},
    {"tma_load_3d", R"(
static __device__ inline void tma_load_3d(void* to, const TensorMap* map, int c0, int c1, int c2, uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5}], [%2];"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(map),
                  "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(c0), "r"(c1), "r"(c2) : "memory");
}
)"},
    {"tma_load_4d", R"(
static __device__ inline void tma_load_4d(void* to, const TensorMap* map, int c0, int c1, int c2, int c3, uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6}], [%2];"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(map),
                  "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(c0), "r"(c1), "r"(c2), "r"(c3) : "memory");
}
)"},
    {"tma_load_5d", R"(
static __device__ inline void tma_load_5d(void* to, const TensorMap* map, int c0, int c1, int c2, int c3, int c4, uint64_t* barrier) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes "
               "[%0], [%1, {%3, %4, %5, %6, %7}], [%2];"
               :: "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(map),
                  "r"(static_cast<unsigned>(__cvta_generic_to_shared(barrier))), "r"(c0), "r"(c1), "r"(c2), "r"(c3), "r"(c4) : "memory");
}
)"},

    // Conversions to and from 16 bits: to nearest, ties to even.
    {"f32_to_bf16", kRoundedToHalf, "bf16"},
    {"f32_to_f16", kRoundedToHalf, "f16"},
    {"f16_to_f32", R"(
static __device__ inline float f16_to_f32(uint16_t half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}
)"},

    // Two to a word, which a compiler takes apart by one instruction each.
    {"two_by_two", R"(
template <class Vector>
static __device__ inline Vector two_by_two(const uint16_t* from) {
  struct alignas(alignof(Vector)) Words { uint32_t at[sizeof(Vector) / 4]; };
  const Words words = *(const Words*)from;
  Vector to;
  #pragma unroll
  for (int i = 0; i < sizeof(Vector) / 4; ++i) {
    to.at[2 * i] = static_cast<uint16_t>(words.at[i]);
    to.at[2 * i + 1] = static_cast<uint16_t>(words.at[i] >> 16);
  }
  return to;
}
)"},
    {"max_bf16", kMaximumOfHalves, "bf16"},
    {"max_f16", kMaximumOfHalves, "f16"},

    // Exchanges of a warp: what another lane has.
    {"shfl", R"(
template <class T>
static __device__ inline void shfl(T* to, const T* from, int lane) {
  *to = static_cast<T>(__shfl_sync(0xffffffffu, *from, lane));
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
    {"ldmatrix_x2_b32", R"(
static __device__ inline void ldmatrix_x2_b32(float* to, const float* from) {
  uint32_t r[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r[0]), "=r"(r[1])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  #pragma unroll
  for (int i = 0; i < 2; ++i) to[i] = __uint_as_float(r[i]);
}
)"},
    {"ldmatrix_x4_b32", R"(
static __device__ inline void ldmatrix_x4_b32(float* to, const float* from) {
  uint32_t r[4];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(from))) : "memory");
  #pragma unroll
  for (int i = 0; i < 4; ++i) to[i] = __uint_as_float(r[i]);
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
    std::ranges::move(group_instructions(), std::back_inserter(out));
    std::ranges::move(cluster_instructions(), std::back_inserter(out));
    return out;
  }();
  return all;
}

}  // namespace tw::codegen
