"""Libraries that are written for PyTorch: each tour prints the same with PyTorch and with Pellucid
in its place.

`make tours` sets up an environment with the libraries; elsewhere a tour whose library is missing is
skipped.
"""

import ast
import importlib.util
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

TOURS = Path(__file__).parent / "tours"


def needs(path):
    """The names of the packages that a tour imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module.partition(".")[0])
    return found - {"_parts"}


NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?")


def numbers_apart(text):
    """The text with its fractions taken out, and the fractions."""
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


def assert_the_same(said, expected):
    """Two outputs differ in nothing but the last digits of fractions: sums are rounded in another
    order.
    """
    (words, numbers), (wanted, others) = numbers_apart(said), numbers_apart(expected)
    assert words == wanted
    for line, (a, b) in enumerate(zip(numbers, others, strict=True)):
        assert math.isclose(a, b, rel_tol=1e-3, abs_tol=2e-4), (
            f"fraction {line}: {a}, PyTorch {b}\n{said}\n{expected}"
        )


@pytest.mark.parametrize("name", sorted(path.stem for path in TOURS.glob("[a-z]*.py")))
def test_a_tour_prints_the_same(name):
    missing = sorted(
        package
        for package in needs(TOURS / f"{name}.py")
        if importlib.util.find_spec(package) is None
    )
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed")
    root = Path(__file__).resolve().parents[2]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{root}{os.pathsep}{TOURS}",
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
    }
    said = []
    for way in ([], ["-m", "pellucid", "run"]):
        command = [sys.executable, *way, str(TOURS / f"{name}.py")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
        if not way and "operator torchvision::nms does not exist" in done.stderr:
            pytest.skip("PyTorch cannot load the compiled part of this torchvision")
        assert done.returncode == 0, done.stderr[-3000:]
        said.append(done.stdout)
    assert_the_same(said[1], said[0])
