// What travels between the library and its worker processes.
#pragma once

#include <optional>
#include <string>

#include "src/runtime/frame.h"
#include "tensorwright/runtime.h"

namespace tw::runtime {

// Fields, and the blobs that they name, in the order in which they name them: how these travel is the channel's affair.
struct Message {
  std::string bytes;
  std::vector<Blob> blobs = {};
  std::vector<int> descriptors = {};  // that travel after those of the blobs, and stay their owners'
};

// A blob that has come by descriptor and has not been looked at.
struct ReceivedMessage {
  std::string bytes;
  std::vector<support::Descriptor> blobs;
};

// Over a socket between processes of one machine. Otherwise as the functions of frame.h.
bool send_message(int socket, const Message&);
Received receive_message(int socket, double deadline, ReceivedMessage&);

// tw-worker answers a RunRequest with kStarted (the deadline runs from here), kChecked (once the first output was
// right: the deadline runs anew for the timing) and kResult. A run that fails sends kResult at once.
enum class Answer : int64_t { kStarted = 1, kChecked = 2, kResult = 3 };

Message encode(const RunRequest&);
// Nothing for what nobody would send; the blobs are taken out of the message.
std::optional<RunRequest> decode_run_request(ReceivedMessage&&);
Message encode(Answer, const RunResult&);
// Nothing for what no worker would write, a corrupt one did. Outputs of another size than the request's inputs are
// such.
std::optional<std::pair<Answer, RunResult>> decode_answer(ReceivedMessage&&, size_t output_bytes);

// tw-worker-build answers each BuildRequest with a BuildReply.
struct BuildRequest {
  std::string ir_text;  // of the lowered program
  std::string target;
  std::string out_path;  // of the shared object
  int opt_level = 3;
  std::vector<std::string> packers = {};  // the texts of the kernels that pack its inputs
  std::string nvrtc = {};                 // of a target of CUDA: the library that the caller found; empty: none
};
struct BuildReply {
  bool ok = false;
  std::string message;  // why not
  double llvm_s = 0, link_s = 0;
  std::string unfit = {};  // the status of what is not worth a run (cuda/image.h)
};
std::string encode(const BuildRequest&);
std::optional<BuildRequest> decode_build_request(std::string_view);
std::string encode(const BuildReply&);
std::optional<BuildReply> decode_build_reply(std::string_view);

}  // namespace tw::runtime
