// Instructions of a device that have no C form: each a function of the text, by name.
#pragma once

#include <span>
#include <string>

namespace tw::codegen {

struct Instruction {
  std::string name;
  std::string text;  // of the whole function
};
// In the order in which a file has them.
std::span<const Instruction> instructions();

}  // namespace tw::codegen
