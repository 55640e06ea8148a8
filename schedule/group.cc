#include "schedule/group.h"

#include <algorithm>
#include <unordered_set>

#include "schedule/refuse.h"

namespace tw::schedule {

namespace {

std::string names(const std::vector<te::Operation>& ops) {
  std::vector<std::string> all;
  for (const te::Operation& op : ops) all.push_back(op->name);
  return join(all);
}

}  // namespace

Result<std::vector<std::string>> group_members(const LoopNest& nest, const std::vector<te::Operation>& outputs,
                                               const std::vector<te::Operation>& inputs, bool include_inputs) {
  std::unordered_set<int> starts, after, before;
  std::unordered_set<uint64_t> given;  // operations, states among them
  std::vector<std::vector<int>> readers;
  for (int i = 0; i < nest.size(); ++i) readers.push_back(readers_of(nest, i));
  for (const te::Operation& op : inputs) {
    given.insert(op->id);
    if (const int i = nest.find_stage(op->buffer_id()); i != kNone) starts.insert(i);
  }
  for (const te::Operation& op : outputs) before.insert(nest.find_stage(op->buffer_id()));
  after = starts;
  for (int i = 0; i < nest.size(); ++i) {  // producers first
    for (const te::Tensor& input : nest.stage(i).op->inputs)
      if (given.contains(input.op()->id)) after.insert(i);
    if (after.contains(i)) after.insert(readers[i].begin(), readers[i].end());
  }
  for (int i = nest.size(); i-- > 0;)
    for (const int reader : readers[i])
      if (before.contains(reader) && !starts.contains(reader)) before.insert(i);
  std::vector<std::string> members;
  for (int i = 0; i < nest.size(); ++i)
    if (after.contains(i) && before.contains(i) && !nest.stage(i).is_placeholder() &&
        (include_inputs || !starts.contains(i)))
      members.push_back(nest.stage(i).name);
  if (members.empty())
    return refuse("create_group",
                  "a way must lead from " + names(inputs) + " to " + names(outputs) + "; there is none");
  return members;
}

Result<std::vector<Step>> place_group(const LoopNest& nest, const std::vector<std::string>& members,
                                      const std::string& consumer, const std::string& axis, const SourceLine& where) {
  const auto inside = [&](const std::string& name) { return std::ranges::find(members, name) != members.end(); };
  if (inside(consumer))
    return refuse("compute_at", "parent must be a stage outside of the group, and " + consumer + " is in it")
           << "the group: " + join(members);
  std::vector<Step> steps;
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    const int i = nest.find_stage(*member);
    TW_CHECK(i != kNone, "a group's stage " + *member + " is not in the schedule");
    const Attach& attach = nest.stage(i).attach;
    if (attach.kind == AttachKind::kInline || (attach.kind == AttachKind::kAt && inside(attach.stage))) continue;
    if (consumer.empty()) {
      steps.emplace_back(ComputeRoot{*member}, where);
    } else {
      steps.emplace_back(ComputeAt{*member, consumer, axis}, where);
    }
  }
  return steps;
}

}  // namespace tw::schedule
