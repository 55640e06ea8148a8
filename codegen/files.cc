#include "codegen/files.h"

#include <cerrno>
#include <cstring>

#include "src/support/replace_file.h"

namespace tw::codegen {

namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
  const bool folder = error == ENOENT || error == EACCES || error == EISDIR || error == ENOTDIR;
  const std::string why = folder ? "is the folder there, and writable?" : std::strerror(error);
  throw Error({ErrorKind::kArgument, "save: cannot write \"" + path + "\": " + why, {}, {}});
}

}  // namespace

std::string texts_of(const std::vector<ir::Program>& programs) {
  std::string text;
  for (const ir::Program& program : programs) text += (text.empty() ? "" : "\n") + ir::to_string(program);
  return text;
}

void write_file(const std::string& path, std::string_view bytes) {
  if (const int error = support::replace_file(path, bytes)) cannot_write(path, error);
}

void replace_file(const std::string& path, const std::function<void(const std::string&)>& write) {
  support::Replacement fresh(path);
  if (fresh.error() != 0) cannot_write(path, fresh.error());
  write(fresh.path());
  if (const int error = fresh.keep()) cannot_write(path, error);
}

}  // namespace tw::codegen
