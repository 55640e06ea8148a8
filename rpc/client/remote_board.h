// What a client asks of one board, over one connection with it: what it is, and that it measures. What was carried
// there once is not carried again.
//
// For one thread. Whoever awaits one of these keeps it alive.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "rpc/board/description.h"
#include "rpc/client/streams.h"
#include "tensorwright/blob.h"

namespace tw::rpc {

// A blob by its name.
struct Parcel {
  Digest digest;
  Blob blob;
};
Parcel parcel(Blob);

// What checks candidates, with the blobs that it names.
struct RemoteTask {
  Digest name;
  TaskSpec spec;
  std::vector<Parcel> parcels;
};

class RemoteBoard {
 public:
  using Sent = std::shared_ptr<std::set<Digest>>;
  // `sent`: over earlier connections with this board, which may have it still.
  RemoteBoard(Connection, Sent sent);

  // All throw Refused where the board can't, ConnectionLost when the connection ended, and Error where it breaks the
  // protocol.
  asio::awaitable<BoardDescription> describe();
  asio::awaitable<JobResult> measure(const RemoteTask&, const Parcel& object, const Job&);
  // Nothing comes of the job any more: who waits for it is Refused.
  void cancel(const Digest& job);

  // Of what it was sent, some may be there no more.
  void doubt();
  Streams& streams() { return streams_; }

 private:
  asio::awaitable<void> prepare(const RemoteTask&);
  asio::awaitable<void> bring(const Parcel&);
  asio::awaitable<bool> has(const Digest&);
  asio::awaitable<void> carry(const Parcel&);
  // Of what several need at once one coroutine does, while the others wait.
  class Turn {
   public:
    Turn(RemoteBoard& board, const Digest& digest) : board_(board), digest_(digest) {
      board_.under_way_.insert(digest_);
    }
    ~Turn() {
      board_.under_way_.erase(digest_);
      board_.ended_.wake();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    RemoteBoard& board_;
    const Digest digest_;
  };
  asio::awaitable<void> others(const Digest&);

  Streams streams_;
  std::set<Digest> stored_, ready_, under_way_;
  std::map<Digest, Streams::Stream*> jobs_;
  const Sent sent_;
  Event ended_;
};

}  // namespace tw::rpc
