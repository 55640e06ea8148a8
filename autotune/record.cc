// Lines of the log.
//
//   {"tensorwright":1,"kind":"trial","task":{...},"target":"...",...,"checksum":"0123456789abcdef"}
//
// The checksum is FNV-1a of everything before `,"checksum"`. The first key names the schema, so that a line that was
// cut off is still known as ours.
#include "autotune/record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tw::autotune {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::string_view kMagic = "{\"tensorwright\":";
constexpr std::string_view kChecksum = ",\"checksum\":\"";

[[noreturn]] void log_error(std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kLog, std::move(what), {}, std::move(notes)});
}

std::string checksum(std::string_view text) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3ull;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(h));
  return hex;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json json_or_null(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

// Text of workers may hold any bytes; JSON is UTF-8.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text.substr(0, 2000);
}

Record record_from(const Json& json) {
  Record r;
  r.kind = json.at("kind").get<std::string>();
  const Json& task = json.at("task");
  r.key = RecordKey{task.at("hash").get<std::string>(), json.at("target").get<std::string>(),
                    json.at("threads").get<int>()};
  r.name = task.at("name").get<std::string>();
  r.args = task.at("args").dump();
  r.hardware = json.at("hardware").get<std::string>();
  r.trial.knobs = json.at("knobs").dump();
  r.trial.steps = schedule::steps_from_json(json.at("steps").dump()).value_or_throw();
  const Json& result = json.at("result");
  r.trial.status = result.at("status").get<std::string>();
  r.trial.seconds = result.at("seconds").get<double>();
  r.trial.spread = result.at("spread").get<double>();
  r.trial.runs = result.at("runs").get<int>();
  r.trial.detail = result.at("detail").get<std::string>();
  const Json& environment = json.at("environment");
  r.version = environment.at("version").get<std::string>();
  r.time = environment.at("time").get<std::string>();
  r.seed = environment.at("seed").get<uint64_t>();
  return r;
}

}  // namespace

std::string to_line(const Record& r) {
  Json json;
  json["tensorwright"] = kSchema;
  json["kind"] = r.kind;
  json["task"] = {{"hash", r.key.hash}, {"name", r.name}, {"args", json_or_null(r.args)}};
  json["target"] = r.key.target;
  json["threads"] = r.key.threads;
  json["hardware"] = printable(r.hardware);
  json["knobs"] = json_or_null(r.trial.knobs);
  json["steps"] = json_or_null(schedule::to_json(r.trial.steps));
  json["result"] = {{"status", r.trial.status},
                    {"seconds", r.trial.seconds},
                    {"bound", r.trial.status == "beaten"},
                    {"checked", r.trial.ok() || r.trial.status == "beaten"},
                    {"spread", r.trial.spread},
                    {"runs", r.trial.runs},
                    {"detail", printable(r.trial.detail)}};
  json["environment"] = {{"version", r.version.empty() ? "0.1.0" : r.version},
                         {"time", r.time.empty() ? utc_now() : r.time},
                         {"seed", r.seed}};
  std::string body = json.dump();
  body.pop_back();
  return body + std::string(kChecksum) + checksum(body) + "\"}\n";
}

Result<Record> parse_line(std::string_view line) {
  const auto refuse = [](std::string why) { return Diagnostic{ErrorKind::kLog, std::move(why), {}, {}}; };
  if (!line.starts_with(kMagic)) return refuse("not a line of a tuning log");
  const int schema = std::atoi(line.data() + kMagic.size());
  if (schema > kSchema)
    return refuse("schema " + std::to_string(schema) + " is newer than this release's " + std::to_string(kSchema));
  const size_t at = line.rfind(kChecksum);
  if (at == std::string_view::npos || line.size() != at + kChecksum.size() + 18 || !line.ends_with("\"}"))
    return refuse("cut off");
  if (line.substr(at + kChecksum.size(), 16) != checksum(line.substr(0, at)))
    return refuse("damaged: the checksum differs");
  try {
    return record_from(Json::parse(std::string(line.substr(0, at)) + "}"));
  } catch (const std::exception& e) {
    return refuse(std::string("malformed: ") + e.what());
  }
}

namespace {

struct Lines {
  Log log;
  int ours = 0, foreign = 0;  // lines that bear our mark, and others
};

Lines read_lines(const std::string& path, std::istream& in) {
  Lines lines;
  std::string line, first;
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    if (first.empty()) first = line.substr(0, 60);
    const bool marked = std::string_view(line).starts_with(kMagic);
    (marked ? lines.ours : lines.foreign)++;
    if (marked && std::atoi(line.c_str() + kMagic.size()) > kSchema) {
      log_error("the tuning log " + path + " must have schema " + std::to_string(kSchema) + ", not a newer one",
                {"a line was written by a newer release: " + line.substr(0, 60) + "...",
                 "use that release, or another log= for this one"});
    }
    Result<Record> record = parse_line(line);
    if (record)
      lines.log.records.push_back(*std::move(record));
    else
      ++lines.log.damaged;
  }
  if (lines.ours == 0 && lines.foreign > 0) {
    log_error("the file " + path + " is not a tuning log of Tensorwright",
              {"its first line is: " + printable(first), "give another path as log="});
  }
  return lines;
}

}  // namespace

Log load_log(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) {
    log_error("there is no tuning log at " + path,
              {"tune(task, log=...) writes one; paths are relative to the working directory"});
  }
  if (!S_ISREG(info.st_mode)) log_error("a tuning log must be a file; " + path + " is none");
  std::ifstream in(path, std::ios::binary);
  if (!in) log_error("the tuning log " + path + " cannot be read: " + std::strerror(errno));
  return read_lines(path, in).log;
}

Journal::Journal(const std::string& path) : path_(path) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0) load_log(path);  // refuses what is not ours
  fd_ = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) log_error("the tuning log " + path + " cannot be written: " + std::strerror(errno));
}

Journal::~Journal() { close(fd_); }

void Journal::append(const Record& record) {
  std::string line = to_line(record);
  while (flock(fd_, LOCK_EX) != 0 && errno == EINTR) continue;
  // A line that a killed process left unfinished ends here, so that it spoils only itself.
  const off_t size = lseek(fd_, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && pread(fd_, &last, 1, size - 1) == 1 && last != '\n') line.insert(line.begin(), '\n');
  const ssize_t written = write(fd_, line.data(), line.size());
  const int error = errno;
  flock(fd_, LOCK_UN);
  if (written != std::ssize(line))
    log_error("the tuning log " + path_ + " cannot be written: " + std::strerror(written < 0 ? error : ENOSPC));
}

const Record* best_record(const std::vector<const Record*>& records) {
  struct Times {
    std::vector<double> confirmed;
    const Record* trial = nullptr;
  };
  std::map<std::string, Times> by_steps;
  for (const Record* r : records) {
    if (!r->trial.ok()) continue;
    Times& times = by_steps[schedule::to_json(r->trial.steps)];
    if (r->kind == "confirm") times.confirmed.push_back(r->trial.seconds);
    if (times.trial == nullptr || r->kind == "confirm") times.trial = r;
  }
  const Record* best = nullptr;
  double best_seconds = 0;
  for (auto& [steps, times] : by_steps) {
    double seconds = times.trial->trial.seconds;
    if (!times.confirmed.empty()) {
      std::sort(times.confirmed.begin(), times.confirmed.end());
      seconds = times.confirmed[times.confirmed.size() / 2];
    }
    if (best == nullptr || seconds < best_seconds) {
      best = times.trial;
      best_seconds = seconds;
    }
  }
  return best;
}

}  // namespace tw::autotune
