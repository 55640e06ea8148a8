// Launches in the interpreter: what they compute in every order of the threads, and each mistake that is found.

#include <gtest/gtest.h>

#include <numeric>

#include "src/ir/interp.h"
#include "src/ir/parse.h"
#include "tests/unit/gpu_corpus.h"

namespace tw::ir {
namespace {

constexpr InterpOptions::Order kOrders[] = {InterpOptions::Order::kAscending, InterpOptions::Order::kDescending,
                                            InterpOptions::Order::kShuffled};

// Inputs count upwards, each from its own number on; scalars are `size`.
struct Launched {
  std::vector<std::vector<float>> data;
  Status status = Unit{};

  explicit Launched(const Program& p, InterpOptions options = {}, int64_t size = 37) {
    std::vector<InterpBuffer> buffers;
    for (const Param& param : p.params) {
      int64_t elements = 1;
      for (const Expr& extent : param.buffer.shape()) elements *= as_int(extent).value_or(size);
      data.emplace_back(static_cast<size_t>(elements), -1.0f);
      if (!param.written) std::iota(data.back().begin(), data.back().end(), static_cast<float>(data.size()));
    }
    for (auto& values : data) buffers.push_back({values.data(), values.size() * sizeof(float)});
    options.scalars.assign(p.scalars.size(), static_cast<uint64_t>(size));
    status = interpret(p, buffers, options);
  }
  std::string said() const { return status.ok() ? "" : status.error().render(); }
};

std::string in_each_order(const Program& p, int64_t size) {
  InterpOptions options;
  std::string said;
  std::vector<std::vector<float>> data;
  for (const auto order : kOrders) {
    options.order = order;
    options.seed = 7;
    const Launched run(p, options, size);
    if (order == kOrders[0]) {
      said = run.said();
      data = run.data;
    } else if (said.empty()) {
      EXPECT_EQ(run.said(), "");
      EXPECT_EQ(run.data, data);
    } else {
      EXPECT_NE(run.said(), "");
    }
  }
  return said;
}

TEST(Launches, CorpusIsJudgedAsEachPageSays) {
  for (const CorpusPage& page : gpu_corpus()) {
    SCOPED_TRACE(page.name);
    for (const int64_t size : {37, 70}) {
      expect_verdict(page.interpreter, in_each_order(page.program, size));
    }
  }
}

CorpusPage page_of(const std::string& name) {
  for (CorpusPage& page : gpu_corpus())
    if (page.name == name) return std::move(page);
  ADD_FAILURE() << name;
  return {};
}

TEST(Launches, ComputesWhatItsLoopsSay) {
  const Launched reversal(page_of("reversal").program);
  for (int b = 0; b < 4; ++b)
    for (int t = 0; t < 128; ++t) EXPECT_EQ(reversal.data[1][b * 128 + t], reversal.data[0][b * 128 + 127 - t]);
  const Launched sums(page_of("tree_sum").program);
  for (int b = 0; b < 4; ++b) {
    const auto first = sums.data[0].begin() + b * 64;
    EXPECT_EQ(sums.data[1][b], std::accumulate(first, first + 64, 0.0f));
  }
  for (const char* name : {"matmul", "matmul_flat"}) {
    const Launched product(page_of(name).program);
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        float want = 0;
        for (int k = 0; k < 24; ++k) want += product.data[0][i * 24 + k] * product.data[1][k * 16 + j];
        EXPECT_EQ(product.data[2][i * 16 + j], want) << name;
      }
    }
  }
}

std::string said_of(const std::string& page, InterpOptions options = {}) {
  return Launched(page_of(page).program, options).said();
}

TEST(Launches, RacesNameBothThreads) {
  EXPECT_EQ(said_of("second_dimension"),
            "internal error: interpret: data race on red[0]\n"
            "    two threads touch this element: thread (ty = 0, tx = 0) writes it, thread (ty = 1, tx = 0) writes it\n"
            "    no barrier stands between the two\n"
            "    at ty = 1, tx = 0");
  EXPECT_EQ(said_of("two_blocks_one_element"),
            "internal error: interpret: data race on B[0]\n"
            "    two threads touch this element: thread (bx = 0, tx = 0) writes it, thread (bx = 1, tx = 0) writes it\n"
            "    nothing orders the blocks of a launch\n"
            "    at bx = 1, tx = 0");
  EXPECT_EQ(said_of("staging_buffer", {.order = InterpOptions::Order::kDescending}),
            "internal error: interpret: data race on red[0]\n"
            "    two threads touch this element: thread (tx = 1) reads it, thread (tx = 0) writes it\n"
            "    no barrier stands between the two\n"
            "    at tx = 0, r = 1");
}

TEST(Launches, BarriersNameWhereEachThreadWaits) {
  const std::string what = "internal error: interpret: a barrier where not all threads of the block meet\n";
  EXPECT_EQ(said_of("divergent_if"), what +
                                         "    32 of 64 threads, tx = 0 the first, wait at barrier 1 of the launch\n"
                                         "    32 of 64 threads, tx = 32 the first, have ended");
  EXPECT_EQ(said_of("divergent_turns"),
            what +
                "    1 of 2 threads, tx = 0 the first, wait at barrier 1 of the launch, k = 0\n"
                "    1 of 2 threads, tx = 1 the first, wait at barrier 1 of the launch, k = 1");
  EXPECT_EQ(said_of("divergent_two_barriers"),
            what +
                "    32 of 64 threads, tx = 0 the first, wait at barrier 1 of the launch\n"
                "    32 of 64 threads, tx = 32 the first, wait at barrier 2 of the launch");
}

TEST(Launches, StopWhenToldTo) {
  EXPECT_NE(said_of("matmul", {.max_steps = 100}).find("stopped after 100 steps"), std::string::npos);
}

TEST(Launches, GiveEachElementOneValue) {
  EXPECT_EQ(said_of("matmul_tile_in_loop", {.check_one_value = true}), "");
  EXPECT_NE(said_of("matmul", {.check_one_value = true}).find("is written twice, with different values"),
            std::string::npos);
  EXPECT_EQ(said_of("matmul", {.check_one_value = true, .changing = {"As", "Bs"}}), "");
}

}  // namespace
}  // namespace tw::ir
