#include "codegen/llvm/take_turns.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/Analysis/AliasAnalysis.h>
#include <llvm/Analysis/MemoryLocation.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

namespace tw::codegen {

namespace {

constexpr int kLongChain = 12;  // steps, each of which waits for one before it: more than a window of 3 x 3 has
constexpr size_t kMostInstructions = 2000;
constexpr size_t kShort = 64;  // instructions of a chain that keeps so few values that registers hold those of four

using Instructions = std::vector<llvm::Instruction*>;

bool is_step(const llvm::Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction))
    return call->getIntrinsicID() == llvm::Intrinsic::fma;
  return llvm::isa<llvm::BinaryOperator>(instruction) && instruction.getType()->isFPOrFPVectorTy();
}

// What may change its place: arithmetic, and plain loads and stores.
bool moves(const llvm::Instruction& instruction) {
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isSimple();
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->isSimple();
  return !llvm::isa<llvm::PHINode>(instruction) && !llvm::isa<llvm::AllocaInst>(instruction) &&
         !instruction.isTerminator() && !instruction.mayReadOrWriteMemory() && !instruction.mayHaveSideEffects();
}

// A run of instructions that may change their places, by the stores that they are for.
class Run {
 public:
  Run(const Instructions& run, int vector_bits, llvm::AAResults& aliases)
      : run_(run), vector_bits_(vector_bits), aliases_(aliases) {
    for (size_t i = 0; i < run.size(); ++i) place_[run[i]] = i;
  }

  // Another order of them; empty: none is better.
  Instructions in_turns() {
    for (llvm::Instruction* instruction : run_)
      if (llvm::isa<llvm::StoreInst>(instruction)) chains_.push_back(chain_of(instruction));
    bool any = false;
    for (size_t i = 0, count = 1; i < chains_.size(); i += count) {
      const size_t most = chains_[i].size() <= kShort ? 4 : 2;
      for (count = 1; count < most && i + count < chains_.size() && alike(chains_[i], chains_[i + count]);) ++count;
      any = any || count > 1;
      size_t steps = 0;
      for (size_t c = 0; c < count; ++c) steps = std::max(steps, chains_[i + c].size());
      for (size_t step = 0; step < steps; ++step)
        for (size_t c = 0; c < count; ++c)
          if (step < chains_[i + c].size()) emit(chains_[i + c][step]);
    }
    for (llvm::Instruction* instruction : run_) emit(instruction);
    return any && keeps_memory() ? order_ : Instructions{};
  }

 private:
  // The store and what no store before it needs, in their order.
  Instructions chain_of(llvm::Instruction* store) {
    Instructions chain, open = {store};
    while (!open.empty()) {
      llvm::Instruction* next = open.back();
      open.pop_back();
      if (!taken_.insert(next).second) continue;
      chain.push_back(next);
      for (llvm::Value* operand : next->operands())
        if (auto* in = llvm::dyn_cast<llvm::Instruction>(operand); in && place_.contains(in)) open.push_back(in);
    }
    std::ranges::sort(chain, {}, [&](llvm::Instruction* i) { return place_.at(i); });
    return chain;
  }

  bool alike(const Instructions& a, const Instructions& b) const {
    return is_long(a) && is_long(b) && a.size() <= 2 * b.size() && b.size() <= 2 * a.size();
  }

  // Of vectors that are registers: halves of wider ones take turns already.
  bool is_long(const Instructions& chain) const {
    llvm::DenseMap<const llvm::Value*, int> steps;
    int most = 0;
    for (const llvm::Instruction* instruction : chain) {
      const llvm::Type* type = instruction->getType();
      if (type->getPrimitiveSizeInBits().getKnownMinValue() > static_cast<uint64_t>(vector_bits_)) return false;
      int before = 0;
      for (const llvm::Value* operand : instruction->operands()) before = std::max(before, steps.lookup(operand));
      steps[instruction] = before + (type->isVectorTy() && is_step(*instruction));
      most = std::max(most, steps[instruction]);
    }
    return most >= kLongChain;
  }

  // Behind what it needs.
  void emit(llvm::Instruction* instruction) {
    Instructions open = {instruction};
    while (!open.empty()) {
      llvm::Instruction* next = open.back();
      const size_t before = open.size();
      if (!emitted_.contains(next))
        for (llvm::Value* operand : next->operands())
          if (auto* in = llvm::dyn_cast<llvm::Instruction>(operand);
              in && place_.contains(in) && !emitted_.contains(in))
            open.push_back(in);
      if (open.size() > before) continue;
      open.pop_back();
      if (emitted_.insert(next).second) order_.push_back(next);
    }
  }

  // Whether what changed places with a store is elsewhere.
  bool keeps_memory() const {
    Instructions accesses;
    for (llvm::Instruction* instruction : order_)
      if (instruction->mayReadOrWriteMemory()) accesses.push_back(instruction);
    for (size_t i = 0; i < accesses.size(); ++i)
      for (size_t j = i + 1; j < accesses.size(); ++j) {
        if (place_.at(accesses[i]) < place_.at(accesses[j])) continue;
        if (llvm::isa<llvm::LoadInst>(accesses[i]) && llvm::isa<llvm::LoadInst>(accesses[j])) continue;
        if (!aliases_.isNoAlias(llvm::MemoryLocation::get(accesses[i]), llvm::MemoryLocation::get(accesses[j])))
          return false;
      }
    return true;
  }

  const Instructions& run_;
  const int vector_bits_;
  llvm::AAResults& aliases_;
  llvm::DenseMap<const llvm::Instruction*, size_t> place_;
  llvm::DenseSet<const llvm::Instruction*> taken_, emitted_;
  std::vector<Instructions> chains_;
  Instructions order_;
};

}  // namespace

llvm::PreservedAnalyses TakeTurnsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  llvm::AAResults& aliases = analyses.getResult<llvm::AAManager>(function);
  for (llvm::BasicBlock& block : function) {
    Instructions run;
    const auto behind = [&](llvm::BasicBlock::iterator next) {
      if (run.size() > 1 && run.size() <= kMostInstructions)
        for (llvm::Instruction* instruction : Run(run, vector_bits_, aliases).in_turns())
          instruction->moveBefore(block, next);
      run.clear();
    };
    for (auto at = block.begin(); at != block.end(); ++at) {
      if (moves(*at))
        run.push_back(&*at);
      else
        behind(at);
    }
  }
  return llvm::PreservedAnalyses::none();
}

}  // namespace tw::codegen
