"""What README.md shows runs: the example, and both columns of "Coming from TVM" (a left column marked † needs TVM itself)."""
import pathlib
import re

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

pytestmark = pytest.mark.skipif(tw.Target.host().kind != "llvm", reason="built without LLVM")
README = (pathlib.Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_example(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(code.strip().splitlines()) <= 36
    exec(compile(code, "README.md", "exec"), {})
    assert "D" in capsys.readouterr().out


def rows():
    table = README.split("| tvm 0.19 | Tensorwright |")[1].split("\n\n")[0]
    for line in table.strip().splitlines()[1:]:
        left, right = (cell.strip() for cell in line.strip().strip("|").split(" | "))
        yield left, right


def run_column(column):
    n, m = 6, 5
    names = {"te": te, "tw": tw, "tvm": tw, "n": n, "m": m, "a": np.ones((n, m), "float32"), "c": np.zeros(n, "float32")}
    for line in column:
        exec(compile(line, "README.md", "exec"), names)
    np.testing.assert_array_equal(names["c"], m if "f(a, c)" in column else 0)


def code(cell):
    return cell.strip("`† ").strip("`")


def test_left_column_runs_unless_marked():
    run_column([code(left) for left, _ in rows() if "†" not in left])


def test_right_column_runs():
    run_column([code(right) for _, right in rows() if not right.startswith("`@")])


@pytest.mark.parametrize("name", ["template", "Task", "tune", "apply_history_best"])
def test_autotune_names_exist(name):
    assert callable(getattr(tw.autotune, name))
