// The table of tensor intrinsics, and what may be declared as one.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>

#include "src/ir/walk.h"
#include "src/support/fnv.h"
#include "te/intrin_names.h"
#include "te/prove_intrin.h"
#include "te/refuse.h"
#include "te/shipped_intrins.h"
#include "tensorwright/tensor_intrin.h"

namespace tw::te {
namespace {

constexpr int64_t kLargestTile = int64_t{1} << 16;  // elements of one buffer

struct Table {
  std::mutex mutex;
  std::map<std::string, TensorIntrinPtr> by_key, by_name;
  std::map<std::string, TensorIntrinPtr> unlisted;  // shipped ones, since somebody asked
  // By key, those of which a function was not there at their declaration; once proved, what they do.
  std::map<std::string, std::optional<IntrinBodies>> late;
};

Table& table() {
  static Table* const all = [] {
    auto* made = new Table;
    for (TensorIntrin& shipped : shipped_intrins()) {
      const std::string key = shipped.key;
      made->by_key[key] = std::make_shared<const TensorIntrin>(std::move(shipped));
    }
    return made;
  }();
  return *all;
}

TensorIntrinPtr of_fewer_terms(Table& all, const std::string& key) {
  if (const auto found = all.unlisted.find(key); found != all.unlisted.end()) return found->second;
  std::optional<TensorIntrin> made = shipped_tile_of_fewer_terms(key);
  if (!made) return nullptr;
  return all.unlisted[key] = std::make_shared<const TensorIntrin>(*std::move(made));
}

class Declaration {
 public:
  Declaration(const Operation& op, const IntrinBodies& does, const std::string& name, const SourceLine& where)
      : op_(op), does_(does), what_("decl_tensor_intrin " + name), where_(where) {}

  void check() const {
    const Compute* c = op_ ? op_->compute() : nullptr;
    if (!c || op_->outputs.size() != 1) fail("op must be a compute of one output", {});
    for (const Tensor& input : op_->inputs) tensor(input);
    tensor(op_.output());
    for (const auto* axes : {&c->axis, &c->reduce_axis})
      for (const IterVar& axis : *axes)
        if (!ir::as_int(axis.extent) || !ir::is_int(axis.min, 0))
          fail("axis " + axis.var.name() + " must run over 0.. a known number", {});
    reads(*c);
    if (!does_.body && !does_.update) fail("the function must return a body or an update", {});
    for (const ir::Stmt& s : {does_.body, does_.reset, does_.update}) buffers(s);
    variables();
  }

 private:
  [[noreturn]] void fail(const std::string& rule, std::vector<std::string> notes) const {
    refuse(ErrorKind::kSchedule, what_ + ": " + rule, std::move(notes), where_);
  }

  void tensor(const Tensor& t) const {
    int64_t elements = 1;
    for (const Expr& extent : t.shape()) {
      if (!ir::as_int(extent)) fail("tensor " + t.name() + " must have a known shape", {});
      elements *= std::min(*ir::as_int(extent), kLargestTile + 1);
      if (elements > kLargestTile) fail("tensor " + t.name() + " must be small, at most 65536 elements", {});
    }
    if (!(t == op_.output()) && !t.op()->is_placeholder())
      fail("op must read placeholders only, and " + t.name() + " is computed", {});
  }

  void reads(const Compute& c) const {
    ir::walk(c.body(), [&](const Expr& e) {
      const auto* load = ir::as<ir::Load>(e);
      for (size_t d = 0; load && d < load->at.size(); ++d)
        if (ir::has_load(load->at[d]))
          fail("op must read at subscripts of its axes, and reads " + load->buffer.name() + " at " +
                   ir::to_string(load->at[d]),
               {"which element that is depends on data"});
      return true;
    });
  }

  // What the statements may name besides their own loops: the variables that stand for strides and offsets.
  void variables() const {
    std::unordered_set<uint64_t> known;
    for (const auto& [buffer, tile] : does_.tiles)
      for (const Expr& stride : tile.strides)
        if (const auto* v = ir::as<ir::VarRef>(stride)) known.insert(v->var.id());
    for (const auto& [buffer, tile] : does_.tiles)
      if (tile.elem_offset && !known.insert(tile.elem_offset.id()).second)
        fail("elem_offset must be a variable of its own, and " + tile.elem_offset.name() + " stands for more",
             {"declare a te.var for each stride and each elem_offset"});
    const auto scalars = [&](const Expr& e) {
      const auto* v = ir::as<ir::VarRef>(e);
      if (v && is_scalar(v->var) && !known.contains(v->var.id()))
        fail("the statements must use variables of strides and of elem_offset only, not " + v->var.name(),
             {"binds={tensor: te.decl_buffer(shape, strides=[" + v->var.name() + ", 1])} gives a stride's variable"});
      return true;
    };
    for (const ir::Stmt& s : {does_.body, does_.reset, does_.update})
      if (s) ir::walk(s, [](const ir::Stmt&) { return true; }, scalars);
  }

