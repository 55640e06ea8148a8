// Launches, at once or captured in graphs, boxes of tensors, streams and events.
#include <chrono>
#include <cstring>

#include "tests/fake_cuda/fake_cuda.h"

namespace tw::fake {

namespace {

// Of the arrays' addresses, and of the scalars that are given.
std::vector<int> operand_bytes(const ir::Program& program) {
  std::vector<int> bytes(program.params.size(), static_cast<int>(sizeof(Address)));
  const size_t axes = unknown_axes(program), scalars = program.scalars.size() - program.params.size() - axes;
  for (size_t s = 0; s < scalars; ++s) bytes.push_back(program.scalars[s].type().bytes());
  return bytes;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

bool is_here(Stream stream) {
  const auto found = streams.find(stream);
  return found == streams.end() || found->second == current();
}

extern "C" {

Code cuStreamCreate(Stream* stream, unsigned) {
  const std::lock_guard lock(mutex);
  *stream = reinterpret_cast<Stream>(new char);
  streams[*stream] = current();
  return 0;
}
Code cuStreamDestroy_v2(Stream stream) {
  const std::lock_guard lock(mutex);
  streams.erase(stream);
  return delete reinterpret_cast<char*>(stream), 0;
}
Code cuStreamSynchronize(Stream) { return fault; }
Code cuStreamWaitEvent(Stream, Event, unsigned) { return fault; }
Code cuEventCreate(Event* event, unsigned) { return *event = reinterpret_cast<Event>(new double), 0; }
Code cuEventRecord(Event event, Stream) { return *reinterpret_cast<double*>(event) = now(), fault; }
Code cuEventSynchronize(Event) { return fault; }
Code cuEventElapsedTime(float* milliseconds, Event begin, Event end) {
  *milliseconds = static_cast<float>(1e3 * (*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(begin)));
  return 0;
}
Code cuEventDestroy_v2(Event event) { return delete reinterpret_cast<double*>(event), 0; }
Code cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                    unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream stream, void** operands, void**) {
  static const bool idle = number("FAKE_CUDA_IDLE", 0) != 0;
  if (idle) return 0;
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  if (!is_here(stream)) return kInvalidHandle;
  const auto* loaded = reinterpret_cast<LoadedFunction*>(function);
  const auto recording = captured.find(stream);
  if (recording == captured.end())
    return launch(*loaded, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, operands);
  Recorded recorded{loaded, {grid_x, grid_y, grid_z, block_x, block_y, block_z}, shared_bytes, {}};
  for (const int bytes : operand_bytes(*loaded->program)) {
    recorded.operands.push_back(0);
    std::memcpy(&recorded.operands.back(), operands[recorded.operands.size() - 1], static_cast<size_t>(bytes));
  }
  recording->second.launches.push_back(std::move(recorded));
  return 0;
}
// Keeps the array's address where a launch looks for that of an array; the rest is judged as the driver does.
Code cuTensorMapEncodeTiled(void* map, int type, unsigned rank, void* array, const unsigned long long* extents,
                            const unsigned long long* strides, const unsigned* box, const unsigned* steps, int,
                            int swizzle, int, int) {
  const int widths[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};
  if (type < 0 || type > 9 || rank < 1 || rank > 5 || swizzle < 0 || swizzle > 3) return kInvalid;
  const auto row = static_cast<int>(box[0]) * widths[type];
  if (row % 16 != 0 || (swizzle != 0 && row > 16 << swizzle)) return kInvalid;
  for (unsigned d = 0; d < rank; ++d)
    if (extents[d] == 0 || extents[d] > 1ull << 32 || box[d] == 0 || box[d] > 256 || steps[d] != 1) return kInvalid;
  for (unsigned d = 0; d + 1 < rank; ++d)
    if (strides[d] % 16 != 0 || strides[d] >= 1ull << 40) return kInvalid;
  const auto address = reinterpret_cast<Address>(array);
  if (address % 16 != 0) return kInvalid;
  std::memcpy(map, &address, sizeof address);
  return 0;
}
Code cuStreamBeginCapture_v2(Stream stream, int) {
  const std::lock_guard lock(mutex);
  return captured.try_emplace(stream).second ? 0 : kInvalid;
}
Code cuStreamEndCapture(Stream stream, Graph* graph) {
  const std::lock_guard lock(mutex);
  auto recording = captured.extract(stream);
  if (recording.empty()) return kInvalid;
  *graph = reinterpret_cast<Graph>(new Recording(std::move(recording.mapped())));
  return 0;
}
// One and the same: who destroys the first leaves it to the other.
Code cuGraphInstantiateWithFlags(RunnableGraph* made, Graph graph, unsigned long long) {
  auto* recording = reinterpret_cast<Recording*>(graph);
  *made = reinterpret_cast<RunnableGraph>(new Recording(std::exchange(*recording, {})));
  return 0;
}
Code cuGraphLaunch(RunnableGraph graph, Stream stream) {
  const std::lock_guard lock(mutex);
  if (current() < 0) return kInvalidContext;
  if (!is_here(stream)) return kInvalidHandle;
  for (Recorded& recorded : reinterpret_cast<Recording*>(graph)->launches) {
    std::vector<void*> operands;
    for (uint64_t& value : recorded.operands) operands.push_back(&value);
    if (const Code failed =
            launch(*recorded.function, std::to_array(recorded.sizes), recorded.shared_bytes, operands.data()))
      return failed;
  }
  return 0;
}
Code cuGraphDestroy(Graph graph) {
  auto* recording = reinterpret_cast<Recording*>(graph);
  for (const Address scratch : recording->scratch) release(scratch);
  return delete recording, 0;
}
Code cuGraphExecDestroy(RunnableGraph graph) { return cuGraphDestroy(reinterpret_cast<Graph>(graph)); }

}  // extern "C"

}  // namespace tw::fake
