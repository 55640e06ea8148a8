#include "src/runtime/kernel_calls.h"

#include "src/runtime/blob.h"

namespace tw::runtime {
namespace {

enum Kind : int64_t { kLoad, kShare, kForget, kCall };

void put(FrameWriter& w, const Diagnostic& d) {
  w.number(static_cast<int64_t>(d.kind)).text(d.what).number(static_cast<int64_t>(d.notes.size()));
  for (const std::string& note : d.notes) w.text(note);
}

std::optional<Diagnostic> get_diagnostic(FrameReader& r) {
  Diagnostic d;
  const int64_t kind = r.number();
  d.what = r.text();
  for (int64_t left = r.number(); left > 0 && r.ok(); --left) d.notes.push_back(r.text());
  if (!r.ok() || kind < 0 || kind > static_cast<int64_t>(ErrorKind::kInternal)) return std::nullopt;
  d.kind = static_cast<ErrorKind>(kind);
  return d;
}

bool get_type(FrameReader& r, ir::Type& type) {
  const std::optional<ir::Type> known = ir::parse_type(r.text());
  if (known) type = *known;
  return known.has_value();
}

void put(FrameWriter& w, const CallKernel& call) {
  w.number(static_cast<int64_t>(call.arrays.size()));
  for (const PlacedArray& a : call.arrays)
    w.number(static_cast<int64_t>(a.memory)).text(ir::to_string(a.dtype)).numbers(a.shape).numbers(a.strides);
  w.numbers({call.scalars.begin(), call.scalars.end()}).number(call.timing.has_value());
  if (call.timing) w.number(call.timing->number).number(call.timing->repeat).real(call.timing->min_repeat_ms);
  w.real(call.cooldown_s);
}

std::optional<CallKernel> get_call(FrameReader& r) {
  CallKernel call;
  for (int64_t left = r.number(); left > 0 && r.ok(); --left) {
    PlacedArray& a = call.arrays.emplace_back();
    a.memory = static_cast<uint64_t>(r.number());
    if (!get_type(r, a.dtype)) return std::nullopt;
    a.shape = r.numbers();
    a.strides = r.numbers();
  }
  for (const int64_t bits : r.numbers()) call.scalars.push_back(static_cast<ScalarValue>(bits));
  if (r.number() != 0) {
    TimingOptions& timing = call.timing.emplace();
    timing.number = static_cast<int>(r.number());
    timing.repeat = static_cast<int>(r.number());
    timing.min_repeat_ms = r.real();
  }
  call.cooldown_s = r.real();
  return r.ok() ? std::optional(std::move(call)) : std::nullopt;
}

std::optional<LoadKernel> get_load(FrameReader& r, std::vector<support::Descriptor>& blobs) {
  LoadKernel load;
  load.name = r.text();
  load.threads = static_cast<int>(r.number());
  const int64_t bytes = r.number();
  if (!r.ok() || bytes <= 0 || load.threads < 1 || blobs.size() != 1) return std::nullopt;
  std::optional<Blob> object = adopt_blob(std::move(blobs[0]), static_cast<size_t>(bytes));
  if (!object) return std::nullopt;
  load.object = *std::move(object);
  return load;
}

void put(FrameWriter& w, const KernelSummary& summary) {
  w.text(summary.name).number(static_cast<int64_t>(summary.args.size()));
  for (const ArgSpec& a : summary.args)
    w.text(a.name).text(ir::to_string(a.dtype)).numbers(a.shape).numbers(a.strides).number(a.written).text(a.layout);
  w.number(static_cast<int64_t>(summary.scalars.size()));
  for (const ScalarSpec& s : summary.scalars)
    w.text(s.var.name()).text(ir::to_string(s.var.type())).number(s.place);
}

std::optional<KernelSummary> get_summary(FrameReader& r) {
  KernelSummary summary;
  summary.name = r.text();
  for (int64_t left = r.number(); left > 0 && r.ok(); --left) {
    ArgSpec& a = summary.args.emplace_back();
    a.name = r.text();
    if (!get_type(r, a.dtype)) return std::nullopt;
    a.shape = r.numbers();
    a.strides = r.numbers();
    a.written = r.number() != 0;
    a.layout = r.text();
  }
  for (int64_t left = r.number(); left > 0 && r.ok(); --left) {
    std::string name = r.text();
    ir::Type type;
    if (!get_type(r, type)) return std::nullopt;
    summary.scalars.push_back({ir::Var(std::move(name), type), static_cast<int>(r.number())});
  }
  return r.ok() ? std::optional(std::move(summary)) : std::nullopt;
}

template <class T>
std::optional<KernelRequest> whole(const FrameReader& r, std::optional<T> request) {
  if (!request || !r.complete()) return std::nullopt;
  return KernelRequest(*std::move(request));
}

}  // namespace

Message encode(const KernelRequest& request, int descriptor) {
  FrameWriter w;
  Message message;
  w.number(static_cast<int64_t>(request.index()));
  if (const auto* load = std::get_if<LoadKernel>(&request)) {
    w.text(load->name).number(load->threads).number(static_cast<int64_t>(load->object.size()));
    message.blobs = {load->object};
  } else if (const auto* share = std::get_if<ShareMemory>(&request)) {
    w.number(static_cast<int64_t>(share->memory)).number(static_cast<int64_t>(share->bytes));
    message.descriptors = {descriptor};
  } else if (const auto* forget = std::get_if<ForgetMemory>(&request)) {
    w.number(static_cast<int64_t>(forget->memory));
  } else {
    put(w, std::get<CallKernel>(request));
  }
  message.bytes = w.bytes();
  return message;
}

std::optional<KernelRequest> decode_kernel_request(ReceivedMessage& message) {
  FrameReader r(message.bytes);
  const auto memory = [&] { return static_cast<uint64_t>(r.number()); };
  switch (r.number()) {
    case kLoad:
      return whole(r, get_load(r, message.blobs));
    case kShare: {
      ShareMemory share{memory(), 0};
      share.bytes = memory();
      return whole(r, message.blobs.size() == 1 ? std::optional(share) : std::nullopt);
    }
    case kForget:
      return whole(r, std::optional(ForgetMemory{memory()}));
    case kCall:
      return whole(r, get_call(r));
    default:
      return std::nullopt;
  }
}

Message encode(const KernelAnswer& answer) {
  FrameWriter w;
  w.number(answer.refused.has_value());
  if (answer.refused) put(w, *answer.refused);
  w.number(answer.loaded.has_value());
  if (answer.loaded) put(w, *answer.loaded);
  w.reals(answer.runs);
  return {w.bytes(), {}, {}};
}

std::optional<KernelAnswer> decode_kernel_answer(const ReceivedMessage& message) {
  FrameReader r(message.bytes);
  KernelAnswer answer;
  if (r.number() != 0 && !(answer.refused = get_diagnostic(r))) return std::nullopt;
  if (r.number() != 0 && !(answer.loaded = get_summary(r))) return std::nullopt;
  answer.runs = r.reals();
  return r.complete() ? std::optional(std::move(answer)) : std::nullopt;
}

}  // namespace tw::runtime
