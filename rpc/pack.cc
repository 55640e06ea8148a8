#include "rpc/pack.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "src/runtime/arguments.h"
#include "src/runtime/inputs.h"
#include "src/support/fnv.h"
#include "src/support/json_text.h"
#include "src/support/line_file.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;
using runtime::ArgSpec;

constexpr std::string_view kMark = "{\"twpack\":";
constexpr int64_t kMostElements = int64_t{1} << 40;  // of an argument

[[noreturn]] void refuse(const std::string& path, const std::string& why, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kTune, "the pack " + path + " " + why, {}, std::move(notes)});
}

// ---------------------------------------------------------------------------------------------------------- the parts

Json to_json(const ArgSpec& spec) {
  Json json{{"name", spec.name}, {"dtype", ir::to_string(spec.dtype)}, {"shape", spec.shape}};
  if (!spec.strides.empty()) json["strides"] = spec.strides;
  json["written"] = spec.written;
  if (spec.range) json["range"] = {spec.range->first, spec.range->second};
  return json;
}

ArgSpec arg_from(const Json& json) {
  ArgSpec spec;
  spec.name = json.at("name").get<std::string>();
  const std::optional<ir::Type> type = ir::parse_type(json.at("dtype").get<std::string>());
  if (!type) throw std::runtime_error("an argument of no known type");
  spec.dtype = *type;
  spec.shape = json.at("shape").get<std::vector<int64_t>>();
  if (json.contains("strides")) spec.strides = json["strides"].get<std::vector<int64_t>>();
  spec.written = json.at("written").get<bool>();
  if (json.contains("range")) spec.range = json["range"].get<std::pair<int64_t, int64_t>>();
  return spec;
}

// Shapes and strides that no release writes would overflow where memory is counted.
void require_sound(const ArgSpec& spec) {
  const bool strided = !spec.strides.empty();
  if (strided && spec.strides.size() != spec.shape.size()) throw std::runtime_error("strides of another rank");
  double elements = 1, reach = 1;
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    const int64_t extent = spec.shape[d], stride = strided ? spec.strides[d] : 0;
    if (extent < 0 || stride < 0) throw std::runtime_error("a negative extent or stride");
    elements *= static_cast<double>(extent);
    reach += static_cast<double>(extent) * static_cast<double>(stride);
  }
  if (elements > kMostElements || reach > kMostElements) throw std::runtime_error("an argument of too many elements");
}

// A double as its bits: JSON has neither NaN nor infinities.
Json to_json(const Probe& p) { return Json{p.argument, p.element, std::bit_cast<uint64_t>(p.expected)}; }
Probe probe_from(const Json& json) {
  return {json.at(0).get<size_t>(), json.at(1).get<int64_t>(), std::bit_cast<double>(json.at(2).get<uint64_t>())};
}

std::vector<std::pair<size_t, size_t>> outputs_in(const std::vector<ArgSpec>& args) {
  const std::vector<size_t> offsets = runtime::argument_offsets(args);
  std::vector<std::pair<size_t, size_t>> places;  // offset and bytes
  for (size_t a = 0; a < args.size(); ++a)
    if (args[a].written) places.emplace_back(offsets[a], args[a].bytes());
  return places;
}

// The outputs alone: inputs follow from their specifications.
Blob outputs_of(const std::vector<ArgSpec>& args, const Blob& arguments) {
  std::string bytes;
  for (const auto& [offset, size] : outputs_in(args)) bytes += arguments.bytes().substr(offset, size);
  return Blob(bytes);
}

Blob arguments_from(const std::vector<ArgSpec>& args, const Blob& outputs) {
  runtime::Draft draft(runtime::argument_offsets(args).back());
  size_t at = 0;
  for (const auto& [offset, size] : outputs_in(args)) {
    if (outputs.size() - at < size) throw std::runtime_error("a reference that is too short");
    if (size > 0) std::memcpy(draft.data() + offset, outputs.bytes().data() + at, size);
    at += size;
  }
  if (at != outputs.size()) throw std::runtime_error("a reference that is too long");
  return std::move(draft).finish();
}

// ------------------------------------------------------------------------------------------------------------ writing

