// Each invariant of verify.h, broken once.
#include <gtest/gtest.h>

#include "src/ir/verify.h"

namespace tw::ir {
namespace {

const Type kF32 = Type::f(32);

struct IrVerify : testing::Test {
  Buffer a{"A", kF32, {8, 8}, Scope::kArgument}, c{"C", kF32, {8}, Scope::kArgument};
  Var i{"i"}, j{"j"};
  Expr zero = float_imm(kF32, 0);

  Stmt fill(const Var& v) { return loop(v, 8, store(c, {v}, zero)); }
  std::string fault(const Stmt& body) { return fault(Program{"f", {{a, false}, {c, true}}, body}); }
  static std::string fault(const Program& p) {
    const Status status = verify(p);
    return status ? "" : status.error().what;
  }
  // Nodes that the constructors refuse.
  static Expr raw(Type type, ExprKind kind) { return Expr(std::make_shared<const ExprNode>(type, std::move(kind))); }
  static Stmt raw(StmtKind kind) { return Stmt(std::make_shared<const StmtNode>(std::move(kind))); }
};

TEST_F(IrVerify, WellFormed) { EXPECT_EQ(fault(seq({fill(i), fill(j)})), ""); }

TEST_F(IrVerify, IdentitiesAreBoundOnce) {
  EXPECT_EQ(fault(seq({fill(i), fill(i)})), "i: a variable that is bound twice");
  EXPECT_EQ(fault(loop(i, 8, fill(i))), "i: a variable that is bound twice");
  EXPECT_EQ(fault(Program{"f", {{c, true}, {c, true}}, fill(i)}), "C: a buffer that is declared twice");
  const Expr shadow = reduce(ReduceOp::kSum, load(c, {i}), {{i, 0, 8}});
  EXPECT_EQ(fault(loop(i, 8, store(c, {0}, shadow))), "i: a variable that is bound inside its own scope");
  EXPECT_EQ(fault(seq({store(c, {0}, shadow), store(c, {1}, shadow + 1)})), "");
}

TEST_F(IrVerify, UsesStandInScope) {
  const Buffer t("t", kF32, {8}, Scope::kLocal);
  EXPECT_EQ(fault(store(c, {i}, zero)), "i: a variable that is used outside its scope");
  EXPECT_EQ(fault(loop(i, i, store(c, {0}, zero))), "i: a variable that is used outside its scope");
  EXPECT_EQ(fault(seq({fill(i), store(c, {i}, zero)})), "i: a variable that is used outside its scope");
  EXPECT_EQ(fault(seq({allocate(t, store(t, {0}, zero)), store(c, {0}, load(t, {0}))})),
            "t: a buffer that is accessed outside its scope");
  const Expr shared = Expr(i) * 2 + 1;  // seen inside the loop first
  EXPECT_EQ(fault(seq({loop(i, 8, store(c, {shared}, zero)), store(c, {shared}, zero)})),
            "i: a variable that is used outside its scope");
}

TEST_F(IrVerify, Types) {
  EXPECT_EQ(fault(store(c, {0}, raw(kF32, Binary{BinOp::kAdd, zero, float_imm(Type::f(64), 0)}))),
            "+: operands of one type expected, not float32 and float64");
  EXPECT_EQ(fault(raw(Store{c, {0}, float_imm(Type::f(64), 0), {}})),
            "C: a value of type float32 expected, not float64");
  EXPECT_EQ(fault(raw(If{Expr(1), fill(i), {}})), "if: a condition of type bool expected, not index");
  EXPECT_EQ(fault(raw(Store{c, {ramp(0, 1, 4)}, broadcast(zero, 4), boolean(true)})),
            "C: a predicate of type boolx4 expected, not bool");
}

TEST_F(IrVerify, Launches) {
  const Var k("k");
  const Stmt meet = sync(SyncOp::kBlock);
  const auto threads = [&](const Stmt& body) { return loop(j, 8, body, ForKind::kThreadX); };
  const auto blocks = [&](const Stmt& body) { return loop(i, 4, body, ForKind::kBlockX); };
  const Buffer tile("tile", kF32, {8}, Scope::kShared), scratch("scratch", kF32, {8}, Scope::kGlobal);
  EXPECT_EQ(fault(blocks(threads(seq({allocate(tile, store(tile, {j}, zero)), meet})))), "");
  EXPECT_EQ(fault(seq({threads(meet), blocks(store(c, {i}, zero))})), "");  // two launches
  EXPECT_EQ(fault(meet), "sync: a place within a launch expected");
  EXPECT_EQ(fault(threads(blocks(meet))), "i: blocks outside of threads expected");
  EXPECT_EQ(fault(loop(k, 2, threads(meet))), "j: a launch within a loop");
  EXPECT_EQ(fault(blocks(loop(k, 2, threads(meet)))), "j: a launch within a loop");
  EXPECT_EQ(fault(threads(loop(k, 2, meet, ForKind::kThreadX))), "k: an index that the launch has already");
  EXPECT_EQ(fault(loop(k, 2, store(c, {k}, zero), ForKind::kCooperative)), "k: a place within a launch expected");
  EXPECT_EQ(fault(threads(loop(k, 2, meet, ForKind::kParallel))), "k: a parallel loop within a launch");
  const std::string where = ": shared memory within a launch, global memory outside of it expected";
  EXPECT_EQ(fault(allocate(tile, threads(meet))), "tile" + where);
  EXPECT_EQ(fault(threads(allocate(scratch, meet))), "scratch" + where);
  EXPECT_EQ(fault(blocks(loop(j, i, meet, ForKind::kThreadX))), "j: an extent that depends on i");
  const Buffer own("own", kF32, {8}, Scope::kLocal);
  EXPECT_EQ(fault(threads(allocate(own, store(own, {j}, zero)))), "");
  EXPECT_EQ(fault(allocate(own, threads(store(own, {j}, zero)))),
            "own: local memory of the host that a launch accesses");
  const Stmt shared = loop(i, 2, store(c, {i}, zero), ForKind::kCooperative);
  EXPECT_EQ(fault(threads(shared)), "");
  EXPECT_EQ(fault(threads(loop(k, 2, shared, ForKind::kCooperative))), "i: a cooperative loop within another");
}

TEST_F(IrVerify, Clusters) {
  const Stmt meet = sync(SyncOp::kCluster);
  const auto blocks = [&](const Expr& extent, const Stmt& body, ForKind kind) { return loop(i, extent, body, kind); };
  const auto threads = [&](const Stmt& body) { return loop(j, 32, body, ForKind::kThreadX); };
  EXPECT_EQ(fault(blocks(2, threads(meet), ForKind::kClusterY)), "");
  EXPECT_EQ(fault(blocks(2, threads(meet), ForKind::kBlockY)), "sync: a launch whose blocks are a cluster expected");
  EXPECT_EQ(fault(blocks(9, threads(meet), ForKind::kClusterX)), "i: a cluster of up to 8 blocks expected, not 9");
  const Var k("k");
  EXPECT_EQ(fault(loop(k, 2, blocks(2, threads(meet), ForKind::kClusterX), ForKind::kClusterY)),
            "i: a second index of the blocks of a cluster");
  EXPECT_EQ(fault(loop(k, 2, blocks(2, threads(meet), ForKind::kClusterX), ForKind::kBlockX)),
            "i: an index that the launch has already");
  const Buffer free("free", Type::u(64), {2}, Scope::kShared);
  const std::string name = "mbarrier.arrive.cluster";
  const Stmt arrive =
      allocate(free, evaluate(call_extern(Type::i(32), name, {address_of(free, {0}, true, true), Expr(2), Expr(0)})));
  EXPECT_EQ(fault(blocks(2, threads(arrive), ForKind::kClusterX)), "");
  EXPECT_EQ(fault(blocks(2, threads(arrive), ForKind::kBlockX)),
            name + ": a launch whose blocks are a cluster expected");
}

TEST_F(IrVerify, ProductsOfAWarp) {
  const Buffer a("a", Type::bf16(), {8}, Scope::kLocal), b("b", Type::bf16(), {4}, Scope::kLocal),
      sums("sums", kF32, {4}, Scope::kLocal), shared("shared", Type::bf16(), {8}, Scope::kShared);
  const std::string name = "mma.m16n8k16.bf16";
  const auto call_of = [&](std::vector<Expr> args) { return call_extern(Type::i(32), name, std::move(args)); };
  const Expr left = address_of(a, {0}, true, false), right = address_of(b, {0}, true, false);
  const auto in_launch = [&](const Stmt& s) {
    return loop(j, 32, allocate(a, allocate(b, allocate(sums, allocate(shared, s)))), ForKind::kThreadX);
  };
  const auto product = [&](std::vector<Expr> args) { return fault(in_launch(evaluate(call_of(std::move(args))))); };
  const Expr both = address_of(sums, {0}, true, true);
  EXPECT_EQ(product({both, left, right}), "");
  EXPECT_EQ(fault(allocate(a, allocate(b, allocate(sums, evaluate(call_of({both, left, right})))))),
            name + ": a statement of a launch expected");
  EXPECT_EQ(fault(in_launch(store(c, {0}, cast(kF32, call_of({both, left, right}))))),
            name + ": a statement of a launch expected");
  EXPECT_EQ(product({both, left}), name + ": three addresses expected, of c, a and b");
  EXPECT_EQ(product({both, address_of(shared, {0}, true, false), right}),
            name + ": the address of local memory of bfloat16 expected, not address(in shared[0])");
  EXPECT_EQ(product({both, address_of(sums, {0}, true, false), right}),
            name + ": the address of local memory of bfloat16 expected, not address(in sums[0])");
  EXPECT_EQ(product({address_of(sums, {0}, false, true), left, right}), name + ": inout expected of c, in of a and b");
}

TEST_F(IrVerify, LoadsOfAWarp) {
  const Buffer halves("halves", Type::f(16), {8}, Scope::kLocal), words("words", Type::f(32), {8}, Scope::kLocal),
      bytes("bytes", Type::i(8), {16}, Scope::kLocal), shared("shared", Type::f(16), {64}, Scope::kShared),
      shared_bytes("shared_bytes", Type::i(8), {64}, Scope::kShared);
  const auto load = [&](const std::string& name, const Buffer& to, const Buffer& from, bool reads = false) {
    const Expr e =
        call_extern(Type::i(32), name, {address_of(to, {0}, reads, true), address_of(from, {0}, true, false)});
    Stmt body = evaluate(e);
    for (const Buffer& b : {halves, words, bytes, shared, shared_bytes}) body = allocate(b, body);
    return fault(loop(j, 32, body, ForKind::kThreadX));
  };
  EXPECT_EQ(load("ldmatrix.x4", halves, shared), "");
  EXPECT_EQ(load("ldmatrix.x2.trans", halves, shared), "");
  EXPECT_EQ(load("ldmatrix.x4", bytes, shared_bytes), "");
  EXPECT_EQ(load("ldmatrix.x4.trans", bytes, shared_bytes),
            "ldmatrix.x4.trans: elements of 16 bits expected, not int8 and int8");
  EXPECT_EQ(load("ldmatrix.x4", words, shared),
            "ldmatrix.x4: elements of 8 or 16 bits, or of float32, expected, not float32 and float16");
  const std::string where = "ldmatrix.x4: out of local memory and in of shared memory expected";
  EXPECT_EQ(load("ldmatrix.x4", halves, halves), where);
  EXPECT_EQ(load("ldmatrix.x4", halves, shared, true), where);
}

TEST_F(IrVerify, ExchangesOfAWarp) {
  const Buffer words("words", Type::f(32), {8}, Scope::kLocal), more("more", Type::f(32), {8}, Scope::kLocal),
      halves("halves", Type::f(16), {8}, Scope::kLocal), shared("shared", Type::f(32), {64}, Scope::kShared);
  const auto exchange = [&](const std::vector<Expr>& args) {
    Stmt body = evaluate(call_extern(Type::i(32), "shfl", args));
    for (const Buffer& b : {words, more, halves, shared}) body = allocate(b, body);
    return fault(loop(j, 32, body, ForKind::kThreadX));
  };
  const auto to = [](const Buffer& b) { return address_of(b, {0}, false, true); };
  const auto from = [](const Buffer& b) { return address_of(b, {0}, true, false); };
  EXPECT_EQ(exchange({to(words), from(more), Expr(31) - j}), "");
  const std::string where = "shfl: out of local memory, in of local memory and the index of a lane expected";
  EXPECT_EQ(exchange({to(words), from(more)}), where);
  EXPECT_EQ(exchange({to(words), from(shared), 0}), where);
  EXPECT_EQ(exchange({from(words), from(more), 0}), where);
  EXPECT_EQ(exchange({to(words), from(more), cast(Type::i(32), Expr(0))}), where);
  EXPECT_EQ(exchange({to(words), from(halves), 0}),
            "shfl: elements of one type of whole bytes expected, not float32 and float16");
}

TEST_F(IrVerify, Memory) {
  const Buffer warp("warp", kF32, {8}, Scope::kWarp);
  EXPECT_EQ(fault(loop(j, 32, allocate(warp, store(warp, {0}, load(warp, {0}))), ForKind::kThreadX)),
            "warp: an allocation of scope global, shared or local expected");
}

TEST_F(IrVerify, Constants) {
  EXPECT_EQ(fault(store(c, {0}, cast(kF32, raw(Type::u(8), IntImm{256})))), "256: not a value of uint8");
  EXPECT_EQ(fault(store(c, {0}, raw(kF32, FloatImm{0.1}))), "0.100000: not a value of float32");
}

TEST_F(IrVerify, Buffers) {
  const auto with = [&](const Buffer& t) { return fault(allocate(t, fill(i))); };
  EXPECT_EQ(with(Buffer("t", kF32, {-1}, Scope::kLocal)), "t: an extent from 0 on expected, not -1");
  EXPECT_EQ(with(Buffer("t", kF32, {j}, Scope::kLocal)), "j: a variable that is used outside its scope");
  EXPECT_EQ(with(Buffer("t", kF32, {4, 4}, Scope::kLocal, {1})), "t: as many strides as extents expected");
  EXPECT_EQ(with(Buffer("t", kF32, {4}, Scope::kArgument)),
            "t: an allocation of scope global, shared or local expected");
  EXPECT_EQ(with(Buffer("t", Type::index(), {4}, Scope::kLocal)),
            "t: elements of a scalar data type expected, not index");
  const Buffer local("L", kF32, {4}, Scope::kLocal);
  EXPECT_EQ(fault(Program{"f", {{local, true}, {c, true}}, fill(i)}), "L: a parameter of scope argument expected");
}

TEST_F(IrVerify, Accesses) {
  BufferNode other = *c.operator->();
  other.shape = {2, 4};
  EXPECT_EQ(fault(store(Buffer(other), {0, 0}, zero)), "C: 1 subscripts expected, not 2");
  other = *a.operator->();
  other.shape = {64};
  EXPECT_EQ(fault(store(c, {0}, load(Buffer(other), {63}))), "");
  EXPECT_EQ(fault(store(a, {0, 0}, zero)), "A: a parameter that is not an output is stored to");
}

TEST_F(IrVerify, LoopsAndSequences) {
  const Expr some = cast(Type::index(), load(c, {0}));
  EXPECT_EQ(fault(loop(i, some, store(c, {i}, zero), ForKind::kVectorized)),
            "i: a constant extent expected in a vectorized loop");
  EXPECT_EQ(fault(loop(i, -1, store(c, {i}, zero))), "i: an extent from 0 on expected, not -1");
  EXPECT_EQ(fault(raw(Seq{{fill(i)}})), "a sequence of one statement");
  EXPECT_EQ(fault(raw(Seq{{fill(i), seq({})}})), "a sequence inside a sequence");
  EXPECT_EQ(fault(store(c, {0}, raw(kF32, Reduce{ReduceOp::kSum, {zero}, {}, {}, {}, 0, nullptr}))),
            "a reduction without an axis");
}

TEST_F(IrVerify, CallsAndAddresses) {
  const Type i32 = Type::i(32);
  const Expr in = address_of(a, {0, 0}, true, false), out = address_of(c, {0}, false, true);
  EXPECT_EQ(fault(evaluate(call_extern(i32, "f", {in, out, zero}))), "");
  EXPECT_EQ(fault(evaluate(call(Fn::kPrefetch, {in}))), "");
  EXPECT_EQ(fault(evaluate(call(Fn::kPrefetchL2, {in}))), "");
  EXPECT_EQ(fault(evaluate(zero)), "a call of an extern function or a prefetch expected");
  EXPECT_EQ(fault(evaluate(call_extern(i32, "", {in}))), "call: the name of a function expected");
  EXPECT_EQ(fault(evaluate(call_extern(i32, "f", {broadcast(zero, 4)}))),
            "f: scalar arguments expected, not float32x4");
  EXPECT_EQ(fault(evaluate(call_extern(i32, "f", {address_of(a, {0, 0}, true, true)}))),
            "A: a parameter that is not an output is written through its address");
  EXPECT_EQ(fault(evaluate(call_extern(i32, "f", {select(boolean(true), in, in)}))),
            "an address that is no argument of a call");
}

TEST_F(IrVerify, Combiners) {
  const Var left("left", kF32), right("right", kF32), foreign("foreign", kF32), k("k");
  const auto with = [&](Expr result, Expr identity) {
    auto combiner = std::make_shared<Combiner>(Combiner{"pick", {left}, {right}, {result}, {identity}});
    return fault(store(
        c, {0}, reduce(Reduce{ReduceOp::kCustom, {load(a, {k, 0})}, {{k, 0, 4}}, {}, {}, 0, std::move(combiner)})));
  };
  EXPECT_EQ(with(max(left, right), zero), "");
  EXPECT_EQ(with(max(left, foreign), zero), "foreign: a variable that is used outside its scope");
  EXPECT_EQ(with(left, int_imm(Type::i(32), 0)), "pick: float32 expected throughout component 0");
}

TEST_F(IrVerify, TheStatementIsNamed) {
  const Status status = verify(Program{"f", {{c, true}}, loop(i, 8, store(c, {j}, zero))});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().render(), "internal error: j: a variable that is used outside its scope\n    in C[j] = 0.0");
}

TEST_F(IrVerify, DiamondsAreCheap) {
  Expr e = cast(kF32, Expr(i));
  for (int n = 0; n < 1000; ++n) e = e * e;
  EXPECT_EQ(fault(loop(i, 8, store(c, {i}, e))), "");
}

}  // namespace
}  // namespace tw::ir
