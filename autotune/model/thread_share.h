// A stage as one of several threads runs it. The pool gives each a run of neighbouring iterations of a parallel loop,
// so that of a fused one the outer parts are shared out first, and a thread runs through all of the inner ones.
#pragma once

#include "schedule/nest_view.h"

namespace tw::autotune {

// The parts of its parallel loop in the place of that, each as far as a thread goes. `threads` becomes how many have a
// share; 1, and the view as it is, where nothing is parallel or nobody knows who runs what.
schedule::StageView share_of_a_thread(const schedule::StageView&, int& threads);

// What the access touches in all loops of the stage, its consumers' among them.
double touched(const schedule::StageView&, const schedule::AccessView&);

}  // namespace tw::autotune
