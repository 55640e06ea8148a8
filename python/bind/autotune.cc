// Tuning in Python: the tuner runs on a thread of its own, while the caller's thread waits for it and for Ctrl-C.
#include "tensorwright/autotune.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "autotune/log/autotvm.h"
#include "autotune/log/history.h"
#include "autotune/log/stock.h"
#include "autotune/measure/here.h"
#include "autotune/model/features.h"
#include "autotune/model/roofline.h"
#include "autotune/report/progress.h"
#include "autotune/space/knobs.h"
#include "autotune/space/trace.h"
#include "autotune/time_ranges.h"
#include "python/bind/bind.h"
#include "python/bind/function.h"
#include "python/bind/runners.h"
#include "schedule/loop_nest.h"
#include "schedule/tails.h"

namespace py = pybind11;

namespace tw::bind {
namespace {

using namespace tw::autotune;

using Scheduled2 = std::pair<schedule::Schedule, std::vector<te::Tensor>>;

std::vector<ir::Tail> tails_of(const std::vector<std::string>& names) {
  std::vector<ir::Tail> tails;
  for (const std::string& name : names) {
    const auto tail = schedule::tail_named(name);
    if (!tail) tune_error("define_split: tails must be of auto, guard, mask, peel, pad, shift_inward, not " + name);
    tails.push_back(*tail);
  }
  return tails;
}

void bind_config(py::module_& m) {
  py::class_<Config, std::shared_ptr<Config>>(m, "TuneConfig")
      .def("define_split",
           [](Config& c, const std::string& name, int64_t extent, int outputs, int policy, int64_t max_factor,
              std::function<bool(std::vector<int64_t>)> filter, const std::vector<std::string>& tails,
              std::vector<std::vector<int64_t>> candidates, const std::string& axis) {
             c.define_split(name, extent,
                            {.outputs = outputs,
                             .policy = static_cast<SplitPolicy>(policy),
                             .max_factor = max_factor,
                             .filter = std::move(filter),
                             .tails = tails_of(tails),
                             .candidates = std::move(candidates)},
                            axis);
           })
      .def("define_knob", &Config::define_knob_json)
      .def("define_reorder", &Config::define_reorder)
      .def("define_annotate", &Config::define_annotate)
      .def("kind", [](const Config& c, const std::string& name) { return std::string(name_of(c.knob(name).kind)); })
      .def("numbers", [](const Config& c, const std::string& name) { return c.chosen(name).numbers; })
      .def("tail", [](const Config& c, const std::string& name) { return schedule::to_string(c.chosen(name).tail); })
      .def("value_json", &Config::value_json)
      .def("multi_filter", &Config::multi_filter)
      .def("choose_split",
           [](Config& c, const std::string& name, std::vector<int64_t> numbers) {
             KnobValue value;
             value.numbers = std::move(numbers);
             c.choose(name, std::move(value));
           })
      .def("mark_read", &Config::mark_read)
      .def("mark_opaque", &Config::mark_opaque)
      .def("mark_steps", &Config::mark_steps)
      .def("names", [](const Config& c) {
        std::vector<std::string> names;
        for (const Knob& knob : c.knobs()) names.push_back(knob.name);
        return names;
      });
}

// Errors of primitives inside a template are the candidate's: the core decides what they mean. Others pass through.
[[noreturn]] void rethrow(py::error_already_set& raised) {
  const py::object schedule_error = py::module_::import("tensorwright.errors").attr("ScheduleError");
  if (!raised.matches(schedule_error)) throw;
  Diagnostic d{ErrorKind::kSchedule, py::str(raised.value()), {}, {}};
  const py::object e = raised.value();
  if (py::hasattr(e, "what") && py::hasattr(e, "file") && py::hasattr(e, "line")) {
    d.what = py::str(e.attr("what"));
    if (py::isinstance<py::str>(e.attr("file")) && py::isinstance<py::int_>(e.attr("line"))) {
      d.where = SourceLine(py::cast<std::string>(e.attr("file")), py::cast<int>(e.attr("line")));
    }
    for (py::handle note : e.attr("notes")) d.notes.push_back(py::str(note));
  }
  throw Error(std::move(d));
}

Template python_template(py::object function) {
  // The last reference may go on any thread.
  const std::shared_ptr<py::object> held(new py::object(std::move(function)), [](py::object* f) {
    const py::gil_scoped_acquire gil;
    delete f;
  });
  return [held](Config& config) {
    const py::gil_scoped_acquire gil;
    const auto shown = std::make_shared<Config>(config);  // the function may keep it
    try {
      const py::tuple result = (*held)(py::cast(shown));
      config = *shown;
      return Scheduled{py::cast<schedule::Schedule>(result[0]), py::cast<std::vector<te::Tensor>>(result[1])};
    } catch (py::error_already_set& raised) {
      rethrow(raised);
    }
  };
}

Scheduled2 pair_of(Result<Scheduled> s) {
  Scheduled value = std::move(s).value_or_throw();
  return {std::move(value.schedule), std::move(value.args)};
}

// The fastest record of several logs; a log without one is no error as long as another has one.
Scheduled2 replay_best(const Task& task, const std::vector<std::string>& logs) {
  std::optional<Trial> fastest;
  std::optional<Error> missing;
  const std::optional<MachineDescription> machine = preferred_machine(task.target());
  for (const std::string& log : logs) {
    try {
      Trial trial = best(task, log, machine);
      if (!fastest || trial.seconds < fastest->seconds) fastest = std::move(trial);
    } catch (const Error& e) {
      if (e.kind() != ErrorKind::kNoRecord) throw;
      missing = e;
    }
  }
  if (!fastest) throw *missing;
  return pair_of(task.replay(*fastest));
}

// The Steps with numbers where they referred to knobs.
schedule::Schedule plain(const schedule::Schedule& s) {
  return schedule::Schedule::from_steps(s.outputs(), resolved(s.steps())).value_or_throw();
}

// One that is named where nothing else of it is known.
MachineDescription named_machine(const std::string& hardware, const std::optional<int>& threads) {
  MachineDescription machine = runtime::this_machine();
  machine.name = hardware;
  if (threads) machine.threads = *threads;
  return machine;
}

// A machine travels between processes without its rates, which who measures there brings along.
py::tuple state_of(const MachineDescription& m) {
  const HardwareDescription& h = m.hardware;
  return py::make_tuple(h.cpu_model, h.cores, h.l1_bytes, h.l2_bytes, h.l3_bytes, h.hertz, m.threads, m.clock, m.name);
}

MachineDescription machine_of(const py::tuple& state) {
  return {.hardware = {state[0].cast<std::string>(), state[1].cast<int>(), state[2].cast<int64_t>(),
                       state[3].cast<int64_t>(), state[4].cast<int64_t>(), state[5].cast<double>()},
          .threads = state[6].cast<int>(),
          .clock = state[7].cast<double>(),
          .rates = {},
          .name = state[8].cast<std::string>()};
}

void bind_machine(py::module_& m) {
  py::class_<MachineDescription>(m, "Machine")
      .def(py::init(&named_machine), py::arg("hardware") = "", py::arg("threads") = py::none())
      .def_property_readonly("hardware", &MachineDescription::hardware_name)
      .def_readonly("threads", &MachineDescription::threads)
      .def(py::pickle(&state_of, &machine_of));
}

void bind_task(py::module_& m) {
  const auto unlocked = py::call_guard<py::gil_scoped_release>();
  py::class_<Task>(m, "TuneTask")
      .def(py::init([](const std::string& name, const std::string& args, py::object function, const Target& target) {
        Template run = python_template(std::move(function));
        const py::gil_scoped_release release;
        return Task(name, args, std::move(run), target);
      }))
      .def(py::init([](std::vector<te::Tensor> args, const Target& target, std::string name) {
             return Task(std::move(args), target, std::move(name));
           }),
           unlocked)
      .def_static("at_size", &Task::at_size, unlocked)
      .def_static("stock", &stock_task, unlocked)
      .def("name", &Task::name)
      .def("args", &Task::args)
      .def("space_size", [](const Task& t) { return t.space().size(); })
      .def("space_text", [](const Task& t) { return to_string(t.space()); })
      .def("describe", [](const Task& t, uint64_t i) { return t.space().describe(i); })
      .def("find",
           [](const Task& t, const std::string& knobs) { return t.space().find(knobs_in(t, knobs)).value_or_throw(); })
      .def(
          "is_legal", [](const Task& t, uint64_t i) { return t.candidate(i).ok(); }, unlocked)
      .def("config", [](const Task& t, uint64_t i) { return Config(t.space(), t.space().digits(i)); })
      .def(
          "steps", [](const Task& t, uint64_t i) { return schedule::to_json(t.steps(i).value_or_throw()); }, unlocked)
      .def(
          "candidate", [](const Task& t, uint64_t i) { return pair_of(t.candidate(i)); }, unlocked)
      .def("replay_best", &replay_best, unlocked)
      .def(
          "replay", [](const Task& t, const Trial& trial) { return pair_of(t.replay(trial)); }, unlocked)
      .def(
          "built", [](const Task& t, const Trial& trial) { return pair_of(t.built(t.replay(trial).value_or_throw())); },
          unlocked)
      .def(
          "features",
          [](const Task& t, uint64_t i) {
            return nest_features(t.candidate(i).value_or_throw().schedule,
                                 schedule::describe_machine(t.target(), runtime::this_machine()));
          },
          unlocked)
      .def("kernel_name", &kernel_name)
      .def("branching", &Task::branching)
      .def("hash", &Task::hash)
      .def("arithmetic", [](const Task& t) { return arithmetic_of(t.outputs()); })
      .def("build", [](const Task& t, const std::string& log, const std::string& name,
                       const std::optional<MachineDescription>& machine) {
        const auto module = [&] {
          const py::gil_scoped_release release;
          return build(t, log, name, machine ? machine : preferred_machine(t.target()));
        }();
        return py::cast(make_function(module));
      });
}

void bind_tuning_results(py::module_& m) {
  py::class_<Trial>(m, "TuneTrial")
      .def_readonly("index", &Trial::index)
      .def_readonly("knobs", &Trial::knobs)
      .def_property_readonly("steps", [](const Trial& t) { return schedule::to_json(t.steps); })
      .def_readonly("status", &Trial::status)
      .def_readonly("seconds", &Trial::seconds)
      .def_readonly("spread", &Trial::spread)
      .def_readonly("runs", &Trial::runs)
      .def_readonly("detail", &Trial::detail)
      .def_property_readonly("ok", &Trial::ok);
  py::class_<TuneResult>(m, "TuneResult")
      .def_readonly("best", &TuneResult::best)
      .def_readonly("trials", &TuneResult::trials)
      .def_readonly("failures", &TuneResult::failures)
      .def_readonly("curve", &TuneResult::curve)
      .def_readonly("measured", &TuneResult::measured)
      .def_readonly("pruned", &TuneResult::pruned)
      .def_readonly("alike", &TuneResult::alike)
      .def_readonly("elapsed_s", &TuneResult::elapsed_s)
      .def_readonly("note", &TuneResult::note);
  py::class_<TuneOptions>(m, "TuneOptions")
      .def(py::init<>())
      .def_readwrite("trials", &TuneOptions::trials)
      .def_readwrite("log", &TuneOptions::log)
      .def_readwrite("seed", &TuneOptions::seed)
      .def_readwrite("search", &TuneOptions::search)
      .def_readwrite("model", &TuneOptions::model)
      .def_readwrite("early_stop", &TuneOptions::early_stop)
      .def_readwrite("timeout_s", &TuneOptions::timeout_s)
      .def_readwrite("number", &TuneOptions::number)
      .def_readwrite("repeat", &TuneOptions::repeat)
      .def_readwrite("stop_without_gain", &TuneOptions::stop_without_gain)
      .def_readwrite("model_file", &TuneOptions::model_file)
      .def_readwrite("transfer", &TuneOptions::transfer)
      .def_readwrite("range", &TuneOptions::range)
      .def_readwrite("batch", &TuneOptions::batch)
      .def_readwrite("confirm", &TuneOptions::confirm);
}

// Runs `work` on another thread while this one looks for signals every few milliseconds. When the handler of one
// raises, as Ctrl-C's does, `stop` is set and the work finishes as soon as it can; then what it raised is.
template <class F>
void interruptible(std::atomic<bool>& stop, F work) {
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::exception_ptr thrown;
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    finished = true;
    done.notify_one();
  });
  std::optional<py::error_already_set> raised;
  for (bool waiting = true; waiting;) {
    {
      const py::gil_scoped_release release;
      std::unique_lock lock(mutex);
      waiting = !done.wait_for(lock, std::chrono::milliseconds(20), [&] { return finished; });
    }
    if (waiting && !raised && PyErr_CheckSignals() != 0) {
      raised.emplace();
      stop = true;
    }
  }
  {
    const py::gil_scoped_release release;
    worker.join();
  }
  if (raised) throw py::error_already_set(*raised);
  if (thrown) std::rethrow_exception(thrown);
}

