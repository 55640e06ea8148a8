#include "rpc/tracker/summary.h"

#include <nlohmann/json.hpp>

#include "src/support/json_text.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;

Json value_of(const Facts& facts, const char* name) {
  const auto found = facts.find(name);
  return found == facts.end() ? Json() : std::visit([](const auto& fact) { return Json(fact); }, found->second);
}

}  // namespace

std::string summary_of(const TrackerState& state, double now) {
  Json boards = Json::array(), queue = Json::array();
  for (const BoardView& board : state.boards())
    boards.push_back({{"key", board.key},
                      {"name", board.name},
                      {"status", to_string(board.status)},
                      {"since_s", now - board.since},
                      {"why", board.why},
                      {"client", board.client},
                      {"hardware", value_of(*board.facts, "hardware")},
                      {"cores", value_of(*board.facts, "cores")}});
  for (const WaitingView& waiting : state.waiting())
    queue.push_back({{"key", waiting.request->key},
                     {"predicate", waiting.request->predicate},
                     {"priority", waiting.request->priority},
                     {"client", waiting.request->client},
                     {"waits_s", now - waiting.since},
                     {"wait_s", waiting.request->wait_s}});
  return support::to_printable_text(Json{{"boards", boards}, {"queue", queue}});
}

}  // namespace tw::rpc
