// The text of expressions, statements and programs, as GRAMMAR.md defines it.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <unordered_map>

#include "src/ir/sharing.h"
#include "src/ir/text.h"
#include "src/ir/typing.h"
#include "src/support/deep_stack.h"
#include "tensorwright/ir.h"

namespace tw::ir {
namespace {

std::string as_identifier(std::string name) {
  for (size_t i = 0; i < name.size(); ++i) {
    const bool inner_dot = name[i] == '.' && i > 0 && i + 1 < name.size() && name[i + 1] != '.';
    if (!inner_dot && !is_identifier("_" + name.substr(i, 1))) name[i] = '_';
  }
  return is_identifier(name) ? name : "v" + name;
}

// A name for each id in scope, no two alike: the second `i` is i_1.
class Names {
 public:
  const std::string& bind(uint64_t id, const std::string& wanted) {
    const std::string base = as_identifier(wanted);
    std::string name = base;
    for (int n = 1; is_reserved(name) || taken_.contains(name); ++n) name = base + "_" + std::to_string(n);
    taken_.insert(name);
    return names_[id] = name;
  }
  void release(uint64_t id) {
    const auto at = names_.find(id);
    taken_.erase(at->second);
    names_.erase(at);
  }
  const std::string& of(uint64_t id, const std::string& wanted) {
    const auto at = names_.find(id);
    return at != names_.end() ? at->second : bind(id, wanted);  // free here: printing a part of a program
  }

 private:
  std::unordered_map<uint64_t, std::string> names_;
  std::unordered_set<std::string> taken_;
};

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr const char* kHex = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (byte < 32) {
      ((out += "\\x") += kHex[byte >> 4]) += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string_view suffix_of(Type type) {
  for (const Suffix& suffix : kSuffixes) {
    if (suffix.type == type && type != Type::f(32)) return suffix.text;
  }
  return {};
}

std::string integer_text(Type type, int64_t value) {
  if (type.is_bool()) return value ? "true" : "false";
  const std::string digits = type.is_uint() ? std::to_string(static_cast<uint64_t>(value)) : std::to_string(value);
  return digits + std::string(suffix_of(type));
}

// The shortest digits that give the same value back.
std::string float_text(Type type, double value) {
  const std::string suffix(suffix_of(type));
  if (!std::isfinite(value)) {
    const std::string word = std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    return suffix.empty() ? word : word + "_" + suffix;
  }
  char digits[64];
  char* end = type.bits == 64 ? std::to_chars(digits, digits + sizeof digits, value).ptr
                              : std::to_chars(digits, digits + sizeof digits, static_cast<float>(value)).ptr;
  for (int precision = 1; type.is_half() && precision < 6; ++precision) {
    char fewer[64];
    char* fewer_end = std::to_chars(fewer, fewer + sizeof fewer, value, std::chars_format::general, precision).ptr;
    double back = 0;
    std::from_chars(fewer, fewer_end, back);
    if (round_to(type, back) != value) continue;
    end = std::copy(fewer, fewer_end, digits);
    break;
  }
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + suffix;
}

class Printer {
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
    size_t given = 0;
    const auto scalars = [&](size_t params) {  // those that the user passes, in their places
      for (; given < p.places.size() && p.places[given] <= static_cast<int>(params); ++given) {
        if (out_.back() != '(') out_ += ", ";
        out_ += names_.of(p.scalars[given].id(), p.scalars[given].name()) + ": " + to_string(p.scalars[given].type());
      }
    };
    for (size_t i = 0; i < p.params.size(); ++i) {
      scalars(i);
      if (out_.back() != '(') out_ += ", ";
      const Buffer& buffer = p.params[i].buffer;
      const std::string& name = names_.bind(buffer.id(), buffer.name());
      if (name != buffer.name())
        out_ += (is_identifier(buffer.name()) ? buffer.name() : quoted(buffer.name())) + " as ";
      out_ += name + (p.params[i].written ? ": out " : ": ");
      layout(buffer);
      if (const Buffer& declared = p.params[i].declared) {
        out_ += " holding ";
        layout(declared);
      }
      if (!p.params[i].layout.empty()) out_ += " packed " + quoted(p.params[i].layout);
      if (const auto& range = p.params[i].range)
        out_ += " range [" + std::to_string(range->first) + ", " + std::to_string(range->second) + "]";
    }
    scalars(p.params.size());
    for (size_t s = given; s < p.scalars.size(); ++s) {
      if (out_.back() != '(') out_ += ", ";
      out_ += names_.of(p.scalars[s].id(), p.scalars[s].name()) + ": size";
    }
    out_ += "):\n";
    ++indent_;
    print(p.body);
  }

 private:
  // ---- statements

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
    sharing_.plan(roots);
    defined_.clear();
    definitions_ = 0;
    for (const Expr& e : sharing_.before()) {
      line();
      define(e);
      out_ += "\n";
    }
    line();
  }

