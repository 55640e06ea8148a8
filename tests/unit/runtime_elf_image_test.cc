// Shared objects without a dynamic linker: what is loaded runs and is protected, whatever asks for more is refused.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "src/runtime/elf_image.h"
#include "src/runtime/elf_object.h"
#include "src/runtime/kernel.h"
#include "src/runtime/linking.h"
#include "tests/unit/compile_c.h"
#include "tests/unit/small_elf.h"

namespace tw::runtime {
namespace {

using test::SmallElf;

std::string refusal(const std::string& bytes) {
  const auto image = map_elf(bytes);
  if (image) return "nothing is refused";
  EXPECT_EQ(image.error().kind, ErrorKind::kBuild);
  return image.error().what;
}

// As the system says it: "r-xp"; "" where nothing is mapped.
std::string rights_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::string rights;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> rights;
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    if (wanted >= begin && wanted < end) return rights;
  }
  return "";
}

int call(void* function) { return reinterpret_cast<int (*)()>(function)(); }

TEST(ElfImage, RunsAndIsRelocated) {
  const auto image = map_elf(SmallElf().bytes()).value_or_throw();
  void* const function = image->symbol("function");
  auto* const table = static_cast<void**>(image->symbol("table"));
  auto* const variable = static_cast<uint64_t*>(image->symbol("variable"));
  ASSERT_TRUE(function && table && variable);
  EXPECT_EQ(call(function), 42);
  EXPECT_EQ(table[0], variable);
  EXPECT_EQ(table[1], function);
  EXPECT_EQ(table[2], table);
  EXPECT_EQ(*variable, 7u);
  for (uint64_t i = 1; i <= SmallElf::kZeros / sizeof *variable; ++i) ASSERT_EQ(std::exchange(variable[i], 1), 0u);
  EXPECT_EQ(image->symbol("other"), nullptr);
  EXPECT_EQ(image->symbol(""), nullptr);
}

TEST(ElfImage, NothingIsBothWritableAndExecutable) {
  auto image = map_elf(SmallElf().bytes()).value_or_throw();
  const char* const function = static_cast<const char*>(image->symbol("function"));
  const char* const base = function - test::kCodeAt;
  EXPECT_EQ(rights_of(base), "r--p");
  EXPECT_EQ(rights_of(function), "r-xp");
  EXPECT_EQ(rights_of(image->symbol("table")), "r--p");
  EXPECT_EQ(rights_of(image->symbol("variable")), "rw-p");
  EXPECT_EQ(rights_of(static_cast<char*>(image->symbol("variable")) + SmallElf::kZeros), "rw-p");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(base) % SmallElf::kPage, 0u);
  image.reset();
  EXPECT_NE(rights_of(function), "r-xp");
}

// A page of which the rest is others' stays writable. As linkers do, RELRO may reach behind its segment.
TEST(ElfImage, WholePagesOfRelroAreReadOnly) {
  const auto pages = [](uint64_t relro, uint64_t segment, uint64_t page) {
    SmallElf object;
    object.headers[SmallElf::kRelro].p_memsz = relro;
    object.headers[SmallElf::kRelocated].p_memsz = segment;
    const auto read = read_elf(object.bytes(), page).value_or_throw().relro;
    return read.empty() ? 0 : (read.at(0).end - read.at(0).begin) / 4096;
  };
  EXPECT_EQ(pages(0x1F0, 0x1F0, 4096), 1u);
  EXPECT_EQ(pages(0x1E0, 0x1F0, 4096), 0u);
  EXPECT_EQ(pages(0x5000, 0x8000, 4096), 5u);
  EXPECT_EQ(pages(0x5000, 0x8000, 65536), 0u);
  EXPECT_EQ(pages(0x8000, 0x8000, 65536), 16u);
  EXPECT_EQ(pages(0x5000, 0x1F0, 4096), 1u);
  EXPECT_EQ(pages(~uint64_t{0}, 0x1F0, 4096), 1u);
  EXPECT_EQ(pages(0, 0x1F0, 4096), 0u);
}

