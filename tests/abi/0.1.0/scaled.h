/* SPDX-License-Identifier: 0BSD
 * Made by Tensorwright 0.1.0 with LLVM 19.1.7.
 *
 * NAME_run returns 0, or the code of what failed: TW_ERROR_CPU where this CPU or its system lacks what the code needs.
 * NAME_run_in is the same in a context of the caller's: with his threads and memory. NAME_workspace makes a context in
 * memory of NAME_workspace_bytes(threads, ..), of which at most so many threads run parallel loops: calls in it allocate
 * nothing. Its threads are those of the context `outer`; NULL: of the default one.
 *
 * NAME_run of a kernel for a GPU takes addresses of its memory and a stream, into whose queue it puts the launches; it waits
 * for nothing.
 *
 * All functions may be called by several threads at once; a workspace serves one call at a time. Outputs must not
 * overlap anything. What is packed is packed once, by the function that is named, and passed to all calls. */
/* Kernel scaled:
 *   for llvm -mcpu=x86-64-v2
 *   p_A: float32[n, 4]
 *   p_C: float32[n, 4], written
 */
/* The kernel ABI: plain C, self-contained. A compiled kernel is
 *
 *     int32_t name(const struct tw_args* args, const struct tw_context* context);
 *
 * and returns 0, or the first non-zero code of anything that it called. No exception crosses it. An exported object has
 * no undefined symbol: everything it needs from outside comes through the context. Both structs begin with size and
 * version, so that fields may be added at the end. */
#ifndef TENSORWRIGHT_KERNEL_ABI_H_
#define TENSORWRIGHT_KERNEL_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_ABI_VERSION 1

struct tw_args {
  uint32_t size;     /* sizeof(tw_args) */
  uint32_t version;  /* TW_ABI_VERSION */
  void* const* data; /* one pointer per parameter: the address of its first element, aligned to the element; then one
                        per scalar: the address of its value (an int64_t for an extent) */
};

/* Runs iterations begin..end of a parallel loop; returns 0 or an error code. */
/* (a function of the form int32_t body(int64_t begin, int64_t end, void* closure)) */

struct tw_context {
  uint32_t size;    /* sizeof(tw_context) */
  uint32_t version; /* TW_ABI_VERSION */
  /* Calls body on disjoint ranges that cover 0..n, on any threads, and returns after all of them with the first
   * non-zero code. */
  int32_t (*parallel_for)(const struct tw_context* self, int64_t n,
                          int32_t (*body)(int64_t begin, int64_t end, void* closure), void* closure);
  /* Scratch of the kernel, 64-byte aligned; null when there is none. Freed in reverse order on the same thread. */
  void* (*alloc)(const struct tw_context* self, size_t bytes);
  void (*release)(const struct tw_context* self, void* memory);
  void* state; /* of whoever provides the context */
  /* Since `size` reaches here: the C functions that the kernel calls, in the order of its descriptor's `externs`. Null
   * for a kernel that calls none. */
  void (*const* externs)(void);
};

#define TW_ERROR_OUT_OF_MEMORY 1
#define TW_ERROR_SIZES 2 /* the descriptor's `requirements` say which sizes the kernel takes */
#define TW_ERROR_CPU 3   /* no vectors of `vector_bits`, or no tiles, here; <name>_run of a header asks first */

/* The symbol of a kernel called `dense` is `tw_dense`, so that names such as `exp` or `main` collide with nothing. */
#define TW_KERNEL_PREFIX "tw_"

/* One parameter in the descriptor symbol `tw_<name>_descriptor`. */
struct tw_param_descriptor {
  const char* name;
  uint8_t type_code; /* 0 bool, 1 int, 2 uint, 3 float, 4 bfloat, 6 float8_e4m3fn, 7 float8_e5m2 */
  uint8_t bits;      /* 4: two elements a byte, the first in the low half; shape and strides count elements */
  uint8_t written;   /* an output */
  uint8_t rank;
  const int64_t* shape;   /* -1 where it is symbolic: see tw_kernel_descriptor.extents */
  const int64_t* strides; /* in elements; null: compact row-major */
};

/* A value that the kernel takes besides its parameters. */
struct tw_scalar_descriptor {
  const char* name;
  uint8_t type_code; /* as of a parameter; 5: an extent or index, int64_t */
  uint8_t bits;
  int16_t place; /* how many parameters stand before it in the argument list; -1: the parameters' shapes give it */
};

