// A search over which stages are stored: from none and from all of them, one after the other changes sides.
#include "autotune/sketch/repeats.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>

#include "autotune/sketch/graph.h"
#include "schedule/body_view.h"
#include "schedule/placement.h"
#include "src/ir/equal.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::autotune::sketch {

namespace {

constexpr double kWorth = 1.15;        // times as long, before rows are kept
constexpr size_t kMostPlaces = 600;    // of one element, which no body should have more of
constexpr int64_t kAllPlaces = 8'000;  // that are looked at: 0.2 s
constexpr size_t kMostStages = 48;
constexpr int kSweeps = 4;
constexpr double kMostTerms = 32;

// Cycles of a vector.
constexpr double kArithmetic = 0.5, kLoad = 0.75, kStore = 1, kSpread = 3;
constexpr double kDivision = 8;  // times as long as other arithmetic
constexpr double kGathered = 1;  // cycles of an element whose subscript is read
constexpr double kEntry = 12;    // of a row: its loop begins and ends
constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<ir::Expr> loads_of(const ir::Expr& body) {
  std::vector<ir::Expr> loads;
  std::unordered_set<ir::Expr, ir::ExprHash, ir::ExprEqual> seen;
  ir::walk(body, [&](const ir::Expr& e) {
    if (ir::as<ir::Load>(e) && seen.insert(e).second) loads.push_back(e);
    return true;
  });
  return loads;
}

double terms_of(const schedule::StageNest& stage) {
  double terms = 1;
  for (int a = stage.data_rank; a < stage.data_rank + stage.reduce_rank; ++a)
    terms *= static_cast<double>(stage.axes[static_cast<size_t>(a)].extent.value());
  return terms;
}

bool is_pointwise(const schedule::LoopNest& nest, int i) {
  const schedule::StageNest& stage = nest.stage(i);
  return stage.op->compute() && !stage.is_reduction() && stage.bodies.size() == 1 && stage.data_rank > 0 &&
         !stage.buffer().element().is_packed() && schedule::scan_around(nest, i) == schedule::kNone;
}

// A sum of a few terms along one axis of an image, or another reduction of them: it is stored. Of terms along two,
// tiles of several rows read each row once (reduction.cc).
bool is_window(const schedule::LoopNest& nest, int i) {
  const schedule::StageNest& stage = nest.stage(i);
  return stage.op->compute() && stage.is_reduction() && stage.reduce_rank == 1 && stage.bodies.size() == 1 &&
         stage.data_rank > 1 && !stage.buffer().element().is_packed() &&
         schedule::scan_around(nest, i) == schedule::kNone && terms_of(stage) <= kMostTerms;
}

double elements_of(const schedule::StageNest& stage) {
  double elements = 1;
  for (int d = 0; d < stage.data_rank; ++d)
    elements *= static_cast<double>(std::max<int64_t>(stage.axes[static_cast<size_t>(d)].extent.value(), 1));
  return elements;
}

class Search {
 public:
  Search(const schedule::LoopNest& nest, const Target& target, int root)
      : nest_(nest), root_(root), vector_bytes_(std::max(16, target.abilities.vector_bits / 8)) {
    collect();
  }

  Repeats run() {
    if (stages_.size() + windows_.size() > kMostStages || !has_windows()) return {};
    const std::set<int> none;
    const std::set<int> first = improved(none), second = improved({stages_.begin(), stages_.end()});
    const std::set<int>& best = cost(second) < cost(first) ? second : first;
    if (budget_ < 0 || (windows_.empty() && (best.empty() || cost(none) <= kWorth * cost(best)))) return {};
    Repeats found{best, {}};
    found.stored.insert(windows_.begin(), windows_.end());
    std::ranges::set_difference(stages_, best, std::inserter(found.inlined, found.inlined.end()));
    return found;
  }

 private:
  struct Known {
    std::vector<ir::Expr> loads;
    std::set<int> sources;  // stages that may be inlined, through others too
    double arithmetic = 0;  // cycles of one element
    double elements = 1;
  };

  void collect() {
    known_[root_] = known(root_);
    for (int i = root_; i-- > 0;) {
      const std::vector<int> readers = schedule::readers_of(nest_, i);
      if (nest_.stage(i).output || readers.empty() || !(is_pointwise(nest_, i) || is_window(nest_, i))) continue;
      if (!std::ranges::all_of(readers, [&](int reader) { return known_.contains(reader) && slides(i, reader); }))
        continue;
      known_[i] = known(i);
      (nest_.stage(i).is_reduction() ? windows_ : stages_).insert(i);
    }
    for (auto& [i, k] : known_)
      for (const ir::Expr& load : k.loads)
        if (const int source = nest_.find_stage(ir::as<ir::Load>(load)->buffer.id()); stages_.contains(source)) {
          k.sources.insert(source);
          k.sources.insert(known_.at(source).sources.begin(), known_.at(source).sources.end());
        }
  }

  // Whether some stage is read at several places of one reader.
  bool has_windows() const {
    return std::ranges::any_of(known_, [&](const auto& reader) {
      std::set<int> seen;
      return std::ranges::any_of(reader.second.loads, [&](const ir::Expr& load) {
        const int source = nest_.find_stage(ir::as<ir::Load>(load)->buffer.id());
        return known_.contains(source) && (nest_.stage(reader.first).is_reduction() || !seen.insert(source).second);
      });
    });
  }

  // Whether what the reader reads of the stage moves by a constant distance along each of its axes.
  bool slides(int i, int reader) const {
    const schedule::StageNest& stage = nest_.stage(reader);
    return std::ranges::all_of(known_.at(reader).loads, [&](const ir::Expr& load) {
      if (nest_.find_stage(ir::as<ir::Load>(load)->buffer.id()) != i) return true;
      return std::ranges::all_of(ir::as<ir::Load>(load)->at, [&](const ir::Expr& at) {
        for (int d = 0; d < stage.data_rank; ++d) {
          const ir::Var& var = stage.axes[static_cast<size_t>(d)].var;
          if (ir::uses_var(at, var) && !step_along(at, var)) return false;
        }
        return true;
      });
    });
  }

