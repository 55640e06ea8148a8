// Every pass leaves the meaning of a tiled matmul alone, bit for bit, for tiles that divide and tiles that don't.

#include "src/ir/walk.h"
#include "src/lower/accumulators.h"
#include "src/lower/flatten.h"
#include "src/lower/fma.h"
#include "src/lower/partition.h"
#include "src/lower/pipeline.h"
#include "src/lower/simplify.h"
#include "src/lower/tails.h"
#include "src/lower/unroll.h"
#include "src/lower/vectorize.h"
#include "tests/unit/lower_programs.h"
#include "tests/unit/lower_run.h"

namespace tw::lower {
namespace {

using namespace ir;

std::vector<MatmulSchedule> schedules() {
  std::vector<MatmulSchedule> out;
  std::mt19937 random(7);
  const auto upto = [&](int n) { return static_cast<int64_t>(random() % n + 1); };
  const Tail tails[] = {Tail::kAuto, Tail::kPeel, Tail::kMask, Tail::kGuard, Tail::kNone};
  for (int n = 0; n < 60; ++n) {
    MatmulSchedule s{upto(13), upto(70), upto(9), upto(7), upto(40)};
    if (n % 3 == 0) s.block_k = upto(5);
    if (n % 4 == 1) s.outer = ForKind::kParallel;
    s.tail = tails[n % 5];
    out.push_back(s);
  }
  return out;
}

TEST(LowerMatmul, EachPassKeepsEveryBit) {
  for (const Target& target : {avx512_target(), avx2_target(), sse_target()})
    for (const MatmulSchedule& s : schedules()) {
      Program p = matmul_program(s);
      Meaning meaning(p, 1);
      for (const Pass& pass : cpu_passes()) {
        if (std::string_view(pass.name) == "fma") continue;
        p = pass.function(p, target);
        meaning.expect_kept(p);
        if (HasFailure()) FAIL() << pass.name;
      }
    }
}

struct Found {
  int loops = 0, ifs = 0, stores_to_c_below_k = 0;
};

void count(const Stmt& s, bool below_k, Found& found) {
  walk(s, [&](const Stmt& at) {
    if (const auto* f = as<For>(at)) {
      ++found.loops;
      if (f->var.name()[0] == 'k' && !below_k) {
        count(f->body, true, found);
        return false;
      }
    }
    found.ifs += as<If>(at) != nullptr;
    const auto* st = as<Store>(at);
    if (st && below_k && st->buffer.name() == "C") ++found.stores_to_c_below_k;
    return true;
  });
}

TEST(LowerMatmul, InnerLoopHasNoStoreToTheResult) {
  for (int64_t block : {0, 100})
    for (ForKind outer : {ForKind::kSerial, ForKind::kParallel}) {
      MatmulSchedule s{257, 513, 1025, 6, 64, block, outer};
      Program p = accumulators(tails(matmul_program(s), avx512_target()), avx512_target());
      Found found;
      const auto* top = as<Seq>(p.body);
      count(block ? top->stmts.back() : p.body, false, found);
      if (!block) {
        EXPECT_EQ(found.stores_to_c_below_k, 0) << to_string(p);
      }
      if (outer == ForKind::kSerial) {
        EXPECT_EQ(found.ifs, 0) << to_string(p);
      }
    }
}

TEST(LowerMatmul, TileLargerThanTheRegistersStaysInMemory) {
  const MatmulSchedule s{64, 256, 8, 8, 256};  // 8 x 16 vectors
  const Program p = accumulators(tails(matmul_program(s), avx512_target()), avx512_target());
  EXPECT_EQ(to_string(p).find("acc"), std::string::npos) << to_string(p);
}

}  // namespace
}  // namespace tw::lower
