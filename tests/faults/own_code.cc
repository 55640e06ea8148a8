#include "tests/faults/own_code.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/runtime/guarded_buffer.h"
#include "src/runtime/thread_pool.h"
#include "src/runtime/timing.h"
#include "src/support/subprocess.h"
#include "tests/faults/attacks.h"

namespace tw::test {
namespace {

void doubles(int64_t begin, int64_t end, const float* x, float* y) {
  for (int64_t i = begin; i < end; ++i) y[i] = 2 * x[i];
}

bool allocates_100_mb() {
  constexpr size_t kPiece = 50000, kPieces = 2000;
  std::vector<std::unique_ptr<char[]>> pieces;
  for (size_t i = 0; i < kPieces; ++i) std::memset(pieces.emplace_back(new char[kPiece]).get(), 1, kPiece);
  return pieces.back()[kPiece - 1] == 1;
}

// Each thread waits for the other ones, and allocates from an arena of its own.
int32_t on_all_threads(const float* x, float* y) {
  static std::atomic<int> arrived;
  arrived = 0;
  struct Arrays {
    const float* x;
    float* y;
  } arrays{x, y};
  const auto share = [](int64_t begin, int64_t end, void* closure) -> int32_t {
    ++arrived;
    while (arrived < kThreads) std::this_thread::yield();
    const auto& [x, y] = *static_cast<const Arrays*>(closure);
    doubles(begin * kElements / kThreads, end * kElements / kThreads, x, y);
    return allocates_100_mb() ? 0 : 1;
  };
  return runtime::host_context()->parallel_for(runtime::host_context(), kThreads, share, &arrays);
}

int32_t waits_for_nobody() {
  std::mutex mutex;
  std::condition_variable nobody;
  std::unique_lock lock(mutex);
  return nobody.wait_for(lock, std::chrono::milliseconds(1)) == std::cv_status::timeout ? 0 : 1;
}

int32_t throws() try { throw std::runtime_error("thrown"); } catch (const std::exception&) {
  return 0;
}

int32_t frees_what_is_not_its_own() {
  static long words[8];
  void* volatile inside = words + 1;
  free(inside);
  return 0;
}

int32_t spins() {
  signal(SIGTERM, SIG_IGN);
  for (volatile bool forever = true; forever;) {
  }
  return 0;
}

int32_t crashes() {
  *reinterpret_cast<volatile int*>(8) = 1;
  return 0;
}

int32_t talks_nonsense() {
  const std::string junk(64, '\xff');
  return write(support::kChannel, junk.data(), junk.size()) < 0;
}

// Before it gives the right output, or the code of its failure.
int32_t misbehave(std::string_view what, const std::string& argument) {
  if (const Attack* attack = find_attack(what)) return attack->succeeds(argument) ? kHarmed : kRefused;
  if (what == "allocates") return allocates_100_mb() ? 0 : kRefused;
  if (what == "waits") return waits_for_nobody();
  if (what == "throws") return throws();
  if (what == "sleeps") return usleep(2000);
  if (what == "aborts") std::abort();
  if (what == "exits") std::exit(0);
  if (what == "crashes") return crashes();
  if (what == "frees") return frees_what_is_not_its_own();
  if (what == "spins") return spins();
  if (what == "talks") return talks_nonsense();
  return 0;
}

}  // namespace

OwnCode::OwnCode(int threads, std::string what, std::string argument)
    : what_(std::move(what)), argument_(std::move(argument)) {
  runtime::start_pinned(threads);
}

std::unique_ptr<runtime::DeviceMemory> OwnCode::allocate(size_t bytes, size_t place) {
  return std::make_unique<runtime::GuardedBuffer>(bytes, place);
}

Result<runtime::Device::Launch> OwnCode::find(const std::string&) const {
  return Launch([this](void* const* addresses) { return run(addresses); });
}

runtime::Device::Elapsed OwnCode::time(const Launch& launch, void* const* addresses, int launches) {
  Elapsed elapsed;
  const double start = runtime::seconds_now();
  for (int i = 0; i < launches && elapsed.code == 0; ++i) elapsed.code = launch(addresses);
  elapsed.seconds = runtime::seconds_now() - start;
  return elapsed;
}

int32_t OwnCode::run(void* const* addresses) const {
  const auto* const x = static_cast<const float*>(addresses[0]);
  auto* const y = static_cast<float*>(addresses[1]);
  if (what_ == "uses all threads") return on_all_threads(x, y);
  if (const int32_t code = misbehave(what_, argument_)) return code;
  doubles(0, kElements, x, y);
  return 0;
}

}  // namespace tw::test
