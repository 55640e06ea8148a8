// The elements that an iteration stores are runs of a length that is even, from elements that are even.
#include "src/ir/shared_byte.h"

#include <algorithm>
#include <unordered_set>

#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/ir/walk.h"

namespace tw::ir {
namespace {

enum class Parity : uint8_t { kEven, kOdd, kUnknown };

Parity of(int64_t value) { return value % 2 == 0 ? Parity::kEven : Parity::kOdd; }

Parity sum(Parity a, Parity b) {
  if (a == Parity::kUnknown || b == Parity::kUnknown) return Parity::kUnknown;
  return a == b ? Parity::kEven : Parity::kOdd;
}

Parity product(Parity a, Parity b) {
  if (a == Parity::kEven || b == Parity::kEven) return Parity::kEven;
  return a == b ? a : Parity::kUnknown;
}

Parity parity(const Expr& e) {
  if (const auto value = as_int(e)) return of(*value);
  const auto* b = as<Binary>(e);
  if (!b) return Parity::kUnknown;
  switch (b->op) {
    case BinOp::kAdd:
    case BinOp::kSub:
      return sum(parity(b->a), parity(b->b));
    case BinOp::kMul:
      return product(parity(b->a), parity(b->b));
    case BinOp::kFloorMod:
    case BinOp::kTruncMod:  // by 0 it is 0
      return parity(b->b) == Parity::kEven && !is_int(b->b, 0) && as_int(b->b) ? parity(b->a) : Parity::kUnknown;
    case BinOp::kMin:
    case BinOp::kMax:
      return parity(b->a) == parity(b->b) ? parity(b->a) : Parity::kUnknown;
    default:
      return Parity::kUnknown;
  }
}

struct Loop {
  Var var;
  std::optional<int64_t> extent;
  bool parallel;
};

// The element that a store writes, counted from the first of the buffer.
Expr element_of(const Buffer& buffer, const std::vector<Expr>& at) {
  Expr sum = 0, stride = 1;
  for (size_t d = at.size(); d-- > 0;) {
    sum = sum + at[d] * (buffer.strides().empty() ? stride : buffer.strides()[d]);
    stride = stride * buffer.shape()[d];
  }
  return simplify(sum);
}

// Without remainders of even divisors: of numbers that are even and the next ones they are so too.
Linear without_remainders(Linear form) {
  const auto remainder = [](const Term& term) {
    const auto* mod = as<Binary>(term.atom);
    return term.factor == 1 && mod && mod->op == BinOp::kFloorMod && as_int(mod->b).value_or(0) > 0 &&
           *as_int(mod->b) % 2 == 0;
  };
  for (auto term = std::ranges::find_if(form.terms, remainder); term != form.terms.end() && !form.overflow;
       term = std::ranges::find_if(form.terms, remainder)) {
    const Expr whole = as<Binary>(term->atom)->a;
    form.terms.erase(term);
    form = decompose(build(form, 1) + whole);
  }
  return form;
}

// Whether what the loops inside of one iteration store is whole bytes: loops over neighbouring elements, innermost
// first, make a run; what is left tells where runs begin.
bool stores_whole_bytes(const Expr& element, const std::vector<Loop>& inside) {
  Linear form = without_remainders(decompose(element));
  if (form.overflow) return false;
  int64_t run = 1;
  std::vector<Var> along;
  const auto next = [&] {
    return std::find_if(form.terms.begin(), form.terms.end(), [&](const Term& term) {
      const auto* v = as<VarRef>(term.atom);
      return v && term.factor == run && run % 2 == 1 &&
             std::any_of(inside.begin(), inside.end(), [&](const Loop& loop) {
               return loop.var == v->var && loop.extent && *loop.extent > 0 && *loop.extent < (1 << 30);
             });
    });
  };
  for (auto term = next(); term != form.terms.end(); term = next()) {
    const Var var = as<VarRef>(term->atom)->var;
    run *= *std::find_if(inside.begin(), inside.end(), [&](const Loop& loop) { return loop.var == var; })->extent;
    form.terms.erase(term);
    along.push_back(var);
    if (run > (int64_t{1} << 30)) break;
  }
  if (run % 2 == 1) return false;
  for (const Term& term : form.terms)  // a run that begins elsewhere for each of its elements is none
    for (const Var& var : along)
      if (uses_var(term.atom, var)) return false;
  Parity begins = of(form.constant);
  for (const Term& term : form.terms) begins = sum(begins, product(of(term.factor), parity(term.atom)));
  return begins == Parity::kEven;
}

class Search {
 public:
  void visit(const Stmt& s) {
    if (!s || found) return;
    match(
        s, [&](const Store& st) { store(st.buffer, st.at); },
        [&](const For& f) {
          loops_.push_back({f.var, as_int(f.extent), runs_concurrently(f.kind)});
          visit(f.body);
          loops_.pop_back();
        },
        [&](const If& i) {
          visit(i.then);
          visit(i.otherwise);
        },
        [&](const Seq& q) {
          for (const Stmt& child : q.stmts) visit(child);
        },
        [&](const Allocate& a) {
          depths_[a.buffer.id()] = loops_.size();
          visit(a.body);
        },
        [&](const LetStmt& l) { visit(l.body); },
        [&](const Evaluate& v) {
          walk(v.value, [&](const Expr& e) {
            if (const auto* a = as<Address>(e); a && a->written) store(a->buffer, a->at, true);
            return true;
          });
        },
        [](const Sync&) {});
  }

  std::optional<SharedByte> found;

 private:
  // Through an address anything may be written.
  void store(const Buffer& buffer, const std::vector<Expr>& at, bool through_address = false) {
    if (!buffer.element().is_packed() || found) return;
    const auto depth = depths_.find(buffer.id());
    for (size_t p = depth == depths_.end() ? 0 : depth->second; p < loops_.size(); ++p) {
      if (!loops_[p].parallel || loops_[p].extent.value_or(2) <= 1) continue;
      const Expr element = element_of(buffer, at);
      const std::vector<Loop> inside(loops_.begin() + static_cast<std::ptrdiff_t>(p) + 1, loops_.end());
      if (!through_address && stores_whole_bytes(element, inside)) continue;
      found = SharedByte{buffer, loops_[p].var, element};
      return;
    }
  }

  std::vector<Loop> loops_;
  std::unordered_map<uint64_t, size_t> depths_;  // of allocated buffers: how many loops stand outside
};

}  // namespace

std::optional<SharedByte> shared_byte(const Program& program) {
  Search search;
  search.visit(program.body);
  return std::move(search.found);
}

bool is_even(const Expr& index) { return parity(index) == Parity::kEven; }

}  // namespace tw::ir
