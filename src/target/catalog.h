// What is known of CPUs: their names, their features, and which name stands for which features.
//
// The code generator knows best and registers its catalog when it is part of the process (codegen/llvm/catalog.cc). A
// process without one (tests of the lower layers, tw-worker) knows the levels of x86-64 and what the kernel says of
// this machine.
#pragma once

#include <string>
#include <vector>

namespace tw::target {

class CpuCatalog {
 public:
  virtual ~CpuCatalog() = default;
  virtual bool knows_triple(const std::string& triple) const = 0;
  virtual std::vector<std::string> cpus(const std::string& triple) const = 0;
  virtual std::vector<std::string> features(const std::string& triple) const = 0;
  // The features of a CPU after "+x" and "-y" were applied (with what they imply), sorted.
  virtual std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                           const std::vector<std::string>& attributes) const = 0;
  virtual std::string host_cpu() const = 0;
  virtual std::vector<std::string> host_attributes()
      const = 0;  // "+x" or "-x" for every feature that could be asked about
};

void register_catalog(const CpuCatalog* catalog);  // before main
const CpuCatalog& catalog();

// Whether the CPU that we run on has the feature, by the name that LLVM gives it.
bool host_has(const std::string& feature);

}  // namespace tw::target
