#include "src/runtime/measurement.h"

#include <algorithm>
#include <cstring>

#include "src/runtime/arguments.h"
#include "src/runtime/compare.h"
#include "src/runtime/extents.h"
#include "src/runtime/run_result.h"

namespace tw::runtime {
namespace {

// Outputs hold one of these before a run. The first is NaN in every float type; the second is not, for references that
// are NaN themselves.
constexpr uint8_t kFirstPoison = 0xFF, kSecondPoison = 0x5A;
constexpr double kWarmFrom = 2e-3;   // seconds from which the checked run serves as the warm-up
constexpr double kEnough = 15e-3;    // seconds of runs that tell a time: the leaders are timed again
constexpr double kSlowShare = 0.65;  // of what is given up at: what keeps taking longer will not be the best
constexpr double kBestShare = 0.5;   // of what is given up at: the best so far

std::string meaning_of(int32_t code) {
  if (code == TW_ERROR_OUT_OF_MEMORY) return "no memory for its scratch";
  if (code == TW_ERROR_SIZES) return "a size is not what it requires";
  return "returned code " + std::to_string(code);
}

}  // namespace

Measurement::Measurement(const RunRequest& request, Device& device, std::vector<Uploaded> uploaded)
    : request_(request),
      device_(device),
      on_device_(request, device),
      offsets_(argument_offsets(request.args)),
      uploaded_(std::move(uploaded)) {}

bool Measurement::fail(RunStatus status, std::string detail) {
  result_.status = status;
  result_.detail = std::move(detail);
  return false;
}

std::string Measurement::place(size_t i) const {
  const bool packed = i < arguments_.size() && arguments_[i].packed;
  return "argument " + std::to_string(i + 1) + " (" + request_.args[i].name + (packed ? ", packed)" : ")");
}

const void* Measurement::input(size_t i) const {
  return static_cast<const char*>(request_.inputs.data()) + offsets_[i];
}

void Measurement::poison(uint8_t byte) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (request_.args[i].written) arguments_[i].memory->poison(byte);
}

void Measurement::move_arguments() {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    arguments_[i].memory->move();
    addresses_[i] = arguments_[i].memory->address();
  }
}

bool Measurement::load() {
  if (const Status loaded = device_.load(request_.object); !loaded)
    return fail(RunStatus::kLoadFailed, loaded.error().what);
  Result<Device::Launch> found = device_.find(request_.kernel);
  if (!found) return fail(RunStatus::kLoadFailed, found.error().what);
  launch_ = *std::move(found);
  Result<KernelSpecs> specs = device_.specs(request_.kernel);
  if (!specs) return fail(RunStatus::kLoadFailed, specs.error().what);
  specs_ = *std::move(specs);
  return true;
}

bool Measurement::prepare() {
  for (size_t i = 0; i < request_.args.size(); ++i)
    if (!prepare(i)) return false;
  if (!read_off_sizes()) return false;
  poison(kFirstPoison);
  return true;
}

// The arrays of a request have known sizes; the kernel may be one of any.
bool Measurement::read_off_sizes() {
  Values values;
  for (size_t i = 0; i < std::min(specs_.args.size(), request_.args.size()); ++i) {
    const std::vector<ir::Expr>& shape = specs_.args[i].symbolic_shape;
    for (size_t d = 0; d < std::min(shape.size(), request_.args[i].shape.size()); ++d)
      if (const auto* v = ir::as<ir::VarRef>(shape[d])) values.emplace(v->var.id(), request_.args[i].shape[d]);
  }
  sizes_.reserve(specs_.scalars.size());
  for (const ScalarSpec& scalar : specs_.scalars) {
    const auto found = values.find(scalar.var.id());
    if (found == values.end())
      return fail(RunStatus::kLoadFailed, "it takes the scalar " + scalar.var.name() + ", which has no value here");
    sizes_.push_back(found->second);
    addresses_.push_back(&sizes_.back());
  }
  return true;
}

