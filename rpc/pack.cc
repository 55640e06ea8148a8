#include "rpc/pack.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "rpc/check/checks_text.h"
#include "rpc/check/outputs.h"
#include "src/support/file_bytes.h"
#include "src/support/fnv.h"
#include "src/support/json_text.h"
#include "src/support/line_file.h"
#include "src/support/replace_file.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "{\"twpack\":";

[[noreturn]] void refuse(const std::string& path, const std::string& why, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kTune, "the pack " + path + " " + why, {}, std::move(notes)});
}

// ------------------------------------------------------------------------------------------------------------ writing

class Writer {
 public:
  size_t put(const Blob& blob) {
    const auto [at, is_new] = places_.try_emplace(blob.bytes(), blobs_.size());
    if (is_new) {
      blobs_.push_back(blob);
      listed_.push_back({{"bytes", blob.size()}, {"checksum", support::fnv1a_hex(blob.bytes())}});
    }
    return at->second;
  }
  const Json& listed() const { return listed_; }
  const std::vector<Blob>& blobs() const { return blobs_; }

 private:
  std::vector<Blob> blobs_;
  std::map<std::string_view, size_t> places_;  // by the bytes of these
  Json listed_ = Json::array();
};

// The first line; what follows it is put.
std::string line_of(const Pack& pack, Writer& blobs) {
  const Checks& checks = pack.checks;
  Json json{{"twpack", kPackVersion}, {"task", pack.task}};
  json.update(to_json(checks));
  if (checks.made_reference) {
    const Json probes = json["reference"]["probes"];
    json["reference"] = {{"object", blobs.put(checks.made_reference->object)}, {"probes", probes}};
  } else {
    json["reference"] = {{"outputs", blobs.put(outputs_of(checks.args, *checks.reference))}};
  }
  if (checks.device_checks.size() > 0) json["device_checks"] = blobs.put(checks.device_checks);
  json["limits"].update({{"batch", pack.batch}, {"confirm", pack.confirm}, {"best_s", pack.best_s}});
  json["candidates"] = Json::array();
  for (const PackedCandidate& c : pack.candidates)
    json["candidates"].push_back({{"object", c.object.size() > 0 ? Json(blobs.put(c.object)) : Json()},
                                  {"lower_bound_s", c.lower_bound_s},
                                  {"record", support::parse_json<Json>(c.record)}});
  json["blobs"] = blobs.listed();
  return support::sealed(support::to_printable_text(json));
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

void require(const std::string& why) {
  if (!why.empty()) throw std::runtime_error(why);
}

Checks whole_checks_from(const Json& json, Reader& blobs) {
  Checks checks = checks_from(json);
  const Json& reference = json.at("reference");
  if (checks.made_reference)
    checks.made_reference->object = blobs.get(reference.at("object"));
  else
    checks.reference = arguments_with(checks.args, blobs.get(reference.at("outputs")));
  if (json.contains("device_checks")) checks.device_checks = blobs.get(json["device_checks"]);
  require(unsound(checks));
  return checks;
}

Pack pack_from(const Json& json, std::string_view bytes) {
  Reader blobs(json.at("blobs"), bytes);
  Pack pack;
  pack.task = json.at("task").get<std::string>();
  pack.checks = whole_checks_from(json, blobs);
  const Json& limits = json.at("limits");
  pack.batch = limits.at("batch").get<int>();
  pack.confirm = limits.at("confirm").get<int>();
  pack.best_s = limits.at("best_s").get<double>();
  if (pack.batch < 1 || pack.confirm < 0) throw std::runtime_error("limits without a meaning");
  for (const Json& c : json.at("candidates"))
    pack.candidates.push_back({support::to_text(c.at("record")),
                               c.at("object").is_null() ? Blob() : blobs.get(c["object"]),
                               c.at("lower_bound_s").get<double>()});
  return pack;
}

std::string contents(const std::string& path) {
  std::optional<std::string> text = support::file_bytes(path);
  if (!text) refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  return *std::move(text);
}

}  // namespace

size_t write_pack(const Pack& pack, const std::string& path) {
  Writer blobs;
  const std::string line = line_of(pack, blobs);
  support::Replacement fresh(path);
  fresh.write(line);
  size_t bytes = line.size();
  for (const Blob& blob : blobs.blobs()) {
    fresh.write(blob.bytes());
    bytes += blob.size();
  }
  if (const int error = fresh.keep()) refuse(path, std::string("cannot be written: ") + std::strerror(error));
  return bytes;
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
    return pack_from(json, all.substr(std::min(end + 1, all.size())));
  } catch (const Error& e) {
    refuse(path, e.diagnostic().what, e.diagnostic().notes);
  } catch (const std::exception& e) {
    refuse(path, std::string("is damaged: ") + e.what(), {"copy it again"});
  }
}

}  // namespace tw::rpc
