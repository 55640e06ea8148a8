// tw tune --sizes: an operator of which some parameters vary, tuned at several values of one.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensorwright/autotune.h"

namespace tw::tools {

// `words` are those of --sizes, M=1 8 64 N=512: of one parameter a list, by which the kernel chooses.
int tune_sizes(const std::string& name, std::map<std::string, std::string> parameters,
               const std::vector<std::string>& words, const Target&, const autotune::TuneOptions&,
               runtime::Runner* runner, bool json);

}  // namespace tw::tools
