// The constant data beside a kernel: what kernel_abi.h calls tw_kernel_descriptor.
#include "codegen/arg_specs.h"
#include "codegen/llvm/emitter.h"
#include "src/runtime/kernel.h"
#include "tensorwright/kernel_abi.h"

namespace tw::codegen {

namespace {

class DescriptorWriter {
 public:
  explicit DescriptorWriter(llvm::Module& module) : module_(module), c_(module.getContext()) {}

  llvm::Constant* u8(uint64_t v) { return llvm::ConstantInt::get(llvm::Type::getInt8Ty(c_), v); }
  llvm::Constant* u32(uint64_t v) { return llvm::ConstantInt::get(llvm::Type::getInt32Ty(c_), v); }
  llvm::PointerType* pointer() { return llvm::PointerType::get(c_, 0); }

  llvm::Constant* data(llvm::Constant* value) {
    return new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value);
  }
  llvm::Constant* text(const std::string& s) { return data(llvm::ConstantDataArray::getString(c_, s)); }
  llvm::Constant* numbers(const std::vector<ir::Expr>& values) {
    if (values.empty()) return llvm::ConstantPointerNull::get(pointer());
    std::vector<uint64_t> constants;
    for (const ir::Expr& value : values) constants.push_back(static_cast<uint64_t>(ir::as_int(value).value_or(-1)));
    return data(llvm::ConstantDataArray::get(c_, constants));
  }
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(pointer()); }
  llvm::Constant* array(const std::vector<llvm::Constant*>& rows) {
    if (rows.empty()) return null();
    return data(llvm::ConstantArray::get(llvm::ArrayType::get(rows[0]->getType(), rows.size()), rows));
  }
  llvm::Constant* scalar(const runtime::ScalarSpec& s) {
    const ir::Type type = s.var.type();
    return llvm::ConstantStruct::getAnon(
        {text(s.var.name()), u8(static_cast<uint64_t>(type.code)), u8(type.bits),
         llvm::ConstantInt::get(llvm::Type::getInt16Ty(c_), static_cast<uint64_t>(s.place), true)});
  }
  llvm::Constant* requirement(const ir::Requirement& r) {
    return llvm::ConstantStruct::getAnon({text(ir::to_string(r.test)), text(r.text)});
  }
  llvm::Constant* texts(const std::vector<std::string>& list) {
    std::vector<llvm::Constant*> rows;
    for (const std::string& s : list) rows.push_back(s.empty() ? null() : text(s));
    return array(rows);
  }
  llvm::Constant* param(const ir::Param& p) {
    const ir::Buffer& buffer = p.outside();
    const ir::Type type = buffer.element();
    return llvm::ConstantStruct::getAnon({text(buffer.name()), u8(static_cast<uint64_t>(type.code)), u8(type.bits),
                                          u8(p.written), u8(buffer.rank()), numbers(buffer.shape()),
                                          numbers(buffer.strides())});
  }

 private:
  llvm::Module& module_;
  llvm::LLVMContext& c_;
};

std::string joined(const std::vector<std::string>& features) {
  std::string text;
  for (const std::string& feature : features) text += (text.empty() ? "" : ",") + feature;
  return text;
}

}  // namespace

void Emitter::emit_descriptor(const ir::Program& program, const Target& target) {
  DescriptorWriter write(module_);
  std::vector<llvm::Constant*> rows;
  for (const ir::Param& param : program.params) rows.push_back(write.param(param));
  std::vector<llvm::Constant*> scalars;
  for (const runtime::ScalarSpec& scalar : scalar_specs(program)) scalars.push_back(write.scalar(scalar));
  std::vector<llvm::Constant*> requirements;
  for (const ir::Requirement& r : numbered_requirements(program)) requirements.push_back(write.requirement(r));
  llvm::Constant* descriptor = llvm::ConstantStruct::getAnon(
      {write.u32(sizeof(tw_kernel_descriptor)), write.u32(TW_ABI_VERSION), write.text(program.name),
       write.text(target.to_string()), write.text(joined(target.features)), write.u32(rows.size()), write.array(rows),
       write.u32(scalars.size()), write.array(scalars), write.texts(extent_texts(program)), write.u32(externs_.size()),
       write.texts(externs_), write.texts(layout_texts(program)), write.texts(packer_names(program)),
       write.u32(requirements.size()), write.array(requirements), write.u32(static_cast<uint64_t>(target.sve_bits))});
  auto* global = new llvm::GlobalVariable(module_, descriptor->getType(), true, llvm::GlobalValue::ExternalLinkage,
                                          descriptor, runtime::descriptor_symbol(program.name));
  global->setDSOLocal(true);
}

}  // namespace tw::codegen
