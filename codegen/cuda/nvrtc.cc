#include "codegen/cuda/nvrtc.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <sstream>

#include "codegen/cuda/cubin_cache.h"

namespace tw::codegen {

namespace fs = std::filesystem;

namespace {

using NvrtcProgram = struct Opaque*;

// What we call of it; 0 is success everywhere.
struct Nvrtc {
  std::string path;
  int major = 0, minor = 0;
  int (*version)(int*, int*);
  int (*create)(NvrtcProgram*, const char* text, const char* name, int headers, const char* const*, const char* const*);
  int (*destroy)(NvrtcProgram*);
  int (*compile)(NvrtcProgram, int options, const char* const*);
  int (*cubin_size)(NvrtcProgram, size_t*);
  int (*cubin)(NvrtcProgram, char*);
  int (*ptx_size)(NvrtcProgram, size_t*);
  int (*ptx)(NvrtcProgram, char*);
  int (*log_size)(NvrtcProgram, size_t*);
  int (*log)(NvrtcProgram, char*);
  const char* (*error)(int);
};

struct Symbol {
  const char* name;
  void* (*set)(Nvrtc&, void*);
};

template <auto kMember>
void* set(Nvrtc& library, void* symbol) {
  library.*kMember = reinterpret_cast<std::remove_reference_t<decltype(library.*kMember)>>(symbol);
  return symbol;
}

const Symbol kSymbols[] = {
    {"nvrtcVersion", set<&Nvrtc::version>},
    {"nvrtcCreateProgram", set<&Nvrtc::create>},
    {"nvrtcDestroyProgram", set<&Nvrtc::destroy>},
    {"nvrtcCompileProgram", set<&Nvrtc::compile>},
    {"nvrtcGetCUBINSize", set<&Nvrtc::cubin_size>},
    {"nvrtcGetCUBIN", set<&Nvrtc::cubin>},
    {"nvrtcGetPTXSize", set<&Nvrtc::ptx_size>},
    {"nvrtcGetPTX", set<&Nvrtc::ptx>},
    {"nvrtcGetProgramLogSize", set<&Nvrtc::log_size>},
    {"nvrtcGetProgramLog", set<&Nvrtc::log>},
    {"nvrtcGetErrorString", set<&Nvrtc::error>},
};

std::mutex mutex;
std::vector<std::string> packages;  // under `mutex`
std::string told;                   // where it is; under `mutex`

std::vector<fs::path> files_in(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && name.find(".alt.") == name.npos) found.push_back(entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

// Where the library may be: absolute paths, then names for the dynamic linker.
std::vector<std::string> candidates() {
  std::vector<std::string> all;
  const char* chosen = std::getenv("TW_NVRTC");
  if (chosen && *chosen) return {chosen};
  if (!told.empty()) all.push_back(told);
  std::vector<fs::path> folders(packages.begin(), packages.end());
  if (const char* environment = std::getenv("VIRTUAL_ENV"))
    for (const fs::path& python : files_in(fs::path(environment) / "lib", "python"))
      folders.push_back(python / "site-packages");
  for (const fs::path& folder : folders)
    for (const char* below : {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"})
      for (const fs::path& file : files_in(folder / below, "libnvrtc.so")) all.push_back(file);
  for (const fs::path& file : files_in("/usr/local/cuda/lib64", "libnvrtc.so")) all.push_back(file);
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) all.emplace_back(name);
  return all;
}

// It looks for its builtins by name while it compiles, which the dynamic linker knows when they are loaded already.
void load_builtins(const fs::path& library) {
  if (!library.is_absolute()) return;
  const std::vector<fs::path> found = files_in(library.parent_path(), "libnvrtc-builtins.so");
  if (!found.empty()) dlopen(found.front().c_str(), RTLD_NOW | RTLD_LOCAL);
}

// Why it is not to be had; empty: it is open.
std::string open(const std::string& path, Nvrtc& out) {
  load_builtins(path);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  for (const Symbol& symbol : kSymbols)
    if (symbol.set(out, dlsym(library, symbol.name)) == nullptr)
      return path + " has no " + symbol.name + ": it is another library, or older than CUDA 11.1";
  if (out.version(&out.major, &out.minor) != 0) return path + " does not say its version";
  out.path = path;
  return "";
}

Result<const Nvrtc*> nvrtc() {
  static Nvrtc library;
  const std::lock_guard lock(mutex);
  if (!library.path.empty()) return &library;
  const std::vector<std::string> looked = candidates();
  std::vector<std::string> notes;
  for (const std::string& path : looked) {
    const std::string why = open(path, library);
    if (why.empty()) return &library;
    if (looked.size() == 1) notes.push_back("TW_NVRTC says that it is " + path);
    if (fs::path(path).is_absolute()) notes.push_back(why);  // the dynamic linker has none of the others
  }
  notes.insert(notes.end(),
               {"pip install nvidia-cuda-nvrtc brings it, and so does the CUDA toolkit; TW_NVRTC may name its library",
                "f.source(\"cuda\") shows the text without it"});
  return Diagnostic{ErrorKind::kBuild,
                    "build: code for CUDA devices is compiled by NVRTC, which was not found",
                    {},
                    std::move(notes)};
}

std::vector<std::string> flags_for(const std::string& arch) {
  return {"--fmad=false", "-arch=" + arch, "--ptxas-options=-v"};
}

// How long it took is another each time.
std::string without_times(const std::string& log) {
  std::string out;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.find("Compile time") == line.npos) out += line + "\n";
  return out;
}

std::string log_of(const Nvrtc& nvrtc, NvrtcProgram program) {
  size_t bytes = 0;
  if (nvrtc.log_size(program, &bytes) != 0 || bytes < 2) return "";
  std::string log(bytes, '\0');
  nvrtc.log(program, log.data());
  return without_times(log.c_str());  // what follows the text are zeros
}

// For all newer devices: an architecture's own instructions are no other's, and without them its PTX is that of the
// architecture without a letter. Empty: it has some.
std::string for_newer_devices(std::string ptx, const std::string& arch) {
  if (!arch.ends_with('a')) return ptx;
  for (const char* own : {"wgmma.", "setmaxnreg", "tcgen05."})
    if (ptx.find(own) != ptx.npos) return "";
  const std::string target = ".target " + arch;
  const size_t at = ptx.find(target);
  return at == ptx.npos ? "" : ptx.erase(at + target.size() - 1, 1);
}

std::string ptx_of(const Nvrtc& nvrtc, NvrtcProgram program, const std::string& arch) {
  size_t bytes = 0;
  if (nvrtc.ptx_size(program, &bytes) != 0 || bytes < 2) return "";
  std::string ptx(bytes, '\0');
  if (nvrtc.ptx(program, ptx.data()) != 0) return "";
  return for_newer_devices(ptx.c_str(), arch);  // it ends with a 0
}

constexpr int kInvalidOption = 5;  // of the three that it is given, only the architecture may be new to it

std::string version_of(const Nvrtc& nvrtc) { return std::to_string(nvrtc.major) + "." + std::to_string(nvrtc.minor); }

Diagnostic refused(const std::string& arch, const std::string& what, const std::string& log) {
  return {ErrorKind::kBuild, "build: NVRTC made no code for " + arch + ": " + what, {}, {log.substr(0, 2000)}};
}

Diagnostic unknown_to(const Nvrtc& nvrtc, const std::string& arch) {
  return {ErrorKind::kBuild,
          "build: NVRTC " + version_of(nvrtc) + " makes no code for " + arch,
          {},
          {"it is " + nvrtc.path,
           "pip install --upgrade nvidia-cuda-nvrtc brings a newer one; TW_NVRTC may name its library"}};
}

Result<runtime::cuda::Image> compile(const Nvrtc& nvrtc, const std::string& text, const std::string& arch) {
  NvrtcProgram program = nullptr;
  if (const int failed = nvrtc.create(&program, text.c_str(), "kernel.cu", 0, nullptr, nullptr))
    return refused(arch, nvrtc.error(failed), "");
  const std::shared_ptr<void> owned(program, [&](void*) { nvrtc.destroy(&program); });
  std::vector<const char*> options;
  const std::vector<std::string> flags = flags_for(arch);
  for (const std::string& flag : flags) options.push_back(flag.c_str());
  const int failed = nvrtc.compile(program, static_cast<int>(options.size()), options.data());
  runtime::cuda::Image image{arch, {}, log_of(nvrtc, program), {}};
  if (failed == kInvalidOption) return unknown_to(nvrtc, arch);
  if (failed) return refused(arch, nvrtc.error(failed), image.log);
  size_t bytes = 0;
  if (nvrtc.cubin_size(program, &bytes) != 0 || bytes == 0) return refused(arch, "an empty CUBIN", image.log);
  image.cubin.resize(bytes);
  if (nvrtc.cubin(program, image.cubin.data()) != 0) return refused(arch, "no CUBIN", image.log);
  image.ptx = ptx_of(nvrtc, program, arch);
  return image;
}

}  // namespace

void look_for_nvrtc_in(std::vector<std::string> package_folders) {
  const std::lock_guard lock(mutex);
  packages = std::move(package_folders);
}

void use_nvrtc(std::string path) {
  const std::lock_guard lock(mutex);
  told = std::move(path);
}

Result<std::string> nvrtc_path() {
  TW_TRY(const Nvrtc* library, nvrtc());
  return library->path;
}

Result<std::string> nvrtc_version() {
  TW_TRY(const Nvrtc* library, nvrtc());
  return "NVRTC " + version_of(*library) + " (" + library->path + ")";
}

Result<runtime::cuda::Image> compile_cuda(const std::string& text, const std::string& arch) {
  TW_TRY(const Nvrtc* library, nvrtc());
  std::string key = "NVRTC " + version_of(*library);
  for (const std::string& flag : flags_for(arch)) key += " " + flag;
  key += "\n" + text;
  if (std::optional<runtime::cuda::Image> cached = cached_image(key)) return *std::move(cached);
  TW_TRY(runtime::cuda::Image image, compile(*library, text, arch));
  cache_image(key, image);
  return image;
}

}  // namespace tw::codegen
