// What is said between a client, a board and a tracker. Only blobs, specifications and opaque names travel: no number
// that comes in is ever taken for an address or a path.
//
// client and board (a tracker may stand between them, which then carries bytes and reads none):
//
//   HELLO                     both, first
//   DESCRIBE -> DESCRIPTION   what the board is, as JSON (board/description.h)
//   HAVE -> PRESENT           which of these blobs it has
//   PUT, CHUNK... -> CREDIT..., STORED      a blob, of whose parts as many may be under way as it gave credit for
//   TASK -> TASK_READY        what checks candidates: inputs and the reference are made, if they are not there
//   JOB -> BUSY, RESULT       a candidate is measured; until RESULT the board may be silent for as long as BUSY says
//   CANCEL                    of a job that waits or runs, which then has no RESULT
//   PING -> PONG              by either side; a client that does not answer in 3 s gives way to another one
//
// and in a session, where the board keeps what has a number or a name until the connection ends:
//
//   NEW_ARRAY -> ARRAY, WRITE_ARRAY with CHUNK... -> DONE, READ_ARRAY -> CHUNK..., FREE_ARRAY -> DONE
//   UPLOAD (of a blob) -> DONE, DOWNLOAD -> CONTENT, CHUNK..., LIST_FILES -> FILES, REMOVE_FILE -> DONE
//   LOAD_MODULE -> MODULE, CALL_MODULE -> CALLED, UNLOAD_MODULE -> DONE
//
// board and tracker:  REGISTER -> REGISTERED, HEARTBEAT; OPEN -> the board dials again and says ATTACH
// client and tracker: REQUEST -> GRANTED, and the connection is one to the board; QUERY -> SUMMARY; RELEASE -> DONE
//
// What cannot be done is answered by ERROR on the same stream.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "rpc/wire/digest.h"
#include "rpc/wire/fields.h"
#include "rpc/wire/frame.h"
#include "tensorwright/error.h"

