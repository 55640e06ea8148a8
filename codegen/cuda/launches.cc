#include "codegen/cuda/launches.h"

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/scratch.h"
#include "src/ir/externs.h"
#include "src/ir/requirement.h"
#include "src/ir/walk.h"
#include "src/ir/warp_products.h"

namespace tw::codegen {

using namespace ir;

namespace {

[[noreturn]] void refuse(const std::string& kernel, const std::string& what, std::vector<std::string> notes = {}) {
  throw Error({ErrorKind::kSchedule, "build: " + kernel + ": " + what, {}, std::move(notes)});
}

class Splitter {
 public:
  Splitter(const Program& program, DeviceProgram& out) : program_(program), out_(out) {}

  void visit(const Stmt& s) {
    match(
        s, [&](const Store& st) { unbound(st.buffer.name()); }, [&](const For& f) { loop(f); },
        [&](const If& i) { branch(i); },
        [&](const Seq& q) {
          for (const Stmt& child : q.stmts) visit(child);
        },
        [&](const Allocate& a) {
          Buffer scratch = a.buffer;
          if (scratch.scope() != Scope::kGlobal) unbound(scratch.name());
          out_.scratch.push_back(with_lets(scratch));
          visit(a.body);
        },
        [&](const LetStmt& l) {
          lets_.emplace_back(l.var, substitute(l.value, values_));
          values_[l.var.id()] = lets_.back().second;
          visit(l.body);
          lets_.pop_back();
        },
        [&](const Evaluate& e) {
          if (!requirement_in(e.value)) refuse(program_.name, "a C function cannot be called on a device");
        },
        [&](const Sync&) { TW_CHECK(false, "a barrier outside of a launch"); });
  }

 private:
  [[noreturn]] void unbound(const std::string& stage) {
    refuse(program_.name, "stage " + stage + " has no loop that is bound to a device",
           {"s[" + stage + "].bind(axis, te.thread_axis(\"threadIdx.x\")), and its blocks likewise"});
  }

  void loop(const For& f) {
    if (!is_device_index(f.kind)) {
      std::string stage = f.var.name();
      walk(f.body, [&](const Stmt& s) {
        if (const auto* st = as<Store>(s)) stage = st->buffer.name();
        return true;
      });
      unbound(stage);
    }
    DeviceLaunch launch;
    const For* at = &f;
    for (; at != nullptr && is_device_index(at->kind); at = as<For>(launch.body)) {
      For axis = *at;
      axis.extent = substitute(axis.extent, values_);
      launch.axes.push_back(axis);
      launch.body = at->body;
    }
    launch.when = when_ ? when_ : boolean(true);
    launch.lets = lets_;
    out_.launches.push_back(std::move(launch));
  }

  void branch(const If& i) {
    const Expr outer = when_, cond = substitute(i.cond, values_);
    when_ = outer ? outer && cond : cond;
    visit(i.then);
    when_ = outer ? outer && logical_not(cond) : logical_not(cond);
    if (i.otherwise) visit(i.otherwise);
    when_ = outer;
  }

  Buffer with_lets(const Buffer& buffer) {
    return map_sizes(buffer, [this](const Expr& size) { return substitute(size, values_); });
  }

  const Program& program_;
  DeviceProgram& out_;
  Expr when_;
  std::vector<std::pair<Var, Expr>> lets_;
  Substitution values_;
};

void check_threads(const std::string& kernel, const DeviceLaunch& launch, const Device& device) {
  int64_t threads = 1;
  std::string product;
  for (const For& axis : launch.axes) {
    if (!is_thread(axis.kind)) continue;
    const auto extent = as_int(axis.extent);
    threads *= extent.value_or(1);
    product += (product.empty() ? "" : " * ") + to_string(axis.extent);
  }
  if (threads > device.threads)
    refuse(kernel, "a block must have at most " + std::to_string(device.threads) + " threads, not " + product,
           {"split the axis that is bound to threadIdx"});
}

}  // namespace

Expr DeviceLaunch::extent(ForKind kind) const {
  const auto axis = std::find_if(axes.begin(), axes.end(), [&](const For& f) {
    return is_block(f.kind) == is_block(kind) && dimension_of(f.kind) == dimension_of(kind);
  });
  return axis == axes.end() ? Expr(1) : axis->extent;
}

Stmt DeviceLaunch::within_lets(Stmt out) const {
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    if (uses_var(out, let->first)) out = let_stmt(let->first, let->second, out);
  return out;
}

Stmt DeviceLaunch::nest() const {
  Stmt out = within_lets(body);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) out = ir::loop(axis->var, axis->extent, out, axis->kind);
  return out;
}

