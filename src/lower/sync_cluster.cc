#include "src/lower/sync_cluster.h"

#include <set>
#include <utility>

#include "src/ir/async_copies.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/lower/sync_roles.h"

namespace tw::lower {

using namespace ir;

namespace {

bool is_of_cluster(const Stmt& s) {
  const auto* sync = as<Sync>(s);
  return reaches_cluster(s) || (sync && sync->op == SyncOp::kCluster);
}
bool has_of_cluster(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& inner) { return !(found = found || is_of_cluster(inner)); });
  return found;
}

// Since the last barrier of the cluster, on some path.
struct Since {
  std::set<uint64_t> made, touched;  // rings, and what boxes come to
  bool reached = false;              // another block
  void add(const Since& other) {
    made.insert(other.made.begin(), other.made.end());
    touched.insert(other.touched.begin(), other.touched.end());
    reached = reached || other.reached;
  }
};

class Check {
 public:
  Check(const For& cluster, const std::unordered_map<uint64_t, Buffer>& declared, Bounds bounds)
      : index_(cluster.var),
        blocks_(as_int(cluster.extent).value_or(0)),
        declared_(declared),
        bounds_(std::move(bounds)) {}

  std::vector<ClusterFault> run(const Stmt& body) {
    walk(body, [&](const Stmt& s) {
      if (const auto call = async_call(s); call && call->in_cluster && call->op == AsyncOp::kLoad)
        come_to_.insert(call->to.buffer.id());
      return true;
    });
    statement(body);
    if (since_.reached) fault(body, "a block may end while others of its cluster still copy to it, or arrive there");
    return std::move(faults_);
  }

 private:
  void fault(const Stmt& at, std::string why, std::string buffer = {}) {
    if (faults_.empty()) faults_.push_back({std::move(buffer), std::move(why), at});
  }

  void statement(const Stmt& s) {
    match(
        s,
        [&](const Store& st) {
          for (const Expr& at : st.at) reads(at);
          reads(st.value);
          if (come_to_.contains(st.buffer.id())) since_.touched.insert(st.buffer.id());
        },
        [&](const For& f) {
          reads(f.extent);
          expect_alike(f.extent, s);
          const Since before = since_;
          statement(f.body);
          since_.add(before);
          statement(f.body);  // what an iteration leaves to the next
          since_.add(before);
        },
        [&](const If& i) {
          reads(i.cond);
          expect_alike(i.cond, s);
          if (parts_roles(s)) return roles(i);
          const Since before = since_;
          statement(i.then);
          const Since then = std::exchange(since_, before);
          if (i.otherwise) statement(i.otherwise);
          since_.add(then);
        },
        [&](const Seq& q) {
          for (const Stmt& one : q.stmts) statement(one);
        },
        [&](const Allocate& a) { statement(a.body); },
        [&](const LetStmt& l) {
          reads(l.value);
          values_[l.var.id()] = substitute(l.value, values_);
          statement(l.body);
        },
        [&](const Evaluate& e) {
          if (const auto call = async_call(s)) return async(*call, s);
          reads(e.value);
        },
        [&](const Sync& sync) {
          if (sync.op == SyncOp::kCluster) since_ = {};
        });
  }

  // Who copies waits for all who have read: of what comes there only what stands before is looked at.
  void roles(const If& i) {
    const std::set<uint64_t> before = since_.touched;
    statement(i.then);
    since_.touched = before;
    statement(i.otherwise);
  }

  void async(const AsyncCall& call, const Stmt& s) {
    if (call.op == AsyncOp::kInit) since_.made.insert(call.ring.buffer.id());
    if (!call.in_cluster) return;
    if (since_.made.contains(call.ring.buffer.id()))
      fault(s, "no barrier of the cluster stands between it and what makes its barriers in other blocks",
            call.ring.buffer.name());
    if (call.op == AsyncOp::kLoad) {
      if (since_.touched.contains(call.to.buffer.id()))
        fault(s, "no barrier of the cluster stands between it and what other blocks do where its boxes come to",
              call.to.buffer.name());
      parts(call, s);
    }
    since_.reached = true;
  }

  void reads(const Expr& e) {
    walk(e, [&](const Expr& x) {
      const auto* l = as<Load>(x);
      const auto* a = as<Address>(x);
      const uint64_t id = l ? l->buffer.id() : a ? a->buffer.id() : 0;
      if (come_to_.contains(id)) since_.touched.insert(id);
      return true;
    });
  }

  void expect_alike(const Expr& e, const Stmt& s) {
    if (has_of_cluster(s) && used_vars(substitute(e, values_)).contains(index_.id()))
      fault(s, "blocks of a cluster differ in " + to_string(e) + ", and wait for each other there");
  }

  // The next block's part begins where this one ends, or further on.
  void parts(const AsyncCall& call, const Stmt& s) {
    const std::vector<Expr>& shape = declared_.at(call.to.buffer.id()).shape();
    Expr at = 0;
    for (size_t d = 0; d < call.to.at.size(); ++d) {
      if (d > 0) at = at * shape[d];
      at = at + substitute(call.to.at[d], values_);
    }
    const Expr next = substitute(at, {{index_.id(), Expr(index_) + 1}});
    const auto apart = as_int(simplify(next - at, bounds_));
    if (blocks_ > 1 && (!apart || *apart < elements_of(call)))
      fault(s, "two blocks of the cluster may bring the same part", call.to.buffer.name());
  }

  const Var index_;
  const int64_t blocks_;
  const std::unordered_map<uint64_t, Buffer>& declared_;
  const Bounds bounds_;
  std::set<uint64_t> come_to_;
  Substitution values_;
  Since since_;
  std::vector<ClusterFault> faults_;
};

}  // namespace

std::vector<ClusterFault> cluster_faults(const Stmt& body, const For* cluster,
                                         const std::unordered_map<uint64_t, Buffer>& declared, Bounds bounds) {
  if (!cluster || !has_of_cluster(body)) return {};
  return Check(*cluster, declared, std::move(bounds)).run(body);
}

}  // namespace tw::lower
