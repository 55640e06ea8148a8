#include "codegen/files.h"

#include <fstream>

namespace tw::codegen {

std::string texts_of(const std::vector<ir::Program>& programs) {
  std::string text;
  for (const ir::Program& program : programs) text += (text.empty() ? "" : "\n") + ir::to_string(program);
  return text;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (file) return;
  throw Error(
      {ErrorKind::kArgument, "save: cannot write \"" + path + "\": is the folder there, and writable?", {}, {}});
}

Diagnostic cannot_run(const Target& target) {
  std::string missing;
  for (const std::string& feature : target.missing_here()) missing += (missing.empty() ? "" : ", ") + feature;
  return {ErrorKind::kTarget,
          "run: this machine cannot run code for " + target.to_string(),
          {},
          {"it lacks " + missing, "save() writes the kernel for the machine that has it"}};
}

}  // namespace tw::codegen