bool Measurement::prepare(size_t i) {
  const bool packed = i < specs_.packers.size() && !specs_.packers[i].empty();
  if (!packed && i < uploaded_.size() && uploaded_[i].memory) {
    Argument& there = arguments_.emplace_back(Argument{std::move(uploaded_[i].memory), false, uploaded_[i].digest, {}});
    addresses_.push_back(there.memory->address());
    return true;
  }
  const size_t bytes = (packed ? specs_.args[i] : request_.args[i]).bytes();
  Argument& argument = arguments_.emplace_back(Argument{device_.allocate(bytes, i), packed, 0, {}});
  addresses_.push_back(argument.memory->address());
  if (request_.args[i].written) return true;
  if (packed && !pack(i, specs_.packers[i])) return false;
  if (!packed) argument.memory->upload(input(i));
  if (!packed) argument.digest_there = on_device_.digest(i, *argument.memory);
  if (!argument.digest_there) argument.digest = argument.memory->digest();
  return true;
}

// A digest that the device made is compared with another one of it, for which there may be no memory any more.
bool Measurement::is_unchanged(size_t i) {
  const Argument& argument = arguments_[i];
  if (!argument.digest_there) return argument.memory->digest() == argument.digest;
  const std::optional<uint64_t> now = on_device_.digest(i, *argument.memory);
  if (now) return now == argument.digest_there;
  return std::memcmp(argument.memory->contents(), input(i), argument.memory->bytes()) == 0;
}

// Before anything is timed: the caller of the kernel does it once. The blob that it packs from is nobody's to write.
bool Measurement::pack(size_t i, const std::string& packer) {
  const Result<Device::Launch> launch = device_.find(packer);
  if (!launch) return fail(RunStatus::kLoadFailed, launch.error().what);
  const void* const declared = device_.readable(input(i), request_.args[i].bytes());
  arguments_[i].memory->poison(kFirstPoison);
  void* const addresses[] = {const_cast<void*>(declared), arguments_[i].memory->address()};
  const Device::Elapsed elapsed = device_.time(*launch, addresses, 1);
  if (elapsed.code == 0) return true;
  return fail(RunStatus::kCrashed, packer + (elapsed.failure.empty() ? " returned code " + std::to_string(elapsed.code)
                                                                     : ": " + elapsed.failure));
}

// Seconds of so many runs together; negative when one failed.
double Measurement::timed_runs(int runs) {
  const Device::Elapsed elapsed = device_.time(launch_, addresses_.data(), runs);
  if (elapsed.code == 0) return elapsed.seconds;
  fail(RunStatus::kCrashed, elapsed.failure.empty() ? meaning_of(elapsed.code) : elapsed.failure);
  return -1;
}

bool Measurement::check_output(size_t i, uint8_t poisoned_with) {
  const ArgSpec& spec = request_.args[i];
  const void* expected = static_cast<const char*>(request_.reference->data()) + offsets_[i];
  if (on_device_.agrees(i, *arguments_[i].memory, expected)) return true;
  const auto* bytes = static_cast<const uint8_t*>(arguments_[i].memory->contents());
  const std::string wrong = difference(spec, bytes, expected, request_.rtol[i], request_.atol[i]);
  if (wrong.empty()) return true;
  const bool untouched = std::all_of(bytes, bytes + spec.bytes(), [&](uint8_t byte) { return byte == poisoned_with; });
  return fail(RunStatus::kWrongAnswer, place(i) + (untouched ? " was not written" : ": " + wrong));
}

bool Measurement::zones_are_whole() {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (const std::string damage = arguments_[i].memory->damage(); !damage.empty())
      return fail(RunStatus::kWrongAnswer, place(i) + ": memory outside it was written, " + damage);
  return true;
}

bool Measurement::inputs_are_unchanged() {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (!request_.args[i].written && !is_unchanged(i))
      return fail(RunStatus::kWrongAnswer, place(i) + " is an input and was written");
  return true;
}

bool Measurement::outputs_are_right(uint8_t poisoned_with) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (request_.args[i].written && !check_output(i, poisoned_with)) return false;
  return true;
}