// What the tuner tells while it works, to functions of Python.
void call_back(TuneOptions& options, const py::object& on_trial, const py::object& on_batch) {
  if (!on_trial.is_none()) {
    options.on_trial = [on_trial = py::handle(on_trial)](const Progress& p) {
      const py::gil_scoped_acquire gil;
      const std::string failures = failures_text(p);
      on_trial(p.trials, best_text(p),
               p.boards.empty() || failures.empty() ? failures + p.boards : failures + ", " + p.boards);
    };
  }
  if (!on_batch.is_none()) {
    options.on_batch = [on_batch = py::handle(on_batch)](const std::vector<Trial>& batch) {
      const py::gil_scoped_acquire gil;
      on_batch(batch);
    };
  }
}

void build_by(TuneOptions& options, const py::object& build) {
  if (build.is_none()) return;
  options.build = [build = py::handle(build)](uint64_t index, const std::string& path) {
    const py::gil_scoped_acquire gil;
    return build(index, path).cast<std::string>();
  };
}

// By the Runner, where there is one: else by this machine.
TuneResult python_tune(const Task& task, TuneOptions options, const py::object& on_trial, const py::object& on_batch,
                       const py::object& build, const std::shared_ptr<runtime::Runner>& runner) {
  std::atomic<bool> stop = false;
  options.should_stop = [&] { return stop.load(); };
  call_back(options, on_trial, on_batch);
  build_by(options, build);
  TuneResult result;
  interruptible(stop, [&] { result = runner ? tune(task, options, *runner) : tune(task, options); });
  return result;
}

