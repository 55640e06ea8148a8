"""Measuring on the workers of a Ray cluster. Ray places them, reserves what they need and starts them again; here they are only asked."""

from __future__ import annotations

import threading
import time

from .. import _core
from .._checks import positive
from ..errors import ArgumentError, TuneError
from .machine import Machine
from .measuring import Runner

__all__ = ["RayRunner"]

CARRIED = 100_000  # bytes; larger blobs go into Ray's object store, once
DEEP = 2  # runs of a worker: one under way, and one that waits for it
ATTEMPTS = 3  # of a build whose builder was lost


def _ray():
    try:
        import ray
    except ImportError as error:
        raise TuneError("RayRunner: Ray cannot be imported", str(error), "pip install ray, in the version of the cluster") from None
    return ray


def _worker_class():
    """What runs on a host. It travels as code: the host may lack this package, and says so then."""

    class Worker:
        def __init__(self, threads):
            self.threads = threads

        def describe(self):
            import ray

            node = ray.util.get_node_ip_address()
            try:
                import tensorwright
                from tensorwright import _core
            except ImportError as error:
                return node, None, str(error)
            tensorwright.set_num_threads(self.threads)
            return node, tensorwright.__version__, _core.this_machine()

        def why_not(self, target):
            from tensorwright import _core

            return _core.why_not_here(target)

        def run(self, request, *blobs):
            from tensorwright import _core

            return _core.run_request(request, list(blobs))

        def build(self, request, timeout):
            from tensorwright import _core

            return _core.build_object(request, timeout)

    return Worker


def _first_line(error):
    return str(error).split("\n")[0]


def _kind(machine):
    return f"{machine.hardware}, {machine.threads} threads"


class RayRunner(Runner):
    """Measures candidates on the workers of an existing Ray cluster: ``tune(task, runner=RayRunner())``.

    Each worker is an actor that loads, checks and times candidates in a process of their own, as this machine does without a
    Runner; several measure at once, one candidate each. Ray decides where they are. The process of a worker, or its node, may end:
    that is never the candidate's fault, which is measured again, and recorded as ``device_lost`` after the third time. Candidates
    are compiled by this machine, or by builders: further actors, of one CPU each, on machines of any kind.

    Parameters: address, of the cluster, by default the one that this program is connected to, or that ``ray.init("auto")`` finds;
    resources, what Ray reserves for each worker, by default all CPUs of its node, so that nobody disturbs its clock; workers, how
    many, by default as many as there are nodes for; threads of a kernel, by default the reserved CPUs; builders, how many, by
    default none; runtime_env, of all these (Ray's, which can install packages there); timeout, seconds for one to start, or to be
    started again.
    Attributes: machine, a Machine: that of all workers, for ``tw.build(.., log=, machine=)``.
    Raises: TuneError without Ray or a cluster, for hosts without this release of Tensorwright, for workers that do not start and
    for workers whose machines differ, all of which it lists; ArgumentError.
    """

    def __init__(self, address=None, *, resources=None, workers=None, threads=None, builders=None, runtime_env=None, timeout=60):
        for name, value in (("workers", workers), ("threads", threads), ("builders", builders)):
            if value is not None:
                positive("RayRunner", name, value)
        if resources is not None and (not isinstance(resources, dict) or not resources.get("CPU", 0) >= 1):
            raise ArgumentError(f'RayRunner: resources must be a dict such as {{"CPU": 4}}, with one CPU at least, not {resources!r}')
        self._ray, self._timeout, self._ours = _ray(), timeout, False
        self._connect(address)
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        wanted = resources or {"CPU": max((node.get("CPU", 0) for node in nodes), default=0)}
        fitting = sum(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes)
        if wanted["CPU"] < 1 or fitting == 0:
            self.close()
            raise TuneError(f"RayRunner: no node of the cluster has {wanted}", *(f"there is {node}" for node in nodes))
        others = {name: amount for name, amount in wanted.items() if name not in ("CPU", "GPU")}
        actor, both = self._ray.remote(_worker_class()), {"runtime_env": runtime_env, "max_restarts": -1}
        worker = actor.options(num_cpus=wanted["CPU"], num_gpus=wanted.get("GPU", 0), resources=others, **both)
        builder = actor.options(num_cpus=1, **both)
        self._workers = [worker.remote(threads or int(wanted["CPU"])) for _ in range(workers or fitting)]
        self._builders = [builder.remote(1) for _ in range(builders or 0)]
        try:
            self._machine = self._agree()
        except BaseException:
            self.close()
            raise

    _workers, _builders, _why_late = (), (), ""

    @property
    def machine(self):
        return Machine(self._machine.hardware, self._machine.threads)

    def describe(self):
        return self._machine.hardware

    def close(self):
        """Ends the workers and builders, and the connection where this object made it. ``with RayRunner() as runner:`` does it too."""
        for worker in [*self._workers, *self._builders]:
            self._ray.kill(worker)
        self._workers = self._builders = ()
        if self._ours:
            self._ray.shutdown()
            self._ours = False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self):
        return f"RayRunner({len(self._workers)} x {self._machine.hardware})"

    def _connect(self, address):
        ray = self._ray
        if ray.is_initialized():
            here = ray.get_runtime_context().gcs_address
            if address not in (None, "auto", here):
                raise ArgumentError(f"RayRunner: address must be {here}, to which this program is connected, not {address!r}")
            return
        try:
            ray.init(address or "auto", log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ray.exceptions.RayError, RuntimeError) as error:
            raise TuneError(f"RayRunner: there is no Ray cluster at {address or 'any address that is known here'}", _first_line(error),
                            "`ray start --head` begins one; address= names it") from None
        self._ours = True

    def _agree(self):
        """The machine of all workers."""
        deadline, machines, all_of_them = time.monotonic() + self._timeout, {}, [*self._workers, *self._builders]
        for place, worker in enumerate(all_of_them):
            description = self._description(worker, deadline)
            if description is None:
                raise TuneError(f"RayRunner: its {len(all_of_them)} workers did not all start within {self._timeout} s",
                                *filter(None, [self._why_late]), f"the cluster has {self._ray.available_resources()} free",
                                "give fewer workers or builders, or other resources")
            node, release, machine = description
            self._check_release(node, release, machine)
            if place < len(self._workers):
                machines.setdefault(_kind(machine), (machine, []))[1].append(node)
        if len(machines) > 1:
            raise TuneError("RayRunner: the machines of its workers differ", *(f"{kind}: {', '.join(sorted(nodes))}"
                            for kind, (_, nodes) in sorted(machines.items())), "give resources that only one kind of node has")
        return next(iter(machines.values()))[0]

    def _description(self, worker, deadline, given_up=lambda: False):
        """(node, release, machine) of a worker as soon as it answers; None when it does not until the deadline."""
        answer = None
        while not given_up() and time.monotonic() < deadline:
            answer = worker.describe.remote() if answer is None else answer
            try:
                return self._ray.get(answer, timeout=1)
            except self._ray.exceptions.GetTimeoutError:
                continue
            except self._ray.exceptions.RayError as error:
                answer, self._why_late = None, _first_line(error)
                time.sleep(0.1)
        return None

    @staticmethod
    def _check_release(node, release, machine):
        from .. import __version__

        if release is None:
            raise TuneError(f"RayRunner: the host {node} has no Tensorwright", str(machine),
                            f"install tensorwright {__version__} there, or give a runtime_env that does")
        if release != __version__:
            raise TuneError(f"RayRunner: the host {node} has tensorwright {release}, and this is {__version__}",
                            "both sides must be of one release")

    def _core_runner(self, task=None):
        if not self._workers:
            raise TuneError("RayRunner: it was closed")
        self._agree()
        return _core.ServedRunner(_Session(self))


