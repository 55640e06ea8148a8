#include "src/lower/sync_registers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "src/ir/group_products.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr int64_t kRegistersOfBlock = 65536;

bool sets_registers(const GroupCall& call) {
  return call.op == GroupOp::kTakeRegisters || call.op == GroupOp::kGiveRegisters;
}
bool has_sets(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& inner) {
    const auto call = group_call(inner);
    return !(found = found || (call && sets_registers(*call)));
  });
  return found;
}

// What the threads of one group hold: at the end, and at most from the first change on.
class Group {
 public:
  Group(int64_t begins_with, Substitution first) : last(begins_with), most(0), values_(std::move(first)) {}

  void statement(const Stmt& s) {
    if (!has_sets(s)) return;
    match(
        s, [](const Store&) {}, [&](const For& f) { statement(f.body); },
        [&](const If& i) {
          const auto known = as_int(simplify(substitute(i.cond, values_)));
          unsure = unsure || !known;
          if (!known || *known != 0) statement(i.then);
          if (i.otherwise && (!known || *known == 0)) statement(i.otherwise);
        },
        [&](const Seq& q) {
          for (const Stmt& one : q.stmts) statement(one);
        },
        [&](const Allocate& a) { statement(a.body); },
        [&](const LetStmt& l) {
          values_[l.var.id()] = substitute(l.value, values_);
          statement(l.body);
        },
        [&](const Evaluate&) {
          const auto call = group_call(s);
          last = call->count;
          most = std::max(most, last);
          at = s;
        },
        [](const Sync&) {});
  }

  int64_t last, most;
  Stmt at;  // the last change
  bool unsure = false;

 private:
  Substitution values_;  // of the group's first thread
};

}  // namespace

std::optional<RegisterFault> register_fault(const Stmt& body, const LaunchIndices& indices,
                                            const std::unordered_map<uint64_t, int>& axis) {
  if (!has_sets(body)) return std::nullopt;
  std::map<int, const OwnVariable*> by_axis;
  for (const OwnVariable& index : indices.threads) by_axis[axis.at(index.var.id())] = &index;
  int64_t threads = 1;
  for (const auto& [_, index] : by_axis) threads *= as_int(index->extent).value_or(0);
  if (threads < kLanesOfGroup) return std::nullopt;
  const int64_t each = std::min(kMostRegisters, kRegistersOfBlock / threads / kRegistersStep * kRegistersStep);
  std::optional<RegisterFault> out;
  int64_t last = 0, most = 0;
  bool unsure = false;
  std::string held;
  for (int64_t first = 0; first < threads; first += kLanesOfGroup) {
    Substitution values;
    int64_t rest = first;
    for (const auto& [_, index] : by_axis) {
      const int64_t extent = *as_int(index->extent);
      values[index->var.id()] = Expr(rest % extent);
      rest /= extent;
    }
    Group group(each, std::move(values));
    group.statement(body);
    unsure = unsure || group.unsure;
    last += group.last;
    most += std::max(group.last, group.most);
    held += (held.empty() ? "" : " + ") + std::to_string(std::max(group.last, group.most));
    if (group.at) out = {group.at, {}};
  }
  const int64_t all = each * (threads / kLanesOfGroup);
  if (most <= all) return std::nullopt;
  out->why = "its groups hold " + held + " registers a thread, of " + std::to_string(all) +
             " that the block begins with: who takes more than others give back waits for ever";
  out->certain = last > all && !unsure;
  return out;
}

}  // namespace tw::lower
