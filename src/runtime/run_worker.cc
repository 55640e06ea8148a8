#include "src/runtime/run_worker.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "src/runtime/argument_file.h"
#include "src/runtime/compare.h"
#include "src/runtime/guarded_buffer.h"
#include "src/runtime/kernel.h"
#include "src/runtime/messages.h"
#include "src/runtime/sandbox.h"
#include "src/runtime/thread_pool.h"
#include "src/runtime/timing.h"

namespace tw::runtime {
namespace {

// Outputs hold one of these before a run. The first is NaN in every float type; the second is not, for references that
// are NaN themselves.
constexpr uint8_t kFirstPoison = 0xFF, kSecondPoison = 0x5A;
constexpr double kWarmFrom = 2e-3;      // seconds from which the checked run serves as the warm-up
constexpr double kEnough = 15e-3;       // seconds of runs that tell a time: the leaders are timed again
constexpr double kSlowShare = 0.65;     // of what is given up at: what keeps taking longer will not be the best
constexpr double kBestShare = 0.5;      // of what is given up at: the best so far
constexpr double kTooFastShare = 0.75;  // of the lower bound

// Depends on each word of the buffer and on its place; four chains, as one alone waits for its multiplications.
uint64_t digest(const GuardedBuffer& buffer) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
  uint64_t chains[4] = {1, 2, 3, 4}, rest = 0;
  const auto* bytes = static_cast<const unsigned char*>(buffer.data());
  size_t at = 0;
  for (uint64_t words[4]; at + sizeof words <= buffer.bytes(); at += sizeof words) {
    std::memcpy(words, bytes + at, sizeof words);
    for (int c = 0; c < 4; ++c) chains[c] = (chains[c] ^ words[c]) * kOdd;
  }
  for (; at < buffer.bytes(); ++at) rest = (rest ^ bytes[at]) * kOdd;
  for (const uint64_t chain : chains) rest = (rest ^ (chain >> 29) ^ chain) * kOdd;
  return rest;
}

class Measurement {
 public:
  explicit Measurement(const RunRequest& request)
      : request_(request),
        inputs_(request.inputs_path, request.args),
        reference_(request.reference_path, request.args),
        made_(request.args.size()) {}

  // Runs the candidate's code from here on.
  bool load();
  bool prepare();
  bool check_first_run();
  void time();
  const RunResult& result() const { return result_; }

 private:
  bool fail(RunStatus status, std::string detail) {
    result_.status = status;
    result_.detail = std::move(detail);
    return false;
  }
  std::string place(size_t i) const {
    return "argument " + std::to_string(i + 1) + " (" + request_.args[i].name + (made_[i] ? ", packed)" : ")");
  }
  bool prepare(size_t i, const KernelSpecs& specs);
  bool pack(size_t i, const std::string& packer);
  void poison(uint8_t byte);
  bool run_once();
  double timed_run();
  bool check(uint8_t poisoned_with);
  bool unchanged(size_t input) const;
  bool check_output(size_t i, uint8_t poisoned_with);
  bool adaptive() const { return request_.number == 0 && request_.repeat == 0; }
  bool lags() const;
  void refuse_too_fast();
  double warm_up();
  Timing repeated(double one);

