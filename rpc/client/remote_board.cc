#include "rpc/client/remote_board.h"

#include "rpc/client/put_blob.h"
#include "rpc/wire/rpc_error.h"

namespace tw::rpc {

using asio::awaitable;

namespace {

[[noreturn]] void breaks_protocol(const std::string& how) { throw rpc_error("the board breaks the protocol: " + how); }

// A job's stream, for who cancels it.
class Listed {
 public:
  using Streams = std::map<Digest, rpc::Streams::Stream*>;
  Listed(Streams& streams, const Digest& job, rpc::Streams::Stream* stream) : streams_(streams), job_(job) {
    streams_[job_] = stream;
  }
  ~Listed() { streams_.erase(job_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  Streams& streams_;
  const Digest job_;
};

}  // namespace

Parcel parcel(Blob blob) { return {sha256(blob.bytes()), std::move(blob)}; }

RemoteBoard::RemoteBoard(Connection connection, Sent sent)
    : streams_(connection), sent_(std::move(sent)), ended_(connection.executor()) {}

awaitable<BoardDescription> RemoteBoard::describe() {
  const std::unique_ptr<Streams::Stream> stream = streams_.open();
  const Describe question;
  co_await stream->send(question);
  const Frame frame = co_await stream->receive();
  co_return board_from(read_as<Description>(frame).json);
}

awaitable<JobResult> RemoteBoard::measure(const RemoteTask& task, const Parcel& object, const Job& job) {
  co_await prepare(task);
  co_await bring(object);
  const std::unique_ptr<Streams::Stream> stream = streams_.open();
  const Listed listed(jobs_, job.name, stream.get());
  co_await stream->send(job);
  const Frame frame = co_await stream->receive();
  JobResult result = read_as<JobResult>(frame);
  if (result.name != job.name) breaks_protocol("it answers for another job");
  co_return result;
}

void RemoteBoard::cancel(const Digest& job) {
  if (const auto stream = jobs_.find(job); stream != jobs_.end()) stream->second->abandon(encode(Cancel{job}));
}

void RemoteBoard::doubt() {
  stored_.clear();
  ready_.clear();
}

awaitable<void> RemoteBoard::others(const Digest& digest) {
  while (under_way_.contains(digest)) co_await ended_.wait();
}

awaitable<void> RemoteBoard::prepare(const RemoteTask& task) {
  co_await others(task.name);
  if (ready_.contains(task.name)) co_return;
  const Turn turn(*this, task.name);
  for (const Parcel& carried : task.parcels) co_await bring(carried);
  const std::unique_ptr<Streams::Stream> stream = streams_.open();
  co_await stream->send(task.spec);
  const Frame frame = co_await stream->receive();
  if (read_as<TaskReady>(frame).task != task.name) breaks_protocol("it answers for another task");
  ready_.insert(task.name);
}

awaitable<void> RemoteBoard::bring(const Parcel& carried) {
  co_await others(carried.digest);
  if (stored_.contains(carried.digest)) co_return;
  const Turn turn(*this, carried.digest);
  // What is new and small is not asked about: that takes as long as sending it.
  const bool ask = sent_->contains(carried.digest) || carried.blob.size() > kChunkBytes;
  bool there = false;
  if (ask) there = co_await has(carried.digest);
  if (!there) co_await carry(carried);
  stored_.insert(carried.digest);
  sent_->insert(carried.digest);
}

awaitable<bool> RemoteBoard::has(const Digest& digest) {
  const std::unique_ptr<Streams::Stream> stream = streams_.open();
  Have question;
  question.blobs.push_back(digest);
  co_await stream->send(question);
  const Frame frame = co_await stream->receive();
  const Present present = read_as<Present>(frame);
  if (present.blobs.size() != 1) breaks_protocol("it was asked for one blob");
  co_return present.blobs[0] != 0;
}

// Ends when all is sent: what is sent next finds it stored, and where it could not be, that is refused.
awaitable<void> RemoteBoard::carry(const Parcel& carried) {
  const std::unique_ptr<Streams::Stream> stream = streams_.open();
  co_await put_blob(*stream, carried.digest, carried.blob.bytes());
}

}  // namespace tw::rpc
