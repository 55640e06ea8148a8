#include "codegen/kernel_name.h"

#include <algorithm>

namespace tw::codegen {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_letter_or_digit(char c) { return is_letter(c) || (c >= '0' && c <= '9'); }

}  // namespace

Status check_kernel_name(const std::string& name, size_t longest) {
  const bool valid = !name.empty() && name.size() <= longest && is_letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), is_letter_or_digit);
  if (valid) return Unit{};
  const std::string shown = name.size() <= longest ? "\"" + name + "\"" : std::to_string(name.size()) + " characters";
  return Diagnostic{ErrorKind::kArgument,
                    "build: name must be an identifier of at most " + std::to_string(longest) +
                        " letters, digits and _, not " + shown,
                    {},
                    {}};
}

}  // namespace tw::codegen
