"""docs/errors.md: each program fails with the text that stands below it."""

import linecache
import re
import warnings
from pathlib import Path

import pytest

import pellucid as torch
from pellucid.api import overriding
from pellucid.errors import full_text

PAGE = Path(__file__).parents[2] / "docs" / "errors.md"
PARTS = re.findall(
    r"^## (\d+\. .*?)\n.*?```python\n(.*?)```\n\nPyTorch:\n\n```text\n(.*?)\n```\n\nPellucid:\n\n```text\n(.*?)\n```",
    PAGE.read_text(),
    re.M | re.S,
)


def test_there_are_ten():
    assert [int(title.partition(".")[0]) for title, *_ in PARTS] == list(range(1, 11))


@pytest.mark.parametrize(
    ("title", "program", "theirs", "ours"), PARTS, ids=[title for title, *_ in PARTS]
)
def test_the_text_is_what_the_program_says(title, program, theirs, ours, monkeypatch):
    monkeypatch.setitem(
        linecache.cache, "train.py", (len(program), None, program.splitlines(True), "train.py")
    )
    program = program.replace("import torch\n", "import pellucid as torch\n", 1).replace(
        "from torch import", "from pellucid import"
    )
    program = program.replace(
        "import torch.nn.functional as F", "import pellucid.nn.functional as F"
    )
    with pytest.raises(RuntimeError) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(program, "train.py", "exec"), {"__name__": "train"})
    assert full_text(caught.value) == ours
    assert ours.splitlines()[0] == theirs.splitlines()[0]


@pytest.mark.parametrize("call", [lambda a, b: a - b, lambda a, b: a.matmul(b), lambda a, b: a @ b])
def test_operands_have_their_names_while_methods_ask_their_arguments(call):
    # as while a `TorchFunctionMode` is on in another thread
    a, b = torch.rand(2, 3), torch.rand(4, 5)
    texts = []
    for enter, leave in (
        (lambda: None, lambda: None),
        (overriding.install, overriding.uninstall),
    ):
        enter()
        try:
            with pytest.raises(RuntimeError) as caught:
                call(a, b)
        finally:
            leave()
        texts.append(caught.value.__notes__)
    assert texts[1] == texts[0]
