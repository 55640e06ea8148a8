#include "src/runtime/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "tensorwright/error.h"

namespace tw::runtime {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void refuse(size_t bytes, const std::string& why) {
  throw Error(
      Diagnostic{ErrorKind::kArgument, "no array of " + std::to_string(bytes) + " bytes can be had: " + why, {}, {}});
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes)
    : file_(memfd_create("tensorwright-array", MFD_CLOEXEC | MFD_ALLOW_SEALING)), bytes_(bytes) {
  if (file_.get() < 0) refuse(bytes, std::strerror(errno));
  const int error = posix_fallocate(file_.get(), 0, static_cast<off_t>(std::max<size_t>(bytes, 1)));
  if (error != 0) refuse(bytes, std::strerror(error));  // it leaves errno alone
  if (fcntl(file_.get(), F_ADD_SEALS, kSeals) != 0) refuse(bytes, std::strerror(errno));
  map();
}

SharedMemory::SharedMemory(support::Descriptor file, size_t bytes) : file_(std::move(file)), bytes_(bytes) { map(); }

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}

SharedMemory::~SharedMemory() {
  if (data_) munmap(data_, bytes_);
}

void SharedMemory::map() {
  if (bytes_ == 0) return;
  void* const map = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (map == MAP_FAILED) refuse(bytes_, std::strerror(errno));
  data_ = static_cast<std::byte*>(map);
}

}  // namespace tw::runtime
