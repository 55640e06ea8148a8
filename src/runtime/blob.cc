#include "src/runtime/blob.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "src/support/file_bytes.h"
#include "tensorwright/error.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace tw {
namespace {

constexpr int kSeals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

[[noreturn]] void no_memory(size_t bytes) {
  throw Error(
      Diagnostic{ErrorKind::kTune,
                 "measuring: no memory for " + std::to_string(bytes) + " bytes: " + std::strerror(errno),
                 {},
                 {"make room on the machine that measures, or lift its limits of memory and of a file's size"}});
}

// Shared objects among them are executed, which systems can forbid for memory that does not ask; those that are too old
// to know the question allow it.
int memory_file() {
  const int fd = memfd_create("tensorwright", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  return fd >= 0 || errno != EINVAL ? fd : memfd_create("tensorwright", MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

}  // namespace

struct Blob::Memory {
  Memory(support::Descriptor f, size_t bytes) : file(std::move(f)) {
    void* const map = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (map == MAP_FAILED) no_memory(bytes);
    view = {static_cast<const char*>(map), bytes};
  }
  ~Memory() { munmap(const_cast<char*>(view.data()), view.size()); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  support::Descriptor file;
  std::string_view view;
};

Blob::Blob(std::string_view bytes) {
  runtime::Draft draft(bytes.size());
  if (!bytes.empty()) std::memcpy(draft.data(), bytes.data(), bytes.size());
  *this = std::move(draft).finish();
}

Blob Blob::read(const std::string& path) {
  const std::optional<std::string> bytes = support::file_bytes(path);
  if (!bytes) throw Error(Diagnostic{ErrorKind::kTune, "measuring: " + path + ": " + std::strerror(errno), {}, {}});
  return Blob(*bytes);
}

std::string_view Blob::bytes() const { return memory_ ? memory_->view : std::string_view(); }
int Blob::descriptor() const { return memory_ ? memory_->file.get() : -1; }

namespace runtime {

Draft::Draft(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  file_ = support::Descriptor(memory_file());
  if (file_.get() < 0 || ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) no_memory(bytes);
  void* const map = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (map == MAP_FAILED) no_memory(bytes);
  data_ = static_cast<std::byte*>(map);
}

Draft::~Draft() {
  if (data_) munmap(data_, bytes_);
}

Blob Draft::finish() && {
  if (!data_) return {};
  munmap(std::exchange(data_, nullptr), bytes_);
  if (fcntl(file_.get(), F_ADD_SEALS, kSeals) != 0) no_memory(bytes_);
  return Blob(std::make_shared<const Blob::Memory>(std::move(file_), bytes_));
}

std::optional<Blob> adopt_blob(support::Descriptor file, size_t bytes) {
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK;
  struct stat info = {};
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kNeeded) != kNeeded || fstat(file.get(), &info) != 0) return std::nullopt;
  if (bytes == 0 || static_cast<size_t>(info.st_size) != bytes) return std::nullopt;
  return Blob(std::make_shared<const Blob::Memory>(std::move(file), bytes));
}

}  // namespace runtime
}  // namespace tw
