#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "src/support/subprocess.h"

namespace tw::support {
namespace {

Command shell(const std::string& script) { return {"/bin/sh", {"-c", script}, 0, 0}; }

// Neither gone nor waiting for somebody to ask how it ended.
bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string id, name, state;
  return stat >> id >> name >> state && state != "Z";
}

TEST(Subprocess, ExitCodesAndSignals) {
  Subprocess code(shell("exit 3"));
  EXPECT_EQ(to_string(code.wait(30)), "exit code 3");
  Subprocess signal(shell("kill -SEGV $$"));
  EXPECT_EQ(to_string(signal.wait(30)), "SIGSEGV (Segmentation fault)");
}

TEST(Subprocess, SpeaksOverItsChannelAndStderr) {
  Subprocess child(shell("read line <&3; echo got $line >&3; echo complaint >&2"));
  ASSERT_EQ(send(child.channel(), "hello\n", 6, 0), 6);
  char text[32] = {};
  EXPECT_EQ(recv(child.channel(), text, sizeof(text), MSG_WAITALL), 10);
  EXPECT_STREQ(text, "got hello\n");
  child.wait(30);
  EXPECT_EQ(child.error_text(), "complaint");
}

int descriptors_of_a_child() {
  Subprocess child(shell("ls /proc/self/fd | wc -l >&3"));
  char text[8] = {};
  return recv(child.channel(), text, sizeof(text) - 1, 0) > 0 ? std::atoi(text) : -1;
}

TEST(Subprocess, HasNoDescriptorOfOurs) {
  const int leak = dup(1);  // without close-on-exec
  const int count = descriptors_of_a_child();
  EXPECT_GT(count, 0);
  EXPECT_LE(count, 5) << "0, 1, 2, 3 and the folder that ls reads";
  close(leak);
}

TEST(Subprocess, IsAGroupOfItsOwnAndDiesWithEverythingInIt) {
  pid_t grandchild = 0;
  {
    Subprocess child(shell("sleep 1000 & echo $! >&3; wait"));
    char text[16] = {};
    ASSERT_GT(recv(child.channel(), text, sizeof(text) - 1, 0), 0);
    grandchild = static_cast<pid_t>(std::atoi(text));
    EXPECT_EQ(getpgid(grandchild), child.pid());
    EXPECT_NE(getpgid(grandchild), getpgid(0));
  }
  for (int i = 0; i < 1000 && alive(grandchild); ++i) usleep(1000);
  EXPECT_FALSE(alive(grandchild));
}

TEST(Subprocess, TerminateComesToSigkill) {
  Subprocess child(shell("trap '' TERM; echo ready >&3; while :; do sleep 0.01; done"));
  char text[8] = {};
  ASSERT_GT(recv(child.channel(), text, sizeof(text) - 1, 0), 0);
  child.terminate(0.05);
  const ExitStatus status = child.wait(30);
  EXPECT_EQ(status.signal, SIGKILL);
  EXPECT_TRUE(status.ours);
}

TEST(Subprocess, LimitsHold) {
  Subprocess child({"/bin/sh", {"-c", "ulimit -v >&3"}, uint64_t{1} << 30, 0});
  char text[16] = {};
  ASSERT_GT(recv(child.channel(), text, sizeof(text) - 1, 0), 0);
  EXPECT_EQ(std::atoi(text), 1 << 20);
}

// What a process that is forked here finds.
int forked(const std::function<int()>& run) {
  const pid_t pid = fork();
  if (pid == 0) _exit(run());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Subprocess, IsNothingToAProcessThatIsForked) {
  auto child = std::make_unique<Subprocess>(shell("sleep 1000"));
  const int code = forked([&] {
    child->kill();
    child.reset();
    return 3;
  });
  EXPECT_EQ(code, 3);
  EXPECT_TRUE(child->wait(0.1).ours) << "it had ended before";
}

// As kernels before 5.9 do, and the filters of some containers.
bool refuse_close_range() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog program{std::size(filter), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Subprocess, HasNoDescriptorOfOursWhereCloseRangeIsNot) {
  constexpr int kMany = 100;  // more than one look at what is listed
  std::vector<Descriptor> leaks;
  for (int i = 0; i < kMany; ++i) leaks.emplace_back(dup(1));
  EXPECT_LE(forked([] { return refuse_close_range() ? descriptors_of_a_child() : 0; }), 5);
}

std::string cores_of_a_child() {
  Subprocess child(shell("grep Cpus_allowed: /proc/self/status >&3"));
  std::string text(256, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, recv(child.channel(), text.data(), text.size(), 0))));
  return text;
}

bool stay_on_one_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  return sched_setaffinity(0, sizeof one, &one) == 0;
}

// In processes of their own, in which none has been started yet.
TEST(Subprocess, HasTheCoresOfWhoSaidSoBefore) {
  const std::string all = cores_of_a_child();
  EXPECT_NE(all, "");
  EXPECT_EQ(forked([&] { return stay_on_one_core() && cores_of_a_child() != all; }),
            std::thread::hardware_concurrency() > 1);
  EXPECT_TRUE(forked([&] {
    begin_starting_processes();
    return stay_on_one_core() && cores_of_a_child() == all;
  }));
}

// Without them the child would hear nothing, and seem to have ended by itself.
TEST(Subprocess, NoDescriptorsLeft) {
  const auto said_with = [](rlim_t most) -> std::string {
    rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{most, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    std::string said;
    try {
      Subprocess child(shell("exit 3"));
      said = to_string(child.wait(30));
    } catch (const std::system_error& e) {
      setrlimit(RLIMIT_NOFILE, &before);  // sanitizers look by way of a pipe at what a call is a member's of
      said = e.code() == std::errc::too_many_files_open ? "too few" : e.what();
    }
    setrlimit(RLIMIT_NOFILE, &before);
    return said;
  };
  bool enough = false;
  for (rlim_t most = 4; most < 40; ++most) {
    const std::string said = said_with(most);
    enough = enough || said == "exit code 3";
    EXPECT_EQ(said, enough ? "exit code 3" : "too few") << most;
  }
  EXPECT_TRUE(enough);
}

TEST(Subprocess, AProgramThatIsNotThere) {
  try {
    Subprocess child({"/nowhere/program", {}, 0, 0});
    FAIL() << "nothing was thrown";
  } catch (const std::system_error& e) {
    EXPECT_NE(std::string(e.what()).find("cannot start /nowhere/program"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tw::support
