// The file of a tuning log, as those see it who write: sealed lines, one appended in one write under a lock, while
// another process may replace the whole.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "tensorwright/error.h"

namespace tw::support {

// A JSON object as a line: with its checksum, FNV-1a of everything before `,"checksum"`, and a newline.
std::string sealed(std::string object);
// The object of a line without its newline, or why it is none: cut off, damaged.
Result<std::string> unsealed(std::string_view line);

class LineFile {
 public:
  explicit LineFile(const std::string& path);  // made where there is none; throws Error (kLog)
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  // Throws Error (kLog) when the disk is full and the like; the file then is as it was.
  void append(std::string line);

 private:
  void open();
  void lock();

  std::string path_;
  int fd_ = -1;
};

// Replaces the file, or leaves it as it was: `lines`, each with its newline, go to a new file that then takes its name.
// Waits for the lock that appending takes. Throws Error (kLog), and what `lines` throws.
void replace_lines(const std::string& path, const std::function<std::string()>& lines);

}  // namespace tw::support
