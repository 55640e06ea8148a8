// The text of expressions, statements and programs, as GRAMMAR.md defines it.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "src/ir/argument_order.h"
#include "src/ir/print_expr.h"
#include "src/ir/text.h"
#include "src/ir/typing.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

class Printer : ExprPrinter {
 public:
  std::string take() { return std::move(out_); }
  std::unordered_map<const StmtNode*, int> take_lines() { return std::move(lines_); }

  void root(const Expr& e) {
    statement({e});
    print(e, kLoosest);
  }

  void root(const Stmt& s) { print(s); }

  void root(const Program& p) {
    out_ += "kernel ";
    out_ += is_identifier(p.name) ? p.name : quoted(p.name);
    out_ += "(";
    for (const Var& scalar : p.scalars) names_.bind(scalar.id(), scalar.name());
    for (const size_t at : argument_order(p)) {
      if (out_.back() != '(') out_ += ", ";
      if (at < p.params.size())
        parameter(p.params[at]);
      else
        scalar(p, at - p.params.size());
    }
    out_ += "):\n";
    ++indent_;
    print(p.body);
  }

 private:
  using ExprPrinter::print;

  void parameter(const Param& param) {
    const Buffer& buffer = param.buffer;
    const std::string& name = names_.bind(buffer.id(), buffer.name());
    if (name != buffer.name()) out_ += (is_identifier(buffer.name()) ? buffer.name() : quoted(buffer.name())) + " as ";
    out_ += name + (param.written ? ": out " : ": ");
    if (param.nontemporal) out_ += "nontemporal ";
    layout(buffer);
    if (const Buffer& declared = param.declared) {
      out_ += " holding ";
      layout(declared);
    }
    if (!param.layout.empty()) out_ += " packed " + quoted(param.layout);
    if (const auto& range = param.range)
      out_ += " range [" + std::to_string(range->first) + ", " + std::to_string(range->second) + "]";
  }

  // One that the user passes has its type, one that shapes give is a size.
  void scalar(const Program& p, size_t s) {
    const Var& var = p.scalars[s];
    out_ += names_.of(var.id(), var.name()) + ": " + (s < p.places.size() ? to_string(var.type()) : "size");
  }

  void print(const Stmt& s) {
    at_ = s.get();
    match(
        s, [&](const Store& st) { print(st); }, [&](const For& f) { print(f); }, [&](const If& i) { print(i); },
        [&](const Seq& q) { print(q); }, [&](const Allocate& a) { scope(a, true); },
        [&](const LetStmt& l) { scope(l, true); },
        [&](const Evaluate& v) {
          statement({v.value});
          print(v.value, kLoosest);
          out_ += "\n";
        },
        [&](const Sync& sync) {
          line();
          (out_ += "sync ") += kSyncOps[static_cast<size_t>(sync.op)];
          if (sync.op == SyncOp::kWait) (out_ += " ") += std::to_string(sync.count);
          out_ += "\n";
        });
  }

  void print(const Store& st) {
    std::vector<Expr> roots = st.at;
    roots.push_back(st.value);
    roots.push_back(st.pred);
    statement(roots);
    access(st.buffer, st.at, {});
    out_ += " = ";
    const bool vector = lanes_of(st.at) > 1;
    operand(st.value, vector, kLoosest);
    if (st.pred) {
      out_ += " where ";
      operand(st.pred, vector, kLoosest);
    }
    if (st.arrival != Arrival::kNow) out_ += " later";
    if (st.arrival > Arrival::kLater) (out_ += " by ") += kArrivals[static_cast<size_t>(st.arrival)];
    out_ += "\n";
  }

  void print(const For& f) {
    statement({f.extent});
    out_ += "for " + names_.bind(f.var.id(), f.var.name()) + " in 0..";
    print(f.extent, kSum);
    if (f.kind != ForKind::kSerial) (out_ += ' ') += kForKinds[static_cast<size_t>(f.kind)];
    if (f.tail != Tail::kNone) (out_ += " tail=") += kTails[static_cast<size_t>(f.tail)];
    block(f.body);
    names_.release(f.var.id());
  }

  void print(const If& i) {
    statement({i.cond});
    out_ += "if ";
    print(i.cond, kLoosest);
    block(i.then);
    if (!i.otherwise) return;
    at_ = nullptr;
    line();
    out_ += "else";
    block(i.otherwise);
  }

  void print(const Seq& q) {
    if (q.stmts.empty()) {
      line();
      out_ += "pass\n";
    }
    for (size_t i = 0; i < q.stmts.size(); ++i) {
      const bool last = i + 1 == q.stmts.size();
      at_ = q.stmts[i].get();
      if (const Allocate* a = as<Allocate>(q.stmts[i])) {
        scope(*a, last);
      } else if (const LetStmt* l = as<LetStmt>(q.stmts[i])) {
        scope(*l, last);
      } else {
        print(q.stmts[i]);
      }
    }
  }

  // An allocation or a let reaches to the end of the block that it stands in, or has a block of its own.
  void scope(const Allocate& a, bool last) {
    line();
    out_ += "alloc " + names_.bind(a.buffer.id(), a.buffer.name()) + ": ";
    layout(a.buffer);
    (out_ += ' ') += to_string(a.buffer.scope());
    rest(a.body, last);
    names_.release(a.buffer.id());
  }

  void scope(const LetStmt& l, bool last) {
    statement({l.value});
    std::string before = std::exchange(out_, {});
    print(l.value, kLoosest);  // outside the variable's scope, so before it has its name
    const std::string value = std::exchange(out_, std::move(before));
    out_ += "let " + names_.bind(l.var.id(), l.var.name()) + " = " + value;
    rest(l.body, last);
    names_.release(l.var.id());
  }

  void rest(const Stmt& body, bool last) {
    if (!last) return block(body);
    out_ += "\n";
    print(body);
  }

  void block(const Stmt& body) {
    out_ += ":\n";
    ++indent_;
    print(body);
    --indent_;
  }

  void line() {
    newlines_ += static_cast<int>(std::count(out_.begin() + static_cast<std::ptrdiff_t>(counted_), out_.end(), '\n'));
    counted_ = out_.size();
    if (at_) lines_[at_] = newlines_ + 1;
    out_.append(static_cast<size_t>(indent_) * 2, ' ');
  }

  // Starts the line of a statement that consists of `roots`, after lines that define what occurs in it more than once.
  void statement(const std::vector<Expr>& roots) {
    for (const Expr& e : begin(roots)) {
      line();
      define(e);
      out_ += "\n";
    }
    line();
  }

  int indent_ = 0, newlines_ = 0;
  size_t counted_ = 0;            // of out_, for newlines_
  const StmtNode* at_ = nullptr;  // whose line comes next
  std::unordered_map<const StmtNode*, int> lines_;
};

template <class T>
std::string text_of(const T& root) {
  Printer printer;
  printer.root(root);
  return printer.take();
}

}  // namespace

std::string to_string(const Expr& e) {
  return e ? support::with_deep_stack([&] { return text_of(e); }) : "(none)";
}
std::string to_string(const Stmt& s) {
  return s ? support::with_deep_stack([&] { return text_of(s); }) : "(none)";
}
std::string to_string(const Program& p) {
  return support::with_deep_stack([&] { return text_of(p); });
}

std::unordered_map<const StmtNode*, int> statement_lines(const Program& p) {
  return support::with_deep_stack([&] {
    Printer printer;
    printer.root(p);
    return printer.take_lines();
  });
}

}  // namespace tw::ir
