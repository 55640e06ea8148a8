#include "src/target/hardware.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "src/target/aarch64.h"

namespace tw {

namespace {

// A core as the system numbers it, and cores of one kind.
struct Core {
  int number = 0;
  uint32_t midr = 0;
  int capacity = 0;  // of 1024, which the fastest have; 0: the system says nothing
};

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string folder_of(const std::string& root, int core) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/";
}

// Those that say of themselves what they are: of AArch64, and switched on.
std::vector<Core> arm_cores(const std::string& root) {
  std::vector<Core> cores;
  for (int number = 0; std::filesystem::exists(folder_of(root, number)); ++number) {
    uint64_t midr = 0;
    Core core{number};
    if (!(std::ifstream(folder_of(root, number) + "regs/identification/midr_el1") >> std::hex >> midr)) continue;
    std::ifstream(folder_of(root, number) + "cpu_capacity") >> core.capacity;
    core.midr = static_cast<uint32_t>(midr);
    cores.push_back(core);
  }
  return cores;
}

std::string core_name(uint32_t midr) {
  const std::string name = target::aarch64::name_of(midr, {});
  if (!name.empty()) return name;
  std::ostringstream text;
  text << "implementer 0x" << std::hex << (midr >> 24) << " part 0x" << (midr >> 4 & 0xfff);
  return text.str();
}

// The fastest first. Steppings of a core are one kind.
std::string clusters_of(const std::vector<Core>& cores) {
  std::map<std::pair<int, std::string>, int> kinds;
  for (const Core& core : cores) ++kinds[{-core.capacity, core_name(core.midr)}];
  if (kinds.size() == 1) return kinds.begin()->first.second;
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += (text.empty() ? "" : " + ") + std::to_string(count) + " x " + kind.second;
    if (kind.first != 0) text += " (" + std::to_string(-kind.first) + ")";
  }
  return text;
}

std::string cpu_model(const std::string& root) {
  std::ifstream file(root + "/proc/cpuinfo");
  std::string family, model, name;
  uint32_t implementer = 0, part = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) name = value;
    if (line.starts_with("cpu family")) family = value;
    if (line.starts_with("model\t")) model = value;
    if (line.starts_with("CPU implementer")) std::istringstream(value) >> std::hex >> implementer;
    if (line.starts_with("CPU part")) std::istringstream(value) >> std::hex >> part;
    if (!name.empty() && !family.empty() && !model.empty()) break;
  }
  if (name.empty() && part != 0) return core_name(implementer << 24 | part << 4);
  if (name.empty()) return "unknown";
  return family.empty() ? name : name + " (family " + family + " model " + model + ")";
}

int64_t read_size(const std::string& text) {  // "32K", "1M"
  if (text.empty()) return 0;
  int64_t value = 0;
  std::istringstream(text) >> value;
  if (text.back() == 'K') value <<= 10;
  if (text.back() == 'M') value <<= 20;
  return value;
}

// The highest that the system promises; in a virtual machine there is only what it says about now.
double hertz_or(double unknown, const std::string& root, int core) {
  double kilohertz = 0, megahertz = 0;
  if (std::ifstream(folder_of(root, core) + "cpufreq/cpuinfo_max_freq") >> kilohertz) return kilohertz * 1e3;
  std::ifstream file(root + "/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && megahertz == 0;)
    if (line.starts_with("cpu MHz")) std::istringstream(line.substr(line.find(": ") + 2)) >> megahertz;
  return megahertz > 0 ? megahertz * 1e6 : unknown;
}

}  // namespace

HardwareDescription target::describe_hardware(const std::string& root, int count) {
  const std::vector<Core> cores = arm_cores(root);
  const auto fastest = std::max_element(cores.begin(), cores.end(),
                                        [](const Core& a, const Core& b) { return a.capacity < b.capacity; });
  const int core = fastest == cores.end() ? 0 : fastest->number;
  HardwareDescription hardware;
  hardware.cpu_model = cores.empty() ? cpu_model(root) : clusters_of(cores);
  hardware.hertz = hertz_or(hardware.hertz, root, core);
  hardware.cores = count;
  for (int i = 0; i < 8; ++i) {
    const std::string cache = folder_of(root, core) + "cache/index" + std::to_string(i) + "/";
    const int64_t bytes = read_size(first_line(cache + "size"));
    if (bytes == 0 || first_line(cache + "type") == "Instruction") continue;
    const std::string level = first_line(cache + "level");
    if (level == "1") hardware.l1_bytes = bytes;
    if (level == "2") hardware.l2_bytes = bytes;
    if (level == "3") hardware.l3_bytes = bytes;
  }
  return hardware;
}

std::string HardwareDescription::to_string() const {
  std::ostringstream text;
  text << cpu_model << ", " << cores << " cores, caches " << (l1_bytes >> 10) << "K " << (l2_bytes >> 10) << "K "
       << (l3_bytes >> 10) << "K";
  return text.str();
}

const HardwareDescription& host_hardware() {
  static const HardwareDescription hardware =
      target::describe_hardware("", static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  return hardware;
}

}  // namespace tw
