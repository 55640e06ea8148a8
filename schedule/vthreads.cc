#include "schedule/vthreads.h"

#include <algorithm>

#include "src/ir/equal.h"
#include "src/ir/walk.h"
#include "src/lower/index_math.h"

namespace tw::schedule {

namespace {

// One loop of virtual threads; those inside of it are through already.
class Spread {
 public:
  explicit Spread(const ir::For& loop) : loop_(loop) {
    differing_.insert(loop.var.id());
    ir::walk(loop.body, [&](const ir::Stmt& s) {
      if (const auto* memory = ir::as<ir::Allocate>(s)) inside_.insert(memory->buffer.id());
      return true;
    });
    for (size_t known = 0; known != differing_.size();) {
      known = differing_.size();
      find_differing(loop.body, false);
    }
  }

  ir::Stmt whole() { return spread(loop_.body); }

 private:
  // Variables and buffers have ids of one kind.
  bool differs(const ir::Expr& e) const {
    bool found = false;
    ir::walk(e, [&](const ir::Expr& inside) {
      const auto* var = ir::as<ir::VarRef>(inside);
      const auto* load = ir::as<ir::Load>(inside);
      const auto* address = ir::as<ir::Address>(inside);
      found = found || (var != nullptr && differing_.contains(var->var.id())) ||
              (load != nullptr && differing_.contains(load->buffer.id())) ||
              (address != nullptr && differing_.contains(address->buffer.id()));
      return !found;
    });
    return found;
  }

  bool differs(const ir::Stmt& stmt) const {
    bool found = false;
    ir::walk(
        stmt,
        [&](const ir::Stmt& s) {
          const auto* store = ir::as<ir::Store>(s);
          found = found || (store != nullptr && differing_.contains(store->buffer.id()));
          return !found;
        },
        [&](const ir::Expr& e) {
          found = found || differs(e);
          return false;
        });
    return found;
  }

  // Marks what is written with values, or at places, of a virtual thread. `some`: not all of them come here.
  void find_differing(const ir::Stmt& stmt, bool some) {
    if (const auto* loop = ir::as<ir::For>(stmt)) return find_differing(loop->body, some || differs(loop->extent));
    if (const auto* memory = ir::as<ir::Allocate>(stmt)) return find_differing(memory->body, some);
    if (const auto* all = ir::as<ir::Seq>(stmt)) {
      for (const ir::Stmt& one : all->stmts) find_differing(one, some);
    } else if (const auto* branch = ir::as<ir::If>(stmt)) {
      some = some || differs(branch->cond);
      find_differing(branch->then, some);
      if (branch->otherwise) find_differing(branch->otherwise, some);
    } else if (const auto* let = ir::as<ir::LetStmt>(stmt)) {
      if (differs(let->value)) differing_.insert(let->var.id());
      find_differing(let->body, some);
    } else if (some || differs(stmt)) {
      mark_written(stmt);
    }
  }

  void mark_written(const ir::Stmt& stmt) {
    if (const auto* store = ir::as<ir::Store>(stmt)) mark(store->buffer);
    ir::walk(
        stmt, [](const ir::Stmt&) { return true; },
        [&](const ir::Expr& e) {
          if (const auto* address = ir::as<ir::Address>(e); address != nullptr && address->written)
            mark(address->buffer);
          return true;
        });
  }

  void mark(const ir::Buffer& buffer) {
    if (inside_.contains(buffer.id())) differing_.insert(buffer.id());
  }

  // `under`: what holds where the statement runs, of each virtual thread; null: it runs for all of them.
  ir::Stmt spread(const ir::Stmt& stmt, const ir::Expr& under = {}) {
    if (!differs(stmt) && !under) return stmt;
    if (const auto* all = ir::as<ir::Seq>(stmt)) {
      std::vector<ir::Stmt> each;
      for (const ir::Stmt& one : all->stmts) each.push_back(spread(one, under));
      return ir::seq(std::move(each));
    }
    if (const auto* memory = ir::as<ir::Allocate>(stmt)) {
      if (!differing_.contains(memory->buffer.id())) return ir::allocate(memory->buffer, spread(memory->body, under));
      const ir::Buffer all = of_all(memory->buffer);
      return ir::allocate(all, spread(memory->body, under));
    }
    if (const auto* branch = ir::as<ir::If>(stmt); branch != nullptr && !differs(branch->cond))
      return ir::if_then(branch->cond, spread(branch->then, under),
                         branch->otherwise ? spread(branch->otherwise, under) : branch->otherwise);
    if (const auto* branch = ir::as<ir::If>(stmt);
        branch != nullptr && !branch->otherwise && is_of_places(branch->cond))
      return spread(branch->then, both(under, branch->cond));
    if (const auto* let = ir::as<ir::LetStmt>(stmt); let != nullptr && !differs(let->value))
      return ir::let_stmt(let->var, let->value, spread(let->body, under));
    if (const auto* loop = ir::as<ir::For>(stmt); loop != nullptr && goes_along(*loop))
      return ir::loop(loop->var, loop->extent, spread(loop->body, under), loop->kind, loop->tail);
    return each(under ? ir::if_then(under, stmt) : stmt);
  }

