#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "src/support/temporary_folder.h"
#include "tests/unit/setting.h"

namespace tw::support {
namespace {

TEST(TemporaryFolder, IsMadeWhereTmpdirSaysAndRemoved) {
  std::string path;
  {
    const TemporaryFolder outer("tensorwright-test");
    const test::Setting inside("TMPDIR", outer.path());
    const TemporaryFolder inner("inner");
    ASSERT_TRUE(inner.usable());
    EXPECT_TRUE(inner.path().starts_with(outer / "inner-")) << inner.path();
    path = inner.path();
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

// Never where the process happens to stand, which may be a user's sources, and which others need not know.
TEST(TemporaryFolder, IsNotMadeInTheCurrentFolderWhereTmpdirNamesNone) {
  const test::Setting nowhere("TMPDIR", "/dev/null/nowhere");
  const TemporaryFolder folder("tensorwright-test");
  ASSERT_TRUE(folder.usable());
  EXPECT_TRUE(folder.path().starts_with("/tmp/tensorwright-test-")) << folder.path();
}

}  // namespace
}  // namespace tw::support