  Known known(int i) const {
    const schedule::StageNest& stage = nest_.stage(i);
    Known k{loads_of(stage.bodies[0]), {}, 0, elements_of(stage)};
    ir::walk(stage.bodies[0], [&](const ir::Expr& e) {
      if (ir::as<ir::Load>(e)) return true;  // a subscript that is read is arithmetic, too
      if (e.type().is_index()) return true;
      double times = 0;
      if (const auto* b = ir::as<ir::Binary>(e)) {
        const bool divides = b->op == ir::BinOp::kDiv || b->op == ir::BinOp::kFloorDiv || b->op == ir::BinOp::kFloorMod;
        times = divides && !ir::as_int(b->b) ? kDivision : 1;
      }
      if (ir::as<ir::Select>(e) || ir::as<ir::Cast>(e)) times = 1;
      if (const auto* call = ir::as<ir::Call>(e)) times = schedule::cost_of_call(call->fn);
      k.arithmetic += times * kArithmetic * bytes(e.type()) / vector_bytes_;
      return true;
    });
    return k;
  }

  static double bytes(const ir::Type& type) { return std::max(1, type.bytes()); }

  // Cycles of one element that is read.
  double read(const schedule::StageNest& reader, const ir::Expr& load) const {
    const std::vector<ir::Expr>& at = ir::as<ir::Load>(load)->at;
    if (std::ranges::any_of(at, [](const ir::Expr& e) { return ir::has_load(e); })) return kGathered;
    const double cycles = kLoad * bytes(load.type()) / vector_bytes_;
    const ir::Var& last = reader.axes[static_cast<size_t>(reader.data_rank) - 1].var;
    if (at.empty() || !ir::uses_var(load, last)) return 0;
    return step_along(at.back(), last) == 1 ? cycles : kSpread * cycles;
  }

  // Cycles of one element of a stage that is stored, all that it comes to inlined but what is stored, too.
  double element(int i, const std::set<int>& stored) {
    std::set<int> below;
    std::ranges::set_intersection(stored, known_.at(i).sources, std::inserter(below, below.end()));
    const auto [found, fresh] = elements_.try_emplace({i, below}, kNever);
    if (fresh) found->second = counted(i, below);
    return found->second;
  }

  double counted(int i, const std::set<int>& stored) {
    const schedule::StageNest& stage = nest_.stage(i);
    double cycles = known_.at(i).arithmetic;
    std::vector<ir::Expr> places = known_.at(i).loads;
    std::unordered_set<ir::Expr, ir::ExprHash, ir::ExprEqual> seen(places.begin(), places.end());
    for (size_t p = 0; p < places.size(); ++p) {
      const ir::Expr place = places[p];
      const auto* load = ir::as<ir::Load>(place);
      const int source = nest_.find_stage(load->buffer.id());
      if (!stages_.contains(source) || stored.contains(source)) {
        cycles += read(stage, place);
        continue;
      }
      cycles += known_.at(source).arithmetic;
      ir::Substitution at;
      for (size_t d = 0; d < load->at.size(); ++d) at[nest_.stage(source).axes[d].var.id()] = load->at[d];
      for (const ir::Expr& inner : known_.at(source).loads)
        if (const ir::Expr moved = ir::simplify(ir::substitute(inner, at)); seen.insert(moved).second)
          places.push_back(moved);
      if (places.size() > kMostPlaces || --budget_ < 0) return kNever;
    }
    return cycles * terms_of(stage) + kStore * bytes(stage.buffer().element()) / vector_bytes_;
  }

  double cost(const std::set<int>& stored) {
    if (const auto found = costs_.find(stored); found != costs_.end()) return found->second;
    double cycles = element(root_, stored) * known_.at(root_).elements;
    std::set<int> all = stored;
    all.insert(windows_.begin(), windows_.end());
    for (int i : all) {
      const schedule::StageNest& stage = nest_.stage(i);
      const int64_t row = stage.axes[static_cast<size_t>(stage.data_rank) - 1].extent.value();
      cycles += (element(i, stored) + kEntry / static_cast<double>(std::max<int64_t>(row, 1))) * known_.at(i).elements;
    }
    costs_[stored] = cycles;
    return cycles;
  }

  std::set<int> improved(std::set<int> stored) {
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const std::set<int> before = stored;
      for (int i : stages_) {
        std::set<int> other = stored;
        if (other.erase(i) == 0) other.insert(i);
        if (cost(other) < cost(stored)) stored = std::move(other);
      }
      if (stored == before) break;
    }
    return stored;
  }

  const schedule::LoopNest& nest_;
  const int root_;
  const double vector_bytes_;
  std::set<int> stages_, windows_;  // those that may be inlined, and reductions
  std::map<int, Known> known_;
  std::map<std::set<int>, double> costs_;
  std::map<std::pair<int, std::set<int>>, double> elements_;
  int64_t budget_ = kAllPlaces;
};

}  // namespace

Repeats repeats(const schedule::LoopNest& nest, const Target& target) {
  Repeats all;
  for (int i = 0; i < nest.size(); ++i) {
    if (!nest.stage(i).output || nest.stage(i).data_rank < 2 || !(is_pointwise(nest, i) || is_window(nest, i)))
      continue;
    Repeats found = Search(nest, target, i).run();
    all.stored.merge(found.stored);
    all.inlined.merge(found.inlined);
  }
  return all;
}

}  // namespace tw::autotune::sketch
