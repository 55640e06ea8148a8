#include "src/target/abilities.h"

#include <algorithm>

#include "src/target/triple.h"

namespace tw::target {

namespace {

class Features {
 public:
  explicit Features(const std::vector<std::string>& sorted) : sorted_(sorted) {}
  bool has(std::string_view feature) const { return std::binary_search(sorted_.begin(), sorted_.end(), feature); }

 private:
  const std::vector<std::string>& sorted_;
};

struct DotRow {
  const char* feature;
  DotLanes made;
};

// A correction, its factor, and what makes left factors those of the instruction; the other words of both factors, and
// their product.
constexpr int kCorrecting = 4, kWidening = 4;
// Four columns of what is too much, and what turns a factor's first bit.
constexpr int kCorrectingFour = 6;
// Two orders of bytes, and products.
constexpr int kPairing = 4;

// From wide to narrow: the first that the target has counts.
const DotRow kDotsOfX86[] = {
    {"avx512vnni", {DotProduct::kU8I8, 16}}, {"avx512vnni", {DotProduct::kI8I8, 16, kCorrecting}},
    {"avxvnni", {DotProduct::kU8I8, 8}},     {"avxvnni", {DotProduct::kI8I8, 8, kCorrecting}},
    {"avx512bf16", {DotProduct::kBF16, 16}},
};

// Where no instruction takes four bytes, the one for the products of words does: of the even bytes, then of the odd.
const DotRow kWordsOfX86[] = {
    {"avx512bw", {DotProduct::kU8I8, 16, kWidening}},
    {"avx512bw", {DotProduct::kI8I8, 16, kWidening}},
    {"avx2", {DotProduct::kU8I8, 8, kWidening}},
    {"avx2", {DotProduct::kI8I8, 8, kWidening}},
};

const DotRow kDotsOfAArch64[] = {
    {"dotprod", {DotProduct::kI8I8, 4}},    {"dotprod", {DotProduct::kU8U8, 4}},
    {"i8mm", {DotProduct::kU8I8, 4}},       {"dotprod", {DotProduct::kU8I8, 4, kCorrectingFour}},
    {"i8mm", {DotProduct::kMatI8I8, 4}},    {"bf16", {DotProduct::kBF16Odd, 4}},
    {"bf16", {DotProduct::kMatBF16Odd, 4}},
};

// Products of bytes are words, of which an instruction adds two to each lane.
const DotRow kPairsOfAArch64[] = {
    {"neon", {DotProduct::kI8I8, 4, kPairing}},
    {"neon", {DotProduct::kU8U8, 4, kPairing}},
    {"neon", {DotProduct::kU8I8, 4, kPairing + kCorrectingFour}},
};

template <size_t N>
void add_dots(const DotRow (&rows)[N], const Features& features, Abilities& abilities) {
  for (const DotRow& row : rows)
    if (features.has(row.feature) && abilities.dot_lanes(row.made.dot) == 0) abilities.dots.push_back(row.made);
}

Abilities of_x86(const Features& features, int) {
  Abilities a;
  a.masks = features.has("avx512f");
  a.vector_bits = a.masks ? 512 : features.has("avx") ? 256 : 128;
  a.vector_registers = a.masks ? 32 : 16;
  a.fma = features.has("fma");
  a.scaling = a.masks;
  a.rounding = features.has("sse4.1");
  a.float16 = features.has("f16c");
  add_dots(kDotsOfX86, features, a);
  if (features.has("amx-tile")) a.tiles = {8, 16, 64, features.has("amx-int8"), features.has("amx-bf16")};
  return a;
}

constexpr int kRegistersOfSveLanes = 8;  // of float32; twice as many of float64

// NEON, of which the vectors, what is fused, rounding and conversions are one whole. SVE's vectors are used where they
// are longer: each lane has a predicate.
Abilities of_aarch64(const Features& features, int sve_bits) {
  Abilities a;
  a.vector_registers = 32;
  a.fma = a.rounding = a.float16 = features.has("neon");
  if (a.fma) a.lane_products = a.vector_registers;
  add_dots(kDotsOfAArch64, features, a);
  if (sve_bits <= a.vector_bits) return a;
  a.vector_bits = sve_bits;
  a.masks = true;
  a.lane_products = kRegistersOfSveLanes;
  return a;
}

struct Architecture {
  const char* name;
  Abilities (*abilities)(const Features&, int sve_bits);
  bool one_offset;
};
const Architecture kArchitectures[] = {{"x86_64", of_x86, false}, {"aarch64", of_aarch64, true}};

// Without AVX-512.
bool is_older_zen(const Target& target) { return target.cpu == "znver2" || target.cpu == "znver3"; }

}  // namespace

Abilities abilities_of(std::string_view kind, std::string_view triple, const std::vector<std::string>& features,
                       int sve_bits) {
  const std::string_view architecture = architecture_of(triple);
  Abilities abilities;
  for (const Architecture& row : kArchitectures)
    if (architecture == row.name) abilities = row.abilities(Features(features), sve_bits);
  if (kind == "interp") abilities.masks = true;                      // it looks at each lane
  if (kind == "c") abilities.tiles = {}, abilities.scaling = false;  // it has no words for them
  // A C compiler makes more of the plain products.
  if (kind != "c" && architecture == "x86_64") add_dots(kWordsOfX86, Features(features), abilities);
  if (kind != "c" && architecture == "aarch64" && !abilities.masks)
    add_dots(kPairsOfAArch64, Features(features), abilities);
  return abilities;
}

bool adds_one_offset(const Target& target) {
  const auto* row = std::ranges::find(kArchitectures, architecture_of(target.triple), &Architecture::name);
  return row != std::end(kArchitectures) && row->one_offset && !target.abilities.masks;
}

bool divides_slowly(const Target& target) {
  return target.abilities.scaling && !target.cpu.starts_with("znver");  // registers of AVX-512
}

bool reads_ahead(const Target& target) { return target.cpu == "znver5"; }

bool follows_lines(const Target& target) { return is_older_zen(target); }

bool stores_wait(const Target& target) { return divides_slowly(target) || is_older_zen(target); }

bool dots_words_slowly(const Target& target) { return divides_slowly(target); }  // the same cores

bool permutes_bytes(const Target& target) { return target.has("avx512vbmi"); }

}  // namespace tw::target

namespace tw {

int Abilities::dot_lanes(DotProduct dot) const {
  const auto found = std::ranges::find(dots, dot, &DotLanes::dot);
  return found == dots.end() ? 0 : found->lanes;
}

int Abilities::dot_registers(DotProduct dot) const {
  const auto found = std::ranges::find(dots, dot, &DotLanes::dot);
  return found == dots.end() ? 0 : found->registers;
}

}  // namespace tw
