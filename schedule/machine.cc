// A table of rates by CPU, a line each. What is not in it gets what cores of the last ten years have in common: two
// loads and two vector instructions a cycle, half a line from L2, and memory of two channels.
#include "schedule/machine.h"

namespace tw::schedule {

namespace {

struct Row {
  const char* cpu;
  int vector_bits;  // for targets that use vectors of this width
  bool measured;    // what is certain goes by these alone
  Rates rates;
  int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // of the cores that are built most; 0: of no one in particular
};

constexpr const char* kModels = "those of LLVM's models and of libraries' notes; caches and memory assumed";

// Those of Zen 4 are reads of 16 KiB, 512 KiB, 8 MiB and 1 GiB, by one core that has the machine to itself. All cores
// together have two channels of DDR5 at least.
const Row kRows[] = {
    // Zen 4 works on 512 bits in halves of 256: one such vector a cycle, loaded or computed.
    {"znver4", 512, true, {"measured on a Zen 4", 1, 1, 32, 26, 25e9, 60e9}},
    {"znver4", 256, true, {"measured on a Zen 4", 2, 2, 32, 26, 25e9, 60e9}},
    // Fused multiply-adds of float32 and loads of whole vectors; the other products of vectors are no slower. L2 and
    // memory are what boards and servers with such cores have.
    {"cortex-a53", 128, false, {kModels, 1, 0.5, 8, 8, 3e9, 5e9}, 32 << 10, 512 << 10},
    {"cortex-a55", 128, false, {kModels, 1, 0.5, 16, 8, 5e9, 8e9}, 32 << 10, 128 << 10},
    {"cortex-a72", 128, false, {kModels, 1, 1, 16, 8, 5e9, 6e9}, 32 << 10, 1 << 20},
    {"cortex-a76", 128, false, {kModels, 2, 2, 32, 16, 12e9, 15e9}, 64 << 10, 512 << 10},
    {"neoverse-n1", 128, false, {kModels, 2, 2, 32, 16, 20e9, 150e9}, 64 << 10, 1 << 20},
    {"neoverse-v1", 128, false, {kModels, 4, 3, 64, 16, 30e9, 250e9}, 64 << 10, 1 << 20},
    {"neoverse-v1", 256, false, {kModels, 2, 2, 64, 16, 30e9, 250e9}, 64 << 10, 1 << 20},
};

// Cores that multiply tiles, whatever their name: as measured on a Xeon, whose L3 is behind a mesh.
const Row kTileCores = {"",       512,     false,   {"those of a Xeon with AMX", 2, 2, 36, 4, 12e9, 25e9},
                        48 << 10, 2 << 20, 32 << 20};

struct DeviceRow {
  const char* arch;
  DeviceRates rates;
};

// From NVIDIA's white papers: A100, RTX 3090, Orin, RTX 4090, H100 SXM (also without its own instructions), B200. L2 is
// what others measured of the first and the last but one; for the rest 64 bytes a cycle and processor. Tensor cores
// without sparsity.
const DeviceRow kDeviceRows[] = {
    {"sm_80", {108, 1.41e9, 64, 164 << 10, 2048, 4.0e12, 1.56e12, 1024}},
    {"sm_86", {82, 1.70e9, 128, 100 << 10, 1536, 4.5e12, 0.94e12, 256}},
    {"sm_87", {16, 1.30e9, 128, 164 << 10, 1536, 0.7e12, 0.20e12, 1024}},
    {"sm_89", {128, 2.52e9, 128, 100 << 10, 1536, 5.0e12, 1.01e12, 256}},
    {"sm_90", {132, 1.76e9, 128, 228 << 10, 2048, 5.5e12, 3.35e12, 2048}},
    {"sm_90a", {132, 1.76e9, 128, 228 << 10, 2048, 5.5e12, 3.35e12, 2048}},
    {"sm_100", {148, 1.85e9, 128, 228 << 10, 2048, 10.0e12, 8.0e12, 4096}},
    {"sm_100a", {148, 1.85e9, 128, 228 << 10, 2048, 10.0e12, 8.0e12, 4096}},
};

std::optional<DeviceRates> device_of(const Target& target) {
  for (const DeviceRow& row : kDeviceRows)
    if (target.arch == row.arch) return row.rates;
  return std::nullopt;
}

const Row* row_of(const Target& target) {
  for (const Row& row : kRows)
    if (target.cpu == row.cpu && target.abilities.vector_bits == row.vector_bits) return &row;
  if (target.abilities.tiles && target.abilities.vector_bits == kTileCores.vector_bits) return &kTileCores;
  return nullptr;
}

}  // namespace

Machine describe_machine(const Target& target, const MachineDescription& described) {
  const HardwareDescription& hardware = described.hardware;
  Machine machine{described.threads,
                  target.abilities.vector_bits,
                  target.abilities.vector_registers,
                  target.abilities.lane_products,
                  hardware.l1_bytes,
                  hardware.l2_bytes,
                  hardware.l3_bytes,
                  hardware.hertz};
  if (const Row* row = row_of(target)) {
    machine.rates = row->rates;
    if (row->measured) machine.known = row->rates;
  }
  const auto measured = described.rates.find(machine.vector_bits);
  if (measured != described.rates.end()) machine.rates = measured->second;
  if (machine.rates.clock > 0) machine.hertz = machine.rates.clock;
  machine.device = device_of(target);
  machine.masks = target.abilities.masks;
  return machine;
}

HardwareDescription usual_hardware(const Target& target) {
  HardwareDescription hardware;
  const Row* row = row_of(target);
  if (row && row->l1_bytes > 0) hardware.l1_bytes = row->l1_bytes, hardware.l2_bytes = row->l2_bytes;
  if (row && row->l3_bytes > 0) hardware.l3_bytes = row->l3_bytes;
  return hardware;
}

}  // namespace tw::schedule