/* What a kernel requires of its scalars: where one of these is false it returns TW_ERROR_SIZES and does nothing. */
struct tw_requirement_descriptor {
  const char* condition; /* over the scalars s0, s1, ... */
  const char* text;      /* the condition by its names, and what needs it: "n <= m: compute C reads A[i]" */
};

struct tw_kernel_descriptor {
  uint32_t size;
  uint32_t version; /* TW_ABI_VERSION */
  const char* name;
  const char* target;       /* the resolved target string */
  const char* cpu_features; /* comma separated: what the CPU must have */
  uint32_t param_count;
  const struct tw_param_descriptor* params;
  /* Since `size` reaches here: */
  uint32_t scalar_count;
  const struct tw_scalar_descriptor* scalars;
  /* Of each parameter its extents, then its strides if it has any: an expression over the scalars s0, s1, ..., or null
   * where the number in the parameter's row is right. Null when no parameter is symbolic. */
  const char* const* extents;
  /* Since `size` reaches here: the symbols of the C functions that tw_context.externs must hold. */
  uint32_t extern_count;
  const char* const* externs;
  /* Since `size` reaches here: of each parameter null, or the layout in which it is packed, as text, and which kernel
   * of the same object packs one: from the array as it was declared, into the packed one. Both null when no parameter
   * is packed. */
  const char* const* layouts;
  const char* const* packers;
  /* Since `size` reaches here: */
  uint32_t requirement_count;
  const struct tw_requirement_descriptor* requirements;
  /* Since `size` reaches here: the length in bits that vectors must have where it is the CPU's (SVE); 0: any. */
  uint32_t vector_bits;
};

#ifdef __cplusplus
}
#endif
#endif

#ifndef TENSORWRIGHT_DEFAULT_CONTEXT
#define TENSORWRIGHT_DEFAULT_CONTEXT
#include <stdlib.h>
#ifdef _OPENMP
#include <omp.h>
#endif
static inline int32_t tensorwright_default_parallel_for(const struct tw_context* self, int64_t n,
                                                        int32_t (*body)(int64_t, int64_t, void*), void* closure) {
#ifdef _OPENMP
  int32_t code = 0;
  (void)self;
#pragma omp parallel
  {
    const int64_t count = omp_get_num_threads(), i = omp_get_thread_num();
    const int64_t each = n / count, more = n % count;
    const int64_t begin = i * each + (i < more ? i : more), end = begin + each + (i < more);
    const int32_t mine = begin < end ? body(begin, end, closure) : 0;
    if (mine != 0) {
#pragma omp critical
      code = mine;
    }
  }
  return code;
#else
  (void)self;
  return n > 0 ? body(0, n, closure) : 0;
#endif
}
static inline void* tensorwright_default_alloc(const struct tw_context* self, size_t bytes) {
  char* whole = (char*)malloc(bytes + 128);
  (void)self;
  if (whole == NULL) return NULL;
  char* aligned = (char*)(((uintptr_t)whole + 128) & ~(uintptr_t)63);
  ((void**)(void*)aligned)[-1] = whole;
  return aligned;
}
static inline void tensorwright_default_release(const struct tw_context* self, void* memory) {
  (void)self;
  free(((void**)memory)[-1]);
}
static inline struct tw_context tensorwright_default_context(void) {
  struct tw_context context;
  context.size = sizeof(struct tw_context);
  context.version = TW_ABI_VERSION;
  context.parallel_for = tensorwright_default_parallel_for;
  context.alloc = tensorwright_default_alloc;
  context.release = tensorwright_default_release;
  context.state = NULL;
  context.externs = NULL;
  return context;
}
#endif

