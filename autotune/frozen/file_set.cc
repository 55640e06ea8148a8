#include "autotune/frozen/file_set.h"

#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/support/file_bytes.h"
#include "src/support/replace_file.h"
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

}  // namespace

std::string bytes_of(const std::string& path) {
  std::error_code failed;
  if (fs::is_directory(path, failed)) cannot("read", path, "it is a folder");
  std::optional<std::string> bytes = support::file_bytes(path);
  if (!bytes) cannot("read", path, std::strerror(errno));
  return *std::move(bytes);
}

void write_all(const std::vector<NewFile>& files) {
  std::deque<std::pair<std::string, support::Replacement>> changed;
  for (const NewFile& file : files) {
    if (holds(file.path, file.bytes)) continue;
    std::error_code failed;
    if (const fs::path folder = fs::path(file.path).parent_path(); !folder.empty())
      fs::create_directories(folder, failed);
    auto& [path, fresh] = changed.emplace_back(file.path, file.path);
    fresh.write(file.bytes);
    if (fresh.error() != 0) cannot("written", path, std::strerror(fresh.error()));
  }
  for (auto& [path, fresh] : changed)
    if (const int error = fresh.keep()) cannot("written", path, std::strerror(error));
}

}  // namespace tw::aot
