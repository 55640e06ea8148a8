// An HTTP server whose answers are computed by three tuned kernels, in each thread's own memory: a request allocates
// nothing for them.
//
//   service PORT         POST /classify: rows of float32 in, probabilities out; GET /memory: what is resident, in bytes
#include <httplib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>

#include "kernels.h"
#include "model.h"

namespace {

// What a thread needs for its calls. The pool's threads are the parallelism: a kernel's loops run where it is called.
class Session {
 public:
  Session() : alone_(tensorwright_default_context()) {
    alone_.parallel_for = [](const tw_context*, int64_t n, int32_t (*body)(int64_t, int64_t, void*), void* closure) {
      return n > 0 ? body(0, n, closure) : 0;
    };
    norm_.reset(std::malloc(acme_norm_workspace_bytes(1)));
    layer_.reset(std::malloc(acme_layer_workspace_bytes(1)));
    softmax_.reset(std::malloc(acme_softmax_workspace_bytes(1)));
  }

  // 0, or the code of the kernel that failed.
  int32_t classify(const model::Weights& w, const float* rows, model::Output& probabilities) {
    int32_t code = acme_norm_run_in(acme_norm_workspace(norm_.get(), &alone_, 1), rows, w.scale.data(), normed_.data());
    if (code == 0)
      code = acme_layer_run_in(acme_layer_workspace(layer_.get(), &alone_, 1), normed_.data(), w.layer.data(),
                               logits_.data());
    if (code == 0)
      code =
          acme_softmax_run_in(acme_softmax_workspace(softmax_.get(), &alone_, 1), logits_.data(), probabilities.data());
    return code;
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  tw_context alone_;
  std::unique_ptr<void, Free> norm_, layer_, softmax_;
  alignas(64) model::Input normed_;
  alignas(64) model::Output logits_;
};

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "service PORT\n"), 1;
  const model::Weights weights = model::weights();
  httplib::Server server;
  server.set_keep_alive_max_count(static_cast<size_t>(-1));
  server.set_tcp_nodelay(true);
  server.set_payload_max_length(sizeof(model::Input));
  server.Post("/classify", [&](const httplib::Request& request, httplib::Response& response) {
    thread_local Session session;
    thread_local model::Input rows;
    thread_local model::Output probabilities;
    if (request.body.size() != sizeof rows) {
      response.status = 400;
      response.set_content("16 rows of 256 float32 are wanted\n", "text/plain");
      return;
    }
    std::memcpy(rows.data(), request.body.data(), sizeof rows);
    if (const int32_t code = session.classify(weights, rows.data(), probabilities)) {
      response.status = 500;
      response.set_content("code " + std::to_string(code) + "\n", "text/plain");
      return;
    }
    response.set_content(reinterpret_cast<const char*>(probabilities.data()), sizeof probabilities,
                         "application/octet-stream");
  });
  server.Get("/memory", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(std::to_string(resident_bytes()), "text/plain");
  });
  if (!server.bind_to_port("127.0.0.1", std::atoi(argv[1])))
    return std::fprintf(stderr, "service: port %s is taken\n", argv[1]), 1;
  std::printf("serves on 127.0.0.1:%s, layer: variant %d\n", argv[1], acme_layer_variant());
  std::fflush(stdout);
  return server.listen_after_bind() ? 0 : 1;
}
