#include "src/runtime/elf_object.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/runtime/elf_bytes.h"
#include "src/runtime/elf_symbols.h"

namespace tw::runtime {
namespace {

using Segment = ElfObject::Segment;
using Segments = std::vector<Segment>;
using Headers = std::vector<Elf64_Phdr>;
using Dynamic = std::map<Elf64_Sxword, uint64_t>;

// Far more than any kernel has, so that a hostile object is refused before it costs time or memory.
constexpr uint64_t kLargest = uint64_t{256} << 20;
constexpr size_t kMostHeaders = 64, kMostSymbols = size_t{1} << 16, kLongestName = 1024;

#if defined(__x86_64__)
constexpr Elf64_Xword kRelative = R_X86_64_RELATIVE, kWord = R_X86_64_64, kGlobal = R_X86_64_GLOB_DAT;
constexpr Elf64_Xword kIndirect = R_X86_64_IRELATIVE;
constexpr Elf64_Xword kThreadLocal[] = {R_X86_64_DTPMOD64, R_X86_64_DTPOFF64, R_X86_64_TPOFF64, R_X86_64_TLSDESC};
#elif defined(__aarch64__)
constexpr Elf64_Xword kRelative = R_AARCH64_RELATIVE, kWord = R_AARCH64_ABS64, kGlobal = R_AARCH64_GLOB_DAT;
constexpr Elf64_Xword kIndirect = R_AARCH64_IRELATIVE;
constexpr Elf64_Xword kThreadLocal[] = {R_AARCH64_TLS_DTPMOD, R_AARCH64_TLS_DTPREL, R_AARCH64_TLS_TPREL,
                                        R_AARCH64_TLSDESC};
#endif

Diagnostic refused(const std::string& why) { return {ErrorKind::kBuild, "the object " + why, {}, {}}; }
Diagnostic outside(const std::string& what) { return refused("has " + what + " outside of its segments"); }

uint64_t down(uint64_t address, uint64_t page) { return address / page * page; }
uint64_t up(uint64_t address, uint64_t page) { return down(address + page - 1, page); }

Status check_header(const Elf64_Ehdr& header) {
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return refused("is not of 64 bits");
  if (header.e_ident[EI_DATA] != ELFDATA2LSB) return refused("is not little-endian");
  if (header.e_machine != kMachine)
    return refused("is " + machine_name(header.e_machine) + " code on an " + machine_name(kMachine) + " machine");
  if (header.e_type != ET_DYN) return refused("is not a shared one");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return refused("has program headers of another size");
  if (header.e_phnum > kMostHeaders)
    return refused("has more than " + std::to_string(kMostHeaders) + " program headers");
  return Unit{};
}

Result<Headers> headers_of(std::string_view bytes) {
  if (!bytes.starts_with(std::string_view(ELFMAG, SELFMAG))) return refused("is not an ELF file");
  const auto header = read_at<Elf64_Ehdr>(bytes, 0);
  if (!header) return refused("is cut short in its header");
  if (const Status checked = check_header(*header); !checked) return checked.error();
  if (header->e_phoff > bytes.size()) return refused("is cut short in its program headers");
  Headers headers;
  for (size_t i = 0; i < header->e_phnum; ++i) {
    const auto row = read_at<Elf64_Phdr>(bytes, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!row) return refused("is cut short in its program headers");
    if (row->p_type == PT_TLS) return refused("has thread-local storage");
    headers.push_back(*row);
  }
  return headers;
}

Result<Segment> segment_of(std::string_view bytes, const Elf64_Phdr& h) {
  const uint64_t alignment = std::max<uint64_t>(h.p_align, 1);
  if (h.p_filesz > h.p_memsz) return refused("has a segment that is larger in the file than in memory");
  if (h.p_offset > bytes.size() || bytes.size() - h.p_offset < h.p_filesz) return refused("is cut short in a segment");
  if (h.p_vaddr > kLargest || h.p_memsz > kLargest - h.p_vaddr)
    return refused("takes more than " + std::to_string(kLargest >> 20) + " MiB of addresses");
  if (!std::has_single_bit(alignment) || alignment > kLargest || (h.p_vaddr - h.p_offset) % alignment != 0)
    return refused("has a misaligned segment");
  if ((h.p_flags & PF_W) && (h.p_flags & PF_X)) return refused("has a segment that is both writable and executable");
  const int protection =
      (h.p_flags & PF_R ? PROT_READ : 0) | (h.p_flags & PF_W ? PROT_WRITE : 0) | (h.p_flags & PF_X ? PROT_EXEC : 0);
  return Segment{h.p_vaddr, h.p_vaddr + h.p_memsz, alignment, protection, bytes.substr(h.p_offset, h.p_filesz)};
}

Result<Segments> segments_of(std::string_view bytes, const Headers& headers, uint64_t page) {
  Segments segments;
  for (const Elf64_Phdr& h : headers) {
    if (h.p_type != PT_LOAD || h.p_memsz == 0) continue;
    TW_TRY(const Segment segment, segment_of(bytes, h));
    if (!segments.empty() && segment.begin < segments.back().end) return refused("has segments that overlap");
    if (!segments.empty() && down(segment.begin, page) < up(segments.back().end, page))
      return refused("has two segments in one page of " + std::to_string(page) +
                     " bytes: link it with -z max-page-size");
    segments.push_back(segment);
  }
  if (segments.empty()) return refused("has nothing to load");
  return segments;
}

const Segment* segment_at(const Segments& segments, uint64_t address, uint64_t bytes) {
  for (const Segment& s : segments)
    if (address >= s.begin && address < s.end && s.end - address >= bytes) return &s;
  return nullptr;
}

// What the file holds from this address to the end of its segment.
Result<std::string_view> contents_from(const Segments& segments, uint64_t address, const char* what) {
  const Segment* const segment = segment_at(segments, address, 1);
  if (!segment || address - segment->begin >= segment->contents.size()) return outside(std::string("its ") + what);
  return segment->contents.substr(address - segment->begin);
}

template <class Row>
Result<std::vector<Row>> rows_of(std::string_view contents, uint64_t count, const char* what) {
  if (count > contents.size() / sizeof(Row)) return outside(std::string("its ") + what);
  std::vector<Row> rows(count);
  contents.copy(reinterpret_cast<char*>(rows.data()), count * sizeof(Row));
  return rows;
}

Result<Dynamic> dynamic_of(const Segments& segments, const Headers& headers) {
  constexpr const char* kWhat = "dynamic section";
  const auto header =
      std::find_if(headers.begin(), headers.end(), [](const Elf64_Phdr& h) { return h.p_type == PT_DYNAMIC; });
  if (header == headers.end()) return refused(std::string("has no ") + kWhat);
  TW_TRY(const std::string_view contents, contents_from(segments, header->p_vaddr, kWhat));
  TW_TRY(const auto rows, rows_of<Elf64_Dyn>(contents, header->p_filesz / sizeof(Elf64_Dyn), kWhat));
  Dynamic dynamic;
  for (const Elf64_Dyn& row : rows) {
    if (row.d_tag == DT_NULL) break;
    dynamic[row.d_tag] = row.d_un.d_val;
  }
  return dynamic;
}

uint64_t value_of(const Dynamic& dynamic, Elf64_Sxword tag) {
  const auto found = dynamic.find(tag);
  return found != dynamic.end() ? found->second : 0;
}

// From where the dynamic section says that it begins.
Result<std::string_view> contents_of(const Segments& segments, const Dynamic& dynamic, Elf64_Sxword tag,
                                     const char* what) {
  if (!dynamic.contains(tag)) return refused(std::string("has no ") + what);
  return contents_from(segments, value_of(dynamic, tag), what);
}

Result<std::string_view> strings_of(const Segments& segments, const Dynamic& dynamic) {
  TW_TRY(const std::string_view contents, contents_of(segments, dynamic, DT_STRTAB, "strings"));
  const uint64_t bytes = value_of(dynamic, DT_STRSZ);
  if (bytes > contents.size()) return outside("its strings");
  return contents.substr(0, bytes);
}

Result<std::string> string_at(std::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return refused("has a name outside of its strings");
  const std::string_view rest = strings.substr(offset, kLongestName + 1);
  const size_t end = rest.find('\0');
  if (end != rest.npos) return std::string(rest.substr(0, end));
  return refused(rest.size() > kLongestName ? "has a name of more than " + std::to_string(kLongestName) + " bytes"
                                            : "has a name outside of its strings");
}

// Four words; filters; of each chain its first symbol; of each symbol its hash, which is odd where a chain ends. The
// chain that begins last ends last.
Result<uint64_t> symbols_hashed(std::string_view table) {
  const auto word = [&](uint64_t offset) { return read_at<uint32_t>(table, offset); };
  const auto buckets = word(0), first = word(4), filters = word(8);
  if (!filters) return outside("its hash table");
  const uint64_t buckets_at = 16 + uint64_t{8} * *filters, chains_at = buckets_at + uint64_t{4} * *buckets;
  uint64_t last = 0;
  for (uint64_t at = buckets_at; at < chains_at; at += 4) {
    const auto symbol = word(at);
    if (!symbol) return outside("its hash table");
    last = std::max<uint64_t>(last, *symbol);
  }
  if (last < *first) return *first;
  for (;; ++last) {
    const auto hash = word(chains_at + 4 * (last - *first));
    if (!hash) return outside("its hash table");
    if (*hash & 1) return last + 1;
  }
}

// Of the symbols only their hash table says how many there are.
Result<uint64_t> count_symbols(const Segments& segments, const Dynamic& dynamic) {
  if (const uint64_t address = value_of(dynamic, DT_HASH)) {
    TW_TRY(const std::string_view table, contents_from(segments, address, "hash table"));
    const auto chains = read_at<uint32_t>(table, 4);
    if (!chains) return outside("its hash table");
    return uint64_t{*chains};
  }
  TW_TRY(const std::string_view table, contents_of(segments, dynamic, DT_GNU_HASH, "hash table"));
  return symbols_hashed(table);
}

Result<uint64_t> address_of(const Segments& segments, const Elf64_Sym& symbol, const std::string& name) {
  const int type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF) return refused("needs the symbol " + name + " from elsewhere");
  if (type == STT_GNU_IFUNC) return refused("chooses " + name + " when it is loaded (IFUNC)");
  if (type == STT_TLS) return refused("has the thread-local " + name);
  if (symbol.st_shndx >= SHN_LORESERVE || !segment_at(segments, symbol.st_value, std::max<uint64_t>(symbol.st_size, 1)))
    return outside("the symbol " + name);
  return symbol.st_value;
}

bool for_others(const Elf64_Sym& symbol) {
  const int visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  return ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
}

struct Symbols {
  std::vector<uint64_t> addresses;  // by number; the first is none
  std::map<std::string, uint64_t> named;
};

Result<Symbols> symbols_of(const Segments& segments, const Dynamic& dynamic, std::string_view strings) {
  TW_TRY(const uint64_t count, count_symbols(segments, dynamic));
  if (count > kMostSymbols) return refused("has more than " + std::to_string(kMostSymbols) + " symbols");
  TW_TRY(const std::string_view contents, contents_of(segments, dynamic, DT_SYMTAB, "symbols"));
  TW_TRY(const auto rows, rows_of<Elf64_Sym>(contents, count, "symbols"));
  Symbols symbols{{0}, {}};
  for (size_t i = 1; i < rows.size(); ++i) {
    TW_TRY(const std::string name, string_at(strings, rows[i].st_name));
    TW_TRY(const uint64_t address, address_of(segments, rows[i], name));
    symbols.addresses.push_back(address);
    if (for_others(rows[i])) symbols.named.emplace(name, address);
  }
  return symbols;
}

// Of sizes, or of functions, where 0 is none.
using Rule = std::pair<Elf64_Sxword, const char*>;

Status check(const Dynamic& dynamic, std::initializer_list<Rule> rules) {
  for (const auto& [tag, why] : rules)
    if (value_of(dynamic, tag) != 0) return refused(why);
  return Unit{};
}

Status check_nothing_else_runs(const Dynamic& dynamic, std::string_view strings) {
  if (dynamic.contains(DT_NEEDED)) {
    TW_TRY(const std::string library, string_at(strings, value_of(dynamic, DT_NEEDED)));
    return refused("needs the library " + library);
  }
  return check(dynamic, {{DT_INIT, "has code that runs when it is loaded"},
                         {DT_INIT_ARRAYSZ, "has code that runs when it is loaded"},
                         {DT_PREINIT_ARRAYSZ, "has code that runs when it is loaded"},
                         {DT_FINI, "has code that runs when it is unloaded"},
                         {DT_FINI_ARRAYSZ, "has code that runs when it is unloaded"}});
}

Status check_kinds_of_relocations(const Dynamic& dynamic) {
  constexpr Elf64_Sxword kRelrSize = 35;  // DT_RELRSZ, which older headers lack
  return check(dynamic, {{DT_PLTRELSZ, "has relocations of a PLT"},
                         {DT_RELSZ, "has relocations without addends"},
                         {kRelrSize, "has packed relocations (RELR)"}});
}

Result<ElfObject::Relocation> relocation_of(const Elf64_Rela& row, const Segments& segments, const Symbols& symbols) {
  const Elf64_Xword type = ELF64_R_TYPE(row.r_info), symbol = ELF64_R_SYM(row.r_info);
  if (type == kIndirect) return refused("has a relocation by a function of its own (IFUNC)");
  if (std::find(std::begin(kThreadLocal), std::end(kThreadLocal), type) != std::end(kThreadLocal))
    return refused("has a relocation of thread-local storage");
  if (type != kRelative && type != kWord && type != kGlobal)
    return refused("has a relocation of an unknown type, " + std::to_string(type));
  const Segment* const segment = segment_at(segments, row.r_offset, sizeof(uint64_t));
  if (!segment) return outside("a relocation");
  if (!(segment->protection & PROT_WRITE)) return refused("has a relocation of read-only memory");
  const auto addend = static_cast<uint64_t>(row.r_addend);
  if (type == kRelative) return ElfObject::Relocation{row.r_offset, addend};
  if (symbol == 0 || symbol >= symbols.addresses.size())
    return refused("has a relocation by a symbol that is not there");
  return ElfObject::Relocation{row.r_offset, symbols.addresses[symbol] + addend};
}

Result<std::vector<ElfObject::Relocation>> relocations_of(const Segments& segments, const Dynamic& dynamic,
                                                          const Symbols& symbols) {
  if (const Status checked = check_kinds_of_relocations(dynamic); !checked) return checked.error();
  const uint64_t bytes = value_of(dynamic, DT_RELASZ);
  std::vector<ElfObject::Relocation> relocations;
  if (bytes == 0) return relocations;
  if (value_of(dynamic, DT_RELAENT) != sizeof(Elf64_Rela) || bytes % sizeof(Elf64_Rela) != 0)
    return refused("has relocations of another size");
  TW_TRY(const std::string_view contents, contents_of(segments, dynamic, DT_RELA, "relocations"));
  TW_TRY(const auto rows, rows_of<Elf64_Rela>(contents, bytes / sizeof(Elf64_Rela), "relocations"));
  for (const Elf64_Rela& row : rows) {
    TW_TRY(const ElfObject::Relocation relocation, relocation_of(row, segments, symbols));
    relocations.push_back(relocation);
  }
  return relocations;
}

// A page of which RELRO covers a part stays writable, unless the rest belongs to nobody. Linkers end RELRO with a page
// of theirs, which may lie behind the segment.
Result<std::vector<ElfObject::Pages>> relro_of(const Headers& headers, const Segments& segments, uint64_t page) {
  std::vector<ElfObject::Pages> all;
  for (const Elf64_Phdr& h : headers) {
    if (h.p_type != PT_GNU_RELRO) continue;
    const Segment* const s = segment_at(segments, h.p_vaddr, 1);
    if (!s || !(s->protection & PROT_WRITE)) return outside("RELRO");
    const bool to_the_end = h.p_memsz >= s->end - h.p_vaddr;
    const ElfObject::Pages pages{h.p_vaddr == s->begin ? down(s->begin, page) : up(h.p_vaddr, page),
                                 to_the_end ? up(s->end, page) : down(h.p_vaddr + h.p_memsz, page)};
    if (pages.begin < pages.end) all.push_back(pages);
  }
  return all;
}

}  // namespace

Result<ElfObject> read_elf(std::string_view bytes, uint64_t page) {
  TW_TRY(const Headers headers, headers_of(bytes));
  TW_TRY(Segments segments, segments_of(bytes, headers, page));
  TW_TRY(const Dynamic dynamic, dynamic_of(segments, headers));
  TW_TRY(const std::string_view strings, strings_of(segments, dynamic));
  if (const Status checked = check_nothing_else_runs(dynamic, strings); !checked) return checked.error();
  TW_TRY(Symbols symbols, symbols_of(segments, dynamic, strings));
  TW_TRY(auto relocations, relocations_of(segments, dynamic, symbols));
  TW_TRY(auto relro, relro_of(headers, segments, page));
  uint64_t alignment = page;
  for (const Segment& s : segments) alignment = std::max(alignment, s.alignment);
  const uint64_t size = up(segments.back().end, page);
  return ElfObject{
      size, alignment, std::move(segments), std::move(relro), std::move(relocations), std::move(symbols.named)};
}

}  // namespace tw::runtime
