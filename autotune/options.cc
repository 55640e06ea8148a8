// What is refused before anything is measured.
#include "autotune/space/knobs.h"
#include "autotune/tuner.h"

namespace tw::autotune {

void check_options(const TuneOptions& o) {
  const auto refuse = [](const std::string& what) { throw Error(Diagnostic{ErrorKind::kArgument, what, {}, {}}); };
  if (o.trials < 1) refuse("tune: trials must be a positive integer, not " + std::to_string(o.trials));
  if (o.batch < 1) refuse("tune: batch must be a positive integer, not " + std::to_string(o.batch));
  if (o.early_stop < 0)
    refuse("tune: early_stop must be a positive integer or None, not " + std::to_string(o.early_stop));
  if (!(o.timeout_s > 0) || o.timeout_s > 86400) refuse("tune: timeout must be positive seconds, at most a day");
  if (o.number < 0 || o.repeat < 0) refuse("tune: number and repeat must be positive integers");
  if (o.confirm < 0) refuse("tune: confirm must not be negative");
  if (!(o.explore >= 0 && o.explore <= 1)) refuse("tune: explore must be within 0..1");
}

void check_target(const Target& target, const runtime::Runner& runner) {
  if (target.kind != "llvm" && target.kind != "cuda")
    tune_error("tuning measures compiled kernels; the target must be of kind llvm or cuda, not " + target.kind);
  const std::string reason = runner.why_not(target);
  if (!reason.empty())
    tune_error("the machine that measures cannot run code for " + target.to_string(),
               {reason, "tune on a machine that can, or for another target"});
}

}  // namespace tw::autotune
