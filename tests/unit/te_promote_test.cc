// The typing rules in C++. tests/python/test_te_dtypes.py holds the whole table of docs/dtypes.md.
#include "tensorwright/te.h"

#include <gtest/gtest.h>

#include "te/dtype.h"
#include "te/promote.h"

namespace tw::te {
namespace {

using ir::BinOp;

Expr value(std::string_view dtype) { return placeholder({}, dtype, "x")(std::vector<Expr>{}); }

std::string sum_type(Expr a, Expr b) { return dtype_name(arith(BinOp::kAdd, std::move(a), std::move(b)).type()); }

TEST(Promote, FloatWinsThenWidthThenUnsigned) {
  EXPECT_EQ(sum_type(value("int64"), value("float16")), "float16");
  EXPECT_EQ(sum_type(value("float16"), value("float32")), "float32");
  EXPECT_EQ(sum_type(value("bfloat16"), value("float16")), "float16");
  EXPECT_EQ(sum_type(value("int8"), value("int16")), "int16");
  EXPECT_EQ(sum_type(value("int32"), value("uint8")), "int32");
  EXPECT_EQ(sum_type(value("int8"), value("uint32")), "uint32");
  EXPECT_EQ(sum_type(value("int32"), value("uint32")), "uint32");
  EXPECT_EQ(sum_type(value("bool"), value("uint8")), "uint8");
}

TEST(Promote, IndexIsInt32BesideData) {
  const Expr i = Var("i");
  EXPECT_TRUE(arith(BinOp::kAdd, i, 1).type().is_index());
  EXPECT_EQ(dtype_name(i.type()), "int32");
  EXPECT_EQ(sum_type(i, value("int8")), "int32");
  EXPECT_EQ(sum_type(i, value("int64")), "int64");
  EXPECT_EQ(sum_type(i, value("float32")), "float32");
  EXPECT_EQ(sum_type(value("int32"), int64_t{1} << 31), "int64");
  EXPECT_TRUE(te::min(i, constant(5, "int32")).type().is_index());
}

TEST(Promote, ConstantsFold) {
  EXPECT_EQ(ir::to_string(arith(BinOp::kAdd, constant(127, "int8"), constant(1, "int8"))), "-128i8");
  EXPECT_EQ(ir::to_string(arith(BinOp::kFloorDiv, constant(-7, "int32"), 2)), "-4i32");
  EXPECT_EQ(ir::to_string(arith(BinOp::kMul, value("float64"), 2)), "x[] * 2.0f64");
}

TEST(Promote, WideCastOfAnIndexIsThatIndexInASubscript) {
  const Var i("i");
  EXPECT_EQ(ir::to_string(as_index(astype(i, "int64"))), "i");
  EXPECT_EQ(ir::to_string(as_index(astype(i, "int8"))), "index(int8(i))");
}

std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_NE(e.kind(), ErrorKind::kInternal) << e.what();
    return e.diagnostic().what;
  }
  return "nothing refused";
}

TEST(Promote, Refusals) {
  EXPECT_EQ(refusal([] { arith(BinOp::kAdd, value("bool"), value("bool")); }),
            "+: expected numbers, not bool and bool");
  EXPECT_EQ(refusal([] { arith(BinOp::kDiv, value("int32"), 2); }), "/: expected a float operand, not int32 and int32");
  EXPECT_EQ(refusal([] { arith(BinOp::kFloorMod, value("float32"), 2); }),
            "%: expected integers, not float32 and int32");
  EXPECT_EQ(refusal([] { arith(BinOp::kFloorDiv, value("int32"), 0); }), "//: divisor must not be 0");
  EXPECT_EQ(refusal([] { arith(BinOp::kAnd, value("int32"), value("bool")); }),
            "and: expected bool conditions, not int32 and bool");
  EXPECT_EQ(refusal([] { arith(BinOp::kShl, value("float32"), 1); }), "<<: expected integers, not float32 and int32");
  EXPECT_EQ(refusal([] { as_index(value("float32")); }), "an index or extent must be an integer, not float32: x[]");
  EXPECT_EQ(refusal([] { exp(value("int8")); }), "exp: expected a float, not x[] of int8");
  EXPECT_EQ(refusal([] { power(value("bool"), value("bool")); }), "power: expected numbers, not bool");
  EXPECT_EQ(refusal([] { if_then_else(value("int8"), 1, 2); }), "if_then_else: condition must be bool, not int8");
  EXPECT_EQ(refusal([] { constant(2.5, "int32"); }), "const: value must be one that int32 holds, not 2.5");
  EXPECT_EQ(refusal([] { dtype_named("flaot32"); }), "dtype must be one that tensors have, not 'flaot32'");
}

}  // namespace
}  // namespace tw::te
