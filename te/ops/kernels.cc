// Kernels by name: finding one, completing its parameters, reading their values.
#include "te/ops/kernels.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "src/support/nearest.h"
#include "te/refuse.h"

namespace tw::te::ops {
namespace {

constexpr std::string_view kAny = "any";

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string json(const std::string& text) {
  if (text == "true" || text == "false" || parsed<int64_t>(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

std::string signature(const StockKernel& kernel) {
  std::string text = kernel.name + "(";
  for (const Parameter& p : kernel.parameters)
    text += (text.back() == '(' ? "" : ", ") + p.name + (p.standard.empty() ? "" : "=" + p.standard);
  return text + ")";
}

const StockKernel& named(const std::string& name, const SourceLine& where) {
  std::vector<std::string> names;
  for (const StockKernel& kernel : kernels()) {
    if (kernel.name == name) return kernel;
    names.push_back(kernel.name);
  }
  const std::string meant = support::did_you_mean(name, names);
  refuse(ErrorKind::kArgument, "no stock operator is called \"" + name + "\"" + (meant.empty() ? "" : "; " + meant),
         {"there are: " + joined(names)}, where);
}

void check_names(const StockKernel& kernel, const std::map<std::string, std::string>& given, const SourceLine& where) {
  std::vector<std::string> names;
  for (const Parameter& p : kernel.parameters) names.push_back(p.name);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string meant = support::did_you_mean(name, names);
    refuse(ErrorKind::kArgument, kernel.name + ": no parameter " + name + (meant.empty() ? "" : "; " + meant),
           {"parameters: " + signature(kernel)}, where);
  }
}

}  // namespace

void Values::refuse(const std::string& name, const std::string& rule) const {
  te::refuse(ErrorKind::kArgument, kernel_ + ": " + name + " must be " + rule + ", not \"" + text(name) + "\"");
}

int64_t Values::extent(const std::string& name) const {
  const auto value = parsed<int64_t>(text(name));
  if (!value && text(name) == kAny) refuse(name, "a number here");
  if (!value || *value < 1) refuse(name, "a positive integer");
  return *value;
}

Expr Values::size(const std::string& name) const { return text(name) == kAny ? Expr(var(name)) : Expr(extent(name)); }

int64_t Values::integer(const std::string& name) const {
  const auto value = parsed<int64_t>(text(name));
  if (!value) refuse(name, "an integer");
  return *value;
}

double Values::number(const std::string& name) const {
  const auto value = parsed<double>(text(name));
  if (!value || !std::isfinite(*value)) refuse(name, "a number");
  return *value;
}

bool Values::flag(const std::string& name) const {
  const std::string& value = text(name);
  if (value == "true" || value == "1") return true;
  if (value != "false" && value != "0") refuse(name, "true or false");
  return false;
}

std::vector<int64_t> Values::list(const std::string& name) const {
  std::vector<int64_t> result;
  std::string_view rest = text(name);
  for (bool more = true; more;) {
    const size_t end = rest.find('x');
    more = end != std::string_view::npos;
    const auto value = parsed<int64_t>(rest.substr(0, end));
    if (!value) refuse(name, "an integer or several, as 1x2");
    result.push_back(*value);
    rest = more ? rest.substr(end + 1) : rest;
  }
  return result;
}

const std::vector<StockKernel>& kernels() {
  static const std::vector<StockKernel> all = [] {
    std::vector<StockKernel> rows;
    for (auto* family : {&product_kernels, &convolution_kernels, &nn_kernels, &shape_kernels})
      for (StockKernel& kernel : family()) rows.push_back(std::move(kernel));
    std::sort(rows.begin(), rows.end(), [](const StockKernel& a, const StockKernel& b) { return a.name < b.name; });
    return rows;
  }();
  return all;
}

Made make(const std::string& name, const std::map<std::string, std::string>& given, SourceLine where) {
  const StockKernel& kernel = named(name, where);
  check_names(kernel, given, where);
  Made made{name, {}, "{", {}, {}};
  std::map<std::string, std::string> values;
  for (const Parameter& p : kernel.parameters) {
    const auto found = given.find(p.name);
    if (found == given.end() && p.standard.empty())
      refuse(ErrorKind::kArgument, name + ": " + p.name + " must be given: " + p.meaning,
             {"parameters: " + signature(kernel)}, where);
    const std::string& value = found == given.end() ? p.standard : found->second;
    values[p.name] = value;
    if (value == kAny) made.any.push_back(p.name);
    made.parameters.emplace_back(p.name, value);
    made.args_json += (made.args_json.size() == 1 ? "\"" : ",\"") + p.name + "\":" + json(value);
  }
  made.args_json += "}";
  try {
    made.args = kernel.make(Values(name, std::move(values)));
  } catch (const Error& e) {  // what the operator refuses stands where the kernel was asked for
    Diagnostic refused = e.diagnostic();
    refused.where = where;
    throw Error(std::move(refused));
  }
  return made;
}

}  // namespace tw::te::ops
