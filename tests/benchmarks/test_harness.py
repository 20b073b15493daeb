"""The harness's arithmetic and reports, with a clock that the test turns by hand. Nothing here
measures time.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "harness.py"


@pytest.fixture
def harness(monkeypatch):
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "PELLUCID_NUM_THREADS",
    ):
        monkeypatch.setenv(name, "1")
    spec = importlib.util.spec_from_file_location("harness", PATH)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "harness", module)
    spec.loader.exec_module(module)
    # Each round collects garbage first, which takes long where thousands of tests are loaded.
    monkeypatch.setattr(module.gc, "collect", lambda: 0)
    return module


@pytest.fixture
def clock(harness, monkeypatch):
    """Work that takes as long as it says."""
    now = [0.0]
    monkeypatch.setattr(harness, "perf_counter", lambda: now[0])

    def work(seconds):
        def run():
            now[0] += seconds

        return run

    return work


def test_ratio_of_two_works(harness, clock):
    result = harness.compare("case", clock(1e-3), clock(4e-3), target=0.3)
    assert result.ours == pytest.approx(1e-3)
    assert result.theirs == pytest.approx(4e-3)
    assert [result.low, result.ratio, result.high] == pytest.approx([0.25] * 3)
    assert result.met is True
    assert harness.compare("case", clock(1e-3), clock(4e-3), target=0.2).met is False


def test_slow_spells_of_the_machine_do_not_move_the_median(harness, monkeypatch):
    now, calls = [0.0], [0]
    monkeypatch.setattr(harness, "perf_counter", lambda: now[0])

    def ours():
        calls[0] += 1
        now[0] += 10.0 if calls[0] > 200 and calls[0] % 200 == 0 else 1e-3

    def theirs():
        now[0] += 2e-3

    assert harness.compare("case", ours, theirs, rounds=9).ratio == pytest.approx(0.5)


def test_without_the_other_library_only_our_time_is_reported(harness, clock):
    result = harness.compare("case", clock(2e-6), target=1.0)
    assert (result.theirs, result.ratio, result.met) == (None, None, None)
    assert "2 us" in harness.table([result])


def test_the_garbage_collector_is_as_it_was(harness, clock):
    import gc

    harness.compare("case", clock(1.0), clock(1.0), rounds=1)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5e-9, "2.5 ns"), (1.5e-6, "1.5 us"), (0.0123, "12.3 ms"), (3.0, "3 s")]
)
def test_durations_are_readable(harness, seconds, text):
    assert harness.human_time(seconds) == text


def test_table_marks_targets(harness):
    rows = [
        harness.Result("fast", 1.0, 2.0, 0.5, 0.4, 0.6, 0.7),
        harness.Result("slow", 2.0, 1.0, 2.0, 1.9, 2.1, 1.0),
    ]
    lines = harness.table(rows).splitlines()
    assert lines[2].split() == ["fast", "1", "s", "2", "s", "0.50", "0.40-0.60", "0.70", "met"]
    assert lines[3].endswith("MISSED")


def test_suite_gives_each_library_to_the_case_and_writes_json(
    harness, clock, monkeypatch, tmp_path, capsys
):
    libraries = SimpleNamespace(cost=1e-3), SimpleNamespace(cost=2e-3)
    monkeypatch.setattr(harness, "libraries", lambda: libraries)
    suite = harness.Suite("toys")

    @suite.case("first", target=1.0)
    def first(lib):
        return clock(lib.cost)

    @suite.case("second", theirs=lambda lib: clock(4 * lib.cost))
    def second(lib):
        return clock(lib.cost)

    assert suite.main(["--no-pin", "--rounds", "3", "--json", str(tmp_path / "out.json")]) == 0
    report = json.loads((tmp_path / "out.json").read_text())
    assert [row["name"] for row in report["results"]] == ["first", "second"]
    assert [row["ratio"] for row in report["results"]] == pytest.approx([0.5, 0.125])
    assert report["machine"]["python"]
    assert "toys" in capsys.readouterr().out
    assert suite.main(["--no-pin", "--rounds", "3", "--only", "sec"]) == 0
    assert "first" not in capsys.readouterr().out
