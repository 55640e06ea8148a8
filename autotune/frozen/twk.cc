// The text of a .twk: what it is, where it comes from, and the program as ir/GRAMMAR.md has it.
//
//   tensorwright kernel 1
//   name: "dense"
//   target: "llvm -mcpu=x86-64-v3"
//   task: {"name":"matmul","args":{"M":9,"N":17,"K":33},"hash":"0123456789abcdef"}
//   record: {"checksum":"0123456789abcdef","seconds":0.00061,"hardware":"...","threads":8}
//   step: ["split","C","i",4,null,"auto"]
//   range: {"size":"n","up_to":8,"steps":[...],"record":{...}}
//   loss: {"worst":0.08,"at":9,"sizes":[...],"hardware":"...","threads":8,"trials":64}
//   source: "ops.py"
//   release: "0.1.0"
//   checksum: "0123456789abcdef"
//
//   kernel dense(A: float32[9, 33], ...):
//     ...
//
// One fact a line, so that what changes between two of them reads well in review. The checksum is of all other lines.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autotune/frozen/file_set.h"
#include "autotune/frozen/text.h"
#include "codegen/files.h"
#include "codegen/kernel_name.h"
#include "codegen/library.h"
#include "src/ir/parse.h"
#include "src/lower/safety.h"
#include "src/support/fnv.h"
#include "src/support/json_text.h"
#include "src/support/release.h"

namespace tw::aot {

using Json = nlohmann::ordered_json;

TW_DEFINE_VALUE(Frozen);
Frozen::Frozen() = default;

namespace {

constexpr std::string_view kMark = "tensorwright kernel ";
constexpr std::string_view kChecksum = "checksum: ";

[[noreturn]] void refuse(ErrorKind kind, const std::string& path, const std::string& what,
                         std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{kind, path + ": " + what, {}, std::move(notes)});
}

std::string line(const char* key, const Json& value) {
  return std::string(key) + ": " + support::to_printable_text(value) + "\n";
}

Json json_of(const std::optional<FrozenRecord>& record) {
  if (!record) return {};
  return {{"checksum", record->checksum},
          {"seconds", record->seconds},
          {"hardware", record->hardware},
          {"threads", record->threads}};
}

std::optional<FrozenRecord> record_of(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return FrozenRecord{json.at("checksum").get<std::string>(), json.at("seconds").get<double>(),
                      json.at("hardware").get<std::string>(), json.at("threads").get<int>()};
}

Json json_of(const FrozenLoss& loss) {
  return {{"worst", loss.worst},       {"at", loss.at},           {"sizes", loss.sizes},
          {"hardware", loss.hardware}, {"threads", loss.threads}, {"trials", loss.trials}};
}

FrozenLoss loss_of(const Json& json) {
  return {json.at("worst").get<double>(),
          json.at("at").get<int64_t>(),
          json.at("sizes").get<std::vector<int64_t>>(),
          json.at("hardware").get<std::string>(),
          json.at("threads").get<int>(),
          json.at("trials").get<int>()};
}

Json record_json(const Frozen& f) {
  Json json = json_of(f.record);
  if (f.at_size > 0) json["size"] = {{f.size, f.at_size}};
  for (const auto& [name, value] : f.others) json["size"][name] = value;
  return json;
}

Json range_json(const Frozen& f, const FrozenRange& range) {
  Json json{
      {"size", f.size}, {"up_to", range.up_to}, {"steps", support::parse_json<Json>(schedule::to_json(range.steps))}};
  if (range.record) json["record"] = json_of(range.record);
  return json;
}

// The lines before the programs, by their keys; steps joined.
struct Header {
  std::map<std::string, Json> values;
  std::string steps;
  std::vector<Json> ranges;
  std::string checksum;
  std::string sealed;  // what the checksum is of
  std::string programs;
  int programs_line = 1;

