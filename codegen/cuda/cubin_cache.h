// Images that were compiled before, kept on disk: NVRTC takes some 100 ms for one, reading it 0.1.
//
// A file for each, cubin-HASH in the folder of TW_CACHE_DIR or ~/.cache/tensorwright. It holds what it was made of, so
// that equal hashes mislead nobody, and a checksum: an entry that is damaged is none, and is written again. It comes
// into its place at once, and a full disk leaves none.
#pragma once

#include <optional>
#include <string>

#include "src/runtime/cuda/image.h"

namespace tw::codegen {

// `key`: all that decides the image: the text, the architecture, the compiler's version and its flags.
std::optional<runtime::cuda::Image> cached_image(const std::string& key);
void cache_image(const std::string& key, const runtime::cuda::Image&);

}  // namespace tw::codegen
