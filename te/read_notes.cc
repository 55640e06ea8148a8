#include "te/read_notes.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "src/ir/equal.h"
#include "te/read_bounds.h"

namespace tw::te {
namespace {

// Few operations have notes.
struct Notebook {
  std::mutex mutex;
  std::unordered_map<uint64_t, ReadNotes> by_operation;
};

Notebook& notebook() {
  static Notebook* const notes = new Notebook;  // operations may outlive statics
  return *notes;
}

std::vector<Var> whole_extents(const std::vector<ir::Param>& params) {
  std::vector<Var> extents;
  for (const ir::Param& param : params)
    for (const Expr& extent : param.outside().shape())
      if (const auto* v = ir::as<ir::VarRef>(extent)) extents.push_back(v->var);
  return extents;
}

std::vector<ir::Requirement> requirements(const std::vector<Operation>& order, const std::vector<Var>& extents) {
  std::vector<ir::Requirement> all;
  for (const Operation& op : order)
    for (const ir::Requirement& r : notes_of(*op).requirements)
      if (std::none_of(all.begin(), all.end(), [&](const auto& known) { return ir::equal(known.test, r.test); }))
        all.push_back(r);
  for (size_t i = all.size(); i-- > 0;) {
    std::vector<Expr> others;
    for (size_t j = 0; j < all.size(); ++j)
      if (j != i) others.push_back(all[j].test);
    if (follows(all[i].test, others, extents)) all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

}  // namespace

void note_reads(const OpNode& op, ReadNotes notes) {
  if (notes.requirements.empty() && notes.clamps.empty()) return;
  const std::lock_guard lock(notebook().mutex);
  notebook().by_operation[op.id] = std::move(notes);
}

ReadNotes notes_of(const OpNode& op) {
  const std::lock_guard lock(notebook().mutex);
  const auto found = notebook().by_operation.find(op.id);
  return found == notebook().by_operation.end() ? ReadNotes{} : found->second;
}

void forget_notes(const OpNode& op) {
  const std::lock_guard lock(notebook().mutex);
  notebook().by_operation.erase(op.id);
}

void add_requirements(ir::Program& program, const std::vector<Tensor>& roots) {
  std::vector<ir::Stmt> statements;
  for (const ir::Requirement& r : requirements(topological_order(roots), whole_extents(program.params)))
    statements.push_back(ir::as_statement(r));
  if (statements.empty()) return;
  statements.push_back(program.body);
  program.body = ir::seq(std::move(statements));
}

}  // namespace tw::te
