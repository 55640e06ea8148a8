#include "src/runtime/messages.h"

#include "src/runtime/blob.h"

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

void put(FrameWriter& w, std::vector<Blob>& blobs, const Blob& blob) {
  w.number(static_cast<int64_t>(blob.size()));
  if (blob.size() > 0) blobs.push_back(blob);
}

// Takes blobs out of a message, in order.
class BlobReader {
 public:
  explicit BlobReader(std::vector<support::Descriptor>& from) : from_(from) {}
  std::optional<Blob> next(FrameReader& r, std::optional<size_t> expected = {}) {
    const int64_t bytes = r.number();
    if (!r.ok() || bytes < 0 || static_cast<size_t>(bytes) != expected.value_or(bytes)) return std::nullopt;
    if (bytes == 0) return Blob();
    if (taken_ == from_.size()) return std::nullopt;
    return adopt_blob(std::move(from_[taken_++]), static_cast<size_t>(bytes));
  }
  bool complete() const { return taken_ == from_.size(); }

 private:
  std::vector<support::Descriptor>& from_;
  size_t taken_ = 0;
};

}  // namespace

bool send_message(int socket, const Message& message) {
  std::vector<int> descriptors;
  for (const Blob& blob : message.blobs) descriptors.push_back(blob.descriptor());
  descriptors.insert(descriptors.end(), message.descriptors.begin(), message.descriptors.end());
  return send_frame(socket, message.bytes, descriptors);
}

Received receive_message(int socket, double deadline, ReceivedMessage& message) {
  return receive_frame(socket, deadline, message.bytes, &message.blobs);
}

Message encode(const RunRequest& request) {
  FrameWriter w;
  Message message;
  put(w, message.blobs, request.object);
  put(w, message.blobs, request.inputs);
  put(w, message.blobs, request.device_checks);
  w.number(request.reference.has_value());
  if (request.reference) put(w, message.blobs, *request.reference);
  w.text(request.kernel).reals(request.rtol).reals(request.atol).number(request.threads).real(request.timeout_s);
  w.real(request.give_up_above_s).real(request.lower_bound_s).number(request.number).number(request.repeat);
  w.number(static_cast<int64_t>(request.args.size()));
  for (const ArgSpec& spec : request.args) put(w, spec);
  message.bytes = w.bytes();
  return message;
}

std::optional<RunRequest> decode_run_request(ReceivedMessage&& message) {
  FrameReader r(message.bytes);
  BlobReader blobs(message.blobs);
  RunRequest request;
  std::optional<Blob> object = blobs.next(r), inputs = blobs.next(r), device_checks = blobs.next(r);
  const bool compares = r.number() != 0;
  if (compares) request.reference = blobs.next(r);
  if (!object || !inputs || !device_checks || request.reference.has_value() != compares) return std::nullopt;
  request.object = *std::move(object);
  request.inputs = *std::move(inputs);
  request.device_checks = *std::move(device_checks);
  request.kernel = r.text();
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
  if (!r.complete() || !blobs.complete()) return std::nullopt;
  return request;
}

Message encode(Answer answer, const RunResult& result) {
  FrameWriter w;
  Message message;
  w.number(static_cast<int64_t>(answer)).number(static_cast<int64_t>(result.status));
  w.real(result.seconds).real(result.spread).number(result.runs).text(result.detail);
  w.number(result.outputs.has_value());
  if (result.outputs) put(w, message.blobs, *result.outputs);
  message.bytes = w.bytes();
  return message;
}

std::optional<std::pair<Answer, RunResult>> decode_answer(ReceivedMessage&& message, size_t output_bytes) {
  FrameReader r(message.bytes);
  BlobReader blobs(message.blobs);
  const int64_t answer = r.number(), status = r.number();
  RunResult result;
  result.seconds = r.real();
  result.spread = r.real();
  result.runs = static_cast<int>(r.number());
  result.detail = r.text();
  const bool gives = r.number() != 0;
  if (gives) result.outputs = blobs.next(r, output_bytes);
  if (gives != result.outputs.has_value() || !r.complete() || !blobs.complete() || answer < 1 || answer > 3 ||
      status < 0 || status > static_cast<int64_t>(RunStatus::kDeviceLost))
    return std::nullopt;
  result.status = static_cast<RunStatus>(status);
  return std::pair{static_cast<Answer>(answer), std::move(result)};
}

std::string encode(const BuildRequest& request) {
  FrameWriter w;
  w.text(request.ir_text).text(request.target).text(request.out_path).number(request.opt_level);
  w.number(static_cast<int64_t>(request.packers.size()));
  for (const std::string& packer : request.packers) w.text(packer);
  w.text(request.nvrtc);
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
  request.nvrtc = r.text();
  if (!r.complete()) return std::nullopt;
  return request;
}

std::string encode(const BuildReply& reply) {
  FrameWriter w;
  w.number(reply.ok).text(reply.message).text(reply.unfit).real(reply.llvm_s).real(reply.link_s);
  return w.bytes();
}

std::optional<BuildReply> decode_build_reply(std::string_view bytes) {
  FrameReader r(bytes);
  BuildReply reply;
  reply.ok = r.number() != 0;
  reply.message = r.text();
  reply.unfit = r.text();
  reply.llvm_s = r.real();
  reply.link_s = r.real();
  if (!r.complete()) return std::nullopt;
  return reply;
}

}  // namespace tw::runtime