  void buffers(const ir::Stmt& s) const {
    if (!s) return;
    for (const Buffer& buffer : ir::free_buffers(s)) {
      const bool known =
          buffer == op_.output().buffer() ||
          std::any_of(op_->inputs.begin(), op_->inputs.end(), [&](const Tensor& t) { return t.buffer() == buffer; }) ||
          std::any_of(does_.tiles.begin(), does_.tiles.end(), [&](const auto& t) { return t.second.memory == buffer; });
      if (!known) fail("the statements must touch the tensors of op only, not " + buffer.name(), {});
    }
  }

  const Operation& op_;
  const IntrinBodies& does_;
  const std::string what_;
  const SourceLine& where_;
};

std::string key_of(const std::string& name, const Operation& op, const IntrinBodies& does) {
  std::vector<Tensor> args = op->inputs;
  args.push_back(op.output());
  ir::Program program = naive_program({op.output()}, args);
  std::string text = ir::to_string(program);
  for (const ir::Stmt& s : {does.body, does.reset, does.update}) {
    program.body = s ? s : ir::seq({});
    text += ir::to_string(program);
  }
  for (const Tensor& t : args) {
    const TileBuffer& tile = does.tile(t.buffer());
    for (const Expr& stride : tile.strides) text += " " + ir::to_string(stride);
    if (tile.offset_factor > 1) text += " at " + std::to_string(tile.offset_factor);
    if (tile.alignment > 1) text += " aligned " + std::to_string(tile.alignment);
    if (tile.scope) text += " " + ir::to_string(*tile.scope);
    if (tile.elem_offset) text += " from " + tile.elem_offset.name();
  }
  return name + "@" + support::fnv1a_hex(text).substr(0, 12);
}

}  // namespace

const TileBuffer& IntrinBodies::tile(const Buffer& of) const {
  static const TileBuffer anywhere;
  const auto found = tiles.find(of.id());
  return found == tiles.end() ? anywhere : found->second;
}

TensorIntrinPtr declare_tensor_intrin(Operation op, IntrinBodies does, std::string name, SourceLine where) {
  if (name.empty()) name = op ? op->name : "intrin";
  const Declaration declaration(op, does, name, where);
  declaration.check();
  const bool provable = missing_functions(does).empty();
  if (provable)
    if (const Status proved = prove_intrin(op, does); !proved.ok())
      refuse(ErrorKind::kSchedule, "decl_tensor_intrin " + name + ": " + proved.error().what, proved.error().notes,
             where);
  auto made = std::make_shared<const TensorIntrin>(TensorIntrin{key_of(name, op, does), op, std::move(does)});
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (all.by_key.contains(name) || of_fewer_terms(all, name))
    refuse(ErrorKind::kSchedule, "decl_tensor_intrin: name must not be that of a shipped intrinsic, " + name, {},
           where);
  all.by_name[name] = made;
  if (!provable) all.late.emplace(made->key, std::nullopt);
  return all.by_key[made->key] = made;
}

Result<IntrinBodies> proved_bodies(const TensorIntrin& intrin) {
  Table& all = table();
  {
    const std::lock_guard lock(all.mutex);
    const auto late = all.late.find(intrin.key);
    if (late == all.late.end()) return intrin.does;
    if (late->second) return *late->second;
  }
  IntrinBodies does = intrin.does;
  if (!missing_functions(does).empty()) return does;
  TW_TRY([[maybe_unused]] Unit proved, prove_intrin(intrin.op, does));
  const std::lock_guard lock(all.mutex);
  all.late[intrin.key] = does;
  return does;
}

TensorIntrinPtr find_tensor_intrin(const std::string& key) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (const auto* known : {&all.by_key, &all.by_name})
    if (const auto found = known->find(key); found != known->end()) return found->second;
  return of_fewer_terms(all, key);
}

std::string readable_intrin(const std::string& key) {
  const std::string name = key.substr(0, key.find('@'));
  const TensorIntrinPtr meant = find_tensor_intrin(name);
  return meant && meant->key == key ? name : key;
}

std::vector<std::string> tensor_intrin_keys() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> keys;
  for (const auto& [key, intrin] : all.by_key) keys.push_back(key);
  return keys;
}

}  // namespace tw::te
