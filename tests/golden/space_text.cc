// Automatic spaces as text.
#include "tests/golden/space_text.h"

#include <map>
#include <stdexcept>

#include "schedule/to_python.h"
#include "tensorwright/autotune.h"
#include "tests/golden/kernel_text.h"

namespace tw::golden {

namespace {

constexpr const char* kTarget = "llvm -mcpu=znver4";

std::string rest_of(const std::string& line, std::string_view prefix) {
  const size_t begin = line.find_first_not_of(' ', prefix.size());
  return begin == line.npos ? "" : line.substr(begin);
}

void take(const autotune::Space& space, const std::string& choice, autotune::Digits& digits) {
  const size_t equals = choice.find('=');
  for (size_t k = 0; k < digits.size(); ++k) {
    const autotune::Knob& knob = space.knobs()[k];
    for (size_t v = 0; v < knob.values.size(); ++v)
      if (knob.name + "=" + to_json(knob, knob.values[v]) == choice) {
        digits[k] = static_cast<uint32_t>(v);
        return;
      }
  }
  throw std::runtime_error("no knob " + choice.substr(0, equals) + " has the value " + choice.substr(equals + 1));
}

// Of a stock operator, or of the expression on the lines that are about nothing else.
std::vector<te::Tensor> arguments_of(const std::string& arguments, const std::vector<Line>& lines) {
  if (arguments != "te") return make_kernel(arguments).args;
  std::vector<Line> expression;
  for (const Line& line : lines)
    if (!line.text.starts_with("space:") && !line.text.starts_with("target:") && !line.text.starts_with("take:"))
      expression.push_back(line);
  return te_arguments(expression);
}

}  // namespace

std::string run_space(const std::string& arguments, const std::vector<Line>& lines) {
  std::string target = kTarget;
  for (const Line& line : lines)
    if (line.text.starts_with("target:")) target = rest_of(line.text, "target:");
  try {
    const autotune::Task task(arguments_of(arguments, lines), Target::parse(target).value_or_throw());
    autotune::Digits digits(task.space().knobs().size(), 0);
    for (const Line& line : lines)
      if (line.text.starts_with("take:")) take(task.space(), rest_of(line.text, "take:"), digits);
    const autotune::Scheduled s = task.candidate(task.space().index(digits)).value_or_throw();
    return to_string(task.space()) + "\n" + schedule::to_python(s.schedule);
  } catch (const Error& error) {
    return error.diagnostic().render() + "\n";
  }
}

}  // namespace tw::golden
