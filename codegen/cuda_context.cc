#include "codegen/cuda_context.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "codegen/device_code.h"
#include "src/support/launch_limits.h"

namespace tw::codegen {

namespace {

// @..@: what the object beside the header goes by, too.
const char* const kText = R"(
#ifndef TENSORWRIGHT_CUDA
#define TENSORWRIGHT_CUDA
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#define TW_ERROR_NO_DEVICE 4 /* no driver of CUDA 11.2 or newer, or no device that it gives us */
#define TW_ERROR_ARCHITECTURE 5 /* the device runs no code of the kernel's architectures, nor is it newer, or they have what newer ones lack */
#define TW_ERROR_DRIVER 6 /* the driver does not take the code: it is older than the compiler that made it */
#define TW_ERROR_ALIGNMENT @ALIGNMENT@ /* an array does not begin where its vectors may, or its rows where boxes may */
#define TW_ERROR_LAUNCH 8 /* the driver refused; *tensorwright_cuda_failure() is its code */
struct CUstream_st;
struct tensorwright_image {
  const char* arch;
  uint32_t major, minor, exact, translated;
  const void* bytes;
  void* modules[@DEVICES@]; /* of each device, once it was loaded there */
  const void* newer; /* if translated: PTX, for drivers of newer devices */
};
struct tensorwright_launch {
  struct tensorwright_image* image;
  const char* symbol;
  int64_t shared_bytes;
  void* functions[@DEVICES@];
};
struct tensorwright_driver {
  int (*init)(unsigned);
  int (*current)(void**);
  int (*current_device)(int*);
  int (*push)(void*);
  int (*pop)(void**);
  int (*device)(int*, int);
  int (*attribute)(int*, int, int);
  int (*primary)(void**, int);
  int (*load)(void**, const void*);
  int (*unload)(void*);
  int (*function)(void**, void*, const char*);
  int (*set)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*alloc)(unsigned long long*, size_t, void*);
  int (*release)(unsigned long long, void*);
  /* NULL before CUDA 12 */
  int (*map)(void*, int, unsigned, void*, const unsigned long long*, const unsigned long long*, const unsigned*,
             const unsigned*, int, int, int, int);
};
static inline int* tensorwright_cuda_failure(void) {
  static __thread int failure;
  return &failure;
}
static inline int tensorwright_find(void* library, const char* name, void* function) {
  void* symbol = dlsym(library, name);
  memcpy(function, &symbol, sizeof symbol);
  return symbol != NULL;
}
static inline int tensorwright_open_driver(struct tensorwright_driver* driver) {
  const char* chosen = getenv("TW_CUDA_DRIVER");
  void* library = dlopen(chosen != NULL && chosen[0] != 0 ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return 0;
  tensorwright_find(library, "cuTensorMapEncodeTiled", &driver->map);
  return tensorwright_find(library, "cuInit", &driver->init) &&
         tensorwright_find(library, "cuCtxGetCurrent", &driver->current) &&
         tensorwright_find(library, "cuCtxGetDevice", &driver->current_device) &&
         tensorwright_find(library, "cuCtxPushCurrent_v2", &driver->push) &&
         tensorwright_find(library, "cuCtxPopCurrent_v2", &driver->pop) &&
         tensorwright_find(library, "cuDeviceGet", &driver->device) &&
         tensorwright_find(library, "cuDeviceGetAttribute", &driver->attribute) &&
         tensorwright_find(library, "cuDevicePrimaryCtxRetain", &driver->primary) &&
         tensorwright_find(library, "cuModuleLoadData", &driver->load) &&
         tensorwright_find(library, "cuModuleUnload", &driver->unload) &&
         tensorwright_find(library, "cuModuleGetFunction", &driver->function) &&
         tensorwright_find(library, "cuFuncSetAttribute", &driver->set) &&
         tensorwright_find(library, "cuLaunchKernel", &driver->launch) &&
         tensorwright_find(library, "cuMemAllocAsync", &driver->alloc) &&
         tensorwright_find(library, "cuMemFreeAsync", &driver->release) && driver->init(0) == 0;
}
static inline const struct tensorwright_driver* tensorwright_cuda(void) {
  static struct tensorwright_driver driver;
  static int state; /* 0: nobody has asked, 1: it is being opened, 2: it is open, 3: there is none */
  int now = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
  if (__builtin_expect(now < 2, 0)) {
    int unasked = 0;
    if (__atomic_compare_exchange_n(&state, &unasked, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      now = tensorwright_open_driver(&driver) ? 2 : 3;
      __atomic_store_n(&state, now, __ATOMIC_RELEASE);
    } else {
      while ((now = __atomic_load_n(&state, __ATOMIC_ACQUIRE)) < 2) sched_yield();
    }
  }
  return now == 2 ? &driver : NULL;
}
/* The device of this thread's context; of a thread that has none the first one, whose primary context it then has until
   it leaves. -1: there is none. */
static inline int tensorwright_enter(const struct tensorwright_driver* driver, int* entered) {
  void* context = NULL;
  int device = -1;
  *entered = 0;
  if (driver->current(&context) != 0) return -1;
  if (context == NULL) {
    if (driver->device(&device, 0) != 0 || driver->primary(&context, device) != 0 || driver->push(context) != 0) return -1;
    *entered = 1;
  }
  return driver->current_device(&device) == 0 && device < @DEVICES@ ? device : -1;
}
static inline void tensorwright_leave(const struct tensorwright_driver* driver, int entered) {
  void* context;
  if (entered) driver->pop(&context);
}
/* Whether it runs code of an architecture: 2; or is newer than that: 1. */
static inline int tensorwright_device_runs(const struct tensorwright_driver* driver, int device, int major, int minor,
                                           int exact) {
  int has_major = 0, has_minor = 0;
  driver->attribute(&has_major, 75, device);
  driver->attribute(&has_minor, 76, device);
  if (has_major == major && (exact ? has_minor == minor : has_minor >= minor)) return 2;
  return has_major > major || (has_major == major && has_minor > minor);
}
static inline int tensorwright_cuda_runs(int major, int minor, int exact) {
  const struct tensorwright_driver* driver = tensorwright_cuda();
  int entered, device, runs;
  if (driver == NULL) return 0;
  device = tensorwright_enter(driver, &entered);
  runs = device >= 0 && tensorwright_device_runs(driver, device, major, minor, exact) == 2;
  tensorwright_leave(driver, entered);
  return runs;
}
static inline int32_t tensorwright_no_gpu(void) {
  const struct tensorwright_driver* driver = tensorwright_cuda();
  int entered, device;
  if (driver == NULL) return TW_ERROR_NO_DEVICE;
  device = tensorwright_enter(driver, &entered);
  tensorwright_leave(driver, entered);
  return device < 0 ? TW_ERROR_NO_DEVICE : TW_ERROR_ARCHITECTURE;
}
static inline int32_t tensorwright_refused(int code) {
  *tensorwright_cuda_failure() = code;
  return code == 200 || code == 209 || code == 222 ? TW_ERROR_DRIVER : TW_ERROR_LAUNCH;
}
static inline int32_t tensorwright_function(const struct tensorwright_driver* driver, struct tensorwright_launch* launch,
                                            int device, void** function) {
  struct tensorwright_image* image = launch->image;
  void* module = __atomic_load_n(&image->modules[device], __ATOMIC_ACQUIRE);
  int code;
  *function = __atomic_load_n(&launch->functions[device], __ATOMIC_ACQUIRE);
  if (*function != NULL) return 0;
  if (module == NULL) {
    const int runs = tensorwright_device_runs(driver, device, (int)image->major, (int)image->minor, (int)image->exact);
    void* other = NULL;
    if (runs == 0 || (runs == 1 && !image->translated)) return TW_ERROR_ARCHITECTURE;
    code = driver->load(&module, runs == 2 ? image->bytes : image->newer);
    if (code != 0) return tensorwright_refused(code);
    if (!__atomic_compare_exchange_n(&image->modules[device], &other, module, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      driver->unload(module);
      module = other;
    }
  }
  code = driver->function(function, module, launch->symbol);
  if (code == 0 && launch->shared_bytes > 0) code = driver->set(*function, 8, (int)launch->shared_bytes);
  if (code != 0) return tensorwright_refused(code);
  __atomic_store_n(&launch->functions[device], *function, __ATOMIC_RELEASE);
  return 0;
}
/* Of as many blocks and threads along x, y and z; none: nothing. */
static inline int32_t tensorwright_launch(const struct tw_context* self, struct tensorwright_launch* launch,
                                          const int64_t* sizes, void** operands) {
  static const int64_t most[3] = {@BLOCKS_X@, @BLOCKS_Y@, @BLOCKS_Z@};
  const struct tensorwright_driver* driver = tensorwright_cuda();
  int64_t threads = 1;
  int32_t code;
  int i, entered, device;
  void* function;
  for (i = 0; i < 3; ++i) {
    if (sizes[i] <= 0 || sizes[3 + i] <= 0) return 0;
    if (sizes[i] > most[i] || sizes[3 + i] > @THREADS@) return TW_ERROR_LAUNCH;
    threads *= sizes[3 + i];
  }
  if (threads > @THREADS@) return TW_ERROR_LAUNCH;
  if (driver == NULL) return TW_ERROR_NO_DEVICE;
  device = tensorwright_enter(driver, &entered);
  code = device < 0 ? TW_ERROR_NO_DEVICE : tensorwright_function(driver, launch, device, &function);
  if (code == 0) {
    const int failed = driver->launch(function, (unsigned)sizes[0], (unsigned)sizes[1], (unsigned)sizes[2], (unsigned)sizes[3],
                                      (unsigned)sizes[4], (unsigned)sizes[5], (unsigned)launch->shared_bytes, self->state,
                                      operands, NULL);
    if (failed != 0) code = tensorwright_refused(failed);
  }
  tensorwright_leave(driver, entered);
  return code;
}
/* Into @MAP_BYTES@ bytes at a multiple of @MAP_ALIGNMENT@, what copies of an array's boxes know of it. `shape`: bytes of an element, of a
   swizzle, dimensions; of each, outermost first, how many elements, how far apart they are, and how many a box has. */
static inline int32_t tensorwright_map(const struct tw_context* self, void* map, void* array, const int64_t* shape) {
  const struct tensorwright_driver* driver = tensorwright_cuda();
  unsigned long long extents[5], strides[5];
  unsigned box[5], steps[5];
  const int bytes = (int)shape[0], swizzle = (int)shape[1], rank = (int)shape[2];
  int d, code;
  (void)self;
  if (driver == NULL) return TW_ERROR_NO_DEVICE;
  if (driver->map == NULL) return TW_ERROR_DRIVER;
  if ((uintptr_t)array % 16 != 0) return TW_ERROR_ALIGNMENT;
  for (d = 0; d < rank; ++d) {
    const int64_t* axis = shape + 3 + 3 * (rank - 1 - d);
    extents[d] = axis[0] < 1 ? 1 : (unsigned long long)axis[0];
    box[d] = (unsigned)axis[2];
    steps[d] = 1;
    if (d == 0) continue;
    strides[d - 1] = (unsigned long long)(axis[1] * bytes);
    if (strides[d - 1] % 16 != 0) return TW_ERROR_ALIGNMENT;
  }
  code = driver->map(map, bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 4, (unsigned)rank, array, extents, strides, box,
                     steps, 0, swizzle == 0 ? 0 : swizzle == 32 ? 1 : swizzle == 64 ? 2 : 3, 2, 0);
  return code == 0 ? 0 : tensorwright_refused(code);
}
static inline void* tensorwright_cuda_alloc(const struct tw_context* self, size_t bytes) {
  const struct tensorwright_driver* driver = tensorwright_cuda();
  unsigned long long address = 0;
  int entered;
  if (driver == NULL) return NULL;
  if (tensorwright_enter(driver, &entered) < 0 || driver->alloc(&address, bytes, self->state) != 0) address = 0;
  tensorwright_leave(driver, entered);
  return (void*)(uintptr_t)address;
}
static inline void tensorwright_cuda_release(const struct tw_context* self, void* memory) {
  const struct tensorwright_driver* driver = tensorwright_cuda();
  int entered;
  tensorwright_enter(driver, &entered);
  driver->release((unsigned long long)(uintptr_t)memory, self->state);
  tensorwright_leave(driver, entered);
}
static inline struct tw_context tensorwright_cuda_context(struct CUstream_st* stream) {
  static void (*const functions[])(void) = {(void (*)(void))tensorwright_launch, (void (*)(void))tensorwright_map};
  struct tw_context context = tensorwright_default_context();
  context.alloc = tensorwright_cuda_alloc;
  context.release = tensorwright_cuda_release;
  context.state = stream;
  context.externs = functions;
  return context;
}
#endif
)";

}  // namespace

std::string cuda_context() {
  const std::pair<std::string_view, int64_t> numbers[] = {
      {"@ALIGNMENT@", kAlignmentError},
      {"@DEVICES@", kMostDevices},
      {"@MAP_BYTES@", kMapBytes},
      {"@MAP_ALIGNMENT@", kMapAlignment},
      {"@THREADS@", support::kMostThreadsOfBlock},
      {"@BLOCKS_X@", support::kMostBlocksAlong[0]},
      {"@BLOCKS_Y@", support::kMostBlocksAlong[1]},
      {"@BLOCKS_Z@", support::kMostBlocksAlong[2]},
  };
  std::string text = kText;
  for (const auto& [name, number] : numbers)
    for (size_t at = 0; (at = text.find(name, at)) != std::string::npos;)
      text.replace(at, name.size(), std::to_string(number));
  return text;
}

}  // namespace tw::codegen
