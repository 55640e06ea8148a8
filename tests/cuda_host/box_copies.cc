#include "tests/cuda_host/box_copies.h"

#include <cstdint>
#include <cstring>

#include "tensorwright/error.h"

namespace tw::testing {

namespace {

constexpr unsigned kLanes = 32;

[[noreturn]] void fail(const std::string& what) { throw Error({ErrorKind::kInternal, what, {}, {}}); }

// By address, as the device does: bits 4 .. 6 change with bits 7 .. 9, as many as the swizzle has.
uintptr_t swizzled(uintptr_t address, unsigned swizzle) {
  const uintptr_t bits = swizzle == 128 ? 7 : swizzle == 64 ? 3 : swizzle == 32 ? 1 : 0;
  return address ^ ((address >> 7) & bits) << 4;
}

}  // namespace

BoxMap box_map(const runtime::cuda::TensorMap& map, const void* array, void* const* scalars) {
  BoxMap out{};
  out.array = static_cast<const unsigned char*>(array);
  out.rank = static_cast<unsigned>(map.box.size());
  out.element_bytes = static_cast<unsigned>(map.element_bytes);
  out.swizzle = static_cast<unsigned>(map.swizzle);
  for (size_t d = 0; d < out.rank; ++d) {
    const size_t from = out.rank - 1 - d;
    out.extents[d] = static_cast<unsigned>(map.extents[from].evaluate(scalars));
    out.box[d] = static_cast<unsigned>(map.box[from]);
    out.strides[d] = map.strides[from].evaluate(scalars) * map.element_bytes;
    if (d > 0 && out.strides[d] % 16 != 0) fail("a map of rows that no device takes");
    if (out.box[d] > 256) fail("a map of boxes that no device takes");
  }
  return out;
}

void BoxCopies::init(void* barrier, unsigned arrivals) {
  const auto [made, fresh] = barriers_.try_emplace(barrier);
  if (!fresh) fail("a barrier that is initialised twice");
  made->second.arrivals = made->second.pending = arrivals * kLanes;
}

void BoxCopies::end(void* barrier) {
  of(barrier);
  barriers_.erase(barrier);
}

BoxCopies::Barrier& BoxCopies::of(void* barrier) {
  const auto found = barriers_.find(barrier);
  if (found == barriers_.end()) fail("a barrier that nobody has initialised");
  return found->second;
}

void BoxCopies::go_on(Barrier& b) {
  if (b.pending > 0 || b.bytes != 0) return;
  for (const Copy& copy : b.done) make(copy);
  b.done = std::move(b.copies);
  b.copies.clear();
  b.parity ^= 1;
  b.pending = b.arrivals;
}

void BoxCopies::expect(void* barrier, unsigned bytes) {
  Barrier& b = of(barrier);
  if (b.pending < kLanes) fail("a barrier at which more arrive than it counts");
  b.pending -= kLanes;
  b.bytes += bytes;
  go_on(b);
}

void BoxCopies::arrive(void* barrier) {
  Barrier& b = of(barrier);
  if (b.pending == 0) fail("a barrier at which more arrive than it counts");
  --b.pending;
  go_on(b);
}

void BoxCopies::copy(void* to, const BoxMap& map, const int* at, void* barrier) {
  Barrier& b = of(barrier);
  Copy copy{static_cast<unsigned char*>(to), map, {}};
  std::memcpy(copy.at, at, map.rank * sizeof(int));
  long long bytes = map.element_bytes;
  for (unsigned d = 0; d < map.rank; ++d) bytes *= map.box[d];
  const uintptr_t unit = map.swizzle ? 8 * map.swizzle : 128;
  if (reinterpret_cast<uintptr_t>(to) % unit != 0) fail("a box at an address that no device takes");
  b.copies.push_back(copy);
  b.bytes -= bytes;
  go_on(b);
}

void BoxCopies::make(const Copy& copy) {
  const BoxMap& map = copy.map;
  long long count = 1;
  for (unsigned d = 0; d < map.rank; ++d) count *= map.box[d];
  for (long long n = 0; n < count; ++n) {
    long long rest = n;
    const unsigned char* from = map.array;
    bool inside = true;
    for (unsigned d = 0; d < map.rank; rest /= map.box[d++]) {
      const long long at = copy.at[d] + rest % map.box[d];
      inside = inside && at >= 0 && at < map.extents[d];
      from += at * map.strides[d];
    }
    const uintptr_t to = reinterpret_cast<uintptr_t>(copy.to) + static_cast<uintptr_t>(n) * map.element_bytes;
    auto* const place = reinterpret_cast<unsigned char*>(swizzled(to, map.swizzle));
    for (unsigned i = 0; i < map.element_bytes; ++i) place[i] = inside ? from[i] : 0;
  }
}

bool BoxCopies::is_over(void* barrier, unsigned parity) {
  Barrier& b = of(barrier);
  if (b.parity == parity) return false;
  for (const Copy& copy : b.done) make(copy);
  b.done.clear();
  return true;
}

}  // namespace tw::testing
