"""The examples in the docstrings of everything that is published under a PyTorch name."""

import doctest

import pytest

import pellucid
from pellucid.core.public import FUNCTIONS, METHODS


def documented():
    found = {}
    for space, functions in FUNCTIONS.items():
        for name, function in functions.items():
            found[f"{space}.{name}"] = function
    for name, function in METHODS.items():
        found[f"Tensor.{name}"] = function
    unique = {}
    for name, function in found.items():
        if ">>> " in (getattr(function, "__doc__", None) or ""):
            unique.setdefault(function.__doc__, (name, function))
    return dict(unique.values())


EXAMPLES = documented()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_example_of(name):
    text = EXAMPLES[name].__doc__
    test = doctest.DocTestParser().get_doctest(
        text, {"__name__": "__main__", "pellucid": pellucid}, name, None, 0
    )
    report = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(
        test, out=report.append
    )
    assert result.failed == 0, "".join(report)


def test_there_are_many():
    assert len(EXAMPLES) > 250
