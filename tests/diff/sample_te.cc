// The table of stage kinds and the drawing of whole expressions: chains and diamonds of up to six stages.
#include "tests/diff/sample_te.h"

#include <algorithm>

namespace tw::diff {

const std::vector<StageKind>& stage_kinds() {
  static const std::vector<StageKind> table = {
      {"pointwise", 10, pointwise},
      {"compare", 6, compare},
      {"rounding", 4, rounding},
      {"math", 5, math},
      {"bits", 4, bits},
      {"division", 4, division},
      {"cast", 6, cast},
      {"diamond", 5, diamond},
      {"stencil", 10, stencil},
      {"pad", 6, pad},
      {"transpose", 5, transpose},
      {"strided", 5, strided},
      {"broadcast", 5, broadcast},
      {"flatten", 5, flatten},
      {"gather", 5, gather},
      {"reduce", 10, reduce},
      {"matmul", 10, matmul},
      {"convolve", 6, convolve},
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

const StageKind& pick_kind(Random& random) {
  int64_t all = 0;
  for (const StageKind& kind : stage_kinds()) all += kind.weight;
  int64_t at = random.below(all);
  for (const StageKind& kind : stage_kinds())
    if ((at -= kind.weight) < 0) return kind;
  return stage_kinds().front();
}

}  // namespace

Maker::Maker(const Recipe& recipe)
    : recipe_(recipe), random_(recipe.seed), extents_(recipe.seed ^ 0xE47E27), type_(random_.pick(main_types())) {}

Sample Maker::run() {
  const int rank = static_cast<int>(random_.below(3)) + 1;
  placeholder(std::vector<int64_t>(static_cast<size_t>(rank), -1), type_);
  int stages = static_cast<int>(random_.one_of({1, 2, 2, 3, 3, 4, 5, kMostStages}));
  if (recipe_.stages > 0) stages = std::min(stages, recipe_.stages);
  while (static_cast<int>(made_.size()) < stages) add_stage();
  return finish();
}

int64_t Maker::extent() {
  const size_t at = drawn_extents_.size();
  const int64_t drawn = extents_.chance(5) ? extents_.one_of<int64_t>({0, 1, 1})
                                           : extents_.one_of<int64_t>({2, 3, 4, 5, 7, 8, 11, 12, 13, 16, 17});
  drawn_extents_.push_back(at < recipe_.extents.size() ? recipe_.extents[at] : drawn);
  return drawn_extents_.back();
}

Tensor Maker::placeholder(std::vector<int64_t> shape, Type type, Facts facts) {
  std::vector<Expr> extents;
  for (int64_t e : shape) extents.push_back(e < 0 ? extent() : e);
  if (type.is_float() && random_.chance(40)) facts.grid = random_.one_of({0.5, 0.25});
  Tensor t = te::placeholder(extents, to_string(type), "A" + std::to_string(inputs_.size()));
  inputs_.push_back(t);
  facts_[t.buffer().id()] = facts;
  return t;
}

int64_t Maker::elements(const Tensor& t) {
  int64_t n = 1;
  for (size_t d = 0; d < t.rank(); ++d) n *= size(t, d);
  return n;
}

Tensor Maker::source() {
  if (!made_.empty() && random_.chance(75)) return random_.chance(70) ? made_.back() : random_.pick(made_);
  return random_.pick(inputs_);
}

Tensor Maker::like(const Tensor& t) {
  std::vector<Tensor> found;
  for (const auto& pool : {inputs_, made_})
    for (const Tensor& other : pool) {
      bool same = other.rank() == t.rank() && other.dtype() == t.dtype();
      for (size_t d = 0; same && d < t.rank(); ++d) same = size(other, d) == size(t, d);
      if (same) found.push_back(other);
    }
  return random_.pick(found);
}

void Maker::add_stage() {
  for (;;) {
    const StageKind& kind = pick_kind(random_);
    const size_t before = made_.size();
    if (!kind.draw(*this, source())) continue;
    if (made_.size() > before) features_.insert(std::string("stage ") + kind.name);
    return;
  }
}

bool Maker::define(std::vector<Expr> shape, const Facts& facts, const Body& body) {
  int64_t elements = 1;
  for (const Expr& e : shape) elements *= *ir::as_int(e);
  if (elements > kLargest) return false;
  const std::string name = "T" + std::to_string(made_.size());
  Tensor t = te::compute(shape, body, name);
  if (!fits(facts, t.dtype())) return false;
  if (recipe_.cut.contains(static_cast<int>(made_.size()))) t = te::placeholder(shape, to_string(t.dtype()), name);
  made_.push_back(t);
  facts_[t.buffer().id()] = settle(facts, t.dtype());
  return true;
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
    if (size(t, d) <= 1) features_.insert("extent " + std::to_string(size(t, d)));
  const bool output = std::find(sample.outputs.begin(), sample.outputs.end(), t) != sample.outputs.end();
  if (!t.op()->is_placeholder() && !output) return;
  sample.args.push_back(t);
  sample.facts.push_back(facts_.at(t.buffer().id()));
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
  for (const te::Operation& op : te::topological_order(sample.outputs)) {
    for (size_t i = 0; i < op->outputs.size(); ++i) add_argument(sample, op.output(i));
  }
  sample.features = features_;
  return sample;
}

}  // namespace tw::diff