  const RunRequest& request_;
  ArgumentFile inputs_, reference_;
  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;  // what the kernel gets, packed where it wants that
  std::vector<std::optional<uint64_t>> made_;            // of a packed input a digest of what the packing kernel wrote
  std::vector<void*> data_;
  void* library_ = nullptr;
  KernelFn fn_ = nullptr;
  double first_s_ = 0;
  RunResult result_{.status = RunStatus::kOk, .seconds = 0, .spread = 0, .runs = 0, .detail = {}};
};

void Measurement::poison(uint8_t byte) {
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (request_.args[i].written) buffers_[i]->poison(byte);
}

bool Measurement::load() {
  library_ = dlopen(request_.shared_object.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library_) return fail(RunStatus::kLoadFailed, dlerror());
  fn_ = reinterpret_cast<KernelFn>(dlsym(library_, kernel_symbol(request_.kernel).c_str()));
  return fn_ || fail(RunStatus::kLoadFailed, "no symbol " + kernel_symbol(request_.kernel));
}

bool Measurement::prepare() {
  KernelSpecs specs;  // empty of a kernel that was made by hand
  const void* descriptor = dlsym(library_, descriptor_symbol(request_.kernel).c_str());
  if (descriptor) {
    Result<KernelSpecs> described = specs_of(*static_cast<const tw_kernel_descriptor*>(descriptor));
    if (!described) return fail(RunStatus::kLoadFailed, described.error().what);
    specs = std::move(*described);
  }
  for (size_t i = 0; i < request_.args.size(); ++i)
    if (!prepare(i, specs)) return false;
  poison(kFirstPoison);
  return true;
}

bool Measurement::prepare(size_t i, const KernelSpecs& specs) {
  const bool packed = i < specs.packers.size() && !specs.packers[i].empty();
  buffers_.push_back(std::make_unique<GuardedBuffer>((packed ? specs.args[i] : request_.args[i]).bytes(), i));
  data_.push_back(buffers_[i]->data());
  if (packed) return pack(i, specs.packers[i]);
  if (!request_.args[i].written) buffers_[i]->fill(inputs_.argument(i));
  return true;
}

// Before anything is timed: the caller of the kernel does it once. The packing kernel reads the file, which nobody can
// write.
bool Measurement::pack(size_t i, const std::string& packer) {
  const auto fn = reinterpret_cast<KernelFn>(dlsym(library_, kernel_symbol(packer).c_str()));
  if (!fn) return fail(RunStatus::kLoadFailed, "no symbol " + kernel_symbol(packer));
  buffers_[i]->poison(kFirstPoison);
  void* const data[] = {const_cast<void*>(inputs_.argument(i)), buffers_[i]->data()};
  const tw_args args{sizeof(tw_args), TW_ABI_VERSION, data};
  if (const int32_t code = fn(&args, host_context()); code != 0)
    return fail(RunStatus::kCrashed, packer + " returned code " + std::to_string(code));
  made_[i] = digest(*buffers_[i]);
  return true;
}

bool Measurement::run_once() {
  const tw_args args{sizeof(tw_args), TW_ABI_VERSION, data_.data()};
  const int32_t code = fn_(&args, host_context());
  if (code == 0) return true;
  return fail(RunStatus::kCrashed, code == TW_ERROR_OUT_OF_MEMORY ? "no memory for its scratch"
                                   : code == TW_ERROR_SIZES       ? "a size is not what it requires"
                                                                  : "returned code " + std::to_string(code));
}

double Measurement::timed_run() {
  const double start = seconds_now();
  return run_once() ? seconds_now() - start : -1;
}

bool Measurement::check_output(size_t i, uint8_t poisoned_with) {
  const ArgSpec& spec = request_.args[i];
  const std::string wrong = difference(spec, data_[i], reference_.argument(i), request_.rtol[i], request_.atol[i]);
  if (wrong.empty()) return true;
  const auto* bytes = static_cast<const uint8_t*>(data_[i]);
  const bool untouched = std::all_of(bytes, bytes + spec.bytes(), [&](uint8_t byte) { return byte == poisoned_with; });
  return fail(RunStatus::kWrongAnswer, place(i) + (untouched ? " was not written" : ": " + wrong));
}

bool Measurement::unchanged(size_t input) const {
  const GuardedBuffer& buffer = *buffers_[input];
  return made_[input] ? *made_[input] == digest(buffer)
                      : std::memcmp(buffer.data(), inputs_.argument(input), buffer.bytes()) == 0;
}

bool Measurement::check(uint8_t poisoned_with) {
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (const std::string damage = buffers_[i]->damage(); !damage.empty())
      return fail(RunStatus::kWrongAnswer, place(i) + ": memory outside it was written, " + damage);
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (!request_.args[i].written && !unchanged(i))
      return fail(RunStatus::kWrongAnswer, place(i) + " is an input and was written");
  for (size_t i = 0; i < buffers_.size(); ++i)
    if (request_.args[i].written && !check_output(i, poisoned_with)) return false;
  return true;
}

bool Measurement::check_first_run() {
  first_s_ = timed_run();
  return first_s_ >= 0 && check(kFirstPoison);
}

// Roughly what one run takes; negative when it failed. The checked run warms up for a long one, and what it took alone
// ends one that is longer still.
double Measurement::warm_up() {
  if (first_s_ > kEnough) return first_s_;
  const bool warm = first_s_ > kWarmFrom;
  double best = warm ? first_s_ : timed_run();
  for (int again = warm ? 1 : 0;
       again < 2 && best >= 0 && request_.give_up_above_s > 0 && best > request_.give_up_above_s; ++again) {
    const double seconds = timed_run();
    best = seconds < 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

// Whether the first run tells enough: it averages over what disturbs it, and was longer than the best.
bool Measurement::lags() const {
  const double give_up = request_.give_up_above_s;
  return adaptive() && first_s_ > kEnough && give_up > 0 && first_s_ > kBestShare * give_up && first_s_ <= give_up;
}

// The last run is checked as the first was: a kernel that stops working once it was right is found out. A run of some
// length is timed even so, as clearing the outputs before it costs it little; a long one is not timed otherwise.
void Measurement::time() {
  if (lags()) {
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
  bool right = timing.runs.empty() || check(kSecondPoison);
  if (right) {
    poison(kFirstPoison);
    const double last = timed_run();
    right = last >= 0 && check(kFirstPoison);
    if (right && adaptive() && one > kWarmFrom) timing.runs.push_back(last);
  }
  summarise(timing);
  result_.seconds = timing.median;
  result_.spread = timing.spread;
  result_.runs = static_cast<int>(timing.runs.size());
  if (!right) {
    result_.detail += " (after the timed runs)";
    return;
  }
  refuse_too_fast();
}

void Measurement::refuse_too_fast() {
  if (result_.seconds < kTooFastShare * request_.lower_bound_s)
    fail(RunStatus::kTooFast, "faster than the work allows");
}

Timing Measurement::repeated(double one) {
  TimingPolicy policy{.number = request_.number, .repeat = request_.repeat};
  policy.stop_after_s = 0.5 * request_.timeout_s;
  policy.slow_above_s = kSlowShare * request_.give_up_above_s;
  const bool warm = one > kWarmFrom;
  policy.budget_s = warm ? std::max(0.0, kEnough - first_s_) : kEnough;
  policy.fewest_repeats = warm ? 1 : 3;
  return measure([&] { return run_once(); }, one, policy);
}

bool sound(const RunRequest& request) {
  return request.rtol.size() == request.args.size() && request.atol.size() == request.args.size() &&
         request.threads >= 1;
}

int serve(int channel) {
  std::string bytes;
  if (receive_frame(channel, std::numeric_limits<double>::infinity(), bytes) != Received::kFrame) return 0;
  const std::optional<RunRequest> request = decode_run_request(bytes);
  if (!request || !sound(*request)) {
    std::fprintf(stderr, "malformed request\n");
    return kWorkerFault;
  }
  const auto say = [&](Stage stage, const RunResult& result) { send_frame(channel, encode(stage, result)); };
  start_pinned(request->threads);
  Measurement measurement(*request);
  forbid_new_processes();
  say(Stage::kStarted, measurement.result());
  if (measurement.load() && measurement.prepare() && measurement.check_first_run()) {
    say(Stage::kChecked, measurement.result());
    measurement.time();
  }
  say(Stage::kResult, measurement.result());
  _exit(0);  // destructors would walk over what the candidate may have damaged
}

}  // namespace

int run_worker(int channel) try { return serve(channel); } catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return kWorkerFault;
}

}  // namespace tw::runtime
