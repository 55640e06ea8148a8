#include "rpc/tracker/state.h"

#include <algorithm>
#include <cstdio>
#include <tuple>

#include "src/support/nearest.h"

namespace tw::rpc {
namespace {

constexpr size_t kLongestName = 64;
constexpr double kMissedBeat = 1.5;  // seconds: a board whose name another one claims is not there any more
constexpr size_t kListed = 8;        // boards of a refusal

Diagnostic refused(std::string what, std::vector<std::string> notes = {}) {
  return {ErrorKind::kRpc, std::move(what), {}, std::move(notes)};
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Diagnostic bad_name(const std::string& what) {
  return refused(what + " has to be 1 to " + std::to_string(kLongestName) + " visible characters of ASCII");
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds < 10 ? "%.3g s" : "%.0f s", std::max(seconds, 0.0));
  return text;
}

}  // namespace

std::string_view to_string(BoardStatus status) {
  constexpr std::string_view kNames[] = {"free", "leased", "in session", "quarantined", "lost"};
  return kNames[static_cast<size_t>(status)];
}

BoardStatus TrackerState::Board::status() const {
  if (!lost.empty()) return BoardStatus::kLost;
  if (!quarantine.empty()) return BoardStatus::kQuarantined;
  if (lease) return BoardStatus::kLeased;
  return in_session ? BoardStatus::kInSession : BoardStatus::kFree;
}

template <class Change>
void TrackerState::change(double now, Board& board, Change change) {
  const BoardStatus before = board.status();
  change(board);
  if (board.status() == before) return;
  board.since = now;
  if (board.status() == BoardStatus::kFree) stirred_.insert(board.key);
}

// -------------------------------------------------------------------------------------------------------------- boards

Result<BoardId> TrackerState::enter(double now, const std::string& key, const std::string& name,
                                    std::string_view description, bool in_session) {
  if (!is_name(key)) return bad_name("a board's key");
  if (!is_name(name)) return bad_name("a board's name");
  if (description.size() > rules_.description_bytes)
    return refused("the description of the board " + name + " is too long");
  TW_TRY(Facts facts, facts_of(description));
  const std::string known_as = free_name(now, name);
  if (boards_.size() >= rules_.boards) forget_one();
  if (boards_.size() >= rules_.boards)
    return refused("the tracker has " + std::to_string(boards_.size()) + " boards and takes no more");
  const BoardId id = ++last_id_;
  boards_[id] = Board{key, known_as, std::move(facts), now, now, now, in_session};
  stirred_.insert(key);
  return id;
}

// Of a board that is lost, or as good as, the newer one takes the name: it is the same that has come back.
std::string TrackerState::free_name(double now, const std::string& name) {
  std::set<std::string> taken;
  for (const auto& [id, board] : boards_) taken.insert(board.name);
  for (auto at = boards_.begin(); at != boards_.end(); ++at) {
    if (at->second.name != name || !overdue(now, at->second, kMissedBeat)) continue;
    lose(now, at->first, "it registered again");
    boards_.erase(at);
    return name;
  }
  std::string free = name;
  for (int number = 2; taken.count(free) > 0; ++number) free = name + "-" + std::to_string(number);
  return free;
}

// The one that has been lost for longest.
void TrackerState::forget_one() {
  auto oldest = boards_.end();
  for (auto at = boards_.begin(); at != boards_.end(); ++at)
    if (!at->second.lost.empty() && (oldest == boards_.end() || at->second.since < oldest->second.since)) oldest = at;
  if (oldest != boards_.end()) boards_.erase(oldest);
}

bool TrackerState::overdue(double now, const Board& board, double by_s) const {
  return !board.lost.empty() || now > std::max(board.heard, board.silent_until) + by_s;
}

void TrackerState::hear(double now, BoardId id, bool in_session, double silent_s, uint32_t lost_workers,
                        const std::string& reason) {
  const auto found = boards_.find(id);
  if (found == boards_.end() || !found->second.lost.empty()) return;
  Board& board = found->second;
  board.heard = now;
  board.silent_until = now + std::clamp(silent_s, 0.0, rules_.most_silent_s);
  change(now, board, [&](Board& b) { b.in_session = in_session; });
  lose_workers(now, id, lost_workers, reason);
}

void TrackerState::lose_workers(double now, BoardId id, uint32_t count, const std::string& reason) {
  Board& board = boards_.at(id);
  if (count < board.forgiven_workers) board.forgiven_workers = 0;  // one has come back since
  board.lost_workers = count;
  if (count - board.forgiven_workers < rules_.lost_workers || !board.quarantine.empty()) return;
  const std::string why = std::to_string(count - board.forgiven_workers) + " workers were lost in a row" +
                          (reason.empty() ? "" : ", the last: " + reason);
  take_back(now, id, "the board is quarantined: " + why);
  change(now, board, [&](Board& b) { b.quarantine = why; });
}

void TrackerState::lose(double now, BoardId id, const std::string& why) {
  const auto found = boards_.find(id);
  if (found == boards_.end() || !found->second.lost.empty()) return;
  take_back(now, id, "the board is lost: " + why);
  change(now, found->second, [&](Board& b) { b.lost = why; });
  decisions_.emplace_back(Loss{id, why});
}

Status TrackerState::release(double now, const std::string& name) {
  std::vector<std::string> quarantined;
  for (auto& [id, board] : boards_) {
    if (board.status() != BoardStatus::kQuarantined) continue;
    quarantined.push_back(board.name);
    if (board.name != name) continue;
    board.forgiven_workers = board.lost_workers;
    change(now, board, [](Board& b) { b.quarantine.clear(); });
    return Unit{};
  }
  std::string all;
  for (const std::string& other : quarantined) all += (all.empty() ? "" : ", ") + other;
  return refused("no board named " + name + " is quarantined", {all.empty() ? "no board is" : "quarantined: " + all});
}

// -------------------------------------------------------------------------------------------------------------- leases

Result<ClientId> TrackerState::ask(double now, BoardRequest request) {
  if (!is_name(request.key)) return bad_name("the key of a request");
  if (clients_.size() >= rules_.clients)
    return refused("the tracker has " + std::to_string(clients_.size()) + " clients and takes no more");
  TW_TRY(Predicate predicate, Predicate::parse(request.predicate));
  const ClientId id = ++last_id_;
  const Client& client = clients_[id] = Client{std::move(request), std::move(predicate), now};
  wait(id, client);
  return id;
}

void TrackerState::wait(ClientId id, const Client& client) {
  queues_[client.request.key].emplace(-int64_t{client.request.priority}, id);
  stirred_.insert(client.request.key);
}

void TrackerState::stop_waiting(ClientId id, const Client& client) {
  const auto queue = queues_.find(client.request.key);
  if (queue == queues_.end()) return;
  queue->second.erase({-int64_t{client.request.priority}, id});
  if (queue->second.empty()) queues_.erase(queue);
}

void TrackerState::attach(double now, ClientId id) {
  const auto found = clients_.find(id);
  if (found != clients_.end() && found->second.board) found->second.attached = now;
}

void TrackerState::leave(double now, ClientId id) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  stop_waiting(id, found->second);
  if (found->second.board)
    change(now, boards_.at(*found->second.board), [](Board& b) {
      b.lease.reset();
      b.in_session = true;
    });
  clients_.erase(found);
}

