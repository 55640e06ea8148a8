// Tensor intrinsics: statements that compute a small tensor expression at once, for the Step Tensorize.
//
//   C[j] = sum over k of A[k] * B[j, k], 16 by 4   <->   C[0 : 16] = dot_u8i8(C[0 : 16], A[0 : 4], B[...])
//
// A Step names an intrinsic by its key: the name of a shipped one, or name@hash of what was declared in this process,
// so that a log which means another declaration is refused. The table is one for the process and safe to use from
// threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tensorwright/te.h"

namespace tw::te {

// What is declared of the memory in which a tile lies: each is proved when a schedule uses the intrinsic, or refused.
struct TileBuffer {
  // In elements: how far apart the neighbours must lie for a function that is given an address. A number, or a variable
  // that stands for it in the statements, one for each dimension; empty: compact.
  std::vector<Expr> strides = {};
  int64_t offset_factor = 1;  // the tile begins at a multiple of so many elements of the memory that it is a part of
  int64_t alignment = 1;      // in bytes, a power of two, of the tile; where there is an elem_offset of the memory
  std::optional<ir::Scope> scope = {};
  // A variable of its own that stands for the element at which the tile begins; the statements then know the memory
  // from its beginning on as `memory`, of one dimension, whose address alone may be taken.
  Var elem_offset = {};
  Buffer memory = {};
};

// What the statements of an intrinsic do. Each may be empty, but not body and update together.
struct IntrinBodies {
  ir::Stmt body;    // computes the whole expression, all of its reductions
  ir::Stmt reset;   // gives the output the values from which a reduction starts; empty: stores of the identity
  ir::Stmt update;  // adds what is reduced in one tile to the output
  std::unordered_map<uint64_t, TileBuffer> tiles = {};  // by buffer
  const TileBuffer& tile(const Buffer& of) const;       // of no entry anything but its shape goes
};

struct TensorIntrin {
  std::string key;
  Operation op;  // a compute over placeholders, of one output
  IntrinBodies does;
};
using TensorIntrinPtr = std::shared_ptr<const TensorIntrin>;

// The statements mean the inputs (op->inputs) and the output by their buffers. Throws tw::Error where the operation is
// no compute over placeholders of known extents, reads anything but single axes, where the statements touch other
// buffers, or where they do not compute the operation: they are run on small integers. Where they call functions that
// nobody has loaded yet, proved_bodies does that later.
TensorIntrinPtr declare_tensor_intrin(Operation op, IntrinBodies does, std::string name, SourceLine where = {});

// What the intrinsic does, judged once its functions are there; unjudged before.
Result<IntrinBodies> proved_bodies(const TensorIntrin&);

// By key, or by the name of the last one that was declared so; null when there is none.
TensorIntrinPtr find_tensor_intrin(const std::string& key);
std::vector<std::string> tensor_intrin_keys();

}  // namespace tw::te
