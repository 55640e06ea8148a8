// What a shared object for this CPU holds, read from its bytes.
//
// The bytes may be anything: every offset, address and count is checked against what they hold, and what is returned
// lies within itself. Taken is what LLVM and the C compilers make of a kernel: code and data that need nothing from
// outside and nothing done but relocation. Whatever else asks something of a loader is refused: libraries, symbols of
// others, PLTs, IFUNC, thread-local storage, initialisers, relocations of read-only memory, memory that is both
// writable and executable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/error.h"

namespace tw::runtime {

struct ElfObject {  // its addresses count from where it will lie
  struct Segment {
    uint64_t begin, end;
    uint64_t alignment;         // a power of two
    int protection;             // of mprotect
    std::string_view contents;  // of the bytes that were read; zeros follow
  };
  struct Pages {
    uint64_t begin, end;
  };
  struct Relocation {
    uint64_t address;  // of a word in a writable segment
    uint64_t value;    // what it becomes, less where the object lies
  };

  uint64_t size;                  // whole pages
  uint64_t alignment;             // a power of two, no smaller than a page
  std::vector<Segment> segments;  // ascending, each in pages of its own
  std::vector<Pages> relro;       // read-only once relocations are done
  std::vector<Relocation> relocations;
  std::map<std::string, uint64_t> symbols;  // defined for others
};

// `page`: bytes of a page of memory, a power of two. The object refers to `bytes`. kBuild says what rule is broken.
Result<ElfObject> read_elf(std::string_view bytes, uint64_t page);

}  // namespace tw::runtime
