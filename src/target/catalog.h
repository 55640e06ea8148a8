// What is known of CPUs: their names, and which name stands for which features that code may use (in_code of cpu.h).
//
// The code generator knows most and registers its catalog when it is part of the process (codegen/llvm/catalog.cc). A
// process without one (tests of the lower layers, tw-worker) knows the CPUs of the tables beside this file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tw::target {

class CpuCatalog {
 public:
  virtual ~CpuCatalog() = default;
  virtual bool knows_triple(const std::string& triple) const = 0;
  virtual std::vector<std::string> cpus(const std::string& triple) const = 0;
  // Names that an attribute may have, those among them that code has none of.
  virtual std::vector<std::string> features(const std::string& triple) const = 0;
  // The features of a CPU after "+x" and "-y" were applied (with what they imply), sorted.
  virtual std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                           const std::vector<std::string>& attributes) const = 0;
};

void register_catalog(const CpuCatalog* catalog);  // before main
const CpuCatalog& catalog();
const CpuCatalog& table_catalog();
// Of code of a kind. C is made for architectures, too, that no code generator of ours knows.
const CpuCatalog& catalog_for(std::string_view kind, const std::string& triple);

}  // namespace tw::target
