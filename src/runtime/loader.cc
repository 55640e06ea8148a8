// Loads a kernel from a shared object: its descriptor symbol says what it takes and which CPU it needs.

#include <dlfcn.h>

#include <atomic>
#include <filesystem>

#include "src/runtime/elf_symbols.h"
#include "src/runtime/find_externs.h"
#include "src/runtime/kernel.h"
#include "src/runtime/kernel_names.h"

namespace tw::runtime {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kBuild, "load: " + path + " " + why, {}, std::move(notes)});
}

void require_cpu(const std::string& path, const tw_kernel_descriptor& descriptor) {
  const std::string missing = lacking_here(descriptor);
  if (missing.empty()) return;
  refuse(path, "was built for " + std::string(descriptor.target), {"this CPU does not have " + missing});
}

// The kernels of a library by their names.
class Library {
 public:
  Library(std::string path, std::shared_ptr<void> handle) : path_(std::move(path)), handle_(std::move(handle)) {}

  std::shared_ptr<const Kernel> kernel(const std::string& name, bool packs = false) const {
    const auto* descriptor =
        static_cast<const tw_kernel_descriptor*>(dlsym(handle_.get(), descriptor_symbol(name).c_str()));
    const auto fn = reinterpret_cast<KernelFn>(dlsym(handle_.get(), kernel_symbol(name).c_str()));
    if (!descriptor || !fn) refuse(path_, "has a descriptor of " + name + " but no code for it");
    KernelSpecs specs = specs_of(*descriptor).value_or_throw();
    require_cpu(path_, *descriptor);
    if (packs && !specs.packers.empty()) refuse(path_, "has a kernel that packs and takes packed arrays: " + name);
    Packers packers;
    for (const std::string& packer : specs.packers) packers.push_back(packer.empty() ? nullptr : kernel(packer, true));
    return make_kernel(fn, std::move(specs.args), descriptor->name, handle_, std::move(specs.scalars),
                       find_externs(descriptor->name, specs.externs).value_or_throw(), std::move(packers),
                       std::move(specs.requirements));
  }

 private:
  std::string path_;
  std::shared_ptr<void> handle_;
};

// A spelling of an absolute path that no earlier load has used: the dynamic linker takes the library that it has for a
// name that it knows, also where another file has come into the place. Libraries of one file are the same all the same.
std::string spelled_anew(const std::filesystem::path& file) {
  static std::atomic<uint64_t> loads = 0;
  std::string spelled = file.parent_path().string();
  for (uint64_t n = ++loads; n > 0; n /= 2) spelled += n % 2 ? "/." : "/";
  return spelled + "/" + file.filename().string();
}

}  // namespace

std::shared_ptr<const Kernel> load(const std::string& path, const std::string& name) {
  // A path without a slash would be searched for in the system's folders.
  std::error_code ignored;
  const std::string file = std::filesystem::absolute(path, ignored).string();
  if (!std::filesystem::is_regular_file(file, ignored)) refuse(path, "is not a file");
  if (const auto machine = machine_of(file); machine && *machine != kMachine)
    refuse(path, "is for another machine",
           {"it is " + machine_name(*machine) + " code, and this is an " + machine_name(kMachine) + " machine"});
  const std::string chosen =
      choose_kernel(defined_symbols(file), name, "load: " + path, "say which: load(path, name)").value_or_throw();

  const std::shared_ptr<void> library(dlopen(spelled_anew(file).c_str(), RTLD_NOW | RTLD_LOCAL), [](void* handle) {
    if (handle) dlclose(handle);
  });
  if (!library) refuse(path, "cannot be loaded", {dlerror()});
  return Library(path, library).kernel(chosen);
}

}  // namespace tw::runtime
