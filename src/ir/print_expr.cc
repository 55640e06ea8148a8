#include "src/ir/print_expr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "src/ir/text.h"
#include "src/ir/typing.h"

namespace tw::ir {
namespace {

std::string as_identifier(std::string name) {
  for (size_t i = 0; i < name.size(); ++i) {
    const bool inner_dot = name[i] == '.' && i > 0 && i + 1 < name.size() && name[i + 1] != '.';
    if (!inner_dot && !is_identifier("_" + name.substr(i, 1))) name[i] = '_';
  }
  return is_identifier(name) ? name : "v" + name;
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

}  // namespace

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

const std::string& NamesInScope::bind(uint64_t id, const std::string& wanted) {
  const std::string base = as_identifier(wanted);
  std::string name = base;
  for (int n = 1; is_reserved(name) || taken_.contains(name); ++n) name = base + "_" + std::to_string(n);
  taken_.insert(name);
  return names_[id] = name;
}

void NamesInScope::release(uint64_t id) {
  const auto at = names_.find(id);
  taken_.erase(at->second);
  names_.erase(at);
}

const std::string& NamesInScope::of(uint64_t id, const std::string& wanted) {
  const auto at = names_.find(id);
  return at != names_.end() ? at->second : bind(id, wanted);  // free here: printing a part of a program
}

const std::vector<Expr>& ExprPrinter::begin(const std::vector<Expr>& roots) {
  sharing_.plan(roots);
  defined_.clear();
  definitions_ = 0;
  return sharing_.before();
}

void ExprPrinter::define(const Expr& e) {
  const std::string name = "%" + std::to_string(++definitions_);  // before those that stand inside `e`
  out_ += name + " = ";
  print_node(e, kLoosest);
  defined_.emplace(e.get(), name);
}

bool ExprPrinter::is_linear(const Buffer& b) { return b.rank() == 1 && b.strides().empty(); }

void ExprPrinter::layout(const Buffer& b) {
  if (!is_linear(b)) folded_.insert(b.id());
  out_ += to_string(b.element());
  list(b.shape());
  if (b.strides().empty()) return;
  out_ += " strides ";
  list(b.strides());
}

void ExprPrinter::list(const std::vector<Expr>& exprs) {
  out_ += '[';
  for (size_t i = 0; i < exprs.size(); ++i) {
    if (i > 0) out_ += ", ";
    print(exprs[i], kLoosest);
  }
  out_ += ']';
}

void ExprPrinter::print(const Expr& e, int level) {
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

void ExprPrinter::print_node(const Expr& e, int level) {
  match(
      e, [&](const IntImm& i) { out_ += integer_text(e.type(), i.value); },
      [&](const FloatImm& f) { out_ += float_text(e.type(), f.value); },
      [&](const VarRef& v) { out_ += names_.of(v.var.id(), v.var.name()); },
      [&](const Cast& c) { function(to_string(e.type().element()), {c.value}); },
      [&](const Binary& b) { print_node(b, level); },
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
      [&](const Ramp& r) { print_node(r, e.type()); },
      [&](const Broadcast& b) {
        out_ += "broadcast(";
        print(b.value, kLoosest);
        out_ += ", " + std::to_string(b.lanes) + ")";
      },
      [&](const Let& l) { print_node(l); }, [&](const Reduce& r) { print_node(r); },
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

void ExprPrinter::print_node(const Binary& b, int level) {
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

void ExprPrinter::print_node(const Ramp& r, Type type) {
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
void ExprPrinter::print_node(const Let& first) {
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

void ExprPrinter::print_node(const Reduce& r) {
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

void ExprPrinter::access(const Buffer& buffer, const std::vector<Expr>& at, const Expr& pred) {
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

void ExprPrinter::subscript(const Expr& e) {
  const Ramp* r = as<Ramp>(e);
  if (r == nullptr || sharing_.named(e) || !is_int(r->stride, 1)) return print(e, kLoosest);
  print(r->base, kLoosest);
  out_ += " : " + std::to_string(r->lanes);
}

void ExprPrinter::function(const std::string& name, const std::vector<Expr>& args) {
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
bool ExprPrinter::implied(const Expr& e) const { return as<Broadcast>(e) && !sharing_.named(e); }

void ExprPrinter::operand(const Expr& e, bool beside_vector, int level) {
  const bool bare = beside_vector && implied(e);
  print(bare ? as<Broadcast>(e)->value : e, level);
}

}  // namespace tw::ir
