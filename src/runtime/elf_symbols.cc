#include "src/runtime/elf_symbols.h"

#include <cstddef>
#include <cstring>
#include <fstream>
#include <string_view>

#include "src/runtime/elf_bytes.h"
#include "src/support/file_bytes.h"

namespace tw::runtime {
namespace {

std::string_view slice(std::string_view file, size_t offset, size_t bytes) {
  if (offset > file.size() || file.size() - offset < bytes) return {};
  return file.substr(offset, bytes);
}

std::vector<std::string> names_in(std::string_view symbols, std::string_view strings) {
  std::vector<std::string> names;
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
    const Elf64_Sym symbol = *read_at<Elf64_Sym>(symbols, at);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings.size()) continue;
    const std::string_view rest = strings.substr(symbol.st_name);
    names.emplace_back(rest.substr(0, rest.find('\0')));
  }
  return names;
}

}  // namespace

std::string machine_name(uint16_t machine) {
  return machine == EM_X86_64    ? "x86-64"
         : machine == EM_AARCH64 ? "aarch64"
         : machine == EM_ARM     ? "arm"
         : machine == EM_RISCV   ? "riscv"
                                 : "foreign (" + std::to_string(machine) + ")";
}

// It stands in one place for 32 and 64 bits.
std::optional<uint16_t> machine_of(const std::string& path) {
  char header[offsetof(Elf64_Ehdr, e_machine) + sizeof(uint16_t)] = {};
  std::ifstream in(path, std::ios::binary);
  if (!in.read(header, sizeof header) || std::memcmp(header, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return read_at<uint16_t>({header, sizeof header}, offsetof(Elf64_Ehdr, e_machine));
}

std::vector<std::string> defined_symbols(const std::string& path) {
  const std::string file = support::file_bytes(path).value_or("");
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return {};
  const auto section = [&](size_t i) { return read_at<Elf64_Shdr>(file, header->e_shoff + i * sizeof(Elf64_Shdr)); };
  for (size_t i = 0; i < header->e_shnum; ++i) {
    const auto table = section(i);
    if (!table || table->sh_type != SHT_DYNSYM) continue;
    const auto strings = section(table->sh_link);
    if (!strings) return {};
    return names_in(slice(file, table->sh_offset, table->sh_size), slice(file, strings->sh_offset, strings->sh_size));
  }
  return {};
}

}  // namespace tw::runtime
