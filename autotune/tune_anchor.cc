// What tells how the clock of a GPU here drifts: it goes with heat, and with what else draws power.
#include "autotune/tuning_loop.h"

namespace tw::autotune {

void Tuner::begin_anchor(const Built& built, bool before) {
  if (anchor_.begun() || !built.trial.ok() || !task_.target().abilities.device) return;
  anchor_.begin(built.trial.seconds, built.trial.spread, before);
  anchor_built_ = built;
}

void Tuner::time_anchor() {
  if (!anchor_built_.ok()) anchor_built_ = measurer_->rebuild(anchor_built_.trial);
  Built again = anchor_built_;
  if (again.ok()) measurer_->run(again, 0);
  again.ok() && again.trial.ok() ? anchor_.again(again.trial.seconds, again.trial.spread) : anchor_.failed();
}

// Its time is what it would have taken at first.
void Tuner::run_here(Built& built, double give_up_above) {
  if (anchor_.due()) time_anchor();
  if (measurer_->stopped()) return;
  measurer_->run(built, give_up_above * anchor_.drift());
  anchor_.count();
  built.trial.seconds /= anchor_.drift();
  built.trial.place.drift = anchor_.drift();
}

}  // namespace tw::autotune