namespace tw::rpc {

constexpr uint32_t kMagic = 0x52505754;  // "TWPR"
constexpr uint16_t kProtocol = 1, kOldestProtocol = 1;

enum class Role : uint8_t { kClient, kBoard, kTracker, kLast = kTracker };

struct Hello {
  static constexpr MessageType kType = MessageType::kHello;
  uint32_t magic = kMagic;
  uint16_t oldest = kOldestProtocol, newest = kProtocol;
  Role role = Role::kClient;
  std::string release;                                         // of Tensorwright, for people
  std::vector<std::pair<uint16_t, std::string>> options = {};  // those that are not known are skipped
  static auto fields(auto& m) { return std::tie(m.magic, m.oldest, m.newest, m.role, m.release, m.options); }
};

struct ErrorReply {
  static constexpr MessageType kType = MessageType::kError;
  uint8_t kind = 0;  // an ErrorKind
  std::string what;
  std::vector<std::string> notes = {};
  static auto fields(auto& m) { return std::tie(m.kind, m.what, m.notes); }
};
ErrorReply reply_of(const Error&);
Error error_of(const ErrorReply&);

struct Ping {
  static constexpr MessageType kType = MessageType::kPing;
  uint64_t number = 0;
  static auto fields(auto& m) { return std::tie(m.number); }
};

struct Pong {
  static constexpr MessageType kType = MessageType::kPong;
  uint64_t number = 0;
  static auto fields(auto& m) { return std::tie(m.number); }
};

// ---------------------------------------------------------------------------------------------------- what is carried

struct Have {
  static constexpr MessageType kType = MessageType::kHave;
  std::vector<Digest> blobs;
  static auto fields(auto& m) { return std::tie(m.blobs); }
};

struct Present {
  static constexpr MessageType kType = MessageType::kPresent;
  std::vector<uint8_t> blobs;  // 1 or 0, of Have's in their order
  static auto fields(auto& m) { return std::tie(m.blobs); }
};

struct Put {
  static constexpr MessageType kType = MessageType::kPut;
  Digest digest;
  uint64_t bytes = 0;
  static auto fields(auto& m) { return std::tie(m.digest, m.bytes); }
};

struct Credit {
  static constexpr MessageType kType = MessageType::kCredit;
  uint32_t chunks = 0;  // that may be sent besides those that could be before
  static auto fields(auto& m) { return std::tie(m.chunks); }
};

struct Stored {
  static constexpr MessageType kType = MessageType::kStored;
  Digest digest;
  static auto fields(auto& m) { return std::tie(m.digest); }
};

// ---------------------------------------------------------------------------------------------------------- measuring

struct Describe {
  static constexpr MessageType kType = MessageType::kDescribe;
  static auto fields(auto&) { return std::tie(); }
};

struct Description {
  static constexpr MessageType kType = MessageType::kDescription;
  std::string json;
  static auto fields(auto& m) { return std::tie(m.json); }
};

// What checks candidates (check/checks.h). A task's name is the digest of this message.
struct TaskSpec {
  static constexpr MessageType kType = MessageType::kTask;
  std::string checks;                           // as JSON, as packs have them
  uint32_t inputs_version = 0;                  // of runtime::random_inputs
  std::optional<Digest> inputs = {};            // blobs: these in their place;
  std::optional<Digest> reference = {};         // what outputs are compared with, or
  std::optional<Digest> reference_object = {};  // what makes that there
  static auto fields(auto& m) {
    return std::tie(m.checks, m.inputs_version, m.inputs, m.reference, m.reference_object);
  }
};

struct TaskReady {
  static constexpr MessageType kType = MessageType::kTaskReady;
  Digest task;
  static auto fields(auto& m) { return std::tie(m.task); }
};

// Its name is the digest of what it runs, of the task, of how, and of the attempt: who sends it again asks for the
// result of the first time.
struct Job {
  static constexpr MessageType kType = MessageType::kJob;
  Digest name, task, object;
  double lower_bound_s = 0, give_up_above_s = 0;
  uint64_t candidate = 0;
  uint32_t attempt = 0;
  static auto fields(auto& m) {
    return std::tie(m.name, m.task, m.object, m.lower_bound_s, m.give_up_above_s, m.candidate, m.attempt);
  }
};
Digest name_of(const Job&);  // what `name` has to be

constexpr std::string_view kThrottled = "throttled";

struct JobResult {
  static constexpr MessageType kType = MessageType::kResult;
  Digest name;
  std::string status;  // a RunStatus, or kThrottled: the board was too hot each time
  double seconds = 0, spread = 0;
  uint32_t runs = 0;
  std::string detail;
  double hertz = 0, celsius = 0;  // 0: not known
  std::string governor = {};
  static auto fields(auto& m) {
    return std::tie(m.name, m.status, m.seconds, m.spread, m.runs, m.detail, m.hertz, m.celsius, m.governor);
  }
};

struct Cancel {
  static constexpr MessageType kType = MessageType::kCancel;
  Digest name;
  static auto fields(auto& m) { return std::tie(m.name); }
};

struct Busy {
  static constexpr MessageType kType = MessageType::kBusy;
  Digest name;
  uint32_t milliseconds = 0;
  static auto fields(auto& m) { return std::tie(m.name, m.milliseconds); }
};

// ------------------------------------------------------------------------------------------------------------ tracker

struct Register {
  static constexpr MessageType kType = MessageType::kRegister;
  std::string key, name, description;  // the last as Description has it
  bool in_session = false;             // with a client that an earlier tracker gave it to
  static auto fields(auto& m) { return std::tie(m.key, m.name, m.description, m.in_session); }
};

struct Registered {
  static constexpr MessageType kType = MessageType::kRegistered;
  std::string name;  // under which it is known: another where two have one
  static auto fields(auto& m) { return std::tie(m.name); }
};

struct Heartbeat {
  static constexpr MessageType kType = MessageType::kHeartbeat;
  bool in_session = false;
  uint32_t silent_ms = 0;     // it may be, from now on
  uint32_t lost_workers = 0;  // one after the other, by now
  std::string reason = {};    // of the last
  static auto fields(auto& m) { return std::tie(m.in_session, m.silent_ms, m.lost_workers, m.reason); }
};

struct Request {
  static constexpr MessageType kType = MessageType::kRequest;
  std::string key, predicate;
  int32_t priority = 0;
  uint32_t wait_ms = 0;     // for a board
  uint32_t session_ms = 0;  // after which the board is taken back; 0: never
  std::string client = {};  // for people
  static auto fields(auto& m) { return std::tie(m.key, m.predicate, m.priority, m.wait_ms, m.session_ms, m.client); }
};

struct Granted {
  static constexpr MessageType kType = MessageType::kGranted;
  std::string board;  // its name
  static auto fields(auto& m) { return std::tie(m.board); }
};

struct Open {
  static constexpr MessageType kType = MessageType::kOpen;
  std::string token;
  static auto fields(auto& m) { return std::tie(m.token); }
};

struct Attach {
  static constexpr MessageType kType = MessageType::kAttach;
  std::string token;
  static auto fields(auto& m) { return std::tie(m.token); }
};

struct Query {
  static constexpr MessageType kType = MessageType::kQuery;
  static auto fields(auto&) { return std::tie(); }
};

struct Summary {
  static constexpr MessageType kType = MessageType::kSummary;
  std::string json;
  static auto fields(auto& m) { return std::tie(m.json); }
};

// A board out of its quarantine.
struct Release {
  static constexpr MessageType kType = MessageType::kRelease;
  std::string board;
  static auto fields(auto& m) { return std::tie(m.board); }
};

struct Done {
  static constexpr MessageType kType = MessageType::kDone;
  static auto fields(auto&) { return std::tie(); }
};

// ------------------------------------------------------------------------------------------------------------ session

struct NewArray {
  static constexpr MessageType kType = MessageType::kNewArray;
  uint64_t bytes = 0;
  static auto fields(auto& m) { return std::tie(m.bytes); }
};

struct ArrayReply {
  static constexpr MessageType kType = MessageType::kArray;
  uint64_t array = 0;
  static auto fields(auto& m) { return std::tie(m.array); }
};

struct FreeArray {
  static constexpr MessageType kType = MessageType::kFreeArray;
  uint64_t array = 0;
  static auto fields(auto& m) { return std::tie(m.array); }
};

// The bytes follow as chunks of the same stream.
struct WriteArray {
  static constexpr MessageType kType = MessageType::kWriteArray;
  uint64_t array = 0, offset = 0, bytes = 0;
  static auto fields(auto& m) { return std::tie(m.array, m.offset, m.bytes); }
};

struct ReadArray {
  static constexpr MessageType kType = MessageType::kReadArray;
  uint64_t array = 0, offset = 0, bytes = 0;
  static auto fields(auto& m) { return std::tie(m.array, m.offset, m.bytes); }
};

// Files are blobs with a name, and lie in memory: no name leads anywhere else.
struct Upload {
  static constexpr MessageType kType = MessageType::kUpload;
  std::string name;
  Digest content;
  static auto fields(auto& m) { return std::tie(m.name, m.content); }
};

struct Download {
  static constexpr MessageType kType = MessageType::kDownload;
  std::string name;
  static auto fields(auto& m) { return std::tie(m.name); }
};

struct Content {
  static constexpr MessageType kType = MessageType::kContent;
  uint64_t bytes = 0;
  static auto fields(auto& m) { return std::tie(m.bytes); }
};

struct ListFiles {
  static constexpr MessageType kType = MessageType::kListFiles;
  static auto fields(auto&) { return std::tie(); }
};

struct Files {
  static constexpr MessageType kType = MessageType::kFiles;
  std::vector<std::pair<std::string, uint64_t>> files;  // and their bytes
  static auto fields(auto& m) { return std::tie(m.files); }
};

struct RemoveFile {
  static constexpr MessageType kType = MessageType::kRemoveFile;
  std::string name;
  static auto fields(auto& m) { return std::tie(m.name); }
};

struct LoadModule {
  static constexpr MessageType kType = MessageType::kLoadModule;
  std::string file, kernel;  // of several; empty: the only one
  static auto fields(auto& m) { return std::tie(m.file, m.kernel); }
};

struct ModuleArgument {
  std::string name, dtype;
  std::vector<int64_t> shape, strides;  // -1: symbolic; no strides: compact row-major
  bool written = false;
  static auto fields(auto& m) { return std::tie(m.name, m.dtype, m.shape, m.strides, m.written); }
};

// That is passed besides the arrays.
struct ModuleScalar {
  std::string name, dtype;
  int32_t place = 0;  // how many arrays stand before it
  static auto fields(auto& m) { return std::tie(m.name, m.dtype, m.place); }
};

struct ModuleReply {
  static constexpr MessageType kType = MessageType::kModule;
  uint64_t module = 0;
  std::string kernel;
  std::vector<ModuleArgument> args;
  std::vector<ModuleScalar> scalars;
  static auto fields(auto& m) { return std::tie(m.module, m.kernel, m.args, m.scalars); }
};

struct UnloadModule {
  static constexpr MessageType kType = MessageType::kUnloadModule;
  uint64_t module = 0;
  static auto fields(auto& m) { return std::tie(m.module); }
};

struct CallArgument {
  uint64_t array = 0;
  std::string dtype;
  std::vector<int64_t> shape;
  static auto fields(auto& m) { return std::tie(m.array, m.dtype, m.shape); }
};

struct CallModule {
  static constexpr MessageType kType = MessageType::kCallModule;
  uint64_t module = 0;
  std::vector<CallArgument> args;
  std::vector<uint64_t> scalars;
  double timeout_s = 0;
  // Of a call that is timed: repeat is not 0 then.
  int32_t number = 0, repeat = 0;
  double min_repeat_ms = 0, cooldown_ms = 0;
  static auto fields(auto& m) {
    return std::tie(m.module, m.args, m.scalars, m.timeout_s, m.number, m.repeat, m.min_repeat_ms, m.cooldown_ms);
  }
};

struct Called {
  static constexpr MessageType kType = MessageType::kCalled;
  std::vector<double> runs;  // seconds of a call, of each repeat
  static auto fields(auto& m) { return std::tie(m.runs); }
};

}  // namespace tw::rpc
