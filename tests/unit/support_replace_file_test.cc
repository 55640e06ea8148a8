#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "src/support/file_bytes.h"
#include "src/support/line_file.h"
#include "src/support/replace_file.h"
#include "tests/unit/folder.h"

namespace tw::support {
namespace {

using Names = std::vector<std::string>;

unsigned mode_of(const std::string& path) {
  struct stat there = {};
  return stat(path.c_str(), &there) == 0 ? there.st_mode & 07777 : 0;
}

TEST(ReplaceFile, KeepsTheModeAndLinks) {
  const test::Folder folder;
  EXPECT_EQ(replace_file(folder / "a", "1"), 0);
  for (const unsigned mode : {0600u, 0444u, 0755u}) {
    chmod((folder / "a").c_str(), mode);
    EXPECT_EQ(replace_file(folder / "a", "2"), 0);
    EXPECT_EQ(mode_of(folder / "a"), mode);
  }
  std::filesystem::create_symlink("a", folder / "link");
  EXPECT_EQ(replace_file(folder / "link", "3"), 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(file_bytes(folder / "a"), "3");
  EXPECT_EQ(folder.files(), (Names{"a", "link"}));
}

TEST(ReplaceFile, SaysWhyNotAndLeavesNothing) {
  const test::Folder folder;
  std::filesystem::create_directory(folder / "folder");
  EXPECT_EQ(replace_file(folder / "folder", "1"), EISDIR);
  EXPECT_EQ(replace_file(folder / "nowhere/a", "1"), ENOENT);
  EXPECT_EQ(replace_file("/dev/full", "1"), ENOSPC);
  EXPECT_EQ(folder.files(), Names{"folder"});
}

TEST(ReplaceFile, WhatIsNoFileIsWrittenToItself) {
  EXPECT_EQ(replace_file("/dev/null", "1"), 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(ReplaceFile, WhatIsNotKeptIsNeverThere) {
  const test::Folder folder;
  {
    Replacement one(folder / "a"), other(folder / "a"), neither(folder / "a");
    one.write("one ");
    other.write("other ");
    neither.write("neither");
    one.write("whole");
    other.write("whole");
    EXPECT_FALSE(file_bytes(folder / "a"));
    EXPECT_EQ(one.keep(), 0);
    EXPECT_EQ(file_bytes(folder / "a"), "one whole");
    EXPECT_EQ(other.keep(), 0);
  }
  EXPECT_EQ(file_bytes(folder / "a"), "other whole");
  EXPECT_EQ(folder.files(), Names{"a"});
}

TEST(ReplaceLines, KeepsTheMode) {
  const test::Folder folder;
  LineFile(folder / "log").append("{}\n");
  chmod((folder / "log").c_str(), 0600);
  replace_lines(folder / "log", [] { return "{1}\n"; });
  EXPECT_EQ(file_bytes(folder / "log"), "{1}\n");
  EXPECT_EQ(mode_of(folder / "log"), 0600u);
}

}  // namespace
}  // namespace tw::support
