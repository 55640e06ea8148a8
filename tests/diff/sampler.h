// Random tensor expressions with random legal schedules, for differential tests: the same recipe gives the same sample.
//
// Steps are legal by construction, judged here by the rules of docs/schedule.md and not by asking the schedule; what
// the schedule then refuses is counted, and is a fault of one of the two. Some proposals may be refused (the rule would
// be as long as the primitive): they are counted apart.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tensorwright/schedule.h"
#include "tests/diff/facts.h"

namespace tw::diff {

// What a sample is drawn from, and what minimising it makes smaller.
constexpr int kDevices = 20;

struct Recipe {
  uint64_t seed = 0;
  int stages = 0;                // draw no more than these; 0: as many as the seed says
  std::vector<int64_t> extents;  // and sizes of symbols, instead of those that the seed draws, in their order
  std::set<int> cut;             // these stages become placeholders
  int devices = kDevices;        // percent of the seeds whose schedule is to be one for a device
};

struct Sample {
  Recipe recipe;
  std::vector<te::Tensor> outputs, args;
  std::vector<Facts> facts;                        // of the args
  std::vector<te::ScalarArgument> scalars;         // behind the args
  std::vector<double> values;                      // of the scalars
  std::vector<ir::Var> symbols;                    // in shapes
  std::vector<std::vector<int64_t>> sizes = {{}};  // values of the symbols, run by run
  int stages = 0;                                  // drawn
  std::vector<schedule::Step> steps;
  std::set<std::string> features;     // "split", "tail mask", "dtype float16", "stage stencil", ...: what is counted
  int proposed = 0, refused = 0;      // Steps; refused ones that might be are not a fault
  std::vector<std::string> refusals;  // of Steps that are legal by the rules here
};

// Whether the last axis of a tensor is that of the lanes of its elements; stages_vectors.cc names them so.
bool is_of_vectors(const std::string& tensor);

Sample draw(uint64_t seed, int devices = kDevices);
Sample draw_expression(const Recipe&);  // no Steps; recipe.extents is what was drawn

// The expression and the Steps, for people.
std::string describe(const Sample&);

// The smallest sample that still fails: first fewer Steps, then fewer stages, then smaller extents.
Sample minimise(const Sample&, const std::function<bool(const Sample&)>& fails);

}  // namespace tw::diff
