// Statements that are a product of whole tiles.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

// The kTile function that the statement stores; null: it is another.
const Call* tile_product(const Stmt&);
bool has_tile_product(const Stmt&);  // of an empty one: no
int rows_of_tile(const Call&);       // of its sums and of the left factor
int groups_of_tile(const Call&);     // of terms: the rows of the right factor

}  // namespace tw::ir
