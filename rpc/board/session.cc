#include "rpc/board/session.h"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/use_awaitable.hpp>
#include <cmath>
#include <cstring>
#include <ranges>
#include <set>

namespace tw::rpc {

using asio::awaitable;
using runtime::KernelProcess;
using runtime::SharedMemory;

namespace {

constexpr size_t kMostFiles = 240, kMostArrays = 1024, kMostModules = 32;
constexpr size_t kMostName = 255;
constexpr size_t kMostTold = 16;  // names, in what refuses another one
// What lists the files is one message: of each a count, its name and how many bytes it has.
static_assert(sizeof(uint32_t) + kMostFiles * (sizeof(uint32_t) + kMostName + sizeof(uint64_t)) <= kMostOfControl);
constexpr double kMostTimeoutS = 3600;

[[noreturn]] void refuse(std::string what, std::vector<std::string> notes = {}) {
  throw Error(Diagnostic{ErrorKind::kArgument, std::move(what), {}, std::move(notes)});
}

ir::Type type_of(const std::string& dtype) {
  const std::optional<ir::Type> type = ir::parse_type(dtype);
  if (!type) refuse("there is no dtype " + dtype);
  return *type;
}

ModuleReply module_reply(uint64_t module, const runtime::KernelSummary& summary) {
  ModuleReply reply{module, summary.name, {}, {}};
  for (const runtime::ScalarSpec& s : summary.scalars)
    reply.scalars.push_back({s.var.name(), ir::to_string(s.var.type()), s.place});
  for (const runtime::ArgSpec& a : summary.args)
    reply.args.push_back({a.name, ir::to_string(a.dtype), a.shape, a.strides, a.written});
  return reply;
}

// A range within so many bytes.
void require_within(uint64_t offset, uint64_t bytes, uint64_t all) {
  if (offset > all || bytes > all - offset)
    refuse("an array of " + std::to_string(all) + " bytes has none from " + std::to_string(offset) + " to " +
           std::to_string(offset) + " + " + std::to_string(bytes));
}

}  // namespace

// Used by one thread, but for what `loading` and `calling` return.
struct BoardSession::State : std::enable_shared_from_this<State> {
  State(runtime::WorkerCommand command, int threads, uint64_t most, FindBlob find, asio::thread_pool& waiting)
      : command(std::move(command)), threads(threads), most_bytes(most), find_blob(std::move(find)), waiting(waiting) {}

  // What CHUNKs of a stream go into.
  struct Incoming {
    std::shared_ptr<SharedMemory> memory;
    uint64_t at = 0, left = 0;
  };

  std::shared_ptr<SharedMemory> array(uint64_t number) const {
    const auto found = arrays.find(number);
    if (found == arrays.end()) refuse("there is no array " + std::to_string(number) + " in this session");
    return found->second;
  }

  uint64_t new_array(uint64_t bytes) {
    uint64_t used = 0;
    for (const auto& [number, memory] : arrays) used += memory->size();
    if (arrays.size() == kMostArrays) refuse("a session has at most " + std::to_string(kMostArrays) + " arrays");
    if (bytes > most_bytes || used > most_bytes - bytes)
      refuse("an array of " + std::to_string(bytes) + " bytes is too large: a session has " +
                 std::to_string(most_bytes) + ", of which " + std::to_string(used) + " are taken",
             {"arrays that are no longer needed can be freed"});
    arrays.emplace(++numbers, std::make_shared<SharedMemory>(bytes));
    return numbers;
  }

  void free_array(uint64_t number) {
    array(number);
    arrays.erase(number);
    for (const auto& [module, kernel] : modules) kernel->forget(number);
  }

  void upload(const Upload& upload) {
    if (upload.name.empty() || upload.name.size() > kMostName)
      refuse("a file's name has 1 to " + std::to_string(kMostName) + " bytes, not " +
             std::to_string(upload.name.size()));
    const std::optional<Blob> content = find_blob(upload.content);
    if (!content) refuse("the content of " + upload.name + " has not been sent");
    if (files.size() == kMostFiles && !files.contains(upload.name))
      refuse("a session has at most " + std::to_string(kMostFiles) + " files");
    files.insert_or_assign(upload.name, *content);
  }

  Blob file(const std::string& name) const {
    const auto found = files.find(name);
    if (found != files.end()) return found->second;
    std::string listed;
    for (const auto& [known, content] : files | std::views::take(kMostTold))
      listed += (listed.empty() ? "" : ", ") + known;
    if (files.size() > kMostTold) listed += " and " + std::to_string(files.size() - kMostTold) + " more";
    refuse("there is no file " + name + " in this session", {listed.empty() ? "it has none" : "it has " + listed});
  }

  std::shared_ptr<KernelProcess> module(uint64_t number) const {
    const auto found = modules.find(number);
    if (found == modules.end()) refuse("there is no module " + std::to_string(number) + " in this session");
    return found->second;
  }

