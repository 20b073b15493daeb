"""Compiled functions under test are verified after each pass of the compiler."""

import pytest

from pellucid import config


@pytest.fixture(autouse=True)
def verified(monkeypatch):
    monkeypatch.setattr(config, "verify", True)