TEST(ElfImage, SymbolsAreCountedByEitherHashTable) {
  SmallElf sysv;
  sysv.dynamic[SmallElf::kHash] = {DT_HASH, {offsetof(SmallElf, sysv_hash)}};
  EXPECT_EQ(call(map_elf(sysv.bytes()).value_or_throw()->symbol("function")), 42);
  sysv.sysv_hash[1] = SmallElf::kVariable;
  sysv.relocations[0].r_info = ELF64_R_INFO(uint64_t{SmallElf::kTable}, test::kWord);
  EXPECT_EQ(map_elf(sysv.bytes()).value_or_throw()->symbol("variable"), nullptr);
}

TEST(ElfImage, LocalAndHiddenSymbolsAreNotFound) {
  SmallElf object;
  object.symbols[SmallElf::kTable].st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
  object.symbols[SmallElf::kVariable].st_other = STV_HIDDEN;
  const auto image = map_elf(object.bytes()).value_or_throw();
  EXPECT_EQ(image->symbol("table"), nullptr);
  EXPECT_EQ(image->symbol("variable"), nullptr);
}

struct Refusal {
  const char* name;
  const char* what;
  void (*spoil)(SmallElf&);
};
void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }

constexpr uint64_t kFar = uint64_t{1} << 63;

