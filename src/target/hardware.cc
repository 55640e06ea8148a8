// The hardware's own description, from /proc and /sys.
#include <fstream>
#include <sstream>
#include <thread>

#include "tensorwright/target.h"

namespace tw {

namespace {

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  std::string family, model, name;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) name = value;
    if (line.starts_with("cpu family")) family = value;
    if (line.starts_with("model\t")) model = value;
    if (!name.empty() && !family.empty() && !model.empty()) break;
  }
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
double hertz_or(double unknown) {
  double kilohertz = 0, megahertz = 0;
  if (std::ifstream("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq") >> kilohertz) return kilohertz * 1e3;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && megahertz == 0;)
    if (line.starts_with("cpu MHz")) std::istringstream(line.substr(line.find(": ") + 2)) >> megahertz;
  return megahertz > 0 ? megahertz * 1e6 : unknown;
}

HardwareDescription describe() {
  HardwareDescription hardware;
  hardware.cpu_model = cpu_model();
  hardware.hertz = hertz_or(hardware.hertz);
  hardware.cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 0; i < 8; ++i) {
    const std::string cache = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    const int64_t bytes = read_size(first_line(cache + "size"));
    if (bytes == 0 || first_line(cache + "type") == "Instruction") continue;
    const std::string level = first_line(cache + "level");
    if (level == "1") hardware.l1_bytes = bytes;
    if (level == "2") hardware.l2_bytes = bytes;
    if (level == "3") hardware.l3_bytes = bytes;
  }
  return hardware;
}

}  // namespace

std::string HardwareDescription::to_string() const {
  std::ostringstream text;
  text << cpu_model << ", " << cores << " cores, caches " << (l1_bytes >> 10) << "K " << (l2_bytes >> 10) << "K "
       << (l3_bytes >> 10) << "K";
  return text.str();
}

const HardwareDescription& host_hardware() {
  static const HardwareDescription hardware = describe();
  return hardware;
}

}  // namespace tw
