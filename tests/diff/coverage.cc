#include "tests/diff/coverage.h"

#include <cstdio>
#include <utility>

#include "schedule/loop_nest.h"
#include "tests/diff/automatic.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

namespace {

template <size_t... I>
std::vector<std::string> step_names(std::index_sequence<I...>) {
  return {std::variant_alternative_t<I, schedule::StepKind>::kName...};
}

int64_t met(const Tally& tally, const std::string& name) {
  const auto found = tally.features.find(name);
  return found == tally.features.end() ? 0 : found->second;
}

int64_t wanted(const Tally& tally) { return tally.pairs * 200 / 100'000; }

std::vector<std::string> prefixed(const std::string& prefix, std::vector<std::string> names) {
  for (std::string& name : names) name = prefix + name;
  return names;
}

}  // namespace

void Tally::add(const Sample& sample) {
  ++pairs;
  proposed += sample.proposed;
  refused += sample.refused;
  for (const std::string& feature : sample.features) ++features[feature];
}

void Tally::add(const Tally& other) {
  pairs += other.pairs;
  proposed += other.proposed;
  refused += other.refused;
  for (const auto& [feature, count] : other.features) features[feature] += count;
  for (const auto& [oracle, usage] : other.oracles) {
    oracles[oracle].count += usage.count;
    oracles[oracle].seconds += usage.seconds;
  }
}

std::vector<std::pair<std::string, std::vector<std::string>>> expected_coverage() {
  std::vector<std::string> steps = step_names(std::make_index_sequence<std::variant_size_v<schedule::StepKind>>{});
  std::vector<std::string> kinds;
  for (const StageKind& kind : stage_kinds()) kinds.push_back(kind.name);
  return {
      {"Steps", std::move(steps)},
      {"tails", prefixed("tail ", {"guard", "mask", "peel", "shift_inward", "pad", "auto"})},
      {"dtypes",
       prefixed("dtype ", {"bool", "int4", "uint4", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                           "uint64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"})},
      {"stage kinds", prefixed("stage ", kinds)},
      {"layouts", {"pad_value", "packed parameter"}},
      {"groups, intrinsics, relayouts",
       {"group", "intrinsic that adds", "intrinsic with a body", "intrinsic with elem_offset", "intrinsic of tiles",
        "intrinsic of lower tiles", "intrinsic of tiles of fewer terms", "tail of an intrinsic",
        "cache_write of changed loops", "cache_read of other axes", "terms past the end"}},
      {"rules of automatic spaces", automatic_features()},
      {"extents, arguments, reductions",
       {"uneven", "parts that read one element", "extent 0", "extent 1", "symbolic extents", "symbolic tail",
        "symbolic factor", "factor that sizes must allow", "scalar argument", "init=", "where=", "triangle",
        "identities", "reduction from 2 on", "state two times back", "state of a neighbour",
        "state where the time says", "states at all times before", "sum across lanes"}},
      {"devices",
       {"launch", "sum across threads", "virtual threads", "product of a warp", "product of a warp past the end",
        "product of four warps", "operands by tma", "memory of a warp", "sum in a warp"}},
  };
}

std::vector<std::string> rarely_met(const Tally& tally, const Judges& judges) {
  // Of a few products of four warps, which are few themselves.
  const auto may_be_rare = [](const std::string& name) {
    return name == schedule::Roles::kName || name == schedule::Cluster::kName;
  };
  std::vector<std::string> rare;
  for (const auto& [group, names] : expected_coverage())
    for (const std::string& name : names)
      if (met(tally, name) < wanted(tally) && !may_be_rare(name)) rare.push_back(name);
  for (const std::string& name : oracle_names(judges)) {
    const auto found = tally.oracles.find(name);
    if (found == tally.oracles.end() || found->second.count < wanted(tally)) rare.push_back(name);
  }
  return rare;
}

std::string coverage_table(const Tally& tally, const Judges& judges) {
  std::string text;
  char line[200];
  for (const auto& [group, names] : expected_coverage()) {
    text += group + "\n";
    int column = 0;
    for (const std::string& name : names) {
      const int64_t count = met(tally, name);
      std::snprintf(line, sizeof line, "  %-24s %8lld%s", name.c_str(), static_cast<long long>(count),
                    count < wanted(tally) ? "!" : " ");
      text += line;
      if (++column % 3 == 0) text += "\n";
    }
    if (column % 3) text += "\n";
  }
  text += "oracles, with CPU milliseconds a sample\n";
  std::vector<std::string> names = oracle_names(judges);
  names.insert(names.begin(), kDrawing);
  for (const std::string& name : names) {
    const auto found = tally.oracles.find(name);
    const Usage usage = found == tally.oracles.end() ? Usage{} : found->second;
    std::snprintf(line, sizeof line, "  %-24s %8lld %8.2f\n", name.c_str(), static_cast<long long>(usage.count),
                  usage.count ? 1e3 * usage.seconds / static_cast<double>(usage.count) : 0.0);
    text += line;
  }
  if (const auto left_out = tally.oracles.find(kLeftOut); left_out != tally.oracles.end())
    text += "left out, as they take too long: " + std::to_string(left_out->second.count) + " sizes\n";
  std::snprintf(
      line, sizeof line, "%lld Steps proposed, %.1f %% of them refused\n", static_cast<long long>(tally.proposed),
      tally.proposed ? 100.0 * static_cast<double>(tally.refused) / static_cast<double>(tally.proposed) : 0.0);
  return text + line;
}

}  // namespace tw::diff
