#include "src/target/catalog.h"

#include <set>

#include "src/target/aarch64.h"
#include "src/target/triple.h"
#include "src/target/x86.h"

namespace tw::target {

namespace {

struct Architecture {
  const char* name;
  std::vector<std::string> (*cpus)();
  std::vector<std::string> (*features)();
  std::set<std::string> (*features_of)(const std::string& cpu);
};

std::vector<std::string> generic() { return {"generic"}; }

std::vector<std::string> features_of_x86() {
  std::vector<std::string> names(x86::not_in_code().begin(), x86::not_in_code().end());
  for (const x86::Feature& feature : x86::features()) names.push_back(feature.name);
  return names;
}

// Of others than x86 it knows no CPU, so that C is written for any.
const Architecture kArchitectures[] = {
    {"x86_64", x86::cpus, features_of_x86, x86::features_of},
    {"aarch64", generic, aarch64::features,
     [](const std::string&) { return std::set<std::string>{"fp-armv8", "neon"}; }},
    {"arm", generic,
     [] { return std::vector<std::string>{"neon"}; },  // which TVM writes for boards; code has none of it
     [](const std::string&) { return std::set<std::string>(); }},
    {"riscv64", generic, [] { return std::vector<std::string>(); },
     [](const std::string&) { return std::set<std::string>(); }},
};

const Architecture* find(const std::string& triple) {
  for (const Architecture& row : kArchitectures)
    if (architecture_of(triple) == row.name) return &row;
  return nullptr;
}

class TableCatalog : public CpuCatalog {
 public:
  bool knows_triple(const std::string& triple) const override {
    const bool soft_floats = triple.starts_with("arm") && !triple.ends_with("hf");
    return find(triple) != nullptr && !soft_floats;
  }
  std::vector<std::string> cpus(const std::string& triple) const override { return find(triple)->cpus(); }
  std::vector<std::string> features(const std::string& triple) const override { return find(triple)->features(); }
  std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                   const std::vector<std::string>& attributes) const override {
    const bool x86 = triple.starts_with("x86_64");
    std::set<std::string> on = find(triple)->features_of(cpu);
    if (architecture_of(triple) == "arm") return {on.begin(), on.end()};
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

const CpuCatalog& catalog_for(std::string_view kind, const std::string& triple) {
  return kind == "llvm" || catalog().knows_triple(triple) ? catalog() : table_catalog();
}

}  // namespace tw::target
