#include "src/target/catalog.h"

#include <set>

#include "src/target/aarch64.h"
#include "src/target/x86.h"

namespace tw::target {

namespace {

// Of AArch64 it knows no CPU, so that C is written for any.
class TableCatalog : public CpuCatalog {
 public:
  bool knows_triple(const std::string& triple) const override {
    return triple.starts_with("x86_64") || triple.starts_with("aarch64");
  }
  std::vector<std::string> cpus(const std::string& triple) const override {
    return triple.starts_with("x86_64") ? x86::cpus() : std::vector<std::string>{"generic"};
  }
  std::vector<std::string> features(const std::string& triple) const override {
    if (!triple.starts_with("x86_64")) return aarch64::features();
    std::vector<std::string> names(x86::not_in_code().begin(), x86::not_in_code().end());
    for (const x86::Feature& feature : x86::features()) names.push_back(feature.name);
    return names;
  }
  std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                   const std::vector<std::string>& attributes) const override {
    const bool x86 = triple.starts_with("x86_64");
    std::set<std::string> on = x86 ? x86::features_of(cpu) : std::set<std::string>{"fp-armv8", "neon"};
    for (const std::string& attribute : x86 ? x86::spelled_out(attributes) : attributes) {
      if (attribute[0] == '+') on.insert(attribute.substr(1));
      if (attribute[0] == '-') on.erase(attribute.substr(1));
    }
    return {on.begin(), on.end()};
  }
};

const CpuCatalog* registered = nullptr;

}  // namespace

void register_catalog(const CpuCatalog* catalog) { registered = catalog; }

const CpuCatalog& table_catalog() {
  static const TableCatalog tables;
  return tables;
}

const CpuCatalog& catalog() { return registered ? *registered : table_catalog(); }

}  // namespace tw::target
