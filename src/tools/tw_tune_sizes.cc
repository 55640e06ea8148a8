#include "src/tools/tw_tune_sizes.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include "autotune/log/history.h"
#include "autotune/time_ranges.h"
#include "src/ir/walk.h"
#include "src/support/json_text.h"
#include "src/tools/tw_command.h"
#include "tensorwright/aot.h"
#include "tensorwright/ops/kernels.h"

namespace tw::tools {
namespace {

using namespace tw::autotune;

using Listed = std::vector<std::pair<std::string, std::vector<int64_t>>>;

Listed listed(const std::vector<std::string>& words) {
  Listed all;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals != std::string::npos) all.emplace_back(word.substr(0, equals), std::vector<int64_t>());
    const std::string number = equals == std::string::npos ? word : word.substr(equals + 1);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (all.empty() || all.back().first.empty() || error != std::errc() || end != number.data() + number.size() ||
        value < 1)
      fail("tune: --sizes must be NAME=VALUE,VALUE,.. of positive integers, not " + word, {"--sizes M=1,8,64,512"});
    all.back().second.push_back(value);
  }
  const auto is_list = [](const auto& one) { return one.second.size() > 1; };
  std::ranges::stable_partition(all, is_list);
  if (std::ranges::count_if(all, is_list) > 1)
    fail("tune: --sizes has a list for one parameter, by which the kernel chooses, and a number for each other",
         {"--sizes M=1,8,64,512,N=1024"});
  std::vector<int64_t>& values = all.front().second;
  std::ranges::sort(values);
  values.erase(std::ranges::unique(values).begin(), values.end());
  return all;
}

ir::Var variable(const std::vector<te::Tensor>& args, const std::string& name) {
  std::optional<ir::Var> found;
  for (const te::Tensor& t : args)
    for (const ir::Expr& extent : t.shape())
      ir::walk(extent, [&](const ir::Expr& e) {
        if (const auto* v = ir::as<ir::VarRef>(e); v && v->var.name() == name) found = v->var;
        return true;
      });
  if (!found) fail("tune: --sizes: " + name + " is no extent of the operator's tensors");
  return *found;
}

std::string freeze_command(const te::ops::Made& made, const Target& target, const std::string& log) {
  std::string shape;
  for (const auto& [name, value] : made.parameters)
    if (std::ranges::find(made.any, name) != made.any.end() ||
        std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; }))
      shape += (shape.empty() ? "" : ",") + name + "=" + value;
  return "tw freeze " + made.name + " --shape " + shape + " --targets '" + target.to_string() + "' --log " + log;
}

}  // namespace

int tune_sizes(const std::string& name, std::map<std::string, std::string> parameters,
               const std::vector<std::string>& words, const Target& target, const TuneOptions& options,
               runtime::Runner* runner, bool json) {
  const Listed sizes = listed(words);
  for (const auto& [parameter, values] : sizes)
    if (const auto [given, fresh] = parameters.emplace(parameter, "any"); !fresh && given->second != "any")
      fail("tune: --sizes has " + parameter + ", and --shape has it too");
  const te::ops::Made made = te::ops::make(name, parameters, SourceLine());
  for (const std::string& any : made.any)
    if (std::ranges::find(sizes, any, &Listed::value_type::first) == sizes.end())
      fail("tune: " + any + "=any needs a value in --sizes: where it is while the kernel is measured");
  const ir::Var size = variable(made.args, sizes.front().first);
  std::vector<std::pair<ir::Var, int64_t>> others;
  for (size_t i = 1; i < sizes.size(); ++i)
    others.emplace_back(variable(made.args, sizes[i].first), sizes[i].second.front());

  std::vector<TunedSize> tuned;
  Json printed = Json::array();
  for (const int64_t value : sizes.front().second) {
    const Task task = Task::at_size(made.args, target, size, value, made.name, others);
    tuned.push_back({value, task, runner ? tune(task, options, *runner) : tune(task, options)});
    const TuneResult& result = tuned.back().result;
    if (result.best && json)
      printed.push_back({{"args", support::parse_json<Json>(task.args())},
                         {"trials", result.trials.size()},
                         {"measured", result.measured},
                         {"seconds", result.best->seconds}});
    if (result.best && !json)
      std::printf("%s: best %.4g ms, %zu trials in %.1f s\n", call_text(task.name(), task.args()).c_str(),
                  result.best->seconds * 1e3, result.trials.size(), result.elapsed_s);
    if (result.stopped) return kInterrupted;
  }
  const std::vector<Trial> ranges = time_ranges(made.args, size, others, tuned, options, runner);
  if (options.should_stop && options.should_stop()) return kInterrupted;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (json)
      printed[i]["range"] = {{"seconds", ranges[i].seconds},
                             {"steps", support::parse_json<Json>(schedule::to_json(ranges[i].steps))}};
    else if (ranges[i].steps != tuned[i].result.best->steps)
      std::printf("up to %s = %lld another, which loses least all over that range: %.4g ms\n", size.name().c_str(),
                  static_cast<long long>(tuned[i].value), ranges[i].seconds * 1e3);
  }
  if (json) print_json({{"sizes", printed}});
  if (!json && !options.log.empty()) std::printf("\n%s\n", freeze_command(made, target, options.log).c_str());
  return kDone;
}

}  // namespace tw::tools
