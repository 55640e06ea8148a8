#include "src/support/json_text.h"

#include <nlohmann/json.hpp>

namespace tw::support {

template <typename Json>
Json parse_json(std::string_view text) {
  return Json::parse(text);
}

template <typename Json>
Json read_json(std::string_view text) {
  return Json::parse(text, nullptr, false);
}

template nlohmann::json parse_json(std::string_view);
template nlohmann::json read_json(std::string_view);
template nlohmann::ordered_json parse_json(std::string_view);
template nlohmann::ordered_json read_json(std::string_view);

std::string to_text(const nlohmann::json& json) { return json.dump(); }
std::string to_text(const nlohmann::ordered_json& json) { return json.dump(); }

std::string to_printable_text(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string to_printable_text(const nlohmann::ordered_json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tw::support
