// Writing a log.
#include <sys/stat.h>

#include "autotune/log/record.h"

namespace tw::autotune {

namespace {

const std::string& ours_or_new(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) for_each_line(path, nullptr);  // refuses what is not ours
  return path;
}

}  // namespace

Journal::Journal(const std::string& path) : file_(ours_or_new(path)) {}

void Journal::append(const Record& record) { file_.append(to_line(record)); }

}  // namespace tw::autotune
