"""The whole text of the errors for mistakes.py: PyTorch's first line, the tensors lined up, the
repair.

After a change that is meant, write the texts anew with
`PELLUCID_UPDATE_GOLDEN=1 pytest tests/errors` and read the difference.
"""

import os
import re
import runpy
import warnings
from pathlib import Path

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.errors import full_text
from pellucid.nn import functional

HERE = Path(__file__).parent
TEXTS = HERE / "mistakes.txt"
module = runpy.run_path(str(HERE / "mistakes.py"))
MISTAKES = module["MISTAKES"]
LIBRARY = module["library"](torch, nn, functional)
# For these the sentence says all, or what to do depends on what is meant.
WITHOUT_HINT = {"rnn_4d", "backward_grad_shape", "attn_mask"}


def text_of(name):
    with pytest.raises(Exception) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some warn first
        MISTAKES[name](LIBRARY)
    return caught.value, re.sub(r"\S*mistakes\.py:\d+", "mistakes.py:LINE", full_text(caught.value))


def golden():
    parts = re.split(r"^=== (\w+) \((.*)\)\n", TEXTS.read_text(), flags=re.M)
    return {
        name: (kind, text.rstrip("\n"))
        for name, kind, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    }


@pytest.mark.parametrize("name", MISTAKES)
def test_text(name):
    error, text = text_of(name)
    assert (type(error).__name__, text) == golden().get(name)


@pytest.mark.parametrize("name", MISTAKES)
def test_it_says_where_what_and_how_to_repair_it(name):
    error, text = text_of(name)
    assert "mistakes.py:LINE" in text
    assert error.facts.completed().op
    if type(error).__name__ != "TypeError":
        assert error.facts.completed().operands, text
    assert bool(error.facts.completed().hint) != (name in WITHOUT_HINT), text


if os.environ.get("PELLUCID_UPDATE_GOLDEN"):
    made = ((name, *text_of(name)) for name in MISTAKES)
    TEXTS.write_text(
        "".join(f"=== {name} ({type(error).__name__})\n{text}\n\n" for name, error, text in made)
    )
