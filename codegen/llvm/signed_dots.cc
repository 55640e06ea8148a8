#include "codegen/llvm/signed_dots.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/ir/equal.h"
#include "src/ir/typing.h"
#include "src/ir/walk.h"

namespace tw::codegen {

using ir::Buffer;
using ir::Expr;
using ir::Stmt;
using ir::Type;

namespace {

// A product that is added to sums: in which sequence of statements it stands, and its right factors.
struct Term {
  Stmt block, stmt;
  Expr factors;
  bool operator==(const Term& other) const { return block.same_as(other.block) && ir::equal(factors, other.factors); }
};

// The buffer and the first element of sums.
using Place = std::pair<uint64_t, int64_t>;
using Sums = std::map<Place, std::vector<Term>>;

// The sums of which nothing is known but terms, and the terms of each in order.
class Collector {
 public:
  explicit Collector(const OtherSigns& signs) : meant_(signs.meant), lanes_(signs.lanes) {}

  // REQUIRES: a body of a loop that runs one iteration after the other.
  void collect(const Stmt& s, const Stmt& block) {
    const auto* loop = ir::as<ir::For>(s);
    if (const auto* seq = ir::as<ir::Seq>(s)) {
      for (const Stmt& inner : seq->stmts) collect(inner, s);
    } else if (const auto* let = ir::as<ir::LetStmt>(s)) {
      note(let->value);
      collect(let->body, let->body);
    } else if (loop && !runs_concurrently(loop->kind)) {
      note(loop->extent);
      collect(loop->body, loop->body);
    } else if (!add(s, block)) {
      const auto on_stmt = [&](const Stmt& inner) {
        if (const auto* st = ir::as<ir::Store>(inner)) others_.insert(st->buffer.id());
        return true;
      };
      ir::walk(s, on_stmt, [&](const Expr& e) { return note_access(e), true; });
    }
  }

  Sums found() {
    std::erase_if(sums_, [&](const auto& sums) {
      return others_.contains(sums.first.first) ||
             std::ranges::any_of(sums.second, [&](const Term& term) { return changes(term); });
    });
    return std::move(sums_);
  }

 private:
  bool add(const Stmt& s, const Stmt& block) {
    const auto* st = ir::as<ir::Store>(s);
    const auto* product = st && !st->pred ? ir::as<ir::Call>(st->value) : nullptr;
    if (!product || product->fn != meant_ || st->value.type().lanes != lanes_) return false;
    const auto* sums = ir::as<ir::Load>(product->args[0]);
    const auto* places = st->at.size() == 1 ? ir::as<ir::Ramp>(st->at[0]) : nullptr;
    const int64_t first = places && ir::is_int(places->stride, 1) ? ir::as_int(places->base).value_or(-1) : -1;
    const bool added = sums && !sums->pred && sums->buffer == st->buffer && ir::equal(sums->at[0], st->at[0]);
    if (first % lanes_ != 0 || !added || st->buffer.scope() != ir::Scope::kLocal) return false;
    note(product->args[1]);
    note(product->args[2]);
    sums_[{st->buffer.id(), first}].push_back({block, s, product->args[2]});
    return true;
  }

  void note(const Expr& e) {
    ir::walk(e, [&](const Expr& inner) { return note_access(inner), true; });
  }
  void note_access(const Expr& e) {
    if (const auto* load = ir::as<ir::Load>(e)) others_.insert(load->buffer.id());
    if (const auto* address = ir::as<ir::Address>(e)) others_.insert(address->buffer.id());
  }

  // Whether its factors may be others for the next sums that are multiplied by them.
  bool changes(const Term& term) {
    const auto [known, first] = written_.try_emplace(term.block.get());
    std::unordered_set<uint64_t>& written = known->second;
    if (first)
      ir::walk(
          term.block,
          [&](const Stmt& inner) {
            if (const auto* st = ir::as<ir::Store>(inner)) written.insert(st->buffer.id());
            return true;
          },
          [&](const Expr& e) {
            if (const auto* address = ir::as<ir::Address>(e); address && address->written)
              written.insert(address->buffer.id());
            return true;
          });
    bool any = false;
    ir::walk(term.factors, [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      return !(any = any || (load && written.contains(load->buffer.id())));
    });
    return any;
  }

