// Traversal of a node's fields(): what walking, hashing and printing are derived from.
#pragma once

#include "tensorwright/ir.h"

namespace tw::ir {

template <class F>
void visit_field(const Expr& e, F&& f) {
  if (e) f(e);
}
template <class F>
void visit_field(const Stmt& s, F&& f) {
  if (s) f(s);
}
template <class F>
void visit_field(const ReduceAxis& axis, F&& f) {
  f(axis.min);
  f(axis.extent);
}
template <class T, class F>
void visit_field(const std::vector<T>& list, F&& f) {
  for (const T& item : list) visit_field(item, f);
}
template <class T, class F>
  requires(!std::is_class_v<T>)
void visit_field(const T&, F&&) {}
template <class F>
void visit_field(const std::string&, F&&) {}
template <class F>
void visit_field(const Var&, F&&) {}
template <class F>
void visit_field(const Buffer&, F&&) {}

// f(child) for each child of an ExprNode or StmtNode, in the order of fields(), empty handles left out. Children of
// expressions are Exprs; those of statements are Exprs and Stmts.
template <class Node, class F>
void for_each_child(const Node& node, F&& f) {
  std::visit(
      [&](const auto& kind) { std::apply([&](const auto&... field) { (visit_field(field, f), ...); }, kind.fields()); },
      node.kind);
}

}  // namespace tw::ir