// The inputs are read again before a time is told (time()), which is enough.
bool Measurement::check_first_run() {
  first_s_ = timed_runs(1);
  if (first_s_ < 0 || !zones_are_whole()) return false;
  if (!request_.reference) return inputs_are_unchanged();
  if (outputs_are_right(kFirstPoison)) return true;
  inputs_are_unchanged();  // one that was written explains what else is wrong
  return false;
}

void Measurement::finish() { return request_.reference ? time() : keep_outputs(); }

void Measurement::keep_outputs() {
  std::vector<const void*> contents;
  for (size_t i = 0; i < arguments_.size(); ++i)
    contents.push_back(arguments_[i].packed ? input(i) : arguments_[i].memory->contents());
  result_.outputs = arguments_blob(request_.args, contents);
}

// Roughly what one run takes; negative when it failed. The checked run warms up for a long one, and what it took alone
// ends one that is longer still.
double Measurement::warm_up() {
  if (first_s_ > kEnough) return first_s_;
  const bool warm = first_s_ > kWarmFrom;
  double best = warm ? first_s_ : timed_runs(1);
  for (int again = warm ? 1 : 0;
       again < 2 && best >= 0 && request_.give_up_above_s > 0 && best > request_.give_up_above_s; ++again) {
    const double seconds = timed_runs(1);
    best = seconds < 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

// Whether the first run tells enough: it averages over what disturbs it, and was longer than the best.
bool Measurement::lags() const {
  const double give_up = request_.give_up_above_s;
  return adaptive() && first_s_ > kEnough && give_up > 0 && first_s_ > kBestShare * give_up && first_s_ <= give_up;
}

// The last run is checked as the first was: a kernel that stops working once it was right is found out; and with its
// arguments elsewhere, where a device has fences at one end of each only. A run of some
// length is timed even so, as clearing the outputs before it costs it little; a long one is not timed otherwise.
void Measurement::time() {
  if (lags()) {
    if (!inputs_are_unchanged()) return;
    result_.seconds = first_s_;
    result_.runs = 1;
    return refuse_too_fast();
  }
  poison(kSecondPoison);
  const double one = warm_up();
  if (one < 0) return;
  if (request_.give_up_above_s > 0 && one > request_.give_up_above_s) {
    result_ = {RunStatus::kBeaten, one, 0, 1, "one run took longer than what is given up at"};
    return;
  }
  Timing timing;
  if (!adaptive() || one < kEnough) {
    timing = repeated(one);
    if (result_.status != RunStatus::kOk) return;
  }
  bool right = timing.runs.empty() || (zones_are_whole() && outputs_are_right(kSecondPoison));
  if (right) {
    move_arguments();
    poison(kFirstPoison);
    const double last = timed_runs(1);
    right = last >= 0 && zones_are_whole() && outputs_are_right(kFirstPoison);
    if (right && adaptive() && one > kWarmFrom) timing.runs.push_back(last);
  }
  summarise(timing);
  result_.seconds = timing.median;
  result_.spread = timing.spread;
  result_.runs = static_cast<int>(timing.runs.size());
  if (!right) {
    if (result_.status != RunStatus::kWrongAnswer || inputs_are_unchanged())
      result_.detail += " (after the timed runs)";
    return;
  }
  if (inputs_are_unchanged()) refuse_too_fast();
}

void Measurement::refuse_too_fast() {
  if (too_fast(result_.seconds, request_.lower_bound_s)) fail(RunStatus::kTooFast, "faster than the work allows");
}

Timing Measurement::repeated(double one) {
  TimingPolicy policy{.number = request_.number, .repeat = request_.repeat};
  policy.stop_after_s = 0.5 * request_.timeout_s;
  policy.slow_above_s = kSlowShare * request_.give_up_above_s;
  const bool warm = one > kWarmFrom;
  policy.budget_s = warm ? std::max(0.0, kEnough - first_s_) : kEnough;
  policy.fewest_repeats = warm ? 1 : 3;
  return measure([&](int runs) { return timed_runs(runs); }, one, policy);
}

}  // namespace tw::runtime
