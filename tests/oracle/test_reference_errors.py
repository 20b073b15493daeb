"""The errors that the pages of the reference show are PyTorch's: the same class and the same first
line, with a count that must not fall.
"""

import inspect
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "docs"))
try:
    import mistakes
    import reference
finally:
    sys.path.pop(0)

from pellucid import nn  # noqa: E402

EQUAL = 0.93


def shown():
    """Every error of a page, of functions and of layers."""
    for entry in reference.entries():
        yield from mistakes.of_function(entry)
    for name in sorted(dir(nn)):
        cls = getattr(nn, name)
        if inspect.isclass(cls) and issubclass(cls, nn.Module) and hasattr(torch.nn, name):
            yield from mistakes.of_layer(cls)


def test_pages_show_the_errors_of_pytorch():
    count, other = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call, error, message in shown():
            count += 1
            try:
                eval(call, {"torch": torch})
                found = ("", "accepted")
            except Exception as theirs:
                line = (str(theirs).strip().splitlines() or [""])[0]
                short = (
                    line
                    if len(line) <= mistakes.LONGEST
                    else line[: mistakes.LONGEST - 3].rstrip() + "..."
                )
                found = (type(theirs).__name__, short)
            if found != (error, message):
                other.append(f"{call}\n  PyTorch:  {found}\n  Pellucid: {(error, message)}")
    assert count > 900
    assert len(other) <= (1 - EQUAL) * count, (
        f"{len(other)} of {count} differ\n" + "\n".join(other)[:20000]
    )
