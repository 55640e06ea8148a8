// What C and CUDA C++ write alike: values and plain statements of lowered programs, in which every value is a scalar.
//
// emit_stmt.cc writes statements; emit_expr.cc, emit_integer.cc and emit_literal.cc write values. What stands around
// them, and what a language has for loops, memory and calls, is for those derived: codegen/c/file_emitter.h and
// codegen/cuda/emitter.h.
//
// An expression is written in place, with no more parentheses and casts than C needs. What has no place in an
// expression (a let, a subexpression that is used often) becomes a declaration before the statement: the prelude. What
// must not be evaluated when its arm is not taken gets an `if` there.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/c/helpers.h"
#include "codegen/c/names.h"
#include "src/ir/interval.h"
#include "src/ir/sharing.h"
#include "tensorwright/ir.h"

namespace tw::codegen {

// How tightly C's operators bind; higher is tighter.
enum CLevel : int {
  kAnyLevel,
  kTernary,
  kLogicalOr,
  kLogicalAnd,
  kBitwiseOr,
  kBitwiseXor,
  kBitwiseAnd,
  kEquality,
  kRelation,
  kShifts,
  kAdditive,
  kMultiplicative,
  kUnary,
  kPostfix
};

// What the place of an expression needs of it. kLow: of an integer narrower than int only its low bits, so that sums
// and products need no cast on the way. kTruth: whether it is 0.
enum class Need { kValue, kLow, kTruth };

struct CText {
  std::string text;
  int level = kPostfix;
  // A 64-bit integer that C knows as one. A small constant or a widened int is an int in C, with the same value: good
  // beside a 64-bit operand, but not for arithmetic of its own.
  bool wide = true;
};

class CEmitter {
 public:
  // `function` stands before the little functions; `short_indices`: what is known to fit is an int, not an int64_t.
  explicit CEmitter(const std::string& function = "static inline", bool short_indices = false)
      : helpers_(function), short_indices_(short_indices) {}
  virtual ~CEmitter() = default;

 protected:
  // Values.
  CText emit(const ir::Expr& expr, Need need = Need::kValue);
  CText emit_uncached(const ir::Expr& expr, Need need);
  std::string in(const ir::Expr& expr, int level, Need need = Need::kValue);  // in parentheses when it binds less
  std::string argument(const ir::Expr& expr) { return emit(expr).text; }
  CText emit_constant(ir::Type type, int64_t value) const;
  CText emit_real(ir::Type type, double value);
  CText emit_binary(const ir::Binary& binary, ir::Type type, Need need);
  CText emit_min_max(const ir::Binary& binary, ir::Type type);
  CText emit_infix(const ir::Binary& binary, Need need);
  CText emit_logical(const ir::Binary& binary);
  CText emit_shift(const ir::Binary& binary, Need need);
  CText emit_division(const ir::Binary& binary);
  CText emit_careful_division(const ir::Binary& binary, ir::Type type);  // where C's own has another meaning
  CText emit_select(const ir::Select& select, Need need);
  CText emit_choice(const ir::Expr& cond, const ir::Expr& yes, const ir::Expr& no, Need need, bool is_long = false);
  CText emit_cast(ir::Type to, const ir::Expr& value, Need need);
  virtual std::string half_cast(ir::Type from, ir::Type to) { return helpers_.half_cast(from, to); }  // a function
  CText emit_call(const ir::Call& call, ir::Type type);
  CText emit_load(const ir::Load& load, ir::Type type, Need need);
  CText emit_let(const ir::Let& let, Need need);
  virtual CText emit_extern(const ir::CallExtern& call, ir::Type type) = 0;
  virtual std::string access(const ir::Buffer& buffer, const std::vector<ir::Expr>& at);
  std::string call_text(const std::string& function, const std::vector<ir::Expr>& args);
  CText narrowed(ir::Type type, CText value, Need need) const;  // an int as the narrow integer that it stands for
  CText widened(ir::Type type, CText value) const;              // made wide
  bool may_fault(const ir::Expr& expr);
  bool surely_inside(const ir::Load& load) const;

  // Statements.
  void begin_statement(const std::vector<ir::Expr>& roots);
  void emit(const ir::Stmt& stmt);
  void emit_block(const ir::Stmt& stmt);  // between braces that stand already
  virtual void emit_store(const ir::Store& store, bool alone);
  virtual void emit_for(const ir::For& loop) = 0;
  virtual void emit_allocate(const ir::Allocate& alloc) = 0;
  virtual void emit_evaluate(const ir::Expr& value) = 0;
  virtual void emit_sync(const ir::Sync& sync) = 0;
  virtual void begin_branch(const ir::Stmt&) {}  // after the line with the condition
  void emit_lanes(const ir::For& loop);
  void emit_if(const ir::If& branch);
  void emit_let(const ir::LetStmt& let);
  void emit_seq(const ir::Seq& seq);
  // The stages that a loop nest computes, by the names of their buffers; nothing for other statements.
  std::string stages_of(const ir::Stmt& nest) const;
  void bound_loop(const ir::For& loop);
  void declare_elements(const ir::Buffer& buffer);

  // Lines of the function under construction.
  void line(const std::string& text);
  CText declare(ir::Type type, const std::string& name, const CText& value);  // how it is known from there on
  struct Indent {
    CEmitter& emitter;
    explicit Indent(CEmitter& e) : emitter(e) { ++emitter.indent_; }
    ~Indent() { --emitter.indent_; }
  };

  // Names of shared subexpressions. A branch arm opens a level that ends with it.
  struct SharingLevel {
    CEmitter& emitter;
    size_t mark;
    explicit SharingLevel(CEmitter& e) : emitter(e), mark(e.defined_order_.size()) {}
    ~SharingLevel();
  };

  std::vector<std::string> lines_;
  int indent_ = 0;
  CNames names_;
  Helpers helpers_;
  bool short_indices_;
  bool has_prelude_ = false;  // of the statement at hand
  ir::Sharing sharing_;
  std::unordered_map<const ir::ExprNode*, CText> defined_;
  std::vector<const ir::ExprNode*> defined_order_;
  std::unordered_map<const ir::ExprNode*, bool> may_fault_;
  std::unordered_map<uint64_t, int64_t> elements_;  // of buffers in scope, where constant
  std::unordered_set<uint64_t> nameless_;           // buffers that are no stage's
  bool fuses_ = false;                              // whether gcc sees fused multiply-adds
  std::unordered_set<uint64_t> int_vars_;           // int in C
  std::vector<ir::Expr> kept_;                      // made here; the maps above know nodes by address
  ir::Bounds bounds_;
};

}  // namespace tw::codegen
