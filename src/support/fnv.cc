#include "src/support/fnv.h"

#include <cstdio>

namespace tw::support {

std::string hex(uint64_t value) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(value));
  return digits;
}

}  // namespace tw::support
