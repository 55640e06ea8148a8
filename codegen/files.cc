#include "codegen/files.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <system_error>

namespace tw::codegen {

namespace {

[[noreturn]] void cannot_write(const std::string& path) {
  throw Error(
      {ErrorKind::kArgument, "save: cannot write \"" + path + "\": is the folder there, and writable?", {}, {}});
}

}  // namespace

std::string texts_of(const std::vector<ir::Program>& programs) {
  std::string text;
  for (const ir::Program& program : programs) text += (text.empty() ? "" : "\n") + ir::to_string(program);
  return text;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) cannot_write(path);
}

void replace_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(path, failed);
  if (exists(there) && !is_regular_file(there)) return is_directory(there) ? cannot_write(path) : write(path);
  const std::string fresh = path + "." + std::to_string(getpid());
  if (!std::ofstream(fresh)) cannot_write(path);
  try {
    write(fresh);
  } catch (...) {
    std::filesystem::remove(fresh, failed);
    throw;
  }
  std::filesystem::rename(fresh, path, failed);
  if (!failed) return;
  std::filesystem::remove(fresh, failed);
  cannot_write(path);
}

}  // namespace tw::codegen
