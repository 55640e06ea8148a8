// Asks the service from several connections at once, and says how long answers took and whether all were right.
//
//   load PORT REQUESTS CONNECTIONS
#include <httplib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "model.h"

namespace {

using Clock = std::chrono::steady_clock;

model::Input rows_of(int connection) {
  model::Input rows;
  for (size_t i = 0; i < rows.size(); ++i)
    rows[i] = static_cast<float>((i * 13 + static_cast<size_t>(connection)) % 31) / 8 - 2;
  return rows;
}

// By the definitions, in more precision.
std::vector<double> expected(const model::Input& rows, const model::Weights& w) {
  std::vector<double> all;
  for (size_t r = 0; r < model::kRows; ++r) {
    const float* row = &rows[r * model::kFeatures];
    double squares = 0, sum = 0;
    for (size_t f = 0; f < model::kFeatures; ++f) squares += double{row[f]} * row[f];
    const double scale = 1 / std::sqrt(squares / model::kFeatures + 1e-5);
    std::vector<double> of_row(model::kClasses);
    for (size_t c = 0; c < model::kClasses; ++c) {
      double logit = 0;
      for (size_t f = 0; f < model::kFeatures; ++f)
        logit += row[f] * scale * w.scale[f] * w.layer[f * model::kClasses + c];
      sum += of_row[c] = std::exp(logit);
    }
    for (double p : of_row) all.push_back(p / sum);
  }
  return all;
}

bool is_right(const std::string& body, const std::vector<double>& wanted) {
  model::Output got;
  if (body.size() != sizeof got) return false;
  std::memcpy(got.data(), body.data(), sizeof got);
  return std::equal(got.begin(), got.end(), wanted.begin(),
                    [](float p, double q) { return std::abs(p - q) <= 1e-4 * q + 1e-7; });
}

httplib::Client client(int port) {
  httplib::Client made("127.0.0.1", port);
  made.set_keep_alive(true);
  made.set_tcp_nodelay(true);
  return made;
}

double resident_mb(int port) {
  const auto answer = client(port).Get("/memory");
  return answer ? std::atof(answer->body.c_str()) / 1e6 : NAN;
}

// Milliseconds of each request; those that failed count.
std::vector<double> ask(int port, int connection, int requests, std::atomic<int>& failed) {
  const model::Input rows = rows_of(connection);
  const std::vector<double> wanted = expected(rows, model::weights());
  httplib::Client server = client(port);
  std::vector<double> times;
  for (int i = 0; i < requests; ++i) {
    const Clock::time_point start = Clock::now();
    const auto answer =
        server.Post("/classify", reinterpret_cast<const char*>(rows.data()), sizeof rows, "application/octet-stream");
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    if (!answer || answer->status != 200 || !is_right(answer->body, wanted)) ++failed;
  }
  return times;
}

std::vector<double> ask_all(int port, int requests, int connections, std::atomic<int>& failed) {
  std::vector<std::vector<double>> parts(static_cast<size_t>(connections));
  std::vector<std::thread> threads;
  for (int c = 0; c < connections; ++c)
    threads.emplace_back([&, c] { parts[static_cast<size_t>(c)] = ask(port, c, requests / connections, failed); });
  for (std::thread& thread : threads) thread.join();
  std::vector<double> times;
  for (const auto& part : parts) times.insert(times.end(), part.begin(), part.end());
  std::sort(times.begin(), times.end());
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return std::fprintf(stderr, "load PORT REQUESTS CONNECTIONS\n"), 1;
  const int port = std::atoi(argv[1]), requests = std::atoi(argv[2]), connections = std::atoi(argv[3]);
  std::atomic<int> failed{0};
  ask_all(port, std::max(requests / 10, connections), connections,
          failed);  // each thread of the server has its memory then
  const double before = resident_mb(port);
  const Clock::time_point start = Clock::now();
  const std::vector<double> times = ask_all(port, requests, connections, failed);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count(), after = resident_mb(port);
  std::printf(
      "%zu requests, %d connections, %.0f a second, p50 %.2f ms, p99 %.2f ms, failed %d, resident %.1f MB, then %.1f "
      "MB\n",
      times.size(), connections, static_cast<double>(times.size()) / seconds, times[times.size() / 2],
      times[times.size() * 99 / 100], failed.load(), before, after);
  return failed == 0 && after <= before + 2 ? 0 : 1;
}
