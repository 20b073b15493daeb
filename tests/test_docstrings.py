"""Docstrings: functions of the compiler and the kernels have one, and examples that are written for
several functions at once (`float`, `double`, ...) run. doctest looks for functions by the names of
their module, where these are not.
"""

import ast
import doctest
import inspect
from pathlib import Path

import pytest

from pellucid.core.public import FUNCTIONS, METHODS

PACKAGE = Path(__file__).resolve().parents[1] / "pellucid"


def _made():
    found = {}
    for value in [*METHODS.values(), *(f for space in FUNCTIONS.values() for f in space.values())]:
        text, plain = getattr(value, "__doc__", None), inspect.unwrap(value)
        code = getattr(plain, "__code__", None)
        made = code is not None and code.co_name != plain.__name__  # named after it was made
        if made and isinstance(text, str) and ">>> " in text:
            found.setdefault(text, value.__name__)
    return [(name, text) for text, name in found.items()]


@pytest.mark.parametrize(("name", "text"), _made(), ids=[name for name, _ in _made()])
def test_example(name, text):
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    report = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert result.attempted and not result.failed, "".join(report)


def test_there_are_such_examples():
    assert {"float", "fft2", "view_copy", "swapaxes"} <= {name for name, _ in _made()}


def _undocumented(text):
    """Functions and methods of public classes without a docstring, but for visitors and setters."""

    def visit(body, prefix):
        for node in body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield from visit(node.body, f"{node.name}.")
            elif (
                isinstance(node, ast.FunctionDef)
                and not node.name.startswith(("_", "visit_"))
                and ast.get_docstring(node) is None
                and not any(
                    "setter" in d or "overload" in d for d in map(ast.unparse, node.decorator_list)
                )
            ):
                yield prefix + node.name

    return list(visit(ast.parse(text).body, ""))


def test_engineers_find_a_docstring_at_every_function():
    folders = ("compiler", "ir", "kernels", "llvm")
    found = {
        str(path.relative_to(PACKAGE)): names
        for folder in folders
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if (names := _undocumented(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_a_function_without_a_docstring_is_found():
    text = "def f(): pass\ndef _g(): pass\nclass A:\n    def m(self): pass\n    @m.setter\n    def m(self, x): pass\n"
    assert _undocumented(text) == ["f", "A.m"]
