#include "src/target/catalog.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace tw::target {

namespace {

// sse4_1, sse4.1 -> sse41: the kernel and LLVM separate differently.
std::string plain(std::string name) {
  std::erase_if(name, [](char c) { return c == '_' || c == '.'; });
  return name;
}

std::set<std::string> read_host_flags() {
  std::set<std::string> flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) flags.insert(plain(word));
    break;
  }
  if (flags.contains("pni")) flags.insert("sse3");
  if (flags.contains("abm")) flags.insert("lzcnt");
  if (flags.contains("bmi1")) flags.insert("bmi");
  return flags;
}

struct Level {
  const char* name;
  std::vector<std::string> adds;
};

const std::vector<Level>& levels() {
  static const std::vector<Level> table = {
      {"x86-64", {"sse", "sse2"}},
      {"x86-64-v2", {"popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"}},
      {"x86-64-v3", {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}},
      {"x86-64-v4", {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}},
  };
  return table;
}

// Of aarch64 it knows that there is one, so that C is written for it.
class LevelCatalog : public CpuCatalog {
 public:
  bool knows_triple(const std::string& triple) const override {
    return triple.starts_with("x86_64") || triple.starts_with("aarch64");
  }
  std::vector<std::string> cpus(const std::string& triple) const override {
    if (!triple.starts_with("x86_64")) return {"generic"};
    std::vector<std::string> names;
    for (const Level& level : levels()) names.push_back(level.name);
    return names;
  }
  std::vector<std::string> features(const std::string& triple) const override {
    if (!triple.starts_with("x86_64")) return {};
    return resolve(triple, levels().back().name, {});
  }
  std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                   const std::vector<std::string>& attributes) const override {
    if (!triple.starts_with("x86_64")) return {};
    std::set<std::string> on;
    for (const Level& level : levels()) {
      on.insert(level.adds.begin(), level.adds.end());
      if (cpu == level.name) break;
    }
    for (const std::string& attribute : attributes) {
      if (attribute[0] == '+') on.insert(attribute.substr(1));
      if (attribute[0] == '-') on.erase(attribute.substr(1));
    }
    if (!on.contains("avx512f")) std::erase_if(on, [](const std::string& f) { return f.starts_with("avx512"); });
    return {on.begin(), on.end()};
  }
  std::string host_cpu() const override {
#if defined(__aarch64__)
    return "generic";
#endif
    std::string best = levels().front().name;
    for (const Level& level : levels()) {
      if (!std::all_of(level.adds.begin(), level.adds.end(), host_has)) break;
      best = level.name;
    }
    return best;
  }
  std::vector<std::string> host_attributes() const override { return {}; }
};

const CpuCatalog* registered = nullptr;

}  // namespace

bool host_has(const std::string& feature) {
  static const std::set<std::string> flags = read_host_flags();
  return flags.contains(plain(feature));
}

void register_catalog(const CpuCatalog* catalog) { registered = catalog; }

const CpuCatalog& catalog() {
  static const LevelCatalog levels_only;
  return registered ? *registered : levels_only;
}

}  // namespace tw::target
