// The library's own kernel context: its thread pool, and scratch that is kept for the next call.

#include "src/runtime/scratch.h"
#include "src/runtime/thread_pool.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {
namespace {

const tw_context kHostContext = {
    sizeof(tw_context),
    TW_ABI_VERSION,
    [](const tw_context*, int64_t n, tw_parallel_body body, void* closure) { return parallel_for(n, body, closure); },
    [](const tw_context*, size_t bytes) { return scratch_alloc(bytes); },
    [](const tw_context*, void* memory) { scratch_release(memory); },
    nullptr,
    nullptr,
};

}  // namespace

const tw_context* host_context() { return &kHostContext; }

}  // namespace tw::runtime
