// The emitter's state: IR of one program -> one llvm::Module. Private to codegen/llvm.
//
// How to read it: emit_module.cc drives; emit_stmt.cc, emit_parallel.cc and emit_scratch.cc make control flow;
// emit_expr.cc, emit_cast.cc and emit_integer.cc make values; emit_memory.cc, emit_turned.cc and emit_interleaved.cc
// make loads and stores; emit_tiles.cc makes products of whole tiles; emit_descriptor.cc makes the constant data beside
// the code. Values: index is i64, bool is i1 (i8 in memory), float16 and bfloat16 are their 16 bits.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "codegen/device_code.h"
#include "codegen/llvm/debug_lines.h"
#include "codegen/llvm/lane_places.h"
#include "codegen/llvm/signed_dots.h"
#include "src/ir/interval.h"
#include "src/ir/typing.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// The names are valid (kernel_name.h checks them) and differ; the programs are verified and lowered.
std::unique_ptr<llvm::Module> emit_module(llvm::LLVMContext& context, std::span<const ir::Program> programs,
                                          const Target& target, const llvm::DataLayout& layout,
                                          std::span<const SourceText> texts);

// The host's part of kernels for a device, and its code as data (emit_launches.cc).
std::unique_ptr<llvm::Module> emit_device_module(llvm::LLVMContext& context, const DeviceCode& code, const Target& host,
                                                 const Target& device, const llvm::DataLayout& layout);
llvm::Constant* emit_image(llvm::Module& module, const DeviceCode& code);

struct Memory {
  llvm::Value* address = nullptr;
  llvm::Align align{1};           // of the address
  llvm::MDNode* scope = nullptr;  // alias facts; null for memory that LLVM sees to be private
  llvm::MDNode* noalias = nullptr;
  int64_t elements = 0;      // that are surely there; 0 when unknown
  bool slot = false;         // in the entry block, private to the function
  int part = 0;              // of a slot: lanes of a register, where no access may be wider; 0: any
  bool nontemporal = false;  // of an output: whole vectors may be stored past the caches
};

