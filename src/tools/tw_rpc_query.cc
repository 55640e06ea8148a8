// tw rpc-query: which boards a tracker has, who has them, and who waits.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "rpc/client/tracker_queries.h"
#include "src/support/json_text.h"
#include "src/tools/tw_command.h"

namespace tw::tools {
namespace {

using Row = std::vector<std::string>;

struct Options {
  std::string tracker = "127.0.0.1:9190", secret, release;
};

// Each column as wide as its longest cell; the last as long as it is.
void print_table(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) line += row[i] + std::string(widths[i] + 2 - row[i].size(), ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    std::printf("%s\n", line.c_str());
  }
}

std::string duration_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::floor(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string(whole / 60) + " min";
  return std::to_string(whole / 3600) + " h";
}

void print_keys(const Json& boards, const Json& queue) {
  struct Count {
    int boards = 0, free = 0, leased = 0, waiting = 0;
  };
  std::map<std::string, Count> keys;
  for (const Json& board : boards) {
    Count& count = keys[board.at("key").get<std::string>()];
    ++count.boards;
    count.free += board.at("status") == "free";
    count.leased += board.at("status") == "leased";
  }
  for (const Json& client : queue) ++keys[client.at("key").get<std::string>()].waiting;
  std::vector<Row> rows = {{"key", "boards", "free", "leased", "waiting"}};
  for (const auto& [key, n] : keys)
    rows.push_back(
        {key, std::to_string(n.boards), std::to_string(n.free), std::to_string(n.leased), std::to_string(n.waiting)});
  print_table(rows);
}

void print_boards(const Json& boards) {
  std::vector<Row> rows = {{"board", "key", "is", "for", "hardware", ""}};
  for (const Json& board : boards) {
    const auto text = [&](const char* name) {
      return board.at(name).is_string() ? board[name].get<std::string>() : "";
    };
    rows.push_back({text("name"), text("key"), text("status"), duration_text(board.at("since_s").get<double>()),
                    text("hardware"), text("why").empty() ? text("client") : text("why")});
  }
  print_table(rows);
}

void print_queue(const Json& queue) {
  std::vector<Row> rows = {{"waiting", "key", "priority", "for", "of", "predicate"}};
  for (const Json& client : queue)
    rows.push_back({client.at("client").get<std::string>(), client.at("key").get<std::string>(),
                    std::to_string(client.at("priority").get<int>()), duration_text(client.at("waits_s").get<double>()),
                    duration_text(client.at("wait_s").get<double>()), client.at("predicate").get<std::string>()});
  print_table(rows);
}

int query(const Options& options, bool json) {
  const rpc::Endpoint tracker = rpc::parse_endpoint(options.tracker, "--tracker");
  const std::optional<rpc::Secret> secret = rpc::secret_in(options.secret);
  if (!options.release.empty()) rpc::release_from_quarantine(tracker, secret, options.release);
  const Json summary = support::read_json<Json>(rpc::tracker_summary(tracker, secret));
  if (json) {
    print_json(summary);
    return kDone;
  }
  const Json &boards = summary.at("boards"), &queue = summary.at("queue");
  if (boards.empty() && queue.empty()) {
    std::printf("no boards; tw-board --tracker %s --key KEY registers one\n", options.tracker.c_str());
    return kDone;
  }
  print_keys(boards, queue);
  std::printf("\n");
  print_boards(boards);
  if (queue.empty()) return kDone;
  std::printf("\n");
  print_queue(queue);
  return kDone;
}

}  // namespace

void add_rpc_query(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("rpc-query", "Which boards a tracker has, who has them, and who waits");
  command->add_option("--tracker", options->tracker, "HOST:PORT")->capture_default_str();
  command->add_option("--secret", options->secret, "what tw rpc-key new made, where the tracker has one");
  command->add_option("--release", options->release, "first take this board out of its quarantine");
  add_json_option(*command, chosen);
  command->callback([options, &chosen] { chosen.run = [options, &chosen] { return query(*options, chosen.json); }; });
}

}  // namespace tw::tools
