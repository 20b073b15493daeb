"""Everything in this folder compares with PyTorch."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Programs: tests run `tours` in processes of their own, and import the others, which import
# PyTorch.
collect_ignore_glob = [
    "tours/*",
    "captured_writes.py",
    "error_texts.py",
    "overloads.py",
    "small_types.py",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.oracle)
