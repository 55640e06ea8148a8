// The text of expressions, as GRAMMAR.md defines it, for print.cc.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/sharing.h"
#include "tensorwright/ir.h"

namespace tw::ir {

std::string quoted(const std::string& text);

// A name for each id in scope, no two alike: the second `i` is i_1.
class NamesInScope {
 public:
  const std::string& bind(uint64_t id, const std::string& wanted);
  void release(uint64_t id);
  const std::string& of(uint64_t id, const std::string& wanted);

 private:
  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_set<std::string> taken_;
};

class ExprPrinter {
 protected:
  // The expressions of a statement: those that occur in it more than once, which are defined before it.
  const std::vector<Expr>& begin(const std::vector<Expr>& roots);
  void define(const Expr& e);
  void layout(const Buffer& b);
  void list(const std::vector<Expr>& exprs);
  void print(const Expr& e, int level);
  void access(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred);
  void operand(const Expr& e, bool beside_vector, int level);

  std::string out_;
  NamesInScope names_;

 private:
  static bool is_linear(const Buffer& b);
  void print_node(const Expr& e, int level);
  void print_node(const Binary& b, int level);
  void print_node(const Ramp& r, Type type);
  void print_node(const Let& first);
  void print_node(const Reduce& r);
  void subscript(const Expr& e);
  void function(const std::string& name, const std::vector<Expr>& args);
  bool implied(const Expr& e) const;

  int definitions_ = 0;
  Sharing sharing_;
  std::unordered_map<const ExprNode*, std::string> defined_;
  std::unordered_set<uint64_t>
      folded_;  // declared with strides or more than one dimension: A@[offset] is another access than A[i]
};

}  // namespace tw::ir
