// How many blocks of a launch a processor is to have room for, as the text says it to the compiler.
#include <gtest/gtest.h>

#include "codegen/cuda/source.h"
#include "src/ir/parse.h"

namespace tw {
namespace {

// A row for each block, of which a thread keeps `kept` elements while it waits for what all sum up together.
struct Rows {
  int threads = 256, kept = 32, shared = 256;
  bool waits = true, sums = true, reads_again = false;

  std::string text() const {
    const std::string t = std::to_string(threads), k = std::to_string(kept), s = std::to_string(shared);
    const std::string row = "[bx, tx * " + k + " + i]";
    std::string out = "kernel rows(A: float32[8, " + std::to_string(threads * kept) + "], B: out float32[8, " +
                      std::to_string(threads * kept) + "]):\n" + "  for bx in 0..8 blockIdx.x:\n    for tx in 0.." + t +
                      " threadIdx.x:\n" + "      alloc parts: float32[" + s + "] shared\n" +
                      "      alloc kept: float32[" + k + "] local\n      alloc total: float32[1] local\n" +
                      "      total[0] = 0.0\n      for i in 0.." + k + ":\n        kept[i] = A" + row +
                      "\n        total[0] = total[0] + kept[i]\n";
    if (sums) out += "      call(int32, \"shfl\", address(out total[0]), address(in total[0]), (tx + 16) % 32)\n";
    out += "      parts[tx] = total[0]\n";
    if (waits) out += "      sync block\n";
    const std::string mean = " * parts[" + std::string(waits ? "0" : "tx") + "]";
    return out + "      for i in 0.." + k + ":\n        B" + row + " = " + (reads_again ? "A" + row : "kept[i]") +
           mean + "\n";
  }
};

int blocks_of(const Rows& rows) {
  const Target target = Target::parse("cuda -arch=sm_90a").value_or_throw();
  const std::string text = codegen::cuda_source({ir::parse_program(rows.text()).value_or_throw()}, target).text;
  const std::string bounds = "__launch_bounds__(" + std::to_string(rows.threads) + ", ";
  const size_t at = text.find(bounds);
  return at == text.npos ? -1 : std::stoi(text.substr(at + bounds.size()));
}

TEST(BlocksAtOnce, AreAsManyAsTheRegistersOfTheirRowsLeaveRoomFor) {
  EXPECT_EQ(blocks_of({.kept = 32}), 3);
  EXPECT_EQ(blocks_of({.kept = 96}), 2);
  EXPECT_EQ(blocks_of({.kept = 128}), 1);
  EXPECT_EQ(blocks_of({.threads = 1024, .kept = 16, .shared = 1024}), 2);
}

TEST(BlocksAtOnce, AreTwoWhereARowIsShortOrReadAgain) {
  EXPECT_EQ(blocks_of({.kept = 8}), 2);
  EXPECT_EQ(blocks_of({.kept = 32, .reads_again = true}), 2);
}

TEST(BlocksAtOnce, AreOneWhereNobodyWaitsForASumOrThereIsNoRoom) {
  EXPECT_EQ(blocks_of({.sums = false}), 1);
  EXPECT_EQ(blocks_of({.waits = false}), 1);
  EXPECT_EQ(blocks_of({.threads = 128}), 1);
  EXPECT_EQ(blocks_of({.shared = 32 * 1024}), 1);  // 128 KiB
}

}  // namespace
}  // namespace tw
