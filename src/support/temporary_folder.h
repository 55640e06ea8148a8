// A folder for files of the moment.
#pragma once

#include <string>

namespace tw::support {

// Made where TMPDIR says, in /tmp where that is no folder, and removed with all that it holds when the object goes.
// While it is there a file of it is locked, by which others see that its process lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  bool usable() const { return !path_.empty(); }  // whether it could be made
  const std::string& path() const { return path_; }
  const std::string& why_not() const { return why_not_; }
  // Throws Error (kArgument), with the reason, where it is not usable: a file is never looked for elsewhere.
  std::string operator/(const std::string& name) const;

 private:
  std::string path_, why_not_;
  int lock_ = -1;  // of the file that is locked
};

// Removes this user's folders whose processes were killed.
void remove_abandoned_folders();

}  // namespace tw::support