class Writer {
 public:
  size_t put(const Blob& blob) {
    const std::string bytes(blob.bytes());
    const auto [at, is_new] = places_.try_emplace(bytes, places_.size());
    if (is_new) {
      listed_.push_back({{"bytes", bytes.size()}, {"checksum", support::fnv1a_hex(bytes)}});
      bytes_ += bytes;
    }
    return at->second;
  }
  const Json& listed() const { return listed_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::map<std::string, size_t> places_;
  Json listed_ = Json::array();
  std::string bytes_;
};

std::string text_of(const Pack& pack) {
  Writer blobs;
  Json json;
  json["twpack"] = kPackVersion;
  json["task"] = pack.task;
  json["target"] = pack.target;
  json["needs"] = {{"triple", pack.triple}, {"features", pack.features}, {"sve_bits", pack.sve_bits}};
  json["hardware"] = pack.hardware;
  json["threads"] = pack.threads;
  json["kernel"] = pack.kernel;
  json["inputs"] = runtime::kInputsVersion;
  json["args"] = Json::array();
  for (const ArgSpec& spec : pack.args) json["args"].push_back(to_json(spec));
  json["rtol"] = pack.rtol;
  if (pack.reference.arguments) {
    json["reference"] = {{"outputs", blobs.put(outputs_of(pack.args, *pack.reference.arguments))}};
  } else {
    Json probes = Json::array();
    for (const Probe& probe : pack.reference.probes) probes.push_back(to_json(probe));
    json["reference"] = {{"object", blobs.put(pack.reference.object)}, {"probes", probes}};
  }
  json["limits"] = {{"timeout_s", pack.timeout_s}, {"number", pack.number},   {"repeat", pack.repeat},
                    {"batch", pack.batch},         {"confirm", pack.confirm}, {"best_s", pack.best_s}};
  json["candidates"] = Json::array();
  for (const PackedCandidate& c : pack.candidates)
    json["candidates"].push_back({{"object", c.object.size() > 0 ? Json(blobs.put(c.object)) : Json()},
                                  {"lower_bound_s", c.lower_bound_s},
                                  {"record", support::parse_json<Json>(c.record)}});
  json["blobs"] = blobs.listed();
  return support::sealed(support::to_printable_text(json)) + blobs.bytes();
}

// ------------------------------------------------------------------------------------------------------------ reading

class Reader {
 public:
  Reader(const Json& listed, std::string_view bytes) {
    for (const Json& entry : listed) {
      const auto size = entry.at("bytes").get<size_t>();
      if (size > bytes.size()) throw std::runtime_error("it is cut off");
      parts_.push_back(bytes.substr(0, size));
      if (support::fnv1a_hex(parts_.back()) != entry.at("checksum").get<std::string>())
        throw std::runtime_error("the checksum of blob " + std::to_string(parts_.size() - 1) + " differs");
      bytes.remove_prefix(size);
    }
    if (!bytes.empty()) throw std::runtime_error("bytes follow its end");
    blobs_.resize(parts_.size());
  }
  Blob get(const Json& place) {
    const auto i = place.get<size_t>();
    if (i >= parts_.size()) throw std::runtime_error("it has no blob " + std::to_string(i));
    if (blobs_[i].size() == 0) blobs_[i] = Blob(parts_[i]);
    return blobs_[i];
  }

 private:
  std::vector<std::string_view> parts_;
  std::vector<Blob> blobs_;
};

Reference reference_from(const Json& json, const Pack& pack, Reader& blobs) {
  if (json.contains("outputs")) return {arguments_from(pack.args, blobs.get(json["outputs"])), {}, {}};
  Reference reference{{}, blobs.get(json.at("object")), {}};
  for (const Json& probe : json.at("probes")) {
    reference.probes.push_back(probe_from(probe));
    const Probe& p = reference.probes.back();
    if (p.argument >= pack.args.size() || p.element < 0 || p.element >= pack.args[p.argument].elements())
      throw std::runtime_error("a probe outside of its argument");
  }
  return reference;
}

Pack pack_from(const Json& json, std::string_view bytes) {
  Reader blobs(json.at("blobs"), bytes);
  Pack pack;
  pack.task = json.at("task").get<std::string>();
  pack.target = json.at("target").get<std::string>();
  const Json& needs = json.at("needs");
  pack.triple = needs.at("triple").get<std::string>();
  pack.features = needs.at("features").get<std::vector<std::string>>();
  pack.sve_bits = needs.at("sve_bits").get<int>();
  pack.hardware = json.at("hardware").get<std::string>();
  pack.threads = json.at("threads").get<int>();
  pack.kernel = json.at("kernel").get<std::string>();
  for (const Json& arg : json.at("args")) require_sound(pack.args.emplace_back(arg_from(arg)));
  pack.rtol = json.at("rtol").get<std::vector<double>>();
  if (pack.rtol.size() != pack.args.size()) throw std::runtime_error("tolerances of other arguments");
  pack.reference = reference_from(json.at("reference"), pack, blobs);
  const Json& limits = json.at("limits");
  pack.timeout_s = limits.at("timeout_s").get<double>();
  pack.number = limits.at("number").get<int>();
  pack.repeat = limits.at("repeat").get<int>();
  pack.batch = limits.at("batch").get<int>();
  pack.confirm = limits.at("confirm").get<int>();
  pack.best_s = limits.at("best_s").get<double>();
  if (pack.threads < 0 || pack.batch < 1 || pack.confirm < 0 || !(pack.timeout_s > 0))
    throw std::runtime_error("limits without a meaning");
  for (const Json& c : json.at("candidates"))
    pack.candidates.push_back({support::to_text(c.at("record")),
                               c.at("object").is_null() ? Blob() : blobs.get(c["object"]),
                               c.at("lower_bound_s").get<double>()});
  return pack;
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  return text;
}

}  // namespace

void write_pack(const Pack& pack, const std::string& path) {
  const std::string text = text_of(pack), fresh = path + ".new-" + std::to_string(getpid());
  std::ofstream out(fresh, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (out && std::rename(fresh.c_str(), path.c_str()) == 0) return;
  const int error = errno;
  unlink(fresh.c_str());
  refuse(path, std::string("cannot be written: ") + std::strerror(error));
}

Pack read_pack(const std::string& path) {
  const std::string text = contents(path);
  if (!text.starts_with(kMark)) refuse(path, "is no pack of Tensorwright", {"tw tune OPERATOR --pack FILE writes one"});
  const int version = std::atoi(text.c_str() + kMark.size());
  if (version > kPackVersion)
    refuse(path, "was written by a newer release",
           {"its version is " + std::to_string(version) + ", this program reads " + std::to_string(kPackVersion)});
  const std::string_view all = text;
  const size_t end = std::min(all.find('\n'), all.size());
  const Result<std::string> object = support::unsealed(all.substr(0, end));
  if (!object) refuse(path, "is damaged: its first line is " + object.error().what, {"copy it again"});
  try {
    const Json json = support::parse_json<Json>(*object);
    if (json.at("inputs").get<int>() != runtime::kInputsVersion)
      refuse(path, "needs inputs that this release does not make", {"pack again by a tw of this release"});
    return pack_from(json, all.substr(std::min(end + 1, all.size())));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    refuse(path, std::string("is damaged: ") + e.what(), {"copy it again"});
  }
}

}  // namespace tw::rpc
