#include "codegen/files.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tw::codegen {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const bool folder = error == ENOENT || error == EACCES || error == EISDIR || error == ENOTDIR;
  const std::string why = folder ? "is the folder there, and writable?" : std::strerror(error);
  throw Error({ErrorKind::kArgument, "save: cannot write \"" + path + "\": " + why, {}, {}});
}

// Beside it, and of this call alone.
std::string draft_of(const std::filesystem::path& path) {
  static std::atomic<int> drafts = 0;
  return path.string() + "." + std::to_string(getpid()) + "." + std::to_string(drafts++);
}

// 0, or why not.
int write_bytes(const std::string& path, std::string_view bytes) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file ? 0 : errno != 0 ? errno : EIO;
}

}  // namespace

std::string texts_of(const std::vector<ir::Program>& programs) {
  std::string text;
  for (const ir::Program& program : programs) text += (text.empty() ? "" : "\n") + ir::to_string(program);
  return text;
}

void write_file(const std::string& path, std::string_view bytes) {
  replace_file(path, [&](const std::string& draft) {
    if (const int error = write_bytes(draft, bytes)) cannot_write(path, error);
  });
}

void replace_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(path, failed);
  if (is_directory(there)) cannot_write(path, EISDIR);
  if (exists(there) && !is_regular_file(there)) return write(path);
  // A link stays one.
  const std::filesystem::path place = exists(there) ? std::filesystem::canonical(path) : std::filesystem::path(path);
  const std::string draft = draft_of(place);
  if (const int error = write_bytes(draft, {})) cannot_write(path, error);
  try {
    write(draft);
  } catch (...) {
    std::filesystem::remove(draft, failed);
    throw;
  }
  std::filesystem::rename(draft, place, failed);
  if (!failed) return;
  const int error = failed.value();
  std::filesystem::remove(draft, failed);
  cannot_write(path, error);
}

}  // namespace tw::codegen
