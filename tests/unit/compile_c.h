// Compiles C at test time into shared objects that follow the kernel ABI: kernels that misbehave as a test needs.
#pragma once

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>

#include "tests/folders.h"
#include "tests/unit/folder.h"

namespace tw::test {

// C for a kernel `name` over float vectors x (read) and y (written) of n elements; `body` sees x, y, n, args and
// context.
inline std::string vector_kernel(const std::string& name, int n, const std::string& body,
                                 const std::string& before = "") {
  const std::string count = std::to_string(n);
  return "#include <tensorwright/kernel_abi.h>\n" + before + "\nstatic const int64_t shape[1] = {" + count +
         "};\n"
         "static const tw_param_descriptor params[2] = {{\"x\", 3, 32, 0, 1, shape, 0}, {\"y\", 3, 32, 1, 1, shape, "
         "0}};\n"
         "const tw_kernel_descriptor tw_" +
         name + "_descriptor = {sizeof(tw_kernel_descriptor), TW_ABI_VERSION, \"" + name +
         "\", \"llvm -mcpu=x86-64\", \"\", 2, params};\n"
         "int32_t tw_" +
         name +
         "(const tw_args* args, const tw_context* context) {\n"
         "  const float* x = (const float*)args->data[0]; float* y = (float*)args->data[1]; const int n = " +
         count + ";\n  (void)x; (void)y; (void)n; (void)context;\n" + body + "\n  return 0;\n}\n";
}

// Compiles `source` and returns the path of the shared object.
inline std::string compile_c(const Folder& folder, const std::string& source, const std::string& name = "kernel",
                             const std::string& flags = "") {
  const std::string c = folder / (name + ".c"), so = folder / (name + ".so");
  std::ofstream(c) << source;
  const std::string command =
      TW_CC " -O1 -fPIC -shared -w -I" TW_SOURCE_DIR "/include " + flags + " -o " + so + " " + c;
  if (std::system(command.c_str()) != 0) throw std::runtime_error("cannot compile " + c);
  return so;
}

}  // namespace tw::test
