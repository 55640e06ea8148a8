#include "src/target/c_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "src/target/cpu.h"
#include "src/target/triple.h"

namespace tw::target {

namespace {

std::string on_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0 ? program : "";
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string file = (folder.empty() ? "." : folder) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// "aarch64-linux-gnu": the system's name without who put it together. Empty for what is no Linux.
std::string system_of(const std::string& triple) {
  const size_t system = triple.find("-linux");
  return system == std::string::npos ? "" : std::string(architecture_of(triple)) + triple.substr(system);
}

bool is_foreign(const std::string& triple) {
  return !triple.empty() && architecture_of(triple) != architecture_of(host_cpu().triple);
}

std::vector<std::string> names_for(const std::string& triple) {
  if (!is_foreign(triple)) return {"cc", "gcc", "clang"};
  if (system_of(triple).empty()) return {};
  return {system_of(triple) + "-gcc"};
}

std::string from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  return value ? value : "";
}

}  // namespace

std::string c_compiler_variable(const std::string& triple) {
  if (!is_foreign(triple) || system_of(triple).empty()) return "CC";
  std::string name = "CC_" + system_of(triple);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string c_compiler_wanted(const std::string& triple) {
  if (!is_foreign(triple)) return "cc, gcc or clang on the PATH";
  const std::string system = system_of(triple);
  return system.empty() ? "a cross compiler" : system + "-gcc on the PATH (Debian: apt-get install gcc-" + system + ")";
}

std::vector<std::string> c_compiler(const std::string& triple) {
  std::string chosen = from_environment(c_compiler_variable(triple));
  if (chosen.empty()) chosen = from_environment("CC");
  if (!chosen.empty()) {
    std::vector<std::string> words;
    std::istringstream text(chosen);
    for (std::string word; text >> word;) words.push_back(word);
    if (words.empty()) return {};
    words[0] = on_path(words[0]);
    return words[0].empty() ? std::vector<std::string>{} : words;
  }
  for (const std::string& name : names_for(triple))
    if (const std::string file = on_path(name); !file.empty()) return {file};
  return {};
}

}  // namespace tw::target
