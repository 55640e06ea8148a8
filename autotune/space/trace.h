// The trace of a template's run: its Steps with references to knobs, from which any candidate's Steps are made.
#pragma once

#include <vector>

#include "tensorwright/autotune.h"

namespace tw::autotune {

struct Trace {
  std::vector<schedule::Step> steps;  // as the traced run issued them, references kept
  std::vector<Config::Mark> marks;    // in order; disjoint
};

// The marks are checked against the steps: a template that copied or rebuilt its schedule has none that fit.
Result<Trace> make_trace(const Config&, const std::vector<schedule::Step>&);

// How many steps, from the first on, are the same for all candidates of the trace.
size_t common_steps(const Trace&);

// Factors hold the candidate's numbers, splits its tails, and orders and annotations are its own.
std::vector<schedule::Step> instantiate(const Trace&, const Space&, const Digits&);

// What a reorder or an annotation stands for.
std::vector<schedule::Step> steps_of_choice(const Knob&, const KnobValue&, const std::string& stage,
                                            const std::vector<std::string>& axes);

// The same steps with plain numbers for references.
std::vector<schedule::Step> resolved(std::vector<schedule::Step>);

}  // namespace tw::autotune
