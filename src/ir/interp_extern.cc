// The function itself runs, through libffi. An address is checked as the element that it names; what the callee touches
// beyond is its own affair. Where it may write, everything from there on counts as written.
#include "src/ir/interp_extern.h"

#include <ffi.h>

#include <optional>

#include "src/ir/async_copies.h"
#include "src/ir/group_products.h"
#include "src/ir/interp_async_calls.h"
#include "src/ir/interp_group_calls.h"
#include "src/ir/interp_index.h"
#include "src/ir/interp_warp.h"
#include "src/ir/requirement.h"
#include "tensorwright/externs.h"

namespace tw::ir::interp {
namespace {

ffi_type* c_type(Type t) {
  if (t.is_handle()) return &ffi_type_pointer;
  if (t.is_float() && t.bits == 64) return &ffi_type_double;
  if (t.is_float() && t.bits == 32) return &ffi_type_float;
  const bool is_signed = t.is_int() || t.is_index();
  switch (t.bits <= 8 ? 8 : t.bits) {
    case 8:
      return is_signed ? &ffi_type_sint8 : &ffi_type_uint8;
    case 16:
      return is_signed ? &ffi_type_sint16 : &ffi_type_uint16;
    case 32:
      return is_signed ? &ffi_type_sint32 : &ffi_type_uint32;
    default:
      return is_signed ? &ffi_type_sint64 : &ffi_type_uint64;
  }
}

// In memory as C has it; an index as an int64_t.
Type held(Type t) { return t.is_index() ? Type::i(64) : t; }

struct ExternCode final : ExprCode {
  struct Argument {
    ExprPtr value;  // of a scalar
    WriteFn write = nullptr;
    std::optional<Subscripts> at;  // of an address
    bool written = false;
  };
  std::string symbol;
  std::vector<Argument> args;
  std::vector<ffi_type*> types;
  ffi_type* result_type = nullptr;
  Type result;
  mutable ffi_cif call;

  Value eval(State& s) const override {
    void* const function = find_extern(symbol);
    if (!function)
      throw Fault{
          ErrorKind::kArgument,
          "interpret: no function " + symbol + " is known",
          {"te.register_extern gives one, or load its library with ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)"}};
    std::vector<uint64_t> cells(args.size(), 0);
    std::vector<void*> values;
    for (size_t i = 0; i < args.size(); ++i) {
      const Argument& arg = args[i];
      if (arg.at) {
        const int64_t offset = arg.at->offset(s);
        Memory& memory = *s.memories[arg.at->memory()];
        if (arg.written) memory.mark_written(offset);
        cells[i] = reinterpret_cast<uint64_t>(memory.address(offset));
      } else {
        arg.write(&cells[i], 0, arg.value->eval(s));
      }
      values.push_back(&cells[i]);
    }
    uint64_t out = 0;
    ffi_call(&call, reinterpret_cast<void (*)()>(function), &out, values.data());
    return read_function(held(result))(&out, 0);
  }
};

struct RequirementCode final : ExprCode {
  std::string text;
  Expr source;  // what is prepared is known by its address
  ExprPtr test;

  Value eval(State& s) const override {
    if (test->eval(s).i == 0) throw Fault{ErrorKind::kArgument, "interpret: " + text, {}};
    return {};
  }
};

}  // namespace

ExprPtr extern_code(Preparation& preparation, const CallExtern& c, Type result) {
  if (is_requirement(c.symbol)) {
    auto code = std::make_shared<RequirementCode>();
    code->text = c.symbol;
    code->source = checked_test({c.args.at(0), {}});
    code->test = preparation.expr(code->source);
    return code;
  }
  if (is_of_warp(c.symbol)) return warp_code(preparation, c);
  if (is_async(c.symbol)) return async_code(preparation, c);
  if (is_of_group(c.symbol)) return group_code(preparation, c);
  auto code = std::make_shared<ExternCode>();
  code->symbol = c.symbol;
  code->result = result;
  code->result_type = c_type(result);
  for (const Expr& e : c.args) {
    ExternCode::Argument arg;
    if (const auto* a = as<Address>(e)) {
      arg.at.emplace(preparation, a->buffer, a->at);
      arg.written = a->written;
    } else {
      arg.value = preparation.expr(e);
      arg.write = write_function(held(e.type()));
    }
    code->types.push_back(c_type(e.type()));
    code->args.push_back(std::move(arg));
  }
  const ffi_status status = ffi_prep_cif(&code->call, FFI_DEFAULT_ABI, static_cast<unsigned>(code->args.size()),
                                         code->result_type, code->types.data());
  TW_CHECK(status == FFI_OK, "a call that C cannot make: " + c.symbol);
  return code;
}

}  // namespace tw::ir::interp