  void define(const Expr& e) {
    const std::string name = "%" + std::to_string(++definitions_);  // before those that stand inside `e`
    out_ += name + " = ";
    print_node(e, kLoosest);
    defined_.emplace(e.get(), name);
  }

  static bool is_linear(const Buffer& b) { return b.rank() == 1 && b.strides().empty(); }

  void layout(const Buffer& b) {
    if (!is_linear(b)) folded_.insert(b.id());
    out_ += to_string(b.element());
    list(b.shape());
    if (b.strides().empty()) return;
    out_ += " strides ";
    list(b.strides());
  }

  void list(const std::vector<Expr>& exprs) {
    out_ += '[';
    for (size_t i = 0; i < exprs.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(exprs[i], kLoosest);
    }
    out_ += ']';
  }

  // ---- expressions

  void print(const Expr& e, int level) {
    if (!sharing_.named(e)) return print_node(e, level);
    const auto known = defined_.find(e.get());
    if (known != defined_.end()) {
      out_ += known->second;
      return;
    }
    out_ += '(';
    define(e);
    out_ += ')';
  }

  void print_node(const Expr& e, int level) {
    match(
        e, [&](const IntImm& i) { out_ += integer_text(e.type(), i.value); },
        [&](const FloatImm& f) { out_ += float_text(e.type(), f.value); },
        [&](const VarRef& v) { out_ += names_.of(v.var.id(), v.var.name()); },
        [&](const Cast& c) { function(to_string(e.type().element()), {c.value}); },
        [&](const Binary& b) { print(b, level); },
        [&](const Not& n) {
          if (level > kNotLevel) out_ += '(';
          out_ += "not ";
          print(n.a, kNotLevel);
          if (level > kNotLevel) out_ += ')';
        },
        [&](const Select& s) { function("select", {s.cond, s.yes, s.no}); },
        [&](const Load& l) { access(l.buffer, l.at, l.pred); },
        [&](const Call& c) {
          if (c.fn != Fn::kReinterpret) return function(name_of(c.fn), c.args);
          out_ += "reinterpret(" + to_string(e.type().element()) + ", ";
          print(c.args[0], kLoosest);
          out_ += ')';
        },
        [&](const Ramp& r) { print(r, e.type()); },
        [&](const Broadcast& b) {
          out_ += "broadcast(";
          print(b.value, kLoosest);
          out_ += ", " + std::to_string(b.lanes) + ")";
        },
        [&](const Let& l) { print(l); }, [&](const Reduce& r) { print(r); },
        [&](const CallExtern& c) {
          out_ += c.pure ? "call_pure(" : "call(";
          out_ += to_string(e.type()) + ", \"" + c.symbol + "\"";
          for (const Expr& arg : c.args) {
            out_ += ", ";
            print(arg, kLoosest);
          }
          out_ += ')';
        },
        [&](const Address& a) {
          out_ += "address(";
          out_ += a.read && a.written ? "inout " : a.written ? "out " : "in ";
          access(a.buffer, a.at, {});
          out_ += ')';
        });
  }

  void print(const Binary& b, int level) {
    for (const Prefix& prefix : kPrefixes) {
      if (prefix.op == b.op) return function(std::string(prefix.text), {b.a, b.b});
    }
    const Infix* infix = kInfixes;
    while (infix->op != b.op) ++infix;
    if (level > infix->level) out_ += '(';
    operand(b.a, !implied(b.b), infix->level + (infix->level == kCompare));
    ((out_ += ' ') += infix->text) += ' ';
    operand(b.b, !implied(b.a), infix->level + 1);
    if (level > infix->level) out_ += ')';
  }

