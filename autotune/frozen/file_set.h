// Files that are written together or not at all.
#pragma once

#include <string>
#include <vector>

namespace tw::aot {

std::string bytes_of(const std::string& path);  // throws Error where there is no such file

struct NewFile {
  std::string path, bytes;
};
// Makes their folders. Each goes to a new file beside its place, and when all are there they take their names; those
// that hold the same bytes already are left alone. Throws Error.
void write_all(const std::vector<NewFile>& files);

}  // namespace tw::aot
