// Modules of the target "cuda": text, plans, and the image that NVRTC makes of the text.
#pragma once

#include <memory>
#include <vector>

#include "codegen/cuda/source.h"
#include "src/runtime/cuda/image.h"
#include "tensorwright/build.h"

namespace tw::codegen {

class CudaModule final : public Module {
 public:
  CudaModule(std::vector<ir::Program> programs, const Target& target);

  std::vector<std::shared_ptr<const runtime::Kernel>> kernels() const override { return kernels_; }
  std::string source(std::string_view kind) const override;
  void save(const std::string& path) const override;
  const Target& target() const override { return target_; }

  // What each function takes of the device, as the compiler states it; throws kBuild where there is none.
  std::vector<runtime::cuda::Resources> resources() const;

 private:
  std::string plans_text() const;

  std::vector<ir::Program> programs_;
  Target target_;
  CudaSource source_;
  // Without NVRTC an error: the text is there, and only what needs the image is refused.
  std::shared_ptr<const Result<runtime::cuda::Image>> image_;
  std::vector<std::shared_ptr<const runtime::Kernel>> kernels_;
};

std::shared_ptr<const Module> make_cuda_module(const std::vector<ir::Program>& programs, const Target& target,
                                               int opt_level);

}  // namespace tw::codegen
