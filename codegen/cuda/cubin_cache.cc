#include "codegen/cuda/cubin_cache.h"

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "codegen/calibration.h"
#include "src/support/file_bytes.h"
#include "src/support/fnv.h"
#include "src/support/replace_file.h"

namespace tw::codegen {

namespace {

constexpr std::string_view kMagic = "tensorwright cubin 2\n";

// Beside the rates of the machine; empty where nothing is kept.
std::filesystem::path path_of(const std::string& key) {
  const std::filesystem::path rates = rates_path();
  return rates.empty() ? rates : rates.parent_path() / ("cubin-" + support::fnv1a_hex(key));
}

void append(std::string& out, const std::string& text) { out += std::to_string(text.size()) + "\n" + text; }

// Takes what `append` wrote; false where it is not whole.
bool take(std::string_view& from, std::string& text) {
  const size_t end = from.find('\n');
  size_t bytes = 0;
  for (const char c : from.substr(0, end)) {
    if (c < '0' || c > '9' || bytes > from.size()) return false;
    bytes = bytes * 10 + static_cast<size_t>(c - '0');
  }
  if (end == from.npos || from.size() - end - 1 < bytes) return false;
  text = from.substr(end + 1, bytes);
  from.remove_prefix(end + 1 + bytes);
  return true;
}

}  // namespace

std::optional<runtime::cuda::Image> cached_image(const std::string& key) {
  const std::filesystem::path path = path_of(key);
  const std::string bytes = support::file_bytes(path).value_or("");
  std::string_view rest = bytes;
  std::string checksum, kept_key;
  runtime::cuda::Image image;
  if (path.empty() || !rest.starts_with(kMagic)) return std::nullopt;
  rest.remove_prefix(kMagic.size());
  if (!take(rest, checksum) || checksum != support::fnv1a_hex(rest)) return std::nullopt;
  const bool whole = take(rest, kept_key) && take(rest, image.arch) && take(rest, image.log) &&
                     take(rest, image.cubin) && take(rest, image.ptx);
  return whole && kept_key == key ? std::optional(std::move(image)) : std::nullopt;
}

void cache_image(const std::string& key, const runtime::cuda::Image& image) {
  const std::filesystem::path path = path_of(key);
  if (path.empty()) return;
  std::string body, bytes(kMagic);
  for (const std::string& part : {key, image.arch, image.log, image.cubin, image.ptx}) append(body, part);
  append(bytes, support::fnv1a_hex(body));
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  support::replace_file(path, bytes + body);
}

}  // namespace tw::codegen
