#include "src/target/triple.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tw::target {

namespace {

constexpr std::pair<std::string_view, const char*> kAliases[] = {
    {"arm64", "aarch64"}, {"amd64", "x86_64"}, {"armv7l", "arm"}, {"armv7a", "arm"}, {"armv7", "arm"}};

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0, end = 0; end != std::string_view::npos; begin = end + 1) {
    end = text.find('-', begin);
    parts.emplace_back(text.substr(begin, end - begin));
  }
  return parts;
}

}  // namespace

std::string_view architecture_of(std::string_view triple) { return triple.substr(0, triple.find('-')); }

std::string normalised_triple(std::string_view text) {
  const std::vector<std::string> parts = parts_of(text);
  const auto system = std::find(parts.begin(), parts.end(), "linux");
  const auto before = system - parts.begin(), after = parts.end() - system;
  if (system == parts.end() || before < 1 || before > 2 || after > 2) return std::string(text);
  std::string architecture = parts[0];
  for (const auto& [alias, name] : kAliases)
    if (architecture == alias) architecture = name;
  const char* vendor = architecture == "x86_64" ? "-pc" : "-unknown";  // who put the system together makes no code
  return architecture + vendor + "-linux-" + (after == 2 ? parts.back() : "gnu");
}

}  // namespace tw::target
