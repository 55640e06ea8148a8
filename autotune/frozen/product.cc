// .twk files -> a header and libraries. An object whose inputs are those of the last time is taken from there.
#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "autotune/frozen/file_set.h"
#include "autotune/frozen/text.h"
#include "autotune/log/history.h"
#include "codegen/library.h"
#include "src/support/fnv.h"
#include "src/support/release.h"

namespace tw::aot {

using codegen::LibraryFile;
using codegen::LibraryKernel;
using codegen::LibraryOptions;
using codegen::LibraryVariant;

namespace {

[[noreturn]] void refuse(std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kArgument, "build: " + std::move(what), {}, std::move(notes)});
}

// The compiler that this process runs: another build of it makes other code.
std::string compiler() {
  Dl_info info{};
  struct stat file{};
  if (dladdr(reinterpret_cast<const void*>(&freeze_command), &info) == 0 || stat(info.dli_fname, &file) != 0)
    return support::kRelease;
  return std::string(support::kRelease) + " " + std::to_string(file.st_size) + " " +
         std::to_string(file.st_mtim.tv_sec) + "." + std::to_string(file.st_mtim.tv_nsec);
}

std::string text_of(const FrozenRecord& record) {
  char time[32];
  std::snprintf(time, sizeof time, "%.4g ms", record.seconds * 1e3);
  return std::string(time) + " with " + std::to_string(record.threads) +
         (record.threads == 1 ? " thread" : " threads") + " on " + record.hardware + ", record " + record.checksum;
}

std::string text_of(const Frozen& f, const FrozenLoss& loss) {
  char text[96];
  std::snprintf(text, sizeof text, "; at most %.0f %% slower than tuned for one size, at ", 100 * loss.worst);
  return text + f.size + " = " + std::to_string(loss.at) + " of " + std::to_string(loss.sizes.size()) + " from " +
         std::to_string(loss.sizes.front()) + " to " + std::to_string(loss.sizes.back()) + ", with " +
         std::to_string(loss.threads) + (loss.threads == 1 ? " thread on " : " threads on ") + loss.hardware;
}

std::string origin_of(const Frozen& f) {
  std::string what = f.task.empty() ? "scheduled by hand" : autotune::call_text(f.task, f.args);
  if (is_by_sizes(f)) {
    what = "tuned";
    for (const auto& [name, value] : f.others)
      what += (what == "tuned" ? " at " : ", ") + name + " = " + std::to_string(value);
    const std::vector<FrozenRange> ranges = ranges_of(f);
    for (const FrozenRange& range : ranges)
      what += (range == ranges.front() ? ": up to " : "; up to ") + f.size + " = " + std::to_string(range.up_to) +
              (range.up_to == f.at_size ? " and beyond " : " ") + text_of(*range.record);
    return f.loss && !f.loss->sizes.empty() ? what + text_of(f, *f.loss) : what;
  }
  for (const FrozenRange& range : f.sized)
    what += (range.up_to == f.sized.front().up_to ? ", with schedules up to " + f.size + " = " : ", ") +
            std::to_string(range.up_to);
  if (!f.record) return f.task.empty() ? what : what + ", default schedule";
  return what + ", " + text_of(*f.record);
}

// In the order in which their names come first.
std::vector<LibraryKernel> kernels_of(const std::vector<Frozen>& all) {
  std::vector<LibraryKernel> kernels;
  std::map<std::string, const Frozen*> first;
  for (const Frozen& f : all) {
    const auto [known, is_new] = first.emplace(f.name, &f);
    if (!is_new && known->second->hash != f.hash)
      refuse("two kernels are named " + f.name + ": " + known->second->path + " and " + f.path +
             " are of different computations");
    if (is_new) kernels.push_back({f.name, {}});
    auto kernel = std::ranges::find(kernels, f.name, &LibraryKernel::name);
    kernel->variants.push_back({f.target, f.program, origin_of(f), f.packers, f.path, f.program_line});
  }
  return kernels;
}

