#include "autotune/frozen/file_set.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "src/support/file_bytes.h"
#include "tensorwright/error.h"

namespace tw::aot {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void cannot(const char* what, const std::string& path, const std::string& why) {
  throw Error(Diagnostic{ErrorKind::kArgument, path + " cannot be " + what + ": " + why, {}, {}});
}

bool holds(const std::string& path, const std::string& bytes) {
  std::error_code failed;
  if (fs::file_size(path, failed) != bytes.size() || failed) return false;
  return bytes_of(path) == bytes;
}

// Goes with what it holds unless it was kept.
class Fresh {
 public:
  explicit Fresh(const NewFile& file) : target_(file.path), path_(file.path + "." + std::to_string(getpid())) {
    std::error_code failed;
    if (const fs::path folder = fs::path(target_).parent_path(); !folder.empty())
      fs::create_directories(folder, failed);
    std::ofstream out(path_, std::ios::binary);
    out.write(file.bytes.data(), static_cast<std::streamsize>(file.bytes.size()));
    out.close();
    if (out) return;
    const std::string why = std::strerror(errno);
    fs::remove(path_, failed);
    cannot("written", target_, why);
  }
  Fresh(Fresh&& other) noexcept : target_(std::move(other.target_)), path_(std::exchange(other.path_, "")) {}
  ~Fresh() {
    std::error_code failed;
    if (!path_.empty()) fs::remove(path_, failed);
  }
  void keep() {
    std::error_code failed;
    fs::rename(path_, target_, failed);
    if (failed) cannot("written", target_, failed.message());
    path_.clear();
  }

 private:
  std::string target_, path_;
};

}  // namespace

std::string bytes_of(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) cannot("read", path, "it is a folder");
  std::optional<std::string> bytes = support::file_bytes(path);
  if (!bytes) cannot("read", path, std::strerror(errno));
  return *std::move(bytes);
}

void write_all(const std::vector<NewFile>& files) {
  std::vector<Fresh> fresh;
  for (const NewFile& file : files)
    if (!holds(file.path, file.bytes)) fresh.emplace_back(file);
  for (Fresh& one : fresh) one.keep();
}

}  // namespace tw::aot
