// The IR: small, closed, immutable, shared.
//
// Fifteen expression kinds and eight statement kinds. A node's fields are written once, in fields(); printing, hashing,
// equality and traversal are derived from it. Handles (Expr, Stmt, Var, Buffer) are values; they share immutable nodes
// and may be used from several threads. Identity of a Var or Buffer is its id; its name is for people.
//
// Two kinds of integers, never mixed:
//   index   TypeCode::kIndex, 64 bits, over integers that do not overflow: loop variables, extents, subscripts.
//           Division of indices is kFloorDiv / kFloorMod (or the truncating forms where the user wrote them).
//   data    bool, int8..64, uint8..64, float16, bfloat16, float32, float64: two's-complement wrap, IEEE arithmetic.
// Cast is the only way from one to the other.
//
// Meaning that every consumer (interpreter, simplifier, LLVM) shares:
//   x / 0 and x % 0 of integers are 0;  MIN / -1 wraps to MIN, MIN % -1 is 0.
//   min(a, b) = a < b ? a : b,  max(a, b) = a > b ? a : b   (so a NaN in either operand yields b).
//   Shift amounts are taken modulo the width.  And / Or / Select evaluate no load of an operand that they do not need.
//   Float to integer casts truncate, saturate at the ends of the type, and give 0 for NaN. Integer narrowing wraps.
//   float16 and bfloat16 arithmetic rounds (nearest, ties to even) after each operation computed in float32.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "tensorwright/error.h"

namespace tw::ir {

// ----------------------------------------------------------------------------------------------------------------
// types

// kE4M3 (float8_e4m3fn), kE5M2 (float8_e5m2), kInt and kUInt of 4 bits are storage types: values of them are converted,
// never calculated with. kHandle is the type of Address: what an extern function takes as a pointer.
enum class TypeCode : uint8_t { kBool, kInt, kUInt, kFloat, kBFloat, kIndex, kE4M3, kE5M2, kHandle };

struct Type {
  TypeCode code = TypeCode::kFloat;
  uint8_t bits = 32;
  uint16_t lanes = 1;

  auto operator<=>(const Type&) const = default;

