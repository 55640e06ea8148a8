// Who is there, and who has whom: the boards that registered, the clients that wait for one, and the leases. A value
// that knows no connection and no clock: whoever has both says what happened and when, and carries out what is decided.
//
// A client asks for a board of a key, a class of devices, that meets its predicate. The one of the highest priority is
// served first, among equals the one that came first; it holds up nobody whom a board suits that does not suit it. A
// lease ends with the client, when its session has lasted long enough, and when its board is lost or quarantined.
//
// A board runs one session at a time and says whether it is in one. It is granted when it is not, so that a tracker
// that has forgotten everything grants nothing twice.
//
//   free          may be granted
//   leased        to a client
//   in session    with a client of which this tracker knows nothing, or whose lease has ended: until it says otherwise
//   quarantined   lost three workers in a row: until it is released or registers again
//   lost          silent for 3 s more than it said it would be, or its connection ended: until it registers again
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "rpc/tracker/facts.h"
#include "rpc/tracker/predicate.h"
#include "tensorwright/error.h"

namespace tw::rpc {

// Given once.
using BoardId = uint64_t;
using ClientId = uint64_t;

struct TrackerRules {
  double lost_after_s = 3;
  double most_silent_s = 300;  // that a board may announce
  uint32_t lost_workers = 3;   // one after the other, that quarantine a board
  double remembered_s = 3600;  // a lost board, for who asks what became of it
  size_t boards = 1024, clients = 8192, description_bytes = 16 << 10;
};

enum class BoardStatus : uint8_t { kFree, kLeased, kInSession, kQuarantined, kLost };
std::string_view to_string(BoardStatus);

struct BoardRequest {
  std::string key, predicate = {};
  int32_t priority = 0;     // greater: sooner
  double wait_s = 0;        // for a board
  double session_s = 0;     // after which it is taken back; 0: never
  std::string client = {};  // for people
};

// What is to be done.
struct Grant {
  ClientId client;
  BoardId board;
};
struct Refusal {  // the client's time is over
  ClientId client;
  Diagnostic why;
};
struct EndOfLease {  // not by the client
  ClientId client;
  BoardId board;
  std::string why;
  bool waits = false;  // again, as the two were not connected yet
};
struct Loss {
  BoardId board;
  std::string why;
};
using Decision = std::variant<Grant, Refusal, EndOfLease, Loss>;

// For who asks.
struct BoardView {
  BoardId id = 0;
  std::string key, name;
  BoardStatus status = BoardStatus::kFree;
  std::string why;     // it is quarantined or lost
  double since = 0;    // it has been what it is
  std::string client;  // that has it
  const Facts* facts = nullptr;
};
struct WaitingView {
  ClientId id = 0;
  const BoardRequest* request = nullptr;
  double since = 0;
};

class TrackerState {
 public:
  explicit TrackerState(TrackerRules rules = {}) : rules_(rules) {}

  // Times are seconds of one clock that never goes back. Ids of who is gone are ignored.

  // A name that a board has already, which is heard of, gets a number.
  Result<BoardId> enter(double now, const std::string& key, const std::string& name, std::string_view description,
                        bool in_session);
  // `silent_s`: so long it may say nothing from now on. `lost_workers`: one after the other, by now; why the last was.
  void hear(double now, BoardId, bool in_session, double silent_s = 0, uint32_t lost_workers = 0,
            const std::string& reason = {});
  void lose(double now, BoardId, const std::string& why);
  // From its quarantine. Refused (kRpc) where no board of the name is in one.
  Status release(double now, const std::string& name);

  Result<ClientId> ask(double now, BoardRequest);
  // Client and board are connected: the session begins. A client whose board goes before waits again, in its old place.
  void attach(double now, ClientId);
  void leave(double now, ClientId);

  // What the time alone changes.
  void pass(double now);
  // What came of all this since the last call.
  std::vector<Decision> decide(double now);

  std::string name_of(BoardId) const;        // "" of who is gone
  std::vector<BoardView> boards() const;     // by key and name
  std::vector<WaitingView> waiting() const;  // by key, then as they are served

 private:
  struct Board {
    std::string key, name;
    Facts facts;
    double since = 0, heard = 0, silent_until = 0;
    bool in_session = false;
    std::string lost = {}, quarantine = {};           // why; "": it is not
    uint32_t lost_workers = 0, forgiven_workers = 0;  // as it says; of them those before it was released
    std::optional<ClientId> lease = {};
    BoardStatus status() const;
    const std::string& why() const { return lost.empty() ? quarantine : lost; }
  };
  struct Client {
    BoardRequest request;
    Predicate predicate;
    double since = 0;
    std::optional<BoardId> board = {};
    std::optional<double> attached = {};  // since when
  };
  // Those of one key who wait, as they are served: the priority is negative.
  using Queue = std::set<std::pair<int64_t, ClientId>>;

  template <class Change>
  void change(double now, Board&, Change);
  bool overdue(double now, const Board&, double by_s) const;
  std::string free_name(double now, const std::string& name);
  void forget_one();
  void take_back(double now, BoardId, const std::string& why);
  void lose_workers(double now, BoardId, uint32_t count, const std::string& reason);
  void wait(ClientId, const Client&);
  void stop_waiting(ClientId, const Client&);
  void grant(double now, const std::string& key);
  Diagnostic refusal(double now, const Client&) const;
  static std::string said_of(double now, const Board&);

  TrackerRules rules_;
  uint64_t last_id_ = 0;
  std::map<BoardId, Board> boards_;
  std::map<ClientId, Client> clients_;
  std::map<std::string, Queue> queues_;  // by key; none is empty
  std::set<std::string> stirred_;        // keys of which a board may be granted now
  std::vector<Decision> decisions_;
};

}  // namespace tw::rpc
