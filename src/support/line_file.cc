#include "src/support/line_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <tuple>

#include "src/support/descriptor.h"
#include "src/support/fnv.h"
#include "src/support/replace_file.h"

namespace tw::support {

namespace {

constexpr std::string_view kChecksum = ",\"checksum\":\"";

[[noreturn]] void cannot_write(const std::string& path, int error) {
  throw Error(Diagnostic{ErrorKind::kLog,
                         "the tuning log " + path + " cannot be written: " + std::strerror(error),
                         {},
                         {"what was written before is intact; make room or give another log=, and tune again"}});
}

// 0, or why not: some file systems have no locks.
int lock_file(int fd) {
  while (flock(fd, LOCK_EX) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

// 0, or the reason why the text is not there as a whole.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

bool is_at(int fd, const std::string& path) {
  struct stat ours{}, there{};
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

// The file that is at `path`, locked, or none when there is none. Those who append look again once they have the lock.
Descriptor open_locked(const std::string& path) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));  // some file systems lock only what may be written
    if (file.get() < 0 && errno == ENOENT) return file;
    if (file.get() < 0) cannot_write(path, errno);
    if (const int error = lock_file(file.get())) cannot_write(path, error);
    if (is_at(file.get(), path)) return file;
  }
}

// Whether the file ends within a line: of a process that was killed while it wrote.
bool ends_within_a_line(int fd, off_t size) {
  char last = '\n';
  return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

std::string sealed(std::string object) {
  object.pop_back();
  return object + std::string(kChecksum) + fnv1a_hex(object) + "\"}\n";
}

Result<std::string> unsealed(std::string_view line) {
  const auto refuse = [](std::string why) { return Diagnostic{ErrorKind::kLog, std::move(why), {}, {}}; };
  const size_t at = line.rfind(kChecksum);
  if (at == std::string_view::npos || line.size() != at + kChecksum.size() + 18 || !line.ends_with("\"}"))
    return refuse("cut off");
  if (line.substr(at + kChecksum.size(), 16) != fnv1a_hex(line.substr(0, at)))
    return refuse("damaged: the checksum differs");
  return std::string(line.substr(0, at)) + "}";
}

LineFile::LineFile(const std::string& path) : path_(path) { open(); }

LineFile::~LineFile() { close(fd_); }

void LineFile::open() {
  if (fd_ >= 0) close(fd_);
  fd_ = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) cannot_write(path_, errno);
}

// A log that was replaced meanwhile, or removed, is at its path again or anew. Where there are no locks nobody replaces
// it.
void LineFile::lock() {
  lock_file(fd_);
  while (!is_at(fd_, path_)) {
    open();
    lock_file(fd_);
  }
}

void LineFile::append(std::string line) {
  lock();
  const off_t size = lseek(fd_, 0, SEEK_END);
  if (ends_within_a_line(fd_, size)) line.insert(line.begin(), '\n');
  const int error = write_all(fd_, line);
  // Half a line would only cost itself, but a full disk leaves the log as it was.
  if (error != 0) std::ignore = ftruncate(fd_, size);
  flock(fd_, LOCK_UN);
  if (error != 0) cannot_write(path_, error);
}

void replace_lines(const std::string& path, const std::function<std::string()>& lines) {
  std::error_code failed;
  const std::string at = std::filesystem::weakly_canonical(path, failed).string();  // a link stays one
  if (failed) cannot_write(path, failed.value());
  const Descriptor old = open_locked(at);  // and the lock goes with it
  const std::string text = lines();
  Replacement fresh(at);
  fresh.write(text);
  fresh.sync();
  if (const int error = fresh.keep()) cannot_write(path, error);
}

}  // namespace tw::support
