#include "src/runtime/messages.h"

namespace tw::runtime {
namespace {

void put(FrameWriter& w, const ArgSpec& spec) {
  w.text(spec.name).text(ir::to_string(spec.dtype)).numbers(spec.shape).numbers(spec.strides).number(spec.written);
}

std::optional<ArgSpec> get_spec(FrameReader& r) {
  ArgSpec spec;
  spec.name = r.text();
  const std::optional<ir::Type> type = ir::parse_type(r.text());
  spec.shape = r.numbers();
  spec.strides = r.numbers();
  spec.written = r.number() != 0;
  if (!type || !r.ok()) return std::nullopt;
  spec.dtype = *type;
  return spec;
}

}  // namespace

std::string encode(const RunRequest& request) {
  FrameWriter w;
  w.text(request.shared_object).text(request.kernel).text(request.inputs_path).text(request.reference_path);
  w.reals(request.rtol).reals(request.atol).number(request.threads).real(request.timeout_s);
  w.real(request.give_up_above_s).real(request.lower_bound_s).number(request.number).number(request.repeat);
  w.number(static_cast<int64_t>(request.args.size()));
  for (const ArgSpec& spec : request.args) put(w, spec);
  return w.bytes();
}

std::optional<RunRequest> decode_run_request(std::string_view bytes) {
  FrameReader r(bytes);
  RunRequest request;
  request.shared_object = r.text();
  request.kernel = r.text();
  request.inputs_path = r.text();
  request.reference_path = r.text();
  request.rtol = r.reals();
  request.atol = r.reals();
  request.threads = static_cast<int>(r.number());
  request.timeout_s = r.real();
  request.give_up_above_s = r.real();
  request.lower_bound_s = r.real();
  request.number = static_cast<int>(r.number());
  request.repeat = static_cast<int>(r.number());
  const int64_t args = r.number();
  for (int64_t i = 0; i < args; ++i) {
    std::optional<ArgSpec> spec = get_spec(r);
    if (!spec) return std::nullopt;
    request.args.push_back(*std::move(spec));
  }
  if (!r.complete()) return std::nullopt;
  return request;
}

std::string encode(Stage stage, const RunResult& result) {
  FrameWriter w;
  w.number(static_cast<int64_t>(stage)).number(static_cast<int64_t>(result.status));
  w.real(result.seconds).real(result.spread).number(result.runs).text(result.detail);
  return w.bytes();
}

std::optional<std::pair<Stage, RunResult>> decode_stage(std::string_view bytes) {
  FrameReader r(bytes);
  const int64_t stage = r.number(), status = r.number();
  RunResult result;
  result.seconds = r.real();
  result.spread = r.real();
  result.runs = static_cast<int>(r.number());
  result.detail = r.text();
  if (!r.complete() || stage < 1 || stage > 3 || status < 0 || status > static_cast<int64_t>(RunStatus::kDeviceLost))
    return std::nullopt;
  result.status = static_cast<RunStatus>(status);
  return std::pair{static_cast<Stage>(stage), std::move(result)};
}

std::string encode(const BuildRequest& request) {
  FrameWriter w;
  w.text(request.ir_text).text(request.target).text(request.out_path).number(request.opt_level);
  w.number(static_cast<int64_t>(request.packers.size()));
  for (const std::string& packer : request.packers) w.text(packer);
  return w.bytes();
}

std::optional<BuildRequest> decode_build_request(std::string_view bytes) {
  FrameReader r(bytes);
  BuildRequest request;
  request.ir_text = r.text();
  request.target = r.text();
  request.out_path = r.text();
  request.opt_level = static_cast<int>(r.number());
  const int64_t packers = r.number();
  for (int64_t i = 0; i < packers && r.ok(); ++i) request.packers.push_back(r.text());
  if (!r.complete()) return std::nullopt;
  return request;
}

std::string encode(const BuildReply& reply) {
  FrameWriter w;
  w.number(reply.ok).text(reply.message).real(reply.llvm_s).real(reply.link_s);
  return w.bytes();
}

std::optional<BuildReply> decode_build_reply(std::string_view bytes) {
  FrameReader r(bytes);
  BuildReply reply;
  reply.ok = r.number() != 0;
  reply.message = r.text();
  reply.llvm_s = r.real();
  reply.link_s = r.real();
  if (!r.complete()) return std::nullopt;
  return reply;
}

}  // namespace tw::runtime
