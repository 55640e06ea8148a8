// Which cost models this build has.
#include "autotune/model/cost_model.h"

#include "autotune/model/xgboost_model.h"
#include "autotune/space/knobs.h"

namespace tw::autotune {

bool has_xgboost() {
#ifdef TW_XGBOOST
  return true;
#else
  return false;
#endif
}

std::unique_ptr<CostModel> make_cost_model(std::string_view name, uint64_t seed) {
  if (name == "none") return nullptr;
  if (name != "xgb" && name != "auto") {
    tune_error("model must be None or \"xgb\", not \"" + std::string(name) + "\"");
  }
#ifdef TW_XGBOOST
  return make_xgboost_model(seed);
#else
  if (name == "auto") return nullptr;
  tune_error("model=\"xgb\" is not part of this build (TW_XGBOOST=OFF)",
             {"use model=None, or build with libxgboost-dev installed"});
#endif
}

}  // namespace tw::autotune
