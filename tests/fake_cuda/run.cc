// What a launch does: the interpreter runs its program, or a planted fault comes of it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "src/ir/interp.h"
#include "src/ir/walk.h"
#include "tests/fake_cuda/fake_cuda.h"

namespace tw::fake {

namespace {

// The sizes of a launch by the program's axes: those that it does not know, outermost first; nothing where they are not
// what it says.
std::optional<std::vector<int64_t>> extents_of(const ir::Program& program, const unsigned (&sizes)[6]) {
  std::vector<int64_t> unknown;
  std::vector<int64_t> left(std::begin(sizes), std::end(sizes));
  const ir::Stmt* at = &program.body;
  for (const auto* loop = ir::as<ir::For>(*at); loop && is_device_index(loop->kind); loop = ir::as<ir::For>(*at)) {
    int64_t& size = left[static_cast<size_t>(dimension_of(loop->kind)) + (is_thread(loop->kind) ? 3 : 0)];
    const auto constant = ir::as_int(loop->extent);
    if (!constant) unknown.push_back(size);
    if (constant && *constant != size) return std::nullopt;
    size = 1;
    at = &loop->body;
  }
  if (left != std::vector<int64_t>(6, 1)) return std::nullopt;
  return unknown;
}

// Outputs that the launch also reads were written by another one.
bool reads_outputs(const ir::Program& program) {
  bool reads = false;
  ir::walk(
      program.body, [](const ir::Stmt&) { return true; },
      [&](const ir::Expr& e) {
        const auto* load = ir::as<ir::Load>(e);
        for (const ir::Param& param : program.params) reads |= load && param.written && load->buffer == param.buffer;
        return true;
      });
  return reads;
}

Code run(const ir::Program& program, void** operands, const unsigned (&sizes)[6]) {
  std::optional<std::vector<int64_t>> extents = extents_of(program, sizes);
  if (!extents) return kInvalid;
  const size_t arrays = program.params.size(), scalars = program.scalars.size() - arrays - extents->size();
  std::vector<ir::InterpBuffer> buffers;
  std::vector<int64_t> elements(arrays);
  std::vector<void*> values(operands + arrays, operands + arrays + scalars);
  for (size_t i = 0; i < arrays; ++i) {
    const Address at = *static_cast<Address*>(operands[i]);
    const auto* block = block_with(at);
    if (!block || block->second.ordinal != current()) return kIllegalAddress;
    const auto bytes = static_cast<int64_t>(block->first + block->second.size - at);
    const int64_t size = program.params[i].buffer.element().bytes();
    elements[i] = bytes / size;
    buffers.push_back({reinterpret_cast<void*>(at), static_cast<size_t>(elements[i] * size)});
    values.push_back(&elements[i]);
  }
  for (int64_t& extent : *extents) values.push_back(&extent);
  ir::InterpOptions options;
  options.check_unwritten = !reads_outputs(program);
  for (size_t s = 0; s < values.size(); ++s) {
    options.scalars.push_back(0);
    std::memcpy(&options.scalars.back(), values[s], static_cast<size_t>(program.scalars[s].type().bytes()));
  }
  const Status status = ir::interpret(program, buffers, options);
  if (status.ok()) return 0;
  std::fprintf(stderr, "fake CUDA: %s: %s\n", program.name.c_str(), status.error().render().c_str());
  return status.error().what.find("outside") != std::string::npos ? kIllegalAddress : kLaunchFailed;
}

// The fault that this process has; "": none.
std::string_view planted() {
  static const std::string fault = [] {
    const char *kind = std::getenv("FAKE_CUDA_FAULT"), *once = std::getenv("FAKE_CUDA_ONCE");
    return std::string(kind && (!once || unlink(once) == 0) ? kind : "");
  }();
  return fault;
}

// What follows of it, beside what the launch itself has done.
Code plant(const std::string& function, void** operands) {
  if (planted() == "hang")
    for (;;) pause();
  static bool wrote = false;
  if (planted() == "input" && function.starts_with("tw_candidate") && !std::exchange(wrote, true))
    reinterpret_cast<std::byte*>(*static_cast<Address*>(operands[0]))[0] ^= std::byte{1};
  if (planted() == "outside") reinterpret_cast<std::byte*>(*static_cast<Address*>(operands[0]))[-1] ^= std::byte{1};
  return planted() == "illegal" ? kIllegalAddress : planted() == "lost" ? kUnavailable : 0;
}

}  // namespace

size_t unknown_axes(const ir::Program& program) {
  size_t unknown = 0;
  const ir::Stmt* at = &program.body;
  for (const auto* loop = ir::as<ir::For>(*at); loop && is_device_index(loop->kind); loop = ir::as<ir::For>(*at)) {
    unknown += ir::as_int(loop->extent) ? 0 : 1;
    at = &loop->body;
  }
  return unknown;
}

Code launch(const LoadedFunction& loaded, const std::array<unsigned, 6>& asked, unsigned shared_bytes,
            void** operands) {
  if (fault) return fault;
  if (is_gone()) return fault = kUnavailable;
  if (const char* trace = std::getenv("FAKE_CUDA_TRACE"); trace && *trace) {
    std::FILE* file = std::fopen(trace, "a");
    std::fprintf(file, "%d %llx\n", getpid(), *static_cast<Address*>(operands[0]));
    std::fclose(file);
  }
  if (shared_bytes > 49152 && static_cast<int>(shared_bytes) > loaded.dynamic_bytes) return kInvalid;
  unsigned sizes[6];
  std::copy(asked.begin(), asked.end(), sizes);
  const Code failed = run(*loaded.program, operands, sizes);
  if (failed == kInvalid) return failed;
  fault =
      failed != 0 ? failed : plant(loaded.program->name, operands);  // comes to light at a later call, as on a device
  return 0;
}

}  // namespace tw::fake
