// The builder's worker: lowered IR text in (a kernel's, and of those that pack for it), a shared object out. A compiler
// that aborts or hangs takes only this process along, and the tuner starts another.
#include <chrono>

#include "codegen/llvm/backend.h"
#include "src/ir/parse.h"
#include "src/runtime/builder.h"
#include "tensorwright/target.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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
  TW_TRY(std::string object, tw::codegen::compile(programs, target, request.opt_level, tw::codegen::Output::kObject));
  reply.llvm_s = seconds_since(compiling);
  const auto linking = std::chrono::steady_clock::now();
  TW_TRY([[maybe_unused]] tw::Unit linked, tw::codegen::link_shared(object, request.out_path));
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

}  // namespace

int main(int argc, char** argv) { return tw::runtime::serve_builds(argc, argv, reply_to); }
