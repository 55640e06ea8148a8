#include "src/runtime/confinement.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/runtime/frame.h"
#include "src/runtime/timing.h"
#include "src/support/descriptor.h"
#include "tensorwright/error.h"

namespace tw::runtime {
namespace {

constexpr uid_t kNobody = 65534;
constexpr rlim_t kDescriptors = 16;
constexpr double kProbeS = 10;

std::string reason() {
  if (errno == ENOSYS || errno == EINVAL) return "this kernel does not have it";
  return errno == EOPNOTSUPP ? "this kernel has it switched off" : std::strerror(errno);
}

std::string unless(bool done) { return done ? "" : reason(); }

// New credentials clear the signal that comes when the parent dies; it may have died meanwhile.
class DeathWithParent {
 public:
  DeathWithParent() { prctl(PR_GET_PDEATHSIG, &signal_); }
  DeathWithParent(const DeathWithParent&) = delete;
  DeathWithParent& operator=(const DeathWithParent&) = delete;
  ~DeathWithParent() {
    prctl(PR_SET_PDEATHSIG, signal_);
    if (signal_ != 0 && getppid() != parent_) raise(signal_);
  }

 private:
  const pid_t parent_ = getppid();
  int signal_ = 0;
};

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {};
};

bool may_administer() {
  Capabilities own;
  return syscall(SYS_capget, &own.header, own.sets) == 0 && (own.sets[0].effective & 1u << CAP_SYS_ADMIN);
}

// Of the namespaces that this process has made too.
std::string give_up_capabilities() {
  Capabilities none;
  return unless(syscall(SYS_capset, &none.header, none.sets) == 0);
}

std::string become_nobody() {
  if (getuid() != 0) return "not started as root, stays user " + std::to_string(getuid());
  const bool done = setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
                    setresuid(kNobody, kNobody, kNobody) == 0;
  return done ? "" : std::strerror(errno);
}

// On a folder that every system has; nobody else sees it.
bool empty_root() {
  const char* const folder = "/proc";
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
         chroot(folder) == 0 && chdir("/") == 0;
}

void leave_namespaces(std::vector<Layer>& layers) {
  layers.push_back({"network", unless(unshare(CLONE_NEWNET) == 0)});
  layers.push_back({"ipc", unless(unshare(CLONE_NEWIPC) == 0)});
  layers.push_back({"uts", unless(unshare(CLONE_NEWUTS) == 0)});
  layers.push_back({"mounts", unless(unshare(CLONE_NEWNS) == 0 && empty_root())});
}

// Who may not leave namespaces may do so in a user namespace of its own, where systems allow that. There root could not
// become nobody, and becomes it before.
void change_identity(std::vector<Layer>& layers) {
  const DeathWithParent death_with_parent;
  const bool may = may_administer();
  if (may) leave_namespaces(layers);
  std::string uid = become_nobody();
  if (!may) unshare(CLONE_NEWUSER);
  if (!may) leave_namespaces(layers);
  const std::string capabilities = give_up_capabilities();
  layers.push_back({"uid", uid.empty() ? capabilities : uid});
}

// By Landlock's own numbers: headers know only the versions of their time. Older kernels want zeros for the rest.
struct Rights {
  uint64_t files = 0, network = 0, scopes = 0;
};

// All that a version of it can take away.
Rights rights_of(long version) {
  const int files = 13 + (version >= 2) + (version >= 3) + (version >= 5);
  return {(uint64_t{1} << files) - 1, version >= 4 ? uint64_t{3} : 0, version >= 6 ? uint64_t{3} : 0};
}

std::string take_away_files() {
  constexpr long kCreateRuleset = 444, kRestrictSelf = 446;
  constexpr unsigned kAskVersion = 1;
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  if (version < 0) return reason();
  const Rights rights = rights_of(version);
  const support::Descriptor ruleset(static_cast<int>(syscall(kCreateRuleset, &rights, sizeof(rights), 0)));
  return unless(ruleset.get() >= 0 && syscall(kRestrictSelf, ruleset.get(), 0) == 0);
}

bool limit(decltype(RLIMIT_CORE) resource, rlim_t most) {
  const rlimit both{most, most};
  return setrlimit(resource, &both) == 0;
}

FrameWriter written(const std::vector<Layer>& layers) {
  FrameWriter w;
  w.number(static_cast<int64_t>(layers.size()));
  for (const Layer& layer : layers) w.text(layer.name).text(layer.why_not);
  return w;
}

std::vector<Layer> read_layers(const std::string& bytes) {
  FrameReader r(bytes);
  std::vector<Layer> layers;
  for (int64_t left = r.number(); left > 0 && r.ok(); --left) {
    std::string name = r.text();
    layers.push_back({std::move(name), r.text()});
  }
  return layers;
}

[[noreturn]] void probe(int channel) {
  std::vector<Layer> layers = confine();
  layers.push_back(seal(Talk::kTells));
  send_frame(channel, written(layers).bytes());
  _exit(0);
}

[[noreturn]] void fail(const std::string& why) {
  throw Error(Diagnostic{ErrorKind::kTune, "measuring: what the sandbox can do here: " + why, {}, {}});
}

}  // namespace

std::vector<Layer> confine() {
  std::vector<Layer> layers;
  change_identity(layers);
  layers.push_back(
      {"privileges", unless(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0)});
  layers.push_back({"landlock", take_away_files()});
  layers.push_back({"limits", unless(limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, kDescriptors))});
  return layers;
}

Layer seal(Talk talk) {
  limit(RLIMIT_NPROC, 0);  // threads are there; should seccomp not be, this stops who is not root
  return {"seccomp", unless(forbid_unneeded_calls(talk))};
}

std::vector<Layer> probe_confinement() {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) fail(std::strerror(errno));
  const support::Descriptor ours(pair[0]);
  support::Descriptor theirs(pair[1]);
  const pid_t child = fork();
  if (child < 0) fail(std::strerror(errno));
  if (child == 0) probe(theirs.get());
  theirs = support::Descriptor();
  std::string bytes;
  const Received received = receive_frame(ours.get(), seconds_now() + kProbeS, bytes);
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (received != Received::kFrame) fail("the process that tried was lost");
  return read_layers(bytes);
}

std::string lacking(std::span<const Layer> layers, std::span<const std::string> required) {
  for (const std::string& name : required) {
    const auto layer = std::ranges::find(layers, name, &Layer::name);
    if (layer == layers.end()) return name + ": there is no such layer";
    if (!layer->holds()) return name + ": " + layer->why_not;
  }
  return {};
}

}  // namespace tw::runtime
