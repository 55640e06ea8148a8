#include "src/ir/text.h"

#include <algorithm>
#include <unordered_set>

#include "src/ir/typing.h"

namespace tw::ir {
namespace {

std::unordered_set<std::string> reserved_words() {
  std::unordered_set<std::string> words = {"kernel", "out",    "as",        "strides", "for",   "in",    "if",
                                           "else",   "let",    "alloc",     "pass",    "sync",  "where", "true",
                                           "false",  "select", "broadcast", "ramp",    "lanes", "not",   "inf",
                                           "nan",    "call",   "call_pure", "address", "inout"};
  for (const Infix& infix : kInfixes) words.emplace(infix.text);
  for (const Prefix& prefix : kPrefixes) words.emplace(prefix.text);
  for (const ReduceName& reduce : kReduceNames) words.emplace(reduce.text);
  for (int fn = 0; fn <= static_cast<int>(Fn::kPrefetchL2); ++fn) words.insert(name_of(static_cast<Fn>(fn)));
  for (const Suffix& suffix : kSuffixes) {
    words.insert("inf_" + std::string(suffix.text));
    words.insert("nan_" + std::string(suffix.text));
  }
  return words;
}

}  // namespace

std::string to_string(Scope scope) { return std::string(kScopes[static_cast<size_t>(scope)]); }

std::optional<Scope> scratch_scope_named(std::string_view name) {
  for (const Scope scope : kScratchScopes)
    if (to_string(scope) == name) return scope;
  return std::nullopt;
}

bool is_identifier(std::string_view name) {
  if (name.empty() || !is_letter(name[0])) return false;
  for (size_t i = 1; i < name.size(); ++i) {
    const bool inner_dot = name[i] == '.' && i + 1 < name.size() && name[i + 1] != '.';
    if (!is_letter(name[i]) && !is_digit(name[i]) && !inner_dot) return false;
  }
  return true;
}

bool is_reserved(std::string_view name) {
  static const std::unordered_set<std::string> words = reserved_words();
  return words.contains(std::string(name)) || parse_type(name).has_value();
}

}  // namespace tw::ir
