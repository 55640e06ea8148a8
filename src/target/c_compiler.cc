#include "src/target/c_compiler.h"

#include <unistd.h>

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

std::vector<std::string> names_for(const std::string& triple) {
  const std::string_view architecture = architecture_of(triple);
  if (triple.empty() || architecture == architecture_of(host_cpu().triple)) return {"cc", "gcc", "clang"};
  const size_t system = triple.find("-linux");
  if (system == std::string::npos) return {};
  return {std::string(architecture) + triple.substr(system) + "-gcc"};
}

}  // namespace

std::vector<std::string> c_compiler(const std::string& triple) {
  if (const char* chosen = std::getenv("CC"); chosen && *chosen) {
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