  static constexpr Type boolean(int lanes = 1) { return {TypeCode::kBool, 1, static_cast<uint16_t>(lanes)}; }
  static constexpr Type index(int lanes = 1) { return {TypeCode::kIndex, 64, static_cast<uint16_t>(lanes)}; }
  static constexpr Type i(int bits, int lanes = 1) {
    return {TypeCode::kInt, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  }
  static constexpr Type u(int bits, int lanes = 1) {
    return {TypeCode::kUInt, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  }
  static constexpr Type f(int bits, int lanes = 1) {
    return {TypeCode::kFloat, static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  }
  static constexpr Type bf16(int lanes = 1) { return {TypeCode::kBFloat, 16, static_cast<uint16_t>(lanes)}; }
  static constexpr Type e4m3(int lanes = 1) { return {TypeCode::kE4M3, 8, static_cast<uint16_t>(lanes)}; }
  static constexpr Type e5m2(int lanes = 1) { return {TypeCode::kE5M2, 8, static_cast<uint16_t>(lanes)}; }
  static constexpr Type handle() { return {TypeCode::kHandle, 64, 1}; }

  constexpr bool is_bool() const { return code == TypeCode::kBool; }
  constexpr bool is_index() const { return code == TypeCode::kIndex; }
  constexpr bool is_int() const { return code == TypeCode::kInt; }
  constexpr bool is_uint() const { return code == TypeCode::kUInt; }
  constexpr bool is_float() const { return code == TypeCode::kFloat || code == TypeCode::kBFloat; }
  constexpr bool is_float8() const { return code == TypeCode::kE4M3 || code == TypeCode::kE5M2; }
  constexpr bool is_packed() const { return bits == 4; }  // two elements share a byte, the first in its low half
  constexpr bool is_storage() const { return is_float8() || is_packed(); }
  constexpr bool is_handle() const { return code == TypeCode::kHandle; }
  constexpr bool is_half() const { return is_float() && bits == 16; }
  constexpr bool is_integer() const { return is_int() || is_uint() || is_index(); }
  constexpr bool is_scalar() const { return lanes == 1; }
  constexpr Type with_lanes(int n) const { return {code, bits, static_cast<uint16_t>(n)}; }
  constexpr Type element() const { return with_lanes(1); }
  constexpr int bytes() const { return (bits + 7) / 8; }  // of one lane in memory; bool is one byte holding 0 or 1
  constexpr int64_t bytes_of(int64_t elements) const { return is_packed() ? (elements + 1) / 2 : elements * bytes(); }
};

// "bool", "int4", "uint64", "float16", "bfloat16", "float32", "index"; with lanes "float32x16".
std::string to_string(Type);
std::optional<Type> parse_type(std::string_view);

// --------------------------------------------------------------------------------------------------------------
// handles

class Expr;
class Stmt;
struct ExprNode;
struct StmtNode;

struct VarNode {
  uint64_t id;
  std::string name;
  Type type;
};

// A scalar variable: a loop variable (index), a Let, or a scalar parameter.
class Var {
 public:
  Var() = default;
  Var(std::string name, Type type = Type::index());  // a fresh id
  uint64_t id() const { return node_->id; }
  const std::string& name() const { return node_->name; }
  Type type() const { return node_->type; }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Var& other) const {
    return node_ == other.node_ || (node_ && other.node_ && id() == other.id());
  }

 private:
  std::shared_ptr<const VarNode> node_;
};

class Expr {
 public:
  Expr() = default;  // empty: "no predicate", "no else"
  Expr(int value);   // an index constant
  Expr(int64_t value);
  Expr(bool) = delete;  // boolean(value); and `!e` asks whether a handle is empty, logical_not(e) negates
  Expr(const Var& var);
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  ~Expr();
  Expr(const Expr&) = default;
  Expr(Expr&&) noexcept = default;
  Expr& operator=(const Expr&) = default;
  Expr& operator=(Expr&&) noexcept = default;

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode* get() const { return node_.get(); }
  Type type() const;
  uint64_t hash() const;  // structural: free variables by id, bound ones nameless
  bool same_as(const Expr& other) const { return node_ == other.node_; }  // identity; structural equality is ir::equal
  bool shared() const { return node_.use_count() > 1; }                   // somebody else may hold this node too

 private:
  friend struct ExprNode;
  std::shared_ptr<const ExprNode> node_;
};

class Stmt {
 public:
  Stmt() = default;
  explicit Stmt(std::shared_ptr<const StmtNode> node) : node_(std::move(node)) {}
  ~Stmt();
  Stmt(const Stmt&) = default;
  Stmt(Stmt&&) noexcept = default;
  Stmt& operator=(const Stmt&) = default;
  Stmt& operator=(Stmt&&) noexcept = default;

  explicit operator bool() const { return node_ != nullptr; }
  const StmtNode& operator*() const { return *node_; }
  const StmtNode* operator->() const { return node_.get(); }
  const StmtNode* get() const { return node_.get(); }
  uint64_t hash() const;
  bool same_as(const Stmt& other) const { return node_ == other.node_; }
  bool shared() const { return node_.use_count() > 1; }

 private:
  std::shared_ptr<const StmtNode> node_;
};

// Where a buffer lives, by rank: the higher, the closer to those who compute. kArgument: memory of the caller. kGlobal:
// scratch from the context (any size, shared by the threads of a parallel loop that stands inside the allocation).
// kShared: of the threads of one block of a device. kWarp: of the lanes of a warp, in their registers; no program has
// it, as a schedule's loops make kLocal of it. kLocal: private to one thread; registers or stack while small.
enum class Scope : uint8_t { kArgument, kGlobal, kShared, kWarp, kLocal };
inline constexpr Scope kScratchScopes[] = {Scope::kLocal, Scope::kWarp, Scope::kShared, Scope::kGlobal};
inline bool is_private(Scope scope) { return scope >= Scope::kLocal; }  // to one of those who run concurrently
std::string to_string(Scope);                                           // "local"
std::optional<Scope> scratch_scope_named(std::string_view);             // of kScratchScopes

struct BufferNode {
  uint64_t id;
  std::string name;
  Type element;               // lanes == 1
  std::vector<Expr> shape;    // index expressions
  std::vector<Expr> strides;  // in elements; empty means compact row-major
  Scope scope = Scope::kArgument;
  std::shared_ptr<const void> origin;  // the te operation that defines it, kept alive; null below te
};

class Buffer {
 public:
  Buffer() = default;
  // A fresh id.
  Buffer(std::string name, Type element, std::vector<Expr> shape, Scope scope, std::vector<Expr> strides = {});
  // A handle with a given identity (te rebuilds handles to its outputs; the parser and renaming use it too).
  explicit Buffer(BufferNode node) : node_(std::make_shared<const BufferNode>(std::move(node))) {}
  static uint64_t fresh_id();

  uint64_t id() const { return node_->id; }
  const std::string& name() const { return node_->name; }
  Type element() const { return node_->element; }
  const std::vector<Expr>& shape() const { return node_->shape; }
  const std::vector<Expr>& strides() const { return node_->strides; }
  Scope scope() const { return node_->scope; }
  size_t rank() const { return node_->shape.size(); }
  const BufferNode* operator->() const { return node_.get(); }
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const Buffer& other) const {
    return node_ == other.node_ || (node_ && other.node_ && id() == other.id());
  }

 private:
  std::shared_ptr<const BufferNode> node_;
};

// ----------------------------------------------------------------------------------------------------------
// expressions

// clang-format off: a table
enum class BinOp : uint8_t {
  kAdd, kSub, kMul,
  kDiv,                   // floats only
  kFloorDiv, kFloorMod,   // integers: rounds towards minus infinity; the result of mod has the divisor's sign
  kTruncDiv, kTruncMod,   // integers: C's / and %
  kMin, kMax,
  kEq, kNe, kLt, kLe, kGt, kGe,        // -> bool
  kAnd, kOr,                           // bool
  kBitAnd, kBitOr, kBitXor, kShl, kShr // data integers; kShr is arithmetic for int, logical for uint; kBitXor of indices too
};
// clang-format on

// Functions of data values. The transcendental ones are gone after the pass `intrinsics`.
// clang-format off: a table
enum class Fn : uint8_t {
  kExp, kLog, kTanh, kSigmoid, kErf, kPow,
  kSqrt, kRsqrt, kAbs, kFloor, kCeil, kRound /* nearest, ties to even */, kTrunc,
  kFma,          // fma(a, b, c), one rounding; formed by the user or by the pass fma
  kReinterpret,  // same width, other type
  kSin, kCos, kTan, kAtan, kLog2, kExp2, kLog10, kExpm1, kLog1p, kCbrt,
  kTF32,             // of float32: the nearest of 11 bits, ties away from zero
  kScale,            // of floats: x * 2^n, rounded once; n is whole and of x's type; formed by lowering
  kPopcount, kClz,   // of data integers, of their own type; clz(0) is the width
  kIsNan, kIsInf,    // -> bool
  // Dot products of a `tensorize` intrinsic: f(c, a, b) with n lanes of c and 4n (2n) of a and b.
  kDotU8I8,      // int32 c, uint8 a, int8 b:  c[i] + sum over j of a[4i+j] * b[4i+j], wraps           (vpdpbusd)
  kDotU8I8Sat,   // the same where each sum of two neighbouring products saturates to int16            (vpmaddubsw, vpmaddwd)
  kDotBF16,      // float32 c, bfloat16 a, b:  c[i] + a[2i+1] * b[2i+1] + a[2i] * b[2i] (vdpbf16ps); its rounding stands in docs/semantics.md
  kDotI8I8,      // kDotU8I8 with int8 a  (sdot)
  kDotU8U8,      // and with uint8 a and b (udot)
  kDotBF16Odd,   // float32 c, bfloat16 a, b:  c[i] + (a[2i] * b[2i] + a[2i+1] * b[2i+1]), as bfdot rounds; docs/semantics.md too
  // Matrices: 4 lanes of c, which are 2 x 2, from 2 rows of a and 2 of b:  c[2i+j] + the sum over k of a[i, k] * b[j, k]
  kMatI8I8,      // int32 c, rows of 8 int8                                                                (smmla)
  kMatBF16Odd,   // float32 c, rows of 4 bfloat16: kDotBF16Odd of the first two, then of the others        (bfmmla)
  // Tiles: 16 x 16 of c, from 16 rows of a and 16 rows of b, 64 bytes each; a row of b has the terms of 16 columns that
  // belong together. Rows of c and a may be fewer, and groups of terms. Only as the whole of what a Store stores.
  kTileBF16,     // float32 c, bfloat16:  c[i, j] + the sum over k and p of a[i, k, p] * b[k, j, p], pairs (tdpbf16ps); docs/semantics.md too
  kTileU8I8,     // int32 c, uint8 a, int8 b, fours: wraps                                                 (tdpbusd)
  kTileI8I8,     // and with int8 a                                                                        (tdpbssd)
  kPrefetch,     // kPrefetch(Address): into the first cache; no value, only in Evaluate
  kPrefetchL2,   // into the second
};
// clang-format on

// kCustom: by the Combiner of the node.
enum class ReduceOp : uint8_t { kSum, kProd, kMin, kMax, kCustom };

// An associative and commutative function of tuples (argmax, Welford, ...): results over the components lhs and rhs.
struct Combiner {
  std::string name;
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity;
};

// clang-format off: a table
struct IntImm   { int64_t value;                            auto fields() const { return std::tie(value); } };  // of any integer type or bool; uint64 by bit pattern
struct FloatImm { double value;                             auto fields() const { return std::tie(value); } };  // already rounded to the node's type
struct VarRef   { Var var;                                  auto fields() const { return std::tie(var); } };
struct Cast     { Expr value;                               auto fields() const { return std::tie(value); } };  // to the node's type
struct Binary   { BinOp op; Expr a, b;                      auto fields() const { return std::tie(op, a, b); } };
struct Not      { Expr a;                                   auto fields() const { return std::tie(a); } };
struct Select   { Expr cond, yes, no;                       auto fields() const { return std::tie(cond, yes, no); } };
struct Load     { Buffer buffer; std::vector<Expr> at; Expr pred;  // pred: empty, or lanes that are false read nothing and give 0
                                                            auto fields() const { return std::tie(buffer, at, pred); } };
struct Call     { Fn fn; std::vector<Expr> args;            auto fields() const { return std::tie(fn, args); } };
struct Ramp     { Expr base, stride; int lanes;             auto fields() const { return std::tie(base, stride, lanes); } };
struct Broadcast{ Expr value; int lanes;                    auto fields() const { return std::tie(value, lanes); } };
struct Let      { Var var; Expr value, body;                auto fields() const { return std::tie(var, value, body); } };

struct ReduceAxis { Var var; Expr min, extent;              auto fields() const { return std::tie(var, min, extent); } };
// Only in te; naive_program and scheduling turn it into init and update. Component `value` of a reduction of tuples: the
// bodies of one operation hold the same reduction with different components. Points where `where` (may be empty) is false are
// left out; `init` (may be empty, else one for each component) stands in the identity's place.
struct Reduce   { ReduceOp op; std::vector<Expr> sources; std::vector<ReduceAxis> axes; Expr where; std::vector<Expr> init; int value = 0;
                  std::shared_ptr<const Combiner> combiner; // of kCustom
                                                            auto fields() const { return std::tie(op, sources, axes, where, init, value); } };
// A C function, by symbol, of scalar arguments and addresses. Not pure: it may write through the addresses that are `written`.
struct CallExtern { std::string symbol; std::vector<Expr> args; bool pure;
                                                            auto fields() const { return std::tie(symbol, args, pure); } };
// The address of an element; only as an argument of CallExtern and kPrefetch. What the callee may do with the buffer from there on.
struct Address  { Buffer buffer; std::vector<Expr> at; bool read, written;
                                                            auto fields() const { return std::tie(buffer, at, read, written); } };
// clang-format on

// What is rare and large, kept apart: it would make every node as large.
template <class K>
class Boxed {
 public:
  Boxed(K kind) : kind_(std::make_shared<const K>(std::move(kind))) {}
  const K& operator*() const { return *kind_; }
  auto fields() const { return kind_->fields(); }

