#include "rpc/tracker/server.h"

#include <openssl/rand.h>

#include <array>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <utility>
#include <vector>

#include "rpc/tracker/summary.h"
#include "rpc/wire/rpc_error.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);
constexpr double kWishS = 5;                                // until it says what it wants
constexpr double kTakesS = 5;                               // until it has taken a short message
constexpr double kOpenS = 5;                                // until a board that was granted has dialled
constexpr size_t kPipeBytes = 64 << 10, kFirstBytes = 256;  // who waits takes no more

std::string new_token() {
  std::array<unsigned char, 16> bytes;
  TW_CHECK(RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

awaitable<Frame> next_frame(Connection connection) {
  const Deadline deadline(connection, kWishS, "it did not say what it wants");
  co_return co_await connection.receive();
}

}  // namespace

TrackerServer::TrackerServer(asio::any_io_executor executor, const Endpoint& at, std::optional<Secret> secret,
                             TrackerRules rules)
    : state_(rules), executor_(executor), timer_(executor), listener_(executor, at, std::move(secret)) {}

double TrackerServer::now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

awaitable<void> TrackerServer::run() {
  asio::co_spawn(executor_, tick(), asio::detached);
  co_await listener_.run(Role::kTracker, Role::kBoard | Role::kClient,
                         [this](Connection connection, Hello hello) { return serve(connection, std::move(hello)); });
}

void TrackerServer::stop() {
  stopped_ = true;
  timer_.cancel();
  listener_.stop();
  for (auto& [arrival, connection] : guests_) connection.close("the tracker goes");
}

awaitable<void> TrackerServer::tick() {
  while (!stopped_) {
    timer_.expires_after(kTick);
    asio::error_code code;
    co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, code));
    const double time = now();
    state_.pass(time);
    std::vector<BoardId> late;
    for (const auto& [id, client] : clients_)
      if (!client.token.empty() && time > client.open_until) late.push_back(client.board);
    for (const BoardId board : late) state_.lose(time, board, "it opened no connection for a client");
    act();
  }
}

awaitable<void> TrackerServer::serve(Connection connection, Hello hello) {
  const uint64_t arrival = arrivals_++;
  guests_.emplace(arrival, connection);
  std::exception_ptr thrown;
  try {
    co_await serve_role(connection, hello.role);
  } catch (...) {
    thrown = std::current_exception();
  }
  guests_.erase(arrival);
  if (thrown) std::rethrow_exception(thrown);
}

awaitable<void> TrackerServer::serve_role(Connection connection, Role role) {
  const Frame frame = co_await next_frame(connection);
  if (role == Role::kClient)
    co_await serve_client(connection, frame);
  else if (frame.type == MessageType::kAttach)
    co_await join(connection, read_as<Attach>(frame));
  else
    co_await serve_board(connection, read_as<Register>(frame));
}

// -------------------------------------------------------------------------------------------------------------- boards

awaitable<void> TrackerServer::serve_board(Connection connection, Register r) {
  const Result<BoardId> id = state_.enter(now(), r.key, r.name, r.description, r.in_session);
  if (id) {
    boards_.emplace(*id, connection);
    send_later(connection, Registered{state_.name_of(*id)});
  }
  act();  // another board may have lost its name
  if (!id) {
    co_await connection.send(reply_of(Error(id.error())));
    co_return connection.close(id.error().what);
  }
  std::string why;
  try {
    co_await hear(connection, *id);
  } catch (const std::exception& error) {
    why = error.what();
  }
  connection.close(why);
  state_.lose(now(), *id, why);
  boards_.erase(*id);
  act();
}

awaitable<void> TrackerServer::hear(Connection connection, BoardId id) {
  for (;;) {
    const Frame frame = co_await connection.receive();
    const Heartbeat beat = read_as<Heartbeat>(frame);
    state_.hear(now(), id, beat.in_session, beat.silent_ms / 1e3, beat.lost_workers, beat.reason);
    act();
  }
}

// The second connection of a board that was granted: the other end of the client's pipe.
awaitable<void> TrackerServer::join(Connection connection, Attach attach) {
  const auto found = tokens_.find(attach.token);
  if (found == tokens_.end()) co_return connection.close("nobody waits for it");
  const ClientId id = found->second;
  tokens_.erase(found);
  Client& client = clients_.at(id);
  client.token.clear();
  client.board_end = connection;
  state_.attach(now(), id);
  Connection other = client.connection;
  try {
    const Granted granted{client.board_name};
    co_await other.send(granted);
    co_await carry_to_client(connection, id);
  } catch (const ConnectionLost&) {
  }
  connection.close("its session is over");
  const auto left = clients_.find(id);
  if (left != clients_.end() && !left->second.lease_ended) other.close("the board's part ended");
}

