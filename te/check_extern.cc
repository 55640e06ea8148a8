#include "te/check_extern.h"

#include <algorithm>
#include <optional>

#include "src/ir/externs.h"
#include "src/ir/interp.h"
#include "src/ir/walk.h"

namespace tw::te {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 20, kMostSteps = int64_t{1} << 16;

// In the order of execution: outputs that nothing has been stored to yet, until one of them is read for certain.
class FirstAccess {
 public:
  explicit FirstAccess(const ir::Program& program) {
    for (const ir::Param& param : program.params)
      if (param.written) fresh_.push_back(param.buffer);
    visit(program.body, true);
  }
  std::string found;

 private:
  bool fresh(const ir::Buffer& buffer) const { return std::ranges::find(fresh_, buffer) != fresh_.end(); }
  void written(const ir::Buffer& buffer) { std::erase(fresh_, buffer); }

  void read(const ir::Buffer& buffer, const std::vector<ir::Expr>& at) {
    if (found.empty() && fresh(buffer)) found = ir::to_string(ir::load(buffer, at));
  }

  // `certain`: what stands here is executed.
  void visit(const ir::Expr& e, bool certain) {
    if (!e) return;
    if (const auto* s = ir::as<ir::Select>(e)) return visit(s->cond, certain);
    if (const auto* l = ir::as<ir::Load>(e); l && certain && !l->pred) read(l->buffer, l->at);
    if (const auto* a = ir::as<ir::Address>(e); a && certain && a->read) {
      if (fresh(a->buffer) && found.empty()) found = a->buffer.name() + ", whose address a function may read from,";
    }
    for (const ir::Expr& child : ir::children(e)) visit(child, certain);
    if (const auto* a = ir::as<ir::Address>(e); a && a->written) written(a->buffer);
  }

  void visit(const ir::Stmt& s, bool certain) {
    ir::match(
        s,
        [&](const ir::Store& st) {
          for (const ir::Expr& at : st.at) visit(at, certain);
          visit(st.value, certain && !st.pred);
          written(st.buffer);
        },
        [&](const ir::For& f) { visit(f.extent, certain), visit(f.body, certain); },
        [&](const ir::If& i) {
          visit(i.cond, certain);
          visit(i.then, false);
          if (i.otherwise) visit(i.otherwise, false);
        },
        [&](const ir::Seq& all) {
          for (const ir::Stmt& each : all.stmts) visit(each, certain);
        },
        [&](const ir::Allocate& a) { visit(a.body, certain); },
        [&](const ir::LetStmt& l) { visit(l.value, certain), visit(l.body, certain); },
        [&](const ir::Evaluate& e) { visit(e.value, certain); }, [](const ir::Sync&) {});
  }

  std::vector<ir::Buffer> fresh_;
};

std::optional<std::vector<std::vector<char>>> small_memory(const ir::Program& program) {
  std::vector<std::vector<char>> memory;
  for (const ir::Param& param : program.params) {
    int64_t elements = 1;
    for (const ir::Expr& extent : param.buffer.shape()) {
      const auto known = ir::as_int(extent);
      if (!known || *known > kMostBytes) return std::nullopt;
      elements = std::min(elements * *known, kMostBytes + 1);
    }
    const int64_t bytes = param.buffer.element().bytes_of(elements);
    if (bytes > kMostBytes || !param.buffer.strides().empty()) return std::nullopt;
    memory.emplace_back(static_cast<size_t>(bytes));
  }
  return memory;
}

// Zeros are the inputs: whatever else goes wrong with them is no matter of this check.
std::string found_by_running(const ir::Program& program) {
  if (!program.scalars.empty() || !ir::extern_symbols(program).empty()) return {};
  auto memory = small_memory(program);
  if (!memory) return {};
  std::vector<ir::InterpBuffer> buffers;
  for (std::vector<char>& bytes : *memory) buffers.push_back({bytes.data(), bytes.size()});
  ir::InterpOptions options;
  options.max_steps = kMostSteps;
  const Status ran = ir::interpret(program, buffers, options);
  if (ran.ok()) return {};
  const std::string& what = ran.error().what;
  const size_t end = what.find(" is read before anything was written there"), begin = what.find(": ");
  return end == what.npos || begin == what.npos ? std::string() : what.substr(begin + 2, end - begin - 2);
}

}  // namespace

std::string reads_unwritten(const ir::Program& alone) {
  std::string found = FirstAccess(alone).found;
  return found.empty() ? found_by_running(alone) : found;
}

}  // namespace tw::te
