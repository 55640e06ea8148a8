#include "tests/diff/script.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "schedule/to_python.h"
#include "src/support/json_text.h"
#include "tests/diff/intrins.h"
#include "tests/diff/te_python.h"

namespace tw::diff {

namespace {

using nlohmann::json;

constexpr const char* kMark = "# tw-fuzz ";

// The same numbers as values.cc draws.
constexpr const char* kPythonData = R"(
def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)


def data(shape, dtype, position, bound, grid):
    """The inputs of the sample: multiples of `grid` up to `bound`."""
    state, values = mix((SEED * 64 + position) & (2**64 - 1)), []
    steps = int(bound / grid)
    for _ in range(int(np.prod(shape, dtype=int))):
        state = (state + 0x9E3779B97F4A7C15) & (2**64 - 1)
        if dtype == "bool":
            values.append(mix(state) % 2)
        elif dtype.startswith("uint"):
            values.append(mix(state) % (steps + 1))
        else:
            values.append((mix(state) % (2 * steps + 1) - steps) * grid)
    if dtype in ("int4", "uint4"):
        low = -8 if dtype == "int4" else 0
        return tw.pack_int4((np.array(values, "int64").reshape(shape) - low) % 16 + low, dtype)
    return np.array(values).reshape(shape).astype(numpy_dtype(dtype))


def zeros(shape, dtype):
    if dtype in ("int4", "uint4"):
        return tw.pack_int4(np.zeros(shape, "int8"), dtype)
    return np.zeros(shape, numpy_dtype(dtype))

)";

constexpr const char* kPythonRun = R"(

def run(schedule, target, sizes):
    arrays = inputs(*sizes)
    f = tw.build(schedule, args, target=target)
    try:
        f(*[f.pack(t.name, a) if t.name in f.packed_params else a for t, a in zip(args, arrays)], *scalars)
    except tw.ArgumentError as error:
        if "requires " not in str(error):
            raise
        return None
    return [np.asarray(array) for array in arrays]


print(tw.lower(s, args))
wrong = False
for values in sizes:
    expected = run(te.create_schedule(outputs), "interp", values)
    for target in targets:
        found = run(s, target, values)
        if expected is None or found is None:
            print(f"{target}, sizes {values}: refused by what the schedule or the expression requires")
            continue
        for tensor, a, b, error in zip(args, expected, found, errors):
            apart = ~((a == b) | (a != a) & (b != b))
            if error > 0:
                apart &= ~(np.abs(a.astype("float64") - b.astype("float64")) <= error)
            if apart.any():
                at = tuple(int(i) for i in np.argwhere(apart)[0])
                print(f"{target}, sizes {values}: {tensor.name}{list(at)} is {b[at]}, not {a[at]}")
                wrong = True
sys.exit(wrong)
)";

std::string commented(const std::string& text) {
  std::istringstream lines(text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += "# " + line + "\n";
  return all;
}

std::string names(const std::vector<te::Tensor>& tensors, const std::vector<te::ScalarArgument>& scalars = {}) {
  std::string text;
  for (const te::Tensor& t : tensors) text += (text.empty() ? "" : ", ") + python_name(t.name());
  for (const te::ScalarArgument& scalar : scalars) text += ", " + scalar.var.name();
  return "[" + text + "]";
}

std::string python_json(const std::string& text) {  // null, true and false outside of strings
  std::string out;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"' && (i == 0 || text[i - 1] != '\\')) quoted = !quoted;
    const auto word = [&](std::string_view w) { return !quoted && text.compare(i, w.size(), w) == 0; };
    if (word("null")) {
      out += "None";
      i += 3;
    } else if (word("true")) {
      out += "True";
      i += 3;
    } else if (word("false")) {
      out += "False";
      i += 4;
    } else {
      out += text[i];
    }
  }
  return out;
}

// As a person would write it; Steps that are refused stand as they are.
std::string schedule_text(const Sample& sample) {
  if (const auto s = schedule::Schedule::from_steps(sample.outputs, sample.steps); s.ok())
    return schedule::to_python(*s);
  std::string text = "s = tw.Schedule.from_steps(outputs, [\n";
  for (const schedule::Step& step : sample.steps) {
    const std::string one = schedule::to_json({step});
    text += "    " + python_json(one.substr(1, one.size() - 2)) + ",  # " + schedule::to_string(step) + "\n";
  }
  return text + "])\n";
}

template <class T>
std::string list(const std::vector<T>& values) {
  std::ostringstream text;
  for (size_t i = 0; i < values.size(); ++i) text << (i ? ", " : "") << values[i];
  return text.str();
}

