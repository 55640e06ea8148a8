// What -mcpu=native is on this machine, as text that whoever compiles for it elsewhere gives as target=.
#pragma once

#include <string>

namespace tw::rpc {

std::string native_target();

}  // namespace tw::rpc
