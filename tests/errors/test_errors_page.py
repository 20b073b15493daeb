"""docs/errors.md: each program fails with the text that stands below it."""

import linecache
import re
import warnings
from pathlib import Path

import pytest

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
