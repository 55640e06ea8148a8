#include "src/support/source_text.h"

#include <fstream>

namespace tw::support {

std::string read_line(const std::string& file, int line) {
  std::ifstream in(file);
  std::string text;
  for (int i = 0; i < line; ++i) {
    if (!std::getline(in, text)) return {};
  }
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace tw::support
