#include "src/ir/interp_async.h"

#include <algorithm>

namespace tw::ir::interp {

namespace {

[[noreturn]] void fail(const std::string& what, std::vector<std::string> notes = {}) {
  throw Fault{ErrorKind::kInternal, "interpret: " + what, std::move(notes)};
}

}  // namespace

std::string name_of(const Barriers::Turn& turn) {
  return "turn " + std::to_string(turn.number) + " of " + turn.ring->name();
}

void Barriers::init(const Turn& turn, int64_t arrivals) {
  if (!all_.try_emplace({turn.ring, turn.at}).second)
    fail(turn.ring->element(turn.at) + " is a barrier already", {"mbarrier.inval comes before it begins again"});
  all_[{turn.ring, turn.at}].now = std::make_shared<Phase>();
  all_[{turn.ring, turn.at}].threads = arrivals;
}

void Barriers::end(const Turn& turn) {
  Barrier& b = of(turn);
  if (b.begun || !b.now->boxes.empty()) fail(turn.ring->element(turn.at) + " ends while bytes are on their way");
  all_.erase({turn.ring, turn.at});
}

const Barriers::Barrier& Barriers::of(const Turn& turn) const {
  const auto found = all_.find({turn.ring, turn.at});
  if (found == all_.end()) fail(turn.ring->element(turn.at) + " is no barrier yet", {"mbarrier.init makes it one"});
  return found->second;
}
Barriers::Barrier& Barriers::of(const Turn& turn) {
  return const_cast<Barrier&>(static_cast<const Barriers&>(*this).of(turn));
}

Barriers::Barrier& Barriers::to_begin(const Turn& turn) {
  Barrier& b = of(turn);
  if (b.phase < turn.phase()) fail(name_of(turn) + " begins before the one that has its barrier is over");
  if (b.phase > turn.phase()) fail(name_of(turn) + " begins after it is over");
  return b;
}

void Barriers::Knowledge::add(const Knowledge& other) {
  tasks.resize(std::max(tasks.size(), other.tasks.size()));
  for (size_t i = 0; i < other.tasks.size(); ++i) tasks[i] = std::max(tasks[i], other.tasks[i]);
  for (const void* one : other.seen)
    if (std::find(seen.rbegin(), seen.rend(), one) == seen.rend()) seen.push_back(one);
}

bool Barriers::arrive(const Turn& turn, int64_t thread, const Knowledge& done) {
  Barrier& b = to_begin(turn);
  if (b.threads == 0) fail(name_of(turn) + " counts bytes, and a thread arrives at it");
  Phase& phase = *b.now;
  if (std::ranges::find(phase.threads, thread) != phase.threads.end())
    fail("a thread arrives twice at " + name_of(turn), {"a warp's other lanes count then as arrived"});
  phase.threads.push_back(thread);
  phase.done.add(done);
  if (std::ssize(phase.threads) < b.threads) return false;
  b.last = std::exchange(b.now, std::make_shared<Phase>());
  ++b.phase;
  return true;
}

const Barriers::Knowledge& Barriers::of_arrivals(const Turn& turn) const { return of(turn).last->done; }

void Barriers::expect(const Turn& turn, int64_t bytes, const std::vector<const void*>& seen) {
  Barrier& b = to_begin(turn);
  if (b.threads > 0) fail(name_of(turn) + " counts threads, and bytes are expected of it");
  if (b.begun) fail(name_of(turn) + " begins twice", {"its barrier counts one arrival a phase"});
  if (b.last && !b.last->by_all && std::find(seen.rbegin(), seen.rend(), b.last.get()) == seen.rend())
    fail(name_of(turn) + " begins before the one that has its barrier is known to be over",
         {"whoever begins it has waited for that one, or for those who have"});
  b.begun = true;
  b.expected = bytes;
  go_on(turn, b);
}

void Barriers::copy(const Turn& turn, Box box, const Tasks& tasks) {
  Barrier& b = to_begin(turn);
  for (const Copied& element : box.elements) element.to.memory->begin_box(element.to.at, tasks);
  for (const Element& source : box.sources) source.memory->hold(source.at);
  b.arrived += box.bytes;
  b.now->boxes.push_back(std::move(box));
  go_on(turn, b);
}

void Barriers::go_on(const Turn& turn, Barrier& b) {
  if (!b.begun || b.arrived < b.expected) return;
  if (b.arrived > b.expected) fail(why_not_over(turn));
  b.last = std::exchange(b.now, std::make_shared<Phase>());
  b.begun = false;
  b.expected = b.arrived = 0;
  ++b.phase;
}

bool Barriers::is_over(const Turn& turn) const {
  const Barrier& b = of(turn);
  if (b.phase < turn.phase())
    fail(name_of(turn) + " is waited for before the one that has its barrier is over",
         {"a parity says no more than which of two phases is meant"});
  if (b.phase > turn.phase() + 1)
    fail(name_of(turn) + " is waited for a whole phase behind",
         {"a turn begins when all threads have waited for the one that has its barrier before it"});
  return b.phase > turn.phase();
}

void Barriers::see(const Turn& turn, std::vector<const void*>& seen) {
  const std::shared_ptr<Phase>& phase = of(turn).last;
  seen.push_back(phase.get());
  if (phase->seen) return;
  phase->seen = true;
  apart_.push_back(phase);
  for (const Box& box : phase->boxes) {
    for (const Element& source : box.sources) source.memory->release(source.at);
    for (const Copied& element : box.elements) element.to.memory->land(element.to.at, element.value, phase.get());
  }
}

void Barriers::meet() {
  for (const auto& phase : apart_) {
    phase->by_all = true;
    for (const Box& box : phase->boxes)
      for (const Copied& element : box.elements) element.to.memory->settle(element.to.at, phase.get());
  }
  apart_.clear();
}

void Barriers::expect_none(const Tasks& tasks) const {
  for (const auto& [place, b] : all_) {
    const bool lost = b.last && !b.last->seen && !b.last->boxes.empty();
    const Phase* open = lost ? b.last.get() : b.now->boxes.empty() ? nullptr : b.now.get();
    if (open == nullptr) continue;
    const Element& first = open->boxes[0].elements.at(0).to;
    first.memory->on_its_way(first.at, "its block ends", tasks);
  }
}

std::string Barriers::why_not_over(const Turn& turn) const {
  const Barrier& b = of(turn);
  if (b.threads > 0)
    return std::to_string(b.now->threads.size()) + " of " + std::to_string(b.threads) + " threads arrive at " +
           name_of(turn);
  if (!b.begun) return name_of(turn) + " is begun by nobody";
  return name_of(turn) + " expects " + std::to_string(b.expected) + " bytes and gets " + std::to_string(b.arrived);
}

}  // namespace tw::ir::interp
