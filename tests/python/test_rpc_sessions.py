"""Sessions with a board: arrays, files and kernels there, by the names of tvm.rpc."""

import os
import pathlib
import subprocess
import time

import boards
import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = boards.needed


@pytest.fixture(scope="module")
def board():
    with boards.Board() as board:
        yield board
        board.process.terminate()
        assert board.process.wait(10) == 0


@pytest.fixture
def remote(board):
    with board.connect() as session:
        yield session


@pytest.fixture(scope="module")
def dense(tmp_path_factory):
    """A function here, and the path of its shared object."""
    A, B = te.placeholder((9, 7), name="A"), te.placeholder((7, 5), name="B")
    k = te.reduce_axis((0, 7), name="k")
    C = te.compute((9, 5), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    f = tw.build([A, B, C], name="dense")
    path = tmp_path_factory.mktemp("kernels") / "dense.so"
    f.save(str(path))
    return f, path


def scaled(tmp_path):
    n, s = te.var("n"), te.var("s", dtype="float32")
    A = te.placeholder((n,), name="A")
    f = tw.build([A, s, te.compute((n,), lambda i: A[i] * s, name="B")], name="scaled")
    f.save(str(tmp_path / "scaled.so"))
    return tmp_path / "scaled.so"


def operands():
    rng = np.random.default_rng(3)
    return rng.random((9, 7), "float32"), rng.random((7, 5), "float32")


def test_a_kernel_there_is_called_like_one_here(remote, dense):
    here, path = dense
    remote.upload(path)
    there = remote.load_module("dense.so")
    x, y = operands()
    expected = np.empty((9, 5), "float32")
    here(x, y, expected)
    a, b, c = remote.array(x), remote.array(y), remote.empty((9, 5))
    there(a, b, c)
    np.testing.assert_array_equal(c.numpy(), expected)
    assert [(arg.name, arg.dtype, arg.shape, arg.is_output) for arg in there.args] == [
        (arg.name, arg.dtype, arg.shape, arg.is_output) for arg in here.args
    ]
    brought = np.zeros((9, 5), "float32")
    there(x, y, brought)
    np.testing.assert_array_equal(brought, expected)


def test_calls_are_timed_there(remote, dense):
    remote.upload(dense[1])
    there = remote.load_module("dense.so")
    result = there.time_evaluator(there.name, remote.cpu(), number=3, repeat=5, cooldown_interval_ms=1)(*operands(), np.zeros((9, 5), "float32"))
    assert len(result.results) == 5 and 0 < result.min <= result.median <= result.max
    assert result.mean == pytest.approx(sum(result.results) / 5)


def test_more_times_than_one_answer_holds(remote, dense):
    remote.upload(dense[1])
    there = remote.load_module("dense.so")
    arrays = [*map(remote.array, operands()), remote.empty((9, 5))]
    assert len(there.time_evaluator(number=1, repeat=9000)(*arrays).results) == 9000
    for bad in ({"repeat": 0}, {"number": -1}, {"min_repeat_ms": float("nan")}, {"min_repeat_ms": -1.0}):
        with pytest.raises(tw.ArgumentError, match="time: "):
            there.time_evaluator(**bad)(*arrays)


def test_sizes_and_numbers_are_passed(remote, tmp_path):
    remote.upload(scaled(tmp_path))
    there = remote.load_module("scaled.so")
    for n in (1, 5, 100):
        x, y = np.arange(n, dtype="float32"), np.zeros(n, "float32")
        there(x, 3, y)
        np.testing.assert_array_equal(y, 3 * x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint16", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 5)])
def test_arrays_come_back_as_they_went(remote, dtype, shape):
    x = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
    there = remote.array(x)
    back = there.numpy()
    assert (there.shape, there.dtype) == (x.shape, dtype)
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back, x)


def test_who_leaves_arrays_to_free_is_waited_for(board):
    for _ in range(10):
        with board.connect() as session:
            there = [session.array(np.zeros(3)) for _ in range(40)]
            del there


def test_large_arrays_come_back(remote):
    x = np.random.default_rng(1).random(3_000_001)
    np.testing.assert_array_equal(remote.array(x.T).numpy(), x)


def test_files_are_names(remote, tmp_path):
    names = ["../secret", "/etc/passwd", "a\0b", "CON", "a" * 255, "dense.so", "."]
    for name in names:
        remote.upload(name.encode(), target=name)
    assert remote.listdir() == sorted(names, key=str.encode)
    assert [remote.download(name) for name in names] == [name.encode() for name in names]
    for name in names:
        remote.remove(name)
    assert remote.listdir() == []
    for wrong in ("", "a" * 256):
        with pytest.raises(tw.ArgumentError, match="a file's name has 1 to 255 bytes"):
            tw.rpc._core.RemoteSession.upload(remote._core, wrong, b"x")
    with pytest.raises(tw.ArgumentError, match="there is no file ../secret in this session"):
        remote.download("../secret")


def test_arguments_are_refused_as_here(remote, dense):
    here, path = dense
    remote.upload(path)
    there = remote.load_module("dense.so")
    x, y = operands()
    fixed = np.zeros((9, 5), "float32")
    fixed.flags.writeable = False
    for wrong in [(x, y), (y, x, np.zeros((9, 5), "float32")), (x.astype("float64"), y, np.zeros((9, 5), "float32")), (x, y, fixed)]:
        with pytest.raises(tw.Error) as local:
            here(*wrong)
        with pytest.raises(type(local.value)) as elsewhere:
            there(*wrong)
        assert elsewhere.value.what == local.value.what


def test_what_is_no_kernel_is_refused(remote, dense):
    remote.upload(b"no object", target="k.so")
    with pytest.raises(tw.BuildError):
        remote.load_module("k.so")
    remote.upload(dense[1])
    with pytest.raises(tw.BuildError, match="has no kernel sparse"):
        remote.load_module("dense.so", "sparse")
    with pytest.raises(tw.ArgumentError, match="there is no file other.so"):
        remote.load_module("other.so")


def test_one_that_crashes_ends_alone(remote, dense, tmp_path):
    source = tmp_path / "bad.c"
    source.write_text("""
        #include <tensorwright/kernel_abi.h>
        static const int64_t shape[1] = {4};
        static const tw_param_descriptor params[1] = {{"y", 3, 32, 1, 1, shape, 0}};
        const tw_kernel_descriptor tw_bad_descriptor = {sizeof(tw_kernel_descriptor), TW_ABI_VERSION, "bad", "llvm", "", 1, params};
        int32_t tw_bad(const tw_args* args, const tw_context* context) { ((volatile float*)8)[0] = 1; return 0; }
    """)
    include = pathlib.Path(__file__).resolve().parents[2] / "include"
    subprocess.run(["cc", "-O1", "-fPIC", "-shared", "-nostdlib", "-w", f"-I{include}", "-o", tmp_path / "bad.so", source], check=True)
    remote.upload(tmp_path / "bad.so")
    remote.upload(dense[1])
    bad, good = remote.load_module("bad.so"), remote.load_module("dense.so")
    for message in ("crashed: SIGSEGV", "load it again"):
        with pytest.raises(tw.TuneError, match=message):
            bad(np.zeros(4, "float32"))
    good(*operands(), np.zeros((9, 5), "float32"))


def test_an_array_of_another_session_is_refused(board, dense):
    first = board.connect()
    first.upload(dense[1])
    there = first.load_module("dense.so")
    with boards.Board() as second:
        foreign = second.connect().array(np.zeros((9, 7), "float32"))
        with pytest.raises(tw.ArgumentError, match="must be of the kernel's own session"):
            there(foreign, np.zeros((7, 5), "float32"), np.zeros((9, 5), "float32"))
        first.close()


def test_a_second_client_is_told_who_has_the_board(board):
    first = board.connect()
    first.listdir()
    with pytest.raises(tw.RpcError, match="this board is in a session"):
        board.connect()
    first.close()
    with pytest.raises(tw.RpcError, match="the session was closed"):
        first.listdir()
    deadline = time.time() + 5
    while True:
        try:
            board.connect().close()
            break
        except tw.RpcError:
            assert time.time() < deadline
            time.sleep(0.05)


def test_a_kernel_may_use_all_cores(dense):
    """Also where it is the first process of the board, whose own thread keeps off the first core."""
    children = lambda pid: [int(p) for t in pathlib.Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]
    with boards.Board() as board, board.connect() as remote:
        remote.upload(dense[1])
        kernel = remote.load_module("dense.so")
        workers = children(board.process.pid)
        assert kernel.name == "dense" and len(workers) == 1
        threads = (int(t.name) for t in pathlib.Path(f"/proc/{workers[0]}/task").iterdir())
        assert set().union(*(os.sched_getaffinity(t) for t in threads)) == os.sched_getaffinity(0)


def test_a_board_that_dies_is_an_error_at_once():
    board = boards.Board()
    remote = board.connect()
    array = remote.array(np.zeros(10))
    board.kill()
    start = time.time()
    with pytest.raises(tw.RpcError, match="the connection with 127.0.0.1:.* was"):
        array.numpy()
    assert time.time() - start < 5
    with pytest.raises(tw.RpcError, match="cannot be reached"):
        board.connect()


def test_room_for_arrays_is_limited(remote):
    kept = remote.empty((1000,), "uint8")
    with pytest.raises(tw.ArgumentError, match=r"is too large: a session has \d+, of which 1000 are taken"):
        remote.empty((1 << 44,), "uint8")
    assert kept.numpy().sum() == 0


def test_secrets(tmp_path):
    secret, other = (boards.new_secret(tmp_path / name) for name in ("farm.secret", "other.secret"))
    with boards.Board("--secret", secret) as board:
        board.connect(secret=secret).listdir()
        with pytest.raises(tw.RpcError, match="both sides need the same secret file"):
            board.connect(secret=other)
        with pytest.raises(tw.RpcError, match="may want a secret"):
            board.connect()
        os.chmod(secret, 0o644)
        with pytest.raises(tw.RpcError, match="may be read by others"):
            board.connect(secret=secret)


@pytest.mark.parametrize("host, port", [("", 1), (5, 1), ("a", 0), ("a", 70000), ("a", "9090"), ("a", True)])
def test_addresses_that_are_none(host, port):
    with pytest.raises(tw.ArgumentError, match="rpc: (host|port) must be"):
        tw.rpc.connect(host, port)


@pytest.mark.parametrize("shape, rule", [((2**40, 2**40), "no memory for so many"), ((2**32, 2**32), "no memory for so many"),
                                         ((-1,), "extents must be integers of 0 or more, not -1"), ((-2, -2), "not -2"),
                                         ((2**63,), "not 9223372036854775808"), ((2.5,), "not 2.5"), ((True,), "not True"),
                                         (3, "shape must be a sequence of integers, not 3"), ("44", "not '44'")])
def test_shapes_that_no_array_has(remote, shape, rule):
    with pytest.raises(tw.ArgumentError, match=rule):
        remote.empty(shape)
    assert remote.empty((0, 5)).numpy().shape == (0, 5)


def test_counts_and_times_that_are_none(board, dense):
    for timeout in ("x", float("nan"), -1, 0, True):
        with pytest.raises(tw.ArgumentError, match="rpc: timeout must be seconds, a number above 0, not "):
            board.connect(timeout=timeout)
    with board.connect() as remote:
        remote.upload(dense[1])
        for timeout in ("x", float("nan"), -1, None):
            with pytest.raises(tw.ArgumentError, match="load_module: timeout must be seconds"):
                remote.load_module("dense.so", timeout=timeout)
        there = remote.load_module("dense.so")
        for bad in ({"number": "x"}, {"number": 10**12}, {"number": 1.5}, {"repeat": None}, {"repeat": True}, {"min_repeat_ms": "x"},
                    {"cooldown_interval_ms": float("inf")}, {"cooldown_interval_ms": -1}):
            with pytest.raises(tw.ArgumentError, match=f"time: {next(iter(bad))} must be "):
                there.time_evaluator(**bad)
        there(*operands(), np.zeros((9, 5), "float32"))  # the session goes on


@pytest.mark.parametrize("name", [5, None, pathlib.Path("dense.so"), b"dense.so", "a\udc80"])
def test_names_that_are_no_text(remote, name):
    for call in (remote.download, remote.remove, remote.load_module):
        with pytest.raises(tw.ArgumentError, match="path must be text, not "):
            call(name)
    with pytest.raises(tw.ArgumentError, match="data must be a path, not 5"):
        remote.upload(5)
    if name is not None:
        with pytest.raises(tw.ArgumentError, match="upload: target must be text, not "):
            remote.upload(b"content", name)


def test_what_a_tracker_is_asked_for():
    tracker = tw.rpc.connect_tracker("127.0.0.1", 1)
    for wrong in ({"key": 5}, {"priority": "high"}, {"priority": 2**40}, {"session_timeout": "x"}, {"session_timeout": -1}, {"wait": float("nan")},
                  {"max_retry": -1}, {"predicate": None}):
        with pytest.raises(tw.ArgumentError, match=f"request: {next(iter(wrong))} must be "):
            tracker.request(**{"key": "pi", **wrong})
    with pytest.raises(tw.ArgumentError, match="request_and_run: max_retry must be an integer of 0 or more, not 'x'"):
        tracker.request_and_run("pi", print, max_retry="x")


@pytest.mark.parametrize("options, rule", [({"boards": 5}, "boards must be a list"), ({"boards": [5]}, "boards must be a list"),
                                           ({"boards": ["h:1"], "session_timeout": "x"}, "session_timeout must be seconds"),
                                           ({"boards": ["h:1"], "priority": 1.5}, "priority must be an integer")])
def test_runners_that_are_none(options, rule):
    with pytest.raises(tw.ArgumentError, match=f"RPCRunner: {rule}"):
        tw.autotune.RPCRunner(**options)
