#include "src/support/temporary_folder.h"

#include <stdlib.h>

#include <filesystem>
#include <system_error>

namespace tw::support {

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  std::error_code none;
  std::filesystem::path where = std::filesystem::temp_directory_path(none);
  if (where.empty()) where = "/tmp";  // TMPDIR names no folder
  std::string name = (std::filesystem::absolute(where, none) / (prefix + "-XXXXXX")).string();
  if (mkdtemp(name.data())) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (usable()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace tw::support
