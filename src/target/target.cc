// Target strings: parsing, resolving, printing.
#include "tensorwright/target.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>
#include <sstream>

#include "src/support/nearest.h"
#include "src/target/aarch64.h"
#include "src/target/abilities.h"
#include "src/target/c_compiler.h"
#include "src/target/catalog.h"
#include "src/target/cpu.h"
#include "src/target/cuda.h"
#include "src/target/triple.h"

namespace tw {

namespace {

// What a text without -mtriple= is for where its CPU does not say otherwise: to_string leaves it out on any machine.
constexpr const char* kImpliedTriple = "x86_64-pc-linux-gnu";
constexpr const char* kTriples[] = {kImpliedTriple, "aarch64-unknown-linux-gnu"};

constexpr const char* kAnyCpu = "generic";       // of every architecture
constexpr int kLeastSve = 128, kMostSve = 2048;  // bits of a vector

const std::vector<std::string> kKinds = {"llvm", "c", "cuda", "interp"};

struct Words {
  std::string kind, cpu, triple, arch;
  std::vector<std::string> attributes;
  std::optional<int> sve_bits;
};

Diagnostic bad_target(std::string what, std::vector<std::string> notes) {
  std::erase(notes, "");
  return Diagnostic{ErrorKind::kTarget, "target: " + std::move(what), {}, std::move(notes)};
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);)
    if (!part.empty()) parts.push_back(part);
  return parts;
}

std::string small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// How an option's value changes the words; what is wrong with it, where something is.
struct Option {
  const char* name;
  std::string (*take)(Words&, const std::string& value);
};

std::string ignored(Words&, const std::string&) { return ""; }

// As compilers spell it: a length, or none in particular.
std::string take_sve_bits(Words& words, const std::string& value) {
  const bool number = value.size() <= 4 && value.find_first_not_of("0123456789") == std::string::npos;
  const int bits = number ? std::stoi(value) : 0;
  if (value != "scalable" && (bits < kLeastSve || bits > kMostSve || (bits & (bits - 1)) != 0))
    return "must be 128, 256, 512, 1024, 2048 or scalable";
  words.sve_bits = bits;
  return "";
}

std::string take_arch(Words& words, const std::string& value) {
  const std::vector<std::string> known = target::cuda::architectures();
  if (!words.arch.empty()) return "must be one architecture, and " + words.arch + " stands there already";
  words.arch = value;
  if (value == "native" || std::find(known.begin(), known.end(), value) != known.end()) return "";
  std::string listed;
  for (const std::string& name : known) listed += (listed.empty() ? "" : ", ") + name;
  return "must be " + listed + " or native";
}

bool is_positive(const std::string& value) {
  return value.find_first_not_of("0123456789") == std::string::npos && value[0] != '0';
}

// Those that TVM has beside them choose among its schedules, boards and libraries: nothing here depends on them.
const Option kOptions[] = {
    {"-mcpu",
     [](Words& words, const std::string& value) { return words.cpu = target::aarch64::core_of(value), std::string(); }},
    {"-mattr",
     [](Words& words, const std::string& value) {
       const std::vector<std::string> more = split(value, ',');
       return words.attributes.insert(words.attributes.end(), more.begin(), more.end()), std::string();
     }},
    {"-mtriple",
     [](Words& words, const std::string& value) {
       return words.triple = target::normalised_triple(value), std::string();
     }},
    {"-msve-vector-bits", take_sve_bits},
    {"-keys", ignored},
    {"-device", ignored},
    {"-model", ignored},
    {"-libs", ignored},
    {"-num-cores",
     [](Words&, const std::string& value) -> std::string {
       return is_positive(value) ? "" : "must be a positive integer";
     }},
    {"-mfloat-abi",
     [](Words&, const std::string& value) -> std::string {
       return value == "hard" ? "" : "must be hard: floats are passed in registers of their own";
     }},
};

