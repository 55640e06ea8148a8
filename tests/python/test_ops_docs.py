"""docs/ops.md is what the docstrings and the table of kernels say."""

import pathlib
import runpy

import tensorwright as tw

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_page_of_operators_is_fresh():
    page = runpy.run_path(str(ROOT / "docs/generate.py"))["ops_page"]()
    assert (ROOT / "docs/ops.md").read_text() == page, "docs/ops.md is stale: ./dev docs"


def test_each_operator_has_an_example_and_its_line():
    for name in tw.ops.__all__:
        doc = getattr(tw.ops, name).__doc__
        assert ">>> " in doc and doc.split("\n")[0].strip(), name


def test_every_kernel_can_be_made():
    sizes = {"shape": (3, 4), "batch": 2, "kernel": 2, "rows": 9}
    for name, parameters in tw.ops.kernels().items():
        given = {p: sizes.get(p, 4) for p, default in parameters.items() if default is None}
        *inputs, result = tw.ops.kernel(name, **given)
        assert all(t.op.is_placeholder for t in inputs) and not result.op.is_placeholder, name
