// Sizes and limits: a thread of the pool has a stack that was not made for tensors.
#include "codegen/scratch.h"

#include <utility>

#include "src/ir/walk.h"

namespace tw::codegen {

namespace {

constexpr int64_t kMaxArrayBytes = 64 << 10;
constexpr int64_t kMaxStackBytes = 256 << 10;

}  // namespace

std::optional<int64_t> known_elements(const ir::Buffer& buffer) {
  int64_t elements = 1;
  if (!buffer.strides().empty()) return std::nullopt;
  for (const ir::Expr& extent : buffer.shape()) {
    const auto value = ir::as_int(extent);
    if (!value || __builtin_mul_overflow(elements, *value, &elements)) return std::nullopt;
  }
  return elements;
}

bool fits_on_stack(int64_t bytes, int64_t used) { return bytes <= kMaxArrayBytes && used + bytes <= kMaxStackBytes; }

namespace {

// As the back ends do it: a parallel loop's body is a function of its own, with a stack of its own.
class Asking {
 public:
  void visit(const ir::Stmt& s) {
    ir::match(
        s, [](const ir::Store&) {}, [](const ir::Evaluate&) {}, [](const ir::Sync&) {},
        [&](const ir::For& loop) {
          if (!ir::runs_concurrently(loop.kind) || parallel_ || ir::is_int(loop.extent, 1)) return visit(loop.body);
          const int64_t outer = std::exchange(used_, 0);
          parallel_ = true;
          visit(loop.body);
          parallel_ = false;
          used_ = outer;
        },
        [&](const ir::If& i) {
          visit(i.then);
          if (i.otherwise) visit(i.otherwise);
        },
        [&](const ir::Seq& q) {
          for (const ir::Stmt& child : q.stmts) visit(child);
        },
        [&](const ir::LetStmt& l) {
          values_[l.var.id()] = ir::substitute(l.value, values_);
          visit(l.body);
        },
        [&](const ir::Allocate& a) {
          ask(a.buffer);
          visit(a.body);
        });
  }
  std::vector<AskedScratch> asked;

 private:
  void ask(const ir::Buffer& buffer) {
    const auto elements = known_elements(buffer);
    const int64_t element = buffer.element().bytes();
    if (ir::is_private(buffer.scope()) && elements && fits_on_stack(*elements * element, used_)) {
      used_ += *elements * element;
      return;
    }
    ir::Expr bytes = ir::Expr(element);
    for (const ir::Expr& extent : buffer.shape()) bytes = bytes * ir::substitute(extent, values_);
    asked.push_back({elements ? ir::Expr(*elements * element) : bytes, parallel_});
  }

  ir::Substitution values_;
  int64_t used_ = 0;
  bool parallel_ = false;
};

}  // namespace

std::vector<AskedScratch> asked_scratch(const ir::Program& program) {
  Asking asking;
  asking.visit(program.body);
  return std::move(asking.asked);
}

}  // namespace tw::codegen
