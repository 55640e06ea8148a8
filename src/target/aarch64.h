// The features of AArch64 that code may use, as Linux's HWCAP bits, and the cores that -mcpu=native names.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tw::target::aarch64 {

std::vector<std::string> features();
bool in_code(std::string_view feature);
std::set<std::string> features_of(uint64_t hwcap, uint64_t hwcap2);
// The bits of AT_HWCAP and AT_HWCAP2 that all of these features together stand for.
std::pair<uint64_t, uint64_t> hwcaps_of(const std::set<std::string>& features);
// Empty: a core that is not known, or with features that it never had.
std::string name_of(uint32_t midr, const std::set<std::string>& features);
// What LLVM calls the cores of a product that compilers take as a name; others as they are.
std::string_view core_of(std::string_view name);
// The length of SVE's vectors in all cores of that name; 0 where it is not known, or there is no SVE.
int sve_bits_of(std::string_view cpu);

}  // namespace tw::target::aarch64
