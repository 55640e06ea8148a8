// Quotas are read off a root folder that each test writes.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "src/support/cpu_quota.h"
#include "tests/unit/folder.h"

namespace tw::support {
namespace {

// A root folder with the given files in it.
class Root : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  const test::Folder folder_;
  const std::string root_ = folder_.path();
};

TEST_F(Root, NoQuotaWhereNoneIsSet) {
  EXPECT_TRUE(std::isinf(cpu_quota(root_)));
  write("/proc/self/cgroup", "0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(root_)));
  write("/proc/self/cgroup", "3:cpu,cpuacct:/a\n1:name=systemd:/b\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(root_)));
}

TEST_F(Root, TheLeastOfAllGroupsOnTheWay) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 4);
  write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 1.5);
}

TEST_F(Root, InAContainerTheRootIsItsGroup) {
  write("/proc/self/cgroup", "0::/docker/1234\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(cpu_quota(root_), 2);
}

TEST_F(Root, VersionOne) {
  write("/proc/self/cgroup", "5:cpuset:/a\n4:cpu,cpuacct:/a\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), 0.5);
}

TEST_F(Root, NonsenseIsNoQuota) {
  write("/proc/self/cgroup", "nonsense\n:\n0::\n0::relative\n0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "0 0\n");
  write("/sys/fs/cgroup/cpu.max", "lots\n");
  EXPECT_TRUE(std::isinf(cpu_quota(root_)));
}

}  // namespace
}  // namespace tw::support
