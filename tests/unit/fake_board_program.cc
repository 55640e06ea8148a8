// FakeBoard as a program: tw-fake-board RUN_MS HARDWARE. Says its address, and serves until its input ends.
#include <cstdio>
#include <cstdlib>

#include "tests/unit/rpc_fake_board.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const tw::rpc::testing::FakeBoard board({.run_ms = std::atoi(argv[1]), .hardware = argv[2]});
  std::printf("%s\n", board.address().c_str());
  std::fflush(stdout);
  while (std::getchar() != EOF) continue;
  return 0;
}
