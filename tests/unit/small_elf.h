// The smallest shared object that has one of everything that a kernel's has, written by hand: a function that returns
// 42, a table of addresses that is read-only once it is relocated, and a variable. Tests spoil a field and see what
// becomes of it; no compiler is needed, so that they run on any CPU of ours.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tw::test {

#if defined(__x86_64__)
constexpr Elf64_Half kThisMachine = EM_X86_64, kOtherMachine = EM_AARCH64;
constexpr uint32_t kRelative = R_X86_64_RELATIVE, kWord = R_X86_64_64, kGlobal = R_X86_64_GLOB_DAT;
constexpr uint32_t kIndirect = R_X86_64_IRELATIVE, kThreadLocal = R_X86_64_TPOFF64;
constexpr std::string_view kReturn42("\xb8\x2a\x00\x00\x00\xc3", 6);  // mov eax, 42; ret
#elif defined(__aarch64__)
constexpr Elf64_Half kThisMachine = EM_AARCH64, kOtherMachine = EM_X86_64;
constexpr uint32_t kRelative = R_AARCH64_RELATIVE, kWord = R_AARCH64_ABS64, kGlobal = R_AARCH64_GLOB_DAT;
constexpr uint32_t kIndirect = R_AARCH64_IRELATIVE, kThreadLocal = R_AARCH64_TLS_TPREL;
constexpr std::string_view kReturn42("\x40\x05\x80\x52\xc0\x03\x5f\xd6", 8);  // mov w0, #42; ret
#endif

struct SmallElf {
  enum Header { kMetadata, kCode, kRelocated, kData, kDynamic, kRelro, kHeaders };
  enum Tag { kStrings, kStringBytes, kSymbolTable, kHash, kRela, kRelaBytes, kRelaRow, kSpare, kEnd, kTags };
  enum Symbol { kNone, kFunction, kTable, kVariable, kSymbols };
  static constexpr uint64_t kPage = 0x10000;  // the largest of any system
  static constexpr uint64_t kZeros = 0x2000;  // behind the variable

  Elf64_Ehdr header = {};
  Elf64_Phdr headers[kHeaders] = {};
  uint32_t gnu_hash[10] = {1, 1, 1, 0, ~0u, ~0u, 1, 2, 4, 7};  // one filter, one bucket, one chain
  uint32_t sysv_hash[2] = {1, kSymbols};                       // what is read of it
  Elf64_Sym symbols[kSymbols] = {};
  char strings[32] = "\0function\0table\0variable";
  Elf64_Rela relocations[3] = {};
  char code[8] = {};
  uint64_t table[3] = {};  // the variable, the function, the table itself
  Elf64_Dyn dynamic[kTags] = {};
  uint64_t variable = 7;

  SmallElf();
  std::string bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }
};

inline constexpr uint64_t kCodeAt = SmallElf::kPage + offsetof(SmallElf, code);
inline constexpr uint64_t kTableAt = 2 * SmallElf::kPage + offsetof(SmallElf, table);
inline constexpr uint64_t kDynamicAt = 2 * SmallElf::kPage + offsetof(SmallElf, dynamic);
inline constexpr uint64_t kVariableAt = 3 * SmallElf::kPage + offsetof(SmallElf, variable);

inline SmallElf::SmallElf() {
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = kThisMachine;
  header.e_version = EV_CURRENT;
  header.e_phoff = offsetof(SmallElf, headers);
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kHeaders;

  const auto part = [](uint32_t type, uint32_t flags, uint64_t address, uint64_t end) {
    const uint64_t offset = address % kPage, bytes = end - offset;
    return Elf64_Phdr{type, flags, offset, address, address, bytes, bytes, type == PT_LOAD ? kPage : 8};
  };
  headers[kMetadata] = part(PT_LOAD, PF_R, 0, offsetof(SmallElf, code));
  headers[kCode] = part(PT_LOAD, PF_R | PF_X, kCodeAt, offsetof(SmallElf, table));
  headers[kRelocated] = part(PT_LOAD, PF_R | PF_W, kTableAt, offsetof(SmallElf, variable));
  headers[kData] = part(PT_LOAD, PF_R | PF_W, kVariableAt, sizeof(SmallElf));
  headers[kData].p_memsz += kZeros;
  headers[kDynamic] = part(PT_DYNAMIC, PF_R, kDynamicAt, offsetof(SmallElf, variable));
  headers[kRelro] = part(PT_GNU_RELRO, PF_R, kTableAt, offsetof(SmallElf, variable));

  const auto symbol = [](uint32_t name, unsigned char type, uint16_t section, uint64_t address, uint64_t bytes) {
    const auto info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type));
    return Elf64_Sym{name, info, STV_DEFAULT, section, address, bytes};
  };
  symbols[kFunction] = symbol(1, STT_FUNC, 1, kCodeAt, kReturn42.size());
  symbols[kTable] = symbol(10, STT_OBJECT, 2, kTableAt, sizeof table);
  symbols[kVariable] = symbol(16, STT_OBJECT, 3, kVariableAt, sizeof variable);

  relocations[0] = {kTableAt, ELF64_R_INFO(uint64_t{kVariable}, kGlobal), 0};
  relocations[1] = {kTableAt + 8, ELF64_R_INFO(uint64_t{kFunction}, kWord), 0};
  relocations[2] = {kTableAt + 16, ELF64_R_INFO(uint64_t{0}, kRelative), kTableAt};

  std::memcpy(code, kReturn42.data(), kReturn42.size());

  dynamic[kStrings] = {DT_STRTAB, {offsetof(SmallElf, strings)}};
  dynamic[kStringBytes] = {DT_STRSZ, {sizeof strings}};
  dynamic[kSymbolTable] = {DT_SYMTAB, {offsetof(SmallElf, symbols)}};
  dynamic[kHash] = {DT_GNU_HASH, {offsetof(SmallElf, gnu_hash)}};
  dynamic[kRela] = {DT_RELA, {offsetof(SmallElf, relocations)}};
  dynamic[kRelaBytes] = {DT_RELASZ, {sizeof relocations}};
  dynamic[kRelaRow] = {DT_RELAENT, {sizeof(Elf64_Rela)}};
  dynamic[kSpare] = {DT_FLAGS, {DF_BIND_NOW}};
}

}  // namespace tw::test