  void print(const Ramp& r, Type type) {
    if (type.is_index() && is_int(r.base, 0) && is_int(r.stride, 1)) {
      out_ += "lanes(" + std::to_string(r.lanes) + ")";
      return;
    }
    out_ += "ramp(";
    print(r.base, kLoosest);
    out_ += ", ";
    print(r.stride, kLoosest);
    out_ += ", " + std::to_string(r.lanes) + ")";
  }

  // A chain of lets is one list: (let x = 1.0, y = x + x in x * y)
  void print(const Let& first) {
    std::vector<const Let*> chain;
    Expr rest;
    for (const Let* l = &first; l != nullptr; l = sharing_.named(rest) ? nullptr : as<Let>(rest)) {
      std::string before = std::exchange(out_, {});
      print(l->value, kLoosest);
      const std::string value = std::exchange(out_, std::move(before));
      out_ += (chain.empty() ? "(let " : ", ") + names_.bind(l->var.id(), l->var.name()) + " = " + value;
      chain.push_back(l);
      rest = l->body;
    }
    out_ += " in ";
    print(rest, kLoosest);
    out_ += ')';
    for (const Let* l : chain) names_.release(l->var.id());
  }

  void print(const Reduce& r) {
    const ReduceName* name = kReduceNames;
    while (name->op != r.op) ++name;
    (out_ += name->text) += '(';
    for (size_t i = 0; i < r.axes.size(); ++i) {
      const ReduceAxis& axis = r.axes[i];
      std::string before = std::exchange(out_, {});
      print(axis.min, kSum);
      out_ += "..";
      if (!is_int(axis.min, 0)) {
        print(axis.min, kSum);
        out_ += " + ";
      }
      print(axis.extent, is_int(axis.min, 0) ? kSum : kProduct);
      const std::string range = std::exchange(out_, std::move(before));
      out_ += (i > 0 ? ", " : "") + names_.bind(axis.var.id(), axis.var.name()) + " in " + range;
    }
    out_ += ": ";
    for (size_t i = 0; i < r.sources.size(); ++i) {
      if (i > 0) out_ += ", ";
      print(r.sources[i], kLoosest);
    }
    if (r.where) {
      out_ += " where ";
      print(r.where, kLoosest);
    }
    out_ += ')';
    for (const ReduceAxis& axis : r.axes) names_.release(axis.var.id());
  }

  void access(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred) {
    out_ += names_.of(buffer.id(), buffer.name());
    out_ += folded_.contains(buffer.id()) && is_linear(buffer) ? "@[" : "[";
    for (size_t i = 0; i < at.size(); ++i) {
      if (i > 0) out_ += ", ";
      subscript(at[i]);
    }
    if (pred) {
      out_ += at.empty() ? "where " : " where ";
      operand(pred, lanes_of(at) > 1, kLoosest);
    }
    out_ += ']';
  }

  void subscript(const Expr& e) {
    const Ramp* r = as<Ramp>(e);
    if (r == nullptr || sharing_.named(e) || !is_int(r->stride, 1)) return print(e, kLoosest);
    print(r->base, kLoosest);
    out_ += " : " + std::to_string(r->lanes);
  }

  void function(const std::string& name, const std::vector<Expr>& args) {
    bool vector = false;  // some argument shows how many lanes there are
    for (const Expr& arg : args) vector |= !implied(arg) && arg.type().lanes > 1;
    out_ += name;
    out_ += '(';
    for (size_t i = 0; i < args.size(); ++i) {
      if (i > 0) out_ += ", ";
      operand(args[i], vector, kLoosest);
    }
    out_ += ')';
  }

  // A broadcast beside a vector is written as its scalar.
  bool implied(const Expr& e) const { return as<Broadcast>(e) && !sharing_.named(e); }
  void operand(const Expr& e, bool beside_vector, int level) {
    const bool bare = beside_vector && implied(e);
    print(bare ? as<Broadcast>(e)->value : e, level);
  }

  std::string out_;
  int indent_ = 0, definitions_ = 0, newlines_ = 0;
  size_t counted_ = 0;            // of out_, for newlines_
  const StmtNode* at_ = nullptr;  // whose line comes next
  std::unordered_map<const StmtNode*, int> lines_;
  Names names_;
  Sharing sharing_;
  std::unordered_map<const ExprNode*, std::string> defined_;
  std::unordered_set<uint64_t>
      folded_;  // declared with strides or more than one dimension: A@[offset] is another access than A[i]
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
