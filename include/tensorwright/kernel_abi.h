/* The kernel ABI: plain C, self-contained. A compiled kernel is
 *
 *     int32_t name(const tw_args* args, const tw_context* context);
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

typedef struct tw_args {
  uint32_t size;     /* sizeof(tw_args) */
  uint32_t version;  /* TW_ABI_VERSION */
  void* const* data; /* one pointer per parameter: the address of its first element, aligned to the element; then one
                        per scalar: the address of its value (an int64_t for an extent) */
} tw_args;

/* Runs iterations begin..end of a parallel loop; returns 0 or an error code. */
typedef int32_t (*tw_parallel_body)(int64_t begin, int64_t end, void* closure);

typedef struct tw_context {
  uint32_t size;    /* sizeof(tw_context) */
  uint32_t version; /* TW_ABI_VERSION */
  /* Calls body on disjoint ranges that cover 0..n, on any threads, and returns after all of them with the first
   * non-zero code. */
  int32_t (*parallel_for)(const struct tw_context* self, int64_t n, tw_parallel_body body, void* closure);
  /* Scratch of the kernel, 64-byte aligned; null when there is none. Freed in reverse order on the same thread. */
  void* (*alloc)(const struct tw_context* self, size_t bytes);
  void (*release)(const struct tw_context* self, void* memory);
  void* state; /* of whoever provides the context */
  /* Since `size` reaches here: the C functions that the kernel calls, in the order of its descriptor's `externs`. Null
   * for a kernel that calls none. */
  void (*const* externs)(void);
} tw_context;

#define TW_ERROR_OUT_OF_MEMORY 1
#define TW_ERROR_SIZES 2 /* the descriptor's `requirements` say which sizes the kernel takes */
#define TW_ERROR_CPU 3   /* no vectors of `vector_bits`, or no tiles, here; <name>_run of a header asks first */

/* The symbol of a kernel called `dense` is `tw_dense`, so that names such as `exp` or `main` collide with nothing. */
#define TW_KERNEL_PREFIX "tw_"

/* One parameter in the descriptor symbol `tw_<name>_descriptor`. */
typedef struct tw_param_descriptor {
  const char* name;
  uint8_t type_code; /* 0 bool, 1 int, 2 uint, 3 float, 4 bfloat, 6 float8_e4m3fn, 7 float8_e5m2 */
  uint8_t bits;      /* 4: two elements a byte, the first in the low half; shape and strides count elements */
  uint8_t written;   /* an output */
  uint8_t rank;
  const int64_t* shape;   /* -1 where it is symbolic: see tw_kernel_descriptor.extents */
  const int64_t* strides; /* in elements; null: compact row-major */
} tw_param_descriptor;

/* A value that the kernel takes besides its parameters. */
typedef struct tw_scalar_descriptor {
  const char* name;
  uint8_t type_code; /* as of a parameter; 5: an extent or index, int64_t */
  uint8_t bits;
  int16_t place; /* how many parameters stand before it in the argument list; -1: the parameters' shapes give it */
} tw_scalar_descriptor;

/* What a kernel requires of its scalars: where one of these is false it returns TW_ERROR_SIZES and does nothing. */
typedef struct tw_requirement_descriptor {
  const char* condition; /* over the scalars s0, s1, ... */
  const char* text;      /* the condition by its names, and what needs it: "n <= m: compute C reads A[i]" */
} tw_requirement_descriptor;

typedef struct tw_kernel_descriptor {
  uint32_t size;
  uint32_t version; /* TW_ABI_VERSION */
  const char* name;
  const char* target;       /* the resolved target string */
  const char* cpu_features; /* comma separated: what the CPU must have */
  uint32_t param_count;
  const tw_param_descriptor* params;
  /* Since `size` reaches here: */
  uint32_t scalar_count;
  const tw_scalar_descriptor* scalars;
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
  const tw_requirement_descriptor* requirements;
  /* Since `size` reaches here: the length in bits that vectors must have where it is the CPU's (SVE); 0: any. */
  uint32_t vector_bits;
} tw_kernel_descriptor;

#ifdef __cplusplus
}
#endif
#endif
