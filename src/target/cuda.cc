#include "src/target/cuda.h"

#include <algorithm>
#include <utility>

#include "src/support/launch_limits.h"
#include "src/target/cpu.h"

namespace tw::target::cuda {

namespace {

struct Row {
  const char* name;
  int major, minor;
  int shared_kib;  // of one block, when it asks for them at its launch
};

// From old to new; of one capability the last is what code for such a device is made for.
const Row kRows[] = {
    {"sm_80", 8, 0, 163}, {"sm_86", 8, 6, 99},   {"sm_87", 8, 7, 163},   {"sm_89", 8, 9, 99},
    {"sm_90", 9, 0, 227}, {"sm_90a", 9, 0, 227}, {"sm_100", 10, 0, 227}, {"sm_100a", 10, 0, 227},
};

const Row* find(std::string_view name) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return name == r.name; });
  return row == std::end(kRows) ? nullptr : row;
}

std::string (*registered)() = nullptr;

}  // namespace

std::vector<std::string> architectures() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

// A thread has 255 registers of 32 bits, read and written 16 bytes at most at a time.
Abilities abilities_of(std::string_view arch) {
  constexpr int kWarp = 32, kRegistersOfABlock = 65536, kThreads = support::kMostThreadsOfBlock;
  Abilities a;
  a.vector_bits = 128;
  a.vector_registers = 64;
  a.fma = a.rounding = a.float16 = true;
  a.device = Device{kWarp, int64_t{find(arch)->shared_kib} << 10, kRegistersOfABlock, kThreads};
  return a;
}

std::string architecture_of(int major, int minor) {
  std::string found;
  for (const Row& row : kRows)
    if (row.major == major && row.minor <= minor && (row.minor == minor || !std::string_view(row.name).ends_with('a')))
      found = row.name;
  return found;
}

bool runs(std::string_view device, std::string_view arch) {
  const Row *const here = find(device), *const code = find(arch);
  if (here == nullptr || code == nullptr || here->major != code->major) return false;
  return arch.ends_with('a') ? here->minor == code->minor : here->minor >= code->minor;
}

bool is_newer(int major, int minor, std::string_view arch) {
  const Row* const code = find(arch);
  return code != nullptr && std::pair(major, minor) > std::pair(code->major, code->minor);
}

std::string why_not_on(std::string_view device, const Target& target) {
  if (target.arch.empty()) return "it is a GPU";
  return runs(device, target.arch) ? "" : "its GPU is " + std::string(device);
}

std::string architecture_in(std::string_view target) {
  if (!target.starts_with("cuda")) return {};
  const Result<Target> parsed = parse_on(host_cpu(), target);
  return parsed ? parsed->arch : std::string();
}

Capability capability_of(std::string_view arch) {
  const Row* row = find(arch);
  return {row->major, row->minor, arch.ends_with('a')};
}

std::string device_here() { return registered == nullptr ? "" : registered(); }

void register_device(std::string (*find)()) { registered = find; }

}  // namespace tw::target::cuda
