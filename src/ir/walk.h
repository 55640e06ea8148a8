// Traversal, rewriting and substitution, derived from each node's fields().
//
// Every function here is memoised on node identity: a diamond of shared nodes costs its nodes, not its paths.
#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "tensorwright/ir.h"

namespace tw::ir {

// Calls `visit` on each distinct expression below and including the root, parents first. Returning false skips the
// children.
void walk(const Expr& root, const std::function<bool(const Expr&)>& visit);

// Each distinct statement, and (when given) each distinct expression inside them but for the extents of allocations.
void walk(const Stmt& root, const std::function<bool(const Stmt&)>& visit_stmt,
          const std::function<bool(const Expr&)>& visit_expr = nullptr);

// The children of a node, in the order of fields(), empty handles left out.
std::vector<Expr> children(const Expr&);

// Rebuilds a node with every child expression replaced by f(child); the same node when no child changed.
Expr map_children(const Expr&, const std::function<Expr(const Expr&)>& f);
Stmt map_children(const Stmt&, const std::function<Stmt(const Stmt&)>& on_stmt,
                  const std::function<Expr(const Expr&)>& on_expr);
// The buffer under its id with each extent and stride replaced by f(it); the same node when none changed.
Buffer map_sizes(const Buffer&, const std::function<Expr(const Expr&)>& f);

// Bottom-up rewriting, memoised: `f` sees each node after its children were rewritten.
Expr rewrite(const Expr&, const std::function<Expr(const Expr&)>& f);
Stmt rewrite(const Stmt&, const std::function<Stmt(const Stmt&)>& on_stmt,
             const std::function<Expr(const Expr&)>& on_expr);

using Substitution = std::unordered_map<uint64_t, Expr>;  // variable id -> expression of the same type
Expr substitute(const Expr&, const Substitution&);
Stmt substitute(const Stmt&, const Substitution&);

// Replaces buffers by id, in loads and stores (not in Allocate).
using BufferMap = std::unordered_map<uint64_t, Buffer>;
Expr replace_buffers(const Expr&, const BufferMap&);
Stmt replace_buffers(const Stmt&, const BufferMap&);

bool uses_var(const Expr&, const Var&);
bool uses_var(const Stmt&, const Var&);
std::unordered_set<uint64_t> used_vars(const Expr&);
std::unordered_set<uint64_t> used_vars(const Stmt&);  // free and bound alike
std::vector<Var> free_vars(const Stmt&);              // in order of first use
std::vector<Buffer> free_buffers(const Stmt&);        // used and not allocated inside, in order of first use
bool has_load(const Expr&);
bool reads(const Expr&, const Buffer&);  // loads from it or takes an address in it; nothing does not

// A copy with fresh variables for everything bound inside (loops, lets) and fresh buffers for everything allocated
// inside: for passes that duplicate a body, so that each id is bound once.
Stmt refresh(const Stmt&);

}  // namespace tw::ir
