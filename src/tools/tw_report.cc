// tw report: a log as a page.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "autotune/report/report.h"
#include "codegen/calibration.h"
#include "src/support/replace_file.h"
#include "src/tools/tw_command.h"

namespace tw::tools {
namespace {

struct Options {
  std::string log, output = "report.html";
};

Json summary_of(const autotune::Subject& s) {
  Json json{{"task", s.call}, {"target", s.target}, {"threads", s.threads}, {"trials", s.trials.size()}};
  if (s.best) {
    json["best_seconds"] = s.best->seconds;
    if (s.roofline.flops > 0) json["gflops"] = s.rate(s.best->seconds) / 1e9;
  }
  return json;
}

int report(const Options& options, bool json) {
  const std::vector<autotune::Subject> subjects =
      autotune::subjects_of(options.log, codegen::with_kept_rates(runtime::this_machine(), Target::host()));
  const std::string title = "Tuning report: " + std::filesystem::path(options.log).filename().string();
  const std::string page = autotune::html_report(subjects, title);
  if (const int error = support::replace_file(options.output, page))
    fail("report: " + options.output + " cannot be written: " + std::strerror(error),
         {"give another path: tw report LOG -o PATH"});
  if (json) {
    Json tasks = Json::array();
    for (const autotune::Subject& s : subjects) tasks.push_back(summary_of(s));
    print_json({{"report", options.output}, {"tasks", tasks}});
  } else {
    std::printf("%s: %zu %s\n", options.output.c_str(), subjects.size(), subjects.size() == 1 ? "task" : "tasks");
  }
  return kDone;
}

}  // namespace

void add_report(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("report", "Write a log as one HTML page: curve, roofline, failures, knobs, code");
  command->add_option("LOG", options->log, "a log that tune wrote")->required();
  command->add_option("-o,--output", options->output, "the page")->capture_default_str();
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return report(*options, chosen.json); }; });
}

}  // namespace tw::tools
