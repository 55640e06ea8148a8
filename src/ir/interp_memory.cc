// Buffers, layouts and the two shadows.

#include "src/ir/interp_memory.h"

#include <bit>
#include <cstring>
#include <new>

namespace tw::ir::interp {
namespace {

constexpr int64_t kLargestBytes = int64_t{1} << 36;
constexpr unsigned char kPoison = 0xa5;

std::string too_large(const std::string& name) { return "interpret: buffer " + name + " is larger than memory"; }

}  // namespace

Memory::Memory(std::string name, Type element, bool check_unwritten, bool check_races, bool one_value)
    : name_(std::move(name)),
      element_(element),
      read_(read_function(element)),
      write_(write_function(element)),
      check_unwritten_(check_unwritten),
      check_races_(check_races),
      one_value_(one_value && check_unwritten) {}

Memory Memory::another() const {
  Memory out(name_, element_, check_unwritten_, check_races_, one_value_);
  out.role_ = role_;
  out.slot_ = slot_;
  return out;
}

void Memory::bind(void* data, std::vector<int64_t> shape, std::vector<int64_t> strides, bool written) {
  lay_out(std::move(shape), std::move(strides), written);
  data_ = data;
}

void Memory::allocate(std::vector<int64_t> shape, std::vector<int64_t> strides) try {
  lay_out(std::move(shape), std::move(strides), false);
  const int64_t bytes = element_.bytes_of(span_);
  if (bytes > own_bytes_) {
    own_ = std::make_unique<Line[]>(static_cast<size_t>((bytes + kScratchAlignment - 1) / kScratchAlignment));
    own_bytes_ = bytes;
  }
  data_ = own_.get();
  if (bytes > 0) std::memset(data_, kPoison, static_cast<size_t>(bytes));
} catch (const std::bad_alloc&) {
  throw Fault{ErrorKind::kInternal, too_large(name_), {}};
}

void Memory::enter(uint32_t time, std::vector<int64_t> shape, std::vector<int64_t> strides) {
  if (newest_ == before_block_) {  // nobody of this block was here
    allocate(std::move(shape), std::move(strides));
  } else if (shape != shape_ || (!strides.empty() && strides != strides_)) {
    throw Fault{ErrorKind::kInternal, "interpret: shared memory " + name_ + " changes its size within a block", {}};
  }
  seen_at(time);
  newest_ = std::max(newest_, generation_);
}

void Memory::lay_out(std::vector<int64_t> shape, std::vector<int64_t> strides, bool written) {
  shape_ = std::move(shape);
  strides_ = std::move(strides);
  bool empty = false, endless = false;
  __int128 elements = 1;
  for (int64_t extent : shape_) {
    empty |= extent <= 0;
    elements *= extent;
    endless |= elements > kLargestBytes;
    if (endless) elements = 1;
  }
  if (strides_.empty()) {
    strides_.resize(shape_.size());
    int64_t stride = 1;
    for (size_t d = shape_.size(); d-- > 0 && !empty && !endless;) {
      strides_[d] = stride;
      stride *= shape_[d];
    }
  }
  __int128 span = empty ? 0 : 1;
  for (size_t d = 0; d < shape_.size() && !empty; ++d) span += static_cast<__int128>(shape_[d] - 1) * strides_[d];
  if (!empty && (endless || span > kLargestBytes / element_.bytes() || span < 0))
    throw Fault{ErrorKind::kInternal, too_large(name_), {}};
  span_ = static_cast<int64_t>(span);
  half_used_ = element_.is_packed() && span_ % 2 == 1 ? span_ - 1 : -1;
  if (check_unwritten_) written_.assign(static_cast<size_t>(span_), written ? generation_ : 0);
  if (check_races_) accesses_.assign(static_cast<size_t>(shared_by(span_) + 1), {});
  arriving_.clear();
  held_.clear();
  fences_.clear();
  if (role_ == Role::kSums) touched_.assign(static_cast<size_t>(span_), 0);
  if (slot_ > 0) {
    group_of_.assign(static_cast<size_t>(span_), 0);
    turns_.assign(static_cast<size_t>(span_ / slot_ + 1), {});
  }
  by_threads_ = by_boxes_ = false;
}

void Memory::begin_arrival(int64_t at, const Tasks& tasks) {
  expect_arrived(at, Access::kWrites, tasks);
  expect_released(at, tasks);
  if (check_races_) note_write(at, tasks);
  arriving_[at] = {tasks.now()};
}

void Memory::begin_arrival(int64_t at, uint32_t group, const Tasks& tasks) {
  begin_arrival(at, tasks);
  if (slot_ == 0) return;
  Turn& turn = turns_[static_cast<size_t>(at / slot_)];
  const uint32_t before = group_of_[static_cast<size_t>(at)];
  if (before != 0 && before >= turn.group && before < group) turn = {group, tasks.now()};
}

// In another order of the threads the slot's turn may not have begun.
void Memory::expect_of_this_turn(int64_t at, const Tasks& tasks) const {
  const uint32_t group = group_of_[static_cast<size_t>(at)];
  const Turn& turn = turns_[static_cast<size_t>(at / slot_)];
  if (group == 0 || group >= turn.group || tasks.races(turn.task)) return;
  Fault fault{ErrorKind::kInternal,
              "interpret: " + element(at) + " was copied before its slot was filled again",
              {"what a turn of a ring does not copy is not there, though the bytes of an earlier one are"}};
  if (tasks.names) fault.notes.push_back("thread (" + tasks.names->name(turn.task) + ") begins to fill the slot");
  throw fault;
}

void Memory::begin_box(int64_t at, const Tasks& tasks) {
  by_boxes_ = true;
  if (by_threads_) mixed(at);
  begin_arrival(at, tasks);
}

void Memory::land(int64_t at, Value v, const void* seen) {
  arriving_[at].seen = seen;
  if (check_unwritten_) written_[static_cast<size_t>(at)] = generation_;
  if (check_races_) accesses_[static_cast<size_t>(at)].write = 0;
  write_(data_, at, v);
}

void Memory::settle(int64_t at, const void* seen) {
  const auto found = arriving_.find(at);
  if (found != arriving_.end() && found->second.seen == seen) arriving_.erase(found);
}

void Memory::mixed(int64_t at) const {
  throw Fault{ErrorKind::kInternal,
              "interpret: " + element(at) + " is written by threads and by boxes that the device copies",
              {"no fence stands between the two ways to memory"}};
}

void Memory::on_its_way(int64_t at, const std::string& what, const Tasks& tasks) const {
  Fault fault{ErrorKind::kInternal,
              "interpret: " + element(at) + " is still on its way when " + what,
              {"what is stored later is there for its own thread after a wait that covers it, for others after a "
               "barrier behind that"}};
  if (tasks.names) fault.notes.push_back("thread (" + tasks.names->name(arriving_.at(at).task) + ") stores it");
  throw fault;
}

void Memory::expect_arrived(int64_t at, Access now, const Tasks& tasks) const {
  const auto found = arriving_.find(at);
  if (found == arriving_.end()) return;
  if (found->second.seen && tasks.seen && std::ranges::find(*tasks.seen, found->second.seen) != tasks.seen->end())
    return;
  const std::string who = tasks.names ? "thread (" + tasks.names->name(tasks.now()) + ")" : "somebody";
  on_its_way(at, who + (now == Access::kReads ? " reads it" : " writes it"), tasks);
}

void Memory::expect_released(int64_t at, const Tasks& tasks) const {
  if (!held_.contains(at)) return;
  Fault fault{
      ErrorKind::kInternal, "interpret: " + element(at) + " is written while a value that is on its way reads it", {}};
  if (tasks.names) fault.notes.push_back("thread (" + tasks.names->name(tasks.now()) + ") writes it");
  throw fault;
}

void Memory::note_role(int64_t at, const Tasks& tasks) {
  if (role_ == Role::kSums) {
    touched_[static_cast<size_t>(at)] = *tasks.fences;
    return;
  }
  const auto [known, fresh] = fences_.try_emplace(at, Fence{tasks.now()});
  if (!fresh && known->second.stored == tasks.now() && known->second.fenced == 0) return;
  known->second = {tasks.now()};
  tasks.stored->push_back({{this, at}, tasks.now()});
}

void Memory::fenced(const Stored& one, const Tasks& tasks) {
  const auto found = fences_.find(one.at);
  if (found != fences_.end() && found->second.stored == one.task) found->second.fenced = tasks.now();
}

void Memory::expect_fenced_register(int64_t at, uint32_t fences, std::string_view product) const {
  if (fences > touched_[static_cast<size_t>(at)]) return;
  throw Fault{ErrorKind::kInternal,
              "interpret: " + std::string(product) + " goes on with " + element(at) + ", which was touched before",
              {"wgmma.fence stands between what a thread does to its sums and a product of them"}};
}

void Memory::expect_fenced(int64_t at, std::string_view product, const Tasks& tasks) const {
  const auto found = fences_.find(at);
  if (found == fences_.end() || (found->second.fenced != 0 && !tasks.races(found->second.fenced))) return;
  Fault fault{ErrorKind::kInternal,
              "interpret: " + std::string(product) + " reads " + element(at) + ", which a thread has stored unfenced",
              {"fence.async of the thread that stores stands before the barrier in between"}};
  if (tasks.names) fault.notes.push_back("thread (" + tasks.names->name(found->second.stored) + ") stores it");
  throw fault;
}

void Memory::note_read(int64_t at, const Tasks& tasks) {
  Accesses& seen = accesses_[static_cast<size_t>(shared_by(at))];
  if (tasks.races(seen.write)) race(at, Access::kWrites, seen.write, Access::kReads, tasks);
  if (seen.read == tasks.now()) return;
  seen.earlier_read = seen.read;
  seen.read = tasks.now();
  if (!tasks.within_outermost(seen.first_read)) seen.first_read = tasks.now();
}

void Memory::note_write(int64_t at, const Tasks& tasks) {
  Accesses& seen = accesses_[static_cast<size_t>(shared_by(at))];
  if (tasks.races(seen.write)) race(at, Access::kWrites, seen.write, Access::kWrites, tasks);
  for (const uint32_t read : {seen.read, seen.earlier_read, seen.first_read})
    if (tasks.races(read)) race(at, Access::kReads, read, Access::kWrites, tasks);
  seen.write = tasks.now();
}

std::string Memory::element(int64_t at) const {
  std::string out = name_ + "[";
  int64_t rest = at;
  for (size_t d = 0; d < shape_.size(); ++d) {
    const bool moves = strides_[d] != 0 && shape_[d] > 1;
    const int64_t subscript = moves ? rest / strides_[d] : 0;
    rest -= subscript * strides_[d];
    out += (d ? ", " : "") + std::to_string(subscript);
  }
  return out + "]";
}

void Memory::unwritten(int64_t at, const Tasks& tasks) const {
  Fault fault{ErrorKind::kInternal, "interpret: " + element(at) + " is read before anything was written there", {}};
  if (tasks.names) fault.notes.emplace_back("what other threads of the block write is there after a barrier");
  throw fault;
}

bool Memory::same(Value a, Value b) const {
  if (!element_.is_float() && !element_.is_float8()) return a.i == b.i;
  if (element_.bits == 64) return std::bit_cast<uint64_t>(a.d) == std::bit_cast<uint64_t>(b.d);
  return std::bit_cast<uint32_t>(a.f) == std::bit_cast<uint32_t>(b.f);
}

void Memory::expect_whole() const {
  int64_t elements = 1;
  for (int64_t extent : shape_) elements *= extent;
  if (elements != span_) return;  // strides leave gaps
  for (int64_t at = 0; at < span_; ++at)
    if (written_[static_cast<size_t>(at)] != generation_)
      throw Fault{ErrorKind::kInternal, "interpret: " + element(at) + " of an output is never written", {}};
}

void Memory::rewritten(int64_t at) const {
  throw Fault{ErrorKind::kInternal,
              "interpret: " + element(at) + " is written twice, with different values",
              {"only a store that updates the element itself may change what was written"}};
}

void Memory::race(int64_t at, Access then, uint32_t task, Access now, const Tasks& tasks) const {
  const std::string what = "interpret: data race on " + element(at);
  const std::string touched = element_.is_packed() ? "element's byte: " : "element: ";
  const auto verb = [](Access a) { return a == Access::kReads ? " reads it" : " writes it"; };
  if (tasks.names) {
    const auto who = [&](uint32_t t, Access a) { return "thread (" + tasks.names->name(t) + ")" + verb(a); };
    throw Fault{ErrorKind::kInternal,
                what,
                {"two threads touch this " + touched + who(task, then) + ", " + who(tasks.now(), now),
                 tasks.names->missing_order(task, tasks.now())}};
  }
  const char* how = then == now               ? "both write it"
                    : then == Access::kWrites ? "one writes it and another reads it"
                                              : "one reads it and another writes it";
  throw Fault{ErrorKind::kInternal, what, {"two iterations of a parallel loop touch this " + touched + how}};
}

}  // namespace tw::ir::interp
