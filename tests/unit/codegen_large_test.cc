// Tensors of more than 2^31 (and 2^32) elements: offsets are right where they no longer fit 32 bits. Few elements are
// touched, in memory that is reserved and not used, by the interpreter on the lowered program and by compiled code;
// where 12 GiB are free, a whole tensor is computed.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "src/lower/pipeline.h"
#include "tensorwright/build.h"
#include "tensorwright/schedule.h"
#include "tests/unit/run_program.h"

namespace tw {
namespace {

constexpr int64_t kSide = 70'000;  // kSide * kSide = 4.9e9

// Zeros, of which only what is touched takes memory.
class Sparse {
 public:
  explicit Sparse(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TW_CHECK(at != MAP_FAILED, "address space for a large tensor");
    data_ = static_cast<uint8_t*>(at);
  }
  ~Sparse() { munmap(data_, bytes_); }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  uint8_t& operator[](int64_t at) { return data_[at]; }
  uint8_t* data() { return data_; }
  ir::InterpBuffer buffer() { return {data_, bytes_}; }

 private:
  size_t bytes_;
  uint8_t* data_;
};

// The lowered program in the interpreter, then compiled without and with optimisation; `check` after each.
void run_everywhere(const ir::Program& program, std::vector<ir::InterpBuffer> buffers,
                    const std::function<void(const std::string&)>& check) {
  const ir::Program lowered = lower::run_pipeline(lower::cpu_passes(), program, Target::host());
  const Status ran = ir::interpret(lowered, buffers, {.check_unwritten = false, .check_races = false});
  ASSERT_TRUE(ran.ok()) << ran.error().render();
  check("interpreter");
#ifdef TW_LLVM
  std::vector<void*> pointers;
  for (const ir::InterpBuffer& b : buffers) pointers.push_back(b.data);
  for (const int level : {0, 3}) {
    const auto module = build(lowered, Target::host(), level);
    ASSERT_EQ(module->kernel()->run(pointers.data()), 0);
    check("LLVM O" + std::to_string(level));
  }
#endif
}

ir::Program scheduled(const te::Tensor& c, const std::vector<te::Tensor>& args, bool vectorized) {
  schedule::Schedule s({c});
  schedule::Split split;
  split.stage = c.name(), split.axis = "i", split.factor = schedule::Factor(4);
  s.apply(split);
  if (vectorized) s.apply(schedule::Vectorize{c.name(), "i.i"});
  return schedule::to_ir(s, args).value_or_throw();
}

TEST(Large, LoadsPastTwoToThe32) {
  constexpr int64_t kCount = 6;
  Sparse a(kSide * kSide), c(kCount);
  const auto at = [](int64_t i) { return (i * 13'000 + 1) * kSide + i * 13'001 + 7; };
  for (int64_t i = 0; i < kCount - 1; ++i) a[at(i)] = static_cast<uint8_t>(50 + i);
  const te::Tensor x = te::placeholder({kSide, kSide}, "uint8", "x");
  const te::Tensor y =
      te::compute({kCount - 1}, [&](ir::Var i) { return x(ir::Expr(i) * 13'000 + 1, ir::Expr(i) * 13'001 + 7); }, "y");
  for (const bool vectorized : {false, true})
    run_everywhere(scheduled(y, {x, y}, vectorized), {a.buffer(), c.buffer()}, [&](const std::string& who) {
      for (int64_t i = 0; i < kCount - 1; ++i) EXPECT_EQ(c[i], 50 + i) << who << " at " << i;
      std::fill_n(c.data(), kCount, 0);
    });
}

TEST(Large, OneDimensionOfTwoToThe33) {
  constexpr int64_t kElements = int64_t{1} << 33, kStep = 1'500'000'001;
  Sparse a(kElements), c(8);
  for (int64_t i = 0; i < 5; ++i) a[kElements - 1 - i * kStep] = static_cast<uint8_t>(70 + i);
  const te::Tensor x = te::placeholder({kElements}, "uint8", "x");
  const te::Tensor y = te::compute({5}, [&](ir::Var i) { return x(kElements - 1 - ir::Expr(i) * kStep); }, "y");
  for (const bool vectorized : {false, true})
    run_everywhere(scheduled(y, {x, y}, vectorized), {a.buffer(), c.buffer()}, [&](const std::string& who) {
      for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(c[i], 70 + i) << who << " at " << i;
      std::fill_n(c.data(), 8, 0);
    });
}

// The loops of a kernel that writes everywhere, cut down to a few of their values.
TEST(Large, StoresPastTwoToThe32) {
  for (const char* kind : {"", " vectorized", " unrolled", " parallel"}) {
    const ir::Program p = ir::parse_program(std::string("kernel scatter(A: uint8[8], C: out uint8[70000, 70000]):\n"
                                                        "  for f in 0..8") +
                                            kind +
                                            ":\n"
                                            "    C[f // 2 * 23000 + 3, f % 2 * 60001 + f] = A[f]\n")
                              .value_or_throw();
    Sparse a(8), c(kSide * kSide);
    for (int64_t f = 0; f < 8; ++f) a[f] = static_cast<uint8_t>(9 + f);
    run_everywhere(p, {a.buffer(), c.buffer()}, [&](const std::string& who) {
      for (int64_t f = 0; f < 8; ++f) {
        uint8_t& got = c[(f / 2 * 23'000 + 3) * kSide + f % 2 * 60'001 + f];
        EXPECT_EQ(got, 9 + f) << who << kind << " at " << f;
        got = 0;
      }
    });
  }
}

TEST(Large, SubscriptsThatAreData) {
  constexpr int64_t kElements = 5'000'000'000;
  const ir::Program p = ir::parse_program(
                            "kernel gather(A: uint8[5000000000], I: int64[5], C: out uint8[5]):\n"
                            "  for i in 0..5 vectorized:\n"
                            "    C[i] = A[index(I[i])]\n")
                            .value_or_throw();
  const int64_t at[5] = {4'999'999'999, 3, 2'147'483'648, 4'294'967'296, 2'147'483'647};
  Sparse a(kElements), c(5);
  for (int64_t i = 0; i < 5; ++i) a[at[i]] = static_cast<uint8_t>(20 + i);
  run_everywhere(p, {a.buffer(), {const_cast<int64_t*>(at), sizeof at}, c.buffer()}, [&](const std::string& who) {
    for (int64_t i = 0; i < 5; ++i) EXPECT_EQ(c[i], 20 + i) << who << " at " << i;
    std::fill_n(c.data(), 5, 0);
  });
}

int64_t free_bytes() {
  int64_t free = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string word; meminfo >> word;) {
    if (word == "MemAvailable:" && meminfo >> free) break;
  }
  free *= 1024;
  int64_t most = 0, used = 0;
  std::ifstream limit("/sys/fs/cgroup/memory.max"), current("/sys/fs/cgroup/memory.current");
  if (limit >> most && current >> used) free = std::min(free, most - used);
  return free;
}

// 2^31 elements and a little.
TEST(Large, AWholeTensorIsComputed) {
#ifndef TW_LLVM
  GTEST_SKIP() << "built without LLVM";
#endif
  constexpr int64_t kRows = 46'400, kNeeded = int64_t{12} << 30;
  if (free_bytes() < kNeeded) GTEST_SKIP() << "12 GiB of free memory are needed, not " << (free_bytes() >> 30);
  const te::Tensor x = te::placeholder({kRows, kRows}, "uint8", "x");
  const te::Tensor y =
      te::compute({kRows, kRows}, [&](ir::Var i, ir::Var j) { return x(i, j) + ir::int_imm(ir::Type::u(8), 3); }, "y");
  schedule::Schedule s({y});
  schedule::Split split;
  split.stage = "y", split.axis = "j", split.factor = schedule::Factor(64), split.tail = ir::Tail::kPeel;
  s.apply(split);
  s.apply(schedule::Parallel{"y", "i"});
  s.apply(schedule::Vectorize{"y", "j.i"});
  Sparse a(kRows * kRows), b(kRows * kRows);
  std::vector<uint8_t> row(static_cast<size_t>(kRows)), expected = row;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kRows; ++j) row[static_cast<size_t>(j)] = static_cast<uint8_t>(j * 7 + (j >> 8) + i * 31);
    std::memcpy(&a[i * kRows], row.data(), row.size());
  }
  const auto module = build(s, {x, y}, Target::host(), "large");
  void* pointers[] = {a.data(), b.data()};
  ASSERT_EQ(module->kernel()->run(pointers), 0);
  int64_t wrong = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    const uint8_t* from = &a[i * kRows];
    for (int64_t j = 0; j < kRows; ++j) expected[static_cast<size_t>(j)] = static_cast<uint8_t>(from[j] + 3);
    wrong += std::memcmp(&b[i * kRows], expected.data(), expected.size()) != 0;
  }
  EXPECT_EQ(wrong, 0) << "rows";
}

}  // namespace
}  // namespace tw