  std::string text(const char* key) const { return values.at(key).get<std::string>(); }
};

int format_of(const std::string& text) { return text.starts_with(kMark) ? std::atoi(text.c_str() + kMark.size()) : 0; }

Header header_of(const std::string& text, const std::string& path) {
  Header header;
  size_t at = 0;
  for (int number = 1; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1);
    const std::string one = text.substr(at, end - at);
    if (one.empty()) {
      header.programs = text.substr(end + 1);
      header.programs_line = number + 1;
      header.sealed += text.substr(at);
      return header;
    }
    at = end + 1;
    if (!one.starts_with(kChecksum)) header.sealed += one + "\n";
    if (number == 1) continue;
    const size_t colon = one.find(": ");
    const Json value = colon == std::string::npos ? Json() : support::read_json<Json>(one.substr(colon + 2));
    if (colon == std::string::npos || value.is_discarded())
      refuse(ErrorKind::kParse, path, "line " + std::to_string(number) + " must be NAME: and a value in JSON");
    const std::string key = one.substr(0, colon);
    if (key == "step")
      header.steps += (header.steps.empty() ? "" : ",") + support::to_text(value);
    else if (key == "range")
      header.ranges.push_back(value);
    else if (key == "checksum" && value.is_string())
      header.checksum = value.get<std::string>();
    else
      header.values[key] = value;
  }
  refuse(ErrorKind::kParse, path, "it ends before its program");
}

// Each begins with `kernel`. The lines before one are left blank, so that messages count from the file's first.
std::vector<ir::Program> programs_of(const Header& header, const std::string& path) {
  std::vector<std::string> parts;
  std::istringstream lines(header.programs);
  int number = header.programs_line;
  for (std::string one; std::getline(lines, one); ++number) {
    if (parts.empty() || one.starts_with("kernel ")) parts.emplace_back(static_cast<size_t>(number - 1), '\n');
    parts.back() += one + "\n";
  }
  std::vector<ir::Program> programs;
  for (const std::string& part : parts) {
    Result<ir::Program> program = ir::parse_program(part);
    if (!program) refuse(ErrorKind::kParse, path, program.error().what, program.error().notes);
    programs.push_back(*std::move(program));
  }
  if (programs.empty()) refuse(ErrorKind::kParse, path, "it ends before its program");
  return programs;
}

Frozen frozen_of(const Header& header, const std::string& path) {
  Frozen f;
  f.path = path;
  try {
    f.name = header.text("name");
    f.target = Target::parse(header.text("target")).value_or_throw();
    const Json& task = header.values.at("task");
    f.task = task.at("name").get<std::string>();
    f.args = support::to_text(task.at("args"));
    f.hash = task.at("hash").get<std::string>();
    const Json& record = header.values.at("record");
    f.record = record_of(record);
    if (const auto at = record.find("size"); f.record && at != record.end()) {
      f.size = at->begin().key();
      f.at_size = at->begin()->get<int64_t>();
      for (auto other = std::next(at->begin()); other != at->end(); ++other)
        f.others.emplace_back(other.key(), other.value().get<int64_t>());
    }
    f.steps = schedule::steps_from_json("[" + header.steps + "]").value_or_throw();
    for (const Json& range : header.ranges) {
      f.size = range.at("size").get<std::string>();
      f.sized.push_back({range.at("up_to").get<int64_t>(),
                         schedule::steps_from_json(support::to_text(range.at("steps"))).value_or_throw(),
                         record_of(range.value("record", Json()))});
    }
    if (const auto loss = header.values.find("loss"); loss != header.values.end()) f.loss = loss_of(loss->second);
    f.source = header.text("source");
    f.release = header.text("release");
  } catch (const Error& e) {
    refuse(e.kind(), path, e.diagnostic().what, e.diagnostic().notes);
  } catch (const std::exception&) {
    refuse(ErrorKind::kParse, path,
           "it must say name, target, task, record, source and release; one of them is missing or no such value");
  }
  std::vector<ir::Program> programs = programs_of(header, path);
  f.program_line = header.programs_line;
  f.program = std::move(programs.front());
  f.packers.assign(programs.begin() + 1, programs.end());
  if (f.program.name != f.name || !codegen::check_kernel_name(f.name).ok())
    refuse(ErrorKind::kParse, path, "its program must be called as line 2 says, " + f.name);
  for (const ir::Program& packer : f.packers)
    if (!packer.name.starts_with(f.name + "_pack_"))
      refuse(ErrorKind::kParse, path,
             "programs after the first must pack inputs for it: " + f.name + "_pack_B, not " + packer.name);
  return f;
}

// What nobody but `freeze` may have written without being asked.
void check_safety(const Frozen& f) {
  std::vector<ir::Program> all = {f.program};
  all.insert(all.end(), f.packers.begin(), f.packers.end());
  for (const ir::Program& program : all)
    for (const lower::SafetyFinding& finding : lower::safety_check(program))
      refuse(ErrorKind::kArgument, f.path, "a program that was edited must be seen to be safe: " + finding.what,
             {finding.statement, "freeze it again: " + freeze_command(f)});
}

