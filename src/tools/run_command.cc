#include "src/tools/run_command.h"

#include <cstdio>

#include "src/support/json_text.h"
#include "tensorwright/error.h"

namespace tw::tools {

void print_json(const Json& json) { std::printf("%s\n", support::to_printable_text(json, 2).c_str()); }

int run_command(const std::string& program, bool json, const std::function<int()>& work) try {
  return work();
} catch (const Error& error) {
  if (json) print_json({{"error", error.diagnostic().what}, {"notes", error.diagnostic().notes}});
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  return kFailed;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  return kFailed;
}

}  // namespace tw::tools
