// Images, which hold the programs of launches (codegen/cuda/program_image.h), and the functions in them.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "src/ir/parse.h"
#include "src/target/cuda.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace tw::fake {

namespace {

std::vector<std::unique_ptr<Image>> images;  // that were loaded
std::map<std::pair<const ir::Program*, std::string>, std::unique_ptr<LoadedFunction>> functions;

// Whether the device that is pretended takes code of the architecture, or what drivers of all newer ones translate.
bool takes(std::string_view kind, std::string_view arch) {
  const auto [major, minor] = capability();
  if (kind == "of") return tw::target::cuda::runs(tw::target::cuda::architecture_of(major, minor), arch);
  const auto least = tw::target::cuda::capability_of(arch);
  return kind == "since" && std::pair(major, minor) >= std::pair(least.major, least.minor);
}

bool read_programs(const char* text, Image& out) {
  constexpr std::string_view kMagic = "tensorwright programs ";
  std::string_view rest(text);
  if (!rest.starts_with(kMagic)) return false;
  const std::string_view who = rest.substr(kMagic.size(), rest.find('\n') - kMagic.size());
  const size_t space = who.find(' ');
  if (space == who.npos || !takes(who.substr(0, space), who.substr(space + 1))) return false;
  rest.remove_prefix(rest.find('\n') + 1);
  while (!rest.empty()) {
    const size_t end = rest.find('\n'),
                 bytes = static_cast<size_t>(std::atoll(std::string(rest.substr(0, end)).c_str()));
    auto program = ir::parse_program(rest.substr(end + 1, bytes));
    if (!program.ok()) {
      std::fprintf(stderr, "fake CUDA: %s\n", program.error().render().c_str());
      return false;
    }
    out.programs.push_back(*std::move(program));
    rest.remove_prefix(end + 1 + bytes);
  }
  return true;
}

}  // namespace

extern "C" {

Code cuModuleLoadData(LoadedModule* out, const void* text) {
  auto image = std::make_unique<Image>();
  const std::string_view image_text = static_cast<const char*>(text);
  if (image_text.find(".version ") != image_text.npos) return kNewerText;  // what a compiler of newer drivers made
  if (!read_programs(static_cast<const char*>(text), *image)) return kNoBinary;
  const std::lock_guard lock(mutex);
  *out = reinterpret_cast<LoadedModule>(images.emplace_back(std::move(image)).get());
  return 0;
}
// Programs stay: a function may be held by who asks for it in vain.
Code cuModuleUnload(LoadedModule) { return 0; }
Code cuModuleGetFunction(Function* out, LoadedModule module, const char* name) {
  const std::lock_guard lock(mutex);
  for (const tw::ir::Program& program : reinterpret_cast<Image*>(module)->programs) {
    if (program.name != name) continue;
    std::unique_ptr<LoadedFunction>& function = functions[{&program, name}];
    if (!function) function = std::make_unique<LoadedFunction>(LoadedFunction{&program});
    *out = reinterpret_cast<Function>(function.get());
    return 0;
  }
  return kNotFound;
}
Code cuFuncSetAttribute(Function function, int attribute, int value) {
  if (attribute != kDynamicSharedBytes || value > 232448) return kInvalid;
  reinterpret_cast<LoadedFunction*>(function)->dynamic_bytes = value;
  return 0;
}

}  // extern "C"

}  // namespace tw::fake
