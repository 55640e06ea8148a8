"""Files of kernels that are written and loaded again while what stood there before is still in use."""

import numpy as np
import pytest

import tensorwright as tw
from tensorwright import te

TARGETS = [t for t in ("llvm", "c") if t == "c" or tw.Target.current().kind == "llvm"]


def adding(amount, target):
    A = te.placeholder((8,), name="A")
    return tw.build([A, te.compute((8,), lambda i: A[i] + amount, name="B")], target=target, name="add")


def added(f):
    out = np.zeros(8, "float32")
    f(np.zeros(8, "float32"), out)
    return out.tolist()


@pytest.mark.parametrize("first", TARGETS)
@pytest.mark.parametrize("second", TARGETS)
def test_a_file_that_was_replaced_is_loaded_anew(first, second, tmp_path):
    path = tmp_path / "add.so"
    adding(1.0, first).save(path)
    one = tw.load(path)
    adding(2.0, second).save(path)
    two = tw.load(path)
    assert added(one) == [1.0] * 8
    assert added(two) == [2.0] * 8
    assert added(tw.load(path)) == [2.0] * 8
    assert sorted(p.name for p in tmp_path.iterdir()) == ["add.h", "add.so"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(tw.ArgumentError, match="cannot write .*nowhere/add.so"):
        adding(1.0, "c").save(tmp_path / "nowhere" / "add.so")
    (tmp_path / "folder.so").mkdir()
    with pytest.raises(tw.ArgumentError, match="cannot write .*folder.so"):
        adding(1.0, "c").save(tmp_path / "folder.so")
