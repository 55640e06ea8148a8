#include "src/support/replace_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

namespace tw::support {

namespace fs = std::filesystem;

Replacement::Replacement(const std::string& path) : target_(path), path_(path) {
  struct stat there = {};
  const bool exists = stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) {
    error_ = EISDIR;
  } else if (exists && !S_ISREG(there.st_mode)) {
    check((fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC)) >= 0);
  } else {
    std::error_code failed;
    if (exists) target_ = fs::canonical(path, failed).string();
    if (exists) mode_ = there.st_mode & 07777;
    error_ = failed.value();
    open();
  }
}

// Others may have left one of that name, who had this process's number.
void Replacement::open() {
  static std::atomic<int> drafts = 0;
  while (fd_ < 0 && error_ == 0) {
    path_ = target_ + "." + std::to_string(getpid()) + "." + std::to_string(drafts++);
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_ == 0 ? 0666 : mode_ | S_IWUSR);
    if (errno != EEXIST) check(fd_ >= 0);
  }
  if (fd_ < 0) path_ = target_;
}

Replacement::~Replacement() {
  if (fd_ >= 0) close(fd_);
  if (!to_itself()) unlink(path_.c_str());
}

void Replacement::check(bool done) {
  if (error_ == 0 && !done) error_ = errno == 0 ? EIO : errno;
}

void Replacement::write(std::string_view bytes) {
  while (!bytes.empty() && error_ == 0) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = ENOSPC;
    check(written > 0);
    bytes.remove_prefix(written > 0 ? static_cast<size_t>(written) : 0);
  }
}

void Replacement::sync() {
  if (error_ == 0 && !to_itself()) check(fsync(fd_) == 0);
}

int Replacement::keep() {
  if (error_ == 0 && mode_ != 0) std::ignore = fchmod(fd_, mode_);  // it has no more than that from the beginning
  if (error_ == 0) check(close(std::exchange(fd_, -1)) == 0);  // some file systems tell only now that there is no room
  if (error_ == 0 && !to_itself()) check(std::rename(path_.c_str(), target_.c_str()) == 0);
  if (error_ == 0) path_ = target_;
  return error_;
}

int replace_file(const std::string& path, std::string_view bytes) {
  Replacement draft(path);
  draft.write(bytes);
  return draft.keep();
}

}  // namespace tw::support