  // Both wait for a process, on a thread of the pool; what they use of the session they have before.
  struct Loading {
    std::shared_ptr<KernelProcess> kernel;
    runtime::LoadKernel request;
    void operator()() const { kernel->load(request); }
  };
  Loading loading(const LoadModule& load) {
    if (over) refuse("the session has ended");
    if (modules.size() + modules_under_way.size() >= kMostModules)
      refuse("a session has at most " + std::to_string(kMostModules) + " modules");
    Loading loading{std::make_shared<KernelProcess>(command), {file(load.file), load.kernel, threads}};
    modules_under_way.insert(loading.kernel);
    return loading;
  }

  std::function<std::vector<double>()> calling(const CallModule& asked) const {
    runtime::CallKernel call;
    std::vector<std::shared_ptr<SharedMemory>> held;
    KernelProcess::Memories memories;
    for (const CallArgument& a : asked.args) {
      held.push_back(array(a.array));
      memories.emplace_back(a.array, held.back().get());
      call.arrays.push_back({a.array, type_of(a.dtype), a.shape, {}});
    }
    call.scalars = asked.scalars;
    if (asked.repeat != 0) call.timing = runtime::TimingOptions{asked.number, asked.repeat, asked.min_repeat_ms};
    call.cooldown_s = std::isfinite(asked.cooldown_ms) ? std::max(0.0, asked.cooldown_ms * 1e-3) : 0;
    const double timeout = asked.timeout_s > 0 ? std::min(asked.timeout_s, kMostTimeoutS) : kMostTimeoutS;
    return [kernel = module(asked.module), call = std::move(call), held = std::move(held),
            memories = std::move(memories), timeout] { return kernel->call(call, memories, timeout); };
  }

  // Each answers its frame, or throws why not.
  awaitable<bool> serve(Connection, Frame);
  awaitable<void> begin_write(Connection, Frame);
  awaitable<void> take_chunk(Connection, Frame);
  static awaitable<void> load(std::shared_ptr<State>, Connection, uint16_t stream, Loading);
  static awaitable<void> call(std::shared_ptr<State>, Connection, uint16_t stream,
                              std::function<std::vector<double>()>);

  const runtime::WorkerCommand command;
  const int threads;
  const uint64_t most_bytes;
  const FindBlob find_blob;
  std::map<uint64_t, std::shared_ptr<SharedMemory>> arrays;
  std::map<std::string, Blob> files;
  std::map<uint64_t, std::shared_ptr<KernelProcess>> modules;
  std::set<std::shared_ptr<KernelProcess>> modules_under_way;  // each ends in `load`
  std::map<uint16_t, Incoming> incoming;                       // by stream
  uint64_t numbers = 0;
  bool over = false;
  asio::thread_pool& waiting;  // for kernels
};

namespace {

template <class F>
awaitable<std::invoke_result_t<F>> elsewhere(asio::thread_pool& pool, F f) {
  return asio::co_spawn(
      pool, [](F run) -> awaitable<std::invoke_result_t<F>> { co_return run(); }(std::move(f)), asio::use_awaitable);
}

struct UnderWay {
  std::set<std::shared_ptr<KernelProcess>>& all;
  const std::shared_ptr<KernelProcess>& kernel;
  ~UnderWay() { all.erase(kernel); }
};

// What `run` refuses is told, and ends nothing.
template <class Run>
awaitable<void> or_refuse(Connection to, uint16_t stream, Run run) {
  std::optional<ErrorReply> refused;
  try {
    co_await run();
  } catch (const ConnectionLost&) {
    throw;
  } catch (const Error& error) {
    refused = reply_of(error);
  }
  if (refused) co_await to.send(*refused, stream);
}

awaitable<void> send_chunks(Connection to, uint16_t stream, std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(bytes.size(), kChunkBytes)))
    co_await to.send(MessageType::kChunk, stream, std::string(bytes.substr(0, kChunkBytes)));
}

}  // namespace

