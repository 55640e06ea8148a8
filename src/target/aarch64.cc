// Sources: Linux's arch/arm64/include/uapi/asm/hwcap.h; the MIDR_EL1 values of Arm's technical reference manuals.
#include "src/target/aarch64.h"

#include <algorithm>
#include <utility>

namespace tw::target::aarch64 {

namespace {

struct Feature {
  const char* name;
  uint64_t hwcap, hwcap2;  // all of these bits
};

constexpr uint64_t bit(int number) { return uint64_t{1} << number; }

const Feature kFeatures[] = {
    {"fp-armv8", bit(0), 0},
    {"neon", bit(1), 0},
    {"lse", bit(8), 0},
    {"fullfp16", bit(9) | bit(10), 0},
    {"rdm", bit(12), 0},
    {"jsconv", bit(13), 0},
    {"complxnum", bit(14), 0},
    {"sha3", bit(17) | bit(21), 0},
    {"dotprod", bit(20), 0},
    {"fp16fml", bit(9) | bit(10) | bit(23), 0},
    {"sve", bit(9) | bit(10) | bit(22), 0},
    {"sve2", bit(9) | bit(10) | bit(22), bit(1)},
    {"fptoint", 0, bit(8)},
    {"f32mm", bit(9) | bit(10) | bit(22), bit(10)},
    {"f64mm", bit(9) | bit(10) | bit(22), bit(11)},
    {"i8mm", 0, bit(13)},
    {"bf16", 0, bit(14)},
    {"cssc", 0, bit(34)},
    {"mops", 0, bit(43)},
};

// Which of the features by which generations differ a core may have at most.
constexpr const char* kArmv80 = "";
constexpr const char* kArmv82 = "fullfp16 dotprod";
constexpr const char* kArmv84 = "fullfp16 dotprod bf16 i8mm sve";
constexpr const char* kArmv90 = "fullfp16 dotprod bf16 i8mm sve sve2";
constexpr const char* kNewest[] = {"fullfp16", "dotprod", "bf16", "i8mm", "sve", "sve2"};

struct Core {
  uint32_t implementer, part;
  const char* name;
  const char* newest;
};

const Core kCores[] = {
    {0x41, 0xd03, "cortex-a53", kArmv80},
    {0x41, 0xd04, "cortex-a35", kArmv80},
    {0x41, 0xd07, "cortex-a57", kArmv80},
    {0x41, 0xd08, "cortex-a72", kArmv80},
    {0x41, 0xd09, "cortex-a73", kArmv80},
    {0x41, 0xd05, "cortex-a55", kArmv82},
    {0x41, 0xd0a, "cortex-a75", kArmv82},
    {0x41, 0xd0b, "cortex-a76", kArmv82},
    {0x41, 0xd0c, "neoverse-n1", kArmv82},
    {0x41, 0xd0d, "cortex-a77", kArmv82},
    {0x41, 0xd0e, "cortex-a76ae", kArmv82},
    {0x41, 0xd41, "cortex-a78", kArmv82},
    {0x41, 0xd42, "cortex-a78ae", kArmv82},
    {0x41, 0xd44, "cortex-x1", kArmv82},
    {0x41, 0xd4a, "neoverse-e1", kArmv82},
    {0x41, 0xd4b, "cortex-a78c", kArmv82},
    {0x41, 0xd40, "neoverse-v1", kArmv84},
    {0x41, 0xd46, "cortex-a510", kArmv90},
    {0x41, 0xd47, "cortex-a710", kArmv90},
    {0x41, 0xd48, "cortex-x2", kArmv90},
    {0x41, 0xd49, "neoverse-n2", kArmv90},
    {0x41, 0xd4d, "cortex-a715", kArmv90},
    {0x41, 0xd4e, "cortex-x3", kArmv90},
    {0x41, 0xd4f, "neoverse-v2", kArmv90},
    {0x41, 0xd80, "cortex-a520", kArmv90},
    {0x41, 0xd81, "cortex-a720", kArmv90},
    {0x41, 0xd82, "cortex-x4", kArmv90},
    {0x41, 0xd84, "neoverse-v3", kArmv90},
    {0x41, 0xd85, "cortex-x925", kArmv90},
    {0x41, 0xd87, "cortex-a725", kArmv90},
    {0x41, 0xd8e, "neoverse-n3", kArmv90},
    {0x43, 0x0af, "thunderx2t99", kArmv80},
    {0x46, 0x001, "a64fx", "fullfp16 sve"},
    {0x48, 0xd01, "tsv110", kArmv82},
    {0x4e, 0x004, "carmel", "fullfp16"},
    {0xc0, 0xac3, "ampere1", "fullfp16 dotprod bf16 i8mm"},
    {0xc0, 0xac4, "ampere1a", "fullfp16 dotprod bf16 i8mm"},
};

// Of the cores that are in no such table, those of Armv9 have 128 bits; generic code may meet any length.
constexpr std::pair<std::string_view, int> kSveBits[] = {{"neoverse-v1", 256}, {"a64fx", 512}};

}  // namespace

std::string_view core_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kProducts[] = {{"apple-m1", "apple-a14"},
                                                                         {"apple-m2", "apple-a15"},
                                                                         {"apple-m3", "apple-a16"},
                                                                         {"cobalt-100", "neoverse-n2"},
                                                                         {"grace", "neoverse-v2"}};
  const auto product = std::ranges::find(kProducts, name, &std::pair<std::string_view, std::string_view>::first);
  return product == std::end(kProducts) ? name : product->second;
}

int sve_bits_of(std::string_view cpu) {
  for (const auto& [name, bits] : kSveBits)
    if (cpu == name) return bits;
  const auto core =
      std::find_if(std::begin(kCores), std::end(kCores), [&](const Core& row) { return cpu == row.name; });
  return core != std::end(kCores) && core->newest == std::string_view(kArmv90) ? 128 : 0;
}

std::vector<std::string> features() {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) names.push_back(feature.name);
  return names;
}

bool in_code(std::string_view feature) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures),
                     [&](const Feature& row) { return feature == row.name; });
}

std::set<std::string> features_of(uint64_t hwcap, uint64_t hwcap2) {
  std::set<std::string> all;
  for (const Feature& row : kFeatures)
    if ((hwcap & row.hwcap) == row.hwcap && (hwcap2 & row.hwcap2) == row.hwcap2) all.insert(row.name);
  return all;
}

std::pair<uint64_t, uint64_t> hwcaps_of(const std::set<std::string>& features) {
  uint64_t hwcap = 0, hwcap2 = 0;
  for (const Feature& row : kFeatures) {
    if (!features.contains(row.name)) continue;
    hwcap |= row.hwcap;
    hwcap2 |= row.hwcap2;
  }
  return {hwcap, hwcap2};
}

std::string name_of(uint32_t midr, const std::set<std::string>& features) {
  const uint32_t implementer = midr >> 24, part = midr >> 4 & 0xfff;
  const auto core = std::find_if(std::begin(kCores), std::end(kCores),
                                 [&](const Core& row) { return row.implementer == implementer && row.part == part; });
  if (core == std::end(kCores)) return "";
  const std::string may_have = std::string(" ") + core->newest + " ";
  for (const char* feature : kNewest)
    if (features.contains(feature) && may_have.find(" " + std::string(feature) + " ") == std::string::npos) return "";
  return core->name;
}

}  // namespace tw::target::aarch64