 private:
  std::shared_ptr<const K> kind_;
};
template <class K>
inline constexpr bool kIsBoxed = false;
template <>
inline constexpr bool kIsBoxed<Reduce> = true;

template <class K>
const K& unboxed(const K& kind) {
  return kind;  // NOLINT(bugprone-return-const-ref-from-parameter): of a node, which lives on
}
template <class K>
const K& unboxed(const Boxed<K>& kind) {
  return *kind;
}

using ExprKind = std::variant<IntImm, FloatImm, VarRef, Cast, Binary, Not, Select, Load, Call, Ramp, Broadcast, Let,
                              Boxed<Reduce>, CallExtern, Address>;

struct ExprNode {
  Type type;
  uint64_t hash;
  uint64_t skeleton;  // the hash with every variable and buffer known by its type only: the same after renaming
  ExprKind kind;
  ExprNode(Type t, ExprKind k);  // computes the hashes
};

// -----------------------------------------------------------------------------------------------------------
// statements

// kBlock*, kThread*: the indices of a device. Loops of these kinds stand directly within each other, blocks outside of
// threads, each kind at most once, within no other loop: the outermost is a launch. Its body runs once for each point,
// all points at once, each in its own order; threads of one block meet at a Sync, blocks never do. kCooperative: within
// a launch; the threads of a block share the iterations, iteration n is thread n's modulo their number.
enum class ForKind : uint8_t {
  kSerial,
  kParallel,
  kVectorized,
  kUnrolled,
  kCooperative,
  kBlockX,
  kBlockY,
  kBlockZ,
  kClusterX,
  kClusterY,
  kClusterZ,
  kThreadX,
  kThreadY,
  kThreadZ,
};
// kCluster..: of blocks as well, all of which are a cluster: they run at once, and may copy to each other's shared
// memory.
inline bool is_block(ForKind kind) { return kind >= ForKind::kBlockX && kind <= ForKind::kClusterZ; }
inline bool is_cluster(ForKind kind) { return kind >= ForKind::kClusterX && kind <= ForKind::kClusterZ; }
inline bool is_thread(ForKind kind) { return kind >= ForKind::kThreadX; }
inline bool is_device_index(ForKind kind) { return kind >= ForKind::kBlockX; }
// Of a device's index, whichever it is of: 0 for x.
inline int dimension_of(ForKind kind) { return (static_cast<int>(kind) - static_cast<int>(ForKind::kBlockX)) % 3; }
// Whether iterations may run at once, on threads of their own.
inline bool runs_concurrently(ForKind kind) { return kind == ForKind::kParallel || kind >= ForKind::kCooperative; }

// kBlock: every thread of a block waits here for all others, and then sees what they wrote.
// kCluster: the same of all threads of the blocks of a cluster.
// kCommit: what the thread began to store `later` since its last kCommit is a group. kWait: the thread waits until all
// of its groups but the last `count` have arrived; others see them after a kBlock behind that.
enum class SyncOp : uint8_t { kBlock, kCluster, kCommit, kWait };
inline bool is_barrier(SyncOp op) { return op <= SyncOp::kCluster; }

// When what is stored is there. kNow: before the next statement. The others are asynchronous: at any time until a kWait
// that covers it; nobody touches the element until then, nor changes what the value reads. kLater: in any way that the
// device has; kByRegisters: read now, stored when the next store may be; kByCopy: by a copy of the device's own.
enum class Arrival : uint8_t { kNow, kLater, kByRegisters, kByCopy };

// What the pass `tails` does with the guards that a loop's split brought about. kNone: this loop came from no uneven
// split.
enum class Tail : uint8_t { kNone, kGuard, kMask, kPeel, kShiftInward, kAuto, kPad };

// clang-format off: a table
struct Store    { Buffer buffer; std::vector<Expr> at; Expr value; Expr pred;  // pred: empty, or lanes that are false write nothing
                  Arrival arrival = Arrival::kNow;          // another: of shared memory, within a launch
                                                            auto fields() const { return std::tie(buffer, at, value, pred, arrival); } };
struct For      { Var var; Expr extent; ForKind kind; Tail tail; Stmt body;     // var runs over 0..extent
                                                            auto fields() const { return std::tie(var, extent, kind, tail, body); } };
struct If       { Expr cond; Stmt then, otherwise;          auto fields() const { return std::tie(cond, then, otherwise); } };  // otherwise may be empty
struct Seq      { std::vector<Stmt> stmts;                  auto fields() const { return std::tie(stmts); } };  // no statement: nothing happens
struct Allocate { Buffer buffer; Stmt body;                 auto fields() const { return std::tie(buffer, body); } };  // contents unwritten at entry
struct LetStmt  { Var var; Expr value; Stmt body;           auto fields() const { return std::tie(var, value, body); } };
struct Evaluate { Expr value;                               auto fields() const { return std::tie(value); } };  // a CallExtern or a prefetch, for its effect
struct Sync     { SyncOp op; int64_t count = 0;             auto fields() const { return std::tie(op, count); } };  // only within a launch
// clang-format on

using StmtKind = std::variant<Store, For, If, Seq, Allocate, LetStmt, Evaluate, Sync>;

struct StmtNode {
  uint64_t hash;
  uint64_t skeleton;
  StmtKind kind;
  explicit StmtNode(StmtKind k);
};

// A kernel. Parameters are the caller's buffers, in the order of the argument list; `written` ones are outputs. Scalars
// come after them in the ABI, by address: those that the user passes, then the variables of symbolic extents (index),
// whose values the caller's shapes give.
struct Param {
  Param();
  Param(Buffer buffer, bool written = false, std::string layout = {},
        std::optional<std::pair<int64_t, int64_t>> range = {});
  TW_DECLARE_VALUE(Param);

