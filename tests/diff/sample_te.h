// Random tensor expressions: the table of stage kinds, and what a kind draws with.
//
// A kind is one line of the table in sample_te.cc: its name, how often it is drawn, and a function that defines one
// more stage on top of a tensor, or says that it does not apply to that one. A new kind counts itself.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tensorwright/te.h"
#include "tests/diff/random.h"
#include "tests/diff/sampler.h"

namespace tw::diff {

using ir::Expr;
using ir::Type;
using te::IterVar;
using te::Tensor;
using Vars = std::vector<ir::Var>;
using Body = std::function<Expr(const Vars&)>;
using TupleBody = std::function<std::vector<Expr>(const Vars&)>;

class Maker;
struct StageKind {
  const char* name;
  int weight;
  bool (*draw)(Maker&, const Tensor&);  // false: does not apply, and nothing was defined
  bool on_devices = false;              // for Steps that devices have, not drawn where no schedule is one for them
};
const std::vector<StageKind>& stage_kinds();

class Maker {
 public:
  explicit Maker(const Recipe&);
  Sample run();

  // Drawing.
  Random& random() { return random_; }
  Type type() const { return type_; }  // of most tensors
  int64_t extent();
  Tensor placeholder(std::vector<Expr> shape, Type type, Facts facts = {},
                     const char* name = "A");  // an empty extent is drawn
  ir::Var scalar(Type type);                   // an argument of the kernel, at most 3
  Tensor like(const Tensor&);                  // of the same shape and dtype: maybe itself
  size_t dimension(const Tensor& t) { return static_cast<size_t>(random_.below(static_cast<int64_t>(t.rank()))); }

  // Defining. `facts` are those of the exact result; rounding to the dtype is added here.
  // False, and nothing is defined, where it might overflow or has too many elements.
  bool define(std::vector<Expr> shape, const Facts& facts, const Body& body);
  bool define_tuple(std::vector<Expr> shape, const std::vector<Facts>& facts, const TupleBody& body);
  bool adopt(const std::vector<Tensor>& results, const std::vector<Facts>& facts);  // of one operation
  Tensor state(std::vector<Expr> shape, Type type, const std::string& name);        // of a scan; no argument

  void note(const std::string& feature) { features_.insert(feature); }

  // Asking. An extent may be symbolic: a kind whose body needs a number asks for `size` and may not get one.
  const Facts& facts(const Tensor& t) const { return facts_.at(t.buffer().id()); }
  static std::optional<int64_t> size(const Tensor& t, size_t d) { return ir::as_int(t.shape()[d]); }
  int64_t most(const Expr& extent) const;  // of all sizes that are run
  int64_t most_elements(const Tensor&) const;
  const Tensor& last() const { return made_.back(); }
  size_t count() const { return made_.size(); }

 private:
  int64_t recorded(int64_t drawn);
  void draw_symbols();
  Tensor source();
  void add_stage();
  bool is_read(const Tensor&) const;
  void give_sizes(std::vector<Tensor>& outputs) const;
  void add_size(Sample& sample) const;
  void add_argument(Sample&, const Tensor&);
  Sample finish();

  Recipe recipe_;
  Random random_, extents_;
  std::vector<int64_t> drawn_extents_;
  Type type_;
  std::vector<Tensor> inputs_, made_, states_;
  std::vector<ir::Var> symbols_;
  std::vector<std::vector<int64_t>> sizes_ = {{}};
  std::vector<te::ScalarArgument> scalars_;
  std::map<uint64_t, Facts> facts_;  // by buffer
  std::set<std::string> features_;
};

// An operator of te/ops: a stage of this name.
struct Stock {
  const char* name;
  bool (*draw)(Maker&, const Tensor&, const std::string& name);
};
bool draw_stock(Maker&, std::span<const Stock>, const Tensor&);  // one of them; stages_stock.cc

inline Expr constant(double value, Type type) { return te::constant(value, to_string(type)); }
inline std::vector<Expr> exprs(const Vars& vars) { return {vars.begin(), vars.end()}; }

// The kinds, by file.
bool pointwise(Maker&, const Tensor&), compare(Maker&, const Tensor&), rounding(Maker&, const Tensor&),
    math(Maker&, const Tensor&), bits(Maker&, const Tensor&), division(Maker&, const Tensor&),
    power(Maker&, const Tensor&), cast(Maker&, const Tensor&), diamond(Maker&, const Tensor&);  // stages_pointwise.cc
bool stencil(Maker&, const Tensor&), pad(Maker&, const Tensor&), transpose(Maker&, const Tensor&),
    strided(Maker&, const Tensor&), repeated(Maker&, const Tensor&), broadcast(Maker&, const Tensor&),
    flatten(Maker&, const Tensor&), gather(Maker&, const Tensor&), product(Maker&, const Tensor&),
    scaled(Maker&, const Tensor&), halfway(Maker&, const Tensor&), float8(Maker&, const Tensor&),
    int4(Maker&, const Tensor&);                                                 // stages_index.cc
bool tuple_reduction(Maker&, const Tensor&), two_values(Maker&, const Tensor&);  // stages_tuple.cc
bool tensor_tile(Maker&, const Tensor&), whole_tiles(Maker&, const Tensor&), tiles_of_warps(Maker&, const Tensor&),
    short_sum(Maker&, const Tensor&);  // stages_tile.cc
bool wild_gather(Maker&, const Tensor&), unproved(Maker&, const Tensor&),
    required(Maker&, const Tensor&);                                         // stages_outside.cc
bool external(Maker&, const Tensor&), wild_external(Maker&, const Tensor&);  // stages_extern.cc
bool scan(Maker&, const Tensor&), running_sum(Maker&, const Tensor&),
    all_earlier(Maker&, const Tensor&);     // stages_scan.cc
bool vectors(Maker&, const Tensor&);        // stages_vectors.cc
bool windows(Maker&, const Tensor&);        // stages_windows.cc
bool planes(Maker&, const Tensor&);         // stages_planes.cc
bool stock(Maker&, const Tensor&);          // stages_stock.cc
bool stock_product(Maker&, const Tensor&);  // stages_products.cc
bool stock_row(Maker&, const Tensor&);      // stages_rows.cc
bool reduce(Maker&, const Tensor&), matmul(Maker&, const Tensor&), wide_matmul(Maker&, const Tensor&),
    convolve(Maker&, const Tensor&);  // stages_reduce.cc

}  // namespace tw::diff
