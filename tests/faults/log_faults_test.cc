// Logs that were cut off, damaged, repeated, reordered, or that cannot be written: what is lost is the line at fault.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <random>
#include <thread>

#include "autotune/log/log_tools.h"
#include "tests/unit/folder.h"

namespace tw::autotune {
namespace {

// The wall clock of this process, which may jump.
std::time_t clock_offset = 0;

}  // namespace
}  // namespace tw::autotune

// Stands in for the C library's, also for calls from our shared library.
extern "C" std::time_t time(std::time_t* to) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const std::time_t seconds = now.tv_sec + tw::autotune::clock_offset;
  if (to) *to = seconds;
  return seconds;
}

namespace tw::autotune {
namespace {

class LogFaults : public testing::Test {
 protected:
  static Record record(int n) {
    Record r;
    r.key = RecordKey{"0123456789abcdef", "llvm -mcpu=znver4", 2, "a CPU"};
    r.name = "dense";
    r.args = "[257,513,1025]";
    r.trial.knobs = "{\"tile\":" + std::to_string(n) + "}";
    r.trial.steps = {schedule::Split{"C", "i", schedule::Factor(int64_t{n + 1}), std::nullopt, ir::Tail::kMask}};
    r.trial.status = "ok";
    r.trial.seconds = 1e-3 * (n + 1);
    r.number = n;
    return r;
  }
  static std::vector<std::string> lines(int count) {
    std::vector<std::string> all;
    for (int n = 0; n < count; ++n) all.push_back(to_line(record(n)));
    return all;
  }
  void write(const std::vector<std::string>& lines) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    for (const std::string& line : lines) out << line;
  }
  static std::string text(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  // An error of kind kLog, with this in it.
  static void expect_refused(const std::string& part, const std::function<void()>& f) {
    try {
      f();
      ADD_FAILURE() << "not refused: " << part;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kLog);
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  }

  test::Folder folder_;
  const std::string path_ = folder_ / "log.jsonl";
};

// A file system of this thread only, which nobody else sees; gone with the thread. False where that is not allowed.
bool mount_own(const std::string& at, const std::string& options) {
  return unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("tmpfs", at.c_str(), "tmpfs", 0, options.c_str()) == 0;
}

TEST_F(LogFaults, CutOffAtEveryByte) {
  const std::vector<std::string> all = lines(3);
  const std::string whole = all[0] + all[1] + all[2], extra = to_line(record(7));
  for (size_t size = 0; size <= whole.size(); ++size) {
    write({whole.substr(0, size)});
    // A line that lacks nothing but its end is whole.
    const auto kept =
        static_cast<size_t>(std::count(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size), '\n')) +
        (size < whole.size() && whole[size] == '\n');
    EXPECT_EQ(load_log(path_).records.size(), kept) << size;
    Journal(path_).append(record(7));
    const Log log = load_log(path_);
    ASSERT_EQ(log.records.size(), kept + 1) << size;
    EXPECT_EQ(log.records.back().trial.knobs, record(7).trial.knobs);
    EXPECT_LE(log.damaged, 1);
  }
}

TEST_F(LogFaults, ALineOfAHundredMegabytes) {
  const std::vector<std::string> all = lines(2);
  for (const std::string start : {"{\"tensorwright\":1,", "garbage"}) {
    {
      std::ofstream out(path_, std::ios::binary | std::ios::trunc);
      out << all[0] << start;
      const std::string megabyte(size_t{1} << 20, 'x');
      for (int i = 0; i < 100; ++i) out << megabyte;
      out << "\n" << all[1];
    }
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const LogCheck check = check_log(path_);
    getrusage(RUSAGE_SELF, &after);
    EXPECT_EQ(check.trials, 2u);
    ASSERT_EQ(check.damaged.size(), 1u);
    EXPECT_EQ(check.damaged[0].line, 2u);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kilobytes for one line";
  }
}

TEST_F(LogFaults, GarbageOfEveryKind) {
  std::mt19937 random(1);
  std::vector<std::string> all = lines(20);
  for (int i = 0; i < 20; ++i) {
    std::string garbage(random() % 300, '\0');
    for (char& c : garbage) c = static_cast<char>(random());
    std::replace(garbage.begin(), garbage.end(), '\n', ' ');
    all.insert(all.begin() + static_cast<ptrdiff_t>(random() % all.size()), garbage + "\n");
  }
  // Right checksums over what no release writes: members missing, of other types, or without meaning.
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\"kind\":\"trial\"", "\"kind\":\"opinion\""}, {"\"threads\":2", "\"threads\":\"two\""}}) {
    std::string line = all.front();
    for (const std::string& l : all)
      if (l.find(from) != std::string::npos) line = l;
    line.replace(line.find(from), from.size(), to);
    all.push_back(line);
  }
  write(all);
  EXPECT_EQ(load_log(path_).records.size(), 20u);
}

