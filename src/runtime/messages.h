// What travels between the library and its worker processes.
#pragma once

#include <optional>
#include <string>

#include "src/runtime/frame.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// tw-worker answers a RunRequest with kStarted (the deadline runs from here), kChecked (once the first output was
// right: the deadline runs anew for the timing) and kResult. A run that fails sends kResult at once.
enum class Stage : int64_t { kStarted = 1, kChecked = 2, kResult = 3 };

std::string encode(const RunRequest&);
std::optional<RunRequest> decode_run_request(std::string_view);
std::string encode(Stage, const RunResult&);
// Nothing for what no worker would write: a corrupt one did.
std::optional<std::pair<Stage, RunResult>> decode_stage(std::string_view);

// tw-worker-build answers each BuildRequest with a BuildReply.
struct BuildRequest {
  std::string ir_text;  // of the lowered program
  std::string target;
  std::string out_path;  // of the shared object
  int opt_level = 3;
  std::vector<std::string> packers = {};  // the texts of the kernels that pack its inputs
};
struct BuildReply {
  bool ok = false;
  std::string message;  // why not
  double llvm_s = 0, link_s = 0;
};
std::string encode(const BuildRequest&);
std::optional<BuildRequest> decode_build_request(std::string_view);
std::string encode(const BuildReply&);
std::optional<BuildReply> decode_build_reply(std::string_view);

}  // namespace tw::runtime
