#include "src/runtime/cuda/guarded_memory.h"

#include <algorithm>
#include <vector>

#include "src/runtime/cuda/kept_uploads.h"
#include "src/runtime/cuda/lost.h"

namespace tw::runtime::cuda {

namespace {

constexpr size_t kZone = size_t{1} << 16;  // looked at
constexpr size_t kAlignment = 256;

}  // namespace

GuardedMemory::GuardedMemory(const GpuDevice& device, Stream stream, size_t bytes, KeptUploads* uploads, Unmapped)
    : device_(device), stream_(stream), bytes_(bytes), uploads_(uploads) {}

// At the end first, as most of what goes astray does so there. The fences are whole pages.
GuardedMemory::GuardedMemory(const GpuDevice& device, Stream stream, size_t bytes, KeptUploads* uploads)
    : GuardedMemory(device, stream, bytes, uploads, Unmapped()) {
  map_pages();
  data_ = first_page() + (mapped_ - bytes) / kAlignment * kAlignment;
  mark_zones();
}

size_t GuardedMemory::bytes_before() const { return std::min(kZone, static_cast<size_t>(data_ - first_page())); }
size_t GuardedMemory::bytes_after() const {
  return std::min(kZone, static_cast<size_t>(first_page() + mapped_ - (data_ + bytes_)));
}

void GuardedMemory::mark_zones() {
  std::vector<unsigned char> zone(kZone);
  mark_zone(zone);
  write(data_ - bytes_before(), zone.data(), bytes_before());
  write(data_ + bytes_, zone.data(), bytes_after());
}

// In parts of the way that it goes, none of which lies over where it goes itself.
void GuardedMemory::move() {
  const Address from = data_, to = first_page();
  const size_t way = from - to;
  for (size_t at = 0; way > 0 && at < bytes_; at += way)
    require_done(device_, device_.driver->copy_within(to + at, from + at, std::min(way, bytes_ - at), stream_),
                 "moving it");
  finish();
  data_ = to;
  mark_zones();
}

void GuardedMemory::make_readonly() {
  MemoryAccess access{{}, kReadOnly};
  access.place.ordinal = device_.number;
  device_.driver->set_access(first_page(), mapped_, &access, 1);
}

void GuardedMemory::map_pages() {
  const Driver& driver = *device_.driver;
  MemoryKind kind;
  kind.place.ordinal = device_.number;
  require_done(device_, driver.granularity(&fence_, &kind, 0), "asking for the size of its pages");
  mapped_ = (bytes_ + kZone + kAlignment + fence_ - 1) / fence_ * fence_;
  require_done(device_, driver.reserve(&reserved_, mapped_ + 2 * fence_, 0, 0, 0), "reserving addresses");
  Physical pages = 0;
  Code created = driver.physical_create(&pages, mapped_, &kind, 0);
  if (created == kOutOfMemory && uploads_) {
    uploads_->give_way();
    created = driver.physical_create(&pages, mapped_, &kind, 0);
  }
  if (created == kOutOfMemory) {
    size_t free = 0, total = 0;
    driver.memory_info(&free, &total);
    throw Error({ErrorKind::kArgument,
                 described(device_) + ": there is no memory for an argument of " + std::to_string(bytes_) + " bytes, " +
                     std::to_string(free) + " of " + std::to_string(total) + " are free",
                 {},
                 {}});
  } else {
    require_done(device_, created, "allocating " + std::to_string(bytes_) + " bytes");
  }
  const Code failed = driver.map(first_page(), mapped_, 0, pages, 0);
  driver.physical_release(pages);  // lasts as long as it is mapped
  require_done(device_, failed, "mapping memory");
  is_mapped_ = true;
  const MemoryAccess access{kind.place};
  require_done(device_, driver.set_access(first_page(), mapped_, &access, 1), "opening memory");
}

GuardedMemory::~GuardedMemory() {
  if (is_mapped_) device_.driver->unmap(first_page(), mapped_);
  if (reserved_ != 0) device_.driver->give_up(reserved_, mapped_ + 2 * fence_);
}

void GuardedMemory::finish() const { require_done(device_, device_.driver->stream_finish(stream_), "waiting for it"); }

void GuardedMemory::write(Address to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  require_done(device_, device_.driver->to_device(to, from, bytes, stream_), "copying to it");
  finish();
}

void GuardedMemory::read(void* to, Address from, size_t bytes) const {
  if (bytes == 0) return;
  require_done(device_, device_.driver->to_host(to, from, bytes, stream_), "copying from it");
  finish();
}

void GuardedMemory::upload(const void* source) {
  const std::optional<Address> kept = uploads_ ? uploads_->find(source, bytes_) : std::nullopt;
  if (!kept) return write(data_, source, bytes_);
  require_done(device_, device_.driver->copy_within(data_, *kept, bytes_, stream_), "copying to it");
  finish();
}

void GuardedMemory::poison(uint8_t byte) {
  if (bytes_ == 0) return;
  require_done(device_, device_.driver->fill(data_, byte, bytes_, stream_), "filling memory");
  finish();
}

const void* GuardedMemory::contents() const {
  if (!copy_) copy_ = std::make_unique_for_overwrite<unsigned char[]>(bytes_);
  read(copy_.get(), data_, bytes_);
  return copy_.get();
}

uint64_t GuardedMemory::digest() const { return digest_of(contents(), bytes_); }

std::string GuardedMemory::damage() const {
  std::vector<unsigned char> before(bytes_before()), after(bytes_after());
  read(before.data(), data_ - before.size(), before.size());
  read(after.data(), data_ + bytes_, after.size());
  return damage_of_zones(before, after);
}

}  // namespace tw::runtime::cuda
