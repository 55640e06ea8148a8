// Loads of one block between two writes are grouped by their address but for a constant.
#include "codegen/llvm/lane_loads.h"

#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAArch64.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tw::codegen {

namespace {

constexpr unsigned kRegisterBits = 128;            // of SVE each such part of a register
constexpr size_t kMostGroups = 64;                 // side by side: each load is compared with all of them
constexpr unsigned kRegisters = 32, kFactors = 8;  // of SVE, the first of which are factors by their lanes

// Products of four bytes or two bfloat16, which lie in the 32 bits of a lane.
bool is_dot(const llvm::User* user) {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  if (!call) return false;
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::aarch64_neon_sdot:
    case llvm::Intrinsic::aarch64_neon_udot:
    case llvm::Intrinsic::aarch64_neon_usdot:
    case llvm::Intrinsic::aarch64_neon_bfdot:
      return true;
    default:
      return false;
  }
}

// The byte that is turned in all bytes, as signed_dots.h turns their first bits; none where it is no such.
std::optional<uint8_t> turned_by(const llvm::User* user) {
  const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(user);
  const auto* by = binary && binary->getOpcode() == llvm::Instruction::Xor
                       ? llvm::dyn_cast<llvm::Constant>(binary->getOperand(1))
                       : nullptr;
  const llvm::Constant* each = by && by->getType()->isVectorTy() ? by->getSplatValue() : nullptr;
  const auto* bits = llvm::dyn_cast_or_null<llvm::ConstantInt>(each);
  if (!bits || !bits->getValue().isSplat(8)) return {};
  return static_cast<uint8_t>(bits->getValue().trunc(8).getZExtValue());
}

// Whether its bytes, as they are or turned, are factors of dot products and nothing else.
bool is_in_dots(const llvm::User* user) {
  if (is_dot(user)) return true;
  if (!llvm::isa<llvm::BitCastInst>(user) && !turned_by(user)) return false;
  return !user->use_empty() && llvm::all_of(user->users(), is_in_dots);
}

bool multiplies(const llvm::User* user, const llvm::Value* factor) {
  if (llvm::isa<llvm::BitCastInst>(user) || turned_by(user)) return is_in_dots(user);
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(user);
  if (call && call->getIntrinsicID() == llvm::Intrinsic::fma) return call->getArgOperand(2) != factor;
  const auto* binary = llvm::dyn_cast<llvm::BinaryOperator>(user);
  if (!binary) return false;
  const bool of_lanes = binary->getType()->getScalarSizeInBits() != 64;  // integers of 64 bits have no such product
  return binary->getOpcode() == llvm::Instruction::FMul || (binary->getOpcode() == llvm::Instruction::Mul && of_lanes);
}

// An element that only multiplies, and the vectors that hold nothing else.
struct Element {
  llvm::LoadInst* load;
  llvm::Instruction* value;  // what was loaded, or a half of it as a float
  std::vector<llvm::ShuffleVectorInst*> splats;
};

// What is converted to a wider float and not used otherwise.
llvm::Instruction* widened(llvm::LoadInst& load) {
  auto* only = load.hasOneUse() ? llvm::dyn_cast<llvm::FPExtInst>(load.user_back()) : nullptr;
  return only && only->getParent() == load.getParent() ? only : nullptr;
}

std::optional<Element> element_of(llvm::Instruction& instruction) {
  auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
  if (!load || !load->isSimple() || load->use_empty()) return {};
  llvm::Type* type = load->getType();
  const unsigned bits = type->getScalarSizeInBits();
  if (type->isVectorTy() || type->isPointerTy() || bits < 16 || kRegisterBits % bits != 0) return {};
  llvm::Instruction* wide = widened(*load);
  Element element{load, wide ? wide : load, {}};
  for (llvm::User* user : element.value->users()) {
    if (multiplies(user, element.value)) continue;
    const auto* placed = llvm::dyn_cast<llvm::InsertElementInst>(user);
    const auto* lane = placed ? llvm::dyn_cast<llvm::ConstantInt>(placed->getOperand(2)) : nullptr;
    if (!lane || !lane->isZero() || !llvm::isa<llvm::UndefValue>(placed->getOperand(0))) return {};
    for (const llvm::User* vector : placed->users()) {
      auto* splat = llvm::dyn_cast<llvm::ShuffleVectorInst>(vector);
      if (!splat || !splat->isZeroEltSplat()) return {};
      for (const llvm::User* product : splat->users())
        if (!multiplies(product, splat)) return {};
      element.splats.push_back(const_cast<llvm::ShuffleVectorInst*>(splat));
    }
  }
  if (element.splats.empty()) return {};
  return element;
}

// Elements of one type, by their distance in bytes from the first that was met.
struct Group {
  llvm::LoadInst* first;
  llvm::Type* type;  // as factors
  std::map<int64_t, Element> at;
};

