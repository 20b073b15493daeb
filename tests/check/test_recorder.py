"""What rules are told, on Pellucid; tests/oracle/test_check_recorder.py has the same on PyTorch."""

import importlib.util
from pathlib import Path

import pytest

import pellucid

_spec = importlib.util.spec_from_file_location(
    "recorder_cases", Path(__file__).parent / "recorder_cases.py"
)
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


@pytest.mark.parametrize("name", cases.CASES)
def test_case(name, monkeypatch):
    monkeypatch.setenv("PELLUCID_CHECK_RAISE", "1")
    cases.CASES[name](pellucid, "pellucid")
