#include "src/tools/measure_pack.h"

#include <csignal>
#include <cstdio>

#include "rpc/measure_pack.h"
#include "src/tools/run_command.h"

namespace tw::tools {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void print_progress(const rpc::PackProgress& p) {
  std::fprintf(stderr, "\r%d/%d", p.done, p.total);
  if (p.best_s > 0) std::fprintf(stderr, "  best %.4g ms", p.best_s * 1e3);
  if (p.failures > 0) std::fprintf(stderr, "  %d failed", p.failures);
  if (p.done == p.total) std::fprintf(stderr, "\n");
}

}  // namespace

int measure_pack(const rpc::Pack& pack, runtime::Runner& runner, const MeasureOptions& options) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
  rpc::MeasurePackOptions how{.log = options.log, .on_trial = {}, .should_stop = [] { return interrupted != 0; }};
  if (!options.quiet && !options.json) how.on_trial = print_progress;
  const rpc::MeasuredPack done = rpc::measure_pack(pack, runner, how);
  const rpc::PackProgress& p = done.progress;
  const bool best = p.best_s > 0, none = !best && !done.stopped && p.total > 0;
  if (options.json) {
    print_json({{"task", pack.task},
                {"hardware", runner.machine().hardware_name()},
                {"candidates", p.total},
                {"measured", done.measured},
                {"known", p.done},
                {"failures", p.failures},
                {"best_seconds", p.best_s},
                {"stopped", done.stopped}});
  } else {
    std::printf("%s: %d of %d candidates are in %s, %d of them measured now, %d failed", pack.task.c_str(), p.done,
                p.total, options.log.c_str(), done.measured, p.failures);
    if (best) std::printf(", best %.4g ms", p.best_s * 1e3);
    std::printf("\n");
  }
  if (none)
    std::fprintf(stderr, "no candidate gave a right result in time; %s says why of each\n", options.log.c_str());
  if (done.stopped) return kInterrupted;
  return none ? kFailed : kDone;
}

}  // namespace tw::tools
