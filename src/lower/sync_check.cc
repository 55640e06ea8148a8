#include "src/lower/sync_check.h"

#include <algorithm>
#include <utility>

#include "src/ir/requirement.h"
#include "src/ir/simplify.h"
#include "src/ir/simplify_linear.h"
#include "src/lower/sync_cluster.h"
#include "src/lower/sync_launch.h"
#include "src/lower/sync_registers.h"
#include "src/lower/sync_roles.h"
#include "src/support/deep_stack.h"

namespace tw::lower {

using namespace ir;

namespace {

// Those that a system says exactly.
std::vector<Expr> linear_requirements(const Program& program) {
  const auto is_size = [](const Term& t) { return as<VarRef>(t.atom) != nullptr; };
  std::vector<Expr> out;
  for (const Requirement& required : requirements_of(program)) {
    const auto* b = as<Binary>(required.test);
    if (!b || (b->op != BinOp::kLe && b->op != BinOp::kLt) || !b->a.type().is_index()) continue;
    const Linear form = decompose(simplify(b->a - b->b));
    if (!form.overflow && std::ranges::all_of(form.terms, is_size)) out.push_back(required.test);
  }
  return out;
}

}  // namespace

std::string line_of(const Stmt& s) {
  const std::string text = to_string(s);
  return text.substr(0, std::min(text.find('\n'), size_t{160}));
}

void LaunchCheck::run(const Stmt& launch) {
  judge(launch);
  if (too_much())
    report({Kind::kUnjudged,
            {},
            "a launch",
            {},
            known_.rows() > most_rows_ ? "its subscripts and conditions take too long to be told apart"
                                       : "too much of it may be left by loops that need not run"});
}

void LaunchCheck::judge(const Stmt& launch) {
  Stmt body = launch;
  const For* cluster = nullptr;
  for (const For* f = as<For>(body); f && is_device_index(f->kind); f = as<For>(body)) {
    (is_block(f->kind) ? indices_.blocks : indices_.threads).push_back({f->var, f->extent});
    if (is_cluster(f->kind)) {
      cluster = f;
      indices_.in_cluster = as_int(f->extent).value_or(1);
    }
    if (is_thread(f->kind)) axis_[f->var.id()] = dimension_of(f->kind);
    if (const auto extent = as_int(f->extent)) bounds_[f->var.id()] = {0, *extent - 1};
    body = f->body;
  }
  ir::walk(body, [&](const Stmt& s) {
    if (const auto* st = as<Store>(s)) stored_.insert(st->buffer.id());
    if (const auto call = async_call(s))
      changing_.insert((call->op == AsyncOp::kLoad ? call->to : call->ring).buffer.id());
    if (const auto call = group_call(s); call && call->product)
      for (const GroupOperand* operand : {&call->left, &call->right}) operands_.insert(operand->at.buffer.id());
    if (const auto* a = as<Allocate>(s)) declared_.insert_or_assign(a->buffer.id(), a->buffer);
    return true;
  });
  changing_.insert(stored_.begin(), stored_.end());
  warp_ = warp_indices(indices_, axis_, kLanesOfWarp);
  group_ = warp_indices(indices_, axis_, kLanesOfGroup);
  for (const auto& those : {warp_, group_})
    if (those)
      for (const OwnVariable& v : those->ranges) bounds_[v.var.id()] = {0, *as_int(v.extent) - 1};
  for (const ClusterFault& f : cluster_faults(body, cluster, declared_, bounds_))
    report({Kind::kOnItsWay, f.buffer.empty() ? "cluster" : f.buffer, line_of(f.at), line_of(f.at), f.why});
  if (const auto fault = register_fault(body, indices_, axis_))
    report({Kind::kOnItsWay, "registers", line_of(fault->at), line_of(fault->at), fault->why, fault->certain});
  statement(body, {});
  if (too_much()) return;  // what is left is that of a walk which ended somewhere
  if (const std::string why = registers_.ended(); !why.empty()) report({Kind::kOnItsWay, {}, "wgmma.wait", {}, why});
  expect_arrived({});
  if (indices_.blocks.empty()) return;
  between_blocks_ = true;
  open_.clear();
  statement(body, {});
  for (size_t i = 0; i < open_.size(); ++i)
    for (size_t j = i; j < open_.size() && !too_much(); ++j) compare(open_[i], open_[j], Apart::kBlocks);
}

void LaunchCheck::statement(const Stmt& s, const Place& place) {
  if (too_much()) return;
  match(
      s,
      [&](const Store& st) {
        for (const Expr& at : st.at) reads(at, s, place);
        if (st.pred) reads(st.pred, s, place);
        const Place under = static_cast<bool>(st.pred) && st.pred.type().is_scalar() ? place.under(st.pred) : place;
        later_ = st.arrival != Arrival::kNow;
        reads(st.value, s, under);
        touch(st.buffer, st.at, st.pred, true, s, place);
        later_ = false;
      },
      [&](const For& f) { loop(f, s, place); },
      [&](const If& i) {
        reads(i.cond, s, place);
        if (of_roles_.empty() && parts_roles(s)) return roles(i, s, place);
        if (ways_.has_sync(s) && of_roles_.empty()) expect_uniform(i.cond, place);
        if (ways_.has_product(s)) expect_same_in_warp(i.cond, place);
        if (ways_.has_group(s)) expect_same_in_group(i.cond, place);
        branch(i, place);
      },
      [&](const Seq& q) {
        for (const Stmt& one : q.stmts) statement(one, place);
      },
      [&](const Allocate& a) {
        statement(a.body, place);
        expect_arrived(a.buffer);
      },
      [&](const LetStmt& l) {
        reads(l.value, s, place);
        statement(l.body, with_let(l.var, l.value, place));
      },
      [&](const Evaluate& e) {
        if (const auto call = async_call(s)) return of_turn(*call, s, place);
        if (is_of_warp(s)) return of_warp(*as<CallExtern>(e.value), s, place);
        if (const auto call = group_call(s)) return of_group(*call, s, place);
        if (as<CallExtern>(e.value)) report({Kind::kForeignCall, {}, line_of(s), {}, "nobody knows what it touches"});
      },
      [&](const Sync& sync) {
        if (!between_blocks_) pass(sync);
      });
}

void LaunchCheck::expect_arrived(const std::optional<Buffer>& of) {
  if (between_blocks_ || quiet_ > 0) return;
  for (const Touched& a : open_)
    if (a.behind && a.writes && (!of || a.buffer == *of)) compare(a, a, Apart::kNothing);  // whether it is made at all
}

void LaunchCheck::pass(const Sync& sync) {
  if (is_barrier(sync.op)) {
    std::erase_if(open_, [](const Touched& a) { return !a.behind && !a.unfenced; });
    for (Touched& a : open_) a.over = a.over || !a.behind;
  }
  for (Touched& a : open_) {
    if (!a.behind || !!a.turn || a.of_group) continue;
    if (sync.op == SyncOp::kCommit) ++*a.behind;
    if (sync.op == SyncOp::kWait && *a.behind > sync.count) a.behind.reset();
  }
}

void LaunchCheck::roles(const If& i, const Stmt& s, const Place& place) {
  if (!between_blocks_)
    for (const RoleFault& f : role_faults(s, {declared_, arrivals_, indices_, changing_, bounds_, place}))
      report({Kind::kOnItsWay, f.buffer.empty() ? "roles" : f.buffer, line_of(f.at), line_of(f.at), f.why, f.certain});
  if (ways_.has_group(s)) expect_same_in_group(i.cond, place);
  of_roles_ = buffers_of_roles(s);
  branch(i, place);
  of_roles_.clear();
}

void LaunchCheck::branch(const If& i, const Place& place) {
  if (const auto known = as_int(simplify(value(i.cond, place), bounds_))) {
    const Stmt& taken = *known != 0 ? i.then : i.otherwise;
    if (!!taken) statement(taken, place);
    return;
  }
  const std::vector<Touched> before = open_;
  const GroupRegisters registers = registers_;
  statement(i.then, place.under(i.cond));
  const GroupRegisters then = std::exchange(registers_, registers);
  otherwise(i, place, before);
  registers_.join(then);
}

void LaunchCheck::otherwise(const If& i, const Place& place, const std::vector<Touched>& before) {
  if (!(ways_.has_sync(i.then) || (!!i.otherwise && ways_.has_sync(i.otherwise))) || between_blocks_) {
    if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
    return;
  }
  std::vector<Touched> after = std::exchange(open_, before);
  if (i.otherwise) statement(i.otherwise, place.under(logical_not(i.cond)));
  join(std::move(after));
}

void LaunchCheck::report(SyncFinding finding) {
  if (too_much() && finding.kind != Kind::kUnjudged) return;  // of a walk that ended somewhere
  const auto same = [&](const SyncFinding& f) {
    return f.kind == finding.kind && f.buffer == finding.buffer && f.first == finding.first &&
           f.second == finding.second;
  };
  if (std::ranges::none_of(findings_, same)) findings_.push_back(std::move(finding));
}

std::string to_string(const SyncFinding& f) {
  static constexpr std::string_view kKinds[] = {"read after write",  "write after read", "write after write",
                                                "divergent barrier", "foreign call",     "divergent product",
                                                "on its way",        "not judged"};
  std::string out(kKinds[static_cast<size_t>(f.kind)]);
  out += ": " + (f.buffer.empty() ? f.first : f.buffer) + ", " + f.why;
  if (f.buffer.empty()) return out;
  return out + "\n    " + f.first + (f.second == f.first ? "" : "\n    " + f.second);
}

std::vector<SyncFinding> sync_check(const Program& program, int64_t most_rows) {
  return support::with_deep_stack([&] {
    std::vector<SyncFinding> findings;
    std::unordered_map<uint64_t, Buffer> declared;
    for (const Param& p : program.params) declared.insert_or_assign(p.buffer.id(), p.buffer);
    const std::vector<Expr> required = linear_requirements(program);
    walk(program.body, [&](const Stmt& s) {
      if (const auto* a = as<Allocate>(s)) declared.insert_or_assign(a->buffer.id(), a->buffer);
      const auto* f = as<For>(s);
      if (!f || !is_device_index(f->kind)) return true;
      LaunchCheck(declared, required, most_rows, findings).run(s);
      return false;
    });
    return findings;
  });
}

}  // namespace tw::lower
