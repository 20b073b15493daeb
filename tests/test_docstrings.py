"""Examples in docstrings that are written for several functions at once (`float`, `double`, ...):
doctest looks for functions by the names of their module, where these are not.
"""

import doctest
import inspect

import pytest

from pellucid.core.public import FUNCTIONS, METHODS


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
