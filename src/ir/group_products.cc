#include "src/ir/group_products.h"

#include <algorithm>
#include <deque>

namespace tw::ir {

namespace {

constexpr int kRows = 64, kMostColumns = 256;
constexpr int64_t kLineBytes[] = {32, 64, 128};
constexpr size_t kProductArgs = 7;

struct Kind {
  const char* type;
  int k;
  Type operand, sum;
};

struct Products {
  std::deque<std::string> names;
  std::vector<WarpProduct> all;
};

// Of 8-bit integers fewer widths: beyond 32 columns multiples of 16.
const Products& products() {
  static const Products known = [] {
    Products out;
    for (const Kind& kind : {Kind{"bf16", 16, Type::bf16(), Type::f(32)}, Kind{"f16", 16, Type::f(16), Type::f(32)},
                             Kind{"s8", 32, Type::i(8), Type::i(32)}, Kind{"tf32", 8, Type::f(32), Type::f(32)}})
      for (int n = 8; n <= kMostColumns; n += 8) {
        if (kind.operand.bits == 8 && n > 24 && n % 16 != 0) continue;
        out.names.push_back("wgmma.m64n" + std::to_string(n) + "k" + std::to_string(kind.k) + "." + kind.type);
        out.all.push_back({out.names.back(), kRows, n, kind.k, kind.operand, kind.sum, kLanesOfGroup});
      }
    return out;
  }();
  return known;
}

struct Name {
  std::string_view symbol;
  GroupOp op;
  size_t args;
};
constexpr Name kNames[] = {{"wgmma.fence", GroupOp::kFence, 0},
                           {"wgmma.commit", GroupOp::kCommit, 0},
                           {"wgmma.wait", GroupOp::kWait, 1},
                           {"fence.async", GroupOp::kAsyncFence, 0},
                           {"setmaxnreg.dec", GroupOp::kGiveRegisters, 1},
                           {"setmaxnreg.inc", GroupOp::kTakeRegisters, 1}};

const Name* name_of(std::string_view symbol) {
  const auto* found = std::ranges::find(kNames, symbol, &Name::symbol);
  return found == std::end(kNames) ? nullptr : found;
}

bool has_registers(GroupOp op) { return op == GroupOp::kGiveRegisters || op == GroupOp::kTakeRegisters; }

const WarpProduct* product_of(std::string_view symbol) {
  const std::vector<WarpProduct>& all = products().all;
  const auto found = std::ranges::find(all, symbol, &WarpProduct::name);
  return found == all.end() ? nullptr : &*found;
}

const CallExtern* call_in(const Stmt& s) {
  const auto* e = as<Evaluate>(s);
  const auto* c = e ? as<CallExtern>(e->value) : nullptr;
  return c && is_of_group(c->symbol) ? c : nullptr;
}

GroupOperand operand_in(const CallExtern& c, Fragment which) {
  const auto i = static_cast<size_t>(which);
  const int64_t apart = *as_int(c.args[2 + 2 * i]);
  return {*as<Address>(c.args[i]), *as_int(c.args[1 + 2 * i]), apart == 0, std::max<int64_t>(apart, 1)};
}

std::string operand_fault(const WarpProduct& product, const CallExtern& c, Fragment which) {
  const auto i = static_cast<size_t>(which);
  const auto* a = as<Address>(c.args[i]);
  const Type type = product.operand;
  if (!a || a->buffer.scope() != Scope::kShared || a->buffer.element() != type || !a->read || a->written)
    return "in of shared memory of " + to_string(type) + " expected, not " + to_string(c.args[i]);
  const auto line = as_int(c.args[1 + 2 * i]);
  if (!line || std::ranges::find(kLineBytes, *line) == std::end(kLineBytes))
    return "lines of 32, 64 or 128 bytes expected, not " + to_string(c.args[1 + 2 * i]);
  const auto apart = as_int(c.args[2 + 2 * i]);
  if (!apart || *apart < 0) return "a number of lines from 0 on expected, not " + to_string(c.args[2 + 2 * i]);
  const GroupOperand operand = operand_in(c, which);
  if (!operand.along_lines && type.bits != 16) return "lines of " + to_string(type) + " go along the terms";
  const auto [count, elements, panels] = lines_of(product, operand, which);
  const int64_t bytes = elements * panels * type.bytes();
  if (operand.along_lines ? bytes > *line : bytes % *line != 0)
    return "lines of " + std::to_string(bytes) + " bytes expected, not " + std::to_string(*line);
  if (panels > 1 && (operand.apart < count || operand.apart % kLinesOfAtom != 0))
    return "a multiple of eight lines from " + std::to_string(count) + " on expected, not " +
           std::to_string(operand.apart);
  const std::vector<Expr>& shape = a->buffer.shape();
  if (shape.size() > 1 && !is_int(shape.back(), *line / type.bytes()))
    return a->buffer.name() + " expected with lines as its last dimension";
  if (shape.size() > 1 && panels > 1 && dimension_of_panels(shape, operand.apart) == shape.size())
    return a->buffer.name() + " expected with a dimension whose steps are " + std::to_string(operand.apart) + " lines";
  return "";
}

}  // namespace

std::span<const WarpProduct> group_products() { return products().all; }

const WarpProduct* device_product(std::string_view symbol) {
  const WarpProduct* of_warp = warp_product(symbol);
  return of_warp ? of_warp : product_of(symbol);
}

bool is_of_group(std::string_view symbol) { return name_of(symbol) || product_of(symbol); }
bool is_of_group(const Stmt& s) { return call_in(s) != nullptr; }

GroupLines lines_of(const WarpProduct& p, const GroupOperand& operand, Fragment which) {
  const int64_t across = which == Fragment::kLeft ? p.m : p.n, of_line = operand.line / p.operand.bytes();
  if (operand.along_lines) return {across, p.k};
  return across % of_line == 0 ? GroupLines{p.k, of_line, across / of_line} : GroupLines{p.k, across};
}

size_t dimension_of_panels(const std::vector<Expr>& shape, int64_t apart) {
  int64_t lines = 1;
  size_t found = shape.size();
  for (size_t d = shape.size() - 1; d-- > 0; lines *= as_int(shape[d]).value_or(0))
    if (lines == apart) found = d;
  return found;
}

std::string group_fault(const CallExtern& c) {
  const WarpProduct* product = product_of(c.symbol);
  const size_t args = product ? kProductArgs : name_of(c.symbol)->args;
  if (c.args.size() != args) return std::to_string(args) + " arguments expected, not " + std::to_string(c.args.size());
  if (!product) {
    const auto count = args == 1 ? as_int(c.args[0]) : std::optional<int64_t>(0);
    if (has_registers(name_of(c.symbol)->op))
      return count && *count >= kLeastRegisters && *count <= kMostRegisters && *count % kRegistersStep == 0
                 ? ""
                 : "a multiple of 8 registers from 24 to 256 expected, not " + to_string(c.args[0]);
    return count && *count >= 0 ? "" : "a number of batches from 0 on expected, not " + to_string(c.args[0]);
  }
  const auto* sums = as<Address>(c.args[0]);
  if (!sums || sums->buffer.scope() != Scope::kLocal || sums->buffer.element() != product->sum || !sums->read ||
      !sums->written)
    return "inout of local memory of " + to_string(product->sum) + " expected, not " + to_string(c.args[0]);
  const std::string left = operand_fault(*product, c, Fragment::kLeft);
  return left.empty() ? operand_fault(*product, c, Fragment::kRight) : left;
}

GroupCall group_call(const CallExtern& c) {
  GroupCall out;
  out.product = product_of(c.symbol);
  out.op = out.product ? GroupOp::kProduct : name_of(c.symbol)->op;
  if (out.op == GroupOp::kWait || has_registers(out.op)) out.count = *as_int(c.args[0]);
  if (!out.product) return out;
  out.sums = *as<Address>(c.args[0]);
  out.left = operand_in(c, Fragment::kLeft);
  out.right = operand_in(c, Fragment::kRight);
  return out;
}

std::optional<GroupCall> group_call(const Stmt& s) {
  const CallExtern* c = call_in(s);
  return c ? std::optional(group_call(*c)) : std::nullopt;
}

Stmt group_stmt(const GroupCall& call) {
  const auto address = [](const Address& a) { return address_of(a.buffer, a.at, a.read, a.written); };
  std::vector<Expr> args;
  if (call.op == GroupOp::kWait || has_registers(call.op)) args = {Expr(call.count)};
  if (call.op != GroupOp::kProduct) {
    const auto* name = std::ranges::find(kNames, call.op, &Name::op);
    return evaluate(call_extern(Type::i(32), std::string(name->symbol), std::move(args)));
  }
  args = {address(call.sums), address(call.left.at), address(call.right.at)};
  for (const GroupOperand& operand : {call.left, call.right})
    args.insert(args.end(), {Expr(operand.line), Expr(operand.along_lines ? int64_t{0} : operand.apart)});
  return evaluate(call_extern(Type::i(32), std::string(call.product->name), std::move(args)));
}

}  // namespace tw::ir
