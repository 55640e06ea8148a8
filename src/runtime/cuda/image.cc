#include "src/runtime/cuda/image.h"

#include <cstdint>
#include <cstdlib>
#include <sstream>

namespace tw::runtime::cuda {

namespace {

// The number in front of `words`, or 0.
int64_t number_before(const std::string& line, const std::string& words) {
  const size_t end = line.find(words);
  if (end == line.npos) return 0;
  size_t begin = end;
  while (begin > 0 && isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  return std::strtoll(line.c_str() + begin, nullptr, 10);
}

// ptxas info    : Compiling entry function 'tw_add_0' for 'sm_90a'
std::string function_in(const std::string& line) {
  const std::string words = "Compiling entry function '";
  const size_t begin = line.find(words);
  if (begin == line.npos) return "";
  return line.substr(begin + words.size(), line.find('\'', begin + words.size()) - begin - words.size());
}

// ptxas info    : (C7510) Potential Performance Loss: ... in the function 'tw_gemm_0'
std::string warning_in(const std::string& line) {
  const size_t begin = line.find("(C7");
  const size_t end = begin == line.npos ? begin : line.find(')', begin);
  return end == line.npos ? "" : line.substr(begin + 1, end - begin - 1) + ":" + line.substr(end + 1);
}

}  // namespace

std::vector<Resources> resources_in(const std::string& log) {
  std::vector<Resources> all;
  std::vector<std::string> early;  // warnings come before the function that they are about
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (const std::string warning = warning_in(line); !warning.empty()) early.push_back(warning);
    if (const std::string function = function_in(line); !function.empty()) all.push_back({function});
    if (all.empty()) continue;
    Resources& last = all.back();
    last.stack_bytes += number_before(line, " bytes stack frame");
    last.spill_stores += number_before(line, " bytes spill stores");
    last.spill_loads += number_before(line, " bytes spill loads");
    last.registers += static_cast<int>(number_before(line, " registers"));
    last.shared_bytes += number_before(line, " bytes smem");
  }
  for (const std::string& warning : early)
    for (Resources& of : all)
      if (warning.find("'" + of.function + "'") != warning.npos || all.size() == 1) of.warnings.push_back(warning);
  return all;
}

std::optional<Unfit> unfit(const std::vector<Resources>& all) {
  for (const Resources& of : all) {
    if (const int64_t bytes = of.spill_stores + of.spill_loads; bytes > 0)
      return Unfit{"spills", of.function + " has too few registers: a thread stores " +
                                 std::to_string(of.spill_stores) + " bytes of them elsewhere and loads " +
                                 std::to_string(of.spill_loads)};
    if (!of.warnings.empty()) return Unfit{"serialised", of.function + ": " + of.warnings.front()};
  }
  return std::nullopt;
}

}  // namespace tw::runtime::cuda
