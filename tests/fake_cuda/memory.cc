// Memory of devices: blocks of the host's, each of a device, and addresses that were reserved.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/fake_cuda.h"

namespace tw::fake {

namespace {

constexpr size_t kGranularity = size_t{1} << 16;
std::map<Physical, std::pair<size_t, int>> physical;  // bytes, and the device

bool has_room(size_t bytes) { return bytes <= static_cast<size_t>(number("FAKE_CUDA_BYTES", int64_t{1} << 30)) - used; }

Code allocate(Address* out, size_t bytes) {
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  if (is_gone()) fault = kUnavailable;
  if (fault) return fault;
  if (!has_room(bytes)) return kOutOfMemory;
  auto block = std::make_unique<std::byte[]>(bytes + 256);
  const Address at = (reinterpret_cast<Address>(block.get()) + 255) / 256 * 256;
  memory.emplace(at, Memory{std::move(block), bytes, current()});
  used += bytes;
  *out = at;
  return 0;
}

// Copies, unless that would leave the array.
Code copy(void* to, const void* from, Address device_side, size_t bytes) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  const auto* block = block_with(device_side);
  if (!block || device_side + bytes > block->first + block->second.size) return kInvalid;
  std::memcpy(to, from, bytes);
  return 0;
}

}  // namespace

const std::pair<const Address, Memory>* block_with(Address address) {
  auto after = memory.upper_bound(address);
  if (after == memory.begin()) return nullptr;
  --after;
  return address < after->first + after->second.size ? &*after : nullptr;
}

Code release(Address address) {
  const std::lock_guard lock(mutex);
  const auto found = memory.find(address);
  if (found == memory.end()) return kInvalid;
  used -= found->second.size;
  memory.erase(found);
  return 0;
}

extern "C" {

Code cuMemGetInfo_v2(size_t* free, size_t* total) {
  const std::lock_guard lock(mutex);
  *total = static_cast<size_t>(number("FAKE_CUDA_BYTES", int64_t{1} << 30));
  *free = *total - used;
  return 0;
}
Code cuMemAlloc_v2(Address* out, size_t bytes) { return allocate(out, bytes); }
Code cuMemFree_v2(Address address) { return release(address); }
Code cuMemAllocAsync(Address* out, size_t bytes, Stream stream) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = captured.find(stream); found != captured.end()) {
      std::vector<Address>& spare = found->second.spare;
      const auto fits = [&](Address address) { return memory.at(address).size == bytes; };
      if (const auto at = std::ranges::find_if(spare, fits); at != spare.end()) {
        *out = *at;
        spare.erase(at);
        return 0;
      }
    }
  }
  const Code failed = allocate(out, bytes);
  const std::lock_guard lock(mutex);
  if (const auto found = captured.find(stream); failed == 0 && found != captured.end())
    found->second.scratch.push_back(*out);
  return failed;
}
Code cuMemFreeAsync(Address address, Stream stream) {
  {
    const std::lock_guard lock(mutex);
    if (const auto found = captured.find(stream); found != captured.end())
      return found->second.spare.push_back(address), 0;  // the graph's, as long as it is
  }
  return release(address);
}
Code cuPointerGetAttribute(void* value, int attribute, Address address) {
  const std::lock_guard lock(mutex);
  const auto* block = block_with(address);
  if (!block || attribute != kOrdinalOfPointer) return kInvalid;
  *static_cast<int*>(value) = block->second.ordinal;
  return 0;
}
Code cuMemGetAllocationGranularity(size_t* bytes, const MemoryKind*, int) { return *bytes = kGranularity, 0; }
Code cuMemAddressReserve(Address* out, size_t bytes, size_t, Address, unsigned long long) {
  void* const map = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return *out = reinterpret_cast<Address>(map), map == MAP_FAILED || bytes % kGranularity != 0 ? kInvalid : 0;
}
Code cuMemAddressFree(Address at, size_t bytes) {
  return munmap(reinterpret_cast<void*>(at), bytes) == 0 ? 0 : kInvalid;
}
Code cuMemCreate(Physical* out, size_t bytes, const MemoryKind* kind, unsigned long long) {
  const std::lock_guard lock(mutex);
  static Physical last = 0;
  if (bytes % kGranularity != 0 || kind->type != 1 || kind->place.type != 1) return kInvalid;
  if (fault) return fault;
  if (!has_room(bytes)) return kOutOfMemory;
  used += bytes;
  physical[*out = ++last] = {bytes, kind->place.ordinal};
  return 0;
}
// It lives on where it is mapped, which who measures never ends before this.
Code cuMemRelease(Physical handle) {
  const std::lock_guard lock(mutex);
  return physical.erase(handle) == 1 ? 0 : kInvalid;
}
Code cuMemMap(Address at, size_t bytes, size_t, Physical handle, unsigned long long) {
  const std::lock_guard lock(mutex);
  const auto found = physical.find(handle);
  if (found == physical.end() || found->second.first != bytes) return kInvalid;
  memory.emplace(at, Memory{nullptr, bytes, found->second.second});
  return 0;
}
Code cuMemSetAccess(Address at, size_t bytes, const MemoryAccess* access, size_t count) {
  if (count != 1 || (access->may != 3 && access->may != kReadOnly)) return kInvalid;
  const int may = access->may == kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
  return mprotect(reinterpret_cast<void*>(at), bytes, may) == 0 ? 0 : kInvalid;
}
Code cuMemUnmap(Address at, size_t) { return release(at); }
Code cuMemsetD8Async(Address at, unsigned char byte, size_t bytes, Stream) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  const auto* block = block_with(at);
  if (!block || at + bytes > block->first + block->second.size) return kInvalid;
  std::memset(reinterpret_cast<void*>(at), byte, bytes);
  return 0;
}
Code cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, Stream) {
  if (const char* uploads = std::getenv("FAKE_CUDA_UPLOADS"); uploads && *uploads) {
    std::FILE* file = std::fopen(uploads, "a");
    std::fprintf(file, "%d %zu\n", getpid(), bytes);
    std::fclose(file);
  }
  return copy(reinterpret_cast<void*>(to), from, to, bytes);
}
Code cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, Stream) {
  const std::lock_guard lock(mutex);
  if (fault) return fault;
  for (const Address side : {to, from})
    if (const auto* block = block_with(side); !block || side + bytes > block->first + block->second.size)
      return kInvalid;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
Code cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, Stream) {
  return copy(to, reinterpret_cast<void*>(from), from, bytes);
}

}  // extern "C"

}  // namespace tw::fake