// def inputs(n, m): one array for each argument. Names of symbols are numbers there.
std::string arguments(const Sample& sample) {
  std::ostringstream text;
  std::string parameters, sizes;
  for (const ir::Var& symbol : sample.symbols) parameters += (parameters.empty() ? "" : ", ") + symbol.name();
  for (const std::vector<int64_t>& values : sample.sizes)
    sizes += (sizes.empty() ? "(" : ", (") + list(values) + (values.size() == 1 ? ",)" : ")");
  text << "sizes = [" << sizes << "]  # of " << (parameters.empty() ? "nothing" : parameters) << "\nscalars = ["
       << list(sample.values) << "]\nerrors = [";
  for (size_t i = 0; i < sample.facts.size(); ++i) text << (i ? ", " : "") << sample.facts[i].error;
  text << "]\n\n\ndef inputs(" << parameters << "):\n    return [\n";
  for (size_t i = 0; i < sample.args.size(); ++i) {
    const te::Tensor& t = sample.args[i];
    std::string shape;
    for (const ir::Expr& e : t.shape())
      shape += (shape.empty() ? "" : ", ") + python_text(e) + (t.rank() == 1 ? "," : "");
    if (t.op()->is_placeholder())
      text << "        data((" << shape << "), \"" << to_string(t.dtype()) << "\", " << i << ", "
           << sample.facts[i].bound << ", " << (sample.facts[i].grid > 0 ? sample.facts[i].grid : 1) << "),\n";
    else
      text << "        zeros((" << shape << "), \"" << to_string(t.dtype()) << "\"),\n";
  }
  text << "    ]\n\n\n";
  return text.str();
}

// Launches run in the interpreter only.
std::string targets(const Sample& sample) {
  const auto binds = [](const schedule::Step& step) { return std::holds_alternative<schedule::Bind>(step.kind); };
  const bool device = std::any_of(sample.steps.begin(), sample.steps.end(), binds);
  return std::string("targets = [\"interp\"") + (device ? "]\n" : ", tw.Target.host()]\n");
}

json recipe_json(const Sample& sample) {
  return {{"seed", sample.recipe.seed},       {"stages", sample.recipe.stages},
          {"extents", sample.recipe.extents}, {"cut", sample.recipe.cut},
          {"devices", sample.recipe.devices}, {"steps", support::parse_json<json>(schedule::to_json(sample.steps))}};
}

}  // namespace

std::vector<ir::Var> variables(const Sample& sample) {
  std::vector<ir::Var> all = sample.symbols;
  for (const te::ScalarArgument& scalar : sample.scalars) all.push_back(scalar.var);
  return all;
}

std::string python_script(const Sample& sample, const Finding& finding) {
  std::ostringstream text;
  text << "# " << finding.oracle << "\n"
       << commented(finding.text) << "import sys\n\nimport ml_dtypes\nimport numpy as np\n\nimport tensorwright as tw\n"
       << "from tensorwright import te\n\nSEED = " << sample.recipe.seed << "\n\n"
       << kPythonData << "\n"
       << te_python(sample.outputs, variables(sample)) << "\noutputs = " << names(sample.outputs)
       << "\nargs = " << names(sample.args, sample.scalars) << "\n"
       << arguments(sample) << "\n";
  text << python_intrins(sample.steps) << schedule_text(sample) << targets(sample) << kPythonRun << "\n"
       << kMark << support::to_text(recipe_json(sample)) << "\n";
  return text.str();
}

std::string write_script(const std::string& folder, uint64_t seed, const std::string& script) {
  std::filesystem::create_directories(folder);
  const std::string path = (std::filesystem::path(folder) / ("seed-" + std::to_string(seed) + ".py")).string();
  std::ofstream(path) << script;
  return path;
}

Result<Sample> read_script(const std::string& path) {
  std::ifstream in(path);
  std::stringstream all;
  all << in.rdbuf();
  const std::string text = all.str();
  const size_t mark = text.rfind(kMark);
  const auto refuse = [&](const std::string& why) {
    return Diagnostic{ErrorKind::kParse, "replay: " + path + " " + why, {}, {}};
  };
  if (!in || mark == std::string::npos) return refuse("has no line that begins with \"" + std::string(kMark) + "\"");
  const json saved = support::read_json<json>(text.substr(mark + std::string_view(kMark).size()));
  if (!saved.is_object() || !saved.contains("steps")) return refuse("has a recipe that cannot be read");
  Sample sample;
  try {
    sample = draw_expression(
        {saved.at("seed"), saved.at("stages"), saved.at("extents"), saved.at("cut"), saved.at("devices")});
  } catch (const json::exception&) {
    return refuse("has a recipe that cannot be read");
  }
  if (text.find(te_python(sample.outputs, variables(sample))) == std::string::npos)
    return refuse(
        "was made by another version of the fuzzer: the recipe now gives another expression. Run it with Python");
  own_intrins();  // its Steps may name one
  TW_TRY(sample.steps, schedule::steps_from_json(support::to_text(saved["steps"])));
  return sample;
}

}  // namespace tw::diff