awaitable<void> TrackerServer::carry_to_client(Connection board, ClientId id) {
  std::vector<char> bytes(kPipeBytes);
  while (const size_t count = co_await board.read_some(bytes)) {
    const auto client = clients_.find(id);
    if (client == clients_.end() || client->second.lease_ended) co_return;
    const std::string_view part(bytes.data(), count);
    client->second.said.pass(part);
    co_await Connection(client->second.connection).write(part);
  }
}

// ------------------------------------------------------------------------------------------------------------- clients

awaitable<void> TrackerServer::serve_client(Connection connection, Frame frame) {
  for (;; frame = co_await next_frame(connection)) {
    if (frame.type == MessageType::kQuery) {
      const Summary summary{summary_of(state_, now())};
      co_await connection.send(summary, frame.stream);
    } else if (frame.type == MessageType::kRelease) {
      const Status released = state_.release(now(), read_as<Release>(frame).board);
      act();
      if (released)
        co_await connection.send(Done{}, frame.stream);
      else
        co_await connection.send(reply_of(Error(released.error())), frame.stream);
    } else {
      co_return co_await serve_request(connection, read_as<Request>(frame));
    }
  }
}

awaitable<void> TrackerServer::serve_request(Connection connection, Request r) {
  const Result<ClientId> id = state_.ask(now(), {r.key, r.predicate, r.priority, r.wait_ms / 1e3, r.session_ms / 1e3,
                                                 (r.client.empty() ? "" : r.client + " ") + "at " + connection.peer()});
  if (!id) {
    co_await connection.send(reply_of(Error(id.error())));
    co_return connection.close(id.error().what);
  }
  clients_.emplace(*id, Client{connection});
  act();
  try {
    co_await carry_to_board(connection, *id);
  } catch (const ConnectionLost&) {
  }
  connection.close("the client's part ended");
  const auto client = clients_.find(*id);
  if (client->second.board_end) client->second.board_end->close("the client is gone");
  tokens_.erase(client->second.token);
  clients_.erase(client);
  state_.leave(now(), *id);
  act();
}

// A client has nothing to say before it has a board.
awaitable<void> TrackerServer::carry_to_board(Connection connection, ClientId id) {
  std::vector<char> bytes(kFirstBytes);
  while (const size_t count = co_await connection.read_some(bytes)) {
    const std::optional<Connection> board = clients_.at(id).board_end;
    if (!board) co_return;
    co_await Connection(*board).write({bytes.data(), count});
    bytes.resize(kPipeBytes);
  }
}

// ---------------------------------------------------------------------------------------------------- what was decided

void TrackerServer::act() {
  for (const Decision& decision : state_.decide(now()))
    std::visit([this](const auto& decided) { carry_out(decided); }, decision);
}

void TrackerServer::carry_out(const Grant& grant) {
  Client& client = clients_.at(grant.client);
  client.token = new_token();
  client.board = grant.board;
  client.board_name = state_.name_of(grant.board);
  client.open_until = now() + kOpenS;
  tokens_[client.token] = grant.client;
  send_later(boards_.at(grant.board), Open{client.token});
}

void TrackerServer::carry_out(const Refusal& refusal) {
  send_later(clients_.at(refusal.client).connection, reply_of(Error(refusal.why)), true);
}

void TrackerServer::carry_out(const EndOfLease& end) {
  Client& client = clients_.at(end.client);
  tokens_.erase(std::exchange(client.token, {}));
  if (client.board_end) std::exchange(client.board_end, std::nullopt)->close(end.why);
  if (end.waits) return;
  client.lease_ended = true;
  if (!client.said.between()) return client.connection.close(end.why);
  const Error error = rpc_error("the lease has ended: " + end.why, {"a board can be asked for again"});
  send_later(client.connection, reply_of(error), true);
}

void TrackerServer::carry_out(const Loss& loss) {
  const auto board = boards_.find(loss.board);
  if (board != boards_.end()) board->second.close(loss.why);
}

template <Message M>
void TrackerServer::send_later(Connection connection, M message, bool last) {
  const auto sends = [](Connection to, M what, bool is_last) -> awaitable<void> {
    try {
      const Deadline deadline(to, kTakesS, "it took nothing");
      co_await to.send(what);
      if (is_last) to.close("all was said");
    } catch (const ConnectionLost&) {
    }
  };
  asio::co_spawn(executor_, sends(std::move(connection), std::move(message), last), asio::detached);
}

}  // namespace tw::rpc
