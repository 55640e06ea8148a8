// The names that a shared object defines, and for which machine it is.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tw::runtime {

// Names in the dynamic symbol table of a 64-bit ELF file, read from the file without loading it; empty for a file of
// another kind. Every offset is checked: the file may be anything.
std::vector<std::string> defined_symbols(const std::string& path);

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "Tensorwright runs on x86-64 and AArch64; for other machines it makes C: target = \"c\""
#endif

std::string machine_name(uint16_t machine);  // of ELF's number for it

// ELF's number for the machine that a file is for; nothing for a file of another kind.
std::optional<uint16_t> machine_of(const std::string& path);

}  // namespace tw::runtime
