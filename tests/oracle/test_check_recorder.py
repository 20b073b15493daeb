"""What rules of `pellucid check` are told on real PyTorch is what they are told on Pellucid."""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

_spec = importlib.util.spec_from_file_location(
    "recorder_cases", Path(__file__).resolve().parents[1] / "check" / "recorder_cases.py"
)
cases = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(cases)


@pytest.mark.parametrize("name", cases.CASES)
def test_case(name, monkeypatch):
    monkeypatch.setenv("PELLUCID_CHECK_RAISE", "1")
    cases.CASES[name](torch, "torch")
