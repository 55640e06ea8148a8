// A FakeBoard in a process of its own, for tests that link the library: it keeps its network to itself.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace tw::test {

class FakeBoardProcess {
 public:
  FakeBoardProcess(int run_ms, const std::string& hardware) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) throw std::runtime_error("no pipe");
    process_ = fork();
    if (process_ == 0) {
      dup2(to[0], STDIN_FILENO);
      dup2(from[1], STDOUT_FILENO);
      for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
      execl(TW_FAKE_BOARD, TW_FAKE_BOARD, std::to_string(run_ms).c_str(), hardware.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    input_ = to[1];
    for (char c = 0; read(from[0], &c, 1) == 1 && c != '\n';) address_ += c;
    close(from[0]);
    if (address_.empty()) throw std::runtime_error("tw-fake-board does not start");
  }
  ~FakeBoardProcess() {
    close(input_);
    waitpid(process_, nullptr, 0);
  }
  FakeBoardProcess(const FakeBoardProcess&) = delete;
  FakeBoardProcess& operator=(const FakeBoardProcess&) = delete;

  const std::string& address() const { return address_; }

 private:
  pid_t process_ = -1;
  int input_ = -1;
  std::string address_;
};

}  // namespace tw::test