// What every device has that there is code for.
template <int kHas>
std::string has(Words&, const std::string& value) {
  return value == std::to_string(kHas) ? "" : "must be " + std::to_string(kHas) + ", as every such device has it";
}

const Option kOptionsOfDevices[] = {
    {"-arch", take_arch},
    {"-keys", ignored},
    {"-device", ignored},
    {"-model", ignored},
    {"-libs", ignored},
    {"-max_num_threads", has<1024>},
    {"-max_threads_per_block", has<1024>},
    {"-thread_warp_size", has<32>},
    {"-registers_per_block", has<65536>},
    {"-max_shared_memory_per_block",
     [](Words&, const std::string& value) -> std::string {
       return is_positive(value) ? "" : "must be a positive integer";
     }},
};

Status read_option(Words& words, const std::string& word) {
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  const bool device = words.kind == "cuda";
  std::span<const Option> options = kOptions;
  if (device) options = kOptionsOfDevices;
  const auto option = std::find_if(options.begin(), options.end(), [&](const Option& o) { return name == o.name; });
  if (option == options.end()) {
    std::vector<std::string> names;
    for (const Option& o : options) names.push_back(o.name);
    const std::string known = device ? "-arch=" : "-mcpu=, -mattr=, -mtriple= or -msve-vector-bits=";
    return bad_target("an option must be " + known + ", not \"" + word + "\"", {support::did_you_mean(name, names)});
  }
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  const std::string example = device ? "cuda -arch=sm_90a" : "llvm -mcpu=native -mattr=-avx512f";
  if (value.empty()) return bad_target(name + " needs a value", {"for example: " + example});
  const std::string wrong = option->take(words, value);
  if (!wrong.empty()) return bad_target(name + " " + wrong + ", not \"" + value + "\"", {});
  return Unit{};
}

// Devices by the names that TVM has for them, in the place of the kind.
struct Tag {
  const char *name, *arch;
};
constexpr Tag kTags[] = {
    {"nvidia/nvidia-a100", "sm_80"},      {"nvidia/nvidia-a30", "sm_80"},       {"nvidia/nvidia-a10", "sm_86"},
    {"nvidia/nvidia-a40", "sm_86"},       {"nvidia/geforce-rtx-3070", "sm_86"}, {"nvidia/geforce-rtx-3080", "sm_86"},
    {"nvidia/geforce-rtx-3090", "sm_86"}, {"nvidia/geforce-rtx-4090", "sm_89"}, {"nvidia/nvidia-h100", "sm_90a"},
};

Status resolve_tag(Words& words) {
  if (!words.kind.starts_with("nvidia/")) return Unit{};
  std::vector<std::string> names;
  for (const Tag& tag : kTags) {
    names.emplace_back(tag.name);
    if (words.kind == tag.name) words.arch = tag.arch;
  }
  if (words.arch.empty())
    return bad_target("unknown device \"" + words.kind + "\"",
                      {support::did_you_mean(words.kind, names), "or name its architecture: cuda -arch=sm_90a"});
  words.kind = "cuda";
  return Unit{};
}

Result<Words> read_words(std::string_view text) {
  Words words;
  std::istringstream stream{std::string(text)};
  stream >> words.kind;
  TW_TRY([[maybe_unused]] Unit tag, resolve_tag(words));
  if (std::find(kKinds.begin(), kKinds.end(), words.kind) == kKinds.end())
    return bad_target("the kind must be llvm, c, cuda or interp, not \"" + words.kind + "\"",
                      {support::did_you_mean(small_letters(words.kind), kKinds),
                       "for example: llvm -mcpu=native, or cuda -arch=sm_90a"});
  for (std::string word; stream >> word;) {
    TW_TRY([[maybe_unused]] Unit read, read_option(words, word));
  }
  return words;
}

std::vector<std::string> attributes_known(const std::string& kind, const std::string& triple) {
  return target::catalog_for(kind, triple).features(triple);
}

