"""Cases that a fuzzer found and that were mended do not fail again."""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import harness

CASES = [(name, path) for name in harness.FUZZERS for path in harness.corpus(name)]


@pytest.mark.parametrize(
    ("name", "path"), CASES, ids=lambda value: value.stem if isinstance(value, Path) else value
)
def test_case(name, path):
    fuzzer = harness.load(name)
    if fuzzer.NEEDS_TORCH and importlib.util.find_spec("torch") is None:
        pytest.skip("compares with PyTorch")
    assert harness.replay(fuzzer, path) is None
