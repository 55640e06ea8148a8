#include "src/support/environment.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tensorwright/error.h"

namespace tw::support {

int64_t number_of_environment(const char* variable, int64_t usual, int64_t most) {
  const char* const value = std::getenv(variable);
  const std::string_view text = value ? value : "";
  if (text.empty()) return usual;
  int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.begin(), text.end(), number);
  if (failed == std::errc() && end == text.end() && number >= 1 && number <= most) return number;
  throw Error(Diagnostic(ErrorKind::kArgument,
                         std::string("the environment variable ") + variable + " must be an integer from 1 to " +
                             std::to_string(most) + ", not '" + std::string(text) + "'",
                         {}, {"unset, it is " + std::to_string(usual)}));
}

int64_t number_of_environment_or_warning(const char* variable, int64_t usual, int64_t most) try {
  return number_of_environment(variable, usual, most);
} catch (const Error& error) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(variable).second)
    std::fprintf(stderr, "tensorwright: %s; %lld is taken\n", error.diagnostic().what.c_str(),
                 static_cast<long long>(usual));
  return usual;
}

int64_t max_unroll() {
  constexpr int64_t kUsual = 4096, kMost = int64_t{1} << 40;
  return number_of_environment("TW_MAX_UNROLL", kUsual, kMost);
}

}  // namespace tw::support
