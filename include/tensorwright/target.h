// Targets: what code is made for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorwright/error.h"

namespace tw {

// Instructions that add the products of a group of narrow operands to a lane of 32 bits: four integers of 8 bits, the
// left ones with the first letter's sign, or two bfloat16 as vdpbf16ps rounds them, or to odd as bfdot does. Of
// matrices: to four lanes, twice as many products each.
enum class DotProduct : uint8_t { kU8I8, kI8I8, kU8U8, kBF16, kBF16Odd, kMatI8I8, kMatBF16Odd };
struct DotLanes {
  DotProduct dot;
  int lanes;          // that one instruction adds to at most
  int registers = 0;  // that it takes beside sums and factors: for what is added and taken away, for words of bytes
  bool operator==(const DotLanes&) const = default;
};

// Registers of rows, and what is multiplied in them.
struct Tiles {
  int registers, rows, row_bytes;
  bool int8, bf16;
  bool operator==(const Tiles&) const = default;
};

// Of a device that runs threads in blocks: what one block may use at most.
struct Device {
  int warp = 1;
  int64_t shared_bytes = 0;
  int registers = 0, threads = 1;
  bool operator==(const Device&) const = default;
};

// What code for a target may count on, resolved once. Passes, sketches and estimates ask these and no feature.
struct Abilities {
  int vector_bits = 128;  // the widest register that this CPU should use
  int vector_registers = 16;
  int lane_products = 0;  // registers of which a product takes any lane, of each 128 bits, as one factor
  bool masks = false;     // loads and stores of some lanes touch no memory of the others
  bool fma = false;       // float32 and float64, rounded once
  bool scaling = false;   // full registers of float32 and float64 times 2^n, rounded once, are an instruction
  bool rounding = false;  // floor, ceil, trunc and round are instructions
  bool float16 = false;   // conversions between float16 and float32 are
  std::vector<DotLanes> dots = {};
  std::optional<Tiles> tiles = {};
  std::optional<Device> device = {};
  int dot_lanes(DotProduct) const;  // 0: no such instruction
  int dot_registers(DotProduct) const;
  bool operator==(const Abilities&) const = default;
};

// "llvm -mcpu=native", "llvm -mcpu=znver5 -mattr=-avx512f", "c", "c -mcpu=native", "cuda -arch=sm_90a", "interp". "c"
// is C99 text for the system's compiler and takes the options of llvm. Target::host() is "llvm -mcpu=native"; in a
// build without LLVM "c -mcpu=native", or "interp" where there is no C compiler. A kind alone means the oldest CPU of
// the architecture, as in TVM; "cuda" alone this machine's device, or the oldest where there is none.
struct Target {
  Target();
  TW_DECLARE_VALUE(Target);

  std::string kind;                     // "llvm", "c", "cuda" or "interp"
  std::string triple;                   // "x86_64-pc-linux-gnu"
  std::string cpu;                      // resolved: never "native"
  std::vector<std::string> features;    // resolved, sorted: {"avx2", "avx512f", "fma", ...}
  std::vector<std::string> attributes;  // how the features differ from the CPU's, sorted: {"+fma", "-avx512f"}
  int sve_bits = 0;                     // of SVE's vectors, whose length is the CPU's; 0: code for any length
  std::string arch;                     // of a device, "sm_90a", which then has neither triple nor cpu
  Abilities abilities = {};             // what the features mean
  bool has(std::string_view feature) const;
  int lanes(int element_bits) const { return abilities.vector_bits / element_bits; }
  std::string to_string() const;  // canonical; parse(to_string()) gives the same target on any machine
  bool operator==(const Target&) const = default;

  // What generated code may use and the CPU that we run on does not have: features, a length of vectors; empty: this
  // target's code runs here.
  std::vector<std::string> missing_here() const;

  static Result<Target> parse(std::string_view text);  // kTarget errors name the nearest valid names
  static Target host();
};

// Of the machine we run on: for keys of tuning records and for bounds.
struct HardwareDescription {
  std::string cpu_model;
  int cores = 1;
  int64_t l1_bytes = 32 << 10, l2_bytes = 1 << 20, l3_bytes = 0;
  double hertz = 3e9;  // of a busy core, as far as the system says; not part of to_string, which is a key
  std::string to_string() const;
};
const HardwareDescription& host_hardware();

}  // namespace tw
