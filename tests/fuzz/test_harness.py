"""What counts as a hang."""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import harness


@pytest.fixture
def watched(monkeypatch):
    """A watch over a process whose processor time is `now["computed"]` at `now["clock"]`."""
    now = {"computed": 1.0, "clock": 100.0}
    monkeypatch.setattr(harness, "processor_time", lambda process: now["computed"])
    monkeypatch.setattr(time, "monotonic", lambda: now["clock"])
    progress = harness.Progress()
    watch = harness.Watch(0, progress)
    progress.tell(0)
    assert watch.hangs() is None
    return watch, progress, now


def test_a_case_that_computes_for_too_long_hangs(watched):
    watch, _, now = watched
    now["computed"] += harness.SECONDS_A_CASE + 1
    assert watch.hangs() == "hang: no end within the time limit"


def test_the_next_case_has_its_own_time(watched):
    watch, progress, now = watched
    now["computed"] += harness.SECONDS_A_CASE - 1
    assert watch.hangs() is None
    progress.tell(1)
    assert watch.hangs() is None
    now["computed"] += harness.SECONDS_A_CASE - 1
    assert watch.hangs() is None


def test_a_busy_machine_makes_no_hang(watched):
    watch, _, now = watched
    for _ in range(20):
        now["clock"] += harness.SECONDS_A_CASE
        now["computed"] += 1
        assert watch.hangs() is None


def test_a_process_that_waits_hangs(watched):
    watch, _, now = watched
    now["clock"] += harness.SECONDS_WITHOUT_PROGRESS + 1
    assert watch.hangs() == "hang: waits without computing"


def test_what_pytorch_takes_is_not_counted_and_allows_several_times_as_much(watched):
    watch, progress, now = watched
    progress.tell(0, reference=0.0, since=now["computed"])
    now["computed"] += 70
    assert watch.hangs() is None
    progress.tell(0, reference=70.0)
    now["computed"] += harness.SECONDS_A_CASE + 1
    assert watch.hangs() is None
    now["computed"] += harness.TIMES_PYTORCH * 70
    assert watch.hangs() == "hang: no end within the time limit"


def test_what_pytorch_does_not_end_is_no_failure(watched):
    watch, progress, now = watched
    progress.tell(0, reference=0.0, since=now["computed"])
    now["computed"] += harness.SECONDS_OF_PYTORCH + 1
    text = watch.hangs()
    assert text is not None
    assert harness.reason(harness.load("writes"), text) is not None


def test_a_death_is_the_one_s_who_computed():
    class Fuzzer:
        KNOWN: ClassVar = {}

        @staticmethod
        def run(case):
            with harness.reference() if case == "theirs" else contextlib.nullcontext():
                os.kill(os.getpid(), signal.SIGKILL)

    deaths = []
    harness.isolated(
        Fuzzer,
        iter([(0, "mine"), (1, "theirs")]),
        lambda number, case, text: deaths.append((case, text)),
        time.monotonic() + 60,
    )
    assert deaths == [("mine", "crash: SIGKILL"), ("theirs", harness.DIED_THERE)]
    assert harness.reason(Fuzzer, harness.DIED_THERE)
    assert not harness.reason(Fuzzer, "crash: SIGKILL")


def test_the_time_of_pytorch_is_measured_in_the_process():
    harness._progress.tell(3)
    with harness.reference():
        while time.process_time() < harness._progress.read()[2] + 0.01:
            pass
    case, reference, since = harness._progress.read()
    assert (case, since) == (3, 0.0)
    assert 0.01 <= reference < 1


def test_the_processor_time_of_a_process_is_its_own():
    assert harness.processor_time(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)
