// A GPU that a board's worker reaches, and its server does not: that is static, and opens no driver.
//
// The worker is a program of its own (--worker), asked what it measures on when the board starts, over the channel by
// which it then gets its runs. What runs on a device is not in the sandbox, as its driver needs what that forbids.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "rpc/board/description.h"
#include "tensorwright/runtime.h"

namespace tw::rpc {

constexpr const char *kDescribeDevice = "--describe-device", *kServeDevice = "--serve-cuda";

struct BoardDevice {
  std::string hardware;  // what records call it
  std::string target;    // for it
};

// Nothing where the program measures on this CPU. Throws Error: kArgument where it cannot be started, kTarget for what
// it says that it lacks.
std::optional<BoardDevice> device_of(const std::string& worker);
// The worker's side: answers by what `find` gives or throws, and returns the exit code.
int describe_device(int channel, const std::function<BoardDevice()>& find);

std::unique_ptr<runtime::Runner> runner_on(const BoardDevice&, const std::string& worker);

// The board as clients see it then: no layer of the sandbox holds.
BoardDescription with_device(BoardDescription, const BoardDevice&);

}  // namespace tw::rpc
