// Which XGBoost this is; only in builds that have it.
#pragma once

#include <string>

namespace tw::autotune {

std::string xgboost_version();  // 1.7.4

}  // namespace tw::autotune