std::vector<TuneResult> tune_many(const std::vector<Task>& tasks, const std::vector<double>& weights,
                                  TuneOptions options, const py::object& on_trial,
                                  const std::shared_ptr<runtime::Runner>& runner) {
  std::atomic<bool> stop = false;
  options.should_stop = [&] { return stop.load(); };
  call_back(options, on_trial, py::none());
  const TaskScheduler scheduler(tasks, weights);
  std::vector<TuneResult> results;
  interruptible(stop, [&] { results = runner ? scheduler.tune(options, *runner) : scheduler.tune(options); });
  return results;
}

// Of sizes in ascending order, with the tuning of each.
std::vector<Trial> python_time_ranges(const std::vector<te::Tensor>& args, const ir::Var& size,
                                      const std::vector<std::pair<ir::Var, int64_t>>& others,
                                      const std::vector<std::tuple<int64_t, Task, TuneResult>>& tuned,
                                      TuneOptions options, const std::shared_ptr<runtime::Runner>& runner) {
  std::atomic<bool> stop = false;
  options.should_stop = [&] { return stop.load(); };
  std::vector<TunedSize> sizes;
  for (const auto& [value, task, result] : tuned) sizes.push_back({value, task, result});
  std::vector<Trial> best;
  interruptible(stop, [&] { best = time_ranges(args, size, others, sizes, options, runner.get()); });
  return best;
}

}  // namespace
}  // namespace tw::bind

void bind_autotune(py::module_& m) {
  using namespace tw::bind;
  bind_config(m);
  bind_machine(m);
  bind_runners(m);
  bind_task(m);
  bind_tuning_results(m);
  m.def("tune", &python_tune);
  m.def("tune_many", &tune_many);
  m.def("time_ranges", &python_time_ranges);
  m.def("_plain", &plain);
}
