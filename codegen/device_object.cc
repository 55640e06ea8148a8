#include "codegen/device_object.h"

#include "codegen/cuda/nvrtc.h"
#include "codegen/cuda/program_image.h"
#include "codegen/cuda/source.h"
#include "codegen/device_code.h"
#if TW_LLVM
#include "codegen/llvm/backend.h"
#endif

namespace tw::codegen {

Result<DeviceObject> device_object(const std::vector<ir::Program>& programs, const Target& device, const Target& host,
                                   NewerDevices newer) {
#if TW_LLVM
  const CudaSource source = cuda_source(programs, device);
  DeviceCode code{programs, source.plans, device.arch, "", ""};
  DeviceObject object;
  runtime::cuda::Image image;
  if (wants_program_images()) {
    image = program_image(source.functions, device.arch);
  } else {
    TW_TRY(image, compile_cuda(source.text, device.arch));
    object.resources = runtime::cuda::resources_in(image.log);
  }
  code.image = std::move(image.cubin);
  if (newer == NewerDevices::kTranslate) code.ptx = std::move(image.ptx);
  TW_TRY(object.bytes, compile_device(code, host, device));
  return object;
#else
  return Diagnostic{ErrorKind::kBuild,
                    "save: the host's part of a kernel for " + device.to_string() +
                        " needs LLVM, which this build of Tensorwright lacks",
                    {},
                    {"save it as .cu or .cubin"}};
#endif
}

}  // namespace tw::codegen
