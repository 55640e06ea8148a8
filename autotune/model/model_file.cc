// Model files: a line of JSON, then the bytes of the model.
//
//   {"tensorwright_model":1,"features":2,"width":...,"bytes":...,"checksum":"..."}
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "autotune/model/cost_model.h"
#include "autotune/model/features.h"
#include "autotune/space/knobs.h"
#include "src/support/fnv.h"
#include "src/support/json_text.h"
#include "src/support/replace_file.h"

namespace tw::autotune {

namespace {

constexpr int kFileVersion = 1;

}  // namespace

std::string read_model_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) tune_error("the model file " + path + " cannot be read");
  std::string line;
  std::getline(in, line);
  const auto head = support::read_json<nlohmann::json>(line);
  if (!head.is_object() || !head.contains("tensorwright_model")) tune_error(path + " is no model file");
  const auto number = [&](const char* key) {
    return head.contains(key) && head[key].is_number_integer() ? head[key].get<int64_t>() : -1;
  };
  const auto other = [&](const char* what, int64_t has, int64_t wants) {
    tune_error("the model file " + path + " has " + what + " of version " + std::to_string(has) +
                   ", and this release reads " + std::to_string(wants),
               {"tune with transfer=[...] on logs instead, and let model_file= be written anew"});
  };
  if (number("tensorwright_model") != kFileVersion) other("a format", number("tensorwright_model"), kFileVersion);
  if (number("features") != kFeatureVersion) other("features", number("features"), kFeatureVersion);
  if (number("width") != std::ssize(nest_feature_names())) tune_error(path + " was learned from other features");
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  if (number("bytes") != std::ssize(bytes) || head.value("checksum", "") != support::fnv1a_hex(bytes))
    tune_error("the model file " + path + " is damaged", {"delete it; the next run with model_file= writes it anew"});
  return bytes;
}

void write_model_file(const std::string& path, const std::string& bytes) {
  const nlohmann::ordered_json head = {{"tensorwright_model", kFileVersion},
                                       {"features", kFeatureVersion},
                                       {"width", nest_feature_names().size()},
                                       {"bytes", bytes.size()},
                                       {"checksum", support::fnv1a_hex(bytes)}};
  if (const int error = support::replace_file(path, support::to_text(head) + "\n" + bytes))
    tune_error("the model file " + path + " cannot be written: " + std::strerror(error));
}

}  // namespace tw::autotune
