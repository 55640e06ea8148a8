#include "src/tools/run_command.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <tuple>

#include "src/support/json_text.h"
#include "tensorwright/error.h"

namespace tw::tools {

void print_json(const Json& json) { std::printf("%s\n", support::to_printable_text(json, 2).c_str()); }

namespace {

int failed(const std::string& program, bool json, const Error& error) {
  if (json) print_json({{"error", error.diagnostic().what}, {"notes", error.diagnostic().notes}});
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
  return kFailed;
}

// What is opened next would take their numbers, and what is printed would go there: into a log, say.
void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(number, F_GETFD) < 0 && errno == EBADF) std::ignore = open("/dev/null", O_RDWR);
}

void check_printed() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw Error(Diagnostic{
      ErrorKind::kArgument, std::string("what it prints cannot be written: ") + std::strerror(errno), {}, {}});
}

}  // namespace

int run_command(const std::string& program, bool json, const std::function<int()>& work) try {
  open_standard_streams();
  const int code = work();
  check_printed();
  return code;
} catch (const Error& error) {
  return failed(program, json, error);
} catch (const std::bad_alloc&) {
  return failed(program, json, Error(Diagnostic{ErrorKind::kArgument, "there is not enough memory", {}, {}}));
} catch (const std::exception& error) {
  return failed(program, json, Error(Diagnostic{ErrorKind::kArgument, error.what(), {}, {}}));
}

}  // namespace tw::tools