const Refusal kRefusals[] = {
    {"Text", "is not an ELF file", [](SmallElf& e) { e.header.e_ident[1] = 'e'; }},
    {"Bits32", "is not of 64 bits", [](SmallElf& e) { e.header.e_ident[EI_CLASS] = ELFCLASS32; }},
    {"BigEndian", "is not little-endian", [](SmallElf& e) { e.header.e_ident[EI_DATA] = ELFDATA2MSB; }},
    {"OtherMachine",
#if defined(__x86_64__)
     "is aarch64 code on an x86-64 machine",
#else
     "is x86-64 code on an aarch64 machine",
#endif
     [](SmallElf& e) { e.header.e_machine = test::kOtherMachine; }},
    {"Relocatable", "is not a shared one", [](SmallElf& e) { e.header.e_type = ET_REL; }},
    {"HeaderSize", "has program headers of another size", [](SmallElf& e) { e.header.e_phentsize = 32; }},
    {"ManyHeaders", "has more than 64 program headers", [](SmallElf& e) { e.header.e_phnum = 0xFFFE; }},
    {"FarHeaders", "is cut short in its program headers", [](SmallElf& e) { e.header.e_phoff = kFar; }},
    {"LastHeaders", "is cut short in its program headers", [](SmallElf& e) { e.header.e_phoff = sizeof e - 8; }},
    {"Empty", "has nothing to load", [](SmallElf& e) { e.header.e_phnum = 0; }},

    {"WritableCode", "has a segment that is both writable and executable",
     [](SmallElf& e) { e.headers[SmallElf::kCode].p_flags |= PF_W; }},
    {"Overlap", "has segments that overlap",
     [](SmallElf& e) { e.headers[SmallElf::kCode].p_memsz = 2 * SmallElf::kPage; }},
    {"Descending", "has segments that overlap",
     [](SmallElf& e) { std::swap(e.headers[SmallElf::kRelocated], e.headers[SmallElf::kData]); }},
    {"SmallerInMemory", "has a segment that is larger in the file than in memory",
     [](SmallElf& e) { e.headers[SmallElf::kCode].p_memsz = 1; }},
    {"FarOffset", "is cut short in a segment", [](SmallElf& e) { e.headers[SmallElf::kCode].p_offset += kFar; }},
    {"LastOffset", "is cut short in a segment",
     [](SmallElf& e) { e.headers[SmallElf::kCode].p_offset = ~uint64_t{0} - 1; }},
    {"FarAddress", "takes more than 256 MiB of addresses",
     [](SmallElf& e) { e.headers[SmallElf::kData].p_vaddr += kFar; }},
    {"SumOverflows", "takes more than 256 MiB of addresses",
     [](SmallElf& e) { e.headers[SmallElf::kData].p_memsz = ~uint64_t{0} - test::kVariableAt; }},
    {"TooLarge", "takes more than 256 MiB of addresses",
     [](SmallElf& e) { e.headers[SmallElf::kData].p_memsz = uint64_t{256} << 20; }},
    {"Misaligned", "has a misaligned segment", [](SmallElf& e) { e.headers[SmallElf::kCode].p_vaddr += 8; }},
    {"OddAlignment", "has a misaligned segment", [](SmallElf& e) { e.headers[SmallElf::kCode].p_align = 48; }},
    {"HugeAlignment", "has a misaligned segment", [](SmallElf& e) { e.headers[SmallElf::kMetadata].p_align = kFar; }},
    {"Tls", "has thread-local storage", [](SmallElf& e) { e.headers[SmallElf::kRelro].p_type = PT_TLS; }},
    {"FarRelro", "has RELRO outside of its segments", [](SmallElf& e) { e.headers[SmallElf::kRelro].p_vaddr = kFar; }},
    {"RelroOfCode", "has RELRO outside of its segments",
     [](SmallElf& e) { e.headers[SmallElf::kRelro].p_vaddr = test::kCodeAt; }},

    {"NoDynamic", "has no dynamic section", [](SmallElf& e) { e.headers[SmallElf::kDynamic].p_type = PT_NOTE; }},
    {"FarDynamic", "has its dynamic section outside of its segments",
     [](SmallElf& e) { e.headers[SmallElf::kDynamic].p_vaddr = kFar; }},
    {"LongDynamic", "has its dynamic section outside of its segments",
     [](SmallElf& e) { e.headers[SmallElf::kDynamic].p_filesz = ~uint64_t{0}; }},
    {"Library", "needs the library table", [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_NEEDED, {10}}; }},
    {"LibraryWithoutName", "has a name outside of its strings",
     [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_NEEDED, {kFar}}; }},
    {"Initialiser", "has code that runs when it is loaded",
     [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_INIT, {test::kCodeAt}}; }},
    {"Initialisers", "has code that runs when it is loaded",
     [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_INIT_ARRAYSZ, {8}}; }},
    {"Finaliser", "has code that runs when it is unloaded",
     [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_FINI, {test::kCodeAt}}; }},
    {"Finalisers", "has code that runs when it is unloaded",
     [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_FINI_ARRAYSZ, {8}}; }},
    {"Plt", "has relocations of a PLT", [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_PLTRELSZ, {24}}; }},
    {"Rel", "has relocations without addends", [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {DT_RELSZ, {16}}; }},
    {"Relr", "has packed relocations (RELR)", [](SmallElf& e) { e.dynamic[SmallElf::kSpare] = {35, {8}}; }},

    {"NoStrings", "has no strings", [](SmallElf& e) { e.dynamic[SmallElf::kStrings].d_tag = DT_DEBUG; }},
    {"LongStrings", "has its strings outside of its segments",
     [](SmallElf& e) { e.dynamic[SmallElf::kStringBytes].d_un.d_val = kFar; }},
    {"UnendedName", "has a name outside of its strings",
     [](SmallElf& e) { e.dynamic[SmallElf::kStringBytes].d_un.d_val = 20; }},
    {"NoSymbols", "has no symbols", [](SmallElf& e) { e.dynamic[SmallElf::kSymbolTable].d_tag = DT_DEBUG; }},
    {"FarSymbols", "has its symbols outside of its segments",
     [](SmallElf& e) { e.dynamic[SmallElf::kSymbolTable].d_un.d_val = ~uint64_t{0}; }},
    {"NoHash", "has no hash table", [](SmallElf& e) { e.dynamic[SmallElf::kHash].d_tag = DT_DEBUG; }},
    {"ManyBuckets", "has its hash table outside of its segments", [](SmallElf& e) { e.gnu_hash[0] = ~0u; }},
    {"ManyFilters", "has its hash table outside of its segments", [](SmallElf& e) { e.gnu_hash[2] = ~0u; }},
    {"FarChain", "has its hash table outside of its segments", [](SmallElf& e) { e.gnu_hash[6] = ~0u; }},
    {"ManySymbols", "has more than 65536 symbols", [](SmallElf& e) { e.gnu_hash[1] = ~0u; }},
    {"MoreSymbols", "has its symbols outside of its segments", [](SmallElf& e) { e.gnu_hash[1] = 0xFFFF; }},
    {"ManySymbolsOfSysv", "has more than 65536 symbols",
     [](SmallElf& e) {
       e.dynamic[SmallElf::kHash] = {DT_HASH, {offsetof(SmallElf, sysv_hash)}};
       e.sysv_hash[1] = ~0u;
     }},
    {"Undefined", "needs the symbol variable from elsewhere",
     [](SmallElf& e) { e.symbols[SmallElf::kVariable].st_shndx = SHN_UNDEF; }},
    {"Absolute", "has the symbol variable outside of its segments",
     [](SmallElf& e) { e.symbols[SmallElf::kVariable].st_shndx = SHN_ABS; }},
    {"Ifunc", "chooses function when it is loaded (IFUNC)",
     [](SmallElf& e) { e.symbols[SmallElf::kFunction].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC); }},
    {"TlsSymbol", "has the thread-local variable",
     [](SmallElf& e) { e.symbols[SmallElf::kVariable].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS); }},
    {"FarSymbol", "has the symbol table outside of its segments",
     [](SmallElf& e) { e.symbols[SmallElf::kTable].st_value += kFar; }},
    {"LongSymbol", "has the symbol table outside of its segments",
     [](SmallElf& e) { e.symbols[SmallElf::kTable].st_size = ~uint64_t{0}; }},

    {"RelocatedCode", "has a relocation of read-only memory",
     [](SmallElf& e) { e.relocations[2].r_offset = test::kCodeAt; }},
    {"RelocatedOutside", "has a relocation outside of its segments",
     [](SmallElf& e) { e.relocations[2].r_offset = kFar; }},
    {"RelocatedAtTheEnd", "has a relocation outside of its segments",
     [](SmallElf& e) { e.relocations[2].r_offset = ~uint64_t{0} - 3; }},
    {"RelocatedHalfOutside", "has a relocation outside of its segments",
     [](SmallElf& e) { e.relocations[2].r_offset = test::kVariableAt + 8 + SmallElf::kZeros - 4; }},
    {"RelocatedByFunction", "has a relocation by a function of its own (IFUNC)",
     [](SmallElf& e) { e.relocations[2].r_info = test::kIndirect; }},
    {"RelocatedTls", "has a relocation of thread-local storage",
     [](SmallElf& e) { e.relocations[2].r_info = test::kThreadLocal; }},
    {"UnknownRelocation", "has a relocation of an unknown type, 9999",
     [](SmallElf& e) { e.relocations[2].r_info = 9999; }},
    {"RelocatedByNothing", "has a relocation by a symbol that is not there",
     [](SmallElf& e) { e.relocations[0].r_info = ELF64_R_INFO(uint64_t{0}, test::kWord); }},
    {"RelocatedByFarSymbol", "has a relocation by a symbol that is not there",
     [](SmallElf& e) { e.relocations[0].r_info = ELF64_R_INFO(uint64_t{0xFFFFFFFF}, test::kWord); }},
    {"RelocationSize", "has relocations of another size",
     [](SmallElf& e) { e.dynamic[SmallElf::kRelaRow].d_un.d_val = 16; }},
    {"OddRelocations", "has relocations of another size",
     [](SmallElf& e) { e.dynamic[SmallElf::kRelaBytes].d_un.d_val += 1; }},
    {"ManyRelocations", "has its relocations outside of its segments",
     [](SmallElf& e) { e.dynamic[SmallElf::kRelaBytes].d_un.d_val = 24 * (kFar / 24); }},
    {"NoRelocations", "has no relocations", [](SmallElf& e) { e.dynamic[SmallElf::kRela].d_tag = DT_DEBUG; }},
};

