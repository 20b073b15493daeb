"""The examples under PyTorch and under `pellucid run`: the same file, the same numbers."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def printed(*command):
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_times(text):
    return re.sub(r"in [\d.]+ s$", "in T s", text, flags=re.MULTILINE)


def test_no_example_mentions_pellucid():
    for path in EXAMPLES.glob("*.py"):
        assert "pellucid" not in path.read_text(encoding="utf-8").lower(), path.name


@pytest.mark.parametrize("seed", [0, 1])
def test_digits_prints_the_same_losses_and_accuracies(seed):
    script = EXAMPLES / "digits.py"
    theirs = printed(script, "--seed", seed)
    ours = printed("-m", "pellucid", script, "--seed", seed)
    assert without_times(ours) == without_times(theirs)
    accuracy = float(re.search(r"^test accuracy ([\d.]+)%", ours, flags=re.MULTILINE)[1])
    assert accuracy >= 97


OTHERS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "digits")


@pytest.mark.parametrize("name", OTHERS)
def test_example_prints_pytorchs_numbers(name):
    """Every number but the times, to a relative 0.1 %: twenty steps or more of float32 training
    from the same seed.
    """
    script = EXAMPLES / f"{name}.py"
    theirs, ours = printed(script, "--quick"), printed("-m", "pellucid", script, "--quick")
    lines = [
        line
        for line in theirs.splitlines()
        if re.search(r"loss|accuracy|edges|parameters", line, re.IGNORECASE)
    ]
    mine = [
        line
        for line in ours.splitlines()
        if re.search(r"loss|accuracy|edges|parameters", line, re.IGNORECASE)
    ]
    assert len(lines) == len(mine) >= 10
    for a, b in zip(lines, mine, strict=True):
        x, y = (re.findall(r"-?\d+\.?\d*", without_times(line)) for line in (a, b))
        assert [float(n) for n in y] == pytest.approx([float(n) for n in x], rel=1e-3, abs=2e-4), (
            a,
            b,
        )
