// The table of passes and its runner.

#include "src/lower/pipeline.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "src/ir/contract.h"
#include "src/ir/verify.h"
#include "src/lower/accumulators.h"
#include "src/lower/cooperative.h"
#include "src/lower/clamps.h"
#include "src/lower/copies.h"
#include "src/lower/flatten.h"
#include "src/lower/float8.h"
#include "src/lower/fma.h"
#include "src/lower/halves.h"
#include "src/lower/int4.h"
#include "src/lower/intrinsics.h"
#include "src/lower/lanes.h"
#include "src/lower/launches.h"
#include "src/lower/near.h"
#include "src/lower/partition.h"
#include "src/lower/private_tiles.h"
#include "src/lower/rows.h"
#include "src/lower/share.h"
#include "src/lower/simplify.h"
#include "src/lower/sync_check.h"
#include "src/lower/tails.h"
#include "src/lower/tiles.h"
#include "src/lower/unroll.h"
#include "src/lower/vectorize.h"
#include "src/lower/wide_copies.h"
#include "src/support/deep_stack.h"
#include "src/support/nearest.h"

namespace tw::lower {
namespace {

// A verifying build is slow and checks each launch twice; a tiled product takes half of it.
constexpr int64_t kRowsOfVerifying = 150'000;

bool flag(const char* name) {
  const char* value = std::getenv(name);
  return value && *value && std::string_view(value) != "0";
}

// A name that no pass has would print nothing.
void require_known_dump() {
  const char* value = std::getenv("TW_DUMP");
  const std::string name = value ? value : "";
  if (name.empty() || name == "all" || pass_named(name)) return;
  std::set<std::string> names;
  for (const Passes* passes : {&cpu_passes(), &gpu_passes()})
    for (const Pass& pass : *passes) names.insert(pass.name);
  std::string all;
  for (const std::string& one : names) all += one + ", ";
  const std::string meant = support::did_you_mean(name, {names.begin(), names.end()});
  std::vector<std::string> notes = {"passes: " + all + "or all"};
  if (!meant.empty()) notes.push_back(meant);
  throw Error(Diagnostic(ErrorKind::kArgument,
                         "the environment variable TW_DUMP must be the name of a pass, or all, not '" + name + "'", {},
                         std::move(notes)));
}

bool dumps(std::string_view pass) {
  const char* value = std::getenv("TW_DUMP");
  return value && (std::string_view(value) == "all" || std::string_view(value) == pass);
}

ir::Program run_pass(const Pass& pass, const ir::Program& p, const Target& target) {
  const auto begin = std::chrono::steady_clock::now();
  ir::Program out = pass.function(p, target);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  if (flag("TW_TIME")) std::fprintf(stderr, "%-14s %8.0f us\n", pass.name, took.count());
  if (dumps(pass.name)) std::fprintf(stderr, "# after %s\n%s\n", pass.name, ir::to_string(out).c_str());
  if (ir::verifies()) {
    const Status status = ir::verify(out);
    TW_CHECK(status.ok(), std::string("after the pass ") + pass.name + ": " + status.error().render());
  }
  return out;
}

}  // namespace

const Passes& cpu_passes() {
  static const Passes table = {
      {"rows", rows, "first: fused loops that divide are loops like others for lanes"},
      {"clamps", clamps, "before lanes, which looks for reads of neighbours; partition finds where they have no limit"},
      {"lanes", lanes, "before tails: what it splits is left over for tails, and its tiles are accumulators'"},
      {"tails", tails, "predicates become peeled loops or exact extents while loops are still scalar"},
      {"partition", partition,
       "padding conditions leave the loops where they can be proved; after tails, which has first call on copies"},
      {"private_tiles", private_tiles,
       "after partition, whose guards it does not copy; what fits registers is left to accumulators"},
      {"accumulators", accumulators,
       "reduction tiles become private while their loops still show; masks are formed after it"},
      {"share", share, "before the first pass that copies expressions path by path, which vectorize is"},
      {"vectorize", vectorize, "while subscripts still show the dimensions that lanes run along"},
      {"wide_copies", wide_copies, "after vectorize, which shows what is an element for all lanes; before halves"},
      {"fma", fma, "before the expansions of `halves` and `intrinsics`, which choose themselves what is fused"},
      {"float8", float8, "8-bit floats are converted by way of float32; before halves, to which it leaves float32"},
      {"halves", halves, "16-bit floats are computed in float32; before intrinsics, which knows no others"},
      {"intrinsics", intrinsics,
       "after vectorize, so that a function is expanded once per vector; before unroll copies it"},
      {"unroll", unroll, "after vectorize: what is repeated is vectors"},
      {"flatten", flatten, "after unroll: subscripts of register tiles are constants and stay so"},
      {"int4", int4, "after flatten: the byte of an element follows from its place in the buffer"},
      {"tiles", tiles,
       "after flatten: rows of a tile lie at a base and a stride; after halves, whose dot products it uses"},
      {"simplify", simplify, "last and once, over everything that the passes above have left"},
  };
  return table;
}

const Passes& gpu_passes() {
  static const Passes table = {
      {"tails", tails,
       "conditions leave loops in which nobody waits, or become their extents; indices of a device keep theirs"},
      {"partition", partition, "padding conditions leave the loops where they can be proved; after tails, as on a CPU"},
      {"cooperative", cooperative, "conditions are settled, and its vectors are to be vectorize's"},
      {"copies", copies,
       "after cooperative, which says what a thread copies at once; before accumulators, while iterations are whole"},
      {"accumulators", accumulators, "a thread's sums become its own while their loops still show"},
      {"share", share, "before the first pass that copies expressions path by path, which vectorize is"},
      {"near", near, "after share, whose names it leaves alone; before vectorize, while lanes are iterations"},
      {"vectorize", vectorize, "while subscripts still show the dimensions that lanes run along"},
      {"fma", fma, "before the expansions of `halves` and `intrinsics`, which choose themselves what is fused"},
      {"float8", float8, "8-bit floats are converted by way of float32; before halves, to which it leaves float32"},
      {"halves", halves, "16-bit floats are computed in float32; before intrinsics, which knows no others"},
      {"intrinsics", intrinsics,
       "after vectorize, so that a function is expanded once per vector; before unroll copies it"},
      {"unroll", unroll, "after vectorize: what is repeated is vectors, and waits that all threads come to"},
      {"flatten", flatten, "after unroll: subscripts of register tiles are constants and stay so"},
      {"int4", int4, "after flatten: the byte of an element follows from its place in the buffer"},
      {"simplify", simplify, "last and once, over everything that the passes above have left"},
  };
  return table;
}

const Passes& passes_for(const ir::Program& program, const Passes& of_host) {
  return holds_launch(program) ? gpu_passes() : of_host;
}

const Pass* pass_named(std::string_view name) {
  for (const Passes* passes : {&cpu_passes(), &gpu_passes()})
    for (const Pass& pass : *passes)
      if (pass.name == name) return &pass;
  return nullptr;
}

ir::Program run_pipeline(const Passes& passes, const ir::Program& program, const Target& target, std::string_view until,
                         PlainLoops plain) {
  return support::with_deep_stack([&] {
    require_known_dump();
    ir::Program p = program;
    for (const Pass& pass : passes) {
      if (plain == PlainLoops::kStay && (pass.function == rows || pass.function == lanes)) continue;
      p = run_pass(pass, p, target);
      if (pass.name == until) return p;
    }
    if (ir::verifies() && ir::check_contract(program, ir::ProgramForm::kLowered).ok()) {
      const Status kept = ir::check_contract(p, ir::ProgramForm::kLowered);
      TW_CHECK(kept.ok(), "lowering: " + kept.error().render());
    }
    if (ir::verifies() && sync_check(program, kRowsOfVerifying).empty()) {
      for (const SyncFinding& finding : sync_check(p, kRowsOfVerifying))  // what is only not seen may be right
        TW_CHECK(!finding.certain && finding.kind != SyncFinding::Kind::kDivergentBarrier &&
                     finding.kind != SyncFinding::Kind::kDivergentProduct,
                 "lowering: " + to_string(finding));
    }
    return p;
  });
}

}  // namespace tw::lower