void check_format(const std::string& text, const std::string& path) {
  try {
    support::to_text(Json(text));
  } catch (const std::exception&) {
    refuse(ErrorKind::kParse, path, "it is no text, in UTF-8, and so no frozen kernel of Tensorwright");
  }
  const int format = format_of(text);
  if (format == kFormat) return;
  if (format == 0)
    refuse(ErrorKind::kParse, path,
           "it is no frozen kernel of Tensorwright: its first line is not \"" + std::string(kMark) +
               std::to_string(kFormat) + "\"");
  refuse(ErrorKind::kParse, path,
         "its format is " + std::to_string(format) + ", and Tensorwright " + support::kRelease + " reads " +
             std::to_string(kFormat) + ": freeze it again with this release, tw freeze ops.py --out DIR");
}

}  // namespace

std::string file_name(const Frozen& f) { return f.name + "." + codegen::short_name(f.target) + ".twk"; }

std::string to_text(const Frozen& f) {
  const std::string steps = schedule::to_json(f.steps);
  std::string before = std::string(kMark) + std::to_string(kFormat) + "\n";
  before += line("name", f.name) + line("target", f.target.to_string());
  before += line(
      "task", {{"name", f.task}, {"args", support::read_json<Json>(f.args.empty() ? "[]" : f.args)}, {"hash", f.hash}});
  before += line("record", record_json(f));
  for (const Json& step : support::parse_json<Json>(steps)) before += line("step", step);
  for (const FrozenRange& range : f.sized) before += line("range", range_json(f, range));
  if (f.loss) before += line("loss", json_of(*f.loss));
  before += line("source", f.source) + line("release", f.release);
  std::vector<ir::Program> all = {f.program};
  all.insert(all.end(), f.packers.begin(), f.packers.end());
  const std::string after = "\n" + codegen::texts_of(all);
  return before + line("checksum", support::fnv1a_hex(before + after)) + after;
}

Frozen from_text(const std::string& given, const std::string& path) {
  std::string text = given;
  std::erase(text, '\r');  // of a checkout that has such lines
  check_format(text, path);
  const Header header = header_of(text, path);
  if (header.checksum.empty()) {
    Frozen f = frozen_of(header, path);
    f.edited = true;
    check_safety(f);
    return f;
  }
  if (support::fnv1a_hex(header.sealed) == header.checksum) return frozen_of(header, path);
  const Frozen f = frozen_of(header, path);  // says what is wrong, where a line of it is
  check_safety(f);
  refuse(ErrorKind::kArgument, path, "it is damaged or was edited, for its checksum is another",
         {"freeze it again: " + freeze_command(f),
          "or leave the line checksum out: what it holds is then proved to be safe, and built"});
}

namespace {

// A loss is measured at times, and is of the kernel as it stands.
Frozen with_known_loss(Frozen f, const std::string& path) {
  std::error_code failed;
  if (f.loss || f.at_size == 0 || !std::filesystem::exists(path, failed)) return f;
  try {
    Frozen there = read(path);
    if (ir::to_string(there.program) == ir::to_string(f.program)) f.loss = std::move(there.loss);
  } catch (const Error&) {  // it is damaged, or of another format: what is written mends that
  }
  return f;
}

}  // namespace

std::vector<std::string> write(const std::vector<Frozen>& all, const std::string& folder) {
  std::vector<NewFile> files;
  std::vector<std::string> paths;
  for (const Frozen& f : all) {
    if (f.target.kind != "llvm" && f.target.kind != "cuda")
      throw Error(
          Diagnostic{ErrorKind::kTarget,
                     "freeze: kernels are frozen for targets llvm and cuda, not for \"" + f.target.to_string() + "\"",
                     {},
                     {}});
    paths.push_back(folder + "/" + file_name(f));
    const auto same = [&](const NewFile& file) { return file.path == paths.back(); };
    if (std::any_of(files.begin(), files.end(), same))
      throw Error(Diagnostic{ErrorKind::kArgument, "freeze: two kernels are named " + f.name, {}, {}});
    files.push_back({paths.back(), to_text(with_known_loss(f, paths.back()))});
  }
  write_all(files);
  return paths;
}

Frozen read(const std::string& path) { return from_text(bytes_of(path), path); }

}  // namespace tw::aot