// Which other architecture has the attribute, or "".
std::string who_has(const Words& words, const std::string& attribute) {
  for (const std::string triple : kTriples) {
    const std::vector<std::string> known = attributes_known(words.kind, triple);
    if (triple != words.triple && std::find(known.begin(), known.end(), attribute) != known.end())
      return "CPUs of -mtriple=" + triple + " have it";
  }
  return "";
}

Status check_attributes(const Words& words) {
  const std::vector<std::string> known = attributes_known(words.kind, words.triple);
  for (const std::string& attribute : words.attributes) {
    if (attribute[0] != '+' && attribute[0] != '-')
      return bad_target("an attribute must begin with + or -, not \"" + attribute + "\"",
                        {"for example: -mattr=+fma,-avx512f"});
    const std::string name = attribute.substr(1);
    if (name.empty())
      return bad_target("an attribute needs a name after its " + attribute, {"for example: -mattr=+fma,-avx512f"});
    if (std::find(known.begin(), known.end(), name) == known.end())
      return bad_target("unknown attribute \"" + name + "\" of " + words.triple,
                        {support::did_you_mean(name, known), who_has(words, name)});
  }
  return Unit{};
}

bool knows_cpu(const std::string& kind, const std::string& triple, const std::string& cpu) {
  const std::vector<std::string> known = target::catalog_for(kind, triple).cpus(triple);
  return std::find(known.begin(), known.end(), cpu) != known.end();
}

// What else a name that no CPU of the triple has may mean: `implied` where no -mtriple= was written, so that it may be
// of another architecture.
Status check_cpu(const Words& words, bool no_triple) {
  std::vector<std::string> known = target::catalog_for(words.kind, words.triple).cpus(words.triple);
  if (std::find(known.begin(), known.end(), words.cpu) != known.end()) return Unit{};
  const bool any = known.size() == 1;
  std::string owner;
  for (const std::string triple : kTriples) {
    if (triple == words.triple) continue;
    const std::vector<std::string> more = target::catalog_for(words.kind, triple).cpus(triple);
    if (std::find(more.begin(), more.end(), words.cpu) != more.end()) owner = "it is a CPU of -mtriple=" + triple;
    if (no_triple) known.insert(known.end(), more.begin(), more.end());
  }
  std::string spelled = small_letters(words.cpu);
  std::ranges::replace(spelled, '_', '-');
  return bad_target(
      "unknown CPU \"" + words.cpu + "\" of " + words.triple,
      {owner.empty() ? support::did_you_mean(spelled, known) : owner,
       any ? "leave -mcpu= out: code for it is for any such CPU" : "\"native\" means the CPU of this machine"});
}

// What in `features` differs from what the CPU's name implies, as attributes.
std::vector<std::string> differences(const std::vector<std::string>& implied,
                                     const std::vector<std::string>& features) {
  std::vector<std::string> more, less, result;
  std::set_difference(features.begin(), features.end(), implied.begin(), implied.end(), std::back_inserter(more));
  std::set_difference(implied.begin(), implied.end(), features.begin(), features.end(), std::back_inserter(less));
  for (const std::string& name : more) result.push_back("+" + name);
  for (const std::string& name : less) result.push_back("-" + name);
  return result;
}

// What tells the CPU from others of its name.
std::vector<std::string> attributes_of(const target::Cpu& native, const std::vector<std::string>& implied) {
  std::vector<std::string> attributes;
  for (const std::string& feature : native.asked) attributes.push_back("+" + feature);
  for (const std::string& feature : implied)
    if (!std::binary_search(native.asked.begin(), native.asked.end(), feature)) attributes.push_back("-" + feature);
  return attributes;
}

// What a feature needs that -mattr= may take away from it; "" stands for all code of the architecture, which keeps
// floats in registers.
struct Need {
  const char *architecture, *feature, *needed;
};
constexpr Need kNeeds[] = {{"x86_64", "", "sse2"}, {"aarch64", "", "fp-armv8"}, {"aarch64", "sve", "neon"}};