// Of SVE's vectors, where the function knows it; 0 where it has none.
unsigned vector_bits(const llvm::Function& function) {
  const llvm::Attribute range = function.getFnAttribute(llvm::Attribute::VScaleRange);
  return range.isValid() ? kRegisterBits * range.getVScaleRangeMin() : 0;
}

class Block {
 public:
  Block(llvm::BasicBlock& block, llvm::ScalarEvolution& evolution)
      : block_(block), evolution_(evolution), sve_bits_(vector_bits(*block.getParent())) {}

  bool run() {
    std::vector<Group> groups;
    for (llvm::Instruction& instruction : llvm::make_early_inc_range(block_)) {
      if (instruction.mayWriteToMemory()) join_all(groups);
      if (std::optional<Element> element = element_of(instruction)) add(groups, std::move(*element));
    }
    join_all(groups);
    if (changed_) keep_apart();
    return changed_;
  }

 private:
  void add(std::vector<Group>& groups, Element element) {
    const llvm::SCEV* address = evolution_.getSCEV(element.load->getPointerOperand());
    for (Group& group : groups) {
      if (group.first->getType() != element.load->getType() || group.type != element.value->getType()) continue;
      const llvm::SCEV* first = evolution_.getSCEV(group.first->getPointerOperand());
      const auto* distance = llvm::dyn_cast<llvm::SCEVConstant>(evolution_.getMinusSCEV(address, first));
      if (!distance) continue;
      group.at.emplace(distance->getAPInt().getSExtValue(), std::move(element));
      return;
    }
    if (groups.size() == kMostGroups) join_all(groups);
    groups.push_back({element.load, element.value->getType(), {}});
    groups.back().at.emplace(0, std::move(element));
  }

  void join_all(std::vector<Group>& groups) {
    for (const Group& group : groups) join(group);
    groups.clear();
  }

  // Neighbours, as many as a register has, or half of them.
  void join(const Group& group) {
    const int64_t bytes = group.first->getType()->getScalarSizeInBits() / 8;
    const size_t most = kRegisterBits / group.type->getScalarSizeInBits();
    for (auto begin = group.at.begin(); begin != group.at.end();) {
      std::vector<const Element*> elements;
      int64_t next = begin->first;
      auto end = begin;
      for (; end != group.at.end() && end->first == next; ++end, next += bytes) {
        if (elements.size() == most) break;
        elements.push_back(&end->second);
      }
      size_t whole = most;
      while (whole > elements.size()) whole /= 2;
      elements.resize(whole);
      if (whole > 1 && (whole == most || !fills_vectors(elements))) load_together(group, elements, begin->first);
      std::advance(begin, whole);
    }
  }

  // Whether whole vectors of SVE have a float in all lanes: no lane of half a register is a factor of theirs, and a
  // load of all lanes keeps no pipe of the arithmetic busy.
  bool fills_vectors(const std::vector<const Element*>& elements) const {
    return sve_bits_ > kRegisterBits && std::ranges::any_of(elements, [&](const Element* element) {
             return element->value->getType()->isFloatingPointTy() &&
                    std::ranges::any_of(element->splats, [&](const llvm::ShuffleVectorInst* splat) {
                      return splat->getType()->getPrimitiveSizeInBits() == sve_bits_;
                    });
           });
  }

  void load_together(const Group& group, const std::vector<const Element*>& elements, int64_t distance) {
    llvm::IRBuilder<> b(group.first);
    llvm::Value* address =
        b.CreateGEP(b.getInt8Ty(), group.first->getPointerOperand(), b.getInt64(static_cast<uint64_t>(distance)));
    const bool converts = group.type != group.first->getType();
    auto* type = llvm::FixedVectorType::get(group.first->getType(), static_cast<unsigned>(elements.size()));
    llvm::Value* quads = nullptr;
    if (sve_bits_ > kRegisterBits && !converts) quads = multiply_quads(b, group, elements, address);
    llvm::LoadInst* all = nullptr;
    if (!quads) {
      all = b.CreateAlignedLoad(type, address, elements[0]->load->getAlign());
      all->copyMetadata(*elements[0]->load, {llvm::LLVMContext::MD_alias_scope, llvm::LLVMContext::MD_noalias});
    }
    // Sums of fewer columns take theirs from the register that whole vectors do.
    llvm::Value* factors = all;
    if (quads) factors = b.CreateExtractVector(type, quads, b.getInt64(0));
    if (converts) {
      factors = b.CreateFPExt(all, llvm::FixedVectorType::get(group.type, static_cast<unsigned>(elements.size())));
      if (sve_bits_ > kRegisterBits) multiply_quads(b, group, elements, factors);
    }
    for (size_t lane = 0; lane < elements.size(); ++lane) {
      b.SetInsertPoint(elements[lane]->value);
      elements[lane]->value->replaceAllUsesWith(b.CreateExtractElement(factors, lane));
      for (llvm::ShuffleVectorInst* splat : elements[lane]->splats) {
        const auto lanes = llvm::cast<llvm::FixedVectorType>(splat->getType())->getNumElements();
        if (all) turn_together(*all, *splat, lane);
        b.SetInsertPoint(splat);
        splat->replaceAllUsesWith(b.CreateShuffleVector(factors, std::vector<int>(lanes, static_cast<int>(lane))));
      }
    }
    changed_ = true;
  }

