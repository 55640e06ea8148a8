// Reading a log, which may hold anything: lines of ours, damaged ones, and what somebody else put there.
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "autotune/log/record.h"

namespace tw::autotune {

namespace {

constexpr std::string_view kMark = "{\"tensorwright\":";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr size_t kLongestLine = size_t{4} << 20;  // a record takes a few kilobytes

[[noreturn]] void log_error(std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kLog, std::move(what), {}, std::move(notes)});
}

// Lines of a stream, of which no more than kLongestLine bytes are kept.
class Lines {
 public:
  explicit Lines(std::istream& in) : in_(in) {}
  bool next(std::string& line, bool& endless) {
    line.clear();
    endless = false;
    for (;;) {
      if (at_ == size_) {
        in_.read(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
        at_ = 0;
        size_ = static_cast<size_t>(in_.gcount());
        if (size_ == 0) return !line.empty();
      }
      const std::string_view rest(chunk_.data() + at_, size_ - at_);
      const size_t end = rest.find('\n');
      const std::string_view part = rest.substr(0, end);
      endless = endless || line.size() + part.size() > kLongestLine;
      line += part.substr(0, kLongestLine - line.size());
      at_ += part.size() + (end != std::string_view::npos);
      if (end != std::string_view::npos) return true;
    }
  }

 private:
  std::istream& in_;
  std::vector<char> chunk_ = std::vector<char>(size_t{1} << 16);
  size_t at_ = 0, size_ = 0;
};

std::string beginning(std::string_view line) {
  std::string text(line.substr(0, 60));
  for (char& c : text)
    if (static_cast<unsigned char>(c) >= 0x7f || static_cast<unsigned char>(c) < 0x20) c = '?';
  return text;
}

void require_known_schema(const std::string& path, const std::string& line) {
  if (!line.starts_with(kMark) || std::atoi(line.c_str() + kMark.size()) <= kSchema) return;
  log_error("the tuning log " + path + " must have schema " + std::to_string(kSchema) + ", not a newer one",
            {"a line was written by a newer release: " + beginning(line) + "...",
             "use that release, or another log= for this one"});
}

void require_file(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) log_error("the tuning log " + path + " cannot be read: " + std::strerror(errno));
    log_error("there is no tuning log at " + path,
              {"tune(task, log=...) writes one; paths are relative to the working directory"});
  }
  if (!S_ISREG(info.st_mode)) log_error("a tuning log must be a file; " + path + " is none");
}

}  // namespace

void for_each_line(const std::string& path, const LineVisitor& visit, const std::string& containing) {
  require_file(path);
  std::ifstream in(path, std::ios::binary);
  if (!in) log_error("the tuning log " + path + " cannot be read: " + std::strerror(errno));
  Lines lines(in);
  size_t number = 0, ours = 0;
  std::string line, foreign;
  for (bool endless = false; lines.next(line, endless);) {
    ++number;
    // Of editors and checkouts that have such files and lines.
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty()) continue;
    require_known_schema(path, line);
    if (line.starts_with(kMark) || kMark.starts_with(line))  // the last cut off early
      ++ours;
    else if (foreign.empty())
      foreign = beginning(line);
    if (!visit || line.find(containing) == std::string::npos) continue;
    if (endless)
      visit(number, line, Diagnostic{ErrorKind::kLog, "longer than any record", {}, {}});
    else
      visit(number, line, parse_line(line));
  }
  if (ours == 0 && !foreign.empty()) {
    log_error("the file " + path + " is not a tuning log of Tensorwright",
              {"its first line is: " + foreign, "give another path as log="});
  }
}

Log load_log(const std::string& path, const std::string& hash) {
  Log log;
  const auto take = [&](size_t, std::string_view, Result<Record> record) {
    if (!record)
      ++log.damaged;
    else if (hash.empty() || record->key.hash == hash)  // the line may say it elsewhere: as a name, in a time stamp
      log.records.push_back(*std::move(record));
  };
  for_each_line(path, take, hash);
  return log;
}

}  // namespace tw::autotune
