// Runs small programs on zeros in the interpreter.

#include "src/ir/contract.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "src/ir/fields.h"
#include "src/ir/interp.h"
#include "src/ir/simplify.h"
#include "src/ir/walk.h"
#include "src/support/deep_stack.h"

namespace tw::ir {
namespace {

constexpr int64_t kSteps = 50'000;
constexpr int64_t kBytes = 1 << 20;
constexpr int64_t kSize = 3;  // of symbolic extents

// Iterations of innermost statements, at most; kSteps + 1 stands for too many.
class Cost {
 public:
  explicit Cost(const Program& p) {
    for (const Var& scalar : p.scalars) values_[scalar.id()] = imm(scalar.type(), kSize);
  }

  int64_t of(const Stmt& s) {
    if (!s) return 0;
    int64_t inside = 1;
    for_each_child(*s, [&](const auto& child) { inside = std::min(inside + nested(child), kSteps + 1); });
    if (const auto* a = as<Allocate>(s); a && bytes(a->buffer) > kBytes) return kSteps + 1;
    const auto* f = as<For>(s);
    return f ? std::min(kSteps + 1, inside * std::clamp<int64_t>(number(f->extent), 0, kSteps + 1)) : inside;
  }

  int64_t bytes(const Buffer& b) {
    int64_t n = b.element().bytes(), last = 0;
    for (const Expr& extent : b.shape())
      n = std::min(kBytes + 1, n * std::clamp<int64_t>(number(extent), 0, kBytes + 1));
    for (size_t d = 0; d < b.strides().size(); ++d)
      last +=
          std::clamp<int64_t>(number(b.strides()[d]), 0, kBytes) * std::clamp<int64_t>(number(b.shape()[d]), 0, kBytes);
    return std::max(n, std::min(last * b.element().bytes(), kBytes + 1));
  }

 private:
  int64_t nested(const Stmt& s) { return of(s); }
  static int64_t nested(const Expr&) { return 0; }

  // Of an extent that varies, the largest value.
  int64_t number(const Expr& e) {
    if (const auto value = as_int(e)) return *value;
    const Interval range = interval_of(substitute(e, values_), {});
    return range.hi;
  }

  Substitution values_;
};

Status run(const Program& p, ProgramForm form, const std::vector<std::string>& changing) {
  Cost cost(p);
  if (cost.of(p.body) > kSteps) return Unit{};
  std::vector<std::vector<char>> zeros;
  for (const Param& param : p.params) {
    const int64_t bytes = cost.bytes(param.buffer);
    if (bytes > kBytes) return Unit{};
    zeros.emplace_back(static_cast<size_t>(bytes), 0);
  }
  std::vector<InterpBuffer> buffers;
  for (std::vector<char>& bytes : zeros) buffers.push_back({bytes.data(), bytes.size()});
  InterpOptions options;
  options.check_one_value = form == ProgramForm::kScheduled;
  options.changing = changing;
  for (const Var& scalar : p.scalars) options.scalars.push_back(scalar.type().is_float() ? 0 : kSize);
  Status status = interpret(p, buffers, options);
  return status.ok() || status.error().kind == ErrorKind::kArgument ? Status(Unit{}) : status;
}

}  // namespace

bool verifies() {
#ifdef NDEBUG
  const char* value = std::getenv("TW_VERIFY");
  return value && *value && std::string_view(value) != "0";
#else
  return true;
#endif
}

Status check_contract(const Program& p, ProgramForm form, const std::vector<std::string>& changing) {
  return support::with_deep_stack([&] { return run(p, form, changing); });
}

}  // namespace tw::ir
