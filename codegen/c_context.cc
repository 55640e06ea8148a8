#include "codegen/c_context.h"

namespace tw::codegen {

const char* const kDefaultContext = R"(
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
)";

const char* const kWorkspace = R"(
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
)";

}  // namespace tw::codegen
