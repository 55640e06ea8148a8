// The C structs of DLPack 1.0 (https://dmlc.github.io/dlpack/latest/c_api.html), as far as a consumer reads them.
#pragma once

#include <cstdint>

namespace tw::bind::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBFloat = 4, kBool = 6, kE4M3 = 10, kE5M2 = 12 };
constexpr uint64_t kReadOnly = 1, kPadded = 4;  // kPadded: elements smaller than a byte have one each

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  bool operator==(const DataType&) const = default;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: compact row-major
  uint64_t byte_offset;
};
// In a capsule named "dltensor".
struct ManagedTensor {
  Tensor tensor;
  void* manager;
  void (*deleter)(ManagedTensor*);
};
// In a capsule named "dltensor_versioned".
struct ManagedTensorVersioned {
  uint32_t major, minor;
  void* manager;
  void (*deleter)(ManagedTensorVersioned*);
  uint64_t flags;
  Tensor tensor;
};

// In a capsule of the same name that a type has as __dlpack_c_exchange_api__, since DLPack 1.2. Functions return 0, or
// set an error of Python.
struct ExchangeApi {
  struct Version {
    uint32_t major, minor;
  } version;
  const void* earlier;
  int (*allocate)(Tensor* prototype, ManagedTensorVersioned** out, void* context,
                  void (*set_error)(void* context, const char* kind, const char* message));
  int (*share)(void* object, ManagedTensorVersioned** out);
  int (*adopt)(ManagedTensorVersioned*, void** object);
  int (*look)(void* object, Tensor* out);  // borrowed while the object is; may be null
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
};
constexpr const char* kExchangeApi = "dlpack_exchange_api";

}  // namespace tw::bind::dlpack
