#include "src/runtime/tool_path.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "tensorwright/error.h"

namespace tw::runtime {
namespace {

// A symbol of this library: where it is, the programs are.
const char kHere = 0;

std::string folder_of_this_library() {
  Dl_info info = {};
  if (dladdr(&kHere, &info) == 0 || !info.dli_fname) return ".";
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, failed);
  return failed ? "." : file.parent_path().string();
}

}  // namespace

std::string tool_path(const std::string& name, const char* variable) {
  const char* chosen = std::getenv(variable);
  const std::string here = folder_of_this_library() + "/";
  std::vector<std::string> places = {here + name, here + "tensorwright/" + name};
  if (chosen && *chosen) places = {chosen};
  for (const std::string& path : places)
    if (access(path.c_str(), X_OK) == 0) return path;
  throw Error(Diagnostic{ErrorKind::kTune,
                         "measuring: " + name + " is not at " + places[0],
                         {},
                         {"it belongs beside the library; another place can be given in " + std::string(variable)}});
}

}  // namespace tw::runtime
