#include "src/tools/ssh.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "src/support/descriptor.h"
#include "tensorwright/error.h"

namespace tw::tools {
namespace {

constexpr int kNoConnection = 255;  // what ssh ends with

support::Descriptor memory_file(std::string_view content = {}) {
  support::Descriptor file(memfd_create("ssh", MFD_CLOEXEC));
  TW_CHECK(file.get() >= 0, std::strerror(errno));
  for (size_t at = 0; at < content.size();) {
    const ssize_t count = write(file.get(), content.data() + at, content.size() - at);
    TW_CHECK(count > 0, std::strerror(errno));
    at += static_cast<size_t>(count);
  }
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string content_of(const support::Descriptor& file) {
  std::string text(static_cast<size_t>(lseek(file.get(), 0, SEEK_END)), '\0');
  const ssize_t count = pread(file.get(), text.data(), text.size(), 0);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return text;
}

// The exit code of a program that is found on the path, with these as its descriptors 0 to 2.
int run_program(const std::vector<std::string>& arguments, const int (&descriptors)[3]) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, descriptors[i], i);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return error == ENOENT ? 127 : kNoConnection;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kNoConnection;
}

std::string trimmed(std::string text) {
  text.erase(text.find_last_not_of(" \r\n") + 1);
  return text;
}

}  // namespace

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

Ssh::Ssh(std::string host, std::vector<std::string> options)
    : host_(std::move(host)), options_(std::move(options)), folder_("tw-ssh") {
  if (host_.empty() || host_.front() == '-') refuse("is no USER@HOST");
  if (!folder_.usable()) refuse("cannot be reached: no folder can be made for the connection");
}

Ssh::~Ssh() {
  try {
    std::vector<std::string> end = arguments();
    end.insert(end.end() - 1, {"-O", "exit"});
    const support::Descriptor nothing = memory_file(), said = memory_file();
    run_program(end, {nothing.get(), said.get(), said.get()});
  } catch (const std::exception&) {
    // The connection ends by itself, a minute after its last command.
  }
}

std::vector<std::string> Ssh::arguments() const {
  std::vector<std::string> all = {"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ControlMaster=auto"};
  all.insert(all.end(), {"-o", "ControlPersist=60", "-o", "ControlPath=" + (folder_ / "%C")});
  for (const std::string& option : options_) all.insert(all.end(), {"-o", option});
  all.insert(all.end(), {"-T", host_});
  return all;
}

void Ssh::refuse(const std::string& why) const {
  throw Error(Diagnostic{ErrorKind::kRpc,
                         host_ + " " + why,
                         {},
                         {"no password is asked for: ssh -o BatchMode=yes " + host_ + " true must work, by a key"}});
}

Ssh::Done Ssh::run(const std::string& command, std::string_view input) {
  std::vector<std::string> all = arguments();
  all.push_back(command);
  const support::Descriptor in = memory_file(input), out = memory_file(), err = memory_file();
  const int code = run_program(all, {in.get(), out.get(), err.get()});
  Done done{code, content_of(out), trimmed(content_of(err))};
  if (code == kNoConnection) refuse("cannot be reached by ssh: " + done.err);
  if (code == 127 && done.err.empty()) refuse("cannot be reached: ssh is not installed here (Debian: openssh-client)");
  return done;
}

int Ssh::show(const std::string& command) {
  std::vector<std::string> all = arguments();
  all.push_back(command);
  const support::Descriptor nothing = memory_file();
  return run_program(all, {nothing.get(), STDOUT_FILENO, STDERR_FILENO});
}

}  // namespace tw::tools