void TrackerState::take_back(double now, BoardId id, const std::string& why) {
  Board& board = boards_.at(id);
  if (!board.lease) return;
  const ClientId client_id = *board.lease;
  change(now, board, [](Board& b) {
    b.lease.reset();
    b.in_session = true;
  });
  Client& client = clients_.at(client_id);
  client.board.reset();
  decisions_.emplace_back(EndOfLease{client_id, id, why, !client.attached});
  if (client.attached)
    clients_.erase(client_id);
  else
    wait(client_id, client);
}

// Boards that have been free for longest are given first: they are the coolest.
void TrackerState::grant(double now, const std::string& key) {
  const auto found = queues_.find(key);
  if (found == queues_.end()) return;
  std::vector<std::pair<double, BoardId>> free;
  for (const auto& [id, board] : boards_)
    if (board.key == key && board.status() == BoardStatus::kFree) free.emplace_back(board.since, id);
  std::sort(free.begin(), free.end());
  Queue& queue = found->second;
  for (auto at = queue.begin(); at != queue.end() && !free.empty();) {
    const ClientId id = at->second;
    Client& client = clients_.at(id);
    const auto board = std::find_if(free.begin(), free.end(), [&](const auto& candidate) {
      return client.predicate.lacking(boards_.at(candidate.second).facts).empty();
    });
    if (board == free.end()) {
      ++at;
      continue;
    }
    client.board = board->second;
    change(now, boards_.at(board->second), [&](Board& b) { b.lease = id; });
    decisions_.emplace_back(Grant{id, board->second});
    free.erase(board);
    at = queue.erase(at);
  }
  if (queue.empty()) queues_.erase(found);
}

