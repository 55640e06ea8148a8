// A folder of its own for each test that writes files: tests run side by side, each in its own process.
#pragma once

#include <stdexcept>

#include "src/support/temporary_folder.h"

namespace tw::test {

class Folder : public support::TemporaryFolder {
 public:
  Folder() : TemporaryFolder("tensorwright-test") {
    if (!usable()) throw std::runtime_error("no folder can be made for a test: TMPDIR may name one");
  }
};

}  // namespace tw::test
