// Stock operators by name as text.
#include "tests/golden/kernel_text.h"

#include <map>
#include <sstream>

namespace tw::golden {

te::ops::Made make_kernel(const std::string& arguments) {
  std::istringstream list(arguments);
  std::string name, parameter;
  std::getline(list, name, ',');
  std::map<std::string, std::string> given;
  while (std::getline(list >> std::ws, parameter, ',')) {
    const size_t equals = parameter.find('=');
    given[parameter.substr(0, equals)] = parameter.substr(equals + 1);
  }
  return te::ops::make(name, given, {});
}

std::string run_kernel(const std::string& arguments) {
  try {
    const te::ops::Made made = make_kernel(arguments);
    return ir::to_string(te::naive_program({made.args.back()}, made.args, made.name));
  } catch (const Error& error) {
    return error.diagnostic().render() + "\n";
  }
}

}  // namespace tw::golden
