// The text of a program's launches and what it has to do: the bytes that the interpreter makes of some others.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <string>
#include <utility>
#include <vector>

#include "codegen/cuda/source.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/rng.h"
#include "tests/cuda_host/cuda_host.h"
#include "tests/unit/cuda_pages.h"
#include "tests/unit/run_program.h"

namespace tw::test {

class CudaText {
 public:
  static constexpr int64_t kSize = 137;  // of each size that a caller decides

  static std::string page(const std::string& name) {
    for (const CudaPage& page : cuda_pages())
      if (page.name == name) return page.program;
    ADD_FAILURE() << name;
    return {};
  }

  explicit CudaText(const std::string& text)
      : program(parse(text)),
        source(codegen::cuda_source({program}, parse_target("cuda -arch=sm_90a"))),
        scalars_(program.scalars.size(), kSize) {
    for (size_t i = 0; i < scalars_.size(); ++i)
      if (program.scalars[i].type() == ir::Type::f(32)) scalars_[i] = std::bit_cast<uint32_t>(1.37f);
    support::Rng rng(7);
    for (const ir::Param& param : program.params) given_.push_back(some_bytes(param.buffer, rng));
    for (uint64_t& value : scalars_) scalars_at_.push_back(&value);
    expected_ = given_;
    std::vector<ir::InterpBuffer> buffers;
    for (Bytes& bytes : expected_) buffers.push_back({bytes.data(), bytes.size()});
    const Status status = ir::interpret(program, buffers, {.scalars = scalars_});
    EXPECT_TRUE(status.ok()) << status.error().render();
  }
  CudaText(const CudaText&) = delete;
  CudaText& operator=(const CudaText&) = delete;

  // The buffers that differ from the interpreter's after the text ran, whoever goes first: "C "; or why it did not.
  std::string differs(const tw::testing::CudaOnHost& text) {
    std::string differing;
    for (const auto order : {tw::testing::ThreadOrder::kForwards, tw::testing::ThreadOrder::kBackwards}) {
      std::vector<Bytes> got;
      std::vector<void*> at;
      for (const Bytes& bytes : given_) {
        got.emplace_back(bytes.size() + 2 * kBeyond);
        std::ranges::copy(bytes, got.back().begin() + kBeyond);
        at.push_back(got.back().data() + kBeyond);
      }
      try {
        text.run(source.plans[0], at, scalars_at_.data(), order);
      } catch (const Error& error) {
        return error.diagnostic().what;
      }
      for (size_t i = 0; i < got.size(); ++i)
        if (!std::equal(expected_[i].begin(), expected_[i].end(), got[i].begin() + kBeyond))
          differing += program.params[i].buffer.name() + " ";
    }
    return differing;
  }

  const ir::Program program;
  codegen::CudaSource source;

 private:
  int64_t elements_of(const ir::Buffer& buffer) const {
    ir::Substitution sizes;
    for (const ir::Var& var : program.scalars) sizes[var.id()] = ir::Expr(kSize);
    int64_t count = 1;
    for (const ir::Expr& extent : buffer.shape()) count *= *ir::as_int(ir::simplify(ir::substitute(extent, sizes)));
    return count;
  }

  // Any bytes but those of floats that are no numbers, whose payload is nobody's promise; every third integer is small.
  Bytes some_bytes(const ir::Buffer& buffer, support::Rng& rng) const {
    const ir::Type type = buffer.element();
    const auto size = static_cast<size_t>(type.bytes());
    Bytes bytes(static_cast<size_t>(type.bytes_of(elements_of(buffer))));
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(rng.below(256));
    if (type.is_float())
      for (size_t at = size - 1; at < bytes.size(); at += size)
        bytes[at] = static_cast<unsigned char>(0x3c + rng.below(8) + 128 * rng.below(2));
    for (size_t at = 0; (type.is_int() || type.is_uint()) && at + size <= bytes.size(); at += 3 * size) {
      const int64_t small = static_cast<int64_t>(rng.below(9)) - (type.is_int() ? 4 : 0);
      std::memcpy(&bytes[at], &small, size);
    }
    if (type.is_bool())
      for (unsigned char& byte : bytes) byte &= 1;
    return bytes;
  }

  static constexpr ptrdiff_t kBeyond = 1 << 16;  // bytes on both sides of what is given, for a text that is wrong

  std::vector<uint64_t> scalars_;
  std::vector<void*> scalars_at_;
  std::vector<Bytes> given_, expected_;
};

}  // namespace tw::test