class _Pool:
    """Actors that are asked by several threads, each for one thing at a time; Ray starts those again that end.

    ``fits(release, machine)`` of one that was started again: whether it is what it was.
    """

    def __init__(self, runner, workers, fits):
        self._runner, self._ray, self._fits = runner, runner._ray, fits
        self._change = threading.Condition()
        self._free, self._busy = list(workers), set()  # one that is started again is busy
        self._cancelled = False

    def ask(self, method, *arguments):
        """What the first that is free answers; as a str, why it was lost."""
        worker, answer = self._begin(method, arguments)
        if worker is None:
            return "cancelled"
        try:
            answer = self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            self._give_back(worker, True)
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            threading.Thread(target=self._bring_back, args=(worker,), daemon=True).start()
            return "the worker was lost: " + _first_line(error)
        self._give_back(worker, True)
        return answer

    def cancel(self):
        with self._change:
            self._cancelled = True
            for worker in self._busy:
                self._ray.kill(worker, no_restart=False)
            self._change.notify_all()

    def _begin(self, method, arguments):
        with self._change:
            self._change.wait_for(lambda: self._free or self._cancelled or not self._busy)
            if self._cancelled:
                return None, None
            if not self._free:
                raise TuneError("RayRunner: all its workers were lost", *filter(None, [self._runner._why_late]))
            worker = self._free.pop()
            self._busy.add(worker)
            return worker, getattr(worker, method).remote(*arguments)

    def _over(self):
        return self._cancelled or not self._runner._workers or not self._ray.is_initialized()

    def _bring_back(self, worker):
        description = self._runner._description(worker, time.monotonic() + self._runner._timeout, self._over)
        usable = description is not None and self._fits(*description[1:])
        if description is not None and not usable:
            node, release, machine = description
            self._runner._why_late = f"one was started again on {node}, which has {machine if release is None else _kind(machine)}"
        self._give_back(worker, usable)

    def _give_back(self, worker, usable):
        with self._change:
            self._busy.remove(worker)
            if usable:
                self._free.append(worker)
            self._change.notify_all()


class _Session:
    """The runs and builds of one tuning (ServedRunner in python/bind/runners.h). Its methods are called by several threads."""

    def __init__(self, runner):
        self._runner, self._ray = runner, runner._ray
        self.machine, self.slots, self.builders = runner._machine, DEEP * len(runner._workers), len(runner._builders)
        kind = _kind(self.machine)
        self._measuring = _Pool(runner, runner._workers, lambda release, machine: release is not None and _kind(machine) == kind)
        self._building = _Pool(runner, runner._builders, lambda release, _: release is not None)
        self._stored, self._storing = {}, threading.Lock()  # by the id of the bytes, which it keeps alive

    def run(self, request, blobs):
        return self._measuring.ask("run", request, *map(self._carried, blobs))  # the tuner asks again for what is lost

    def build(self, request, timeout):
        for _ in range(ATTEMPTS):
            built = self._building.ask("build", request, timeout)
            if not isinstance(built, str):
                break
        return built

    def why_not(self, target):
        answers = [worker.why_not.remote(target) for worker in self._runner._workers]
        return next(filter(None, map(self._answered, answers)), "")

    def _answered(self, answer):
        """Empty of one that was lost: it is of one kind with the others, and missed when it measures."""
        try:
            return self._ray.get(answer)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError:
            return ""

    def cancel(self):
        self._measuring.cancel()
        self._building.cancel()

    def _carried(self, blob):
        if len(blob) < CARRIED:
            return blob
        with self._storing:
            if id(blob) not in self._stored:
                self._stored[id(blob)] = blob, self._ray.put(blob)
            return self._stored[id(blob)][1]
