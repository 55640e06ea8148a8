#include "src/target/cpu.h"

#include <algorithm>

#include "src/target/aarch64.h"
#include "src/target/x86.h"

namespace tw::target {

namespace {

using x86::Register;
using x86::State;

constexpr uint64_t kYmmState = 0x6, kZmmState = 0xe6, kTileState = 0x60000, kApxState = 0x80000;  // bits of XCR0

uint32_t raw_answer(const CpuidRecord& record, uint32_t leaf, uint32_t subleaf, Register at) {
  for (const CpuidLeaf& row : record.leaves) {
    if (row.leaf != leaf || row.subleaf != subleaf) continue;
    return at == Register::kEax ? row.eax : at == Register::kEbx ? row.ebx : at == Register::kEcx ? row.ecx : row.edx;
  }
  return 0;
}

// 0 past the highest leaf and subleaf that the CPU says it has: there CPUID answers of another.
uint32_t answer(const CpuidRecord& record, uint32_t leaf, uint32_t subleaf, Register at) {
  constexpr uint32_t kExtended = 0x80000000;
  if (leaf < kExtended && leaf > raw_answer(record, 0, 0, Register::kEax)) return 0;
  if (leaf == 7 && subleaf > raw_answer(record, 7, 0, Register::kEax)) return 0;
  return raw_answer(record, leaf, subleaf, at);
}

bool bit(const CpuidRecord& record, uint32_t leaf, uint32_t subleaf, Register at, int number) {
  return (answer(record, leaf, subleaf, at) >> number & 1) != 0;
}

bool saved(const CpuidRecord& record, State state) {
  const bool system_uses_xsave = bit(record, 1, 0, Register::kEcx, 27);
  const auto saves = [&](uint64_t bits) { return system_uses_xsave && (record.xcr0 & bits) == bits; };
  switch (state) {
    case State::kNone:
      return true;
    case State::kYmm:
      return saves(kYmmState);
    case State::kZmm:
      return saves(kZmmState);
    case State::kTiles:
      return saves(kTileState) && record.grants_tiles;
    case State::kApx:
      return saves(kApxState);
  }
  return false;
}

bool has_avx10(const CpuidRecord& record) {
  const uint32_t converged = answer(record, 0x24, 0, Register::kEbx);
  const bool vectors_of_512_bits = (converged >> 18 & 1) != 0;
  return bit(record, 7, 1, Register::kEdx, 19) && (converged & 0xff) >= 1 && vectors_of_512_bits;
}

bool says(const CpuidRecord& record, const x86::Feature& feature) {
  if (bit(record, feature.leaf, feature.subleaf, feature.at, feature.bit)) return true;
  return has_avx10(record) && x86::avx10_1().contains(feature.name);
}

// Without those whose foundations are missing: to a compiler a feature stands for what it is built on.
std::set<std::string> x86_features(const CpuidRecord& record) {
  std::set<std::string> said;
  for (const x86::Feature& feature : x86::features())
    if (says(record, feature) && saved(record, feature.state)) said.insert(feature.name);
  std::set<std::string> all;
  for (const std::string& feature : said) {
    const std::set<std::string> needed = x86::with_needed(feature);
    if (std::includes(said.begin(), said.end(), needed.begin(), needed.end())) all.insert(feature);
  }
  return all;
}

std::string vendor_of(const CpuidRecord& record) {
  std::string vendor;
  for (const Register at : {Register::kEbx, Register::kEdx, Register::kEcx})
    for (int byte = 0; byte < 4; ++byte) vendor += static_cast<char>(answer(record, 0, 0, at) >> 8 * byte & 0xff);
  return vendor;
}

std::vector<std::string> x86_names(const CpuidRecord& record) {
  const uint32_t signature = answer(record, 1, 0, Register::kEax);
  int family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;
  if (family == 6 || family == 15) model += (signature >> 16 & 0xf) << 4;
  if (family == 15) family += signature >> 20 & 0xff;
  return x86::names_of(vendor_of(record), family, model);
}

}  // namespace

bool Cpu::has(std::string_view feature) const { return std::binary_search(features.begin(), features.end(), feature); }

Cpu cpu_of(const CpuidRecord& record) {
  Cpu cpu;
  const std::set<std::string> all = x86_features(record);
  cpu.triple = "x86_64-pc-linux-gnu";
  cpu.features = {all.begin(), all.end()};
  std::set<std::string> asked = all;
  for (const x86::Feature& feature : x86::features())
    if (feature.on_request) asked.erase(feature.name);
  cpu.asked = {asked.begin(), asked.end()};
  cpu.level = cpu.name = x86::level_of(asked);
  const std::vector<std::string> names = x86_names(record);
  if (!names.empty()) cpu.model = names.back();
  for (const std::string& name : names) {
    const std::set<std::string> has = x86::features_of(name);
    if (!std::includes(has.begin(), has.end(), asked.begin(), asked.end())) continue;
    cpu.name = name;
    break;
  }
  return cpu;
}

Cpu cpu_of(const HwcapRecord& record) {
  Cpu cpu;
  cpu.triple = "aarch64-unknown-linux-gnu";
  const std::set<std::string> all = aarch64::features_of(record.hwcap, record.hwcap2);
  cpu.features = cpu.asked = {all.begin(), all.end()};
  if (cpu.has("sve")) cpu.sve_bits = record.sve_bits;
  cpu.level = "generic";
  cpu.model = aarch64::name_of(record.midr, {});
  cpu.name = aarch64::name_of(record.midr, all);
  if (cpu.name.empty()) cpu.name = cpu.level;
  return cpu;
}

std::vector<std::string> missing_on(const Cpu& cpu, const std::vector<std::string>& features, int sve_bits) {
  std::vector<std::string> missing;
  for (const std::string& feature : features)
    if (in_code(cpu.triple, feature) && !cpu.has(feature)) missing.push_back(feature);
  if (sve_bits == 0 || sve_bits == cpu.sve_bits) return missing;
  const std::string length = "SVE vectors of " + std::to_string(sve_bits) + " bits";
  missing.push_back(cpu.sve_bits == 0 ? length : length + " (they have " + std::to_string(cpu.sve_bits) + ")");
  return missing;
}

bool in_code(std::string_view triple, std::string_view feature) {
  return triple.starts_with("aarch64") ? aarch64::in_code(feature) : x86::in_code(feature);
}

bool in_table(std::string_view triple, std::string_view feature) {
  if (triple.starts_with("aarch64")) return aarch64::in_code(feature);
  const std::vector<x86::Feature>& table = x86::features();
  return std::any_of(table.begin(), table.end(), [&](const x86::Feature& row) { return feature == row.name; });
}

}  // namespace tw::target
