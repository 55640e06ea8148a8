// How well candidates are ranked, from logs alone, and how fast: run by cost_model.py.
//
//   bench_cost_model           rates only
//   bench_cost_model LOG...    and each task of the logs held out once: the models have seen the other tasks, or
//                              nothing, or a third of its own trials; the rest of its trials is ranked
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "autotune/log/transfer.h"
#include "autotune/search/proposer.h"

namespace {

using namespace tw;
using namespace tw::autotune;

struct Quality {
  double pairs = 0;   // share of pairs in the right order, of those that differ by more than 3 %
  double recall = 0;  // share of the 8 fastest among the first 8
  double best = 0;    // speed of the best of the first 8, against the fastest
};

Quality quality(const std::vector<float>& predicted, const std::vector<float>& truth) {
  double right = 0, pairs = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    for (size_t j = 0; j < truth.size(); ++j) {
      if (truth[i] <= 1.03f * truth[j]) continue;
      ++pairs;
      right += predicted[i] > predicted[j] ? 1 : predicted[i] == predicted[j] ? 0.5 : 0;
    }
  }
  const auto first = [](const std::vector<float>& by) {
    std::vector<size_t> order(by.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return by[a] > by[b]; });
    order.resize(std::min<size_t>(8, order.size()));
    return order;
  };
  const std::vector<size_t> chosen = first(predicted), fastest = first(truth);
  Quality q{pairs > 0 ? right / pairs : 1, 0, 0};
  for (size_t i : chosen) {
    q.recall += std::find(fastest.begin(), fastest.end(), i) != fastest.end();
    q.best = std::max<double>(q.best, truth[i]);
  }
  q.recall /= static_cast<double>(chosen.size());
  q.best /= truth[fastest[0]];
  return q;
}

// Rows [first, last) of samples, as one group.
void append(const Samples& from, size_t first, size_t last, Samples& to) {
  const size_t width = from.candidates.features.width;
  for (size_t r = first; r < last; ++r) {
    to.candidates.features.add(std::span(from.candidates.features.values).subspan(r * width, width));
    to.candidates.prior.push_back(from.candidates.prior[r]);
    to.scores.push_back(from.scores[r]);
  }
  if (last > first) to.groups.push_back(static_cast<unsigned>(last - first));
}

void evaluate(const Samples& all) {
  constexpr const char* kNames[] = {"prior", "cold", "transferred", "both"};
  std::vector<Quality> sums(std::size(kNames));
  size_t first = 0, tasks = 0;
  std::printf("held out            prior             cold (1/3 seen)   transferred       transferred + 1/3\n");
  for (size_t g = 0; g < all.groups.size(); first += all.groups[g++]) {
    const size_t last = first + all.groups[g], seen = first + all.groups[g] / 3;
    if (last - seen < 16) continue;
    Samples others, own, test;
    append(all, seen, last, test);
    append(all, first, seen, own);
    for (size_t h = 0, at = 0; h < all.groups.size(); at += all.groups[h++])
      if (h != g) append(all, at, at + all.groups[h], others);
    std::vector<Quality> found = {quality(test.candidates.prior, test.scores)};
    const auto cold = make_cost_model("xgb", 0), transferred = make_cost_model("xgb", 0);
    cold->fit(own);
    found.push_back(quality(cold->predict(test.candidates), test.scores));
    if (!others.scores.empty()) {
      transferred->fit(others);
      found.push_back(quality(transferred->predict(test.candidates), test.scores));
      transferred->start_from(transferred->bytes());
      transferred->fit(own);
      found.push_back(quality(transferred->predict(test.candidates), test.scores));
    }
    std::printf("task %2zu (%3zu ranked)", g, last - seen);
    for (size_t m = 0; m < found.size(); ++m) {
      std::printf("  %.2f / %.2f / %.2f", found[m].pairs, found[m].recall, found[m].best);
      sums[m].pairs += found[m].pairs, sums[m].recall += found[m].recall, sums[m].best += found[m].best;
    }
    std::printf("\n");
    ++tasks;
  }
  if (tasks == 0) return std::puts("no task of the logs has enough trials with features"), void();
  const auto n = static_cast<double>(tasks);
  for (size_t m = 0; m < sums.size(); ++m)
    std::printf("%-12s pair accuracy %.3f, top-8 recall %.3f, best of its first 8 %.3f of the fastest\n", kNames[m],
                sums[m].pairs / n, sums[m].recall / n, sums[m].best / n);
}

// Of a core, whatever else the machine does: this program has one thread at a time.
double core_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

Task matmul_task() {
  const te::Tensor a = te::placeholder({1024, 1024}, "float32", "A"), b = te::placeholder({1024, 1024}, "float32", "B");
  const te::IterVar k = te::reduce_axis(0, 1024, "k");
  const te::Tensor c =
      te::compute({1024, 1024}, [&](te::Var i, te::Var j) { return te::sum(a(i, k) * b(k, j), {k}); }, "C");
  return Task({a, b, c}, Target::host());
}

// Candidates that are made, described, ranked and bred, on one core.
void time_proposals() {
  const Task task = matmul_task();
  const Machine machine = schedule::describe_machine(task.target(), {.hardware = host_hardware(), .threads = 2});
  size_t described = 0;
  double steps = 0, applying = 0, describing = 0;
  const auto describe_one = [&](uint64_t i) -> std::optional<Description> {
    ++described;
    const double begin = core_seconds();
    const Result<Scheduled> s = task.applied(i);
    const double applied = core_seconds();
    applying += applied - begin;
    if (!s) return std::nullopt;
    Description d = description_of(s->schedule, machine);
    describing += core_seconds() - applied;
    steps += static_cast<double>(s->schedule.steps().size());
    return d;
  };
  Proposer proposer(
      task.space(), make_search("evolutionary"), make_cost_model("auto", 0), describe_one,
      [&](uint64_t i) { return task.candidate(i).ok(); }, 0, 0.1);
  double whole = 0;
  for (uint64_t batch = 0; batch < 6; ++batch) {
    const double begin = core_seconds();
    const std::vector<uint64_t> proposal = proposer.propose(16, batch);
    whole += core_seconds() - begin;
    for (uint64_t i : proposal) proposer.tell(i, proposer.description_of(i)->estimate);
  }
  const auto n = static_cast<double>(described);
  std::printf("space of %llu points: %zu candidates of %.0f Steps\n",
              static_cast<unsigned long long>(task.space().size()), described, steps / n);
  std::printf("features: %.1f us: %.0f candidates/s\n", describing / n * 1e6, n / describing);
  std::printf("template and Steps before them: %.1f us: %.0f candidates/s together\n", applying / n * 1e6,
              n / (applying + describing));
  std::printf("proposals (features, model, mutation): %.0f candidates/s\n", n / whole);
}

}  // namespace

int main(int argc, char** argv) {
  time_proposals();
  if (argc < 2) return 0;
  if (!has_xgboost()) return std::puts("built without XGBoost: there is no learned model to compare"), 0;
  try {
    evaluate(samples_of_logs({argv + 1, argv + argc}));
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.diagnostic().what.c_str());
    return 1;
  }
}
