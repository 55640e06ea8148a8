#include "autotune/model/thread_share.h"

#include <algorithm>

#include "schedule/traffic.h"

namespace tw::autotune {

using schedule::LoopView;
using schedule::StageView;

namespace {

bool is_shared(const LoopView& loop) { return schedule::runs_concurrently(loop.annotation) && loop.extent > 1; }

// Of the parts, as far as one of `threads` goes: the first ones have other threads' places.
std::vector<LoopView> part_of(const LoopView& loop, int64_t threads) {
  std::vector<LoopView> parts = loop.parts.empty() ? std::vector<LoopView>{loop} : loop.parts;
  for (LoopView& part : parts) {
    const int64_t places = std::min(threads, part.extent);
    part.extent = (part.extent + places - 1) / places;
    threads = (threads + places - 1) / places;
  }
  return parts;
}

}  // namespace

StageView share_of_a_thread(const StageView& view, int& threads) {
  StageView share = view;
  int64_t sharing = 1;
  for (std::vector<LoopView>* loops : {&share.around, &share.loops}) {
    const auto at = std::find_if(loops->begin(), loops->end(), is_shared);
    if (at == loops->end()) continue;
    const bool known = at->parts.size() > 1 || at->roots.size() <= 1;
    if (!known || sharing > 1 || std::any_of(at + 1, loops->end(), is_shared)) {
      threads = 1;
      return view;
    }
    sharing = std::min<int64_t>(threads, at->extent);
    const std::vector<LoopView> parts = part_of(*at, sharing);
    loops->insert(loops->erase(at), parts.begin(), parts.end());
  }
  threads = static_cast<int>(sharing);
  return share;
}

double touched(const StageView& view, const schedule::AccessView& access) {
  std::vector<LoopView> loops = view.around;
  loops.insert(loops.end(), view.loops.begin(), view.loops.end());
  return schedule::footprint(access, schedule::ranges_of(loops, view.domain, 0));
}

}  // namespace tw::autotune
