#include "codegen/library.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "codegen/arg_specs.h"
#include "codegen/c_header.h"
#include "codegen/device_object.h"
#include "codegen/kernel_name.h"
#include "src/ir/externs.h"
#include "src/ir/tile_products.h"
#include "src/support/in_parallel.h"
#include "src/target/cuda.h"
#include "src/target/triple.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif

namespace tw::codegen {

namespace {

Diagnostic refusal(ErrorKind kind, std::string what, std::vector<std::string> notes = {}) {
  return {kind, "library: " + std::move(what), {}, std::move(notes)};
}

bool is_device(const Target& target) { return target.abilities.device.has_value(); }

std::string identifier(std::string text) {
  for (char& c : text)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return text;
}

std::string symbol_name(const LibraryKernel& kernel, const Target& target, const LibraryOptions& options) {
  return options.prefix + kernel.name + "__" + identifier(short_name(target));
}

// What code of the program may use on that target.
std::set<std::string> needs(const Target& target, const ir::Program& program) {
  if (is_device(target)) {  // the newer architecture has all of the older one
    std::set<std::string> older;
    for (const std::string& arch : target::cuda::architectures()) {
      older.insert(arch);
      if (arch == target.arch) return older;
    }
  }
  std::set<std::string> all(target.features.begin(), target.features.end());
  if (!ir::has_tile_product(program.body)) std::erase_if(all, [](const auto& f) { return f.starts_with("amx-"); });
  return all;
}

bool runs_on(const Target& machine, const LibraryVariant& variant) {
  const std::set<std::string> wanted = needs(variant.target, variant.program);
  const bool has_length = variant.target.sve_bits == 0 || variant.target.sve_bits == machine.sve_bits;
  return has_length && std::all_of(wanted.begin(), wanted.end(), [&](const std::string& f) { return machine.has(f); });
}

// A parameter as callers see it. How an input is packed is each variant's own.
std::string signature(const ir::Program& program) {
  std::string text;
  for (const ir::Param& param : program.params) {
    const ir::Buffer& buffer = param.outside();
    text += buffer.name() + ": " + to_string(buffer.element());
    if (!param.layout.empty()) text += ", packed";
    for (size_t d = 0; param.layout.empty() && d < buffer.rank(); ++d)
      text += (d ? ", " : "[") + ir::to_string(buffer.shape()[d]) + (d + 1 == buffer.rank() ? "]" : "");
    text += param.written ? " out; " : "; ";
  }
  for (size_t s = 0; s < program.scalars.size(); ++s)
    text += program.scalars[s].name() + ": " + to_string(program.scalars[s].type()) +
            (s < program.places.size() ? " at " + std::to_string(program.places[s]) : "") + "; ";
  return text;
}

Status check_text(const std::string& what, const std::string& text, const char* more) {
  const bool good = std::all_of(text.begin(), text.end(), [&](char c) {
    return isalnum(static_cast<unsigned char>(c)) || c == '_' ||
           std::string_view(more).find(c) != std::string_view::npos;
  });
  if (good) return Unit{};
  return refusal(ErrorKind::kArgument, what + " must be letters, digits and _" +
                                           (*more ? std::string(", ") + more : "") + ", not \"" + text + "\"");
}

Status check_target(const LibraryKernel& kernel, const Target& target, const std::string& architecture) {
  if (is_device(target) != is_device(kernel.variants[0].target))
    return refusal(ErrorKind::kTarget, kernel.name + ": its variants must be for CPUs or for GPUs, not for both",
                   {"give the kernel for the GPU a name of its own"});
  if (is_device(target)) return Unit{};
  if (target.kind != "llvm")
    return refusal(ErrorKind::kTarget,
                   kernel.name + ": variants are made by target llvm, not by \"" + target.to_string() + "\"");
  const std::string own(target::architecture_of(target.triple));
  if (own != architecture)
    return refusal(ErrorKind::kTarget,
                   kernel.name + ": a library is of one architecture, not of " + architecture + " and " + own,
                   {"make one for each"});
  return Unit{};
}

Status check_externs(const LibraryKernel& kernel, const LibraryVariant& variant, const LibraryOptions& options) {
  for (const std::string& symbol : ir::extern_symbols(variant.program)) {
    if (std::find(options.externs.begin(), options.externs.end(), symbol) != options.externs.end()) continue;
    return refusal(ErrorKind::kArgument,
                   kernel.name + ": it calls the C function " + symbol + ", of which the library says nothing",
                   {"name it among the externs: whoever calls the kernel brings it"});
  }
  return Unit{};
}

Status check_variants(const LibraryKernel& kernel, const LibraryOptions& options, const std::string& architecture) {
  if (kernel.variants.empty())
    return refusal(ErrorKind::kArgument, kernel.name + ": there must be at least one variant");
  std::set<std::string> seen;
  for (const LibraryVariant& variant : kernel.variants) {
    TW_TRY([[maybe_unused]] Unit target, check_target(kernel, variant.target, architecture));
    TW_TRY([[maybe_unused]] Unit externs, check_externs(kernel, variant, options));
    if (!seen.insert(identifier(short_name(variant.target))).second)
      return refusal(ErrorKind::kArgument, kernel.name + ": there are two variants for " + variant.target.to_string());
    const std::string expected = signature(kernel.variants[0].program), got = signature(variant.program);
    if (expected != got)
      return refusal(ErrorKind::kArgument,
                     kernel.name + ": its variants must take the same, not \"" + expected + "\" and \"" + got + "\"");
  }
  return Unit{};
}

// Those that ask for most first; of as many the one that was given last.
void put_best_first(LibraryKernel& kernel) {
  std::reverse(kernel.variants.begin(), kernel.variants.end());
  std::stable_sort(kernel.variants.begin(), kernel.variants.end(),
                   [](const LibraryVariant& a, const LibraryVariant& b) {
                     return needs(a.target, a.program).size() > needs(b.target, b.program).size();
                   });
}

Status check_baseline(const LibraryKernel& kernel, const LibraryOptions& options) {
  if (!options.baseline || is_device(kernel.variants[0].target)) return Unit{};
  TW_TRY(
      [[maybe_unused]] Unit target,
      check_target(kernel, *options.baseline, std::string(target::architecture_of(kernel.variants[0].target.triple))));
  for (size_t i = 0; i < kernel.variants.size(); ++i) {
    if (!runs_on(*options.baseline, kernel.variants[i])) continue;
    if (i + 1 == kernel.variants.size()) return Unit{};
    return refusal(ErrorKind::kArgument,
                   kernel.name + ": the variant for " + kernel.variants[i + 1].target.to_string() +
                       " is never called, as all CPUs have what " + kernel.variants[i].target.to_string() + " asks for",
                   {"leave it out, or lower the baseline"});
  }
  return refusal(ErrorKind::kArgument,
                 kernel.name + ": no variant runs on every CPU of the baseline " + options.baseline->to_string(),
                 {"add one for it"});
}

// A program and its packers by the names that the object has them by.
std::vector<ir::Program> named_programs(const LibraryKernel& kernel, const LibraryVariant& variant,
                                        const LibraryOptions& options) {
  std::vector<ir::Program> programs = {variant.program};
  programs.insert(programs.end(), variant.packers.begin(), variant.packers.end());
  const std::string symbol = symbol_name(kernel, variant.target, options);
  for (ir::Program& program : programs) {
    TW_CHECK(program.name.starts_with(variant.program.name), program.name);
    program.name = symbol + program.name.substr(variant.program.name.size());
  }
  return programs;
}

std::vector<HeaderKernel> header_kernels(const LibraryKernel& kernel, const LibraryOptions& options) {
  std::vector<HeaderKernel> all;
  for (const LibraryVariant& variant : kernel.variants) {
    const std::vector<ir::Program> programs = named_programs(kernel, variant, options);
    all.resize(std::max(all.size(), programs.size()));
    for (size_t i = 0; i < programs.size(); ++i) {
      all[i].name = options.prefix + kernel.name + programs[i].name.substr(programs[0].name.size());
      all[i].variants.push_back({variant.target, programs[i], i == 0 ? variant.origin : ""});
    }
  }
  return all;
}

std::vector<HeaderKernel> header_kernels(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options) {
  std::vector<HeaderKernel> all;
  for (const LibraryKernel& kernel : kernels)
    for (HeaderKernel& part : header_kernels(kernel, options)) all.push_back(std::move(part));
  return all;
}

Status check_packers(const LibraryKernel& kernel) {
  for (const LibraryVariant& variant : kernel.variants) {
    size_t packed = 0;
    for (const ir::Param& param : variant.program.params) packed += !param.layout.empty();
    if (packed == variant.packers.size()) continue;
    return refusal(ErrorKind::kArgument, kernel.name + ": its variant for " + variant.target.to_string() + " takes " +
                                             std::to_string(packed) + " packed inputs, and " +
                                             std::to_string(variant.packers.size()) + " kernels that pack are given");
  }
  return Unit{};
}

}  // namespace

Result<std::vector<LibraryKernel>> checked_library(const std::vector<LibraryKernel>& kernels,
                                                   const LibraryOptions& options) {
  if (kernels.empty()) return refusal(ErrorKind::kArgument, "there must be at least one kernel");
  TW_TRY([[maybe_unused]] Unit name, check_text("its name", options.name, ".-+"));
  TW_TRY([[maybe_unused]] Unit prefix, check_text("the prefix", options.prefix, ""));
  std::set<std::string> names;
  for (const LibraryKernel& kernel : kernels) {
    TW_TRY([[maybe_unused]] Unit identifier, check_kernel_name(options.prefix + kernel.name));
    if (!names.insert(kernel.name).second)
      return refusal(ErrorKind::kArgument, "kernels must have different names, not two " + kernel.name);
  }
  std::string architecture;
  std::vector<LibraryKernel> checked = kernels;
  for (LibraryKernel& kernel : checked) {
    if (architecture.empty() && !kernel.variants.empty() && !is_device(kernel.variants[0].target))
      architecture = target::architecture_of(kernel.variants[0].target.triple);
    TW_TRY([[maybe_unused]] Unit variants, check_variants(kernel, options, architecture));
    TW_TRY([[maybe_unused]] Unit packers, check_packers(kernel));
    put_best_first(kernel);
    TW_TRY([[maybe_unused]] Unit baseline, check_baseline(kernel, options));
  }
  if (const std::optional<std::string> clash = name_clash(header_kernels(checked, options)))
    return refusal(ErrorKind::kArgument, *clash);
  return checked;
}

std::string launching_host(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options) {
  for (const LibraryKernel& kernel : kernels)  // one architecture
    if (!is_device(kernel.variants[0].target)) return kernel.variants[0].target.triple;
  return options.host;
}

std::string library_header(const std::vector<LibraryKernel>& kernels, const LibraryOptions& options) {
  const std::string guard = "TENSORWRIGHT_LIBRARY_" + identifier(options.name);
  return "#ifndef " + guard + "\n#define " + guard + "\n" +
         c_header(header_kernels(kernels, options), launching_host(kernels, options)) + "#endif\n";
}

std::string short_name(const Target& target) {
  if (is_device(target)) return target.arch;
  std::string name = target.cpu;
  for (const std::string& attribute : target.attributes)
    name += (attribute[0] == '-' ? "-no-" : "-") + attribute.substr(1);
  if (target.sve_bits > 0) name += "-sve" + std::to_string(target.sve_bits);
  return name;
}

std::string object_name(const LibraryKernel& kernel, const LibraryVariant& variant, const LibraryOptions& options) {
  return options.prefix + kernel.name + "." + short_name(variant.target) + ".o";
}

#if TW_LLVM

namespace {

Result<LibraryFile> library_object(const LibraryKernel& kernel, const LibraryVariant& variant,
                                   const LibraryOptions& options, const std::string& host_triple) {
  const std::string file = object_name(kernel, variant, options);
  if (is_device(variant.target)) {
    TW_TRY(const Target host, Target::parse("llvm -mtriple=" + host_triple));
    TW_TRY(DeviceObject object,
           device_object(named_programs(kernel, variant, options), variant.target, host, NewerDevices::kTranslate));
    return LibraryFile{file, std::move(object.bytes)};
  }
  std::vector<SourceText> texts;
  if (options.debug_lines && !variant.text_file.empty()) texts.push_back({variant.text_file, variant.text_line});
  TW_TRY(std::string bytes,
         compile(named_programs(kernel, variant, options), variant.target, 3, Output::kObject, texts));
  return LibraryFile{file, std::move(bytes)};
}

}  // namespace

Result<LibraryFile> library_archive(const std::vector<LibraryFile>& objects, const LibraryOptions& options) {
  std::vector<std::pair<std::string, std::string>> members;
  for (const LibraryFile& object : objects) members.emplace_back(object.name, object.bytes);
  TW_TRY(std::string bytes, archive(members));
  return LibraryFile{"lib" + options.name + ".a", std::move(bytes)};
}

Result<LibraryFile> library_shared(const std::vector<LibraryFile>& objects, const LibraryOptions& options) {
  if (!options.externs.empty())
    return refusal(ErrorKind::kArgument,
                   "a shared library has no functions that whoever calls it brings, as " + options.externs[0] + " is",
                   {"link the archive"});
  const std::string name = "lib" + options.name + ".so";
  std::vector<std::string_view> all;
  for (const LibraryFile& object : objects) all.push_back(object.bytes);
  TW_TRY(std::string bytes, link_shared(all, name));
  return LibraryFile{name, std::move(bytes)};
}

#else

namespace {
Diagnostic without_llvm() {
  return refusal(ErrorKind::kBuild, "this build of Tensorwright has no LLVM, which makes its objects");
}
Result<LibraryFile> library_object(const LibraryKernel&, const LibraryVariant&, const LibraryOptions&,
                                   const std::string&) {
  return without_llvm();
}
}  // namespace

Result<LibraryFile> library_archive(const std::vector<LibraryFile>&, const LibraryOptions&) { return without_llvm(); }
Result<LibraryFile> library_shared(const std::vector<LibraryFile>&, const LibraryOptions&) { return without_llvm(); }

#endif

Result<std::vector<LibraryFile>> library_objects(const std::vector<LibraryKernel>& kernels,
                                                 const LibraryOptions& options, const KnownObject& known) {
  const std::string host = launching_host(kernels, options);
  std::vector<std::pair<const LibraryKernel*, const LibraryVariant*>> jobs;
  for (const LibraryKernel& kernel : kernels)
    for (const LibraryVariant& variant : kernel.variants) jobs.emplace_back(&kernel, &variant);
  std::vector<std::optional<Result<LibraryFile>>> made(jobs.size());
  support::in_parallel(jobs.size(), support::threads_for_work(), [&](size_t i) {
    std::optional<LibraryFile> there = known ? known(*jobs[i].first, *jobs[i].second) : std::nullopt;
    made[i] =
        there ? Result<LibraryFile>(*std::move(there)) : library_object(*jobs[i].first, *jobs[i].second, options, host);
  });
  std::vector<LibraryFile> objects;
  for (std::optional<Result<LibraryFile>>& one : made) {
    TW_TRY(LibraryFile object, *std::move(one));
    objects.push_back(std::move(object));
  }
  return objects;
}

Result<std::vector<LibraryFile>> make_library(const std::vector<LibraryKernel>& kernels,
                                              const LibraryOptions& options) {
  TW_TRY(const std::vector<LibraryKernel> checked, checked_library(kernels, options));
  TW_TRY(std::vector<LibraryFile> objects, library_objects(checked, options));
  TW_TRY(LibraryFile whole, library_archive(objects, options));
  std::vector<LibraryFile> files = {{options.name + ".h", library_header(checked, options)}, std::move(whole)};
  for (LibraryFile& object : objects) files.push_back(std::move(object));
  return files;
}

}  // namespace tw::codegen
