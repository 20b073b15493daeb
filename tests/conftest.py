"""What all tests share."""

import os
from pathlib import Path

import pytest

import pellucid


@pytest.fixture(scope="session", autouse=True)
def same_package_in_child_processes():
    """Processes that tests start import the package under test, whatever folder they start in."""
    root = str(Path(pellucid.__file__).resolve().parents[1])
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([root, before] if before else [root])
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before