Status check_needs(const Target& target) {
  for (const Need& row : kNeeds) {
    const std::string_view feature = row.feature;
    if (target::architecture_of(target.triple) != row.architecture || (!feature.empty() && !target.has(feature)) ||
        target.has(row.needed))
      continue;
    const std::string who = feature.empty() ? "code for " + target.triple : "\"" + std::string(feature) + "\"";
    return bad_target(who + " needs " + row.needed + ", which -mattr= takes away", {});
  }
  return Unit{};
}

// Of a text without -mtriple=: this machine's, unless only another architecture has such a CPU.
std::string triple_of(const Words& words, const target::Cpu& native) {
  const std::string& cpu = words.cpu;
  if (cpu.empty() || cpu == "native" || knows_cpu(words.kind, native.triple, cpu)) return native.triple;
  for (const char* triple : kTriples)
    if (knows_cpu(words.kind, triple, cpu)) return triple;
  return native.triple;
}

// C code knows no length of vectors, so it runs with any.
Result<int> resolve_sve(const Words& words, const Target& target, const target::Cpu& native, bool is_native) {
  if (words.sve_bits.value_or(0) > 0 && !target.has("sve"))
    return bad_target("-msve-vector-bits=" + std::to_string(*words.sve_bits) + " needs a CPU with SVE, which " +
                          target.cpu + " of " + target.triple + " is not",
                      {"for example: -mcpu=neoverse-v1, or -mattr=+sve"});
  if (target.kind == "c" || !target.has("sve")) return 0;
  return words.sve_bits.value_or(is_native ? native.sve_bits : target::aarch64::sve_bits_of(target.cpu));
}

// What there is in the place of a triple that is none.
Status check_triple(const Words& words, const target::Cpu& native) {
  const target::CpuCatalog& catalog = target::catalog_for(words.kind, words.triple);
  if (catalog.knows_triple(words.triple)) return Unit{};
  const std::string spelled(target::architecture_of(words.triple));
  const std::string linux_there = target::normalised_triple(spelled + "-linux");
  const bool known = catalog.knows_triple(linux_there);
  const bool by_c = !known && target::table_catalog().knows_triple(words.triple);
  return bad_target("unknown triple \"" + words.triple + "\"",
                    {"for example: " + (known ? linux_there : native.triple),
                     known ? "objects are ELF files of 64 bits, for Linux and systems like it" : "",
                     by_c ? "code for it is made by way of C: target c" : "",
                     known || by_c ? "" : "code is made for x86_64 and aarch64, by way of C for arm and riscv64 too"});
}

Result<Target> resolve(Words words, const target::Cpu& native) {
  const bool no_triple = words.triple.empty();
  if (no_triple) words.triple = triple_of(words, native);
  TW_TRY([[maybe_unused]] Unit triple, check_triple(words, native));
  const target::CpuCatalog& catalog = target::catalog_for(words.kind, words.triple);
  const bool is_native = words.cpu == "native";
  if (is_native && words.triple != native.triple)
    return bad_target("-mcpu=native means this machine, which is not " + words.triple, {"name the CPU"});
  if (is_native) words.cpu = knows_cpu(words.kind, words.triple, native.name) ? native.name : native.level;
  if (words.cpu.empty()) words.cpu = target::architecture_of(words.triple) == "x86_64" ? "x86-64" : kAnyCpu;
  TW_TRY([[maybe_unused]] Unit cpu, check_cpu(words, no_triple));
  TW_TRY([[maybe_unused]] Unit attributes, check_attributes(words));
  const std::vector<std::string> implied = catalog.resolve(words.triple, words.cpu, {});
  std::vector<std::string> all = is_native ? attributes_of(native, implied) : std::vector<std::string>{};
  all.insert(all.end(), words.attributes.begin(), words.attributes.end());

  Target target;
  target.kind = words.kind;
  target.triple = words.triple;
  target.cpu = words.cpu;
  target.features = catalog.resolve(words.triple, words.cpu, all);
  target.attributes = differences(implied, target.features);
  TW_TRY([[maybe_unused]] Unit needs, check_needs(target));
  TW_TRY(target.sve_bits, resolve_sve(words, target, native, is_native));
  target.abilities = target::abilities_of(target.kind, target.triple, target.features, target.sve_bits);
  return target;
}

