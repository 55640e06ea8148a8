// The emitter's state: lowered programs -> the text of one C file. Private to codegen/c.
//
// How to read it: emit_file.cc drives and writes what stands around the kernels; emit_stmt.cc, emit_parallel.cc and
// emit_scratch.cc write statements; emit_expr.cc, emit_integer.cc and emit_literal.cc write values. Programs come as
// lanes.h leaves them: every value is a scalar.
//
// An expression is written in place, with no more parentheses and casts than C needs. What has no place in an
// expression (a let, a subexpression that is used often) becomes a declaration before the statement: the prelude. What
// must not be evaluated when its arm is not taken gets an `if` there.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "codegen/c/helpers.h"
#include "codegen/c/names.h"
#include "src/ir/interval.h"
#include "src/ir/sharing.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

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
  // The text of one file with all programs; their names differ.
  std::string file(const std::vector<ir::Program>& programs, const Target& target);

 private:
  // Values.
  CText emit(const ir::Expr& expr, Need need = Need::kValue);
  CText emit_uncached(const ir::Expr& expr, Need need);
  std::string in(const ir::Expr& expr, int level, Need need = Need::kValue);  // in parentheses when it binds less
  std::string argument(const ir::Expr& expr) { return emit(expr).text; }
  CText emit_constant(ir::Type type, int64_t value) const;
  CText emit_real(ir::Type type, double value);
  CText emit_binary(const ir::Binary& binary, ir::Type type, Need need);
  CText emit_infix(const ir::Binary& binary, Need need);
  CText emit_logical(const ir::Binary& binary);
  CText emit_shift(const ir::Binary& binary, Need need);
  CText emit_division(const ir::Binary& binary);
  CText emit_select(const ir::Select& select, Need need);
  CText emit_choice(const ir::Expr& cond, const ir::Expr& yes, const ir::Expr& no, Need need);
  CText emit_cast(ir::Type to, const ir::Expr& value, Need need);
  CText emit_call(const ir::Call& call, ir::Type type);
  CText emit_extern(const ir::CallExtern& call, ir::Type type);
  CText emit_load(const ir::Load& load, ir::Type type, Need need);
  CText emit_let(const ir::Let& let, Need need);
  std::string access(const ir::Buffer& buffer, const std::vector<ir::Expr>& at);
  std::string call_text(const std::string& function, const std::vector<ir::Expr>& args);
  CText narrowed(ir::Type type, CText value, Need need) const;  // an int as the narrow integer that it stands for
  CText widened(ir::Type type, CText value) const;              // made wide
  bool may_fault(const ir::Expr& expr);
  bool surely_inside(const ir::Load& load) const;

  // Statements.
  void begin_statement(const std::vector<ir::Expr>& roots);
  void emit(const ir::Stmt& stmt);
  void emit_block(const ir::Stmt& stmt);  // between braces that stand already
  void emit_store(const ir::Store& store, bool alone);
  void emit_for(const ir::For& loop);
  void emit_lanes(const ir::For& loop);
  void emit_if(const ir::If& branch);
  void emit_let(const ir::LetStmt& let);
  void emit_seq(const ir::Seq& seq);
  void emit_counted_loop(const std::string& begin, const std::string& end, const ir::For& loop);
  void emit_parallel(const ir::For& loop);
  void emit_parallel_body(const ir::For& loop, const std::string& function, const std::string& fields,
                          const std::vector<std::string>& opening);
  void declare_elements(const ir::Buffer& buffer);
  std::string emit_extent(const ir::Expr& extent);
  std::string scratch_type(const ir::Buffer& buffer);
  void emit_evaluate(const ir::Expr& value);
  void emit_allocate(const ir::Allocate& alloc);
  void emit_heap_scratch(const ir::Allocate& alloc, const std::string& bytes);
  void leave_if(const std::string& failed, const std::string& code);
  void bound_loop(const ir::For& loop);

  // Functions and files.
  void emit_kernel(const ir::Program& program);
  void emit_descriptor(const ir::Program& program, const Target& target);
  std::string vector_type(ir::Type element, int lanes);
  std::string pointer(const ir::Buffer& buffer) const;  // to it: "const float*"
  void look_through(const ir::Program& program);        // for written_ and fuses_

  // Lines of the function under construction.
  void line(const std::string& text);
  void declare(ir::Type type, const std::string& name, const std::string& value);
  struct Indent {
    CEmitter& emitter;
    explicit Indent(CEmitter& e) : emitter(e) { ++emitter.indent_; }
    ~Indent() { --emitter.indent_; }
  };

  // What belongs to the function under construction; a parallel body has its own.
  struct Frame {
    std::vector<std::string> held;               // scratch to be released when the function is left, innermost last
    std::map<std::string, std::string> externs;  // C functions that it calls: name and declaration
    int64_t stack_bytes = 0;
    int loops = 0;  // around what is written
    bool in_parallel = false;
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
  std::string functions_;  // finished ones
  Frame frame_;
  CNames names_;
  CNames function_names_;
  Helpers helpers_;
  std::vector<std::pair<std::string, std::string>> vector_types_;  // with GNU C, without
  bool has_prelude_ = false;                                       // of the statement at hand
  ir::Sharing sharing_;
  std::unordered_map<const ir::ExprNode*, std::string> defined_;
  std::vector<const ir::ExprNode*> defined_order_;
  std::unordered_map<const ir::ExprNode*, bool> may_fault_;
  std::unordered_map<uint64_t, int64_t> elements_;  // of buffers in scope, where constant
  std::unordered_set<uint64_t> written_;            // buffers that the program stores to
  std::unordered_set<uint64_t> addressed_;          // whose addresses functions are given
  bool fuses_ = false;                              // whether it has fused multiply-adds
  std::unordered_set<uint64_t> int_vars_;           // lane numbers: int in C
  std::vector<ir::Expr> kept_;                      // made here; the maps above know nodes by address
  ir::Bounds bounds_;
  std::string kernel_name_;
  std::vector<std::string>
      externs_;  // the symbols of the C functions that the program calls, in the order of the table
};

}  // namespace tw::codegen