class ElfRefusals : public testing::TestWithParam<Refusal> {};

TEST_P(ElfRefusals, SayTheRule) {
  SmallElf object;
  GetParam().spoil(object);
  EXPECT_EQ(refusal(object.bytes()), std::string("the object ") + GetParam().what);
}

INSTANTIATE_TEST_SUITE_P(Rules, ElfRefusals, testing::ValuesIn(kRefusals),
                         [](const testing::TestParamInfo<Refusal>& info) { return std::string(info.param.name); });

TEST(ElfImage, RefusesWhatIsNoObject) {
  EXPECT_EQ(refusal(""), "the object is not an ELF file");
  EXPECT_EQ(refusal("not a shared object"), "the object is not an ELF file");
  EXPECT_EQ(refusal("\x7f"
                    "ELF"),
            "the object is cut short in its header");
}

// Of 4 KiB where it was linked, and of 64 KiB where it is loaded.
TEST(ElfImage, PagesMayBeLargerThanTheLinkerThought) {
  SmallElf object;
  object.headers[SmallElf::kRelro].p_type = PT_NOTE;
  Elf64_Phdr &before = object.headers[SmallElf::kMetadata], &code = object.headers[SmallElf::kCode];
  before.p_align = code.p_align = 4096;
  code.p_vaddr -= SmallElf::kPage - 4096;
  object.symbols[SmallElf::kFunction].st_value = code.p_vaddr;
  const std::string bytes = object.bytes();
  EXPECT_TRUE(read_elf(bytes, 4096).ok());
  const auto refused = read_elf(bytes, 65536);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what,
            "the object has two segments in one page of 65536 bytes: link it with -z max-page-size");
  EXPECT_TRUE(read_elf(SmallElf().bytes(), 65536).ok());
}

