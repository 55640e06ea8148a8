#include "codegen/cuda/program_image.h"

#include <cstdlib>
#include <string_view>

namespace tw::codegen {

bool wants_program_images() {
  const char* value = std::getenv("TW_CUDA_IMAGES");
  return value && std::string_view(value) == "ir";
}

// The text ends with a 0, as that of PTX does: a driver is given no length. As code does, it says which devices take
// it.
runtime::cuda::Image program_image(const std::vector<ir::Program>& functions, const std::string& arch) {
  runtime::cuda::Image image{arch, "tensorwright programs of " + arch + "\n", "",
                             "tensorwright programs since " + arch + "\n"};
  for (const ir::Program& function : functions) {
    const std::string text = ir::to_string(function);
    for (std::string* code : {&image.cubin, &image.ptx}) *code += std::to_string(text.size()) + "\n" + text;
  }
  return image;
}

}  // namespace tw::codegen
