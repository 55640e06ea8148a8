// The fields of a message as bytes, and back: one after the other, little-endian, nothing between them. Texts and lists
// begin with a u32 that counts. What a later release appends is skipped.
//
//   struct Put {
//     Digest digest;
//     uint64_t bytes = 0;
//     static auto fields(auto& m) { return std::tie(m.digest, m.bytes); }
//   };
//   encode(Put{...}), decode<Put>(bytes)
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "rpc/wire/digest.h"

namespace tw::rpc {

template <class T>
concept Message = requires(T& m) { T::fields(m); };

class FieldWriter {
 public:
  template <std::unsigned_integral T>
  void put(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }
  template <std::signed_integral T>
  void put(T value) {
    put(static_cast<std::make_unsigned_t<T>>(value));
  }
  template <class T>
    requires std::is_enum_v<T>
  void put(T value) {
    put(static_cast<std::underlying_type_t<T>>(value));
  }
  void put(bool value) { put(static_cast<uint8_t>(value)); }
  void put(double value) { put(std::bit_cast<uint64_t>(value)); }
  void put(const Digest& digest) {
    bytes_.append(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
  }
  void put(const std::string& text) {
    put(static_cast<uint32_t>(text.size()));
    bytes_ += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(static_cast<uint32_t>(list.size()));
    for (const T& item : list) put(item);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <Message T>
  void put(const T& message) {
    std::apply([&](const auto&... field) { (put(field), ...); }, T::fields(message));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Never reads past its end: what is missing makes it not ok, and what is read then is a value of its type. A count is
// believed as far as there are bytes for it.
class FieldReader {
 public:
  explicit FieldReader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }

  template <std::unsigned_integral T>
  void get(T& value) {
    value = 0;
    const std::string_view bytes = take(sizeof(T));
    for (size_t i = 0; i < bytes.size(); ++i)
      value = static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<uint8_t>(bytes[i])) << (8 * i)));
  }
  template <std::signed_integral T>
  void get(T& value) {
    std::make_unsigned_t<T> bits;
    get(bits);
    value = static_cast<T>(bits);
  }
  // An enum says of which values it consists: the last is kLast.
  template <class T>
    requires std::is_enum_v<T>
  void get(T& value) {
    std::underlying_type_t<T> number;
    get(number);
    ok_ = ok_ && number <= static_cast<std::underlying_type_t<T>>(T::kLast);
    value = ok_ ? static_cast<T>(number) : T{};
  }
  void get(bool& value) {
    uint8_t byte;
    get(byte);
    ok_ = ok_ && byte <= 1;
    value = byte == 1;
  }
  void get(double& value) {
    uint64_t bits;
    get(bits);
    value = std::bit_cast<double>(bits);
  }
  void get(Digest& digest) {
    const std::string_view bytes = take(digest.bytes.size());
    if (!bytes.empty()) std::memcpy(digest.bytes.data(), bytes.data(), bytes.size());
  }
  void get(std::string& text) {
    uint32_t size;
    get(size);
    text = take(size);
  }
  template <class T>
  void get(std::vector<T>& list) {
    uint32_t count;
    get(count);
    list.clear();
    for (uint32_t i = 0; i < count && ok_; ++i) get(list.emplace_back());
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool present;
    get(present);
    if (present)
      get(value.emplace());
    else
      value.reset();
  }
  template <Message T>
  void get(T& message) {
    std::apply([&](auto&... field) { (get(field), ...); }, T::fields(message));
  }

 private:
  std::string_view take(size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  bool ok_ = true;
};

template <Message T>
std::string encode(const T& message) {
  FieldWriter writer;
  writer.put(message);
  return writer.take();
}

template <Message T>
std::optional<T> decode(std::string_view bytes) {
  FieldReader reader(bytes);
  T message;
  reader.get(message);
  return reader.ok() ? std::optional(std::move(message)) : std::nullopt;
}

}  // namespace tw::rpc
