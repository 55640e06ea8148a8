// LLVM of distributions with glibc 2.36 calls its arc4random, the only function of ours that is so new: with one here
// the library runs where glibc 2.35 is. The names of LLVM's temporary files are made of it.
#include <stdlib.h>
#include <sys/random.h>

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 36)
extern "C" __uint32_t arc4random() noexcept {
  __uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != sizeof number) {  // interrupted by a signal
  }
  return number;
}
#endif
