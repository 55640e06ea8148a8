// The table of stage kinds and the drawing of whole expressions: chains and diamonds of up to six stages.
#include "tests/diff/sample_te.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "tests/diff/values.h"

namespace tw::diff {

const std::vector<StageKind>& stage_kinds() {
  static const std::vector<StageKind> table = {
      {"pointwise", 10, pointwise},
      {"compare", 6, compare},
      {"rounding", 4, rounding},
      {"math", 7, math},
      {"bits", 4, bits},
      {"division", 4, division},
      {"power", 3, power},
      {"cast", 8, cast},
      {"halfway", 3, halfway},
      {"diamond", 5, diamond},
      {"stencil", 10, stencil},
      {"pad", 6, pad},
      {"transpose", 5, transpose},
      {"strided", 5, strided},
      {"repeated", 8, repeated},
      {"broadcast", 5, broadcast},
      {"flatten", 5, flatten},
      {"gather", 5, gather},
      {"product", 3, product},
      {"wild gather", 4, wild_gather},
      {"unproved", 5, unproved},
      {"required", 6, required},
      {"reduce", 10, reduce},
      {"scaled", 4, scaled},
      {"tuple reduction", 7, tuple_reduction},
      {"two values", 3, two_values},
      {"scan", 5, scan},
      {"running sum", 10, running_sum},
      {"all earlier", 6, all_earlier},
      {"float8", 4, float8},
      {"int4", 5, int4},
      {"extern", 3, external},
      {"wild extern", 3, wild_external},
      {"matmul", 10, matmul},
      {"wide matmul", 6, wide_matmul},
      {"convolve", 6, convolve},
      {"windows", 8, windows},
      {"planes", 8, planes},
      {"tile", 6, tensor_tile},
      {"whole tiles", 8, whole_tiles},
      {"tiles of warps", 44, tiles_of_warps, true},
      {"short sum", 5, short_sum},
      {"vectors", 5, vectors},
      {"stock", 10, stock},
      {"stock product", 8, stock_product},
      {"stock row", 5, stock_row},
  };
  return table;
}

namespace {

constexpr int64_t kLargest = 3000;  // elements of a tensor
constexpr int kMostStages = 6;

const std::vector<Type>& main_types() {
  static const std::vector<Type> types = {Type::i(32), Type::i(32), Type::i(32), Type::f(32), Type::f(32), Type::f(32),
                                          Type::f(32), Type::f(64), Type::i(64), Type::u(8),  Type::i(8),  Type::i(16),
                                          Type::u(16), Type::u(32), Type::u(64), Type::f(16), Type::bf16()};
  return types;
}

const StageKind& pick_kind(Random& random, bool devices) {
  const auto weight = [&](const StageKind& kind) { return kind.on_devices && !devices ? 0 : kind.weight; };
  int64_t all = 0;
  for (const StageKind& kind : stage_kinds()) all += weight(kind);
  int64_t at = random.below(all);
  for (const StageKind& kind : stage_kinds())
    if ((at -= weight(kind)) < 0) return kind;
  return stage_kinds().front();
}

}  // namespace

Maker::Maker(const Recipe& recipe)
    : recipe_(recipe), random_(recipe.seed), extents_(recipe.seed ^ 0xE47E27), type_(random_.pick(main_types())) {}

Sample Maker::run() {
  if (random_.chance(15)) draw_symbols();
  const int rank = static_cast<int>(random_.below(3)) + 1;
  placeholder(std::vector<Expr>(static_cast<size_t>(rank)), type_);
  int stages = static_cast<int>(random_.one_of({1, 2, 2, 3, 3, 4, 5, kMostStages}));
  if (recipe_.stages > 0) stages = std::min(stages, recipe_.stages);
  while (static_cast<int>(made_.size()) < stages) add_stage();
  return finish();
}

int64_t Maker::recorded(int64_t drawn) {
  const size_t at = drawn_extents_.size();
  drawn_extents_.push_back(at < recipe_.extents.size() ? recipe_.extents[at] : drawn);
  return drawn_extents_.back();
}

// One or two symbols, and three runs: one without elements or with a single one, and two others.
void Maker::draw_symbols() {
  const int64_t symbols = 1 + random_.below(2);
  for (int64_t i = 0; i < symbols; ++i) symbols_.push_back(te::var(i == 0 ? "n" : "m"));
  sizes_.assign(3, std::vector<int64_t>(symbols_.size()));
  for (size_t i = 0; i < symbols_.size(); ++i) {
    sizes_[0][i] = recorded(extents_.below(2));
    sizes_[1][i] = recorded(extents_.one_of<int64_t>({2, 3, 5, 7, 8}));
    sizes_[2][i] = recorded(extents_.one_of<int64_t>({11, 13, 16, 17, 19}));
  }
  features_.insert("symbolic extents");
}

ir::Var Maker::scalar(Type type) {
  const ir::Var var = te::var("s" + std::to_string(scalars_.size()), to_string(type));
  scalars_.push_back({var, 0});
  features_.insert("scalar argument");
  return var;
}

int64_t Maker::extent() {
  const int64_t drawn = extents_.chance(5) ? extents_.one_of<int64_t>({0, 1, 1})
                                           : extents_.one_of<int64_t>({2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17});
  return recorded(drawn);
}

Tensor Maker::placeholder(std::vector<Expr> extents, Type type, Facts facts, const char* name) {
  for (Expr& e : extents) {
    if (e) continue;
    if (!symbols_.empty() && random_.chance(60))
      e = random_.pick(symbols_);
    else
      e = extent();
  }
  if (type.is_float() && random_.chance(40)) facts.grid = random_.one_of({0.5, 0.25});
  Tensor t =
      te::placeholder(extents, to_string(type), name + std::to_string(inputs_.size()), te::Placeholder{.param = true});
  inputs_.push_back(t);
  facts_[t.buffer().id()] = facts;
  return t;
}

int64_t Maker::most(const Expr& extent) const {
  int64_t most = 0;
  for (const std::vector<int64_t>& sizes : sizes_) most = std::max(most, evaluate(extent, symbols_, sizes));
  return most;
}

int64_t Maker::most_elements(const Tensor& t) const {
  int64_t n = 1;
  for (const Expr& extent : t.shape()) n *= most(extent);
  return n;
}

// Of a dtype that one can calculate with.
Tensor Maker::source() {
  for (;;) {
    Tensor t = random_.pick(inputs_);
    if (!made_.empty() && random_.chance(75)) t = random_.chance(70) ? made_.back() : random_.pick(made_);
    if (!t.dtype().is_storage() && !is_of_vectors(t.name())) return t;
  }
}

Tensor Maker::like(const Tensor& t) {
  std::vector<Tensor> found;
  for (const auto& pool : {inputs_, made_})
    for (const Tensor& other : pool) {
      bool same = other.rank() == t.rank() && other.dtype() == t.dtype() && !is_of_vectors(other.name());
      for (size_t d = 0; same && d < t.rank(); ++d) same = ir::equal(other.shape()[d], t.shape()[d]);
      if (same) found.push_back(other);
    }
  return random_.pick(found);
}

void Maker::add_stage() {
  for (;;) {
    const StageKind& kind = pick_kind(random_, recipe_.devices > 0);
    const size_t before = made_.size();
    if (!kind.draw(*this, source())) continue;
    if (made_.size() > before) features_.insert(std::string("stage ") + kind.name);
    return;
  }
}

bool Maker::define(std::vector<Expr> shape, const Facts& facts, const Body& body) {
  return adopt({te::compute(std::move(shape), body, "T" + std::to_string(made_.size()))}, {facts});
}

bool Maker::define_tuple(std::vector<Expr> shape, const std::vector<Facts>& facts, const TupleBody& body) {
  return adopt(te::compute_tuple(std::move(shape), body, "T" + std::to_string(made_.size())), facts);
}

bool Maker::adopt(const std::vector<Tensor>& results, const std::vector<Facts>& facts) {
  for (size_t i = 0; i < results.size(); ++i)
    if (most_elements(results[i]) > kLargest || !fits(facts[i], results[i].dtype())) return false;
  const bool cut = recipe_.cut.contains(static_cast<int>(made_.size()));
  for (size_t i = 0; i < results.size(); ++i) {
    const Tensor& t = results[i];
    made_.push_back(cut ? te::placeholder(t.shape(), to_string(t.dtype()), t.name()) : t);
    facts_[last().buffer().id()] = settle(facts[i], t.dtype());
  }
  return true;
}

Tensor Maker::state(std::vector<Expr> shape, Type type, const std::string& name) {
  states_.push_back(te::placeholder(std::move(shape), to_string(type), name));
  return states_.back();
}

bool Maker::is_read(const Tensor& t) const {
  for (const Tensor& reader : made_)
    for (const Tensor& input : reader.op()->inputs)
      if (input == t) return true;
  return false;
}

void Maker::add_argument(Sample& sample, const Tensor& t) {
  features_.insert("dtype " + to_string(t.dtype()));
  for (size_t d = 0; d < t.rank(); ++d)
    if (size(t, d).value_or(2) <= 1) features_.insert("extent " + std::to_string(*size(t, d)));
  const bool output = std::find(sample.outputs.begin(), sample.outputs.end(), t) != sample.outputs.end();
  if (!t.op()->is_placeholder() && !output) return;
  if (std::find(states_.begin(), states_.end(), t) != states_.end()) return;
  sample.args.push_back(t);
  sample.facts.push_back(facts_.at(t.buffer().id()));
}

// Sizes come with arguments: where none has a symbol as an extent, a tensor that has is written out too.
void Maker::give_sizes(std::vector<Tensor>& outputs) const {
  for (const ir::Var& symbol : symbols_) {
    const auto has = [&](const Tensor& t) {
      return std::any_of(t.shape().begin(), t.shape().end(), [&](const Expr& extent) {
        const auto* v = ir::as<ir::VarRef>(extent);
        return v && v->var.id() == symbol.id();
      });
    };
    bool given = false;
    Tensor carrier;
    for (const te::Operation& op : te::topological_order(outputs))
      for (size_t i = 0; i < op->outputs.size(); ++i) {
        const Tensor t = op.output(i);
        if (!has(t) || std::find(states_.begin(), states_.end(), t) != states_.end()) continue;
        given = given || op->is_placeholder() || std::find(outputs.begin(), outputs.end(), t) != outputs.end();
        if (std::find(made_.begin(), made_.end(), t) != made_.end()) carrier = t;
      }
    if (!given && carrier) outputs.push_back(carrier);
  }
}

Sample Maker::finish() {
  Sample sample;
  sample.recipe = recipe_;
  sample.recipe.extents = drawn_extents_;
  sample.stages = static_cast<int>(made_.size());
  for (const Tensor& t : made_) {
    const bool also = random_.chance(6);
    if (!t.op()->is_placeholder() && (!is_read(t) || also)) sample.outputs.push_back(t);
  }
  give_sizes(sample.outputs);
  for (const te::Operation& op : te::topological_order(sample.outputs)) {
    for (size_t i = 0; i < op->outputs.size(); ++i) add_argument(sample, op.output(i));
  }
  sample.symbols = symbols_;
  sample.sizes = sizes_;
  for (te::ScalarArgument scalar : scalars_) {
    scalar.place = static_cast<int>(sample.args.size());
    sample.scalars.push_back(scalar);
    sample.values.push_back(static_cast<double>(random_.below(4)));
  }
  add_size(sample);
  sample.features = features_;
  return sample;
}

// A scalar that only Steps name, as a size of parts.
void Maker::add_size(Sample& sample) const {
  Random random(recipe_.seed ^ 0x51CE);
  if (!random.chance(10)) return;
  sample.scalars.push_back({te::var("part"), static_cast<int>(sample.args.size())});
  sample.values.push_back(static_cast<double>(random.one_of<int64_t>({1, 2, 3, 4, 5, 6, 8, 11})));
}

}  // namespace tw::diff