// A tile in a register, and where it lies in memory: a Load.
struct HeldTile {
  ir::Expr tile;
  int number;
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const Target& target, DebugLines* lines);  // `lines`: null without line tables
  void emit_kernel(const ir::Program& program);
  void emit_descriptor(const ir::Program& program, const Target& target);
  void emit_stub(const ir::Program& program, const runtime::cuda::Plan& plan, llvm::Constant* image);

 private:
  // Rows of sums and left factors, and groups of terms: the rows of right ones.
  struct TileSize {
    int rows, groups;
    bool operator==(const TileSize&) const = default;
  };
  enum class TileRole { kSums, kLeft, kRight };
  // Registers of tiles: first the sums of what is emitted, then factors, those used last behind.
  struct TileRegisters {
    std::optional<TileSize> size;  // once registers are configured
    bool zero = false;             // the sums of what comes next
    std::vector<ir::Expr> sums;
    std::vector<HeldTile> held;
  };

  // What belongs to the function under construction; a parallel body has its own.
  struct Frame {
    llvm::Function* function = nullptr;
    llvm::Value* context = nullptr;  // const tw_context*
    llvm::Value* data = nullptr;     // of the kernel's arguments
    std::unordered_map<uint64_t, llvm::Value*> vars;
    std::unordered_map<uint64_t, Memory> buffers;
    std::unordered_map<uint64_t, std::pair<llvm::MDNode*, llvm::MDNode*>> alias;  // scope and noalias lists by buffer
    llvm::Value* code = nullptr;                                                  // where the code to return is kept
    llvm::BasicBlock* way_out = nullptr;  // releases what is held, innermost first, and returns the code
    int64_t stack_bytes = 0;
    bool in_parallel = false;
    bool fenced = false;          // whether stores are on their way that a fence must end
    std::optional<ir::Var> loop;  // the innermost around what is emitted
    TileRegisters tiles;
  };

  // Types (emit_expr.cc).
  llvm::Type* value_type(ir::Type type);
  llvm::Type* memory_type(ir::Type type);
  llvm::Value* index(int64_t value) { return b_.getInt64(value); }

  // Statements.
  void emit(const ir::Stmt& stmt);
  void emit_for(const ir::For& loop);
  void emit_if(const ir::If& branch);
  void emit_let(const ir::LetStmt& let);
  llvm::Instruction* emit_counted_loop(llvm::Value* begin, llvm::Value* end, bool known_nonempty,
                                       const ir::For&);  // its branch back
  llvm::MDNode* written_out();
  void emit_parallel(const ir::For& loop);
  llvm::Function* outline(const ir::For& loop, const std::vector<ir::Var>& vars, const std::vector<ir::Buffer>& buffers,
                          llvm::StructType* closure);
  void emit_allocate(const ir::Allocate& alloc);
  llvm::Value* emit_bytes(const ir::Buffer& buffer);
  llvm::Value* emit_extent(const ir::Expr& extent, llvm::Value*& too_large);
  llvm::Value* checked(llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b, llvm::Value*& too_large);
  bool is_slot(const ir::Allocate& alloc) const;  // else it is asked of the context
  void emit_heap_scratch(const ir::Allocate& alloc, llvm::Value* bytes);
  llvm::BasicBlock* release_on_the_way_out(llvm::Value* memory, llvm::BasicBlock* next);
  void leave_if(llvm::Value* failed, llvm::Value* code);
  void begin_function(llvm::Function* function);
  void end_function();
  void declare_alias_scopes(const ir::Stmt& body);
  Memory memory_of(const ir::Buffer& buffer, llvm::Value* address, llvm::Align align);
  llvm::Value* context_field(int field, llvm::Type* type);

  // Launches (emit_launches.cc). Of a piece of scratch the address of its address, and the address.
  using DeviceScratch = std::vector<std::pair<llvm::Value*, llvm::Value*>>;
  void begin_kernel(const ir::Program& program);
  void check_alignment(const runtime::cuda::Plan& plan);
  DeviceScratch emit_device_scratch(const runtime::cuda::Plan& plan);
  void emit_launch(const runtime::cuda::Launch& launch, llvm::Constant* image, const DeviceScratch& scratch);

  // Values.
  llvm::Value* emit(const ir::Expr& expr);
  llvm::Value* emit_uncached(const ir::Expr& expr);
  llvm::Value* emit_constant(ir::Type type, int64_t value);
  llvm::Value* emit_float(ir::Type type, double value);
  llvm::Value* emit_binary(const ir::Binary& binary);
  llvm::Value* emit_arithmetic(ir::BinOp op, ir::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_bits(ir::BinOp op, ir::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_compare(ir::BinOp op, ir::Type type, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_lane_mask(const ir::Binary& compare);  // null when the comparison has another form
  llvm::Value* clamped(llvm::Value* count, int lanes);     // to 0..lanes
  llvm::Value* emit_logical(const ir::Binary& binary);
  llvm::Value* emit_select(const ir::Select& select);
  llvm::Value* emit_long_arm(const ir::Select& select);
  llvm::Value* emit_branches(const ir::Expr& cond, const ir::Expr& yes, const ir::Expr& no);
  llvm::Value* emit_guarded(llvm::Value* mask, const ir::Expr& expr);
  llvm::Value* emit_call(const ir::Call& call, ir::Type type);
  llvm::Value* emit_bit_call(ir::Fn fn, llvm::Value* value);
  llvm::Value* emit_scale(ir::Type type, llvm::Value* value, llvm::Value* times);
  llvm::Value* emit_dot(const ir::Call& call);                                                  // emit_dot.cc
  llvm::Value* emit_dot_of_aarch64(ir::Fn fn, llvm::Value* c, llvm::Value* a, llvm::Value* b);  // null: there is none
  std::optional<OtherSigns> other_signs() const;
  llvm::Value* emit_dot_of_x86(ir::Fn fn, llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* part(llvm::Value* vector, int i, int parts);
  llvm::Value* emit_dot_of_pairs(ir::Fn fn, llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_dot_of_words(ir::Fn fn, llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* terms_of_lanes(llvm::Value* rows, const ir::DotForm& form, int (ir::DotForm::*at)(int, int) const);
  llvm::Value* repeated(llvm::Value* group, int lanes, llvm::Type* word);
  llvm::Value* emit_dot_bytes(ir::Fn fn, llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_dot_to_odd(int group, llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* bfloats(llvm::Value* vector, int group, int j, llvm::Type* floats);
  llvm::Value* sum_to_odd(llvm::Value* a, llvm::Value* b);
  llvm::Value* to_odd(llvm::Value* doubles, llvm::Type* floats);
  llvm::Value* rounded_or_zero(llvm::Value* doubles, llvm::Type* floats);
  llvm::Value* emit_dot_bfloats(llvm::Value* c, llvm::Value* a, llvm::Value* b);
  llvm::Value* every(llvm::Value* vector, int group, int first);
  llvm::Value* flushed(llvm::Value* floats);
  llvm::Value* emit_extern(const ir::CallExtern& call, ir::Type type);  // emit_extern.cc
  llvm::Value* emit_address(const ir::Address& address);
  llvm::Value* emit_prefetch(const ir::Call& call);
  llvm::Value* emit_broadcast(const ir::Broadcast& broadcast);
  llvm::Value* emit_ramp(const ir::Ramp& ramp);
  llvm::Value* emit_cast(ir::Type to, const ir::Expr& value);
  llvm::Value* emit_saturated(ir::Type to, ir::Type from, llvm::Value* value);
  llvm::Value* emit_half_cast(ir::Type to, ir::Type from, llvm::Value* value);
  llvm::Value* as_computed(llvm::Value* value);
  llvm::Value* emit_division(const ir::Binary& binary);
  llvm::Value* emit_nonnegative_division(const ir::Binary& binary, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_constant_division(const ir::Binary& binary, llvm::Value* a, int64_t divisor);
  llvm::Value* emit_checked_division(const ir::Binary& binary, llvm::Value* a, llvm::Value* b);

  // Memory.
  llvm::Value* emit_load(const ir::Load& load, ir::Type type);
  void emit_store(const ir::Store& store);
  llvm::Value* emit_scalar_load(const Memory& memory, ir::Type type, const ir::Expr& at, llvm::Value* mask);
  bool in_parts(const Memory& memory, ir::Type type, const llvm::Value* mask) const;
  llvm::Value* emit_block_load(const Memory& memory, ir::Type type, llvm::Value* base, int64_t base_multiple,
                               llvm::Value* mask);
  bool shuffled(const LanePlaces&) const;
  llvm::Value* emit_digit_load(const ir::Load& load, ir::Type type, const WithinDigit&);
  llvm::Value* emit_near_load(const Memory& memory, ir::Type type, const LanePlaces&, llvm::Value* mask,
                              llvm::Value* read);
  llvm::Value* mask_of_places(const LanePlaces&, llvm::Value* mask);
  llvm::Value* emit_rows_load(const Memory& memory, ir::Type type, const ir::Expr& at);
  int few_apart(const ir::Ramp& ramp, ir::Type type) const;
  llvm::Value* emit_strided_load(const Memory& memory, ir::Type type, llvm::Value* base, int stride);
  bool gathers(ir::Type element) const;
  llvm::Value* emit_lanes_load(const Memory& memory, ir::Type type, llvm::Value* places, llvm::Value* mask);
  llvm::Value* emit_gather(const Memory& memory, ir::Type type, const ir::Expr& at, llvm::Value* mask);
  void emit_scalar_store(const Memory& memory, const ir::Store& store);
  void emit_block_store(const Memory& memory, ir::Type type, llvm::Value* base, int64_t base_multiple,
                        llvm::Value* value, llvm::Value* mask);
  bool emit_nontemporal_store(const Memory& memory, ir::Type type, llvm::Value* at, llvm::Align align,
                              llvm::Value* value);  // emit_nontemporal.cc
  void emit_fence();
  llvm::Value* address(const Memory& memory, ir::Type element, llvm::Value* at);
  llvm::Value* addresses(const Memory& memory, ir::Type element, const ir::Expr& at);
  llvm::Value* load_mask(const ir::Expr& pred, int lanes);
  llvm::Value* from_memory(ir::Type type, llvm::Value* value);
  llvm::Value* to_memory(ir::Type type, llvm::Value* value);
  llvm::Value* any_lane(llvm::Value* mask);
  llvm::Value* emit_slot_load(const Memory& memory, ir::Type type, llvm::Value* base, llvm::Value* at,
                              llvm::Align align, llvm::Value* mask);
  bool emit_slot_store(const Memory& memory, llvm::Value* base, llvm::Value* at, llvm::Align align, llvm::Value* value,
                       llvm::Value* mask);
  bool inside_slot(const Memory& memory, llvm::Value* base, int lanes) const;
  void mark(llvm::Instruction* access, const Memory& memory);
  bool may_fault(const ir::Expr& expr);
  bool surely_inside(const Memory& memory, const ir::Expr& at) const;

  // Products of whole tiles (emit_tiles.cc).
  bool calls_others(const ir::Stmt& stmt) const;
  bool begins_tiles(const ir::Stmt& stmt) const;
  void with_tiles(const ir::Stmt& stmt, const std::function<void()>& inside);
  std::optional<TileSize> size_of_tiles(const ir::Stmt& stmt) const;
  llvm::Constant* tile_configuration(TileSize size);
  void move_tile(llvm::Intrinsic::ID instruction, int number, const ir::Expr& tile, int columns);
  llvm::Value* tile_number(int number);
  std::pair<int, int> registers_for(TileRole role) const;
  int free_tile(TileRole role);
  int held_tile(const ir::Expr& factor, TileRole role);
  void emit_tile_product(const ir::Call& call);
  std::vector<ir::Expr> sums_of(std::span<const ir::Stmt> stmts, const ir::Var* over) const;
  std::vector<ir::Expr> sums_in_front(std::span<const ir::Stmt> stmts) const;
  size_t zeroed_sums(std::span<const ir::Stmt> stmts) const;
  size_t emit_sums(std::span<const ir::Stmt> stmts);
  void begin_sums(std::vector<ir::Expr> sums);
  void end_sums();
  void move_sums(llvm::Intrinsic::ID instruction);

  // Tiles that are turned in registers (emit_turned.cc).
  void emit_sequence(std::span<const ir::Stmt> stmts);
  int tile_of(std::span<const ir::Stmt> stmts) const;
  void emit_tile(std::span<const ir::Stmt> stmts);
  std::vector<llvm::Value*> emit_columns(const ir::Expr& first, int count);
  std::vector<llvm::Value*> turned(std::vector<llvm::Value*> rows, int element_bytes);

  // Stores side by side (emit_interleaved.cc).
  std::vector<std::vector<ir::Stmt>> interleaved_of(std::span<const ir::Stmt> stmts) const;
  void emit_interleaved(std::span<const ir::Stmt> stmts);
  std::vector<llvm::Value*> in_turn(std::vector<llvm::Value*> values, int lanes);

  llvm::Value* splat(llvm::Value* scalar, int lanes) { return b_.CreateVectorSplat(lanes, scalar); }
  llvm::BasicBlock* block(const char* name);

  // While it lives, instructions are of that statement's line.
  class OnLineOf {
   public:
    OnLineOf(Emitter& emitter, const ir::Stmt& stmt) : b_(emitter.b_), outer_(b_.getCurrentDebugLocation()) {
      if (emitter.lines_) b_.SetCurrentDebugLocation(emitter.lines_->of(stmt, emitter.frame_.function));
    }
    ~OnLineOf() { b_.SetCurrentDebugLocation(outer_); }
    OnLineOf(const OnLineOf&) = delete;

   private:
    llvm::IRBuilder<>& b_;
    llvm::DebugLoc outer_;
  };

  // Values of the statement that is being emitted, by node. A branch arm and a guard open a level that ends with them.
  struct CacheLevel {
    Emitter& emitter;
    size_t mark;
    explicit CacheLevel(Emitter& e) : emitter(e), mark(e.cached_.size()) {}
    ~CacheLevel() { emitter.forget(mark); }
  };
  void forget(size_t mark);

  llvm::Module& module_;
  llvm::LLVMContext& c_;
  llvm::IRBuilder<> b_;
  const Target& target_;
  DebugLines* lines_;
  Frame frame_;
  ir::Bounds bounds_;
  llvm::Value* guard_ = nullptr;  // vector of i1: lanes whose loads are wanted; null: all
  std::unordered_map<const ir::ExprNode*, llvm::Value*> cache_;
  std::vector<ir::Expr> cached_;  // keeps them: no other node may come to lie where one of these does
  std::unordered_map<const ir::ExprNode*, bool> may_fault_;
  std::string kernel_name_;
  bool has_tiles_ = false;            // some statement of the kernel is a product of tiles
  std::vector<std::string> externs_;  // of the kernel, in the order of its table
};

}  // namespace tw::codegen
