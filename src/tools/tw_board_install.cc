// tw board: boards from here, by ssh. What is done there is on_board.sh.
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>

#include "autotune/log/stock.h"
#include "rpc/client/tracker_queries.h"
#include "src/runtime/tool_path.h"
#include "src/support/file_bytes.h"
#include "src/support/json_text.h"
#include "src/tools/ssh.h"
#include "src/tools/tw_command.h"
#include "tensorwright/autotune.h"

namespace tw::tools {
namespace {

constexpr const char* kOnBoard =
#include "on_board_text.inc"
    ;
constexpr double kRegistersWithinS = 15;
constexpr int kSize = 256;  // of the matmul that is measured

struct Options {
  std::string host, tracker, key, name, secret;
  std::vector<std::string> ssh;
  int lines = 50;
  bool follow = false;
};

std::string contents(const std::string& path) {
  std::optional<std::string> bytes = support::file_bytes(path);
  if (!bytes) fail("board: " + path + " cannot be read");
  return *std::move(bytes);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// A board that is reached, and a folder there for what is brought.
class Reached {
 public:
  explicit Reached(const Options& options) : ssh_(options.host, options.ssh) {
    const Ssh::Done done = ssh_.run(script({"look"}));
    const std::vector<std::string> lines = lines_of(done.out);
    if (done.code != 0 || lines.size() < 4) refuse("could not be looked at", done);
    // A shell that greets does so first.
    const auto last = lines.end() - 4;
    machine = last[0];
    name = last[1].substr(0, last[1].find('.'));
    root_ = last[2];
    folder = last[3];
  }
  ~Reached() {
    try {
      ssh_.run("rm -rf " + shell_word(folder));
    } catch (const std::exception&) {
      // The connection is gone, as what failed before may say; the folder lies where the machine clears up itself.
    }
  }

  void bring(const std::string& file, const std::string& content, const char* mode) {
    const Ssh::Done done = ssh_.run(script({"take", folder + "/" + file, mode}), content);
    if (done.code != 0) refuse("took no " + file, done);
  }
  Ssh::Done run(const std::string& command) { return ssh_.run(command); }
  // As root.
  std::string do_as_root(std::vector<std::string> arguments) {
    const Ssh::Done done = ssh_.run(as_root(std::move(arguments)));
    if (done.code != 0) refuse("did not do all", done);
    return done.out;
  }
  int show_as_root(std::vector<std::string> arguments) { return ssh_.show(as_root(std::move(arguments))); }

  std::string machine, name, folder;

 private:
  static std::string script(const std::vector<std::string>& arguments) {
    std::string command = "sh -c " + shell_word(kOnBoard) + " tw-board";
    for (const std::string& argument : arguments) command += " " + shell_word(argument);
    return command;
  }
  std::string as_root(std::vector<std::string> arguments) const {
    if (root_ == "neither")
      fail("board: " + ssh_.host() + " is not root there, nor may it become so",
           {"give root@HOST, or a user whose sudo asks for no password"});
    return (root_ == "sudo" ? "sudo -n " : "") + script(arguments);
  }
  [[noreturn]] void refuse(const std::string& what, const Ssh::Done& done) const {
    fail("board: " + ssh_.host() + " " + what, lines_of(done.err.empty() ? done.out : done.err));
  }

  Ssh ssh_;
  std::string root_;
};

std::string program_for(const std::string& machine) {
  try {
    return contents(runtime::tool_path("boards/tw-board-" + machine, "TW_BOARD"));
  } catch (const Error&) {
    fail("board: there is no tw-board for " + machine + " beside this tw",
         {"a build makes it for its own CPU, and for aarch64 where g++-aarch64-linux-gnu is; TW_BOARD names another"});
  }
}

// What goes into files and commands there.
void require_plain(const std::string& text, const std::string& option) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  if (text.empty() || text.find_first_not_of(kPlain) != std::string::npos)
    fail("board: " + option + " has to consist of letters, digits and . _ : -, not '" + text + "'");
}

struct Measured {
  std::string task, why_not;
  double seconds = 0, flops = 0;
};

// One kernel, by way of a pack: that all there works which a tuning needs.
Measured measure(Reached& board, const std::string& target) try {
  const std::string size = std::to_string(kSize);
  const autotune::Task task =
      autotune::stock_task("matmul", {{"M", size}, {"N", size}, {"K", size}}, Target::parse(target).value_or_throw());
  autotune::TuneOptions options;
  options.trials = 1;
  const support::TemporaryFolder here("tw-board");
  const std::string pack = here / "one.twpack";
  autotune::pack(task, options, pack);
  board.bring("one.twpack", contents(pack), "600");
  const Ssh::Done done =
      board.run("cd " + shell_word(board.folder) + " && ./tw-board measure one.twpack --log one.jsonl --json");
  const Json json = support::read_json<Json>(done.out);
  if (done.code != 0 || !json.is_object() || json.value("best_seconds", 0.0) <= 0)
    return {{}, done.err.empty() ? "no time came back" : done.err};
  return {json.at("task").get<std::string>(), {}, json.at("best_seconds").get<double>(), 2.0 * kSize * kSize * kSize};
} catch (const Error& error) {
  return {{}, error.what()};
}

// The name under which the tracker knows it, once it does; or why nobody knows.
std::pair<std::string, std::string> registered(const Options& options, const std::string& name) {
  const rpc::Endpoint tracker = rpc::parse_endpoint(options.tracker, "--tracker");
  const std::optional<rpc::Secret> secret = rpc::secret_in(options.secret);
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < kRegistersWithinS) {
    try {
      const Json summary = support::read_json<Json>(rpc::tracker_summary(tracker, secret));
      for (const Json& board : summary.at("boards"))
        if (board.at("name") == name && board.at("key") == options.key && board.at("status") != "lost")
          return {name, ""};
    } catch (const Error& error) {
      return {"", error.what()};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return {"", "the tracker does not know it yet: tw board logs " + options.host + " says what it does"};
}

void print_board(const Json& description) {
  std::printf("hardware  %s\n", description.at("hardware").get<std::string>().c_str());
  for (const auto& [layer, state] : description.at("sandbox").items())
    if (state != "holds") std::printf("sandbox   %s: %s\n", layer.c_str(), state.get<std::string>().c_str());
}

void print_measured(const Measured& m) {
  if (m.seconds > 0)
    std::printf("measured  %s: %.4g ms, %.4g GFLOP/s, untuned\n", m.task.c_str(), m.seconds * 1e3,
                m.flops / m.seconds / 1e9);
  else
    std::printf("measured  nothing: %s\n", m.why_not.c_str());
}

int install(const Options& options, bool json) {
  const rpc::Endpoint tracker = rpc::parse_endpoint(options.tracker, "--tracker");
  rpc::read_secret(options.secret);
  require_plain(tracker.host, "the host of --tracker");
  require_plain(options.key, "--key");
  Reached board(options);
  const std::string name = options.name.empty() ? board.name : options.name;
  require_plain(name, "--name");
  board.bring("tw-board", program_for(board.machine), "755");
  board.bring("secret", contents(options.secret), "600");
  const Ssh::Done described = board.run(shell_word(board.folder + "/tw-board") + " describe --json");
  const Json description = support::read_json<Json>(described.out);
  if (!description.is_object()) fail("board: tw-board does not run on " + options.host, lines_of(described.err));
  const std::string target = description.at("target").get<std::string>();
  if (!json) print_board(description);
  const Measured measured = measure(board, target);
  if (!json) print_measured(measured);
  const std::string notes =
      board.do_as_root({"install", board.folder, tracker.host, std::to_string(tracker.port), options.key, name});
  const auto [known_as, why_not] = registered(options, name);
  if (json) {
    print_json({{"host", options.host},
                {"description", description},
                {"measured", {{"task", measured.task}, {"seconds", measured.seconds}, {"why_not", measured.why_not}}},
                {"registered", known_as},
                {"why_not", why_not},
                {"target", target}});
    return kDone;
  }
  std::printf("%s", notes.c_str());
  std::printf("installed as %s, key %s%s\n", name.c_str(), options.key.c_str(),
              known_as.empty() ? ("; it is not known whether it registers: " + why_not).c_str() : ", and registered");
  std::printf("target    target=\"%s\"\n", target.c_str());
  return kDone;
}

int update(const Options& options, bool json) {
  Reached board(options);
  board.bring("tw-board", program_for(board.machine), "755");
  board.do_as_root({"update", board.folder});
  if (json)
    print_json({{"host", options.host}, {"updated", true}});
  else
    std::printf("%s runs the tw-board of this release\n", options.host.c_str());
  return kDone;
}

int logs(const Options& options, bool) {
  Reached board(options);
  std::vector<std::string> arguments = {"logs", std::to_string(options.lines)};
  if (options.follow) arguments.push_back("-f");
  return board.show_as_root(arguments) == 0 ? kDone : kFailed;
}

int remove(const Options& options, bool json) {
  Reached(options).do_as_root({"remove"});
  if (json)
    print_json({{"host", options.host}, {"removed", true}});
  else
    std::printf("%s has nothing of ours any more\n", options.host.c_str());
  return kDone;
}

}  // namespace

void add_board(CLI::App& app, Chosen& chosen) {
  CLI::App* group = app.add_subcommand("board", "Put boards to work for a tracker, by ssh");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, int (*run)(const Options&, bool)) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = group->add_subcommand(name, what);
    command
        ->add_option("HOST", options->host, "as ssh takes it: USER@HOST, root or one whose sudo asks for no password")
        ->required();
    command->add_option("-o,--ssh-option", options->ssh, "for ssh: Port=2222, IdentityFile=FILE; may be repeated")
        ->expected(1)
        ->take_all();
    add_json_option(*command, chosen);
    command->callback(
        [options, run, &chosen] { chosen.run = [options, run, &chosen] { return run(*options, chosen.json); }; });
    return std::pair(command, options);
  };
  const auto [installing, o] = add(
      "install", "copy tw-board and the secret there, measure a kernel, and have it register and run always", install);
  installing->add_option("--tracker", o->tracker, "HOST:PORT, as the board reaches it")->required();
  installing->add_option("--key", o->key, "its class of devices: boards of one key are alike")->required();
  installing->add_option("--secret", o->secret, "what tw rpc-key new made")->required();
  installing->add_option("--name", o->name, "of the board; its host name by default");
  add("update", "replace its tw-board by this release's", update);
  const auto [logging, l] = add("logs", "what its tw-board said last", logs);
  logging->add_option("-n,--lines", l->lines, "so many lines")->capture_default_str();
  logging->add_flag("-f,--follow", l->follow, "and what it says from now on");
  add("remove", "end its tw-board, and remove it, the secret and its user", remove);
}

}  // namespace tw::tools
