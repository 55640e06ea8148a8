// Target strings: parsing, resolving, printing.
#include "tensorwright/target.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "src/support/nearest.h"
#include "src/target/abilities.h"
#include "src/target/c_compiler.h"
#include "src/target/catalog.h"
#include "src/target/cpu.h"

namespace tw {

namespace {

#if defined(__aarch64__)
constexpr const char* kHostTriple = "aarch64-unknown-linux-gnu";
#else
constexpr const char* kHostTriple = "x86_64-pc-linux-gnu";
#endif

const std::vector<std::string> kKinds = {"llvm", "c", "interp"};
const std::vector<std::string> kOptions = {"-mcpu", "-mattr", "-mtriple"};

struct Words {
  std::string kind, cpu, triple = kHostTriple;
  std::vector<std::string> attributes;
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

Result<Words> read_words(std::string_view text) {
  Words words;
  std::istringstream stream{std::string(text)};
  stream >> words.kind;
  if (std::find(kKinds.begin(), kKinds.end(), words.kind) == kKinds.end())
    return bad_target("the kind must be llvm, c or interp, not \"" + words.kind + "\"",
                      {support::did_you_mean(words.kind, kKinds), "for example: llvm -mcpu=native"});
  for (std::string word; stream >> word;) {
    const size_t equals = word.find('=');
    const std::string option = word.substr(0, equals);
    if (std::find(kOptions.begin(), kOptions.end(), option) == kOptions.end() || equals == std::string::npos)
      return bad_target("an option must be -mcpu=, -mattr= or -mtriple=, not \"" + word + "\"",
                        {support::did_you_mean(option, kOptions)});
    const std::string value = word.substr(equals + 1);
    if (value.empty()) return bad_target(option + " needs a value", {"for example: llvm -mcpu=native -mattr=-avx512f"});
    if (option == "-mcpu") words.cpu = value;
    if (option == "-mtriple") words.triple = value;
    if (option == "-mattr") words.attributes = split(value, ',');
  }
  return words;
}

Status check_attributes(const Words& words) {
  const std::vector<std::string> known = target::catalog().features(words.triple);
  for (const std::string& attribute : words.attributes) {
    if (attribute[0] != '+' && attribute[0] != '-')
      return bad_target("an attribute must begin with + or -, not \"" + attribute + "\"",
                        {"for example: -mattr=+fma,-avx512f"});
    const std::string name = attribute.substr(1);
    if (std::find(known.begin(), known.end(), name) == known.end())
      return bad_target("unknown attribute \"" + name + "\" of " + words.triple, {support::did_you_mean(name, known)});
  }
  return Unit{};
}

bool knows_cpu(const std::string& triple, const std::string& cpu) {
  const std::vector<std::string> known = target::catalog().cpus(triple);
  return std::find(known.begin(), known.end(), cpu) != known.end();
}

Status check_cpu(const Words& words) {
  if (knows_cpu(words.triple, words.cpu)) return Unit{};
  return bad_target("unknown CPU \"" + words.cpu + "\" of " + words.triple,
                    {support::did_you_mean(words.cpu, target::catalog().cpus(words.triple)),
                     "\"native\" means the CPU of this machine"});
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

Result<Target> resolve(Words words, const target::Cpu& native) {
  const target::CpuCatalog& catalog = target::catalog();
  if (!catalog.knows_triple(words.triple))
    return bad_target("unknown triple \"" + words.triple + "\"", {"for example: " + std::string(kHostTriple)});
  const bool is_native = words.cpu == "native";
  if (is_native && words.triple != native.triple)
    return bad_target("-mcpu=native means this machine, which is not " + words.triple, {"name the CPU"});
  if (is_native) words.cpu = knows_cpu(words.triple, native.name) ? native.name : native.level;
  if (words.cpu.empty()) words.cpu = words.triple.starts_with("x86_64") ? "x86-64" : "generic";
  TW_TRY([[maybe_unused]] Unit cpu, check_cpu(words));
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
  target.abilities = target::abilities_of(target.kind, target.triple, target.features);
  return target;
}

}  // namespace

bool Target::has(std::string_view feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

std::string Target::to_string() const {
  if (cpu.empty()) return kind;
  std::string text = kind + " -mcpu=" + cpu;
  if (triple != kHostTriple) text += " -mtriple=" + triple;
  for (size_t i = 0; i < attributes.size(); ++i) text += (i == 0 ? " -mattr=" : ",") + attributes[i];
  return text;
}

std::vector<std::string> Target::missing_here() const {
  if (kind == "interp") return {};
  const target::Cpu& here = target::host_cpu();
  const auto architecture = [](std::string_view triple) { return triple.substr(0, triple.find('-')); };
  if (architecture(triple) != architecture(here.triple)) return {triple};
  return target::missing_on(here, features);
}

Result<Target> Target::parse(std::string_view text) { return target::parse_on(target::host_cpu(), text); }

Result<Target> target::parse_on(const Cpu& native, std::string_view text) {
  TW_TRY(Words words, read_words(text));
  const bool plain = words.cpu.empty() && words.attributes.empty() && words.triple == kHostTriple;
  if (words.kind == "interp" && plain) {  // also where no catalog knows this architecture
    Target target;
    target.kind = "interp";
    target.abilities = target::abilities_of(target.kind, target.triple, target.features);
    return target;
  }
#if !TW_LLVM
  if (words.kind == "llvm")
    return bad_target("llvm is not part of this build", {"it was configured with TW_LLVM=OFF; use target \"c\", or "
                                                         "install llvm-19-dev and build again"});
#endif
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
