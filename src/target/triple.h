// Triples: ARCHITECTURE[-VENDOR]-SYSTEM[-ENVIRONMENT], which people and tools spell in several ways.
#pragma once

#include <string>
#include <string_view>

namespace tw::target {

// One text for all spellings of a Linux: arm64-linux, aarch64-linux-gnu and aarch64-conda-linux-gnu are
// aarch64-unknown-linux-gnu. Of other systems the text as it is.
std::string normalised_triple(std::string_view text);

// "aarch64" of "aarch64-unknown-linux-gnu".
std::string_view architecture_of(std::string_view triple);

}  // namespace tw::target
