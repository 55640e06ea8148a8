#include "tests/faults/attacks.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "src/support/subprocess.h"

namespace tw::test {
namespace {

constexpr size_t kPage = 4096;
const pid_t kParent = getppid();  // a question that some sandboxes forbid

bool reads(const std::string& path) {
  char byte = 0;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  return file >= 0 && read(file, &byte, 1) == 1;
}

bool reads_passwords(const std::string&) { return reads("/etc/passwd"); }
bool opens_its_memory(const std::string&) { return open("/proc/self/mem", O_RDWR | O_CLOEXEC) >= 0; }

bool connects(const std::string& port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::atoi(port.c_str())));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

bool opens_a_raw_socket(const std::string&) { return socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP) >= 0; }

// On the channel: a worker that measures is asked for nothing more.
bool listens(const std::string&) {
  msghdr message = {};
  return recvmsg(support::kChannel, &message, MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

bool forks(const std::string&) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  return child > 0 && waitpid(child, nullptr, 0) == child;
}

bool starts_a_thread(const std::string&) {
  pthread_t thread;
  return pthread_create(
             &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) == 0 &&
         pthread_join(thread, nullptr) == 0;
}

// Those that run a program end as it does, with exit code 0.
bool runs_a_program(const std::string&) { return execl("/bin/true", "true", nullptr) == 0; }

bool runs_memory(const std::string&) {
  constexpr char kScript[] = "#!/bin/true\n";
  const int file = memfd_create("script", 0);
  if (write(file, kScript, sizeof(kScript) - 1) < 0) return false;
  char name[] = "script";
  char* const arguments[] = {name, nullptr};
  return syscall(SYS_execveat, file, "", arguments, arguments + 1, AT_EMPTY_PATH) == 0;
}

bool signals_its_parent(const std::string&) { return kill(kParent, SIGURG) == 0; }
bool signals_a_thread_of_its_parent(const std::string&) { return syscall(SYS_tgkill, kParent, kParent, SIGURG) == 0; }
bool traces_its_parent(const std::string&) { return ptrace(PTRACE_SEIZE, kParent, nullptr, nullptr) == 0; }

bool writes_its_parents_memory(const std::string& address) {
  int value = 666;
  void* there = nullptr;
  const iovec from{&value, sizeof(value)};
  if (std::sscanf(address.c_str(), "%p", &there) != 1) return false;
  const iovec to{there, sizeof(value)};
  return process_vm_writev(kParent, &from, 1, &to, 1, 0) == static_cast<ssize_t>(sizeof(value));
}

bool maps_code(const std::string&) {
  return mmap(nullptr, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

bool turns_data_into_code(const std::string&) {
  void* const data = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return data != MAP_FAILED && mprotect(data, kPage, PROT_READ | PROT_EXEC) == 0;
}

bool mounts(const std::string& folder) {
  return mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0 && umount2(folder.c_str(), MNT_DETACH) == 0;
}

bool becomes_root(const std::string&) { return setuid(0) == 0; }
bool makes_a_namespace(const std::string&) { return unshare(CLONE_NEWUSER) == 0; }

bool administers(const std::string&) { return unshare(CLONE_NEWUTS) == 0; }

bool holds_many_descriptors(const std::string&) {
  constexpr int kMany = 64;
  int held = 0;
  while (held < kMany && memfd_create("held", MFD_CLOEXEC) >= 0) ++held;
  return held == kMany;
}

bool eats_memory(const std::string&) {
  constexpr size_t kMuch = size_t{64} << 30;
  return mmap(nullptr, kMuch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

bool can_be_traced(const std::string&) { return prctl(PR_GET_DUMPABLE) != 0; }

bool outlives_its_parent(const std::string&) {
  int signal = 0;
  return prctl(PR_GET_PDEATHSIG, &signal) != 0 || signal != SIGKILL;
}

#if defined(__x86_64__)
bool calls_as_i386(const std::string&) {
  long answer = 20;  // getpid
  asm volatile("int $0x80" : "+a"(answer) : : "memory", "r8", "r9", "r10", "r11");
  return answer == getpid();
}
bool calls_as_x32(const std::string&) { return syscall(0x40000000 | SYS_getpid) == getpid(); }
#endif

const Attack kAttacks[] = {
    {"reads a file", reads},
    {"reads /etc/passwd", reads_passwords},
    {"opens its own memory", opens_its_memory},
    {"connects", connects},
    {"opens a raw socket", opens_a_raw_socket},
    {"listens", listens},
    {"forks", forks},
    {"starts a thread", starts_a_thread},
    {"runs a program", runs_a_program},
    {"runs memory", runs_memory},
    {"signals its parent", signals_its_parent},
    {"signals a thread of its parent", signals_a_thread_of_its_parent},
    {"traces its parent", traces_its_parent},
    {"writes its parent's memory", writes_its_parents_memory},
    {"maps code", maps_code},
    {"turns data into code", turns_data_into_code},
    {"mounts", mounts},
    {"becomes root", becomes_root},
    {"makes a namespace", makes_a_namespace},
    {"administers", administers},
    {"holds many descriptors", holds_many_descriptors},
    {"eats memory", eats_memory},
    {"can be traced", can_be_traced},
    {"outlives its parent", outlives_its_parent},
#if defined(__x86_64__)
    {"calls as i386", calls_as_i386},
    {"calls as x32", calls_as_x32},
#endif
};

}  // namespace

std::span<const Attack> attacks() { return kAttacks; }

const Attack* find_attack(std::string_view name) {
  const auto* const found = std::ranges::find(kAttacks, name, &Attack::name);
  return found == std::end(kAttacks) ? nullptr : found;
}

}  // namespace tw::test
