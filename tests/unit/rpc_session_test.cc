// Sessions with a board over loopback: how many requests, files and modules they take.
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tensorwright/rpc.h"
#include "tests/unit/folder.h"
#include "tests/unit/rpc_board.h"
#include "tests/unit/rpc_board_client.h"
#include "tests/unit/rpc_loopback_board.h"

namespace tw::rpc {
namespace {

using test::Client;

class ASession : public testing::Test {
 protected:
  static constexpr int64_t kArrayBytes = 1 << 20;  // of all arrays

  // What stands in for kernels says nothing, and ends once they may.
  void let_kernels_end() const { std::ofstream(folder / "may-end"); }

  tw::test::Folder folder;
  test::Bench bench;
  test::LoopbackBoard board{{.description = "{}",
                             .make_runner = test::stub_runners(bench),
                             .make_heat = test::cool,
                             .serves_kernels = {"/bin/sh",
                                                {"-c", "touch " + folder / "begun" + "; until [ -e " +
                                                           folder / "may-end" + " ]; do sleep 0.01; done"}},
                             .session_bytes = kArrayBytes}};
};

TEST_F(ASession, GoesOnAfterMoreRequestsThanThereAreStreams) {
  constexpr int kStreams = 1 << 16;
  Session session = Session::connect({"127.0.0.1", board.port()});
  for (int request = 0; request < kStreams; ++request) {
    try {
      session.remove("x");
    } catch (const Error& refused) {
      ASSERT_STREQ(refused.diagnostic().what.c_str(), "there is no file x in this session") << request;
    }
  }
  EXPECT_TRUE(session.listdir().empty());
}

TEST_F(ASession, ListsAsManyFilesAsItTakes) {
  Client client(board.port());
  const Digest content = client.store("x");
  Frame answer;
  int files = 0;
  do {
    std::string name = std::to_string(files++);
    client.say(Upload{name.append(255 - name.size(), 'x'), content});
    answer = client.next();
  } while (answer.type == MessageType::kDone);
  EXPECT_NE(answer.payload.find("a session has at most 240 files"), std::string::npos) << answer.payload;
  client.say(ListFiles{});
  answer = client.next();
  EXPECT_EQ(answer.type, MessageType::kFiles);
  EXPECT_LE(answer.payload.size(), kMostOfControl);
  client.say(Download{"y"});
  answer = client.next();
  EXPECT_EQ(answer.type, MessageType::kError);
  EXPECT_LE(answer.payload.size(), kMostOfControl);
}

TEST_F(ASession, CountsModulesThatAreUnderWay) {
  constexpr uint16_t kMost = 32;
  Client client(board.port());
  client.say(Upload{"k.so", client.store("x")});
  client.hear<Done>();
  for (uint16_t stream = 1; stream <= kMost + 1; ++stream) client.say(LoadModule{"k.so", ""}, stream);
  EXPECT_EQ(client.hear<ErrorReply>().what, "a session has at most 32 modules");
  EXPECT_EQ(client.stream, kMost + 1);
  let_kernels_end();
  for (int i = 0; i < kMost; ++i) EXPECT_EQ(client.hear<ErrorReply>().what, "the kernel crashed: exit code 0");
  client.say(LoadModule{"k.so", ""});
  EXPECT_EQ(client.hear<ErrorReply>().what, "the kernel crashed: exit code 0");
}

// Who lets a handle go may hold what others need, as Python's lock: the board is told, and no answer waited for.
TEST_F(ASession, LetsArraysGoWhileItIsBusy) {
  Session session = Session::connect({"127.0.0.1", board.port()});
  session.upload("k.so", "x");
  std::optional<RemoteArray> array = session.array(ir::Type::i(8), {kArrayBytes});
  std::future<void> loads = std::async(std::launch::async, [&] { EXPECT_THROW(session.load_module("k.so"), Error); });
  for (int i = 0; i < 1000 && !std::filesystem::exists(folder / "begun"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  array.reset();
  EXPECT_EQ(loads.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  let_kernels_end();
  loads.get();
  for (int round = 0; round < 40; ++round) session.array(ir::Type::i(8), {kArrayBytes});
}

// Where a board goes while modules load it ends what loads them, and is answered by nothing afterwards.
TEST_F(ASession, MayLoadModulesWhenItsBoardGoes) {
  std::string pids = folder / "pids";
  auto gone = std::make_unique<test::LoopbackBoard>(
      Board::Options{.description = "{}",
                     .make_runner = test::stub_runners(bench),
                     .make_heat = test::cool,
                     .serves_kernels = {"/bin/sh", {"-c", "echo $$ >> " + pids + "; exec sleep 1000"}}});
  Client client(gone->port());
  client.say(Upload{"k.so", client.store("x")});
  client.hear<Done>();
  constexpr size_t kModules = 5;  // more than load at once
  for (uint16_t stream = 1; stream <= kModules; ++stream) client.say(LoadModule{"k.so", ""}, stream);
  const auto started = [&] {
    std::vector<pid_t> found;
    std::ifstream file(pids);
    for (pid_t pid; file >> pid;) found.push_back(pid);
    return found;
  };
  for (int i = 0; i < 1000 && started().size() < 2; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  gone.reset();
  const std::vector<pid_t> processes = started();
  ASSERT_EQ(processes.size(), 2u);
  for (const pid_t pid : processes) EXPECT_NE(kill(pid, 0), 0);
}

}  // namespace
}  // namespace tw::rpc
