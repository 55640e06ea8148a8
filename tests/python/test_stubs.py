"""The stubs name what is there, with the parameters that are there, and leave out nothing that is public."""

import ast
import importlib
import inspect
import pathlib

import pytest

import tensorwright as tw
from tensorwright import _core, errors, te

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/tensorwright"


def stub(name):
    return ast.parse((PACKAGE / f"{name}.pyi").read_text()).body


@pytest.mark.parametrize("definition", [d for d in stub("te/__init__") if isinstance(d, ast.FunctionDef)], ids=lambda d: d.name)
def test_functions_of_te(definition):
    parameters = inspect.signature(getattr(te, definition.name)).parameters
    a = definition.args
    named = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs] + [x.arg for x in (a.vararg,) if x]
    assert sorted(named) == sorted(parameters)


def test_te_is_whole():
    defined = {d.name for d in stub("te/__init__") if isinstance(d, ast.FunctionDef)}
    functions = {name for name in te.__all__ if inspect.isfunction(getattr(te, name)) and getattr(te, name).__module__.startswith(te.__name__)}
    assert functions <= defined


@pytest.mark.parametrize("name", ["errors", "_core"])
def test_classes(name):
    module = {"errors": errors, "_core": _core}[name]
    for definition in stub(name):
        if not isinstance(definition, ast.ClassDef) or definition.name.startswith("_"):
            continue
        cls = getattr(module, definition.name)
        for member in definition.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(cls, member.name), f"{definition.name}.{member.name}"
    assert tw.Error is errors.Error


def test_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


MODULES = ["__init__", "aot", "building", "errors", "rpc", "runtime", "schedule", "target", "te/__init__", "autotune/__init__"]


def module_of(name):
    return importlib.import_module(f"tensorwright.{name}".replace("/", ".").removesuffix(".__init__"))


def stub_names(body):
    """The names that a stub gives to its readers, and the definition of each."""
    names = {}
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign):
            names[statement.target.id] = statement
        elif isinstance(statement, ast.ImportFrom) and statement.level:
            whole = statement.names[0].name == "*"
            names |= {n: statement for n in stub_names(stub(statement.module))} if whole else {a.asname or a.name: statement for a in statement.names}
    return {name: definition for name, definition in names.items() if not name.startswith("_") or name.startswith("__")}


def public(members):
    return {name for name in members if not name.startswith("_")}


@pytest.mark.parametrize("name", MODULES)
def test_modules_and_stubs_agree(name):
    module, names = module_of(name), stub_names(stub(name))
    assert public(getattr(module, "__all__", names)) <= set(names)
    for member, definition in names.items():
        if isinstance(definition, ast.FunctionDef) and inspect.isfunction(getattr(module, member)) and not definition.decorator_list:
            a = definition.args
            written = [x.arg for x in a.posonlyargs + a.args + a.kwonlyargs] + [x.arg for x in (a.vararg, a.kwarg) if x]
            assert sorted(written) == sorted(inspect.signature(getattr(module, member)).parameters), member
        if not isinstance(definition, ast.ImportFrom) and name != "autotune/__init__":
            assert hasattr(module, member), member


@pytest.mark.parametrize("name", ["_core", "schedule", "target", "autotune/__init__"])
def test_classes_and_stubs_agree(name):
    module = module_of(name)
    for definition in stub(name):
        if not isinstance(definition, ast.ClassDef) or definition.name.startswith("_"):
            continue
        cls = getattr(module, definition.name, None) or getattr(module_of("autotune/tuner"), definition.name)
        bases = {b for base in definition.bases for b in ([base.id] if isinstance(base, ast.Name) else [])}
        written = public(stub_names(definition.body))
        for base in stub(name):
            if isinstance(base, ast.ClassDef) and base.name in bases:
                written |= public(stub_names(base.body))
        parts = [part for part in cls.__mro__ if part.__module__.startswith(cls.__module__)]  # a class may be made of several files
        assert {member for part in parts for member in public(vars(part))} <= written, cls
        for member in definition.body:
            if isinstance(member, ast.FunctionDef):
                assert hasattr(cls, member.name), f"{definition.name}.{member.name}"
