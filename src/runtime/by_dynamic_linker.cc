#include <dlfcn.h>

#include "src/runtime/linking.h"

namespace tw::runtime {
namespace {

class DynamicImage final : public Image {
 public:
  explicit DynamicImage(void* library) : library_(library) {}
  void* symbol(const std::string& name) const override { return dlsym(library_, name.c_str()); }

 private:
  void* library_;  // never closed: that would run code of the candidate over what it may have damaged
};

Result<std::unique_ptr<Image>> load(const Blob& object) {
  const std::string path = "/proc/self/fd/" + std::to_string(object.descriptor());
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return Diagnostic{ErrorKind::kBuild, dlerror(), {}, {}};
  return std::unique_ptr<Image>(std::make_unique<DynamicImage>(library));
}

}  // namespace

Linking by_dynamic_linker() { return {load, find_externs}; }

}  // namespace tw::runtime
