#include "src/runtime/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>
#include <vector>

namespace tw::runtime {
namespace {

using Program = std::vector<sock_filter>;

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
// Over the next `others` instructions unless the value is there.
sock_filter unless(unsigned value, unsigned char others) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, others);
}

// Calls of another architecture end the process, and so do those of x32, which is x86-64 with other numbers. The number
// of the call is loaded.
Program begin() {
  constexpr unsigned kX32 = 0x40000000;
  return {load(offsetof(seccomp_data, arch)),
          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
          give(SECCOMP_RET_KILL_PROCESS),
          load(offsetof(seccomp_data, nr)),
          BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1),
          give(SECCOMP_RET_KILL_PROCESS)};
}

void add(Program& program, std::initializer_list<sock_filter> more) { program.insert(program.end(), more); }

// Before Linux 5.16 a filter that does not allow speculation makes loads wait for the stores before them, and kernels
// slower than they will be; before 4.17 it cannot say so.
bool install(Program program) {
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
  const auto with = [&](unsigned long flags) {
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC | flags, &filter) == 0;
  };
  return with(SECCOMP_FILTER_FLAG_SPEC_ALLOW) || with(0);
}

// A verdict on a call, where those bits of one of its arguments have the value.
struct Rule {
  unsigned call;
  unsigned argument = 0, mask = 0, value = 0;
  unsigned verdict = SECCOMP_RET_ALLOW;
};

constexpr unsigned kFutexCommand = static_cast<unsigned>(FUTEX_CMD_MASK);

// The most frequent first. Without priority inheritance, which locks here do not use, and attacks on systems do. What a
// thread does as it begins is among them: the last one may have just been started.
const Rule kNeeded[] = {
    {SYS_futex, 1, kFutexCommand, FUTEX_WAIT},
    {SYS_futex, 1, kFutexCommand, FUTEX_WAKE},
    {SYS_futex, 1, kFutexCommand, FUTEX_WAIT_BITSET},
    {SYS_sched_yield},
    {SYS_clock_gettime},
    {SYS_clock_nanosleep},
    {SYS_nanosleep},
    {SYS_restart_syscall},
    {SYS_getcpu},
    {SYS_sched_getaffinity},
    {SYS_mmap, 2, PROT_EXEC, 0},
    {SYS_mprotect, 2, PROT_EXEC, 0},
    {SYS_mremap},
    {SYS_munmap},
    {SYS_madvise},
    {SYS_brk},
    {SYS_getrandom},
    {SYS_write},
    {SYS_writev},
    {SYS_sendmsg},
    {SYS_memfd_create},
    {SYS_ftruncate},
    {SYS_fcntl, 1, ~0u, F_ADD_SEALS},
    {SYS_close},
    {SYS_getpid},
    {SYS_gettid},
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigreturn},
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_exit},
    {SYS_exit_group},
    // malloc asks /proc whether it may give back what a thread has freed, and takes no for an answer.
    {SYS_openat, 0, 0, 0, SECCOMP_RET_ERRNO | EACCES},
#ifdef SYS_open
    {SYS_open, 0, 0, 0, SECCOMP_RET_ERRNO | EACCES},
#endif
};

const Rule kToListen[] = {
    {SYS_recvmsg},
#ifdef SYS_poll
    {SYS_poll},
#endif
    {SYS_ppoll},
};

// Both architectures are little-endian: the low half of an argument comes first. The kernel reads no more of those that
// rules look at.
void add(Program& program, const Rule& rule) {
  const auto argument = static_cast<unsigned>(offsetof(seccomp_data, args) + sizeof(uint64_t) * rule.argument);
  if (rule.mask == 0) return add(program, {unless(rule.call, 1), give(rule.verdict)});
  add(program, {unless(rule.call, 5), load(argument), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, rule.mask),
                unless(rule.value, 1), give(rule.verdict), load(offsetof(seccomp_data, nr))});
}

}  // namespace

bool forbid_new_processes() {
  Program program = begin();
  for (const unsigned call : kForbidden) add(program, {unless(call, 1), give(SECCOMP_RET_KILL_PROCESS)});
  program.push_back(give(SECCOMP_RET_ALLOW));
  return install(std::move(program));
}

bool forbid_unneeded_calls(Talk talk) {
  Program program = begin();
  for (const Rule& rule : kNeeded) add(program, rule);
  if (talk == Talk::kListens)
    for (const Rule& rule : kToListen) add(program, rule);
  add(program, {SYS_tgkill, 0, ~0u, static_cast<unsigned>(getpid())});  // abort
  program.push_back(give(SECCOMP_RET_KILL_PROCESS));
  return install(std::move(program));
}

bool can_forbid_calls() {
  const unsigned verdict = SECCOMP_RET_KILL_PROCESS;
  return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &verdict) == 0;
}

}  // namespace tw::runtime
