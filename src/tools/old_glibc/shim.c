/* What a program needs that is compiled against a newer glibc than the one that it is linked for (make_stubs.py):
 * functions that the older one does not have, and the way in. x86-64 only. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC visibility push(hidden) /* the library's own of these names stay its own */

/* Since 2.32: whether there is one thread only, which saves atomic operations. */
char __libc_single_threaded = 0;

/* Since 2.32. */
const char* sigdescr_np(int signal) { return strsignal(signal); }
const char* sigabbrev_np(int signal) {
  static const char* const names[] = {"0",      "HUP",  "INT",    "QUIT", "ILL",   "TRAP", "ABRT", "BUS",
                                      "FPE",    "KILL", "USR1",   "SEGV", "USR2",  "PIPE", "ALRM", "TERM",
                                      "STKFLT", "CHLD", "CONT",   "STOP", "TSTP",  "TTIN", "TTOU", "URG",
                                      "XCPU",   "XFSZ", "VTALRM", "PROF", "WINCH", "POLL", "PWR",  "SYS"};
  return signal >= 0 && signal < (int)(sizeof names / sizeof names[0]) ? names[signal] : NULL;
}

/* Since 2.33 functions of the library; they were inline before. The kernel's struct is this one. */
static int status_of(int folder, const char* path, void* out, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}
int stat(const char* path, struct stat* out) { return status_of(AT_FDCWD, path, out, 0); }
int lstat(const char* path, struct stat* out) { return status_of(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); }
int fstat(int file, struct stat* out) { return status_of(file, "", out, AT_EMPTY_PATH); }
int stat64(const char* path, struct stat64* out) { return status_of(AT_FDCWD, path, out, 0); }
int lstat64(const char* path, struct stat64* out) { return status_of(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW); }
int fstat64(int file, struct stat64* out) { return status_of(file, "", out, AT_EMPTY_PATH); }

/* Since 2.35: where the tables are by which exceptions unwind a function. */
struct Wanted {
  const char* address;
  struct dl_find_object* found;
};

static int look_into(struct dl_phdr_info* info, size_t size, void* data) {
  struct Wanted* wanted = data;
  const char* const base = (const char*)info->dlpi_addr;
  const ElfW(Phdr)* tables = NULL;
  int inside = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* part = &info->dlpi_phdr[i];
    const char* begin = base + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) tables = part;
    if (part->p_type != PT_LOAD || wanted->address < begin || wanted->address >= begin + part->p_memsz) continue;
    inside = 1;
    wanted->found->dlfo_map_start = (void*)begin;
    wanted->found->dlfo_map_end = (void*)(begin + part->p_memsz);
  }
  if (!inside || tables == NULL) return 0;
  wanted->found->dlfo_eh_frame = (void*)(base + tables->p_vaddr);
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* found) {
  struct Wanted wanted = {address, found};
  memset(found, 0, sizeof *found);
  return dl_iterate_phdr(look_into, &wanted) == 1 ? 0 : -1;
}

/* Until 2.34 a program brought what runs its constructors along; its first instructions, which are today's, do not. The
 * library of today calls what it is given. */
extern void (*__preinit_array_start[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__preinit_array_end[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__init_array_start[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void (*__init_array_end[])(int, char**, char**) __attribute__((visibility("hidden")));
extern void _init(void);

static void construct(int argc, char** argv, char** environment) {
  for (void (**f)(int, char**, char**) = __preinit_array_start; f != __preinit_array_end; ++f)
    (*f)(argc, argv, environment);
  _init();
  for (void (**f)(int, char**, char**) = __init_array_start; f != __init_array_end; ++f) (*f)(argc, argv, environment);
}

typedef int (*Main)(int, char**, char**);
__attribute__((visibility("default"))) extern int begin(Main, int, char**, void (*)(int, char**, char**),
                                                        void (*)(void), void (*)(void), void*);
__asm__(".symver begin, __libc_start_main@GLIBC_2.2.5");

int __libc_start_main(Main main, int argc, char** argv, void (*init)(int, char**, char**), void (*fini)(void),
                      void (*end)(void), void* stack) {
  (void)init;
  return begin(main, argc, argv, construct, fini, end, stack);
}
