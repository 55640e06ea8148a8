// What printer and parser share: the words of GRAMMAR.md.
#pragma once

#include <string_view>
#include <unordered_map>

#include "tensorwright/ir.h"

namespace tw::ir {

// On which line of to_string's text each statement stands, from 1.
std::unordered_map<const StmtNode*, int> statement_lines(const Program&);

// Of names and of numbers; what a name goes on with is either.
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// How tightly an operator binds; higher is tighter.
enum Precedence : int {
  kLoosest,
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompare,
  kBitLevel,
  kShift,
  kSum,
  kProduct,
  kTightest
};

struct Infix {
  std::string_view text;
  BinOp op;
  Precedence level;
};
inline constexpr Infix kInfixes[] = {
    {"or", BinOp::kOr, kOrLevel},      {"and", BinOp::kAnd, kAndLevel},  {"==", BinOp::kEq, kCompare},
    {"!=", BinOp::kNe, kCompare},      {"<", BinOp::kLt, kCompare},      {"<=", BinOp::kLe, kCompare},
    {">", BinOp::kGt, kCompare},       {">=", BinOp::kGe, kCompare},     {"|", BinOp::kBitOr, kBitLevel},
    {"^", BinOp::kBitXor, kBitLevel},  {"&", BinOp::kBitAnd, kBitLevel}, {"<<", BinOp::kShl, kShift},
    {">>", BinOp::kShr, kShift},       {"+", BinOp::kAdd, kSum},         {"-", BinOp::kSub, kSum},
    {"*", BinOp::kMul, kProduct},      {"/", BinOp::kDiv, kProduct},     {"//", BinOp::kFloorDiv, kProduct},
    {"%", BinOp::kFloorMod, kProduct},
};

// Operators that are written as functions.
struct Prefix {
  std::string_view text;
  BinOp op;
};
inline constexpr Prefix kPrefixes[] = {
    {"min", BinOp::kMin}, {"max", BinOp::kMax}, {"truncdiv", BinOp::kTruncDiv}, {"truncmod", BinOp::kTruncMod}};

struct ReduceName {
  std::string_view text;
  ReduceOp op;
};
inline constexpr ReduceName kReduceNames[] = {
    {"sum", ReduceOp::kSum}, {"prod", ReduceOp::kProd}, {"min", ReduceOp::kMin}, {"max", ReduceOp::kMax}};

inline constexpr std::string_view kForKinds[] = {
    "serial",     "parallel",  "vectorized", "unrolled",  "cooperative", "blockIdx.x",  "blockIdx.y",
    "blockIdx.z", "cluster.x", "cluster.y",  "cluster.z", "threadIdx.x", "threadIdx.y", "threadIdx.z"};
inline constexpr std::string_view kSyncOps[] = {"block", "cluster", "commit", "wait"};
inline constexpr std::string_view kArrivals[] = {"now", "later", "ldg", "cp.async"};
inline constexpr std::string_view kTails[] = {"none", "guard", "mask", "peel", "shift_inward", "auto", "pad"};
inline constexpr std::string_view kScopes[] = {"argument", "global", "shared", "warp", "local"};

// The suffix of a constant: 3i32, 2.5f64. Constants without one are index and float32.
struct Suffix {
  std::string_view text;
  Type type;
};
inline constexpr Suffix kSuffixes[] = {
    {"i4", Type::i(4)},   {"u4", Type::u(4)},     {"i8", Type::i(8)},   {"i16", Type::i(16)}, {"i32", Type::i(32)},
    {"i64", Type::i(64)}, {"u8", Type::u(8)},     {"u16", Type::u(16)}, {"u32", Type::u(32)}, {"u64", Type::u(64)},
    {"f16", Type::f(16)}, {"bf16", Type::bf16()}, {"f32", Type::f(32)}, {"f64", Type::f(64)}};

bool is_identifier(std::string_view);  // letters, digits, _ and inner dots: i, acc_1, A.local, i.o
bool is_reserved(std::string_view);    // has a meaning of its own, so no name

}  // namespace tw::ir
