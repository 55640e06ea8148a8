#include "src/support/temporary_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tensorwright/error.h"

namespace tw::support {
namespace {

constexpr const char* kLocked = "/.tensorwright-lives";

std::filesystem::path parent() {
  std::error_code none;
  std::filesystem::path where = std::filesystem::temp_directory_path(none);
  if (where.empty()) where = "/tmp";  // TMPDIR names no folder
  return std::filesystem::absolute(where, none);
}

// Locks a file of a new folder, if that can be. False: somebody saw it before it was locked, and removes the folder.
bool lock_new(const std::string& folder, int& file) {
  file = open((folder + kLocked).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return true;  // a full disk: nobody will remove it
  const bool taken = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat status = {};
  if (!taken && fstat(file, &status) == 0 && status.st_nlink > 0) return true;
  close(file);
  file = -1;
  return false;
}

bool is_own_folder(const std::string& path) {
  struct stat status = {};
  return lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::string& prefix) {
  const std::string pattern = (parent() / (prefix + "-XXXXXX")).string();
  std::string name;
  do {
    name = pattern;
    if (!mkdtemp(name.data())) {
      why_not_ = "no temporary folder " + pattern + " can be made: " + std::strerror(errno);
      return;
    }
  } while (!lock_new(name, lock_));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (usable()) std::filesystem::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

std::string TemporaryFolder::operator/(const std::string& name) const {
  if (!usable()) throw Error(Diagnostic{ErrorKind::kArgument, why_not_, {}, {"TMPDIR may name one where it can"}});
  return path_ + "/" + name;
}

void remove_abandoned_folders() {
  std::error_code ignored;
  for (std::filesystem::directory_iterator it(parent(), ignored), end; it != end; it.increment(ignored)) {
    const std::string folder = it->path().string();
    const int file = open((folder + kLocked).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    // Where a file system has no locks the folder stays.
    if (file >= 0 && is_own_folder(folder) && flock(file, LOCK_EX | LOCK_NB) == 0)
      std::filesystem::remove_all(folder, ignored);
    if (file >= 0) close(file);
  }
}

}  // namespace tw::support