awaitable<bool> BoardSession::State::serve(Connection to, Frame frame) {
  const uint16_t stream = frame.stream;
  switch (frame.type) {
    case MessageType::kNewArray:
      co_await to.send(ArrayReply{new_array(read_as<NewArray>(frame).bytes)}, stream);
      break;
    case MessageType::kFreeArray:
      free_array(read_as<FreeArray>(frame).array);
      co_await to.send(Done{}, stream);
      break;
    case MessageType::kWriteArray:
      co_await begin_write(to, frame);
      break;
    case MessageType::kReadArray: {
      const ReadArray read = read_as<ReadArray>(frame);
      const std::shared_ptr<SharedMemory> memory = array(read.array);
      require_within(read.offset, read.bytes, memory->size());
      const char* const begin = reinterpret_cast<const char*>(memory->data()) + read.offset;
      co_await send_chunks(to, stream, {begin, read.bytes});
      break;
    }
    case MessageType::kUpload:
      upload(read_as<Upload>(frame));
      co_await to.send(Done{}, stream);
      break;
    case MessageType::kDownload: {
      const Blob content = file(read_as<Download>(frame).name);
      co_await to.send(Content{content.size()}, stream);
      co_await send_chunks(to, stream, content.bytes());
      break;
    }
    case MessageType::kListFiles: {
      Files listed;
      for (const auto& [name, content] : files) listed.files.emplace_back(name, content.size());
      co_await to.send(listed, stream);
      break;
    }
    case MessageType::kRemoveFile: {
      const RemoveFile remove = read_as<RemoveFile>(frame);
      file(remove.name);
      files.erase(remove.name);
      co_await to.send(Done{}, stream);
      break;
    }
    case MessageType::kLoadModule:
      asio::co_spawn(to.executor(), load(shared_from_this(), to, stream, loading(read_as<LoadModule>(frame))),
                     asio::detached);
      break;
    case MessageType::kCallModule:
      asio::co_spawn(to.executor(), call(shared_from_this(), to, stream, calling(read_as<CallModule>(frame))),
                     asio::detached);
      break;
    case MessageType::kUnloadModule: {
      const UnloadModule unload = read_as<UnloadModule>(frame);
      module(unload.module)->end();
      modules.erase(unload.module);
      co_await to.send(Done{}, stream);
      break;
    }
    case MessageType::kChunk:
      if (!incoming.contains(stream)) co_return false;
      co_await take_chunk(to, frame);
      break;
    default:
      co_return false;
  }
  co_return true;
}

// What is sent for an array that cannot take it is taken all the same, and goes nowhere.
awaitable<void> BoardSession::State::begin_write(Connection to, Frame frame) {
  const WriteArray write = read_as<WriteArray>(frame);
  Incoming& into = incoming[frame.stream] = Incoming{nullptr, write.offset, write.bytes};
  if (write.bytes == 0) incoming.erase(frame.stream);
  const std::shared_ptr<SharedMemory> memory = array(write.array);
  require_within(write.offset, write.bytes, memory->size());
  if (write.bytes > 0)
    into.memory = memory;
  else
    co_await to.send(Done{}, frame.stream);
}

awaitable<void> BoardSession::State::take_chunk(Connection to, Frame frame) {
  Incoming& into = incoming.at(frame.stream);
  if (frame.payload.size() > into.left) {
    incoming.erase(frame.stream);
    refuse("more bytes came for an array than were announced");
  }
  if (into.memory) std::memcpy(into.memory->data() + into.at, frame.payload.data(), frame.payload.size());
  into.at += frame.payload.size();
  into.left -= frame.payload.size();
  if (into.left > 0) co_return;
  const bool written = into.memory != nullptr;
  incoming.erase(frame.stream);
  if (written) co_await to.send(Done{}, frame.stream);
}

awaitable<void> BoardSession::State::load(std::shared_ptr<State> self, Connection to, uint16_t stream,
                                          Loading loading) {
  co_await or_refuse(to, stream, [&]() -> awaitable<void> {
    {
      const UnderWay under_way{self->modules_under_way, loading.kernel};
      co_await elsewhere(self->waiting, loading);
    }
    if (self->over) co_return;
    self->modules.emplace(++self->numbers, loading.kernel);
    co_await to.send(module_reply(self->numbers, loading.kernel->summary()), stream);
  });
}

awaitable<void> BoardSession::State::call(std::shared_ptr<State> self, Connection to, uint16_t stream,
                                          std::function<std::vector<double>()> run) {
  co_await or_refuse(to, stream, [&]() -> awaitable<void> {
    std::vector<double> runs = co_await elsewhere(self->waiting, run);
    const Called called{std::move(runs)};
    co_await to.send(called, stream);
  });
}

BoardSession::BoardSession(runtime::WorkerCommand serves_kernels, int threads, uint64_t most_bytes, FindBlob find_blob,
                           asio::thread_pool& waiting)
    : state_(std::make_shared<State>(std::move(serves_kernels), threads, most_bytes, std::move(find_blob), waiting)) {}

BoardSession::~BoardSession() { end(); }

void BoardSession::end() {
  state_->over = true;
  for (const auto& [number, kernel] : state_->modules) kernel->end();
  for (const std::shared_ptr<KernelProcess>& kernel : state_->modules_under_way) kernel->end();
}

awaitable<bool> BoardSession::answer(Connection to, Frame frame) {
  const std::shared_ptr<State> s = state_;
  bool ours = true;
  co_await or_refuse(to, frame.stream, [&]() -> awaitable<void> { ours = co_await s->serve(to, frame); });
  co_return ours;
}

}  // namespace tw::rpc
