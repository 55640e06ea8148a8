#include "src/runtime/kernel_names.h"

#include <algorithm>

#include "src/support/nearest.h"
#include "tensorwright/kernel_abi.h"

namespace tw::runtime {
namespace {

std::vector<std::string> kernels_among(const std::vector<std::string>& symbols) {
  const std::string prefix = TW_KERNEL_PREFIX, suffix = "_descriptor";
  std::vector<std::string> names;
  for (const std::string& symbol : symbols)
    if (symbol.starts_with(prefix) && symbol.ends_with(suffix) && symbol.size() > prefix.size() + suffix.size())
      names.push_back(symbol.substr(prefix.size(), symbol.size() - prefix.size() - suffix.size()));
  return names;
}

// A kernel counts as one with those that pack for it.
std::vector<std::string> without_packers(std::vector<std::string> names) {
  const std::vector<std::string> all = names;
  std::erase_if(names, [&](const std::string& name) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& k) { return name.starts_with(k + "_pack_"); });
  });
  return names;
}

}  // namespace

Result<std::string> choose_kernel(const std::vector<std::string>& symbols, const std::string& wanted,
                                  const std::string& object, const std::string& how_to_say) {
  const auto refuse = [&](const std::string& why, std::vector<std::string> notes) {
    return Diagnostic{ErrorKind::kBuild, object + " " + why, {}, std::move(notes)};
  };
  const std::vector<std::string> names = kernels_among(symbols);
  if (names.empty()) return refuse("has no kernel", {"expected a shared object that f.save(\"name.so\") wrote"});
  std::string listed;
  for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
  const std::vector<std::string> callable = without_packers(names);
  if (wanted.empty() && callable.size() == 1) return callable[0];
  if (wanted.empty()) return refuse("has several kernels: " + listed, {how_to_say});
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  return refuse("has no kernel " + wanted, {"it has " + listed, support::did_you_mean(wanted, names)});
}

}  // namespace tw::runtime
