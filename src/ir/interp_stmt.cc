// Statements of the interpreter.

#include <utility>

#include "src/ir/interp.h"
#include "src/ir/interp_index.h"
#include "src/ir/interp_launch.h"
#include "src/ir/interp_program.h"

namespace tw::ir::interp {
namespace {

constexpr int64_t kElementsOfAStep = 8;  // of memory that is filled

// What a store that arrives later reads until then.
class Sources {
 public:
  Sources(State& s, Arrival arrival) : tasks_(s.tasks), copies_(s.copies), later_(arrival != Arrival::kNow) {
    if (later_) tasks_.reads = &read_;
  }
  ~Sources() { tasks_.reads = nullptr; }
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  void store(Memory& memory, int64_t at, Value value) {
    if (!later_) return memory.store(at, value, tasks_);
    copies_.begin(memory, at, value, tasks_);
    copies_.reads(std::exchange(read_, {}));
  }

 private:
  Tasks& tasks_;
  Copies& copies_;
  bool later_;
  std::vector<Element> read_;
};

void count_steps(State& s, int64_t steps) {
  if (s.max_steps > 0 && (s.steps += steps) > s.max_steps)
    throw Fault{ErrorKind::kInternal, stopped_after(s.max_steps), {}};
}

// A store, or what a condition kept from being done.
void count_step(State& s) { count_steps(s, 1); }

// What filling it takes, before there is any.
void count_memory(State& s, const std::vector<int64_t>& extents) {
  int64_t elements = 1;
  for (const int64_t extent : extents)
    if (extent <= 0 || __builtin_mul_overflow(elements, extent, &elements)) return;
  count_steps(s, elements / kElementsOfAStep);
}

struct StoreCode final : StmtCode {
  Subscripts at;
  ExprPtr value, pred;
  Arrival arrival;
  StoreCode(Subscripts subscripts, ExprPtr v, ExprPtr p, Arrival a)
      : at(std::move(subscripts)), value(std::move(v)), pred(std::move(p)), arrival(a) {}
  void run(State& s) const override {
    s.forget();
    if (pred && !pred->eval(s).i) return;
    Sources sources(s, arrival);
    const Value v = value->eval(s);
    const int64_t offset = at.offset(s);
    sources.store(*s.memories[at.memory()], offset, v);
    count_step(s);
  }
};

// All lanes are evaluated before the first one is written.
struct VectorStoreCode final : StmtCode {
  Subscripts at;
  ExprPtr value, pred;
  int lanes;
  Arrival arrival;
  VectorStoreCode(Subscripts subscripts, ExprPtr v, ExprPtr p, int n, Arrival a)
      : at(std::move(subscripts)), value(std::move(v)), pred(std::move(p)), lanes(n), arrival(a) {}
  void run(State& s) const override {
    s.forget();
    struct Lane {
      int64_t offset;
      Value value;
    };
    std::vector<Lane> writes;
    writes.reserve(static_cast<size_t>(lanes));
    Sources sources(s, arrival);
    for (int lane = 0; lane < lanes; ++lane) {
      s.next_lane(lane);
      if (pred && !pred->eval(s).i) continue;
      const Value v = value->eval(s);
      writes.push_back({at.offset(s), v});
    }
    s.lane = 0;
    for (const Lane& w : writes) sources.store(*s.memories[at.memory()], w.offset, w.value);
    count_step(s);
  }
};

struct ForCode final : StmtCode {
  ForNode loop;
  ExprPtr extent;
  ForKind kind;
  StmtPtr body;
  void run(State& s) const override {
    s.forget();
    const int64_t times = extent->eval(s).i;
    const bool parallel = kind == ForKind::kParallel, cooperative = kind == ForKind::kCooperative;
    s.loops.push_back(&loop);
    if (parallel) s.tasks.begin_loop();
    for (int64_t n = cooperative ? s.thread : 0; n < times; n += cooperative ? s.threads : 1) {
      if (parallel) s.tasks.begin_iteration();
      s.slots[loop.slot].i = n;
      body->run(s);
    }
    if (parallel) s.tasks.end_loop();
    s.loops.pop_back();
  }
};

struct IfCode final : StmtCode {
  ExprPtr cond;
  StmtPtr then, otherwise;
  void run(State& s) const override {
    s.forget();
    if (cond->eval(s).i) {
      then->run(s);
    } else if (otherwise) {
      otherwise->run(s);
    } else {
      count_step(s);
    }
  }
};

struct SeqCode final : StmtCode {
  std::vector<StmtPtr> stmts;
  void run(State& s) const override {
    for (const StmtPtr& stmt : stmts) stmt->run(s);
  }
};

struct AllocateCode final : StmtCode {
  size_t memory;
  bool shared;  // by the threads of a block: all of them come here
  std::vector<ExprPtr> shape, strides;
  StmtPtr body;
  void run(State& s) const override {
    s.forget();
    std::vector<int64_t> extents, steps;
    for (const ExprPtr& e : shape) extents.push_back(e->eval(s).i);
    for (const ExprPtr& e : strides) steps.push_back(e->eval(s).i);
    count_memory(s, extents);
    if (shared) {
      s.memories[memory]->enter(++s.entered[memory], std::move(extents), std::move(steps));
    } else {
      s.memories[memory]->allocate(std::move(extents), std::move(steps));
    }
    body->run(s);
    if (shared) s.copies.expect_none(s.tasks, s.memories[memory]);
  }
};

struct LetStmtCode final : StmtCode {
  size_t slot;
  int lanes;
  ExprPtr value;
  StmtPtr body;
  void run(State& s) const override {
    s.forget();
    for (int lane = 0; lane < lanes; ++lane) {
      s.next_lane(lane);
      const Value v = value->eval(s);
      s.slots[slot + static_cast<size_t>(lane)] = v;
    }
    s.lane = 0;
    body->run(s);
  }
};

struct EvaluateCode final : StmtCode {
  ExprPtr value;
  void run(State& s) const override {
    s.lane = 0;
    s.forget();
    value->eval(s);
  }
};

}  // namespace

StmtPtr Preparation::stmt(const Stmt& stmt_) {
  return match(
      stmt_,
      [&](const Store& n) -> StmtPtr {
        Subscripts at(*this, n.buffer, n.at);
        const ExprPtr value = expr(n.value), pred = expr(n.pred);
        const int lanes = n.value.type().lanes;
        if (lanes == 1) return std::make_unique<StoreCode>(std::move(at), value, pred, n.arrival);
        return std::make_unique<VectorStoreCode>(std::move(at), value, pred, lanes, n.arrival);
      },
      [&](const For& n) -> StmtPtr {
        has_parallel_ |= runs_concurrently(n.kind);
        if (is_device_index(n.kind)) return launch_code(*this, n);
        auto code = std::make_unique<ForCode>();
        code->loop = {n.var.name(), slot_of(n.var, 1)};
        code->extent = expr(n.extent);
        code->kind = n.kind;
        code->body = stmt(n.body);
        return code;
      },
      [&](const If& n) -> StmtPtr {
        auto code = std::make_unique<IfCode>();
        code->cond = expr(n.cond);
        code->then = stmt(n.then);
        if (n.otherwise) code->otherwise = stmt(n.otherwise);
        return code;
      },
      [&](const Seq& n) -> StmtPtr {
        auto code = std::make_unique<SeqCode>();
        for (const Stmt& s : n.stmts) code->stmts.push_back(stmt(s));
        return code;
      },
      [&](const Allocate& n) -> StmtPtr {
        auto code = std::make_unique<AllocateCode>();
        code->memory = memory_of(n.buffer);
        code->shared = n.buffer.scope() == Scope::kShared;
        for (const Expr& extent : n.buffer.shape()) code->shape.push_back(expr(extent));
        for (const Expr& stride : n.buffer.strides()) code->strides.push_back(expr(stride));
        code->body = stmt(n.body);
        return code;
      },
      [&](const LetStmt& n) -> StmtPtr {
        auto code = std::make_unique<LetStmtCode>();
        code->lanes = n.var.type().lanes;
        code->slot = slot_of(n.var, code->lanes);
        code->value = expr(n.value);
        code->body = stmt(n.body);
        return code;
      },
      [&](const Evaluate& n) -> StmtPtr {
        auto code = std::make_unique<EvaluateCode>();
        code->value = expr(n.value);
        return code;
      },
      [&](const Sync& n) -> StmtPtr { return sync_code(*this, n); });
}

}  // namespace tw::ir::interp
