/* Kernel scaled for c -mcpu=x86-64.
 *   A: float32[n, 4]
 *   C: float32[n, 4], written
 * A loop over l, the lanes, is one vector statement of the schedule.
 * Compile with -std=c99 -O2 -fwrapv -fno-math-errno -ffp-contract=off. */
#include <stddef.h>
#include <stdint.h>
#define TW_ABI_VERSION 1
struct tw_args {
  uint32_t size;
  uint32_t version;
  void* const* data;
};
struct tw_context {
  uint32_t size;
  uint32_t version;
  int32_t (*parallel_for)(const struct tw_context* self, int64_t n,
                          int32_t (*body)(int64_t begin, int64_t end, void* closure), void* closure);
  void* (*alloc)(const struct tw_context* self, size_t bytes);
  void (*release)(const struct tw_context* self, void* memory);
  void* state;
  void (*const* externs)(void);
};
#define TW_ERROR_OUT_OF_MEMORY 1
#define TW_ERROR_SIZES 2
#define TW_ERROR_CPU 3
struct tw_param_descriptor {
  const char* name;
  uint8_t type_code;
  uint8_t bits;
  uint8_t written;
  uint8_t rank;
  const int64_t* shape;
  const int64_t* strides;
};
struct tw_scalar_descriptor {
  const char* name;
  uint8_t type_code;
  uint8_t bits;
  int16_t place;
};
struct tw_requirement_descriptor {
  const char* condition;
  const char* text;
};
struct tw_kernel_descriptor {
  uint32_t size;
  uint32_t version;
  const char* name;
  const char* target;
  const char* cpu_features;
  uint32_t param_count;
  const struct tw_param_descriptor* params;
  uint32_t scalar_count;
  const struct tw_scalar_descriptor* scalars;
  const char* const* extents;
  uint32_t extern_count;
  const char* const* externs;
  const char* const* layouts;
  const char* const* packers;
  uint32_t requirement_count;
  const struct tw_requirement_descriptor* requirements;
  uint32_t vector_bits;
};

#if defined __GNUC__ && !defined __clang__ && __GNUC__ < 14 && defined __AVX512VL__
#pragma GCC optimize("no-tree-loop-if-convert")
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

static inline int64_t size_mul_i64(int64_t a, int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > INT64_MAX / b ? INT64_MAX : a * b;
}

int32_t tw_scaled(const struct tw_args* args, const struct tw_context* context) {
  const float* restrict A = args->data[0];
  float* restrict C = args->data[1];
  const float by = *(const float*)args->data[2];
  const int64_t n = *(const int64_t*)args->data[3];
  float* restrict B = context->alloc(context, size_mul_i64(size_mul_i64(n, 4), sizeof(float)));
  if (B == NULL) return TW_ERROR_OUT_OF_MEMORY;
  /* B */
  for (int64_t i = 0; i < n; ++i) {
    for (int l = 0; l < 4; ++l) B[i * 4 + l] = A[i * 4 + l] * by;
  }
  /* C */
  for (int64_t i = 0; i < n; ++i) {
    for (int l = 0; l < 4; ++l) C[i * 4 + l] = B[i * 4 + 3 - l] + 1.0f;
  }
  context->release(context, B);
  return 0;
}

static const int64_t tw_scaled_shape_0[] = {-1, 4};
static const int64_t tw_scaled_shape_1[] = {-1, 4};
static const struct tw_param_descriptor tw_scaled_params[] = {
    {"A", 3, 32, 0, 2, tw_scaled_shape_0, NULL},
    {"C", 3, 32, 1, 2, tw_scaled_shape_1, NULL},
};
static const struct tw_scalar_descriptor tw_scaled_scalars[] = {
    {"by", 3, 32, 1},
    {"n", 5, 64, -1},
};
static const char* const tw_scaled_extents[] = {
    "s1",
    NULL,
    "s1",
    NULL,
};
const struct tw_kernel_descriptor tw_scaled_descriptor = {
    sizeof(struct tw_kernel_descriptor), TW_ABI_VERSION, "scaled", "c -mcpu=x86-64",
    "sse,sse2",
    2, tw_scaled_params, 2, tw_scaled_scalars, tw_scaled_extents, 0, NULL, NULL, NULL, 0, NULL, 0};
