#include "rpc/board/description.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "rpc/check/native_target.h"
#include "rpc/wire/rpc_error.h"
#include "src/support/json_text.h"
#include "src/support/release.h"
#include "tensorwright/runtime.h"

namespace tw::rpc {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kHolds = "holds";

}  // namespace

BoardDescription describe_this_board() {
  BoardDescription board;
  board.machine = runtime::this_machine();
  board.machine.name = board.machine.hardware_name();
  board.target = native_target();
  board.cpu = target::host_cpu();
  board.sandbox = runtime::probe_confinement();
  board.page_bytes = sysconf(_SC_PAGESIZE);
  board.memory_mb = static_cast<double>(sysconf(_SC_PHYS_PAGES) * board.page_bytes) / (1 << 20);
  board.release = support::kRelease;
  return board;
}

std::string to_text(const BoardDescription& board) {
  const HardwareDescription& hardware = board.machine.hardware;
  Json json{{"release", board.release},       {"hardware", board.machine.hardware_name()},
            {"model", hardware.cpu_model},    {"cores", hardware.cores},
            {"l1_bytes", hardware.l1_bytes},  {"l2_bytes", hardware.l2_bytes},
            {"l3_bytes", hardware.l3_bytes},  {"hertz", hardware.hertz},
            {"clock", board.machine.clock},   {"threads", board.machine.threads},
            {"target", board.target},         {"triple", board.cpu.triple},
            {"cpu", board.cpu.name},          {"features", board.cpu.features},
            {"sve_bits", board.cpu.sve_bits}, {"memory_mb", board.memory_mb},
            {"page_bytes", board.page_bytes}};
  json["sandbox"] = Json::object();
  for (const runtime::Layer& layer : board.sandbox)
    json["sandbox"][layer.name] = layer.holds() ? kHolds : layer.why_not;
  return support::to_printable_text(json);
}

BoardDescription board_from(std::string_view text) try {
  const Json json = support::parse_json<Json>(text);
  BoardDescription board;
  HardwareDescription& hardware = board.machine.hardware;
  board.release = json.at("release").get<std::string>();
  board.machine.name = json.at("hardware").get<std::string>();
  hardware.cpu_model = json.at("model").get<std::string>();
  hardware.cores = json.at("cores").get<int>();
  hardware.l1_bytes = json.at("l1_bytes").get<int64_t>();
  hardware.l2_bytes = json.at("l2_bytes").get<int64_t>();
  hardware.l3_bytes = json.at("l3_bytes").get<int64_t>();
  hardware.hertz = json.at("hertz").get<double>();
  board.machine.clock = json.at("clock").get<double>();
  board.machine.threads = json.at("threads").get<int>();
  board.target = json.at("target").get<std::string>();
  board.cpu.triple = json.at("triple").get<std::string>();
  board.cpu.name = json.at("cpu").get<std::string>();
  board.cpu.features = json.at("features").get<std::vector<std::string>>();
  board.cpu.sve_bits = json.at("sve_bits").get<int>();
  board.memory_mb = json.at("memory_mb").get<double>();
  board.page_bytes = json.at("page_bytes").get<int64_t>();
  for (const auto& [layer, state] : json.at("sandbox").items()) {
    const auto why = state.get<std::string>();
    board.sandbox.push_back({layer, why == kHolds ? "" : why});
  }
  if (hardware.cores < 1 || board.machine.threads < 1) throw std::runtime_error("it has no cores");
  return board;
} catch (const std::exception& e) {
  throw rpc_error("the description of a board makes no sense: " + std::string(e.what()));
}

}  // namespace tw::rpc