  const ir::Fn meant_;
  const int lanes_;
  Sums sums_;
  std::unordered_set<uint64_t> others_;  // buffers that something else reads or writes
  std::unordered_map<const void*, std::unordered_set<uint64_t>> written_;
};

// The sums' places, those together that have the same terms but for the left factors.
std::vector<std::vector<Place>> alike(const Sums& sums) {
  std::vector<std::vector<Place>> groups;
  for (const auto& [place, terms] : sums) {
    const auto same = std::ranges::find_if(
        groups, [&, &terms = terms](const std::vector<Place>& group) { return sums.at(group[0]) == terms; });
    if (same == groups.end())
      groups.push_back({place});
    else
      same->push_back(place);
  }
  return groups;
}

// 128, or -128: what turning it adds to a byte.
Expr first_bit_of(Type bytes) { return ir::int_imm(bytes, bytes.is_uint() ? 128 : -128); }

Expr lanes_from(int64_t first, int lanes) { return ir::ramp(Expr(first), 1, lanes); }

}  // namespace

std::optional<Stmt> with_other_signs(const ir::For& loop, const OtherSigns& signs) {
  if (runs_concurrently(loop.kind)) return std::nullopt;
  const int lanes = signs.lanes;
  Collector collector(signs);
  collector.collect(loop.body, loop.body);
  const Sums sums = collector.found();
  if (sums.empty()) return std::nullopt;
  const std::vector<std::vector<Place>> groups = alike(sums);
  const Type type = Type::i(32, lanes);
  const ir::DotForm there_is = ir::dot_form(signs.there);
  const Buffer excess("excess", type.element(), {Expr(static_cast<int64_t>(groups.size()) * lanes)}, ir::Scope::kLocal);

  std::unordered_map<const void*, Stmt> replaced;
  std::vector<Stmt> all, ends;
  for (size_t g = 0; g < groups.size(); ++g) {
    const Expr there = lanes_from(static_cast<int64_t>(g) * lanes, lanes), too_much = ir::load(excess, {there});
    all.push_back(ir::store(excess, {there}, ir::int_imm(type, 0)));
    for (const Place& place : groups[g])
      for (const Term& term : sums.at(place)) {
        const ir::Store& st = *ir::as<ir::Store>(term.stmt);
        const ir::Call& call = *ir::as<ir::Call>(st.value);
        const Type bytes = there_is.left.with_lanes(call.args[1].type().lanes);
        const Expr left = ir::binary(ir::BinOp::kBitXor, ir::reinterpret(bytes, call.args[1]), first_bit_of(bytes));
        Stmt with = ir::store(st.buffer, st.at, ir::call(signs.there, {call.args[0], left, call.args[2]}));
        if (place == groups[g][0]) {
          const Expr offset = first_bit_of(there_is.left.with_lanes(there_is.group));
          with = ir::seq({ir::store(excess, {there}, ir::call(signs.there, {too_much, offset, term.factors})), with});
        }
        replaced.emplace(term.stmt.get(), with);
      }
    for (const Place& place : groups[g]) {
      const ir::Store& st = *ir::as<ir::Store>(sums.at(place)[0].stmt);
      ends.push_back(ir::store(st.buffer, st.at, ir::load(st.buffer, st.at) - too_much));
    }
  }
  const auto on_stmt = [&](const Stmt& s) {
    const auto found = replaced.find(s.get());
    return found == replaced.end() ? s : found->second;
  };
  all.push_back(ir::loop(loop.var, loop.extent, ir::rewrite(loop.body, on_stmt, nullptr), loop.kind, loop.tail));
  all.insert(all.end(), ends.begin(), ends.end());
  return ir::allocate(excess, ir::seq(std::move(all)));
}

}  // namespace tw::codegen
