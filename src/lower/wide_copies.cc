// The buffers whose elements are converted where they are read, and the programs that convert them where they are
// stored.

#include "src/lower/wide_copies.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "src/ir/typing.h"
#include "src/ir/walk.h"
#include "src/lower/in_loops.h"

namespace tw::lower {

using namespace ir;

namespace {

constexpr double kReads = 4;  // of an element: fewer don't pay for twice the memory

// An element that is converted to twice its width, on its own or into all lanes of a vector; null for anything else.
const Load* converted_element(const Expr& e) {
  const auto* c = as<Cast>(e);
  const auto* all = c ? as<Broadcast>(c->value) : nullptr;
  const auto* l = c ? as<Load>(all ? all->value : c->value) : nullptr;
  return l && keeps_wide(l->buffer.element(), e.type()) && lanes_of(l->at) == 1 && !l->pred ? l : nullptr;
}

// What each buffer is read as, and how often.
class Reads {
 public:
  struct Of {
    std::optional<Type> wide;  // what its elements are converted to
    bool only = true;
    double reads = 0;  // of all elements together
    double again = 1;  // of an element, at least, where that is all one knows
    size_t depth = 0;  // of the loops around the allocation
    double elements = 1;
    bool counted = true;
    Buffer buffer;
  };

  void visit(const Stmt& s) {
    walk_in_loops(
        s,
        [&](const Stmt& at, const Around& around) {
          if (const auto* a = as<Allocate>(at)) begin(a->buffer, around);
          return true;
        },
        [&](const Expr& e, const Around& around) { read(e, around); });
  }

  // By the buffer's id: what stands for it.
  BufferMap wide() const {
    BufferMap out;
    for (const auto& [id, of] : found_) {
      const double times = of.counted ? of.reads / of.elements : of.again;
      if (!of.only || !of.wide || times < kReads) continue;
      BufferNode node = *of.buffer.operator->();
      node.id = Buffer::fresh_id();
      node.element = *of.wide;
      out.emplace(id, Buffer(std::move(node)));
    }
    return out;
  }

 private:
  void begin(const Buffer& buffer, const Around& around) {
    Of of;
    of.buffer = buffer;
    of.depth = around.loops.size();
    of.only = buffer.strides().empty();
    for (const Expr& extent : buffer.shape()) {
      const std::optional<int64_t> n = as_int(extent);
      of.counted = of.counted && n;
      of.elements *= static_cast<double>(n.value_or(1));
    }
    found_.emplace(buffer.id(), std::move(of));
  }

  void read(const Expr& value, const Around& around) {
    walk(value, [&](const Expr& e) {
      if (const Load* l = converted_element(e)) return taken(*l, e.type().element(), around);
      if (const auto* l = as<Load>(e)) spoiled(l->buffer);
      if (const auto* a = as<Address>(e)) spoiled(a->buffer);
      return true;
    });
  }

  void spoiled(const Buffer& buffer) {
    if (const auto found = found_.find(buffer.id()); found != found_.end()) found->second.only = false;
  }

  // False: what it is read at has been looked at.
  bool taken(const Load& l, Type wide, const Around& around) {
    for (const Expr& at : l.at) read(at, around);
    const auto found = found_.find(l.buffer.id());
    if (found == found_.end()) return false;
    Of& of = found->second;
    of.only = of.only && (!of.wide || of.wide == wide);
    of.wide = wide;
    double times = 1, again = 1;
    for (size_t n = of.depth; n < around.loops.size(); ++n) {
      const For& f = *around.loops[n];
      const std::optional<int64_t> extent = as_int(f.extent);
      of.counted = of.counted && extent;
      times *= static_cast<double>(extent.value_or(1));
      const bool moves = std::ranges::any_of(l.at, [&](const Expr& at) { return uses_var(at, f.var); });
      if (!moves) again *= static_cast<double>(extent.value_or(1));
    }
    of.reads += times;
    of.again = std::max(of.again, again);
    return false;
  }

  std::unordered_map<uint64_t, Of> found_;
};

class Widening {
 public:
  explicit Widening(const BufferMap& wide) : wide_(wide) {}

  Stmt applied(const Stmt& s) const {
    return rewrite(s, [&](const Stmt& at) { return statement(at); }, [&](const Expr& e) { return expression(e); });
  }

 private:
  const Buffer* wide(const Buffer& buffer) const {
    const auto found = wide_.find(buffer.id());
    return found == wide_.end() ? nullptr : &found->second;
  }

  Stmt statement(const Stmt& s) const {
    if (const auto* a = as<Allocate>(s))
      if (const Buffer* buffer = wide(a->buffer)) return allocate(*buffer, a->body);
    if (const auto* st = as<Store>(s))
      if (const Buffer* buffer = wide(st->buffer))
        return store(*buffer, st->at, cast(buffer->element().with_lanes(st->value.type().lanes), st->value), st->pred,
                     st->arrival);
    return s;
  }

  Expr expression(const Expr& e) const {
    if (const Load* l = converted_element(e))
      if (const Buffer* buffer = wide(l->buffer)) {
        const Expr element = load(*buffer, l->at);
        return e.type().lanes > 1 ? broadcast(element, e.type().lanes) : element;
      }
    return e;
  }

  const BufferMap& wide_;
};

}  // namespace

bool keeps_wide(Type element, Type calculated_with) {
  return calculated_with.bits == 2 * element.bits && !calculated_with.is_index() && !element.is_storage();
}

Program wide_copies(const Program& p, const Target&) {
  Reads reads;
  reads.visit(p.body);
  const BufferMap wide = reads.wide();
  if (wide.empty()) return p;
  Program out = p;
  out.body = Widening(wide).applied(p.body);
  return out;
}

}  // namespace tw::lower