Result<Target> resolve_device(const Words& words) {
  Target target;
  target.kind = words.kind;
  target.arch = words.arch;
  if (words.arch.empty() || words.arch == "native") target.arch = target::cuda::device_here();
  if (target.arch.empty() && words.arch == "native")
    return bad_target("-arch=native means this machine's GPU, and none that works is here", {"name it: -arch=sm_90a"});
  if (target.arch.empty()) target.arch = target::cuda::kOldest;
  target.abilities = target::cuda::abilities_of(target.arch);
  return target;
}

}  // namespace

TW_DEFINE_VALUE(Target);
Target::Target() = default;

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

std::string Target::to_string() const {
  if (!arch.empty()) return kind + " -arch=" + arch;
  if (cpu.empty()) return kind;
  std::string text = kind + " -mcpu=" + cpu;
  if (triple != kImpliedTriple || cpu == kAnyCpu) text += " -mtriple=" + triple;
  for (size_t i = 0; i < attributes.size(); ++i) text += (i == 0 ? " -mattr=" : ",") + attributes[i];
  if (kind != "c" && has("sve") && sve_bits != target::aarch64::sve_bits_of(cpu))
    text += " -msve-vector-bits=" + (sve_bits == 0 ? "scalable" : std::to_string(sve_bits));
  return text;
}

std::vector<std::string> Target::missing_here() const {
  if (kind == "interp") return {};
  if (!arch.empty())
    return target::cuda::runs(target::cuda::device_here(), arch) ? std::vector<std::string>{} : std::vector{arch};
  const target::Cpu& here = target::host_cpu();
  if (target::architecture_of(triple) != target::architecture_of(here.triple)) return {triple};
  return target::missing_on(here, features, sve_bits);
}

std::string target::why_not_on(const Cpu& cpu, const Target& target) {
  if (target.kind == "interp") return "";
  if (!target.arch.empty()) return "it is a CPU";
  if (architecture_of(target.triple) != architecture_of(cpu.triple))
    return "it is a " + cpu.triple + " with a CPU like " + cpu.name;
  std::string listed;
  for (const std::string& feature : missing_on(cpu, target.features, target.sve_bits))
    listed += (listed.empty() ? "" : ", ") + feature;
  return listed.empty() ? "" : "it lacks " + listed;
}

std::string target::why_not_here(const Target& target) {
  if (target.arch.empty()) return why_not_on(host_cpu(), target);
  const std::string device = cuda::device_here();
  if (device.empty()) return "it has no CUDA device";
  return cuda::why_not_on(device, target);
}

Result<Target> Target::parse(std::string_view text) {
  TW_TRY(Target target, target::parse_on(target::host_cpu(), text));
#if !TW_LLVM
  if (target.kind == "llvm")
    return bad_target("llvm is not part of this build", {"it was configured with TW_LLVM=OFF; use target \"c\", or "
                                                         "install llvm-19-dev and build again"});
#endif
  return target;
}

Result<Target> target::parse_on(const Cpu& native, std::string_view text) {
  TW_TRY(Words words, read_words(text));
  if (words.kind == "cuda") return resolve_device(words);
  const bool plain = words.cpu.empty() && words.attributes.empty() && words.triple.empty();
  if (words.kind == "interp" && plain) {  // also where no catalog knows this architecture
    Target target;
    target.kind = "interp";
    target.abilities = target::abilities_of(target.kind, target.triple, target.features);
    return target;
  }
  return resolve(std::move(words), native);
}

Target Target::host() {
#if TW_LLVM
  static const Target target = parse("llvm -mcpu=native").value_or_throw();
#else
  static const Target target = parse(target::c_compiler().empty() ? "interp" : "c -mcpu=native").value_or_throw();
#endif
  return target;
}

}  // namespace tw
