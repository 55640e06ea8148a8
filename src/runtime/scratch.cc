#include "src/runtime/scratch.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "src/runtime/large_memory.h"
#include "src/support/scratch_alignment.h"

namespace tw::runtime {
namespace {

constexpr size_t kAlignment = kScratchAlignment;
constexpr size_t kKeptBytes = size_t{256} << 20;  // of one thread
constexpr size_t kMostBytes = size_t{1} << 46;    // larger requests are arithmetic gone wrong

// Stands in the 64 bytes before the memory that the kernel gets.
struct alignas(kAlignment) Block {
  size_t bytes;  // of the memory after the header
  void* memory() { return this + 1; }
  static Block* of(void* memory) { return static_cast<Block*>(memory) - 1; }
};

struct Cache {
  std::vector<Block*> blocks;
  size_t bytes = 0;

  ~Cache() {
    for (Block* block : blocks) std::free(block);
  }
  // The smallest block that is large enough, unless it would waste more than it serves.
  Block* take(size_t wanted) {
    size_t best = blocks.size();
    for (size_t i = 0; i < blocks.size(); ++i)
      if (blocks[i]->bytes >= wanted && (best == blocks.size() || blocks[i]->bytes < blocks[best]->bytes)) best = i;
    if (best == blocks.size() || blocks[best]->bytes > 2 * wanted + 4096) return nullptr;
    Block* block = blocks[best];
    blocks[best] = blocks.back();
    blocks.pop_back();
    bytes -= block->bytes;
    return block;
  }
  void keep(Block* block) {
    if (bytes + block->bytes > kKeptBytes) return std::free(block);
    bytes += block->bytes;
    blocks.push_back(block);
  }
};

thread_local Cache cache;

size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

void* scratch_alloc(size_t bytes) try {
  if (bytes > kMostBytes) return nullptr;
  bytes = round_up(std::max<size_t>(bytes, 1), kAlignment);
  if (Block* kept = cache.take(bytes)) return kept->memory();
  const LargeMemory memory = large_memory(bytes + sizeof(Block));
  if (memory.data == nullptr) return nullptr;
  Block* block = new (memory.data) Block{memory.bytes - sizeof(Block)};
  return block->memory();
} catch (const std::bad_alloc&) {
  return nullptr;
}

void scratch_release(void* memory) {
  if (memory) cache.keep(Block::of(memory));
}

}  // namespace tw::runtime
