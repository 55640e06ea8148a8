// NVIDIA's compiler of CUDA C++, NVRTC, opened where it is found: nothing of it is linked.
//
// It comes with PyPI's package nvidia-cuda-nvrtc or with the CUDA toolkit. All functions may be called from several
// threads.
#pragma once

#include <string>
#include <vector>

#include "src/runtime/cuda/image.h"
#include "tensorwright/error.h"

namespace tw::codegen {

// Text -> a CUBIN for `arch`, from the cache (cubin_cache.h) where it is. kBuild where NVRTC is missing, or refuses the
// text or the architecture.
Result<runtime::cuda::Image> compile_cuda(const std::string& text, const std::string& arch);

// What an image is made with: "NVRTC 13.0 (/path/libnvrtc.so.13)"; kBuild, with the way out, where it is not to be had.
Result<std::string> nvrtc_version();

// Where it is, for a process that does not know all folders below; as nvrtc_version.
Result<std::string> nvrtc_path();
void use_nvrtc(std::string path);  // comes before them, where it is still there

// Folders in which Python packages are: where nvidia-cuda-nvrtc may be. TW_NVRTC, the path of the library, comes first,
// and after these $VIRTUAL_ENV and what the dynamic linker finds.
void look_for_nvrtc_in(std::vector<std::string> package_folders);

}  // namespace tw::codegen
