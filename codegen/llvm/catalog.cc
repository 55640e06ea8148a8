// LLVM's knowledge of CPUs, for Target::parse.
#include "src/target/catalog.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>
#include <set>

#include "codegen/llvm/compat.h"
#include "codegen/llvm/machine.h"
#include "src/target/cpu.h"
#include "src/target/triple.h"
#include "src/target/x86.h"

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

bool is_of_a_cpu(const llvm::MCSubtargetInfo& info, const llvm::SubtargetFeatureKV& feature) {
  for (const llvm::SubtargetSubTypeKV& cpu : info.getAllProcessorDescriptions())
    if (cpu.Implies.test(feature.Value)) return true;
  return false;
}

// What a CPU has or has not, and code may use. Features that say how to tune, modes and ways to harden code are no such
// facts; some facts are of no CPU that LLVM knows.
bool is_capability(const std::string& triple, const llvm::MCSubtargetInfo& info,
                   const llvm::SubtargetFeatureKV& feature) {
  if (std::string_view(feature.Key).ends_with("bit-mode") || !target::in_code(triple, feature.Key)) return false;
  return is_of_a_cpu(info, feature) || target::in_table(triple, feature.Key);
}

// Objects here are ELF, of 64 bits with pointers of 64: of a system or of none ("aarch64-none-elf"). A part that LLVM
// does not know is misspelt.
bool is_of_a_known_system(const llvm::Triple& triple) {
  const auto none = [](llvm::StringRef name) {
    return name.empty() || name == "unknown" || name == "none" || name == "elf";
  };
  const bool system = triple.getOS() != llvm::Triple::UnknownOS || none(triple.getOSName());
  const bool environment =
      triple.getEnvironment() != llvm::Triple::UnknownEnvironment || none(triple.getEnvironmentName());
  return system && environment && triple.isOSBinFormatELF() && !triple.isX32() &&
         triple.getEnvironment() != llvm::Triple::GNUILP32;
}

// Those that run code of 64 bits.
bool is_of_64_bits(const llvm::MCSubtargetInfo& info, const llvm::SubtargetSubTypeKV& cpu) {
  for (const llvm::SubtargetFeatureKV& feature : info.getAllProcessorFeatures())
    if (std::string_view(feature.Key) == "64bit") return cpu.Implies.test(feature.Value);
  return true;  // of an architecture that has no others
}

class LlvmCatalog : public target::CpuCatalog {
 public:
  bool knows_triple(const std::string& triple) const override {
    const std::string_view architecture = target::architecture_of(triple);
    return (architecture == "x86_64" || architecture == "aarch64") && is_of_a_known_system(llvm::Triple(triple)) &&
           subtarget(triple, "", "") != nullptr;
  }

  std::vector<std::string> cpus(const std::string& triple) const override {
    std::vector<std::string> names;
    const auto info = subtarget(triple, "", "");
    for (const llvm::SubtargetSubTypeKV& cpu : info->getAllProcessorDescriptions())
      if (is_of_64_bits(*info, cpu)) names.push_back(cpu.Key);
    return names;
  }

  std::vector<std::string> features(const std::string& triple) const override {
    std::set<std::string> names;
    const auto info = subtarget(triple, "", "");
    for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures())
      if (is_capability(triple, *info, feature) || is_of_a_cpu(*info, feature)) names.insert(feature.Key);
    for (const std::string& feature : target::table_catalog().features(triple)) names.insert(feature);
    return {names.begin(), names.end()};
  }

  std::vector<std::string> resolve(const std::string& triple, const std::string& cpu,
                                   const std::vector<std::string>& attributes) const override {
    std::string list;
    for (const std::string& attribute :
         triple.starts_with("x86_64") ? target::x86::spelled_out(attributes) : attributes)
      list += (list.empty() ? "" : ",") + attribute;
    const auto info = subtarget(triple, cpu, list);
    std::vector<std::string> names;
    for (const llvm::SubtargetFeatureKV& feature : info->getAllProcessorFeatures())
      if (info->getFeatureBits().test(feature.Value) && is_capability(triple, *info, feature))
        names.push_back(feature.Key);
    std::sort(names.begin(), names.end());
    return names;
  }
};

const LlvmCatalog catalog;
[[maybe_unused]] const bool registered = (target::register_catalog(&catalog), true);

}  // namespace

}  // namespace tw::codegen
