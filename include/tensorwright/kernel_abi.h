/* The kernel ABI: plain C, self-contained. A compiled kernel is
 *
 *     int32_t name(const tw_args* args, const tw_context* context);
 *
 * and returns 0, or the first non-zero code of anything that it called. No exception crosses it. An exported object has no
 * undefined symbol: everything it needs from outside comes through the context. Both structs begin with size and version,
 * so that fields may be added at the end. */
#ifndef TENSORWRIGHT_KERNEL_ABI_H_
#define TENSORWRIGHT_KERNEL_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_ABI_VERSION 1

typedef struct tw_args {
  uint32_t size;        /* sizeof(tw_args) */
  uint32_t version;     /* TW_ABI_VERSION */
  void* const* data;    /* one pointer per parameter: the address of its first element, aligned to the element */
} tw_args;

/* Runs iterations begin..end of a parallel loop; returns 0 or an error code. */
typedef int32_t (*tw_parallel_body)(int64_t begin, int64_t end, void* closure);

typedef struct tw_context {
  uint32_t size;        /* sizeof(tw_context) */
  uint32_t version;     /* TW_ABI_VERSION */
  /* Calls body on disjoint ranges that cover 0..n, on any threads, and returns after all of them with the first non-zero code. */
  int32_t (*parallel_for)(const struct tw_context* self, int64_t n, tw_parallel_body body, void* closure);
  /* Scratch of the kernel, 64-byte aligned; null when there is none. Freed in reverse order on the same thread. */
  void* (*alloc)(const struct tw_context* self, size_t bytes);
  void (*release)(const struct tw_context* self, void* memory);
  void* state;          /* of whoever provides the context */
} tw_context;

#define TW_ERROR_OUT_OF_MEMORY 1

/* The symbol of a kernel called `dense` is `tw_dense`, so that names such as `exp` or `main` collide with nothing. */
#define TW_KERNEL_PREFIX "tw_"

/* One parameter in the descriptor symbol `tw_<name>_descriptor`. */
typedef struct tw_param_descriptor {
  const char* name;
  uint8_t type_code;     /* 0 bool, 1 int, 2 uint, 3 float, 4 bfloat */
  uint8_t bits;
  uint8_t written;       /* an output */
  uint8_t rank;
  const int64_t* shape;
  const int64_t* strides; /* in elements; null: compact row-major */
} tw_param_descriptor;

typedef struct tw_kernel_descriptor {
  uint32_t size;
  uint32_t version;      /* TW_ABI_VERSION */
  const char* name;
  const char* target;    /* the resolved target string */
  const char* cpu_features; /* comma separated: what the CPU must have */
  uint32_t param_count;
  const tw_param_descriptor* params;
} tw_kernel_descriptor;

#ifdef __cplusplus
}
#endif
#endif
