#include "python/bind/tiles.h"

#include <pybind11/stl.h>

#include <unordered_map>

#include "python/bind/bind.h"
#include "python/bind/te_expr.h"
#include "python/bind/vectors.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "te/promote.h"
#include "tensorwright/tensor_intrin.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using ir::Expr;
using te::IterVar;
using te::Tensor;

Expr bound(py::handle given, const Expr& otherwise) {
  return given.is_none() ? otherwise : te::as_index(to_expr(given, "an end of a slice"));
}

void append(Region& region, const py::slice& slice) {
  const Tensor& t = region.tensor;
  const Expr begin = bound(slice.attr("start"), 0), end = bound(slice.attr("stop"), t.shape()[region.begin.size()]);
  const auto extent = ir::as_int(ir::simplify(end - begin));
  if (!slice.attr("step").is_none() || !extent || *extent < 1)
    refuse(ErrorKind::kExpr, t.name() +
                                 "[...]: a slice must be begin:end with a known number of elements between, not " +
                                 ir::to_string(begin) + ":" + ir::to_string(end));
  region.begin.push_back(begin);
  region.extent.emplace_back(*extent);
}

// The shape of what the slices leave.
std::vector<int64_t> tile_shape(const Region& region) {
  std::vector<int64_t> shape;
  for (const auto& extent : region.extent)
    if (extent) shape.push_back(*extent);
  return shape;
}

std::string text(const std::vector<int64_t>& shape) {
  std::string all;
  for (const int64_t n : shape) all += (all.empty() ? "" : ", ") + std::to_string(n);
  return "(" + all + ")";
}

void check(const Region& region, const Tensor& input) {
  std::vector<int64_t> wanted;
  for (const Expr& extent : input.shape()) wanted.push_back(ir::as_int(extent).value_or(0));
  if (region.tensor.dtype() == input.dtype() && tile_shape(region) == wanted) return;
  refuse(ErrorKind::kExpr, "tensor_intrin: the region of " + region.tensor.name() + " must be of " +
                               ir::to_string(input.dtype()) + text(wanted) + " as " + input.name() + " is, not of " +
                               ir::to_string(region.tensor.dtype()) + text(tile_shape(region)));
}

Region as_region(py::handle given) {
  return py::isinstance<Tensor>(given) ? region_of(given.cast<Tensor>(), {}, py::tuple()) : given.cast<Region>();
}

// One element of the tile, at `inner`, summed over `outer` too.
Expr tile_element(const te::TensorIntrin& intrin, const py::list& given, const py::list& inner,
                  const std::vector<IterVar>& outer) {
  const te::Compute& c = *intrin.op->compute();
  std::unordered_map<uint64_t, Region> regions;
  for (size_t i = 0; i < given.size(); ++i) {
    const Region region = as_region(given[i]);
    check(region, intrin.op->inputs[i]);
    regions[intrin.op->inputs[i].buffer().id()] = region;
  }
  if (inner.size() != c.axis.size())
    refuse(ErrorKind::kExpr, "tensor_intrin: " + intrin.op->name + " has " + std::to_string(c.axis.size()) +
                                 " dimensions, and fcompute leaves " + std::to_string(inner.size()) + " to it");
  ir::Substitution axes;
  for (size_t d = 0; d < inner.size(); ++d) axes[c.axis[d].var.id()] = te::as_index(to_expr(inner[d], "an index"));
  std::vector<IterVar> sums = outer;
  for (const IterVar& k : c.reduce_axis) {
    sums.push_back({ir::Var(k.var.name()), k.min, k.extent, true});
    axes[k.var.id()] = sums.back().var;
  }
  const auto over_regions = [&](const Expr& e) {
    return ir::rewrite(ir::substitute(e, axes), [&](const Expr& x) {
      const auto* load = ir::as<ir::Load>(x);
      if (!load) return x;
      const Region& region = regions.at(load->buffer.id());
      std::vector<Expr> at;
      size_t next = 0;
      for (size_t d = 0; d < region.begin.size(); ++d)
        at.push_back(region.extent[d] ? ir::simplify(region.begin[d] + load->at[next++]) : region.begin[d]);
      return region.tensor(std::move(at));
    });
  };
  const auto* reduce = ir::as<ir::Reduce>(c.body());
  if (!reduce && !outer.empty())
    refuse(ErrorKind::kExpr,
           "tensor_intrin: reduce_axis must be left out, for " + intrin.op->name + " is no reduction");
  if (!reduce) return over_regions(c.body());
  ir::Reduce whole{reduce->op, {}, {}, reduce->where ? over_regions(reduce->where) : Expr(), {}, 0, reduce->combiner};
  for (const Expr& source : reduce->sources) whole.sources.push_back(over_regions(source));
  for (const Expr& init : reduce->init) whole.init.push_back(over_regions(init));
  for (const IterVar& k : sums) whole.axes.push_back({k.var, k.min, k.extent});
  return ir::reduce(whole);
}

// By operation: the intrinsic's key, how many axes and how many reduce axes stand outside of the tile.
using Tile = std::tuple<std::string, size_t, size_t>;
std::unordered_map<uint64_t, Tile>& tiles() {
  static std::unordered_map<uint64_t, Tile> all;
  return all;
}

}  // namespace

Region region_of(const Tensor& tensor, std::vector<Expr> at, const py::tuple& key) {
  of_scalars("tensor_intrin", tensor);
  if (at.size() + key.size() > tensor.rank())
    refuse(ErrorKind::kExpr, tensor.name() + "[...]: expected at most " + std::to_string(tensor.rank()) +
                                 " subscripts, not " + std::to_string(at.size() + key.size()));
  Region region{tensor, {}, {}};
  for (Expr& one : at) {
    region.begin.push_back(te::as_index(std::move(one)));
    region.extent.emplace_back();
  }
  for (const py::handle item : key) {
    if (py::isinstance<py::slice>(item)) {
      append(region, py::reinterpret_borrow<py::slice>(item));
      continue;
    }
    region.begin.push_back(te::as_index(to_expr(item, "a subscript")));
    region.extent.emplace_back();
  }
  while (region.begin.size() < tensor.rank()) append(region, py::slice(py::none(), py::none(), py::none()));
  return region;
}

void bind_tiles(py::module_& m) {
  py::class_<Region>(m, "TensorRegion",
                     "``A[i, 0:16]``: a part of a tensor, for an intrinsic that is called inside of te.compute.")
      .def("__repr__", [](const Region& r) { return "TensorRegion(" + r.tensor.name() + text(tile_shape(r)) + ")"; });
  m.def("_tile_element", &tile_element);
  m.def("_note_tile", [](const te::Operation& op, const te::TensorIntrin& intrin, size_t axes, size_t reductions) {
    tiles()[op->id] = {intrin.key, axes, reductions};
  });
  m.def("_tile_of", [](const te::Operation& op) -> std::optional<Tile> {
    const auto found = tiles().find(op->id);
    return found == tiles().end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace tw::bind
