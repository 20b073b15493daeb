"""The rules of `pellucid check` on real PyTorch: the same scripts, the same findings as on
Pellucid.
"""

import importlib.util
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).resolve().parents[1] / "check"

_spec = importlib.util.spec_from_file_location("scripts_of_rules", HERE / "scripts_of_rules.py")
scripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(scripts)


@pytest.mark.parametrize("case", scripts.CASES)
def test_script(case):
    assert scripts.complaint(case, "torch") is None


@pytest.mark.parametrize("path", [*scripts.CORRECT, *scripts.EXAMPLES], ids=lambda path: path.stem)
def test_correct_programs_have_no_findings(path):
    result = scripts.checked("torch")[path.stem]
    assert result["findings"] == [] and result["failure"] is None and result["notes"] == []


@pytest.mark.parametrize("case", scripts.CASES)
def test_both_engines_say_the_same(case):
    assert scripts.complaint(case, "pellucid") is None
    ours, theirs = (scripts.checked(engine)[case]["findings"] for engine in ("pellucid", "torch"))
    assert [(f["name"], f["line"], f["message"], f["fix"]) for f in ours] == [
        (f["name"], f["line"], f["message"], f["fix"]) for f in theirs
    ]
