// The statements below one, each with the loops and conditions around it.

#include "src/lower/in_loops.h"

namespace tw::lower {

using namespace ir;

namespace {

class Walk {
 public:
  Walk(const std::function<bool(const Stmt&, const Around&)>& statement,
       const std::function<void(const Expr&, const Around&)>& expression)
      : statement_(statement), expression_(expression) {}

  void visit(const Stmt& s) {
    if (!statement_(s, around_)) return;
    match(
        s,
        [&](const Store& st) {
          for (const Expr& e : st.at) read(e);
          read(st.value);
          read(st.pred);
        },
        [&](const For& f) {
          read(f.extent);
          around_.loops.push_back(&f);
          visit(f.body);
          around_.loops.pop_back();
        },
        [&](const If& i) {
          read(i.cond);
          ++around_.conditions;
          visit(i.then);
          if (i.otherwise) visit(i.otherwise);
          --around_.conditions;
        },
        [&](const Seq& all) {
          for (const Stmt& child : all.stmts) visit(child);
        },
        [&](const Allocate& a) { visit(a.body); },
        [&](const LetStmt& l) {
          read(l.value);
          visit(l.body);
        },
        [&](const Evaluate& e) { read(e.value); }, [](const Sync&) {});
  }

 private:
  void read(const Expr& e) {
    if (e) expression_(e, around_);
  }

  const std::function<bool(const Stmt&, const Around&)>& statement_;
  const std::function<void(const Expr&, const Around&)>& expression_;
  Around around_;
};

}  // namespace

void walk_in_loops(const Stmt& s, const std::function<bool(const Stmt&, const Around&)>& statement,
                   const std::function<void(const Expr&, const Around&)>& expression) {
  Walk(statement, expression).visit(s);
}

}  // namespace tw::lower
