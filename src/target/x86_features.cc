// Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID; Intel Architecture
// Instruction Set Extensions Programming Reference; AMD64 Architecture Programmer's Manual, volume 3, appendix E.
#include <algorithm>
#include <map>
#include <sstream>

#include "src/target/x86.h"

namespace tw::target::x86 {

namespace {

constexpr uint32_t kExtended = 0x80000001;
constexpr Register A = Register::kEax, B = Register::kEbx, C = Register::kEcx, D = Register::kEdx;
constexpr State kNone = State::kNone, kYmm = State::kYmm, kZmm = State::kZmm, kTiles = State::kTiles,
                kApx = State::kApx;

}  // namespace

const std::vector<Feature>& features() {
  // clang-format off
  static const std::vector<Feature> table = {
      {"sse",                1, 0, D, 25, kNone, ""},
      {"sse2",               1, 0, D, 26, kNone, "sse"},
      {"sse3",               1, 0, C,  0, kNone, "sse2"},
      {"ssse3",              1, 0, C,  9, kNone, "sse3"},
      {"sse4.1",             1, 0, C, 19, kNone, "ssse3"},
      {"sse4.2",             1, 0, C, 20, kNone, "sse4.1"},
      {"sse4a",      kExtended, 0, C,  6, kNone, "sse3"},
      {"popcnt",             1, 0, C, 23, kNone, ""},
      {"movbe",              1, 0, C, 22, kNone, ""},
      {"lzcnt",      kExtended, 0, C,  5, kNone, ""},
      {"tbm",        kExtended, 0, C, 21, kNone, ""},
      {"bmi",                7, 0, B,  3, kNone, ""},
      {"bmi2",               7, 0, B,  8, kNone, ""},
      {"gfni",               7, 0, C,  8, kNone, "sse2"},
      {"avx",                1, 0, C, 28, kYmm,  "sse4.2"},
      {"f16c",               1, 0, C, 29, kYmm,  "avx"},
      {"fma",                1, 0, C, 12, kYmm,  "avx"},
      {"fma4",       kExtended, 0, C, 16, kYmm,  "avx sse4a"},
      {"xop",        kExtended, 0, C, 11, kYmm,  "fma4"},
      {"avx2",               7, 0, B,  5, kYmm,  "avx"},
      {"avxvnni",            7, 1, A,  4, kYmm,  "avx2"},
      {"avxifma",            7, 1, A, 23, kYmm,  "avx2"},
      {"avxvnniint8",        7, 1, D,  4, kYmm,  "avx2"},
      {"avxneconvert",       7, 1, D,  5, kYmm,  "avx2"},
      {"avxvnniint16",       7, 1, D, 10, kYmm,  "avx2"},
      {"avx512f",            7, 0, B, 16, kZmm,  "avx2 f16c fma"},
      {"avx512dq",           7, 0, B, 17, kZmm,  "avx512f"},
      {"avx512ifma",         7, 0, B, 21, kZmm,  "avx512f"},
      {"avx512cd",           7, 0, B, 28, kZmm,  "avx512f"},
      {"avx512bw",           7, 0, B, 30, kZmm,  "avx512f"},
      {"avx512vl",           7, 0, B, 31, kZmm,  "avx512f"},
      {"avx512vbmi",         7, 0, C,  1, kZmm,  "avx512bw"},
      {"avx512vbmi2",        7, 0, C,  6, kZmm,  "avx512bw"},
      {"avx512vnni",         7, 0, C, 11, kZmm,  "avx512f"},
      {"avx512bitalg",       7, 0, C, 12, kZmm,  "avx512bw"},
      {"avx512vpopcntdq",    7, 0, C, 14, kZmm,  "avx512f"},
      {"avx512vp2intersect", 7, 0, D,  8, kZmm,  "avx512f"},
      {"avx512fp16",         7, 0, D, 23, kZmm,  "avx512bw avx512dq avx512vl"},
      {"avx512bf16",         7, 1, A,  5, kZmm,  "avx512bw"},
      {"amx-tile",           7, 0, D, 24, kTiles, ""},
      {"amx-bf16",           7, 0, D, 22, kTiles, "amx-tile"},
      {"amx-int8",           7, 0, D, 25, kTiles, "amx-tile"},
      {"amx-fp16",           7, 1, A, 21, kTiles, "amx-tile"},
      {"amx-complex",        7, 1, D,  8, kTiles, "amx-tile"},
      {"egpr",               7, 1, D, 21, kApx,  "", true},
      {"ndd",                7, 1, D, 21, kApx,  "", true},
      {"nf",                 7, 1, D, 21, kApx,  "", true},
      {"ccmp",               7, 1, D, 21, kApx,  "", true},
      {"cf",                 7, 1, D, 21, kApx,  "", true},
      {"zu",                 7, 1, D, 21, kApx,  "", true},
      {"ppx",                7, 1, D, 21, kApx,  "", true},
      {"push2pop2",          7, 1, D, 21, kApx,  "", true},
  };
  // clang-format on
  return table;
}

// Instructions that compilers put into code only where a program calls for them by name, which ours do not.
// Cryptography is among them, and the rest of what every x86-64 has.
const std::set<std::string, std::less<>>& not_in_code() {
  static const std::vector<std::string> list = words(
      "64bit adx aes cldemote clflushopt clwb clzero cmov cmpccxadd crc32 cx16 cx8 enqcmd ermsb fsgsbase fsrm fxsr "
      "hreset "
      "invpcid kl lwp mmx movdir64b movdiri movrs mwaitx nopl pclmul pconfig pku prefetchi prefetchwt1 prfchw ptwrite "
      "raoint rdpid rdpru rdrnd rdseed rtm sahf serialize sgx sha sha512 shstk sm3 sm4 tsxldtrk uintr usermsr vaes "
      "vpclmulqdq waitpkg wbnoinvd widekl x87 xsave xsavec xsaveopt xsaves "
      "avx10.1 avx10.1-256 avx10.1-512 evex512");
  static const std::set<std::string, std::less<>> names(list.begin(), list.end());
  return names;
}

bool in_code(std::string_view feature) { return !not_in_code().contains(feature); }

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  std::istringstream stream{std::string(text)};
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

namespace {

using Closures = std::map<std::string, std::set<std::string>>;

const Closures& needed() {
  static const Closures table = [] {
    Closures all;
    for (const Feature& row : features()) {  // what a row needs stands above it
      all[row.name] = {row.name};
      for (const std::string& below : words(row.needs))
        all[row.name].insert(all.at(below).begin(), all.at(below).end());
    }
    return all;
  }();
  return table;
}

const Closures& dependents() {
  static const Closures table = [] {
    Closures all;
    for (const auto& [name, below] : needed())
      for (const std::string& each : below) all[each].insert(name);
    return all;
  }();
  return table;
}

std::set<std::string> find_or_itself(const Closures& closures, const std::string& feature) {
  const auto found = closures.find(feature);
  return found == closures.end() ? std::set<std::string>{feature} : found->second;
}

}  // namespace

std::set<std::string> with_needed(const std::string& feature) { return find_or_itself(needed(), feature); }

std::set<std::string> avx10_1() {
  std::set<std::string> all;
  for (const std::string& feature : features_of("sapphirerapids"))
    if (feature.starts_with("avx512")) all.insert(feature);
  return all;
}

std::vector<std::string> spelled_out(const std::vector<std::string>& attributes) {
  std::vector<std::string> all;
  for (const std::string& attribute : attributes) {
    const std::string name = attribute.substr(1);
    std::set<std::string> names;
    if (attribute[0] == '-')
      names = find_or_itself(dependents(), name);
    else if (name.starts_with("avx10.1"))
      names = avx10_1();
    else
      names = with_needed(name);
    for (const std::string& each : names)
      if (in_code(each)) all.push_back(attribute[0] + each);
  }
  return all;
}

}  // namespace tw::target::x86
