// Shipped intrinsics compute their expressions from whatever their outputs hold; a statement that reads its output
// first is seen, for known and for symbolic extents.
#include <gtest/gtest.h>

#include "src/ir/group_products.h"
#include "te/prove_intrin.h"
#include "tensorwright/te_extern.h"

namespace tw::te {
namespace {

TEST(Intrins, ShippedOnesHoldFromAnyOutput) {
  int shipped = 0;
  for (const std::string& key : tensor_intrin_keys()) {
    if (ir::device_product(key)) continue;  // no statements of one thread
    if (key.find('@') != std::string::npos) continue;
    const TensorIntrinPtr intrin = find_tensor_intrin(key);
    IntrinBodies does = intrin->does;
    const Status proved = prove_intrin(intrin->op, does);
    EXPECT_TRUE(proved.ok()) << key << ": " << proved.error().render();
    ++shipped;
  }
  EXPECT_EQ(shipped, 13 + 3 * 16);  // those of tiles with 1 to 16 rows
}

// Too many to be listed: they come about by their names.
TEST(Intrins, TilesOfFewerTermsHoldFromAnyOutput) {
  const size_t listed = tensor_intrin_keys().size();
  for (const char* kind : {"amx.bf16", "amx.u8s8", "amx.s8s8"})
    for (const char* rows : {"", ".m1", ".m14"})
      for (const char* terms : {".k1", ".k12", ".k15"}) {
        const TensorIntrinPtr intrin = find_tensor_intrin(std::string(kind) + rows + terms);
        ASSERT_TRUE(intrin) << kind << rows << terms;
        EXPECT_EQ(intrin, find_tensor_intrin(intrin->key));
        IntrinBodies does = intrin->does;
        const Status proved = prove_intrin(intrin->op, does);
        EXPECT_TRUE(proved.ok()) << intrin->key << ": " << proved.error().render();
      }
  for (const char* none : {"amx.u8s8.k0", "amx.u8s8.k16", "amx.u8s8.k012", "amx.u8s8.k12.m14", "amx.u8s8.m16.k12"})
    EXPECT_FALSE(find_tensor_intrin(none)) << none;
  EXPECT_EQ(tensor_intrin_keys().size(), listed);
}

// c[i] = old + a[i], or c[i] = a[i]: as the whole of a copy, and as what a sum adds.
IntrinBodies stores(const Tensor& c, const Tensor& a, const Expr& old) {
  const Var i("i");
  return {ir::loop(i, 4, ir::store(c.buffer(), {i}, old ? ir::load(c.buffer(), {i}) + a(i) : a(i))), {}, {}};
}

TEST(Intrins, ABodyThatAddsIsNone) {
  const Tensor a = placeholder({4}, "float32", "a"), c = compute({4}, [&](Var i) { return a(i); }, "c");
  IntrinBodies sets = stores(c, a, {}), adds = stores(c, a, 1);
  EXPECT_TRUE(prove_intrin(c.op(), sets).ok());
  const Status refused = prove_intrin(c.op(), adds);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().what, "the body must run");
  EXPECT_EQ(refused.error().notes[0], "interpret: c[0] is read before anything was written there");
}

std::string refusal(const Expr& n,
                    const std::function<ir::Stmt(const Buffer& a, const Buffer& b, const Var& i)>& body) {
  const Tensor A = placeholder({n}, "float32", "A");
  try {
    external(
        {{Type::f(32), {n}}}, {A},
        [&](const std::vector<Buffer>& in, const std::vector<Buffer>& out) {
          const Var i("i");
          return ir::loop(i, n, body(in[0], out[0], i));
        },
        "B");
  } catch (const Error& e) {
    return e.diagnostic().what;
  }
  return "nothing refused";
}

TEST(Externs, ReadNoOutputBeforeItIsWritten) {
  const auto adds = [](const Buffer& a, const Buffer& b, const Var& i) {
    return ir::store(b, {i}, ir::load(b, {i}) + ir::load(a, {i}));
  };
  EXPECT_EQ(refusal(8, adds), "extern B: B[i] is read before it is written");
  EXPECT_EQ(refusal(var("n"), adds), "extern B: B[i] is read before it is written");
  const auto starts = [&](const Buffer& a, const Buffer& b, const Var& i) {
    return ir::seq({ir::store(b, {i}, ir::float_imm(Type::f(32), 0)), adds(a, b, i)});
  };
  EXPECT_EQ(refusal(8, starts), "nothing refused");
  const auto running = [](bool right) {
    return [right](const Buffer& a, const Buffer& b, const Var& i) {
      const Expr first = right ? Expr(i) < Expr(1) : Expr(i) < Expr(0);
      return ir::if_then(first, ir::store(b, {i}, ir::load(a, {i})),
                         ir::store(b, {i}, ir::load(b, {ir::max(Expr(i) - Expr(1), 0)}) + ir::load(a, {i})));
    };
  };
  EXPECT_EQ(refusal(8, running(true)), "nothing refused");
  EXPECT_EQ(refusal(8, running(false)), "extern B: B[0] is read before it is written");
  const auto called = [](bool read) {
    return [read](const Buffer& a, const Buffer& b, const Var& i) {
      return ir::evaluate(ir::call_extern(Type::i(32), "nowhere",
                                          {ir::address_of(a, {i}, true, false), ir::address_of(b, {i}, read, true)}));
    };
  };
  EXPECT_EQ(refusal(8, called(false)), "nothing refused");
  EXPECT_EQ(refusal(8, called(true)),
            "extern B: B, whose address a function may read from, is read before it is written");
}

}  // namespace
}  // namespace tw::te