  Buffer buffer;
  bool written = false;
  std::string
      layout;  // of an input that is packed outside of the kernel: how, as text; the buffer has the packed shape
  std::optional<std::pair<int64_t, int64_t>> range;  // the caller's promise: every value is in it
  bool nontemporal = false;  // of an output: nobody reads it soon, so stores may go past the caches
  Buffer declared;           // 4-bit integers of the caller, once the pass int4 has made bytes of them in `buffer`
  const Buffer& outside() const { return declared ? declared : buffer; }  // as the caller has it
  auto fields() const { return std::tie(buffer, written, layout, range, nontemporal); }
};
struct Program {
  Program();
  Program(std::string name, std::vector<Param> params, Stmt body, std::vector<Var> scalars = {},
          std::vector<int> places = {});
  TW_DECLARE_VALUE(Program);

  std::string name;
  std::vector<Param> params;
  Stmt body;
  std::vector<Var> scalars;
  std::vector<int> places;  // of the scalars that the user passes, which come first: how many params stand before each
};

// ----------------------------------------------------------------------------------------------------------------
// match

template <class... Fs>
struct Overload : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overload(Fs...) -> Overload<Fs...>;

// match(e, [&](const Binary& b) {...}, [&](const Load& l) {...}, ...);   a forgotten kind does not compile.
template <class... Fs>
decltype(auto) match(const Expr& e, Fs&&... fs) {
  Overload of_kind{std::forward<Fs>(fs)...};
  return std::visit([&](const auto& kind) -> decltype(auto) { return of_kind(unboxed(kind)); }, e->kind);
}
template <class... Fs>
decltype(auto) match(const Stmt& s, Fs&&... fs) {
  return std::visit(Overload{std::forward<Fs>(fs)...}, s->kind);
}

// as<Binary>(e): a pointer, or null when e is empty or of another kind.
template <class K>
const K* as(const Expr& e) {
  if constexpr (kIsBoxed<K>) {
    const auto* box = e ? std::get_if<Boxed<K>>(&e->kind) : nullptr;
    return box ? &**box : nullptr;
  } else {
    return e ? std::get_if<K>(&e->kind) : nullptr;
  }
}
template <class K>
const K* as(const Stmt& s) {
  return s ? std::get_if<K>(&s->kind) : nullptr;
}

// ---------------------------------------------------------------------------------------------------------
// construction
//
// These build exactly the node that is asked for (no folding: that is simplify's business) and TW_CHECK the typing
// rules of verify.h. Promotion of mixed operands is te's business (te/promote.h).

Expr int_imm(Type, int64_t value);   // wraps to the type; broadcasts when lanes > 1
Expr float_imm(Type, double value);  // rounds to the type
Expr imm(Type, double value);        // whichever fits the type
Expr zero(Type);                     // of types of storage too, which have no constants
Expr boolean(bool value);
Expr cast(Type, Expr);  // the same expression when it has that type already
Expr binary(BinOp, Expr a, Expr b);
Expr logical_not(Expr);
Expr select(Expr cond, Expr yes, Expr no);
Expr load(Buffer, std::vector<Expr> at, Expr pred = {});  // lanes: the widest of the subscripts'
Expr call(Fn, std::vector<Expr> args);                    // type of the first argument
Expr reinterpret(Type, Expr);
Expr ramp(Expr base, Expr stride, int lanes);
Expr broadcast(Expr value, int lanes);  // the same expression when lanes == 1
Expr let(Var, Expr value, Expr body);
Expr reduce(ReduceOp, Expr source, std::vector<ReduceAxis>);
Expr reduce(Reduce);
Expr identity_of(ReduceOp, Type);  // 0, 1, +inf or the largest value, -inf or the smallest value; not of kCustom
Expr combine(ReduceOp, Expr a, Expr b);
std::vector<Expr> identity_of(const Reduce&);  // one for each component, `init` not asked
std::vector<Expr> combine(const Reduce&, const std::vector<Expr>& a, const std::vector<Expr>& b);
Expr call_extern(Type, std::string symbol, std::vector<Expr> args, bool pure = false);
Expr address_of(Buffer, std::vector<Expr> at, bool read, bool written);
Expr type_min(Type);  // the smallest finite value of a data type (bool: false)
Expr type_max(Type);

Stmt store(Buffer, std::vector<Expr> at, Expr value, Expr pred = {}, Arrival = Arrival::kNow);
Stmt loop(Var, Expr extent, Stmt body, ForKind = ForKind::kSerial, Tail = Tail::kNone);
Stmt if_then(Expr cond, Stmt then, Stmt otherwise = {});
Stmt seq(std::vector<Stmt>);  // flattens nested sequences; one statement stays itself
Stmt allocate(Buffer, Stmt body);
Stmt let_stmt(Var, Expr value, Stmt body);
Stmt evaluate(Expr);
Stmt sync(SyncOp, int64_t count = 0);

// Operators for code inside the compiler: operands must have one type (an int literal takes the other's type).
Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
Expr operator&&(Expr a, Expr b);
Expr operator||(Expr a, Expr b);
Expr floordiv(Expr a, Expr b);
Expr floormod(Expr a, Expr b);
Expr min(Expr a, Expr b);
Expr max(Expr a, Expr b);
Expr eq(Expr a, Expr b);
Expr ne(Expr a, Expr b);

std::optional<int64_t> as_int(const Expr&);  // the value of an integer constant (scalar, or a broadcast of one)
inline bool is_int(const Expr& e, int64_t value) { return as_int(e) == value; }

// Rounds a double to the nearest value of a float type (ties to even), as every consumer of the IR does.
double round_to(Type, double);

// The text of an expression, statement or program, as GRAMMAR.md defines it; parse gives it back.
std::string to_string(const Expr&);
std::string to_string(const Stmt&);
std::string to_string(const Program&);

}  // namespace tw::ir
