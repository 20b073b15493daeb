"""Errors for the mistakes of tests/errors/mistakes.py: class and message are PyTorch's."""

import re
import runpy
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402
from pellucid import nn  # noqa: E402
from pellucid.nn import functional  # noqa: E402

module = runpy.run_path(str(Path(__file__).parents[1] / "errors" / "mistakes.py"))


def error_of(function, library):
    with pytest.raises(Exception) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some warn first
        function(library)
    return caught.value


@pytest.mark.parametrize("name", module["MISTAKES"])
def test_class_and_message(name):
    function = module["MISTAKES"][name]
    theirs = error_of(function, module["library"](torch, torch.nn, torch.nn.functional))
    ours = error_of(function, module["library"](pellucid, nn, functional))
    assert (type(ours).__name__, str(ours)) == (type(theirs).__name__, str(theirs))


PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
SAID = re.findall(r"```python\n(.*?)```\n\nPyTorch:\n\n```text\n(.*?)\n```", PAGE.read_text(), re.S)


@pytest.mark.parametrize(("program", "text"), SAID)
def test_the_page_quotes_pytorch(program, text):
    with pytest.raises(RuntimeError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "train.py", "exec"), {"__name__": "train"})
    assert str(caught.value) == text
