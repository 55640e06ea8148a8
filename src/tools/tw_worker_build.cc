// The builder's worker: lowered IR text in (a kernel's, and of those that pack for it), a shared object out. A compiler
// that aborts or hangs takes only this process along, and the tuner starts another.
#include <chrono>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "codegen/cuda/nvrtc.h"
#include "codegen/device_object.h"
#include "codegen/files.h"
#include "codegen/llvm/backend.h"
#include "src/ir/parse.h"
#include "src/lower/sync_check.h"
#include "src/runtime/builder.h"
#include "src/runtime/cuda/image.h"
#include "tensorwright/target.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Barriers are there by derivation; that they suffice is proved anew of each program that is to run.
tw::Status check_synchronised(const tw::ir::Program& kernel) {
  for (const tw::lower::SyncFinding& finding : tw::lower::sync_check(kernel))
    if (finding.certain || finding.kind == tw::lower::SyncFinding::Kind::kDivergentBarrier)
      return tw::Diagnostic{tw::ErrorKind::kBuild, "threads do not wait for each other: " + to_string(finding), {}, {}};
  return tw::Unit{};
}

// What is not worth a run is no error: the reply says so.
tw::Result<std::string> compile(const std::vector<tw::ir::Program>& programs, const tw::Target& target,
                                const tw::runtime::BuildRequest& request, tw::runtime::BuildReply& reply) {
  if (target.kind != "cuda")
    return tw::codegen::compile(programs, target, request.opt_level, tw::codegen::Output::kObject);
  if (!request.nvrtc.empty()) tw::codegen::use_nvrtc(request.nvrtc);
  for (const tw::ir::Program& program : programs) {
    TW_TRY([[maybe_unused]] const tw::Unit synchronised, check_synchronised(program));
  }
  TW_TRY(const tw::Target host, tw::Target::parse("llvm"));
  TW_TRY(tw::codegen::DeviceObject object,
         tw::codegen::device_object(programs, target, host, tw::codegen::NewerDevices::kNo));
  if (const auto unfit = tw::runtime::cuda::unfit(object.resources)) {
    reply.unfit = unfit->status;
    reply.message = unfit->why;
  }
  return std::move(object.bytes);
}

tw::Result<tw::runtime::BuildReply> build(const tw::runtime::BuildRequest& request) {
  TW_TRY(tw::Target target, tw::Target::parse(request.target));
  std::vector<tw::ir::Program> programs(1);
  TW_TRY(programs[0], tw::ir::parse_program(request.ir_text));
  for (const std::string& text : request.packers) {
    TW_TRY(programs.emplace_back(), tw::ir::parse_program(text));
  }
  tw::runtime::BuildReply reply;
  const auto compiling = std::chrono::steady_clock::now();
  TW_TRY(std::string object, compile(programs, target, request, reply));
  reply.llvm_s = seconds_since(compiling);
  if (!reply.unfit.empty()) return reply;
  const auto linking = std::chrono::steady_clock::now();
  TW_TRY(const std::string shared, tw::codegen::link_shared(object));
  tw::codegen::write_file(request.out_path, shared);
  reply.link_s = seconds_since(linking);
  reply.ok = true;
  return reply;
}

tw::runtime::BuildReply reply_to(const tw::runtime::BuildRequest& request) {
  tw::runtime::BuildReply failed;
  try {
    const tw::Result<tw::runtime::BuildReply> reply = build(request);
    if (reply.ok()) return *reply;
    failed.message = reply.error().render();
  } catch (const tw::Error& error) {
    failed.message = error.what();
  }
  return failed;
}

// Each build asks for what the last one gave back: it stays here, where the system would have to clear it again.
void keep_memory() {
#ifdef __GLIBC__
  constexpr int kMuch = 64 << 20;
  mallopt(M_ARENA_MAX, 1);  // a build runs on a thread of its own
  mallopt(M_TRIM_THRESHOLD, kMuch);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 16 << 20);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory();
  return tw::runtime::serve_builds(argc, argv, reply_to);
}
