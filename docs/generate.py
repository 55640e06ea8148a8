"""Writes docs/schedule.md and docs/ops.md: their templates, with a table and a section for each Step, and for each operator.

    ./dev docs

The sections are docstrings (python/tensorwright/stage/, schedule.py and ops/): a sentence, of Steps the loops before and after, then
"Parameters:", "Returns:" and "Raises:", then an example. Names in double braces in the templates are where they go.
"""
import importlib
import inspect
import pathlib
import re

import tensorwright as tw
from tensorwright.schedule import Schedule, Stage

DOCS = pathlib.Path(__file__).resolve().parent
NO_STEP = {"check", "copy", "explain", "from_steps", "to_python"}  # methods of Schedule that only look at it


def primitives():
    """(how it is called, the method) of each, those of stages first, by their kinds, in the order of the source."""
    for subject, owner in (*(("s[C]", kind) for kind in Stage.__bases__), ("s", Schedule)):
        for name, method in vars(owner).items():
            if inspect.isfunction(method) and not name.startswith("_") and name not in NO_STEP:
                yield f"{subject}.{name}", method


def signature(call, method):
    text = str(inspect.signature(method)).replace("(self, ", "(").replace("(self)", "()").replace("'", '"')
    return call + text


def markdown(text):
    return text.replace("``", "`")


def paragraph(text):
    """A paragraph of a docstring; examples become code, Parameters and the like a list."""
    if text.startswith(">>>"):
        return f"```python\n{text}\n```"
    items = re.split(r"^(?=(?:Parameters|Returns|Raises): )", text, flags=re.M)
    listed = [re.sub(r"^(\w+):", r"- **\1:**", item.strip()) for item in items if item.strip()]
    return markdown("\n".join(line.replace("\n", "\n  ") if line.startswith("- ") else line for line in listed))


def section(call, method):
    head = f"### {method.__name__}\n\n`{signature(call, method)}`"
    return "\n\n".join([head, *(paragraph(p) for p in inspect.getdoc(method).split("\n\n"))])


def table():
    rows = ["| Step | what it does |", "|---|---|"]
    for call, method in primitives():
        first = inspect.getdoc(method).split("\n\n")[0].replace("\n", " ")
        rows.append(f"| [`{call}`](#{method.__name__}) | {markdown(first)} |")
    return "\n".join(rows)


def page():
    text = (DOCS / "schedule.template.md").read_text()
    note = "<!-- Written by ./dev docs from schedule.template.md and the docstrings: edit those. -->\n"
    steps = "\n\n".join(section(call, method) for call, method in primitives())
    return note + text.replace("{{table}}", table()).replace("{{steps}}", steps)


def families():
    """(the module's docstring, its operators) of each file of operators, in the order of their names."""
    for name in sorted({getattr(tw.ops, operator).__module__ for operator in tw.ops.__all__}):
        module = importlib.import_module(name)
        yield inspect.getdoc(module), [getattr(module, operator) for operator in module.__all__]


def family(heading, operators):
    first, *rest = heading.split("\n\n")
    title, *more = re.split(r"[:.] ", first.rstrip("."), maxsplit=1)
    said = [text[0].upper() + text[1:] + "." for text in more]
    parts = [f"## {title}", *(paragraph(p) for p in said + rest if ">>>" not in p)]
    return "\n\n".join([*parts, *(section(f"ops.{f.__name__}", f) for f in operators)])


def kernels():
    rows = ["| Kernel | Parameters |", "|---|---|"]
    for name, parameters in tw.ops.kernels().items():
        given = ", ".join(p if default is None else f"{p}={default}" for p, default in parameters.items())
        rows.append(f"| {name} | {given} |")
    return "\n".join(rows)


def ops_page():
    text = (DOCS / "ops.template.md").read_text()
    note = "<!-- Written by ./dev docs from ops.template.md and the docstrings: edit those. -->\n"
    operators = "\n\n".join(family(*f) for f in families())
    return note + text.replace("{{kernels}}", kernels()).replace("{{operators}}", operators)


if __name__ == "__main__":
    (DOCS / "schedule.md").write_text(page())
    (DOCS / "ops.md").write_text(ops_page())