  static ir::Expr both(ir::Expr under, const ir::Expr& condition) {
    if (!under) return condition;
    for (const ir::Expr& holds : lower::conjuncts(condition)) {
      const std::vector<ir::Expr> known = lower::conjuncts(under);
      if (std::ranges::none_of(known, [&](const ir::Expr& e) { return ir::equal(e, holds); })) under = under && holds;
    }
    return under;
  }

  // Whether it is the same after whatever has been stored.
  static bool is_of_places(const ir::Expr& condition) {
    bool reads = false;
    ir::walk(condition, [&](const ir::Expr& e) { return reads = reads || ir::as<ir::Load>(e) != nullptr, !reads; });
    return !reads;
  }

  // Lanes that wait for threads are no vector.
  bool goes_along(const ir::For& loop) const {
    const bool plain = loop.kind == ir::ForKind::kSerial || loop.kind == ir::ForKind::kUnrolled || waits(loop.body);
    return plain && !differs(loop.extent);
  }

  static bool waits(const ir::Stmt& stmt) {
    bool found = false;
    ir::walk(stmt, [&](const ir::Stmt& s) { return found = found || ir::as<ir::Sync>(s) != nullptr, !found; });
    return found;
  }

  ir::Buffer of_all(const ir::Buffer& one) {
    std::vector<ir::Expr> shape = one.shape(), strides = one.strides();
    if (!strides.empty()) strides.insert(strides.begin(), strides[0] * shape[0]);
    shape.insert(shape.begin(), loop_.extent);
    return all_.emplace(one.id(), ir::Buffer(one.name(), one.element(), shape, one.scope(), strides)).first->second;
  }

  // One virtual thread after the other.
  ir::Stmt each(const ir::Stmt& stmt) const {
    TW_CHECK(!waits(stmt), "virtual threads wait one after the other");
    const auto own = [&](const ir::Buffer& buffer, std::vector<ir::Expr> at) {
      const auto found = all_.find(buffer.id());
      if (found == all_.end()) return std::pair(buffer, std::move(at));
      at.insert(at.begin(), loop_.var);
      return std::pair(found->second, std::move(at));
    };
    const ir::Stmt body = ir::rewrite(
        stmt,
        [&](const ir::Stmt& s) {
          const auto* store = ir::as<ir::Store>(s);
          if (store == nullptr) return s;
          const auto [buffer, at] = own(store->buffer, store->at);
          return ir::store(buffer, at, store->value, store->pred);
        },
        [&](const ir::Expr& e) {
          if (const auto* load = ir::as<ir::Load>(e)) {
            const auto [buffer, at] = own(load->buffer, load->at);
            return ir::load(buffer, at, load->pred);
          }
          if (const auto* address = ir::as<ir::Address>(e)) {
            const auto [buffer, at] = own(address->buffer, address->at);
            return ir::address_of(buffer, at, address->read, address->written);
          }
          return e;
        });
    return ir::refresh(ir::loop(loop_.var, loop_.extent, body, ir::ForKind::kUnrolled));
  }

  const ir::For& loop_;
  std::unordered_set<uint64_t> differing_;  // variables and memory whose values depend on the virtual thread
  std::unordered_set<uint64_t> inside_;     // memory that is allocated in the loop
  ir::BufferMap all_;                       // of what each has for itself: that of all of them
};

}  // namespace

ir::Stmt side_by_side(const ir::Stmt& stmt, const std::unordered_set<uint64_t>& virtual_loops) {
  if (virtual_loops.empty()) return stmt;
  return ir::rewrite(
      stmt,
      [&](const ir::Stmt& s) {
        const auto* loop = ir::as<ir::For>(s);
        return loop != nullptr && virtual_loops.contains(loop->var.id()) ? Spread(*loop).whole() : s;
      },
      [](const ir::Expr& e) { return e; });
}

}  // namespace tw::schedule
