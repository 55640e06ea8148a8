#include "src/support/environment.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "tensorwright/error.h"

namespace tw::support {

namespace {

// `usual` where the variable is unset or empty; nothing where it says anything but such a number.
std::optional<int64_t> number_in(const char* value, int64_t usual, int64_t most) {
  if (value == nullptr || *value == 0) return usual;
  char* end = nullptr;
  errno = 0;
  const int64_t number = std::strtoll(value, &end, 10);
  if (errno != 0 || *end != 0 || number < 1 || number > most) return std::nullopt;
  return number;
}

}  // namespace

int64_t number_of_environment(const char* variable, int64_t usual, int64_t most) {
  const char* const value = std::getenv(variable);
  if (const std::optional<int64_t> number = number_in(value, usual, most)) return *number;
  throw Error(Diagnostic(ErrorKind::kArgument,
                         std::string("the environment variable ") + variable + " must be an integer from 1 to " +
                             std::to_string(most) + ", not '" + value + "'",
                         {}, {"unset, it is " + std::to_string(usual)}));
}

int64_t number_of_environment_or_warning(const char* variable, int64_t usual, int64_t most) {
  const char* const value = std::getenv(variable);
  if (const std::optional<int64_t> number = number_in(value, usual, most)) return *number;
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::lock_guard lock(mutex);
  if (said.insert(variable).second)
    std::fprintf(
        stderr,
        "tensorwright: the environment variable %s must be an integer from 1 to %lld, not '%s'; %lld is taken\n",
        variable, static_cast<long long>(most), value, static_cast<long long>(usual));
  return usual;
}

int64_t max_unroll() {
  constexpr int64_t kUsual = 4096, kMost = int64_t{1} << 40;
  return number_of_environment("TW_MAX_UNROLL", kUsual, kMost);
}

}  // namespace tw::support
