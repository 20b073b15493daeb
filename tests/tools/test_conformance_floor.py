import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import conformance_floor
    finally:
        sys.path.pop(0)
    return conformance_floor


def report(forward=10, ok=3, finished=True):
    parts = {
        part: {"checks_passed": 5}
        for part in ("grad", "second_order", "variants", "errors_refused")
    }
    return {
        "finished": finished,
        "core": {"present": 4, "ok": ok, "forward": {"checks_passed": forward}, **parts},
    }


@pytest.fixture
def files(tmp_path):
    result, floor = tmp_path / "result.json", tmp_path / "floor.json"
    floor.write_text((ROOT / "tests/oracle/conformance_floor.json").read_text())

    def write(**changes):
        result.write_text(json.dumps(report(**changes)))
        return [str(result), str(floor)]

    return write


def test_counts_at_or_above_the_floor_pass(tool, files):
    arguments = files(forward=10**6, ok=10**6)
    found = tool.counts(json.loads(Path(arguments[0]).read_text()))
    Path(arguments[1]).write_text(json.dumps(found))
    assert tool.main(arguments) == 0


def test_a_count_that_fell_fails_and_is_named(tool, files, capsys):
    arguments = files()
    Path(arguments[1]).write_text(json.dumps(tool.counts(report(forward=11))))
    assert tool.main(arguments) == 1
    assert "FELL  forward: 10, was 11" in capsys.readouterr().err


def test_a_run_that_was_cut_short_fails(tool, files, capsys):
    assert tool.main(files(finished=False)) == 1
    assert "did not finish" in capsys.readouterr().err


def test_raise_writes_the_higher_counts(tool, files):
    arguments = files()
    Path(arguments[1]).write_text(json.dumps(tool.counts(report(forward=1))))
    assert tool.main([*arguments, "--raise"]) == 0
    assert json.loads(Path(arguments[1]).read_text())["forward"] == 10


def test_raise_never_lowers_a_floor(tool, files):
    arguments = files()
    Path(arguments[1]).write_text(json.dumps(tool.counts(report(ok=9))))
    assert tool.main([*arguments, "--raise"]) == 1
    assert json.loads(Path(arguments[1]).read_text())["ok"] == 9


def test_the_kept_floor_has_a_number_for_every_count(tool):
    floor = json.loads((ROOT / "tests/oracle/conformance_floor.json").read_text())
    assert floor.keys() == tool.counts(report()).keys()
    assert all(isinstance(value, int) and value >= 0 for value in floor.values())
