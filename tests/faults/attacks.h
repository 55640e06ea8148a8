// What hostile code can try in the process that measures it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tw::test {

struct Attack {
  std::string_view name;
  bool (*succeeds)(const std::string& argument);  // of those on files a path; a port; an address in the parent
};

std::span<const Attack> attacks();
const Attack* find_attack(std::string_view name);

}  // namespace tw::test
