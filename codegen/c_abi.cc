#include "codegen/c_abi.h"

namespace tw::codegen {

namespace {

const char* const kAbiText =
#include "kernel_abi_text.inc"
    ;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

std::string c_abi() {
  std::string text = kAbiText;
  const std::string body = "(int64_t begin, int64_t end, void* closure)";
  replace_all(text, "typedef int32_t (*tw_parallel_body)" + body + ";",
              "/* (a function of the form int32_t body" + body + ") */");
  replace_all(text, "int64_t n, tw_parallel_body body,",
              "int64_t n,\n                          int32_t (*body)" + body + ",");
  for (const char* type : {"tw_args", "tw_context", "tw_param_descriptor", "tw_scalar_descriptor",
                           "tw_requirement_descriptor", "tw_kernel_descriptor"}) {
    const std::string name = type;
    replace_all(text, "typedef struct " + name + " {", "struct " + name + " {");
    replace_all(text, "} " + name + ";", "};");
    replace_all(text, "const " + name + "*", "const struct " + name + "*");
  }
  return text;
}

std::string bare_c_abi() {
  const std::string text = c_abi();
  std::string out, line;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "/*") == 0) {
      at = text.find("*/", at) + 2;
    } else if (text[at] == '\n') {
      while (line.ends_with(' ')) line.pop_back();
      const bool for_cpp =
          line.starts_with("#if") || line.starts_with("#endif") || line == "extern \"C\" {" || line == "}";
      const bool for_us = line.starts_with("#define TENSORWRIGHT_") || line.starts_with("#define TW_KERNEL_PREFIX");
      if (!line.empty() && !for_cpp && !for_us) out += line + "\n";
      line.clear();
      ++at;
    } else {
      line += text[at++];
    }
  }
  return out;
}

}  // namespace tw::codegen