const char* const kAlone = "-nostdlib";

std::string compiled(const test::Folder& folder, const std::string& source, const std::string& flags = kAlone) {
  return std::string(Blob::read(test::compile_c(folder, source, "kernel", flags)).bytes());
}

TEST(ElfImage, LoadsWhatACompilerMakes) {
  const test::Folder folder;
  const auto image = map_elf(compiled(folder,
                                      "static int numbers[3] = {5, 6, 7}; static int zeros[5000];\n"
                                      "static int second(void) { return numbers[1] + zeros[4999]; }\n"
                                      "int* const places[] = {numbers, numbers + 2};\n"
                                      "int (*functions[])(void) = {second};\n"
                                      "int sum(void) { zeros[4999] += *places[1]; return functions[0](); }\n"))
                         .value_or_throw();
  EXPECT_EQ(call(image->symbol("sum")), 13);
  EXPECT_EQ(call(image->symbol("sum")), 20);
  EXPECT_EQ(**static_cast<int**>(image->symbol("places")), 5);
  EXPECT_EQ(rights_of(image->symbol("sum")), "r-xp");
}

TEST(ElfImage, RefusesWhatACompilerMakesForADynamicLinker) {
  const test::Folder folder;
  const auto refused = [&](const std::string& source, const std::string& flags = kAlone) {
    return refusal(compiled(folder, source, flags));
  };
  EXPECT_EQ(refused("int puts(const char*); int f(void) { return puts(\"\"); }", ""),
            "the object needs the library libc.so.6");
  EXPECT_EQ(refused("int f(void) { return 1; }", ""), "the object has code that runs when it is loaded");
  EXPECT_EQ(refused("int g(void); int f(void) { return g(); }"), "the object needs the symbol g from elsewhere");
  EXPECT_EQ(refused("__attribute__((weak)) int g(void); int (*p)(void) = g;"),
            "the object needs the symbol g from elsewhere");
  EXPECT_EQ(
      refused("__attribute__((noinline)) int g(void) { return 1; } int f(void) { return g() + 1; }", "-nostdlib -O0"),
      "the object has relocations of a PLT");
  EXPECT_EQ(refused("__thread int t; int f(void) { return t; }"), "the object has thread-local storage");
  EXPECT_EQ(refused("__attribute__((constructor)) void f(void) {}"), "the object has code that runs when it is loaded");
  EXPECT_EQ(refused("static int one(void) { return 1; } static int (*pick(void))(void) { return one; }\n"
                    "int f(void) __attribute__((ifunc(\"pick\")));"),
            "the object chooses f when it is loaded (IFUNC)");
}

TEST(ElfImage, LinksKernelsThatCallNobody) {
  const test::Folder folder;
  const Linking linking = without_dynamic_linker();
  const Blob object(compiled(folder, test::vector_kernel("k", 4, "for (int i = 0; i < n; ++i) y[i] = 2 * x[i];")));
  const auto image = linking.load(object).value_or_throw();
  const auto* const descriptor = static_cast<const tw_kernel_descriptor*>(image->symbol(descriptor_symbol("k")));
  EXPECT_EQ(specs_of(*descriptor).value_or_throw().args.at(1).name, "y");
  float x[4] = {1, 2, 3, 4}, y[4] = {};
  void* const addresses[] = {x, y};
  const tw_args args{sizeof(tw_args), TW_ABI_VERSION, addresses};
  EXPECT_EQ(reinterpret_cast<KernelFn>(image->symbol(kernel_symbol("k")))(&args, host_context()), 0);
  EXPECT_EQ(y[3], 8);
  EXPECT_TRUE(linking.find_externs("k", {}).value_or_throw().empty());
  EXPECT_EQ(linking.find_externs("k", {"expf", "powf"}).error().what,
            "k: calls expf, powf, and there are no C functions here");
  EXPECT_EQ(linking.load(Blob()).error().what, "the object is not an ELF file");
}

}  // namespace
}  // namespace tw::runtime
