"""Compiled functions under test are verified after each pass of the compiler; `eager_and_compiled` is the tests' harness."""

import sys
from pathlib import Path

import pytest

from pellucid import config

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setattr(config, "verify", True)
