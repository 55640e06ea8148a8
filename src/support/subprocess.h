// The one way to start a process: exec'd, in a process group of its own, gone when we are gone.
//
// The child has /dev/null as stdin and stdout, a bounded file in memory as stderr, one end of a socket pair as
// kChannel, and no other descriptor of ours. The kernel kills it when this process dies, however it dies: the
// parent-death signal follows the thread that starts it, so all children are started by one thread that lives as long
// as the process. They may use the cores that it may, which are those of the thread that starts the first of them.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "src/support/descriptor.h"

namespace tw::support {

struct Command {
  std::string path;
  std::vector<std::string> args;     // without argv[0]
  uint64_t address_space_bytes = 0;  // limits of the child; 0: none
  uint64_t file_bytes = 0;
  bool operator==(const Command&) const = default;
};

struct ExitStatus {
  bool known = false;  // false: somebody else has taken it (SIGCHLD ignored)
  int code = 0;        // when signal is 0
  int signal = 0;      // that ended it
  bool ours = false;   // the signal came from kill() or terminate()
};
std::string to_string(const ExitStatus&);  // "exit code 3", "SIGSEGV (Segmentation fault)"

// For a thread that will keep off some cores which children may use: from now on they have those that it has now.
void begin_starting_processes();

// Descriptor of the socket in the child.
constexpr int kChannel = 3;

// Movable nowhere; the destructor kills the whole group and reaps the child. kill may be called from any thread. In a
// process that is forked meanwhile its copy does nothing.
class Subprocess {
 public:
  explicit Subprocess(const Command&);  // throws std::system_error when it cannot be started
  ~Subprocess();
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  int channel() const { return channel_.get(); }
  pid_t pid() const { return pid_; }
  void kill();
  // SIGTERM to the group, SIGKILL after `grace_s`.
  void terminate(double grace_s);
  // Waits for the child to end; one that has closed the channel but lives on is killed after `patience_s`.
  ExitStatus wait(double patience_s);
  // The end of what it wrote to stderr.
  std::string error_text() const;

 private:
  void signal_group(int signal);
  bool reap(double patience_s);
  bool is_ours() const;

  const pid_t creator_ = getpid();
  std::mutex mutex_;  // guards pid_'s validity: no signal after it was reaped
  pid_t pid_ = -1;
  Descriptor channel_, errors_;
  bool reaped_ = false, signalled_ = false;
  ExitStatus status_;
};

}  // namespace tw::support