  // Elements that are turned are lanes of a register that is turned.
  void turn_together(llvm::LoadInst& all, llvm::ShuffleVectorInst& splat, size_t lane) {
    std::vector<llvm::Instruction*> turned;
    const auto collect = [&](auto&& self, llvm::Value& value) -> void {
      for (llvm::User* user : value.users())
        if (turned_by(user))
          turned.push_back(llvm::cast<llvm::Instruction>(user));
        else if (llvm::isa<llvm::BitCastInst>(user))
          self(self, *user);
    };
    collect(collect, splat);
    for (llvm::Instruction* one : turned) {
      const uint8_t by = *turned_by(one);
      llvm::Value*& whole = turned_[{&all, by}];
      llvm::IRBuilder<> b(all.getNextNode());
      const unsigned bits = all.getType()->getScalarSizeInBits();
      if (!whole)
        whole =
            b.CreateXor(&all, llvm::ConstantInt::get(all.getType(), llvm::APInt::getSplat(bits, llvm::APInt(8, by))));
      b.SetInsertPoint(one);
      const auto lanes = llvm::cast<llvm::FixedVectorType>(splat.getType())->getNumElements();
      llvm::Value* vector = b.CreateShuffleVector(whole, std::vector<int>(lanes, static_cast<int>(lane)));
      one->replaceAllUsesWith(b.CreateBitCast(vector, one->getType()));
    }
  }

  // Sums of whole vectors of SVE, whose products take the same lane of each 128 bits: these hold the elements all.
  // `from`: their address, or a register of them. Gives what holds them, if there are such sums.
  llvm::Value* multiply_quads(llvm::IRBuilder<>& b, const Group& group, const std::vector<const Element*>& elements,
                              llvm::Value* from) {
    const unsigned lanes = kRegisterBits / group.type->getScalarSizeInBits();
    if (!group.type->isFloatingPointTy() || elements.size() != lanes) return nullptr;
    auto* type = llvm::ScalableVectorType::get(group.type, lanes);
    llvm::Value* all = llvm::ConstantVector::getSplat(llvm::ElementCount::getScalable(lanes), b.getTrue());
    llvm::Value* quads = nullptr;
    for (unsigned lane = 0; lane < lanes; ++lane)
      for (llvm::ShuffleVectorInst* splat : elements[lane]->splats) {
        if (splat->getType()->getPrimitiveSizeInBits() != sve_bits_) continue;
        for (llvm::User* user : llvm::make_early_inc_range(splat->users())) {
          auto* product = llvm::dyn_cast<llvm::IntrinsicInst>(user);
          if (!product || product->getIntrinsicID() != llvm::Intrinsic::fma) continue;
          if (!quads && from->getType()->isPointerTy())
            quads = b.CreateIntrinsic(llvm::Intrinsic::aarch64_sve_ld1rq, {type}, {all, from});
          if (!quads) {
            llvm::Value* first = b.CreateInsertVector(type, llvm::PoisonValue::get(type), from, b.getInt64(0));
            quads = b.CreateIntrinsic(llvm::Intrinsic::aarch64_sve_dupq_lane, {type}, {first, b.getInt64(0)});
          }
          multiply(*product, *splat, quads, lane);
        }
      }
    return quads;
  }

  // The old product is left without uses.
  void multiply(llvm::IntrinsicInst& product, const llvm::Value& splat, llvm::Value* quads, unsigned lane) {
    llvm::IRBuilder<> b(&product);
    llvm::Type* type = quads->getType();
    const auto whole = [&](llvm::Value* fixed) {
      return b.CreateInsertVector(type, llvm::PoisonValue::get(type), fixed, b.getInt64(0));
    };
    llvm::Value* vectors = product.getArgOperand(product.getArgOperand(0) == &splat ? 1 : 0);
    llvm::Value* sum = b.CreateIntrinsic(llvm::Intrinsic::aarch64_sve_fmla_lane, {type},
                                         {whole(product.getArgOperand(2)), whole(vectors), quads, b.getInt32(lane)});
    product.replaceAllUsesWith(b.CreateExtractVector(product.getType(), sum, b.getInt64(0)));
    changed_ = true;
  }

