// The reads of a definition, each at the place where it stands.
//
//   sum(k < i ? A[k] : 0, axis k, where k != 3)     A[k]: below i and k, where k != 3 and k < i
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "te/check_statement.h"
#include "te/read_bounds.h"

namespace tw::te {

class ReadWalk {
 public:
  explicit ReadWalk(const Compute&);
  explicit ReadWalk(const StatementPlace&);
  virtual ~ReadWalk() = default;

  // Calls at_read() of each, once below the same conditions.
  void walk(const Expr&);

 protected:
  virtual void at_read(const Expr& read, const ir::Load&) = 0;

  const ReadPlace& place();                              // of the read that is looked at
  const ReadPlace& innermost() const { return inner_; }  // below all axes, whatever the conditions

 private:
  struct Condition {
    Expr test;
    bool holds;
    const Condition* outer;
  };

  void finish();
  void note_extents(const Expr& body);
  void visit(const Expr&, const Condition* around);
  void visit_node(const Expr&, const Condition* around);
  void visit_under(const Expr&, const Expr& test, bool holds, const Condition* around);

  bool reduced_ = false;  // below the reduce axes
  ReadPlace outer_, inner_;
  std::set<uint64_t> noted_;
  std::vector<std::unique_ptr<Condition>> conditions_;
  const Condition* outermost_ = nullptr;  // of a statement's place
  const Condition* around_ = nullptr;     // the read
  std::set<const ir::ExprNode*> unconditional_;
  std::set<std::pair<const ir::ExprNode*, const Condition*>> visited_;
  size_t visits_ = 0;
  int depth_ = 0;
};

void for_each_read(const Compute&, const std::function<void(const ir::Load&, const ReadPlace&)>&);

}  // namespace tw::te
