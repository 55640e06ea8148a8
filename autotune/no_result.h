// What a tuning says that found nothing: the commonest reason.
#pragma once

#include <map>
#include <string>

#include "tensorwright/autotune.h"

namespace tw::autotune {

// `refusals`, by their reason, and how many were refused, count where nothing was measured. Throws TuneError.
[[noreturn]] void every_candidate_failed(const Task&, const TuneResult&, const std::map<std::string, int>& refusals,
                                         size_t refused);

}  // namespace tw::autotune
