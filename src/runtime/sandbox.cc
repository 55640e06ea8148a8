#include "src/runtime/sandbox.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>
#include <vector>

namespace tw::runtime {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr unsigned kForbidden[] = {
    SYS_clone, SYS_clone3, SYS_execve, SYS_execveat, SYS_kill, SYS_setsid, SYS_setpgid, SYS_ptrace,
#ifdef SYS_fork
    SYS_fork,  SYS_vfork,
#endif
};

sock_filter load(unsigned offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
sock_filter give(unsigned verdict) { return BPF_STMT(BPF_RET | BPF_K, verdict); }

std::vector<sock_filter> program() {
  constexpr unsigned char kCount = std::size(kForbidden);
  std::vector<sock_filter> code = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 0, kCount + 2),  // calls of another architecture: to the end
      load(offsetof(seccomp_data, nr)),
  };
  for (unsigned char i = 0; i < kCount; ++i)
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kForbidden[i], static_cast<unsigned char>(kCount - i), 0));
  code.push_back(give(SECCOMP_RET_ALLOW));
  code.push_back(give(SECCOMP_RET_KILL_PROCESS));
  return code;
}

}  // namespace

bool forbid_new_processes() {
  std::vector<sock_filter> code = program();
  const sock_fprog filter{static_cast<unsigned short>(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

bool can_forbid_new_processes() {
  const unsigned verdict = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &verdict) == 0;
}

}  // namespace tw::runtime
