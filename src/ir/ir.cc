// Handles and nodes: identity, hashes, and destruction without recursion.
#include "tensorwright/ir.h"

#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <functional>

namespace tw::ir {
namespace {

std::atomic<uint64_t> next_id{1};

uint64_t mix(uint64_t h, uint64_t value) {
  h ^= value + 0x9e3779b97f4a7c15 + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccd;
  return h ^ (h >> 32);
}

uint64_t type_bits(Type t) {
  return static_cast<uint64_t>(t.code) << 32 | static_cast<uint64_t>(t.bits) << 16 | t.lanes;
}

// The two hashes of a node, from its fields.
struct Hashes {
  uint64_t full, skeleton;

  void add(uint64_t value) { full = mix(full, value), skeleton = mix(skeleton, value); }
  void operator()(const Expr& e) {
    full = mix(full, e ? e->hash : 0);
    skeleton = mix(skeleton, e ? e->skeleton : 0);
  }
  void operator()(const Stmt& s) {
    full = mix(full, s ? s->hash : 0);
    skeleton = mix(skeleton, s ? s->skeleton : 0);
  }
  void operator()(const Var& v) {
    full = mix(full, v.id());
    skeleton = mix(skeleton, type_bits(v.type()));
  }
  void operator()(const Buffer& b) {
    full = mix(full, b.id());
    skeleton = mix(skeleton, type_bits(b.element()));
  }
  void operator()(const std::string& text) { add(std::hash<std::string>()(text)); }
  void operator()(double value) { add(std::isnan(value) ? 1 : std::bit_cast<uint64_t>(value)); }
  void operator()(const ReduceAxis& axis) { bound(axis.var), (*this)(axis.min), (*this)(axis.extent); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    add(list.size());
    for (const T& item : list) (*this)(item);
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void operator()(T value) {
    add(static_cast<uint64_t>(value));
  }

  // What is bound here, and all that stands in its scope, counts without names.
  void bound(const Var& v) { add(type_bits(v.type())); }
  void scoped(const Expr& e) { add(e->skeleton); }
  void scoped(const Stmt& s) { add(s->skeleton); }

  void node(const Let& let) { bound(let.var), (*this)(let.value), scoped(let.body); }
  void node(const Reduce& r) {
    (*this)(r.op), (*this)(r.axes), (*this)(r.init), add(static_cast<uint64_t>(r.value));
    for (const Expr& source : r.sources) scoped(source);
    if (r.where) scoped(r.where);
    if (!r.combiner) return;
    for (const Expr& result : r.combiner->result) scoped(result);
    (*this)(r.combiner->identity);
  }
  void node(const For& f) { bound(f.var), (*this)(f.extent), (*this)(f.kind), (*this)(f.tail), scoped(f.body); }
  void node(const LetStmt& let) { bound(let.var), (*this)(let.value), scoped(let.body); }
  void node(const Allocate& a) { add(type_bits(a.buffer.element())), (*this)(a.buffer.shape()), scoped(a.body); }
  template <class K>
  void node(const K& kind) {
    std::apply([&](const auto&... field) { ((*this)(field), ...); }, kind.fields());
  }
};

template <class Kind>
Hashes hashes_of(uint64_t seed, const Kind& kind) {
  Hashes h{mix(seed, kind.index()), mix(seed, kind.index())};
  std::visit([&](const auto& k) { h.node(unboxed(k)); }, kind);
  return h;
}

// A chain of nodes is as deep as the user likes; destroying its head must not recurse as deep. Past kDepth nested
// destructors, nodes are handed to the outermost one, which drops them one by one.
template <class Node>
struct Graveyard {
  static constexpr int kDepth = 200;
  static thread_local int depth;
  static thread_local std::vector<std::shared_ptr<const Node>>* waiting;

  static void bury(std::shared_ptr<const Node>& node) {
    if (depth >= kDepth) {
      waiting->push_back(std::move(node));
      return;
    }
    std::vector<std::shared_ptr<const Node>> mine;
    if (depth == 0) waiting = &mine;
    ++depth;
    node.reset();
    while (depth == 1 && !mine.empty()) {
      const std::shared_ptr<const Node> next = std::move(mine.back());
      mine.pop_back();
    }
    --depth;
  }
};
template <class Node>
thread_local int Graveyard<Node>::depth = 0;
template <class Node>
thread_local std::vector<std::shared_ptr<const Node>>* Graveyard<Node>::waiting = nullptr;

constexpr int64_t kSmallest = -8, kLargest = 128;  // index constants that are made once

Expr make_index(int64_t value) { return Expr(std::make_shared<const ExprNode>(Type::index(), IntImm{value})); }

}  // namespace

Var::Var(std::string name, Type type)
    : node_(std::make_shared<const VarNode>(VarNode{Buffer::fresh_id(), std::move(name), type})) {}

uint64_t Buffer::fresh_id() { return next_id.fetch_add(1, std::memory_order_relaxed); }

Buffer::Buffer(std::string name, Type element, std::vector<Expr> shape, Scope scope, std::vector<Expr> strides)
    : Buffer(BufferNode{fresh_id(), std::move(name), element, std::move(shape), std::move(strides), scope, nullptr}) {}

Expr::Expr(int value) : Expr(static_cast<int64_t>(value)) {}

Expr::Expr(int64_t value) {
  static const std::vector<Expr> small = [] {
    std::vector<Expr> made;
    for (int64_t v = kSmallest; v <= kLargest; ++v) made.push_back(make_index(v));
    return made;
  }();
  *this = value >= kSmallest && value <= kLargest ? small[static_cast<size_t>(value - kSmallest)] : make_index(value);
}

Expr::Expr(const Var& var) : node_(std::make_shared<const ExprNode>(var.type(), VarRef{var})) {}

Expr::~Expr() {
  if (node_.use_count() == 1) Graveyard<ExprNode>::bury(node_);
}

Stmt::~Stmt() {
  if (node_.use_count() == 1) Graveyard<StmtNode>::bury(node_);
}

Type Expr::type() const { return node_->type; }
uint64_t Expr::hash() const { return node_->hash; }
uint64_t Stmt::hash() const { return node_->hash; }

static_assert(sizeof(ExprNode) <= 96, "a kind that is larger than the others is boxed");

ExprNode::ExprNode(Type t, ExprKind k) : type(t), kind(std::move(k)) {
  const Hashes h = hashes_of(type_bits(t), kind);
  hash = h.full;
  skeleton = h.skeleton;
}

StmtNode::StmtNode(StmtKind k) : kind(std::move(k)) {
  const Hashes h = hashes_of(0x5717, kind);
  hash = h.full;
  skeleton = h.skeleton;
}

TW_DEFINE_VALUE(Param);
Param::Param() = default;
Param::Param(Buffer b, bool w, std::string packing, std::optional<std::pair<int64_t, int64_t>> values)
    : buffer(std::move(b)), written(w), layout(std::move(packing)), range(values) {}

TW_DEFINE_VALUE(Program);
Program::Program() = default;
Program::Program(std::string n, std::vector<Param> p, Stmt s, std::vector<Var> v, std::vector<int> at)
    : name(std::move(n)), params(std::move(p)), body(std::move(s)), scalars(std::move(v)), places(std::move(at)) {}

}  // namespace tw::ir
