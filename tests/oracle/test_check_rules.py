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

SOME = tuple(sorted({*scripts.few(), *scripts.CASES[::4]}))


@pytest.mark.parametrize("case", SOME)
def test_script(case):
    assert scripts.complaint(case, "torch", SOME) is None


@pytest.mark.parametrize("path", [*scripts.CORRECT, *scripts.EXAMPLES], ids=lambda path: path.stem)
def test_correct_programs_have_no_findings(path):
    result = scripts.checked("torch", SOME)[path.stem]
    assert result["findings"] == [] and result["failure"] is None and result["notes"] == []


@pytest.mark.parametrize("case", SOME)
def test_both_engines_say_the_same(case):
    assert scripts.complaint(case, "pellucid", SOME) is None
    ours, theirs = (
        scripts.checked(engine, SOME)[case]["findings"] for engine in ("pellucid", "torch")
    )
    assert [(f["name"], f["line"], f["message"], f["fix"]) for f in ours] == [
        (f["name"], f["line"], f["message"], f["fix"]) for f in theirs
    ]
