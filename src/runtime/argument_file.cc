#include "src/runtime/argument_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tw::runtime {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(Diagnostic{ErrorKind::kTune, "measuring: " + path + ": " + why, {}, {}});
}

}  // namespace

std::vector<size_t> argument_offsets(const std::vector<ArgSpec>& specs) {
  std::vector<size_t> offsets = {0};
  for (const ArgSpec& spec : specs) offsets.push_back((offsets.back() + spec.bytes() + 63) / 64 * 64);
  return offsets;
}

void write_argument_file(const std::string& path, const std::vector<ArgSpec>& specs,
                         const std::vector<const void*>& data) {
  const std::vector<size_t> offsets = argument_offsets(specs);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const std::string padding(64, '\0');
  for (size_t i = 0; i < specs.size(); ++i) {
    const size_t bytes = specs[i].bytes();
    out.write(static_cast<const char*>(data[i]), static_cast<std::streamsize>(bytes));
    out.write(padding.data(), static_cast<std::streamsize>(offsets[i + 1] - offsets[i] - bytes));
  }
  out.flush();
  if (!out) refuse(path, std::strerror(errno));
}

ArgumentFile::ArgumentFile(const std::string& path, const std::vector<ArgSpec>& specs)
    : offsets_(argument_offsets(specs)) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) refuse(path, std::strerror(errno));
  struct stat info = {};
  const bool large_enough = fstat(fd, &info) == 0 && static_cast<size_t>(info.st_size) >= offsets_.back();
  if (large_enough && offsets_.back() > 0)
    memory_ = mmap(nullptr, offsets_.back(), PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
  close(fd);
  if (!large_enough) refuse(path, "is too short for the arguments");
  if (memory_ == MAP_FAILED) refuse(path, std::strerror(errno));
}

ArgumentFile::~ArgumentFile() {
  if (memory_) munmap(memory_, offsets_.back());
}

}  // namespace tw::runtime
