// The proof that barriers suffice: of each program of the corpus it says what the page says.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "src/ir/interp.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/sync_check.h"
#include "src/support/rng.h"
#include "tests/unit/gpu_corpus.h"

namespace tw::lower {
namespace {

std::string all_of(const std::vector<SyncFinding>& findings) {
  std::string out;
  for (const SyncFinding& f : findings) out += (out.empty() ? "" : "\n") + to_string(f);
  return out;
}

// Barriers count in the order of the text.
ir::Stmt without_barrier(const ir::Stmt& s, int which, int& met) {
  if (ir::as<ir::Sync>(s)) return met++ == which ? ir::seq({}) : s;
  if (const auto* q = ir::as<ir::Seq>(s)) {
    std::vector<ir::Stmt> kept;
    for (const ir::Stmt& one : q->stmts) kept.push_back(without_barrier(one, which, met));
    return ir::seq(std::move(kept));
  }
  return ir::map_children(
      s, [&](const ir::Stmt& child) { return without_barrier(child, which, met); },
      [](const ir::Expr& e) { return e; });
}

TEST(SyncCheck, CorpusIsJudgedAsEachPageSays) {
  for (const CorpusPage& page : gpu_corpus()) {
    SCOPED_TRACE(page.name);
    expect_verdict(page.sync_check, all_of(sync_check(page.program)));
  }
}

// Where the walk ends anywhere, what it has met says nothing of what follows.
TEST(SyncCheck, OfALaunchThatTakesTooLongNothingElseIsSaid) {
  int unjudged = 0;
  for (const CorpusPage& page : gpu_corpus()) {
    if (page.sync_check != "not judged") continue;
    EXPECT_EQ(sync_check(page.program).size(), 1U) << page.name << "\n" << all_of(sync_check(page.program));
    ++unjudged;
  }
  EXPECT_GT(unjudged, 0);
}

// Lines of one text that are not in the other.
int lines_apart(const std::string& a, const std::string& b) {
  std::map<std::string, int> lines;
  std::string line;
  for (std::stringstream in(a); std::getline(in, line);) ++lines[line];
  for (std::stringstream in(b); std::getline(in, line);) --lines[line];
  int apart = 0;
  for (const auto& [text, count] : lines) apart += std::abs(count);
  return apart;
}

// That both say so of each page, other tests see.
TEST(SyncCheck, OneFaultOfARightProgramIsFoundByTheCheckersThatItsPageNames) {
  std::map<std::string, CorpusPage> pages;
  for (const CorpusPage& page : gpu_corpus()) pages.emplace(page.name, page);
  int by_both = 0;
  for (const auto& [name, page] : pages) {
    if (page.right.empty()) continue;
    SCOPED_TRACE(name);
    ASSERT_TRUE(pages.contains(page.right)) << page.right;
    const CorpusPage& right = pages.at(page.right);
    EXPECT_EQ(right.interpreter + right.sync_check, "okok");
    EXPECT_LE(lines_apart(page.text, right.text), 4);
    const bool found = page.interpreter != "ok", proved = page.sync_check != "ok";
    EXPECT_TRUE(found || proved);
    by_both += found && proved ? 1 : 0;
    std::printf("  %-30s %-26s %s\n", name.c_str(), page.right.c_str(),
                found && proved ? "both"
                : found         ? "interpreter"
                                : "sync_check");
  }
  std::printf("%d planted faults found by both\n", by_both);
  EXPECT_GE(by_both, 24);
}

std::string interpreted(const ir::Program& p) {
  std::vector<std::vector<char>> data;
  std::vector<ir::InterpBuffer> buffers;
  ir::InterpOptions options;
  constexpr int64_t kSize = 70;
  for (const ir::Param& param : p.params) {
    int64_t elements = 1;
    for (const ir::Expr& extent : param.buffer.shape()) elements *= ir::as_int(extent).value_or(kSize);
    data.emplace_back(static_cast<size_t>(param.buffer.element().bytes_of(elements)));
  }
  for (auto& bytes : data) buffers.push_back({bytes.data(), bytes.size()});
  options.check_unwritten = false;
  options.scalars.assign(p.scalars.size(), kSize);
  const Status status = ir::interpret(p, buffers, options);
  return status.ok() ? "" : status.error().render();
}

// So that no such candidate is built.
TEST(SyncCheck, IsCertainOfMistakesBetweenRoles) {
  int found = 0;
  for (const CorpusPage& page : gpu_corpus()) {
    const bool between_roles = page.name.starts_with("producer_") || page.name.starts_with("cluster_producer_");
    const bool meant = std::ranges::any_of(std::array{"keeps_registers", "gives_too_little", "no_product_wait",
                                                      "waits_for_less", "waits_behind", "expects_early"},
                                           [&](const char* end) { return page.name.ends_with(end); });
    if (!between_roles || !meant) continue;
    const bool harmless = page.interpreter == "ok";
    EXPECT_NE(std::ranges::any_of(sync_check(page.program), &SyncFinding::certain), harmless) << page.name;
    ++found;
  }
  EXPECT_EQ(found, 10);
}

// Whether it is needed is for the interpreter to say: both find the same where one is left out.
TEST(SyncCheck, AgreesWithTheInterpreterOnEachBarrierThatIsLeftOut) {
  int found = 0;
  for (const CorpusPage& page : gpu_corpus()) {
    if (page.interpreter != "ok" || page.sync_check == "not judged") continue;
    for (int left_out = 0;; ++left_out) {
      int met = 0;
      ir::Program p = page.program;
      p.body = without_barrier(p.body, left_out, met);
      if (met <= left_out) break;
      const std::string said = interpreted(p), proved = all_of(sync_check(p));
      EXPECT_EQ(said.empty(), proved.empty()) << page.name << "\n" << to_string(p) << said << "\n" << proved;
      found += said.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(found, 24);
}

// Launches of a few threads over a small shared buffer: stores and loads at sums, quotients and remainders of indices,
// under conditions and in loops, barriers anywhere.
class RandomLaunch {
 public:
  explicit RandomLaunch(uint64_t seed) : rng_(seed) {}

  ir::Program program() {
    using namespace ir;
    const Var ty("ty"), tx("tx"), bx("bx");
    variables_ = {{ty, 2}, {tx, below(2) ? 4 : 5}};
    Stmt body = allocate(shared_, block(3));
    body = loop(ty, 2, loop(tx, variables_[1].second, body, ForKind::kThreadX), ForKind::kThreadY);
    if (below(3) == 0) body = loop(bx, 2, body, ForKind::kBlockX);
    return {"random", {{out_, true}}, simplify(body)};
  }

 private:
  static constexpr int kElements = 16;
  int64_t below(uint64_t n) { return static_cast<int64_t>(rng_.below(n)); }

  ir::Expr sum() {
    ir::Expr e = below(4);
    for (const auto& [v, extent] : variables_)
      if (below(3)) e = e + ir::Expr(v) * ir::Expr(int64_t{1} << below(4));
    switch (below(6)) {
      case 0:
        return ir::floordiv(e, ir::Expr(below(3) + 2));
      case 1:
        return ir::floormod(e, ir::Expr(below(4) + 3));
      case 2:
        return ir::min(e, ir::Expr(below(8) + 2));
      default:
        return e;
    }
  }
  ir::Expr at() { return ir::floormod(sum(), kElements); }
  ir::Expr condition() {
    if (below(3) == 0 && variables_.size() > 2) return ir::Expr(variables_.back().first) < ir::Expr(below(2) + 1);
    const ir::Expr one = sum() < ir::Expr(below(10));
    return below(3) ? one : one && ir::eq(ir::floormod(sum(), 2), 0);
  }
  ir::Stmt statement(int depth) {
    using namespace ir;
    const Buffer& to = below(4) ? shared_ : out_;
    switch (depth == 0 ? below(6) : below(9)) {
      case 0:
      case 1:
        return sync(SyncOp::kBlock);
      case 6:
        return if_then(condition(), block(depth - 1));
      case 7:
      case 8: {
        const Var k("k");
        const int64_t extent = below(3) + 1;
        variables_.emplace_back(k, extent);
        Stmt body = block(depth - 1);
        variables_.pop_back();
        return loop(k, extent, std::move(body));
      }
      default:
        return store(to, {at()}, below(2) ? load(shared_, {at()}) : float_imm(Type::f(32), 1));
    }
  }
  ir::Stmt block(int depth) {
    std::vector<ir::Stmt> all;
    for (int64_t n = below(3) + 1; n > 0; --n) all.push_back(statement(depth));
    return ir::seq(std::move(all));
  }

  support::Rng rng_;
  const ir::Buffer shared_{"t", ir::Type::f(32), {kElements}, ir::Scope::kShared};
  const ir::Buffer out_{"out", ir::Type::f(32), {kElements}, ir::Scope::kArgument};
  std::vector<std::pair<ir::Var, int64_t>> variables_;
};

// What the interpreter finds is found here, and no more.
TEST(SyncCheck, AgreesWithTheInterpreterOnRandomLaunches) {
  int faulty = 0, right = 0, alarms = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const ir::Program p = RandomLaunch(seed).program();
    const std::string said = interpreted(p), proved = all_of(sync_check(p));
    EXPECT_TRUE(said.empty() || !proved.empty()) << "seed " << seed << "\n" << to_string(p) << said;
    (!said.empty() ? faulty : proved.empty() ? right : alarms) += 1;
  }
  EXPECT_GT(faulty, 100);
  EXPECT_GT(right, 15);
  EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace tw::lower
