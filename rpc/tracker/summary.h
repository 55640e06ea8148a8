// What a tracker tells who asks, as JSON:
//
//   {"boards":[{"key":"rpi4","name":"pi4-1","status":"leased","since_s":12.5,"why":"","client":"ann@laptop",
//               "hardware":"...","cores":4}],
//    "queue":[{"key":"rpi4","predicate":"cores >= 8","priority":0,"client":"bob@desk","waits_s":3.2,"wait_s":60}]}
#pragma once

#include <string>

#include "rpc/tracker/state.h"

namespace tw::rpc {

std::string summary_of(const TrackerState&, double now);

}  // namespace tw::rpc
