// The proof that barriers suffice: of each program of the corpus it says what the page says.

#include "src/ir/interp.h"
#include "src/ir/walk.h"
#include "src/lower/sync_check.h"
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
  options.scalars.assign(p.scalars.size(), kSize);
  const Status status = ir::interpret(p, buffers, options);
  return status.ok() ? "" : status.error().render();
}

// Whether it is needed is for the interpreter to say: both find the same where one is left out.
TEST(SyncCheck, AgreesWithTheInterpreterOnEachBarrierThatIsLeftOut) {
  int found = 0;
  for (const CorpusPage& page : gpu_corpus()) {
    if (page.interpreter != "ok") continue;
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

}  // namespace
}  // namespace tw::lower
