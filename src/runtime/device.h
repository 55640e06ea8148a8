// What a candidate is measured on: memory, code, launches and a clock. What is checked, refused and timed is the same
// on every device (measurement.h); a device says how.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "src/runtime/kernel.h"
#include "tensorwright/blob.h"

namespace tw::runtime {

// Memory for one argument, fenced on both sides.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  virtual size_t bytes() const = 0;
  virtual void* address() const = 0;  // what kernels are given
  virtual void upload(const void* source) = 0;
  virtual void poison(uint8_t byte) = 0;  // fills it
  virtual uint64_t digest() const = 0;    // depends on each byte and on its place
  virtual std::string damage()
      const = 0;  // "" while nothing outside was written; else what: "3 bytes before its first"
  virtual const void* contents() const = 0;  // for the host to read, until the next launch
  // To the other fence, with what it holds, where the device has one that is near either end only: address() is new.
  virtual void move() {}
};

// What any of its functions throws once the device is gone, through no fault of the candidate.
class DeviceLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Device {
 public:
  virtual ~Device() = default;

  // `place` tells the arguments of one kernel apart. Throws std::bad_alloc.
  virtual std::unique_ptr<DeviceMemory> allocate(size_t bytes, size_t place) = 0;
  // Where kernels read these bytes of the host: a copy that the device keeps, or themselves.
  virtual const void* readable(const void* bytes, size_t count) = 0;

  // Memory of nobody's call, for what looks at arguments there; null where the host sees them itself.
  virtual std::unique_ptr<DeviceMemory> scratch(size_t /*bytes*/) { return nullptr; }
  // What is called where a launch would fail for want of memory that scratch() gave; empty: nobody has any to give
  // back.
  virtual void when_short(std::function<void()> /*give_back*/) {}  // NOLINT(performance-unnecessary-value-param)

  // Before what follows: code of the object may run from here on. Where there is scratch() again, of other kernels.
  virtual Status load(const Blob& object) = 0;
  // What the descriptor of a kernel states; nothing at all of one that was made by hand and has none.
  virtual Result<KernelSpecs> specs(const std::string& kernel) const = 0;

  // Begins a call and returns the kernel's code; what the call does is done once time() has returned.
  using Launch = std::function<int32_t(void* const* addresses)>;
  virtual Result<Launch> find(const std::string& kernel) const = 0;

  struct Elapsed {
    int32_t code = 0;  // the first that is not 0, which is the last launch
    double seconds = 0;
    std::string failure = {};  // where the device says more than the code
  };
  virtual Elapsed time(const Launch&, void* const* addresses, int launches) = 0;  // one after the other
};

}  // namespace tw::runtime
