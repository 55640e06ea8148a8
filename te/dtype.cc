#include "te/dtype.h"

#include "src/ir/simplify_fold.h"
#include "src/support/nearest.h"
#include "te/refuse.h"
#include "tensorwright/te.h"

namespace tw::te {

using ir::Expr;
using ir::Type;

Type dtype_named(std::string_view name) {
  if (name == "int") return Type::i(32);
  if (name == "uint") return Type::u(32);
  if (name == "float") return Type::f(32);
  const auto type = ir::parse_type(name);
  if (type && type->is_scalar() && !type->is_index()) return *type;
  static const std::vector<std::string> kNames = {
      "bool",   "int4",   "int8",    "int16",    "int32",   "int64",   "uint4",         "uint8",      "uint16",
      "uint32", "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"};
  std::vector<std::string> notes;
  if (type && type->lanes > 1)
    notes.push_back("vectors are elements for te.placeholder and te.compute; elsewhere \"" +
                    ir::to_string(type->element()) + "\" with a last axis of " + std::to_string(type->lanes));
  else if (std::string meant = support::did_you_mean(name, kNames); !meant.empty())
    notes.push_back(std::move(meant));
  notes.push_back(
      "bool, int4..int64, uint4..uint64, float16, bfloat16, float32, float64, float8_e4m3fn and float8_e5m2 are "
      "dtypes");
  refuse(ErrorKind::kDType, "dtype must be one that tensors have, not '" + std::string(name) + "'", std::move(notes));
}

std::string dtype_name(Type type) { return type.is_index() ? "int32" : ir::to_string(type); }

std::string way_out_of_storage(Type type) {
  return (type.is_float8() ? "float8" : dtype_name(type)) + " is for storage: e.astype(\"" +
         (type.is_float8() ? "float32"
          : type.is_int()  ? "int8"
                           : "uint8") +
         "\") converts";
}

Expr convert(Type type, Expr e) {
  if (e.type() == type) return e;
  if (ir::as<ir::IntImm>(e) || ir::as<ir::FloatImm>(e)) {
    if (Expr folded = ir::fold_cast(type, e)) return folded;
  }
  return ir::cast(type, std::move(e));
}

Expr astype(Expr e, std::string_view dtype) { return convert(dtype_named(dtype), std::move(e)); }

}  // namespace tw::te