// -------------------------------------------------------------------------------------------------------- what is over

void TrackerState::pass(double now) {
  std::vector<BoardId> silent, forgotten;
  for (const auto& [id, board] : boards_)
    if (!board.lost.empty() && now - board.since > rules_.remembered_s)
      forgotten.push_back(id);
    else if (board.lost.empty() && overdue(now, board, rules_.lost_after_s))
      silent.push_back(id);
  for (const BoardId id : forgotten) boards_.erase(id);
  for (const BoardId id : silent) lose(now, id, "it was silent for " + seconds_text(rules_.lost_after_s));
  std::vector<ClientId> late, served;
  for (const auto& [id, client] : clients_)
    if (!client.board && now - client.since >= client.request.wait_s)
      late.push_back(id);
    else if (client.attached && client.request.session_s > 0 && now - *client.attached >= client.request.session_s)
      served.push_back(id);
  for (const std::string& key : std::exchange(stirred_, {})) grant(now, key);
  for (const ClientId id : late) {
    const Client& client = clients_.at(id);
    if (client.board) continue;
    decisions_.emplace_back(Refusal{id, refusal(now, client)});
    leave(now, id);
  }
  for (const ClientId id : served) {
    const Client& client = clients_.at(id);
    take_back(now, *client.board, "its session has lasted for " + seconds_text(client.request.session_s));
  }
}

std::vector<Decision> TrackerState::decide(double now) {
  for (const std::string& key : std::exchange(stirred_, {})) grant(now, key);
  return std::exchange(decisions_, {});
}

Diagnostic TrackerState::refusal(double now, const Client& client) const {
  const BoardRequest& request = client.request;
  std::vector<std::string> notes;
  std::set<std::string> keys;
  size_t of_key = 0, meet = 0;
  for (const auto& [id, board] : boards_) {
    keys.insert(board.key);
    if (board.key != request.key) continue;
    const std::string lacking = client.predicate.lacking(board.facts);
    meet += lacking.empty();
    if (++of_key <= kListed) notes.push_back(board.name + ": " + (lacking.empty() ? said_of(now, board) : lacking));
  }
  if (of_key > kListed) notes.push_back("and " + std::to_string(of_key - kListed) + " more");
  if (of_key == 0) {
    if (std::string near = support::did_you_mean(request.key, {keys.begin(), keys.end()}); !near.empty())
      notes.push_back(std::move(near));
    notes.push_back("tw-board --tracker HOST:PORT --key " + request.key +
                    " registers one; tw rpc-query lists those that are there");
    return refused("no board is registered under the key " + request.key, std::move(notes));
  }
  if (meet == 0) return refused("no board of the key " + request.key + " meets " + request.predicate, std::move(notes));
  return refused("no board of the key " + request.key + " was free within " + seconds_text(request.wait_s),
                 std::move(notes));
}

std::string TrackerState::said_of(double now, const Board& board) {
  const std::string& why = board.why();
  return std::string(to_string(board.status())) + " for " + seconds_text(now - board.since) +
         (why.empty() ? "" : ": " + why);
}

// ----------------------------------------------------------------------------------------------------------- who asks

std::string TrackerState::name_of(BoardId id) const {
  const auto found = boards_.find(id);
  return found == boards_.end() ? "" : found->second.name;
}

std::vector<BoardView> TrackerState::boards() const {
  std::vector<BoardView> views;
  for (const auto& [id, board] : boards_)
    views.push_back({id, board.key, board.name, board.status(), board.why(), board.since,
                     board.lease ? clients_.at(*board.lease).request.client : "", &board.facts});
  std::sort(views.begin(), views.end(),
            [](const BoardView& a, const BoardView& b) { return std::tie(a.key, a.name) < std::tie(b.key, b.name); });
  return views;
}

std::vector<WaitingView> TrackerState::waiting() const {
  std::vector<WaitingView> views;
  for (const auto& [key, queue] : queues_)
    for (const auto& [priority, id] : queue) {
      const Client& client = clients_.at(id);
      views.push_back({id, &client.request, client.since});
    }
  return views;
}

}  // namespace tw::rpc
