// LLVM's knowledge of CPUs, for Target::parse.
#include "src/target/catalog.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/machine.h"

namespace tw::codegen {

namespace {

std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const std::string& triple, const std::string& cpu,
                                                 const std::string& features) {
  initialize_llvm();
  std::string error;
  const llvm::Target* target = compat::lookup_target(triple, error);
  if (!target) return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target->createMCSubtargetInfo(compat::triple_argument(triple), cpu, features));
}

// Features that say how to tune, and modes, are not facts about what the CPU has.
bool is_capability(const llvm::MCSubtargetInfo& info, const llvm::SubtargetFeatureKV& feature) {
  if (std::string_view(feature.Key).ends_with("bit-mode")) return false;
  bool tuning = false;
  for (const llvm::SubtargetSubTypeKV& cpu : info.getAllProcessorDescriptions()) {
    if (cpu.Implies.test(feature.Value)) return true;
    tuning = tuning || cpu.TuneImplies.test(feature.Value);
  }
  return !tuning;
}

class LlvmCatalog : public target::CpuCatalog {
 public:
  bool knows_triple(const std::string& triple) const override {
    return (triple.starts_with("x86_64-") || triple.starts_with("aarch64-")) && subtarget(triple, "", "") != nullptr;
  }

  std::vector<std::string> cpus(const std::string& triple) const override {
    std::vector<std::string> names;
    for (const llvm::SubtargetSubTypeKV& cpu : subtarget(triple, "", "")->getAllProcessorDescriptions())
      names.push_back(cpu.Key);
    return names;
  }

  std::vector<std::string> features(const std::string& triple) const override {
    std::vector<std::string> names;
    const auto info = subtarget(triple, "", "");
    for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures())
      if (is_capability(*info, feature)) names.push_back(feature.Key);
    return names;
  }

  std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                   const std::vector<std::string>& attributes) const override {
    std::string list;
    for (const std::string& attribute : attributes) list += (list.empty() ? "" : ",") + attribute;
    const auto info = subtarget(triple, cpu, list);
    std::vector<std::string> names;
    for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures())
      if (info->getFeatureBits().test(feature.Value) && is_capability(*info, feature)) names.push_back(feature.Key);
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string host_cpu() const override { return llvm::sys::getHostCPUName().str(); }

  std::vector<std::string> host_attributes() const override {
    std::vector<std::string> attributes;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      attributes.push_back((feature.second ? "+" : "-") + feature.first().str());
    std::sort(attributes.begin(), attributes.end(), [](const auto& a, const auto& b) { return a[0] > b[0]; });
    return attributes;
  }
};

const LlvmCatalog catalog;
[[maybe_unused]] const bool registered = (target::register_catalog(&catalog), true);

}  // namespace

}  // namespace tw::codegen
