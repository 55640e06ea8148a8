"""Tuning by file: candidates are packed here, measured by tw-board, and their lines count like any others."""

import json
import platform
import shutil
import signal
import subprocess
import time

import boards
import pytest
from commands import run
from programs import product
from tuning_logs import records

import tensorwright as tw
from tensorwright import te

ARM_BOARD = boards.PACKAGE / "boards" / "tw-board-aarch64"
A72 = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"

pytestmark = boards.needed

# Measures the pack $2 by $1 with room for a few lines, with none, and with enough.
A_FULL_DISK = """
mount -t tmpfs -o size=32k none disk && cd disk && head -c 20000 /dev/zero > others || exit 2
"$1" measure "$2" --log log --json > ../full && exit 3
cp log ../lines
"$1" measure "$2" --log log --json > ../again && exit 4
cmp log ../lines && rm others && mount -o remount,size=1m "$PWD" || exit 5
"$1" measure "$2" --log log --json > ../room && cp log ..
"""


def measure(pack, log, *options, code=0):
    done = run(boards.TW_BOARD, "measure", pack, "--log", log, "--json", *options, code=code)
    return json.loads(done.stdout)


def fnv1a(data):
    h = 0xCBF29CE484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{h:016x}"


def sealed(text):
    return f'{text},"checksum":"{fnv1a(text.encode())}"}}\n'


def edited(pack, path, change):
    """A copy of a pack after ``change(manifest, blobs)``, its checksums made anew."""
    head, rest = pack.read_bytes().split(b"\n", 1)
    manifest, blobs = json.loads(head), []
    for blob in manifest["blobs"]:
        blobs.append(bytearray(rest[: blob["bytes"]]))
        rest = rest[blob["bytes"] :]
    change(manifest, blobs)
    manifest["blobs"] = [{"bytes": len(blob), "checksum": fnv1a(blob)} for blob in blobs]
    del manifest["checksum"]
    path.write_bytes(sealed(json.dumps(manifest, separators=(",", ":"))[:-1]).encode() + b"".join(blobs))
    return path


