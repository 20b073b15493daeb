"""Every example runs in its quick mode, learns, and is a plain PyTorch script. Its numbers are held
to PyTorch's in tests/oracle.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
# The first and last of these numbers that an example prints; the last must be smaller for the ones
# that descend steadily.
STEADY = {
    "char_gpt": r"loss ([\d.]+)",
    "vae": r"loss ([\d.]+)",
    "dcgan": r"Loss_D ([\d.]+)",
    "gcn": r"loss ([\d.]+)",
    "neural_ode": r"loss ([\d.]+)",
    "ddpm": r"loss ([\d.]+)",
    "realnvp": r"loss ([\d.]+)",
    "seq2seq": r"loss ([\d.]+)",
}


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name):
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "pellucid",
        "run",
        str(EXAMPLES / f"{name}.py"),
        "--quick",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    if name in STEADY:
        numbers = [float(n) for n in re.findall(STEADY[name], done.stdout)]
        assert len(numbers) >= 10 and numbers[-1] < numbers[0]


@pytest.mark.parametrize("name", NAMES)
def test_example_explains_itself(name):
    command = [sys.executable, "-m", "pellucid", "run", str(EXAMPLES / f"{name}.py"), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "--quick" in done.stdout
