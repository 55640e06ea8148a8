// What boards over the network cost: an empty call, a trial over one of this machine's own, four boards against one,
// the bytes of a trial, a slow network. Run by rpc.py, which starts a board and says where: BOARD_PORT [TRACKER_PORT
// KEY].
#include "tensorwright/rpc.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "bench/slow_link.h"
#include "src/runtime/inputs.h"
#include "src/runtime/local_runner.h"
#include "src/support/temporary_folder.h"
#include "tensorwright/build.h"
#include "tensorwright/rpc_runner.h"

namespace {

using namespace tw;
using namespace std::chrono_literals;
using runtime::RunRequest;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

void print(const char* figure, const std::string& value, const char* required) {
  std::printf("  %-58s %-24s %s\n", figure, value.c_str(), required);
  std::fflush(stdout);
}

std::string text(const char* format, double a, double b = 0) {
  char out[64];
  std::snprintf(out, sizeof out, format, a, b);
  return out;
}

// ------------------------------------------------------------------------------------------------------ empty calls

void empty_calls(const rpc::Session& board, const char* figure, const char* required) {
  std::vector<double> seconds;
  for (int i = 0; i < 3000; ++i) {
    const double begin = now();
    board.listdir();
    if (i >= 200) seconds.push_back(now() - begin);
  }
  print(figure, text("%.0f us / %.0f us", 1e6 * quantile(seconds, 0.5), 1e6 * quantile(seconds, 0.99)), required);
}

// ----------------------------------------------------------------------------------------------------------- trials

// As a tuning has them, timed until the median is known; each has another object, which has to be sent.
class Trials {
 public:
  Trials() {
    const te::Tensor a = te::placeholder({256, 256}, "float32", "A"), b = te::placeholder({256, 256}, "float32", "B");
    const te::IterVar k = te::reduce_axis(0, 256, "k");
    const te::Tensor c =
        te::compute({256, 256}, [&](te::Var i, te::Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
    const auto module = build(schedule::Schedule({c}), {a, b, c}, Target::host(), "candidate");
    const support::TemporaryFolder folder("tensorwright-bench");
    module->save(folder / "candidate.so");
    request_.object = Blob::read(folder / "candidate.so");
    request_.kernel = "candidate";
    request_.args = module->kernel()->args();
    request_.inputs = runtime::random_inputs(request_.args);
    request_.rtol = request_.atol = std::vector<double>(request_.args.size(), 1e-4);
    request_.reference = runtime::LocalRunner().run(request_).outputs.value();
  }
  size_t object_bytes() const { return request_.object.size() + sizeof(uint64_t); }

  RunRequest next(bool elsewhere) {
    RunRequest request = request_;
    const uint64_t number = ++count_;
    request.object =
        Blob(std::string(request_.object.bytes()) + std::string(reinterpret_cast<const char*>(&number), sizeof number));
    request.candidate = number;
    if (elsewhere) {
      request.inputs = {};
      request.inputs_version = runtime::kInputsVersion;
    }
    return request;
  }

 private:
  RunRequest request_;
  std::atomic<uint64_t> count_ = 0;
};

double seconds_of(runtime::Runner& runner, const RunRequest& request) {
  const double begin = now();
  const runtime::RunResult result = runner.run(request);
  const double seconds = now() - begin;
  if (result.status != runtime::RunStatus::kOk) {
    std::fprintf(stderr, "a trial failed: %s\n", result.detail.c_str());
    std::exit(1);
  }
  return seconds;
}

double trials_per_second(runtime::Runner& runner, Trials& trials, int count) {
  std::atomic<int> next = 0;
  const double begin = now();
  {
    std::vector<std::jthread> slots;
    for (int s = 0; s < runner.slots(); ++s)
      slots.emplace_back([&] {
        while (next++ < count) seconds_of(runner, trials.next(runner.elsewhere()));
      });
  }
  return count / (now() - begin);
}

rpc::RPCRunnerOptions boards(std::vector<std::string> addresses) { return {.boards = std::move(addresses)}; }

void overhead(const std::string& board, Trials& trials) {
  runtime::LocalRunner local;
  rpc::RPCRunner remote(boards({board}));
  std::vector<double> here, again, there;
  for (int i = 0; i < 170; ++i) {
    const double one = seconds_of(local, trials.next(false)), other = seconds_of(remote, trials.next(true)),
                 two = seconds_of(local, trials.next(false));
    if (i < 20) continue;
    here.push_back(one);
    there.push_back(other);
    again.push_back(two);
  }
  const auto more = [&](const std::vector<double>& seconds, double share) {
    return 1e3 * (quantile(seconds, share) - quantile(here, share));
  };
  print("a trial over one of a local Runner, p50 / p95", text("%.2f ms / %.2f ms", more(there, 0.5), more(there, 0.95)),
        "2 ms / 5 ms");
  print("a local Runner's over its own", text("%.2f ms / %.2f ms", more(again, 0.5), more(again, 0.95)), "");
  std::vector<double> ratios;
  for (int round = 0; round < 5; ++round) {
    const double here = trials_per_second(local, trials, 40);
    ratios.push_back(trials_per_second(remote, trials, 40) / here);
  }
  print("trials/s over a local Runner's, median of 5", text("%.2f x", quantile(ratios, 0.5)), ">= 0.9 x");
}

void traffic(uint16_t port, Trials& trials) {
  bench::SlowLink link(port, 0ms);
  rpc::RPCRunner remote(boards({link.address()}));
  trials_per_second(remote, trials, 10);
  const uint64_t before = link.bytes;
  trials_per_second(remote, trials, 100);
  const double bytes = static_cast<double>(link.bytes - before) / 100,
               object = static_cast<double>(trials.object_bytes());
  print("traffic of a trial", text("object (%.0f B) + %.0f B", object, bytes - object), "object + 1 KB");
}

// ------------------------------------------------------------------------------------------------------ stub boards

void stub_boards(const std::vector<std::string>& stubs, Trials& trials) {
  const auto rate = [&](size_t count) {
    rpc::RPCRunner runner(boards({stubs.begin(), stubs.begin() + static_cast<std::ptrdiff_t>(count)}));
    return trials_per_second(runner, trials, static_cast<int>(60 * count));
  };
  const double one = rate(1), all = rate(stubs.size());
  print("4 stub boards of 50 ms over one", text("%.2f x (%.1f trials/s)", all / one, all), ">= 3.6 x");
}

void slow_network(uint16_t stub, Trials& trials) {
  const auto rate = [&](std::chrono::milliseconds delay) {
    bench::SlowLink link(stub, delay);
    rpc::RPCRunner runner(boards({link.address()}));
    trials_per_second(runner, trials, 6);  // the task is sent
    return trials_per_second(runner, trials, 120);
  };
  const double near = rate(0ms), far = rate(20ms);
  print("20 ms of delay each way, of the throughput", text("%.0f %%", 100 * far / near), ">= 85 %");
}

void large_inputs(uint16_t stub, Trials& trials) {
  bench::SlowLink link(stub, 0ms);
  rpc::RPCRunner runner(boards({link.address()}));
  RunRequest request = trials.next(true);
  for (runtime::ArgSpec& arg : request.args) arg.shape = {4096, 4096};
  request.reference.reset();
  request.made_reference = runtime::MadeReference{request.object, {{2, 0, 0}}};
  const uint64_t before = link.bytes;
  runner.run(request);
  const double rest = static_cast<double>(link.bytes - before) - static_cast<double>(trials.object_bytes());
  print("traffic for inputs of 2 x 64 MB, the object not counted", text("%.0f B", rest), "no inputs: < 4 KB");
}

uint16_t port_of(const std::string& address) {
  return static_cast<uint16_t>(std::atoi(address.c_str() + address.rfind(':') + 1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  const std::string board = argv[1], tracker = argv[2];
  const std::vector<std::string> stubs(argv + 4, argv + argc);
  std::printf("boards over loopback\n  %-58s %-24s %s\n", "", "measured", "required");
  empty_calls(rpc::Session::connect({"127.0.0.1", port_of(board)}), "an empty call, p50 / p99", "150 us / 1 ms");
  empty_calls(rpc::Session::request({"127.0.0.1", port_of(tracker)}, {.key = argv[3]}),
              "the same through a tracker's relay", "300 us / 2 ms");
  Trials trials;
  overhead(board, trials);
  traffic(port_of(board), trials);
  large_inputs(port_of(stubs[0]), trials);
  stub_boards(stubs, trials);
  slow_network(port_of(stubs[0]), trials);
  return 0;
}
