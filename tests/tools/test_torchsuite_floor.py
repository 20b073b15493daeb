import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import torchsuite_floor
    finally:
        sys.path.pop(0)
    return torchsuite_floor


@pytest.fixture
def run(tool, tmp_path):
    report, held = tmp_path / "report.json", tmp_path / "held.json"

    def run(failing, floor=3, reasons=(), *options):
        part = {
            "file": "one",
            "passed": 5 - len(failing),
            "baseline": 5,
            "failing": dict.fromkeys(failing, "Error: text"),
        }
        report.write_text(
            json.dumps({"passed": part["passed"], "failed": len(failing), "files": [part]})
        )
        held.write_text(
            json.dumps({"floor": {"one": floor}, "reasons": dict.fromkeys(reasons, "why")})
        )
        return tool.main([str(report), str(held), *options]), json.loads(held.read_text())

    return run


def test_known_failures_pass(run):
    assert run(["A.a"], 3, ["one::A.a", "other::B.b"])[0] == 0


def test_failures_without_a_reason_fail(run, capsys):
    assert run(["A.a"])[0] == 1
    assert "FELL  one::A.a: Error: text" in capsys.readouterr().err


def test_counts_under_the_floor_fail(run):
    assert run(["A.a"], 5, ["one::A.a"])[0] == 1


def test_raising_writes_counts_and_takes_out_what_passes(run):
    code, held = run([], 3, ["one::A.a", "other::B.b"], "--raise")
    assert code == 0 and held == {"floor": {"one": 5}, "reasons": {"other::B.b": "why"}}


def test_what_is_held_is_whole():
    held = json.loads((ROOT / "tests/oracle/torchsuite.json").read_text())
    assert all(count > 0 for count in held["floor"].values())
    assert all(
        name.partition("::")[0] in held["floor"] and len(reason) > 10
        for name, reason in held["reasons"].items()
    )