TEST_F(LogFaults, RecordsWithoutASensibleTimeAreNone) {
  for (const double seconds : {0.0, -1.0}) {
    Record r = record(0);
    r.trial.seconds = seconds;
    const std::string line = to_line(r);
    EXPECT_FALSE(parse_line(line.substr(0, line.size() - 1)).ok()) << seconds;
  }
  Record r = record(0);
  r.trial.seconds = std::nan("");
  const std::string line = to_line(r);
  EXPECT_FALSE(parse_line(line.substr(0, line.size() - 1)).ok());
}

TEST_F(LogFaults, RepeatedAndReorderedLinesSayTheSame) {
  std::vector<std::string> all = lines(12);
  for (int i = 0; i < 3; ++i) {
    Record r = record(2);
    r.kind = "confirm";
    all.push_back(to_line(r));
  }
  write(all);
  const std::vector<Record> expected = pick_best(load_log(path_));
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    std::vector<std::string> other = all;
    for (int i = 0; i < 5; ++i) other.push_back(all[random() % all.size()]);
    std::shuffle(other.begin(), other.end(), random);
    write(other);
    const std::vector<Record> best = pick_best(load_log(path_));
    ASSERT_EQ(best.size(), 1u);
    EXPECT_EQ(best[0].trial.knobs, expected[0].trial.knobs);
    EXPECT_EQ(summarise(load_log(path_))[0].trials, 12);
  }
}

TEST_F(LogFaults, AClockThatJumps) {
  Journal journal(path_);
  for (const std::time_t jump : {0L, -400'000'000L, 5'000'000'000L, -4'000'000'000L}) {
    clock_offset = jump;
    journal.append(record(static_cast<int>(load_log(path_).records.size())));
  }
  clock_offset = 0;
  const Log log = load_log(path_);
  ASSERT_EQ(log.records.size(), 4u);
  EXPECT_EQ(log.damaged, 0);
  EXPECT_GT(log.records[2].time, log.records[3].time);  // it did jump
  EXPECT_EQ(pick_best(log)[0].trial.knobs, record(0).trial.knobs);
}

// The limit on the size of files fails as a full disk does, and needs no privileges.
TEST_F(LogFaults, NoRoomForALine) {
  write(lines(2));
  const std::string before = text(path_);
  Journal journal(path_);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  for (size_t room = 0; room < before.size() / 2; room += 97) {
    const rlimit small{before.size() + room, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    expect_refused("cannot be written", [&] { journal.append(record(2)); });
    expect_refused("cannot be written", [&] { support::replace_lines(path_, [&] { return before + before; }); });
    setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(text(path_), before) << room;
  }
  signal(SIGXFSZ, handler);
  journal.append(record(2));
  EXPECT_EQ(load_log(path_).records.size(), 3u);
  EXPECT_EQ(load_log(path_).damaged, 0);
}

TEST_F(LogFaults, AFullDisk) {
  bool allowed = true;
  std::thread([&] {
    allowed = mount_own(folder_.path(), "size=16k");
    if (!allowed) return;
    int kept = 0;
    try {
      for (Journal journal(path_); kept < 1000; ++kept) journal.append(record(kept));
      ADD_FAILURE() << "16 kilobytes were never full";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), ErrorKind::kLog);
      EXPECT_NE(std::string(e.what()).find("No space left"), std::string::npos) << e.what();
    }
    const Log log = load_log(path_);
    EXPECT_EQ(log.records.size(), static_cast<size_t>(kept));
    EXPECT_EQ(log.damaged, 0);
    // Neither is a log replaced by half of one.
    EXPECT_THROW(merge_logs({path_}, path_), Error);
    EXPECT_EQ(load_log(path_).records.size(), static_cast<size_t>(kept));
  }).join();
  if (!allowed) GTEST_SKIP() << "mounting a tmpfs is not allowed: " << std::strerror(errno);
}

TEST_F(LogFaults, AReadOnlyMount) {
  bool allowed = true;
  std::thread([&] {
    allowed = mount_own(folder_.path(), "size=64k");
    if (!allowed) return;
    write(lines(2));
    ASSERT_EQ(mount("tmpfs", folder_.path().c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    expect_refused("Read-only file system", [&] { Journal journal(path_); });
    expect_refused("Read-only file system", [&] { Journal journal(folder_ / "new.jsonl"); });
    expect_refused("Read-only file system", [&] { prune_log(path_, path_); });
    EXPECT_EQ(load_log(path_).records.size(), 2u);
    EXPECT_EQ(pick_best(load_log(path_)).size(), 1u);
  }).join();
  if (!allowed) GTEST_SKIP() << "mounting a tmpfs is not allowed: " << std::strerror(errno);
}

// Writers die within lines, others go on.
TEST_F(LogFaults, WritersThatAreKilledSpoilNoOther) {
  std::vector<pid_t> writers;
  for (int w = 0; w < 4; ++w) {
    const pid_t pid = fork();
    if (pid == 0) {
      Journal journal(path_);
      for (int n = 0;; ++n) journal.append(record(n));
    }
    writers.push_back(pid);
  }
  for (const pid_t pid : writers) {
    usleep(30'000);
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  const LogCheck check = check_log(path_);
  EXPECT_GT(check.trials, 0u);
  EXPECT_LE(check.damaged.size(), writers.size());
}

}  // namespace
}  // namespace tw::autotune
