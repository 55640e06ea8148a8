// JSON as text. nlohmann's reader and writer are compiled in one file: each that used them took three seconds longer.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace tw::support {

// Of nlohmann::json and nlohmann::ordered_json. Throws its parse_error.
template <typename Json>
Json parse_json(std::string_view text);
// Discarded where the text is no JSON.
template <typename Json>
Json read_json(std::string_view text);

// Throw type_error where a string is no UTF-8.
std::string to_text(const nlohmann::json& json);
std::string to_text(const nlohmann::ordered_json& json);
// With U+FFFD there. Lines of `indent` more spaces at each level; -1: one line.
std::string to_printable_text(const nlohmann::json& json);
std::string to_printable_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace tw::support
