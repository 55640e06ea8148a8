// The table of tensor intrinsics, and the proof by running that a declared one computes what it says.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "src/ir/interp.h"
#include "src/ir/walk.h"
#include "te/intrin_names.h"
#include "te/refuse.h"
#include "te/shipped_intrins.h"
#include "tensorwright/tensor_intrin.h"

namespace tw::te {
namespace {

constexpr int64_t kLargestTile = int64_t{1} << 16;  // elements of one buffer

struct Table {
  std::mutex mutex;
  std::map<std::string, TensorIntrinPtr> by_key, by_name;
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
  }

  // On small integers, which every dtype holds and adds exactly.
  void run() const {
    std::vector<Tensor> args = op_->inputs;
    args.push_back(op_.output());
    const ir::Program wanted = naive_program({op_.output()}, args);
    std::vector<std::vector<char>> expected = memory(wanted), found = expected;
    interpret(wanted, expected, "its expression");
    ir::Program program = wanted;
    const ir::Stmt reset = does_.reset ? does_.reset : first_values();
    for (const ir::Stmt& s : {does_.body, does_.update ? ir::seq({reset, does_.update}) : ir::Stmt()}) {
      if (!s) continue;
      program.body = s;
      std::vector<std::vector<char>> given = found;
      interpret(program, given, s.same_as(does_.body) ? "its body" : "its reset and update");
      if (given.back() != expected.back())
        fail(std::string(s.same_as(does_.body) ? "the body" : "reset and update together") +
                 " must compute the expression of op",
             {"the values of " + op_->name + " differ on small integers"});
    }
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
        if (!ir::as<ir::VarRef>(load->at[d]))
          fail("op must read at single axes, and reads " + load->buffer.name() + " at " + ir::to_string(load->at[d]),
               {"give " + load->buffer.name() + " the shape in which the tile is read"});
      return true;
    });
  }

  void buffers(const ir::Stmt& s) const {
    if (!s) return;
    for (const Buffer& buffer : ir::free_buffers(s)) {
      const bool known =
          buffer == op_.output().buffer() ||
          std::any_of(op_->inputs.begin(), op_->inputs.end(), [&](const Tensor& t) { return t.buffer() == buffer; });
      if (!known) fail("the statements must touch the tensors of op only, not " + buffer.name(), {});
    }
  }

  ir::Stmt first_values() const {
    const Compute& c = *op_->compute();
    const auto* reduce = ir::as<ir::Reduce>(c.body());
    std::vector<Expr> at;
    for (const IterVar& axis : c.axis) at.push_back(axis.var);
    if (!reduce) return ir::seq({});
    ir::Stmt s = ir::store(op_.output().buffer(), at, ir::identity_of(*reduce)[0]);
    for (size_t d = c.axis.size(); d-- > 0;) s = ir::loop(c.axis[d].var, c.axis[d].extent, s);
    return ir::refresh(s);
  }

  static std::vector<std::vector<char>> memory(const ir::Program& program) {
    std::vector<std::vector<char>> all;
    int64_t next = 1;
    for (const ir::Param& param : program.params) {
      int64_t elements = 1;
      for (const Expr& extent : param.buffer.shape()) elements *= *ir::as_int(extent);
      const Type type = param.buffer.element();
      all.emplace_back(static_cast<size_t>(elements * type.bytes()));
      for (int64_t i = 0; i < elements && !param.written; ++i) {
        next = (next * 75 + 74) % 65537;
        const int64_t small = type.is_bool() ? next % 2 : type.is_uint() ? next % 4 : next % 7 - 3;
        write(type, small, all.back().data() + i * type.bytes());
      }
    }
    return all;
  }

  static void write(Type type, int64_t small, char* to) {
    const auto put = [&](auto value) { std::memcpy(to, &value, sizeof(value)); };
    const float single = static_cast<float>(small);
    if (type.is_float() && type.bits == 64) return put(static_cast<double>(small));
    if (type.is_float() && type.bits == 32) return put(single);
    if (type == Type::bf16()) {
      uint32_t bits;
      std::memcpy(&bits, &single, sizeof(bits));
      return put(static_cast<uint16_t>(bits >> 16));
    }
    if (type == Type::f(16)) {
      const uint16_t halves[] = {0xC200, 0xC000, 0xBC00, 0, 0x3C00, 0x4000, 0x4200};
      return put(halves[small + 3]);
    }
    std::memcpy(to, &small, static_cast<size_t>(type.bytes()));
  }

  void interpret(const ir::Program& program, std::vector<std::vector<char>>& memory, const std::string& who) const {
    std::vector<ir::InterpBuffer> buffers;
    for (std::vector<char>& bytes : memory) buffers.push_back({bytes.data(), bytes.size()});
    const Status status = ir::interpret(program, buffers);
    if (status.ok()) return;
    std::vector<std::string> notes = status.error().notes;
    notes.insert(notes.begin(), status.error().what);
    fail(who + " must run", std::move(notes));
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
  uint64_t hash = 14695981039346656037ull;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string key = name + "@";
  for (int digit = 0; digit < 12; ++digit) key += kDigits[hash >> (60 - 4 * digit) & 15];
  return key;
}

}  // namespace

TensorIntrinPtr declare_tensor_intrin(Operation op, IntrinBodies does, std::string name, SourceLine where) {
  if (name.empty()) name = op ? op->name : "intrin";
  const Declaration declaration(op, does, name, where);
  declaration.check();
  declaration.run();
  auto made = std::make_shared<const TensorIntrin>(TensorIntrin{key_of(name, op, does), op, std::move(does)});
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  if (all.by_key.contains(name))
    refuse(ErrorKind::kSchedule, "decl_tensor_intrin: name must not be that of a shipped intrinsic, " + name, {},
           where);
  all.by_name[name] = made;
  return all.by_key[made->key] = made;
}

TensorIntrinPtr find_tensor_intrin(const std::string& key) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (const auto* known : {&all.by_key, &all.by_name})
    if (const auto found = known->find(key); found != known->end()) return found->second;
  return nullptr;
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
