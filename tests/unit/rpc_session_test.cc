// Sessions with a board over loopback: how many requests, files and modules they take.
#include <gtest/gtest.h>

#include "tensorwright/rpc.h"
#include "tests/unit/rpc_board.h"
#include "tests/unit/rpc_board_client.h"
#include "tests/unit/rpc_loopback_board.h"

namespace tw::rpc {
namespace {

using test::Client;

class ASession : public testing::Test {
 protected:
  test::Bench bench;
  test::LoopbackBoard board{{.description = "{}",
                             .make_runner = test::stub_runners(bench),
                             .make_heat = test::cool,
                             // Says nothing, and ends after a second.
                             .serves_kernels = {"/bin/sleep", {"1"}}}};
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

}  // namespace
}  // namespace tw::rpc
