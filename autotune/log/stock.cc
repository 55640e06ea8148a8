#include "autotune/log/stock.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/support/json_text.h"
#include "tensorwright/ops/kernels.h"

namespace tw::autotune {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : support::to_text(value);
}

// Parameters as te::ops::make takes them: lists are written 1x1.
std::map<std::string, std::string> parameters_of(const Json& args) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : args.items()) {
    std::string text = value.is_array() ? "" : text_of(value);
    if (value.is_array())
      for (const Json& part : value) text += (text.empty() ? "" : "x") + text_of(part);
    out[name] = text;
  }
  return out;
}

}  // namespace

Task stock_task(const std::string& name, const std::map<std::string, std::string>& given, Target target) {
  te::ops::Made made = te::ops::make(name, given, SourceLine());  // Python fills in its own line
  if (!made.any.empty())
    throw Error(Diagnostic{ErrorKind::kArgument,
                           name + ": " + made.any.front() + " must be a number here, not \"any\"",
                           {},
                           {"tw tune --sizes tunes it for any, and tw freeze writes it so"}});
  return Task(std::move(made.args), std::move(target), made.name, made.args_json);
}

std::optional<Task> recorded_task(const Record& record) {
  const std::vector<te::ops::StockKernel>& all = te::ops::kernels();
  const bool known =
      std::any_of(all.begin(), all.end(), [&](const auto& kernel) { return kernel.name == record.name; });
  const Json args = support::read_json<Json>(record.args);
  if (!known || !args.is_object()) return std::nullopt;
  try {
    Task task = stock_task(record.name, parameters_of(args), Target::parse(record.key.target).value_or_throw());
    if (task.hash() == record.key.hash) return task;
  } catch (const Error&) {
    // Another release's operator, with other parameters: the log alone must do.
  }
  return std::nullopt;
}

bool says_size(const std::string& args_json) {
  const Json args = support::read_json<Json>(args_json);
  return args.is_object() && !args.empty() &&
         std::ranges::all_of(args, [](const Json& value) { return value.is_number_integer(); });
}

}  // namespace tw::autotune
