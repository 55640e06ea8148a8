// What malformed input ends in: a typed error, or a program that means what it says. Never an internal error, a crash,
// a changed nest, or a long wait.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "src/ir/walk.h"
#include "tensorwright/error.h"
#include "tensorwright/ir.h"
#include "tests/diff/random.h"

namespace tw::faults {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kLongestSeconds = 10;
#else
constexpr double kLongestSeconds = 1;
#endif

// "" or what is wrong with an error that a user is to see.
inline std::string untyped(const Diagnostic& d) {
  if (d.kind == ErrorKind::kInternal) return "an internal error: " + d.render();
  return d.what.size() < 5 ? "an error without a text" : "";
}

// With nothing behind the last byte, so that sanitizers see who reads on.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : data_(new char[bytes.size()]), size_(bytes.size()) {
    bytes.copy(data_.get(), size_);
  }
  std::string_view view() const { return {data_.get(), size_}; }

 private:
  std::unique_ptr<char[]> data_;
  size_t size_;
};

class Stopwatch {
 public:
  // "" or how long it took.
  std::string too_long() const {
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin_;
    return took.count() < kLongestSeconds ? "" : "it took " + std::to_string(took.count()) + " s";
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Whether the interpreter is done with it soon: loops and buffers of small size (symbolic sizes are small in samples).
inline bool is_small(const ir::Program& p, int64_t most = 200'000) {
  bool small = true;
  const auto elements = [&](const ir::Buffer& b) {
    __int128 n = 1;
    for (const ir::Expr& extent : b.shape())
      n = std::min<__int128>(n * std::max<int64_t>(ir::as_int(extent).value_or(1), 1), most + 1);
    __int128 span = 1;
    for (size_t d = 0; d < b.strides().size(); ++d)
      span += static_cast<__int128>(ir::as_int(b.shape()[d]).value_or(0)) * ir::as_int(b.strides()[d]).value_or(0);
    return n <= most && span <= most && span > 0;
  };
  for (const ir::Param& param : p.params) small = small && elements(param.buffer);
  const auto cost = [&](const auto& self, const ir::Stmt& s) -> __int128 {
    if (!s || !small) return 1;
    __int128 inside = 1;
    if (const auto* f = ir::as<ir::For>(s)) {
      inside = self(self, f->body) * ir::as_int(f->extent).value_or(16);
    } else if (const auto* all = ir::as<ir::Seq>(s)) {
      for (const ir::Stmt& child : all->stmts) inside += self(self, child);
    } else if (const auto* i = ir::as<ir::If>(s)) {
      inside += self(self, i->then) + self(self, i->otherwise);
    } else if (const auto* a = ir::as<ir::Allocate>(s)) {
      small = small && elements(a->buffer);
      inside += self(self, a->body);
    } else if (const auto* l = ir::as<ir::LetStmt>(s)) {
      inside += self(self, l->body);
    }
    small = small && inside <= most;
    return inside;
  };
  cost(cost, p.body);
  return small;
}

}  // namespace tw::faults
