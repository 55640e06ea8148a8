#include "autotune/frozen/text.h"

#include <algorithm>
#include <cctype>

#include "autotune/log/history.h"

namespace tw::aot {

namespace {

// As a shell takes it.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_-./=,:+").find(c) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// As --targets takes it: x86-64-v3 for llvm -mcpu=x86-64-v3.
std::string target_argument(const Target& target) {
  const std::string text = target.to_string();
  for (const std::string prefix : {"llvm -mcpu=", "cuda -arch="})
    if (text.starts_with(prefix) && text.find(' ', prefix.size()) == std::string::npos)
      return text.substr(prefix.size());
  return text;
}

}  // namespace

Result<Target> target_named(const std::string& text) {
  for (const char* kind : {"llvm", "c", "cuda", "interp"})
    if (text == kind || text.starts_with(std::string(kind) + " ")) return Target::parse(text);
  return Target::parse((text.starts_with("sm_") ? "cuda -arch=" : "llvm -mcpu=") + text);
}

std::string subject(const Frozen& f) {
  std::string shapes;
  if (f.args.empty() || f.args == "[]") {
    const std::string text = ir::to_string(f.program);
    const size_t from = text.find('('), to = text.find(":\n");
    shapes = f.name + (from < to && to != std::string::npos ? text.substr(from, to - from) : "");
  } else {
    shapes = f.name + ", " + autotune::call_text(f.task, f.args);
  }
  return shapes + ", for " + target_argument(f.target);
}

std::string freeze_command(const Frozen& f, const std::string& log) {
  std::string line =
      "tw freeze " + (f.source.empty() ? "ops.py" : f.source) + " --targets " + quoted(target_argument(f.target));
  if (!log.empty() || f.record) line += " --log " + (log.empty() ? "LOG" : quoted(log));
  if (f.record) line += " --hardware " + quoted(f.record->hardware) + " --threads " + std::to_string(f.record->threads);
  return line;
}

bool is_by_sizes(const Frozen& f) { return f.record && f.at_size > 0; }

std::vector<FrozenRange> ranges_of(const Frozen& f) {
  std::vector<FrozenRange> all = f.sized;
  all.push_back({f.at_size, f.steps, f.record});
  return all;
}

}  // namespace tw::aot
