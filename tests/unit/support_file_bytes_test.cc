#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "src/support/file_bytes.h"
#include "tests/unit/folder.h"

namespace tw::support {
namespace {

TEST(FileBytes, AreAllOfThem) {
  const test::Folder folder;
  std::string written;
  for (int n = 0; n < 200'000; ++n) written += static_cast<char>(n * 7);
  std::ofstream(folder / "some", std::ios::binary) << written;
  std::ofstream(folder / "none", std::ios::binary).flush();
  EXPECT_EQ(file_bytes(folder / "some"), written);
  EXPECT_EQ(file_bytes(folder / "none"), "");
}

TEST(FileBytes, AreNothingWhereTheyCannotBeRead) {
  const test::Folder folder;
  EXPECT_EQ(file_bytes(folder.path()), std::nullopt);
  EXPECT_EQ(errno, EISDIR);
  EXPECT_EQ(file_bytes(folder / "nowhere"), std::nullopt);
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace tw::support
