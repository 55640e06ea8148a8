#include "codegen/kernel_name.h"

#include <algorithm>

#include "src/ir/text.h"

namespace tw::codegen {

namespace {

bool is_letter_or_digit(char c) { return ir::is_letter(c) || ir::is_digit(c); }

}  // namespace

Status check_kernel_name(const std::string& name, size_t longest) {
  const bool valid = !name.empty() && name.size() <= longest && ir::is_letter(name[0]) &&
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
