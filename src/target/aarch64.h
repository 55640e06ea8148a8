// The features of AArch64 that code may use, as Linux's HWCAP bits, and the cores that -mcpu=native names.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tw::target::aarch64 {

std::vector<std::string> features();
bool in_code(std::string_view feature);
std::set<std::string> features_of(uint64_t hwcap, uint64_t hwcap2);
// Empty: a core that is not known, or with features that it never had.
std::string name_of(uint32_t midr, const std::set<std::string>& features);

}  // namespace tw::target::aarch64