  // Only the first registers are factors by their lanes; LLVM gives them to others, and loads the factors from the
  // stack again and again. An empty statement has each sum in one of the last registers where an iteration ends, and
  // each vector in one of those between, where all of the first are factors.
  void keep_apart() {
    const unsigned first_sum = keep_sums_apart();
    std::vector<llvm::IntrinsicInst*> products;
    std::set<llvm::Value*> quads;
    for (llvm::Instruction& instruction : block_) {
      auto* product = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!product || product->getIntrinsicID() != llvm::Intrinsic::aarch64_sve_fmla_lane) continue;
      products.push_back(product);
      quads.insert(product->getArgOperand(2));
    }
    if (quads.size() == kFactors && first_sum > kFactors) keep_vectors_apart(products, first_sum - kFactors);
  }

  static void keep_vectors_apart(const std::vector<llvm::IntrinsicInst*>& products, size_t registers) {
    std::map<llvm::Value*, llvm::Value*> kept;  // vectors as they were loaded
    for (llvm::IntrinsicInst* product : products) {
      auto* whole = llvm::dyn_cast<llvm::IntrinsicInst>(product->getArgOperand(1));
      if (!whole || whole->getIntrinsicID() != llvm::Intrinsic::vector_insert) continue;
      llvm::Value*& vector = kept[whole->getArgOperand(1)];
      if (!vector) vector = in_register(llvm::IRBuilder<>(product), whole, kFactors + (kept.size() - 1) % registers);
      product->setArgOperand(1, vector);
    }
  }

  static llvm::Value* in_register(llvm::IRBuilder<> b, llvm::Value* value, size_t number) {
    auto* type = llvm::FunctionType::get(value->getType(), {value->getType()}, false);
    const std::string name = letter_of(*value->getType()) + std::to_string(number);
    return b.CreateCall(type, llvm::InlineAsm::get(type, "", "={" + name + "},0", false), {value});
  }

  // The letter of registers that hold the type; 0 for none.
  static char letter_of(const llvm::Type& type) {
    if (llvm::isa<llvm::ScalableVectorType>(type)) return 'z';
    switch (type.getPrimitiveSizeInBits().getFixedValue()) {
      case 16:
        return 'h';
      case 32:
        return 's';
      case 64:
        return 'd';
      case kRegisterBits:
        return 'q';
      default:
        return 0;
    }
  }

  // The first register that is a sum's.
  unsigned keep_sums_apart() {
    unsigned number = kRegisters;
    for (llvm::PHINode& carried : block_.phis()) {
      if (number == kFactors || carried.getBasicBlockIndex(&block_) < 0) break;
      auto* fixed = llvm::dyn_cast<llvm::IntrinsicInst>(carried.getIncomingValueForBlock(&block_));
      if (!fixed || fixed->getIntrinsicID() != llvm::Intrinsic::vector_extract) continue;
      auto* sum = llvm::dyn_cast<llvm::IntrinsicInst>(fixed->getArgOperand(0));
      if (!sum || sum->getIntrinsicID() != llvm::Intrinsic::aarch64_sve_fmla_lane) continue;
      fixed->setArgOperand(0, in_register(llvm::IRBuilder<>(fixed), sum, --number));
    }
    return number < kRegisters ? keep_narrow_sums_apart(number) : number;
  }

  // Those of the last columns, which are no whole vector: below `number`.
  unsigned keep_narrow_sums_apart(unsigned number) {
    for (llvm::PHINode& carried : block_.phis()) {
      if (number == kFactors || carried.getBasicBlockIndex(&block_) < 0) break;
      if (!carried.getType()->isFPOrFPVectorTy() || letter_of(*carried.getType()) == 0) continue;
      auto* sum = llvm::dyn_cast<llvm::IntrinsicInst>(carried.getIncomingValueForBlock(&block_));
      if (!sum || sum->getIntrinsicID() != llvm::Intrinsic::fma || sum->getParent() != &block_) continue;
      llvm::Value* kept = in_register(llvm::IRBuilder<>(sum->getNextNode()), sum, --number);
      sum->replaceUsesWithIf(kept, [&](const llvm::Use& use) { return use.getUser() != kept; });
    }
    return number;
  }

  std::map<std::pair<llvm::LoadInst*, uint8_t>, llvm::Value*> turned_;  // what was loaded, turned
  llvm::BasicBlock& block_;
  llvm::ScalarEvolution& evolution_;
  const unsigned sve_bits_;
  bool changed_ = false;
};

}  // namespace

llvm::PreservedAnalyses LaneLoadsPass::run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
  auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
  bool changed = false;
  for (llvm::BasicBlock& block : function) changed = Block(block, evolution).run() || changed;
  return changed ? llvm::PreservedAnalyses::none() : llvm::PreservedAnalyses::all();
}

}  // namespace tw::codegen
