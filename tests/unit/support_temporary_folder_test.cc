#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/support/temporary_folder.h"
#include "tensorwright/error.h"
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

TEST(TemporaryFolder, ThatCannotBeMadeHasNoFiles) {
  const test::Setting nowhere("TMPDIR", "/proc");
  const TemporaryFolder folder("tensorwright-test");
  EXPECT_FALSE(folder.usable());
  try {
    FAIL() << folder / "object.so";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kArgument);
    EXPECT_EQ(error.diagnostic().what,
              "no temporary folder /proc/tensorwright-test-XXXXXX can be made: No such file or directory");
  }
}

// The folder of a process that was killed goes; those of one that lives stay, and what somebody else made.
TEST(TemporaryFolder, OfAKilledProcessIsRemoved) {
  const TemporaryFolder outer("tensorwright-test");
  const test::Setting inside("TMPDIR", outer.path());
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder abandoned("abandoned");
    std::ofstream(abandoned / "object") << "bytes";
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::filesystem::create_directory(outer / "abandoned-source");
  const auto folders = [&] {
    using Each = std::filesystem::directory_iterator;
    return std::count_if(Each(outer.path()), Each(), [](const auto& entry) { return entry.is_directory(); });
  };
  {
    const TemporaryFolder lives("abandoned");
    ASSERT_EQ(folders(), 3);
    remove_abandoned_folders();
    EXPECT_EQ(folders(), 2);
    EXPECT_TRUE(std::filesystem::exists(lives.path()));
  }
  EXPECT_TRUE(std::filesystem::exists(outer / "abandoned-source"));
  EXPECT_EQ(folders(), 1);
}

}  // namespace
}  // namespace tw::support
