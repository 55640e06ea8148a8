// The proof that barriers suffice: of each program of the corpus it says what the page says.

#include "src/lower/sync_check.h"
#include "tests/unit/gpu_corpus.h"

namespace tw::lower {
namespace {

std::string all_of(const std::vector<SyncFinding>& findings) {
  std::string out;
  for (const SyncFinding& f : findings) out += (out.empty() ? "" : "\n") + to_string(f);
  return out;
}

TEST(SyncCheck, CorpusIsJudgedAsEachPageSays) {
  for (const CorpusPage& page : gpu_corpus()) {
    SCOPED_TRACE(page.name);
    expect_verdict(page.sync_check, all_of(sync_check(page.program)));
  }
}

}  // namespace
}  // namespace tw::lower