namespace {

bool meets(const Stmt& s) {
  bool found = false;
  walk(s, [&](const Stmt& inner) {
    const auto* sync = as<Sync>(inner);
    found = found || (sync && sync->op == SyncOp::kBlock);
    return !found;
  });
  return found;
}

// Bytes of its own that a thread keeps while it waits for others, at most at once.
int64_t kept_bytes(const Stmt& s) {
  const auto* a = as<Allocate>(s);
  int64_t inside = 0;
  map_children(
      s,
      [&](const Stmt& child) {
        inside = std::max(inside, kept_bytes(child));
        return child;
      },
      [](const Expr& e) { return e; });
  if (!a || a->buffer.scope() != Scope::kLocal || !meets(a->body)) return inside;
  int64_t own = a->buffer.element().bytes();
  for (const Expr& extent : a->buffer.shape()) own *= as_int(extent).value_or(1);
  return inside + own;
}

// Registers that a thread has where it waits for others and reads later, at most at once, each as wide as what is
// calculated. Nothing where it reads memory behind a wait, which takes as many more as a compiler likes.
std::optional<int64_t> live_registers(const Stmt& body) {
  struct Life {
    int64_t registers, from, to;  // waits that were over
  };
  std::map<uint64_t, Life> lives;
  int64_t waits = 0;
  bool reads_on = false;
  walk(
      body,
      [&](const Stmt& s) {
        const auto* sync = as<Sync>(s);
        waits += sync && sync->op == SyncOp::kBlock ? 1 : 0;
        const auto* a = as<Allocate>(s);
        if (a && a->buffer.scope() == Scope::kLocal)
          lives[a->buffer.id()] = {known_elements(a->buffer).value_or(1) * std::max(1, a->buffer.element().bytes() / 4),
                                   waits, waits};
        return true;
      },
      [&](const Expr& e) {
        const auto* l = as<Load>(e);
        if (const auto life = l ? lives.find(l->buffer.id()) : lives.end(); life != lives.end())
          life->second.to = waits;
        else if (l && waits > 0 && l->buffer.scope() == Scope::kArgument)
          reads_on = true;
        return true;
      });
  if (reads_on) return std::nullopt;
  int64_t most = 0;
  for (int64_t wait = 0; wait < waits; ++wait) {
    int64_t kept = 0;
    for (const auto& [id, life] : lives) kept += life.from <= wait && wait < life.to ? life.registers : 0;
    most = std::max(most, kept);
  }
  return most;
}

}  // namespace

int64_t blocks_at_once(const Stmt& body, int64_t threads, int64_t shared_bytes, const Target& target) {
  constexpr int64_t kFew = 128, kRegisters = 65536, kOthers = 14, kFewOthers = 8, kBytesOfOne = 4;
  constexpr int64_t kRow = 16;  // registers: what keeps less is bound by what it reads, which takes others
  bool sums = false, multiplies = false;
  walk(
      body, [](const Stmt&) { return true; },
      [&](const Expr& e) {
        if (const auto* call = as<CallExtern>(e)) (call->symbol == kShuffle ? sums : multiplies) = true;
        return true;
      });
  if (!sums || multiplies || threads <= kFew || !meets(body) ||
      2 * shared_bytes > target.abilities.device->shared_bytes)
    return 1;
  const auto live = live_registers(body);
  if (live && *live >= kRow && 3 * threads * (*live + kFewOthers) <= kRegisters) return 3;
  return 2 * threads * (kept_bytes(body) / kBytesOfOne + kOthers) <= kRegisters ? 2 : 1;
}

Program launch_program(const DeviceLaunch& launch, const std::string& name, const std::vector<Param>& arrays,
                       const std::vector<Var>& scalars) {
  Program out;
  out.name = name;
  out.scalars = scalars;
  out.places.assign(scalars.size(), static_cast<int>(arrays.size()));
  for (const Param& array : arrays) {
    BufferNode node = *array.buffer.operator->();
    const Var elements(node.name + "_elements");
    node.shape = {elements};
    node.strides = {};
    node.scope = Scope::kArgument;
    out.params.emplace_back(Buffer(node), array.written);
    out.scalars.push_back(elements);
  }
  DeviceLaunch sized = launch;
  for (For& axis : sized.axes) {
    if (as_int(axis.extent)) continue;
    out.scalars.emplace_back(axis.var.name() + "_extent");
    axis.extent = out.scalars.back();
  }
  out.body = sized.nest();
  return out;
}

DeviceProgram device_program(const Program& program, const Target& target) {
  const std::vector<std::string> externs = extern_symbols(program);
  if (!externs.empty()) refuse(program.name, "the C function " + externs.front() + " cannot be called on a device");
  DeviceProgram out;
  Splitter(program, out).visit(program.body);
  for (const DeviceLaunch& launch : out.launches) check_threads(program.name, launch, *target.abilities.device);
  return out;
}

}  // namespace tw::codegen
