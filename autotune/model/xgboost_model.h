// The learned cost model: gradient-boosted trees, reached through XGBoost's C API.
#pragma once

#include <cstdint>
#include <memory>

#include "autotune/model/cost_model.h"

namespace tw::autotune {

std::unique_ptr<CostModel> make_xgboost_model(uint64_t seed);

}  // namespace tw::autotune