// Objects of the last time, each beside what it was made of.
class Objects {
 public:
  Objects(const std::vector<Frozen>& all, const LibraryOptions& options, const std::string& host,
          const std::string& folder)
      : options_(options), folder_(folder + "/objects/") {
    for (const Frozen& f : all) {
      const std::string of_all = compiler() + "\n" + host + "\n" + (options.debug_lines ? f.path : "");
      keys_[f.name + " " + f.target.to_string()] = support::fnv1a_hex(of_all) + support::fnv1a_hex(to_text(f)) + "\n";
    }
  }

  std::optional<LibraryFile> known(const LibraryKernel& kernel, const LibraryVariant& variant) {
    const std::string name = codegen::object_name(kernel, variant, options_);
    const std::string& key = keys_.at(kernel.name + " " + variant.target.to_string());
    std::optional<LibraryFile> found;
    try {
      if (bytes_of(folder_ + name + ".key") == key) found = LibraryFile{name, bytes_of(folder_ + name)};
    } catch (const Error&) {
      // It was never made.
    }
    const std::lock_guard lock(mutex_);
    (found ? unchanged : compiled).push_back(name);
    made_.emplace(name, key);
    return found;
  }

  // The object before its key: who is killed between them compiles again.
  void keep(const std::vector<LibraryFile>& objects, std::vector<NewFile>& files) {
    for (const LibraryFile& o : objects) files.push_back({folder_ + o.name, o.bytes});
    for (const LibraryFile& o : objects) files.push_back({folder_ + o.name + ".key", made_.at(o.name)});
    std::ranges::sort(compiled);
    std::ranges::sort(unchanged);
  }

  std::vector<std::string> compiled, unchanged;

 private:
  const LibraryOptions& options_;
  std::string folder_;
  std::map<std::string, std::string> keys_, made_;
  std::mutex mutex_;
};

// What a person wrote may be nothing that lowering leaves: subscripts of several numbers, an exp.
std::vector<LibraryFile> compiled(const std::vector<Frozen>& all, const std::vector<LibraryKernel>& kernels,
                                  const LibraryOptions& options, Objects& objects) try {
  return codegen::library_objects(kernels, options,
                                  [&](const LibraryKernel& k, const LibraryVariant& v) { return objects.known(k, v); })
      .value_or_throw();
} catch (const Error& e) {
  const auto edited = std::ranges::find_if(all, &Frozen::edited);
  if (e.kind() != ErrorKind::kInternal || edited == all.end()) throw;
  std::string why = e.diagnostic().what;
  if (const size_t colon = why.rfind(": "); colon != std::string::npos) why = why.substr(colon + 2);
  refuse(edited->path + ": a program that was edited must be as lowering leaves one: " + why,
         {"freeze it again: " + freeze_command(*edited)});
}

}  // namespace

Built build(const std::vector<std::string>& paths, const BuildOptions& given) {
  if (paths.empty()) refuse("there must be at least one .twk");
  std::vector<Frozen> all;
  for (const std::string& path : paths) all.push_back(read(path));
  LibraryOptions options{.name = given.name,
                         .prefix = given.prefix,
                         .baseline = given.baseline,
                         .debug_lines = given.debug_lines,
                         .externs = given.externs};
  if (!given.host.empty()) options.host = given.host;
  const std::vector<LibraryKernel> kernels = codegen::checked_library(kernels_of(all), options).value_or_throw();
  Objects objects(all, options, codegen::launching_host(kernels, options), given.folder);
  const std::vector<LibraryFile> made = compiled(all, kernels, options, objects);
  std::vector<NewFile> files;
  objects.keep(made, files);
  Built built;
  const auto add = [&](LibraryFile file) {
    built.files.push_back(given.folder + "/" + file.name);
    files.push_back({built.files.back(), std::move(file.bytes)});
  };
  add({given.name + ".h", codegen::library_header(kernels, options)});
  if (given.archive) add(codegen::library_archive(made, options).value_or_throw());
  if (given.shared) add(codegen::library_shared(made, options).value_or_throw());
  write_all(files);
  built.compiled = std::move(objects.compiled);
  built.unchanged = std::move(objects.unchanged);
  return built;
}

}  // namespace tw::aot
