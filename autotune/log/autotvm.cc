#include "autotune/log/autotvm.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "autotune/log/history.h"
#include "src/runtime/timing.h"
#include "src/support/json_text.h"

namespace tw::autotune {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* kOurs = "tensorwright";  // the member that holds a record of ours
constexpr double kNoTime = 1e9;                // what stands there for a candidate that failed

Diagnostic refuse(std::string why) { return Diagnostic{ErrorKind::kLog, std::move(why), {}, {}}; }

// Their error numbers, and ours that mean the same.
struct ErrorNumber {
  int number;
  const char* status;
};
constexpr ErrorNumber kErrors[] = {{0, "ok"},           {1, "refused"},      {2, "build_failed"},
                                   {3, "build_failed"}, {4, "crashed"},      {5, "wrong_answer"},
                                   {7, "timeout"},      {6, "build_failed"}, {8, "device_lost"}};

std::string status_of(int number) {
  for (const ErrorNumber& e : kErrors)
    if (e.number == number) return e.status;
  return "crashed";
}

int number_of(const Trial& trial) {
  for (const ErrorNumber& e : kErrors)
    if (trial.status == e.status) return e.number;
  return trial.status == "beaten" ? 0 : 4;
}

bool is_permutation(const Json& list) {
  std::vector<bool> seen(list.size());
  for (const Json& n : list) {
    if (!n.is_number_integer() || n < 0 || n >= list.size() || seen[n.get<size_t>()]) return false;
    seen[n.get<size_t>()] = true;
  }
  return true;
}

// A knob as they write it: sp(lit), re(order), an(notate), ot(her). Lists that are both orders and sizes are sizes.
Json entity(const std::string& name, const Json& value) {
  const Json* list = value.is_object() && value.contains("size") ? &value["size"] : &value;
  const auto all = [&](auto&& f) {
    return list->is_array() && !list->empty() && std::all_of(list->begin(), list->end(), f);
  };
  if (all([](const Json& v) { return v.is_string(); })) {
    Json words = Json::array();
    for (const Json& word : *list) words.push_back(word == "vectorize" ? "vec" : word);
    return {name, "an", words};
  }
  if (all([](const Json& v) { return v.is_number_integer(); })) {
    if (is_permutation(*list)) return {name, "re", *list};
    Json sizes = *list;
    sizes[0] = -1;  // follows from the others
    return {name, "sp", sizes};
  }
  return {name, "ot", value};
}

// The knob's value as ours print, by the candidates of the space where there is one.
Json knob_value(const std::string& kind, const Json& theirs) {
  if (kind != "an") return theirs;
  Json words = Json::array();
  for (const Json& word : theirs) words.push_back(word == "vec" ? "vectorize" : word);
  return words;
}

// Outermost extents that are -1 are taken from the value of the space that has the other ones.
Json in_space(const Knob& knob, const Json& value) {
  if (knob.kind != KnobKind::kSplit || !value.is_array() || value.empty() || value[0] != -1) return value;
  for (const KnobValue& known : knob.values) {
    if (known.tail != ir::Tail::kAuto || known.numbers.size() != value.size()) continue;
    const bool same = std::equal(known.numbers.begin() + 1, known.numbers.end(), value.begin() + 1);
    if (same) return known.numbers;
  }
  return value;
}

void read_result(const Json& result, Record& r) {
  const int error = result.at(1).get<int>();
  r.trial.status = status_of(error);
  if (error == 0) {
    const auto seconds = result.at(0).get<std::vector<double>>();
    if (seconds.empty()) throw std::invalid_argument("no time");
    r.trial.seconds = runtime::median(seconds);
    r.trial.runs = static_cast<int>(seconds.size());
    if (!(r.trial.seconds > 0 && r.trial.seconds < kNoTime)) throw std::invalid_argument("no sensible time");
  } else {
    r.trial.detail = "error number " + std::to_string(error) + " of AutoTVM";
  }
  constexpr double kYear10000 = 253'402'300'800;
  const auto said = result.at(3).get<double>();
  if (!(said >= 0 && said < kYear10000)) throw std::invalid_argument("no sensible date");
  const auto when = static_cast<std::time_t>(said);
  std::tm parts{};
  char text[32];
  gmtime_r(&when, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  r.time = text;
}

Record read(const Json& json) {
  const Json& input = json.at("input");
  Record r;
  r.key.target = input.at(0).get<std::string>();
  r.name = input.at(1).get<std::string>();
  const bool by_name = input.at(2).empty() && input.size() > 3 && input[3].is_object() && !input[3].empty();
  r.args = support::to_text(input.at(by_name ? 3 : 2));
  // Of what they name, for they do not say what it computes; not a hash of a computation, and none like it.
  r.key.hash = "autotvm:" + r.name + r.args;
  r.key.hardware = "unknown";
  Json knobs = Json::object();
  for (const Json& e : json.at("config").at("entity"))
    knobs[e.at(0).get<std::string>()] = knob_value(e.at(1).get<std::string>(), e.at(2));
  r.trial.knobs = support::to_text(knobs);
  r.trial.index = json["config"].value("index", uint64_t{0});
  read_result(json.at("result"), r);
  r.version = "tvm " + json.value("tvm_version", std::string("0"));
  return r;
}

std::time_t seconds_of(const std::string& time) {
  std::tm parts{};
  return strptime(time.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) ? timegm(&parts) : 0;
}

}  // namespace

std::string to_autotvm(const Record& r) {
  const auto parsed = [](const std::string& text) {
    Json json = support::read_json<Json>(text);
    return json.is_discarded() ? Json() : json;
  };
  Json entities = Json::array();
  const Json knobs = parsed(r.trial.knobs);
  for (const auto& [name, value] : knobs.items()) entities.push_back(entity(name, value));
  const Json args = parsed(r.args);
  const int error = number_of(r.trial);
  const double seconds = error == 0 ? r.trial.seconds : kNoTime;
  Json json;
  // Arguments by name are their keyword arguments.
  json["input"] = {r.key.target, r.name, args.is_array() ? args : Json::array(),
                   args.is_object() ? args : Json::object()};
  json["config"] = {{"index", r.trial.index}, {"code_hash", nullptr}, {"entity", entities}};
  json["result"] = Json::array({Json::array({seconds}), error, seconds * r.trial.runs, seconds_of(r.time)});
  json["version"] = 0.2;
  json["tvm_version"] = "0.19.0";
  std::string record = to_line(r);
  record.pop_back();
  json[kOurs] = std::move(record);
  return support::to_printable_text(json) + "\n";
}

Result<Record> from_autotvm(std::string_view line) {
  const Json json = support::read_json<Json>(line);
  if (!json.is_object() || !json.contains("input") || !json.contains("config") || !json.contains("result"))
    return refuse("not a line of AutoTVM's format 0.2");
  if (json.contains(kOurs) && json[kOurs].is_string()) return parse_line(json[kOurs].get<std::string>());
  try {
    if (const double version = json.value("version", 0.0); version != 0.2)
      return refuse("version " + std::to_string(version) + " of AutoTVM's format, not 0.2");
    return read(json);
  } catch (const std::exception& e) {
    return refuse(std::string("malformed: ") + e.what());
  }
}

std::string knobs_in(const Task& task, const std::string& knobs_json) {
  Json knobs = support::parse_json<Json>(knobs_json);
  for (const Knob& knob : task.space().knobs())
    if (knobs.contains(knob.name)) knobs[knob.name] = in_space(knob, knobs[knob.name]);
  return support::to_text(knobs);
}

namespace {

// "llvm -mcpu=core-avx2": what runs it.
std::string_view kind_of(std::string_view target) { return target.substr(0, target.find(' ')); }

}  // namespace

Result<Record> from_autotvm(std::string_view line, const Task& task, const MachineDescription& machine) {
  TW_TRY(Record r, from_autotvm(line));
  if (!r.trial.steps.empty()) return r;  // of ours
  const std::string& target = task.target().to_string();
  if (kind_of(r.key.target) != kind_of(target))
    return refuse("measured for " + r.key.target + ", and the task is for " + target);
  if (support::read_json<Json>(r.args) != support::read_json<Json>(task.args()))
    return refuse("of " + r.name + r.args + ", and the task has the arguments " + task.args());
  TW_TRY(r.trial.index, task.space().find(knobs_in(task, r.trial.knobs)));
  TW_TRY(r.trial.steps, task.steps(r.trial.index));
  r.trial.knobs = task.space().describe(r.trial.index);
  r.key = key_of(task, machine);
  r.name = task.name();
  r.args = task.args();
  return r;
}

namespace {

// Each line of a file through `convert`, which gives nothing for what it drops.
LogEdit convert_file(const std::string& path, const std::string& output,
                     const std::function<Result<std::string>(const std::string&)>& convert) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(Diagnostic{ErrorKind::kLog, "the log " + path + " cannot be read", {}, {}});
  if (std::ifstream(output))
    throw Error(Diagnostic{ErrorKind::kLog, "the output " + output + " exists already", {}, {"give another path"}});
  LogEdit edit;
  std::string text, line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const Result<std::string> converted = convert(line);
    if (!converted) {
      edit.dropped.push_back({path, {number, converted.error().what}});
      continue;
    }
    text += *converted;
    ++edit.kept;
  }
  if (edit.kept == 0 && !edit.dropped.empty())
    throw Error(Diagnostic{ErrorKind::kLog,
                           "no line of " + path + " can be converted",
                           {},
                           {"line " + std::to_string(edit.dropped[0].line.line) + ": " + edit.dropped[0].line.why}});
  support::replace_lines(output, [&] { return text; });
  return edit;
}

}  // namespace

LogEdit import_autotvm(const std::string& path, const std::string& output, const Task* task,
                       const MachineDescription& machine) {
  return convert_file(path, output, [&](const std::string& line) -> Result<std::string> {
    TW_TRY(Record r, task ? from_autotvm(line, *task, machine) : from_autotvm(line));
    return to_line(r);
  });
}

LogEdit export_autotvm(const std::string& log, const std::string& output) {
  return convert_file(log, output, [](const std::string& line) -> Result<std::string> {
    TW_TRY(Record r, parse_line(line));
    return to_autotvm(r);
  });
}

}  // namespace tw::autotune
