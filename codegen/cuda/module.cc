#include "codegen/cuda/module.h"

#include <algorithm>

#include "codegen/arg_specs.h"
#include "codegen/c_header.h"
#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/program_image.h"
#include "codegen/device_object.h"
#include "codegen/files.h"
#include "src/runtime/cuda/kernel.h"

namespace tw::codegen {

using runtime::cuda::CudaKernel;
using runtime::cuda::Image;

namespace {

// A text that is refused is an error now, one that nobody was there to compile when it is called.
std::shared_ptr<const Result<Image>> image_of(const CudaSource& source, const std::string& arch) {
  if (wants_program_images()) return std::make_shared<const Result<Image>>(program_image(source.functions, arch));
  const Result<std::string> compiler = nvrtc_version();
  if (!compiler.ok()) return std::make_shared<const Result<Image>>(compiler.error());
  return std::make_shared<const Result<Image>>(compile_cuda(source.text, arch).value_or_throw());
}

}  // namespace

CudaModule::CudaModule(std::vector<ir::Program> programs, const Target& target)
    : programs_(std::move(programs)),
      target_(target),
      source_(cuda_source(programs_, target)),
      image_(image_of(source_, target.arch)) {
  kernels_ = kernels_of(programs_, [&](const ir::Program& program, runtime::Packers packers) {
    const auto plan = std::find_if(source_.plans.begin(), source_.plans.end(),
                                   [&](const runtime::cuda::Plan& p) { return p.kernel == program.name; });
    CudaKernel::Parts parts{arg_specs(program), scalar_specs(program), ir::requirements_of(program), std::move(packers),
                            *plan};
    return std::make_shared<CudaKernel>(std::move(parts), image_, target_.arch);
  });
}

std::string CudaModule::plans_text() const {
  std::string text;
  for (size_t i = 0; i < programs_.size(); ++i) {
    std::vector<std::string> arguments, scalars;
    for (const ir::Param& param : programs_[i].params) arguments.push_back(param.buffer.name());
    for (const ir::Var& scalar : programs_[i].scalars) scalars.push_back(scalar.name());
    text += to_string(source_.plans[i], arguments, scalars);
  }
  return text;
}

std::string CudaModule::source(std::string_view kind) const {
  if (kind == "ir") return texts_of(programs_);
  if (kind == "cuda") return source_.text;
  if (kind == "launches") return plans_text();
  throw Error(
      {ErrorKind::kArgument,
       "source: kind must be \"ir\", \"cuda\" or \"launches\" for target cuda, not \"" + std::string(kind) + "\"",
       {},
       {}});
}

void CudaModule::save(const std::string& path) const {
  if (path.ends_with(".cu")) return write_file(path, source_.text);
  if (path.ends_with(".o")) {
    const Target host = Target::parse("llvm").value_or_throw();
    write_file(path, device_object(programs_, target_, host, NewerDevices::kTranslate).value_or_throw().bytes);
    return write_file(path.substr(0, path.rfind('.')) + ".h", c_header(programs_, target_, host.triple));
  }
  if (!path.ends_with(".cubin"))
    throw Error({ErrorKind::kArgument,
                 "save: path must end in .o, .cu or .cubin for target cuda, not \"" + path + "\"",
                 {},
                 {}});
  if (!image_->ok()) throw Error(image_->error());
  write_file(path, (*image_)->cubin);
}

std::vector<runtime::cuda::Resources> CudaModule::resources() const {
  if (!image_->ok()) throw Error(image_->error());
  return runtime::cuda::resources_in((*image_)->log);
}

std::shared_ptr<const Module> make_cuda_module(const std::vector<ir::Program>& programs, const Target& target,
                                               int /*opt_level*/) {
  return std::make_shared<CudaModule>(programs, target);
}

}  // namespace tw::codegen
