#include "tests/diff/sampler.h"

#include <sstream>

#include "tests/diff/random.h"
#include "tests/diff/sample_steps.h"
#include "tests/diff/sample_te.h"

namespace tw::diff {

Sample draw_expression(const Recipe& recipe) { return Maker(recipe).run(); }

Sample draw(uint64_t seed, int devices) {
  Sample sample = draw_expression({seed, 0, {}, {}, devices});
  Random random(seed ^ 0x57E95);
  random_steps(random, sample);
  return sample;
}

std::string describe(const Sample& sample) {
  std::ostringstream text;
  text << "seed " << sample.recipe.seed << "\n"
       << ir::to_string(te::naive_program(sample.outputs, sample.args, "naive", sample.scalars)) << "\n";
  for (const schedule::Step& step : sample.steps) text << schedule::to_string(step) << "\n";
  text << schedule::to_json(sample.steps) << "\n";
  return text.str();
}

}  // namespace tw::diff