def of_another_machine(line):
    return sealed(line[: line.rindex(',"checksum"')].replace(" cores", " boards"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packs")
    tw.autotune.pack(product(), folder / "first.twpack", trials=12, threads=1)
    return folder


@pytest.fixture
def pack(folder):
    return folder / "first.twpack"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "board.jsonl"


class TestMeasured:
    def test_lines_count_like_those_of_tuning_here(self, pack, log):
        answer = measure(pack, log)
        assert (answer["candidates"], answer["measured"], answer["failures"]) == (12, 12, 0)
        f = tw.build(product(), log=str(log))
        best = min(r["result"]["seconds"] for r in records(log) if r["kind"] == "trial" and r["result"]["status"] == "ok")
        assert best == pytest.approx(answer["best_seconds"])
        assert f.source("llvm")
        result = tw.autotune.tune(product(), trials=12, log=log, progress=False) if tw.runtime.num_threads() == 1 else None
        assert result is None or result.measured == 0

    def test_leaders_are_timed_again(self, pack, log):
        measure(pack, log)
        again = [json.dumps(r["knobs"]) for r in records(log) if r["kind"] == "confirm"]
        assert len(set(again)) == 4 and len(again) >= 8

    def test_what_the_log_holds_is_not_measured_again(self, pack, log):
        measure(pack, log)
        lines = log.read_text()
        assert measure(pack, log)["measured"] == 0
        assert log.read_text() == lines

    def test_goes_on_after_it_was_killed(self, pack, log):
        board = subprocess.Popen([boards.TW_BOARD, "measure", pack, "--log", log, "--quiet"])
        end = time.monotonic() + 60
        while (not log.exists() or log.read_text().count("\n") < 3) and time.monotonic() < end:
            time.sleep(0.005)
        board.send_signal(signal.SIGKILL)
        board.wait()
        known = log.read_text().count('"kind":"trial"')
        answer = measure(pack, log)
        assert 3 <= known and answer["measured"] <= 12 - known + 1 and answer["known"] == 12
        trials = [json.dumps(r["knobs"]) for r in records(log) if r["kind"] == "trial"]
        assert len(trials) == len(set(trials)) == 12

    def test_a_full_disk_keeps_the_lines_and_goes_on_when_there_is_room(self, pack, tmp_path):
        made = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
        if made.returncode != 0:
            pytest.skip(f"skipped: no file system of its own: {made.stderr.strip()}")
        (tmp_path / "disk").mkdir()
        run("unshare", "--mount", "sh", "-uc", A_FULL_DISK, "-", boards.TW_BOARD, pack, cwd=tmp_path)
        answers = [json.loads((tmp_path / name).read_text()) for name in ("full", "again", "room")]
        for answer in answers[:2]:
            assert answer["error"] == "the tuning log log cannot be written: No space left on device"
            assert "make room" in answer["notes"][0]
        lines, log = (tmp_path / "lines").read_bytes(), (tmp_path / "log").read_bytes()
        assert lines and log.startswith(lines), "what was written before is intact"
        kept = [r["kind"] for r in records(tmp_path / "lines")].count("trial")  # each is whole
        assert 0 < kept and answers[2]["measured"] == 12 - kept and answers[2]["failures"] == 0
        trials = [json.dumps(r["knobs"]) for r in records(tmp_path / "log") if r["kind"] == "trial"]
        assert len(trials) == len(set(trials)) == 12

    def test_a_limit_of_the_users_files_is_an_error_too(self, pack, log):
        answer = run("sh", "-c", 'ulimit -f 1; exec "$@"', "-", boards.TW_BOARD, "measure", pack, "--log", log, "--json", code=1)
        assert "File too large" in json.loads(answer.stdout)["error"]
        assert measure(pack, log)["measured"] == 12

    def test_a_damaged_line_costs_only_itself(self, pack, log):
        measure(pack, log)
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join([lines[0][:50] + "\n", *lines[1:]]))
        assert measure(pack, log)["measured"] == 1

    def test_candidates_that_could_not_be_built_have_their_line(self, pack, log, tmp_path):
        def unbuilt(manifest, blobs):
            for candidate in manifest["candidates"][:2]:
                candidate["object"] = None
                candidate["record"]["result"] |= {"status": "build_failed", "detail": "too large"}

        answer = measure(edited(pack, tmp_path / "p", unbuilt), log)
        assert (answer["measured"], answer["failures"]) == (12, 2)
        assert [r["result"]["detail"] for r in records(log)[:2]] == ["too large"] * 2


class TestPackedAgain:
    def test_others_are_proposed_from_the_log(self, pack, log, tmp_path):
        measure(pack, log)
        before = log.read_text()
        summary = tw.autotune.pack(product(), tmp_path / "second.twpack", trials=12, log=log)
        assert log.read_text() == before
        assert summary.threads == 1 and "core" in summary.hardware
        first = {json.dumps(r["knobs"]) for r in records(log)}
        assert measure(tmp_path / "second.twpack", log)["measured"] == 12
        trials = [json.dumps(r["knobs"]) for r in records(log) if r["kind"] == "trial"]
        assert len(set(trials)) == 24 and first < set(trials)

    def test_the_same_log_gives_the_same_pack(self, pack, log, tmp_path):
        measure(pack, log)
        for name in "ab":
            tw.autotune.pack(product(), tmp_path / name, trials=4, log=log)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()

    def test_machines_of_one_log_must_be_told_apart(self, pack, log, tmp_path):
        measure(pack, log)
        log.write_text(log.read_text() + of_another_machine(log.read_text().splitlines()[0]))
        with pytest.raises(tw.TuneError, match="of several machines, and none was named"):
            tw.autotune.pack(product(), tmp_path / "p", log=log)
        name = records(log)[0]["hardware"]
        assert tw.autotune.pack(product(), tmp_path / "p", trials=2, log=log, hardware=name).hardware == name


class TestReferences:
    def test_large_ones_are_made_on_the_board(self, log, tmp_path):
        m = 1700  # three arrays of 11.5 MB
        A = te.placeholder((m, m), name="A")
        B = te.compute((m, m), lambda i, j: A[j, i] * 2 + 1, name="B")
        summary = tw.autotune.pack([A, B], tmp_path / "p", trials=3, threads=1)
        assert summary.bytes < 200_000
        answer = measure(tmp_path / "p", log)
        assert (answer["measured"], answer["failures"]) == (3, 0)

    def test_wrong_candidates_are_found(self, pack, log, tmp_path):
        def another_result(manifest, blobs):
            blobs[manifest["reference"]["outputs"]][3] ^= 0x40  # the exponent of C[0, 0]

        assert measure(edited(pack, tmp_path / "wrong", another_result), log, code=1)["failures"] == 12
        assert all(r["result"]["status"] == "wrong_answer" and "C" in r["result"]["detail"] for r in records(log))


def test_the_first_round_has_no_log_yet(tmp_path):
    """As docs/boards.md begins: one command for each round, the first too."""
    first = tw.autotune.pack(product(), tmp_path / "first", trials=2, log=tmp_path / "board.jsonl")
    bare = tw.autotune.pack(product(), tmp_path / "bare", trials=2)
    assert first.candidates == bare.candidates == 2
    assert (tmp_path / "first").read_bytes() == (tmp_path / "bare").read_bytes() and not (tmp_path / "board.jsonl").exists()


class TestRefusals:
    def test_another_architecture(self, log, tmp_path):
        other = A72 if platform.machine() == "x86_64" else "llvm -mcpu=x86-64"
        tw.autotune.pack(product(), tmp_path / "p", target=other, trials=1)
        answer = measure(tmp_path / "p", log, code=1)
        assert "this machine can't run code for" in answer["error"]
        assert any('use target="llvm' in note for note in answer["notes"])
        assert not log.exists()

    def test_another_machines_records(self, pack, log, tmp_path):
        measure(pack, log)
        other = tmp_path / "other.jsonl"
        other.write_text("".join(map(of_another_machine, log.read_text().splitlines())))
        tw.autotune.pack(product(), tmp_path / "p", trials=1, log=other)
        assert "the records of another machine" in measure(tmp_path / "p", tmp_path / "new", code=1)["error"]

    def test_more_threads_than_cores(self, log, tmp_path):
        tw.autotune.pack(product(), tmp_path / "p", trials=1, threads=4096)
        assert "4096 threads" in measure(tmp_path / "p", log, code=1)["error"]

    def test_a_file_that_is_no_log(self, pack, tmp_path):
        (tmp_path / "notes.txt").write_text("something else\n")
        assert "is not a tuning log" in measure(pack, tmp_path / "notes.txt", code=1)["error"]
        assert (tmp_path / "notes.txt").read_text() == "something else\n"

    def test_a_layer_that_nobody_has(self, pack, log):
        assert "armour" in measure(pack, log, "--require", "seccomp,armour", code=1)["error"]

    def test_nothing_left(self, tmp_path):
        A = te.placeholder((4,), name="A")
        B = te.compute((4,), lambda i: A[i] + 1, name="B")
        tw.autotune.pack([A, B], tmp_path / "p", trials=1000, threads=1)
        measure(tmp_path / "p", tmp_path / "log")
        with pytest.raises(tw.TuneError, match="there is nothing left to pack"):
            tw.autotune.pack([A, B], tmp_path / "p", log=tmp_path / "log")

    @pytest.mark.parametrize("options", [{"threads": 0}, {"hardware": 3}, {"trials": 0}])
    def test_options_without_a_meaning(self, tmp_path, options):
        with pytest.raises(tw.ArgumentError, match=next(iter(options))):
            tw.autotune.pack(product(), tmp_path / "p", **options)


class TestCommandLine:
    def test_from_a_pack_to_a_kernel(self, log, tmp_path):
        shape = ["matmul", "--shape", "M=17,N=18,K=19"]
        made = json.loads(run(boards.TW, "tune", *shape, "--trials", 6, "--threads", 1, "--pack", tmp_path / "p", "--json").stdout)
        assert made["candidates"] == 6
        measure(tmp_path / "p", log)
        out = run(boards.TW, "build", *shape, "--log", log, "--save", tmp_path / "dense.so", "--name", "dense").stdout
        assert "ms when it was measured" in out
        assert tw.load(str(tmp_path / "dense.so")).name == "dense"

    def test_build_without_a_record(self, log, tmp_path):
        log.write_text("")
        refused = run(boards.TW, "build", "matmul", "--shape", "M=8,N=8,K=8", "--log", log, "--save", tmp_path / "x.so", code=1)
        assert "no tuning record for matmul(M=8" in refused.stderr

    def test_describe(self):
        answer = json.loads(run(boards.TW_BOARD, "describe", "--json").stdout)
        assert tw.Target(answer["target"]) == tw.Target.host()
        assert answer["sandbox"]["seccomp"] == "holds"


class TestForeign:
    @pytest.mark.skipif(shutil.which("qemu-aarch64") is None or not ARM_BOARD.exists(),
                        reason="qemu-aarch64 (Debian: qemu-user) or tw-board-aarch64 (Debian: g++-aarch64-linux-gnu) is missing")
    @pytest.mark.parametrize("dtype", ["float32", "int8"])
    def test_measured_by_an_emulated_board(self, log, tmp_path, dtype):
        emulated = ["qemu-aarch64", "-cpu", "cortex-a72", str(ARM_BOARD)]
        worker = tmp_path / "worker"
        worker.write_text(f'#!/bin/sh\nexec {" ".join(emulated)} "$@"\n')
        worker.chmod(0o755)
        summary = tw.autotune.pack(product(dtype=dtype), tmp_path / "p", target=A72, trials=6, threads=1)
        assert summary.not_built == 0
        answer = json.loads(run(*emulated, "measure", tmp_path / "p", "--log", log, "--worker", worker, "--json").stdout)
        assert (answer["measured"], answer["failures"]) == (6, 0)
        f = tw.build(product(dtype=dtype), target=A72, log=str(log))
        assert "aarch64" in str(f.target)
