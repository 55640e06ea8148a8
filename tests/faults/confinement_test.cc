// Hostile and honest candidates in a board's worker, which is this program, started again by the runner.
//
// An attack is shown to succeed in a process without a sandbox first: where it does not, this machine cannot tell.

#include "src/runtime/confinement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "src/runtime/arguments.h"
#include "src/runtime/local_runner.h"
#include "src/runtime/run_worker.h"
#include "src/runtime/sandbox.h"
#include "src/runtime/timing.h"
#include "src/support/subprocess.h"
#include "tests/faults/attacks.h"
#include "tests/faults/own_code.h"
#include "tests/faults/processes.h"
#include "tests/unit/folder.h"

namespace tw::runtime {
namespace {

using test::kElements;
using test::kRefused;
using test::kThreads;
using test::OwnCode;

constexpr uid_t kSomeUser = 12345;

// -------------------------------------------------------------------------------------------------- in the worker

int serve(const std::string& what, const std::string& argument, std::vector<std::string> required) {
  const auto device = [&](const RunRequest& r) { return std::make_unique<OwnCode>(r.threads, what, argument); };
  return run_worker(support::kChannel, device, {.confined = true, .required = std::move(required)});
}

// What a system may lack: the call fails as it does there.
struct Lack {
  std::string_view of;
  unsigned call;
  int error;
  std::string_view reported;  // layers that do not hold then
};
constexpr Lack kLacks[] = {
    {"landlock", 444, ENOSYS, "landlock: this kernel does not have it\n"},
    {"namespaces", SYS_unshare, EPERM,
     "network: Operation not permitted\nipc: Operation not permitted\nuts: Operation not permitted\n"
     "mounts: Operation not permitted\n"},
    {"seccomp", SYS_seccomp, ENOSYS, "seccomp: this kernel does not have it\n"},
};
constexpr const char* kLackVariable = "TW_TEST_LACKS";

void lack_what_is_asked() {
  const char* const asked = std::getenv(kLackVariable);
  const auto* const lack = std::ranges::find(kLacks, asked ? asked : "", &Lack::of);
  if (lack == std::end(kLacks)) return;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, lack->call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(lack->error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(code), code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

// As a user or as who started it.
bool become(const std::string& how) {
  if (!how.starts_with("user")) return true;
  return setresuid(kSomeUser, kSomeUser, kSomeUser) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0;
}

// What does not hold, to stderr.
int report(const std::string& how) {
  if (!become(how)) return kRefused;
  std::vector<Layer> layers = confine();
  layers.push_back(seal(Talk::kTells));
  for (const Layer& layer : layers)
    if (!layer.holds()) std::fprintf(stderr, "%s: %s\n", layer.name.c_str(), layer.why_not.c_str());
  _exit(0);
}

// Confined or not. Exit code 0: it succeeded.
int attack(const std::string& how, const std::string& what, const std::string& argument) {
  if (!become(how)) return kRefused;
  if (how.ends_with("confined")) confine();
  return test::find_attack(what)->succeeds(argument) ? 0 : kRefused;
}

// ---------------------------------------------------------------------------------------------------- the other side

const std::vector<std::string> kAllLayers = {"privileges", "uid",      "network", "mounts", "ipc",
                                             "uts",        "landlock", "limits",  "seccomp"};

const std::vector<Layer>& layers_here() {
  static const std::vector<Layer> layers = probe_confinement();
  return layers;
}

long landlock_version() { return syscall(444, nullptr, 0, 1); }

std::string lacking_here(const std::string& layer) { return lacking(layers_here(), std::vector{layer}); }

class Confinement : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "sanitizers make system calls of their own";
#endif
    std::ofstream(secret_) << "secret";
    chmod(secret_.c_str(), 0600);
    listen_on_loopback();
    request_.kernel = "k";
    request_.args = {{"x", ir::Type::f(32), {kElements}, {}, false}, {"y", ir::Type::f(32), {kElements}, {}, true}};
    std::vector<float> x(kElements), y(kElements);
    for (int i = 0; i < kElements; ++i) y[i] = 2 * (x[i] = static_cast<float>(i) + 0.5f);
    request_.inputs = arguments_blob(request_.args, {x.data(), y.data()});
    request_.reference = request_.inputs;
    request_.rtol = request_.atol = {0, 0};
    request_.threads = kThreads;
    request_.timeout_s = 20;
  }
  void TearDown() override {
    unsetenv(kLackVariable);
    EXPECT_EQ(memory_, 1) << "a candidate wrote into this process";
  }

  void listen_on_loopback() {
    listener_ = support::Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    ASSERT_EQ(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    ASSERT_EQ(listen(listener_.get(), 64), 0);
    ASSERT_EQ(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
  }

  std::string argument_of(std::string_view attack) const {
    if (attack == "reads a file") return secret_;
    if (attack == "connects") return std::to_string(port_);
    if (attack == "mounts") return folder_ / "";
    char address[32];
    std::snprintf(address, sizeof(address), "%p", const_cast<int*>(&memory_));
    return address;
  }

  support::ExitStatus attack(const std::string& how, const std::string& what) {
    support::Subprocess process({kSelf, {"--attack", how, what, argument_of(what)}});
    const support::ExitStatus status = process.wait(20);
    if (how.ends_with("bare")) memory_ = 1;
    return status;
  }
  bool succeeds(const std::string& how, const std::string& what) {
    const support::ExitStatus status = attack(how, what);
    return status.signal == 0 && status.code == 0;
  }

  std::string report(const std::string& how) {
    support::Subprocess process({kSelf, {"--report", how}});
    process.wait(20);
    return process.error_text() + "\n";
  }

  RunResult run(const std::string& what, const std::string& required = "") {
    LocalRunner runner({kSelf, {"--serve", what, argument_of(what), required}, true});
    return runner.run(request_);
  }
  void expect(const RunResult& result, RunStatus status, std::string_view detail) {
    EXPECT_EQ(to_string(result.status), to_string(status)) << result.detail;
    EXPECT_NE(result.detail.find(detail), std::string::npos) << result.detail;
  }

  const char* const kSelf = "/proc/self/exe";
  test::Folder folder_;
  const std::string secret_ = folder_ / "secret";
  support::Descriptor listener_;
  int port_ = 0;
  volatile int memory_ = 1;  // that candidates try to write
  RunRequest request_;
};

#define SKIP_WITHOUT(layer) \
  if (const std::string why = lacking_here(layer); !why.empty()) GTEST_SKIP() << why
#define SKIP_WITHOUT_ANY \
  if (const std::string why = lacking(layers_here(), kAllLayers); !why.empty()) GTEST_SKIP() << why

TEST_F(Confinement, WhatHoldsHere) {
  std::set<std::string> names;
  for (const auto& [name, why] : layers_here()) {
    std::printf("%-10s %s\n", name.c_str(), why.empty() ? "holds" : why.c_str());
    names.insert(name);
  }
  EXPECT_EQ(names, std::set<std::string>(kAllLayers.begin(), kAllLayers.end()));
  EXPECT_EQ(lacking_here("privileges"), "");
  EXPECT_EQ(lacking_here("seccomp").empty(), can_forbid_calls());
  EXPECT_EQ(lacking_here("landlock").empty(), landlock_version() > 0);
  EXPECT_EQ(lacking_here("lunchlock"), "lunchlock: there is no such layer");
}

// ------------------------------------------------------------------------------------------------- hostile candidates

struct Case {
  const char* attack;
  std::string_view detail;
};

class HostileCandidate : public Confinement, public testing::WithParamInterface<Case> {};

TEST_P(HostileCandidate, ComesToNothing) {
  const auto& [what, detail] = GetParam();
  SKIP_WITHOUT("seccomp");
  if (!succeeds("bare", what)) std::printf("without a sandbox this system does not allow it either\n");
  expect(run(what), RunStatus::kCrashed, detail);
}

constexpr std::string_view kKilled = kTriedUnneededCall, kGotAnError = "returned code 5";

INSTANTIATE_TEST_SUITE_P(
    Attacks, HostileCandidate,
    testing::Values(Case{"reads a file", kGotAnError}, Case{"reads /etc/passwd", kGotAnError},
                    Case{"opens its own memory", kGotAnError}, Case{"connects", kKilled},
                    Case{"opens a raw socket", kKilled}, Case{"listens", kKilled}, Case{"forks", kKilled},
                    Case{"starts a thread", kKilled}, Case{"runs a program", kKilled}, Case{"runs memory", kKilled},
                    Case{"signals its parent", kKilled}, Case{"signals a thread of its parent", kKilled},
                    Case{"traces its parent", kKilled}, Case{"writes its parent's memory", kKilled},
                    Case{"maps code", kKilled}, Case{"turns data into code", kKilled}, Case{"mounts", kKilled},
                    Case{"becomes root", kKilled}, Case{"makes a namespace", kKilled}, Case{"administers", kKilled},
                    Case{"holds many descriptors", kGotAnError}, Case{"eats memory", kGotAnError}
#if defined(__x86_64__)
                    ,
                    Case{"calls as i386", kKilled}, Case{"calls as x32", kKilled}
#endif
                    ));

TEST_F(Confinement, SigtermIgnored) {
  request_.timeout_s = 0.3;
  expect(run("spins"), RunStatus::kTimeout, "did not end within 0.3 s");
}

TEST_F(Confinement, AResultIsKeptWhereTheNextWorkerCannotStart) {
  const std::string worker = folder_ / "worker";
  std::filesystem::create_symlink(std::filesystem::read_symlink(kSelf), worker);
  request_.timeout_s = 0.3;
  const std::jthread removes([&] {
    while (test::workers_of(getpid(), "worker").empty()) std::this_thread::yield();
    std::filesystem::remove(worker);
  });
  LocalRunner runner({worker, {"--serve", "spins", "", ""}, true});
  expect(runner.run(request_), RunStatus::kTimeout, "did not end within 0.3 s");
}

TEST_F(Confinement, NonsenseOnTheChannelIsNoResult) {
  expect(run("talks"), RunStatus::kCrashed, "corrupted the process that ran it");
}

// -------------------------------------------------------------------------------------------------- honest candidates

TEST_F(Confinement, HonestCandidatesAreTimed) {
  for (const char* what : {"", "allocates", "uses all threads", "throws", "sleeps", "waits"}) {
    const double start = seconds_now();
    const RunResult result = run(what);
    expect(result, RunStatus::kOk, "");
    EXPECT_GT(result.seconds, 0) << what;
    std::printf("%-18s %.3g s a run, %d runs, %.0f ms in all\n", what, result.seconds, result.runs,
                1e3 * (seconds_now() - start));
  }
}

TEST_F(Confinement, OutputsComeBack) {
  const Blob expected = *request_.reference;
  request_.reference.reset();
  const RunResult result = run("");
  expect(result, RunStatus::kOk, "");
  ASSERT_TRUE(result.outputs);
  EXPECT_TRUE(result.outputs->bytes() == expected.bytes());
}

TEST_F(Confinement, EndsOfAnyKindAreTold) {
  expect(run("aborts"), RunStatus::kCrashed, "SIGABRT");
  expect(run("frees"), RunStatus::kCrashed, "SIGABRT (Aborted): free(): invalid");
  expect(run("crashes"), RunStatus::kCrashed, "SIGSEGV");
  expect(run("exits"), RunStatus::kCrashed, "ended without a result, exit code 0");
}

TEST_F(Confinement, NothingRunsWithoutALayerThatIsRequired) {
  expect(run("", "lunchlock"), RunStatus::kDeviceLost, "the sandbox lacks lunchlock: there is no such layer");
  SKIP_WITHOUT("seccomp");
  expect(run("", "seccomp"), RunStatus::kOk, "");
}

// ---------------------------------------------------------------------------------------- the layers without seccomp

struct Refusal {
  const char* attack;
  const char* layer;  // that refuses it by itself
};

class LayersAlone : public Confinement, public testing::WithParamInterface<Refusal> {};

TEST_P(LayersAlone, Refuse) {
  const auto& [what, layer] = GetParam();
  SKIP_WITHOUT(layer);
  if (!succeeds("bare", what)) GTEST_SKIP() << "without a sandbox this system does not allow it either";
  EXPECT_FALSE(succeeds("confined", what));
  if (getuid() == 0 && succeeds("user bare", what)) {
    EXPECT_FALSE(succeeds("user confined", what)) << "by a user";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Attacks, LayersAlone,
    testing::Values(Refusal{"reads a file", "landlock"}, Refusal{"reads /etc/passwd", "landlock"},
                    Refusal{"reads /etc/passwd", "mounts"}, Refusal{"opens its own memory", "landlock"},
                    Refusal{"runs a program", "landlock"}, Refusal{"runs memory", "landlock"},
                    Refusal{"connects", "network"}, Refusal{"opens a raw socket", "network"},
                    Refusal{"signals its parent", "uid"}, Refusal{"signals a thread of its parent", "uid"},
                    Refusal{"traces its parent", "network"}, Refusal{"writes its parent's memory", "network"},
                    Refusal{"mounts", "mounts"}, Refusal{"becomes root", "uid"}));

TEST_F(Confinement, WhatASystemLacksIsReported) {
  SKIP_WITHOUT_ANY;
  for (const Lack& lack : kLacks) {
    setenv(kLackVariable, std::string(lack.of).c_str(), 1);
    EXPECT_EQ(report("root"), lack.reported);
  }
}

TEST_F(Confinement, AUserHasAllLayersButOne) {
  SKIP_WITHOUT_ANY;
  if (!succeeds("user bare", "makes a namespace")) GTEST_SKIP() << "users may not make namespaces here";
  EXPECT_EQ(report("user"), "uid: not started as root, stays user 12345\n");
}

TEST_F(Confinement, WithoutSeccompACandidateRunsUnlessItIsRequired) {
  setenv(kLackVariable, "seccomp", 1);
  expect(run(""), RunStatus::kOk, "");
  expect(run("", "seccomp"), RunStatus::kDeviceLost, "the sandbox lacks seccomp: this kernel does not have it");
}

TEST_F(Confinement, OneLayerCoversForAnother) {
  SKIP_WITHOUT_ANY;
  for (const std::string lack : {"landlock", "namespaces"}) {
    setenv(kLackVariable, lack.c_str(), 1);
    for (const char* what : {"reads a file", "reads /etc/passwd", "opens its own memory", "runs a program",
                             "runs memory", "connects", "signals its parent", "writes its parent's memory"}) {
      if (what == std::string_view("connects") && lack == "namespaces" && landlock_version() < 4) continue;
      EXPECT_FALSE(succeeds("confined", what)) << what << " without " << lack;
    }
  }
}

TEST_F(Confinement, DiesWithItsParentAndHasNoPowers) {
  for (const char* lack : {"", "namespaces"}) {
    setenv(kLackVariable, lack, 1);
    for (const std::string how : {"confined", "user confined"}) {
      if (getuid() != 0 && how.starts_with("user")) continue;
      for (const char* what : {"outlives its parent", "can be traced", "administers"})
        EXPECT_FALSE(succeeds(how, what)) << how << " " << what;
    }
  }
}

}  // namespace
}  // namespace tw::runtime

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty()) tw::runtime::lack_what_is_asked();
  if (words.size() == 2 && words[0] == "--report") return tw::runtime::report(words[1]);
  if (words.size() == 4 && words[0] == "--serve") {
    const std::vector<std::string> required(words[3].empty() ? 0 : 1, words[3]);
    return tw::runtime::serve(words[1], words[2], required);
  }
  if (words.size() == 4 && words[0] == "--attack") return tw::runtime::attack(words[1], words[2], words[3]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