#ifndef TENSORWRIGHT_SIZES
#define TENSORWRIGHT_SIZES
static inline int64_t tensorwright_add(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}
static inline int64_t tensorwright_sub(int64_t a, int64_t b) {
  int64_t difference;
  if (__builtin_sub_overflow(a, b, &difference)) return a < 0 ? INT64_MIN : INT64_MAX;
  return difference;
}
static inline int64_t tensorwright_mul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return (a < 0) != (b < 0) ? INT64_MIN : INT64_MAX;
  return product;
}
static inline int64_t tensorwright_div(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? tensorwright_sub(0, a) : a / b; }
static inline int64_t tensorwright_mod(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline int64_t tensorwright_floordiv(int64_t a, int64_t b) {
  const int64_t rest = tensorwright_mod(a, b);
  return tensorwright_div(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}
static inline int64_t tensorwright_floormod(int64_t a, int64_t b) {
  const int64_t rest = tensorwright_mod(a, b);
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}
static inline int64_t tensorwright_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tensorwright_max(int64_t a, int64_t b) { return a > b ? a : b; }
#endif

#ifndef TENSORWRIGHT_WORKSPACE
#define TENSORWRIGHT_WORKSPACE
struct tensorwright_scratch {
  size_t bytes, count;
};
struct tensorwright_piece {
  size_t bytes;
  char* at;
  int taken;
};
struct tensorwright_workspace {
  struct tw_context context, own;
  const struct tw_context* outer;
  size_t count;
  struct tensorwright_piece* pieces;
};
static inline size_t tensorwright_rounded(size_t bytes) { return bytes == 0 ? 64 : (bytes + 63) & ~(size_t)63; }
static inline int32_t tensorwright_workspace_parallel_for(const struct tw_context* self, int64_t n,
                                                          int32_t (*body)(int64_t, int64_t, void*), void* closure) {
  const struct tw_context* outer = ((const struct tensorwright_workspace*)self->state)->outer;
  return outer->parallel_for(outer, n, body, closure);
}
static inline void* tensorwright_workspace_alloc(const struct tw_context* self, size_t bytes) {
  struct tensorwright_workspace* workspace = (struct tensorwright_workspace*)self->state;
  size_t i;
  for (i = 0; i < workspace->count; ++i) {
    struct tensorwright_piece* piece = &workspace->pieces[i];
    if (piece->bytes != tensorwright_rounded(bytes)) continue;
    if (__atomic_exchange_n(&piece->taken, 1, __ATOMIC_ACQUIRE) == 0) return piece->at;
  }
  return NULL;
}
static inline void tensorwright_workspace_release(const struct tw_context* self, void* memory) {
  struct tensorwright_workspace* workspace = (struct tensorwright_workspace*)self->state;
  size_t i;
  for (i = 0; i < workspace->count; ++i)
    if (workspace->pieces[i].at == (char*)memory) __atomic_store_n(&workspace->pieces[i].taken, 0, __ATOMIC_RELEASE);
}
static inline size_t tensorwright_workspace_bytes(const struct tensorwright_scratch* scratch, size_t kinds) {
  size_t bytes = 64 + tensorwright_rounded(sizeof(struct tensorwright_workspace)), pieces = 0, i;
  for (i = 0; i < kinds; ++i) {
    bytes += tensorwright_rounded(scratch[i].bytes) * scratch[i].count;
    pieces += scratch[i].count;
  }
  return bytes + tensorwright_rounded(pieces * sizeof(struct tensorwright_piece));
}
static inline const struct tw_context* tensorwright_make_workspace(void* memory, const struct tensorwright_scratch* scratch,
                                                                   size_t kinds, const struct tw_context* outer) {
  char* at = (char*)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
  struct tensorwright_workspace* workspace = (struct tensorwright_workspace*)(void*)at;
  size_t pieces = 0, i, j;
  at += tensorwright_rounded(sizeof *workspace);
  workspace->own = tensorwright_default_context();
  workspace->outer = outer != NULL ? outer : &workspace->own;
  workspace->context = workspace->own;
  workspace->context.parallel_for = tensorwright_workspace_parallel_for;
  workspace->context.alloc = tensorwright_workspace_alloc;
  workspace->context.release = tensorwright_workspace_release;
  workspace->context.state = workspace;
  workspace->context.externs = workspace->outer->externs;
  workspace->pieces = (struct tensorwright_piece*)(void*)at;
  for (i = 0; i < kinds; ++i) pieces += scratch[i].count;
  at += tensorwright_rounded(pieces * sizeof(struct tensorwright_piece));
  workspace->count = 0;
  for (i = 0; i < kinds; ++i) {
    for (j = 0; j < scratch[i].count; ++j) {
      struct tensorwright_piece* piece = &workspace->pieces[workspace->count++];
      piece->bytes = tensorwright_rounded(scratch[i].bytes);
      piece->at = at;
      piece->taken = 0;
      at += piece->bytes;
    }
  }
  return &workspace->context;
}
#endif

#ifndef TENSORWRIGHT_NO_CPU
#define TENSORWRIGHT_NO_CPU
static inline int32_t tensorwright_no_cpu(const struct tw_args* args, const struct tw_context* context) {
  (void)args;
  (void)context;
  return TW_ERROR_CPU;
}
#endif

#if defined(__has_feature) && !defined(TENSORWRIGHT_MSAN)
#if __has_feature(memory_sanitizer)
#define TENSORWRIGHT_MSAN
#include <sanitizer/msan_interface.h>
#endif
#endif

#ifndef TENSORWRIGHT_X86
#define TENSORWRIGHT_X86
#ifndef __x86_64__
#error "these kernels are for x86-64"
#endif
static inline void tensorwright_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t* answer) {
  __asm__ volatile("cpuid" : "=a"(answer[0]), "=b"(answer[1]), "=c"(answer[2]), "=d"(answer[3]) : "a"(leaf), "c"(subleaf));
}
/* Whether a register of CPUID's (0: eax, .. 3: edx) has all of the bits. */
static inline int tensorwright_has(uint32_t leaf, uint32_t subleaf, int at, uint32_t bits) {
  uint32_t answer[4];
  tensorwright_cpuid(leaf & 0x80000000u, 0, answer);
  if (answer[0] < leaf) return 0;
  tensorwright_cpuid(leaf, 0, answer);
  if (leaf == 7 && answer[0] < subleaf) return 0;
  tensorwright_cpuid(leaf, subleaf, answer);
  return (answer[at] & bits) == bits;
}
/* Whether the system saves all of these registers, bits of XCR0. */
static inline int tensorwright_saves(uint32_t bits) {
  uint32_t low, high;
  if (!tensorwright_has(1, 0, 2, 1u << 27)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return (low & bits) == bits;
}
static inline int tensorwright_may_use_tiles(void) {
  long code;
  __asm__ volatile("syscall" : "=a"(code) : "a"(158L), "D"(0x1023L), "S"(18L) : "rcx", "r11", "memory");
  return code == 0;
}
#endif

#ifdef __cplusplus
extern "C" {
#endif
int32_t tw_scaled(const struct tw_args* args, const struct tw_context* context);
extern const struct tw_kernel_descriptor tw_scaled_descriptor;
#ifdef __cplusplus
}
#endif

static __attribute__((noinline, cold, unused)) int scaled_choose(void) {
  if (tensorwright_has(0x1u, 0, 2, 0x980201u) && tensorwright_has(0x1u, 0, 3, 0x6000000u))
    return 1;
  return 2;
}
static inline int scaled_variant(void) {
  static int known;
  int variant = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (__builtin_expect(variant == 0, 0)) {
    variant = scaled_choose();
    __atomic_store_n(&known, variant, __ATOMIC_RELAXED);
  }
  return variant;
}
static inline int32_t scaled_call(const struct tw_args* args, const struct tw_context* context) {
  static int32_t (*const kernels[])(const struct tw_args*, const struct tw_context*) = {
      tw_scaled,
      tensorwright_no_cpu};
  return kernels[scaled_variant() - 1](args, context);
}
static inline int32_t scaled_run_in(const struct tw_context* context, const float* p_A, float p_by, float* p_C, int64_t p_n) {
  void* data[5] = {(void*)p_A, (void*)p_C, (void*)&p_by, (void*)&p_n, NULL};
  struct tw_args args;
  args.size = sizeof args;
  args.version = TW_ABI_VERSION;
  args.data = data;
#ifdef TENSORWRIGHT_MSAN
  {
    const int32_t code = scaled_call(&args, context);
    __msan_unpoison(p_C, (size_t)tensorwright_mul(tensorwright_mul(tensorwright_mul(1, (int64_t)p_n), 4), 4));
    return code;
  }
#else
  return scaled_call(&args, context);
#endif
}
static inline int32_t scaled_run(const float* p_A, float p_by, float* p_C, int64_t p_n) {
  const struct tw_context context = tensorwright_default_context();
  return scaled_run_in(&context, p_A, p_by, p_C, p_n);
}
static inline size_t scaled_scratch(struct tensorwright_scratch* scratch, int64_t threads, float p_by, int64_t p_n) {
  (void)scratch, (void)threads, (void)p_by, (void)p_n;
  switch (scaled_variant()) {
    case 1:
      scratch[0].bytes = (size_t)tensorwright_mul(4, tensorwright_mul((int64_t)p_n, 4));
      scratch[0].count = 1;
      return 1;
    default:
      return 0;
  }
}
static inline size_t scaled_workspace_bytes(int64_t threads, float p_by, int64_t p_n) {
  struct tensorwright_scratch scratch[1] = {{0, 0}};
  const size_t kinds = scaled_scratch(scratch, threads, p_by, p_n);
  return tensorwright_workspace_bytes(scratch, kinds);
}
static inline const struct tw_context* scaled_workspace(void* memory, const struct tw_context* outer, int64_t threads, float p_by, int64_t p_n) {
  struct tensorwright_scratch scratch[1] = {{0, 0}};
  const size_t kinds = scaled_scratch(scratch, threads, p_by, p_n);
  return tensorwright_make_workspace(memory, scratch, kinds, outer);
}
