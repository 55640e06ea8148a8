#include "src/runtime/elf_image.h"
#include "src/runtime/linking.h"

namespace tw::runtime {
namespace {

Result<std::unique_ptr<Image>> load(const Blob& object) { return map_elf(object.bytes()); }

Result<Externs> no_externs(const std::string& kernel, const std::vector<std::string>& symbols) {
  if (symbols.empty()) return Externs{};
  std::string listed;
  for (const std::string& symbol : symbols) listed += (listed.empty() ? "" : ", ") + symbol;
  return Diagnostic{ErrorKind::kBuild, kernel + ": calls " + listed + ", and there are no C functions here", {}, {}};
}

}  // namespace

Linking without_dynamic_linker() { return {load, no_externs}; }

}  // namespace tw::runtime
