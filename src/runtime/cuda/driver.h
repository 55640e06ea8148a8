// NVIDIA's driver, opened where it is found: our own prototypes of the functions that we call, nothing is linked.
//
// TW_CUDA_DRIVER names another library in its place, as tests do. All of it may be used from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tensorwright/error.h"

namespace tw::runtime::cuda {

using Code = int;  // 0: success
using DeviceNumber = int;
using Address = unsigned long long;  // of memory of a device
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;
using Event = struct OpaqueEvent*;
using LoadedModule = struct OpaqueModule*;
using Function = struct OpaqueFunction*;
using Graph = struct OpaqueGraph*;
using RunnableGraph = struct OpaqueRunnableGraph*;
using Physical = unsigned long long;  // memory of a device without an address

// Where such memory is, and what may be done at the addresses that it is mapped to: as the driver has these structs.
struct MemoryPlace {
  int type = 1;  // of a device
  int ordinal = 0;
};
struct MemoryKind {
  int type = 1;  // pinned
  int exported_as = 0;
  MemoryPlace place;
  void* of_windows = nullptr;
  unsigned char flags[8] = {};
};
struct MemoryAccess {
  MemoryPlace place;
  int may = 3;  // read and write
};
inline constexpr int kReadOnly = 1;

inline constexpr Code kOutOfMemory = 2, kUnavailable = 46, kNoDevice = 100, kNoBinary = 209, kNewerText = 222,
                      kInvalidHandle = 400, kIllegalAddress = 700, kMisaligned = 716, kLaunchFailed = 719;

enum DeviceAttribute : int { kProcessors = 16, kL2Bytes = 38, kCapabilityMajor = 75, kCapabilityMinor = 76 };
inline constexpr int kDynamicSharedBytes = 8;  // an attribute of a function
inline constexpr int kOrdinalOfPointer = 9;    // an attribute of an address
inline constexpr unsigned kNoTiming = 2;       // of an event
inline constexpr unsigned kNonBlocking = 1;    // of a stream: apart from the default one
inline constexpr int kCaptureOfThread = 1;     // what other threads do meanwhile is no part of it

inline constexpr size_t kTensorMapBytes = 128, kTensorMapAlignment = 64;

struct Driver {
  Code (*init)(unsigned flags);
  Code (*driver_version)(int*);
  Code (*error_name)(Code, const char**);
  Code (*error_text)(Code, const char**);
  Code (*device_count)(int*);
  Code (*device)(DeviceNumber*, int ordinal);
  Code (*device_name)(char*, int bytes, DeviceNumber);
  Code (*device_attribute)(int*, int attribute, DeviceNumber);
  Code (*device_memory)(size_t*, DeviceNumber);
  Code (*pci_bus)(char*, int bytes, DeviceNumber);
  Code (*primary_context)(Context*, DeviceNumber);
  Code (*current_context)(Context*);
  Code (*push_context)(Context);
  Code (*pop_context)(Context*);
  Code (*memory_info)(size_t* free, size_t* total);
  Code (*allocate)(Address*, size_t);
  Code (*release)(Address);
  Code (*allocate_on)(Address*, size_t, Stream);
  Code (*release_on)(Address, Stream);
  Code (*pointer_attribute)(void*, int attribute, Address);
  Code (*granularity)(size_t*, const MemoryKind*, int recommended);
  Code (*reserve)(Address*, size_t, size_t alignment, Address wished, unsigned long long flags);
  Code (*give_up)(Address, size_t);
  Code (*physical_create)(Physical*, size_t, const MemoryKind*, unsigned long long flags);
  Code (*physical_release)(Physical);
  Code (*map)(Address, size_t, size_t offset, Physical, unsigned long long flags);
  Code (*unmap)(Address, size_t);
  Code (*set_access)(Address, size_t, const MemoryAccess*, size_t count);
  Code (*fill)(Address, unsigned char, size_t, Stream);
  Code (*to_device)(Address, const void*, size_t, Stream);
  Code (*to_host)(void*, Address, size_t, Stream);
  Code (*copy_within)(Address to, Address from, size_t, Stream);
  Code (*stream_create)(Stream*, unsigned flags);
  Code (*stream_destroy)(Stream);
  Code (*stream_finish)(Stream);
  Code (*stream_wait)(Stream, Event, unsigned flags);
  Code (*event_create)(Event*, unsigned flags);
  Code (*event_record)(Event, Stream);
  Code (*event_finish)(Event);
  Code (*event_between)(float* milliseconds, Event, Event);
  Code (*event_destroy)(Event);
  Code (*module_load)(LoadedModule*, const void* image);
  Code (*module_unload)(LoadedModule);
  Code (*module_function)(Function*, LoadedModule, const char* name);
  Code (*function_set)(Function, int attribute, int value);
  Code (*launch)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared_bytes, Stream, void** operands, void** extra);
  // Null before CUDA 12. Dimensions innermost first, strides of all but that one in bytes; enumerators as the driver's.
  Code (*tensor_map)(void* map, int type, unsigned rank, void* array, const unsigned long long* extents,
                     const unsigned long long* strides, const unsigned* box, const unsigned* steps, int interleave,
                     int swizzle, int promotion, int fill);
  Code (*capture_begin)(Stream, int mode);
  Code (*capture_end)(Stream, Graph*);
  Code (*graph_make)(RunnableGraph*, Graph, unsigned long long flags);
  Code (*graph_run)(RunnableGraph, Stream);
  Code (*graph_destroy)(Graph);
  Code (*graph_unmake)(RunnableGraph);
};

// Opened and initialised at the first call. kTarget, with the way out, where there is none or it has no device.
Result<const Driver*> driver();

// "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered".
std::string text_of(const Driver&, Code);

}  // namespace tw::runtime::cuda
