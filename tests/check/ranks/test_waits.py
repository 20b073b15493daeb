"""Where the time of ranks goes, on journals that are written here: the numbers are known."""

import importlib.util
import json
from pathlib import Path

import pytest

from pellucid.check import Settings
from pellucid.check.ranks import launch, merge, waits
from pellucid.check.ranks.conditions import condition
from pellucid.check.ranks.job import Job, RankLine
from pellucid.debug.pictures import timeline

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("browser", HERE.parents[1] / "debug" / "browser.py")
browser = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(browser)

SOURCE = "import time\n\nfor step in range(12):\n    time.sleep(late)\n    loss.backward()\n    optimizer.step()\n"


class Writer:
    """A journal made by hand; times in milliseconds."""

    def __init__(self, folder, rank, size, script):
        self.events = [
            {
                "e": "init",
                "t": 0.0,
                "rank": rank,
                "size": size,
                "pid": 1000 + rank,
                "engine": "pellucid",
                "s": 0,
            }
        ]
        self.path, self.calls = folder / f"{1000 + rank}.jsonl", 0
        self.size = size
        for n, line in enumerate((4, 5, 6)):
            self.events.insert(
                n,
                {
                    "e": "site",
                    "t": 0.0,
                    "n": n,
                    "file": str(script),
                    "line": line,
                    "function": "<module>",
                },
            )
            self.events.insert(n + 1, {"e": "chain", "t": 0.0, "n": n, "sites": [n]})

    def say(self, kind, t, /, **facts):
        self.events.append({"e": kind, "t": t / 1000, **facts})

    def reduce(self, begin, waits_from, last, end, why="gradients"):
        """An all_reduce: begun, waited for from a time on, moving once the last rank is there."""
        self.calls += 1
        self.say(
            "call",
            begin,
            c=self.calls,
            name="all_reduce",
            group="the default group",
            ranks=list(range(self.size)),
            n=self.calls,
            words="all_reduce(SUM, float32[1000, 2])",
            s=1,
            chain=1,
            why=why,
        )
        self.say("done", end, c=self.calls, error=None)
        if waits_from is not None:
            self.say("wait", end, c=self.calls, b=waits_from / 1000, s=1)

    def write(self, ended=True):
        if ended:
            self.say("end", 1000 * max(e["t"] for e in self.events), failed=False)
        self.path.write_text("".join(json.dumps(e) + "\n" for e in self.events))


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return path


def steps(folder, script, lateness, queued=0.0):
    """Twelve steps of 10 ms of two ranks; rank 1 comes `lateness` ms after rank 0 to each
    reduction.
    """
    for rank in range(2):
        writer = Writer(folder, rank, 2, script)
        for k in range(12):
            t = 10.0 * k
            own = 2.0 + (lateness if rank == 1 else 0.0)
            writer.say("at", t, s=0)
            writer.say("at", t + own - 1, s=1)
            last = t + 2.0 + lateness
            writer.say("span", t + own, k="backward", b=(t + own - 1) / 1000, s=1)
            writer.reduce(t + own, t + own, last, last + 0.5)
            writer.say(
                "step",
                last + 1,
                n=k,
                s=2,
                lrs=[0.1],
                made=2,
                opt=0,
                queued=queued * k / 1000 if rank == 1 else 0.0,
            )
        writer.write()
    return Job(folder)


def found(folder, script):
    return [
        (f.name, f.line) for f in merge.merged(folder, Settings(), str(script), "pellucid").findings
    ]


def test_a_straggler_is_one_that_is_late_by_itself(tmp_path, script):
    for name, late, queued, said in (
        ("late", 4.0, 0.0, [("straggler", 4)]),
        ("even", 0.1, 0.0, []),
        ("no processor", 4.0, 4.0, []),
    ):
        folder = tmp_path / name
        folder.mkdir()
        steps(folder, script, late, queued)
        assert found(folder, script) == said, name


def test_waits_are_told_with_whom_and_where(tmp_path, script):
    job = steps(tmp_path, script, 4.0)
    times = waits.Times(job)
    assert {(w.rank, w.whom, round(1e3 * w.seconds, 3)) for w in times.waits} == {
        (0, 1, 4.0)
    } and len(times.waits) == 12
    first = times.waits[0]
    assert {str(place): round(1e3 * s, 3) for place, s in first.there.items()} == {
        "train.py:4": 3.0,
        "train.py:5": 1.0,
    }
    totals = times.totals(job.ranks[0])
    assert totals["wait"] == pytest.approx(0.048) and totals["communicate"] == pytest.approx(0.006)
    assert sum(totals[k] for k in waits.KINDS) == pytest.approx(
        job.ranks[0].end - job.ranks[0].begin
    )
    assert times.totals(job.ranks[1])["wait"] == 0.0
    (row,) = times.by_line()
    assert (row["calls"], row["last"], row["share"], str(row["place"])) == (
        12,
        1,
        1.0,
        "train.py:5",
    )
    assert (
        row["spread"] == pytest.approx(0.004)
        and row["bytes"] == 12 * 8000
        and row["seconds"] == pytest.approx(0.0005)
    )
    text = waits.told(job, 0, most=1)
    assert "it waited for other ranks 0.05 s" in text and "for rank 1: 0.05 s" in text
    assert (
        "4.0 ms at train.py:5 in all_reduce number 1 of the default group (gradients of a bucket), for rank 1"
        in text
    )
    assert "rank 1 was at train.py:4 for 3.0 ms: time.sleep(late)" in text
    assert waits.told(job, 7) == "" and waits.listing(job, 1) == []


def test_a_reduction_that_runs_while_the_rank_computes_is_hidden(tmp_path, script):
    for rank in range(2):
        writer = Writer(tmp_path, rank, 2, script)
        writer.reduce(1.0, 5.0, 1.0, 6.0)  # under way from 1 to 6, waited for from 5 on
        writer.write()
    totals = waits.Times(Job(tmp_path)).totals(Job(tmp_path).ranks[0])
    assert (
        totals["hidden"] == pytest.approx(0.004)
        and totals["communicate"] == pytest.approx(0.001)
        and totals["wait"] == 0.0
    )


def test_a_wait_that_never_ends(tmp_path, script):
    writer = Writer(tmp_path, 0, 2, script)
    writer.say(
        "call",
        2.0,
        c=1,
        name="barrier",
        group="the default group",
        ranks=[0, 1],
        n=1,
        words="barrier()",
        s=1,
        chain=1,
        why="program",
    )
    writer.say(
        "error",
        50.0,
        kind="DistBackendError",
        text="Timed out waiting 40ms",
        whole="",
        s=1,
        notes=[],
        trace="",
    )
    writer.write(ended=False)
    other = Writer(tmp_path, 1, 2, script)
    other.say("at", 1.0, s=0)
    other.say(
        "error", 40.0, kind="ValueError", text="bad sample", whole="", s=0, notes=[], trace=""
    )
    other.write(ended=False)
    text = waits.told(Job(tmp_path), 0)
    assert (
        "48.0 ms at train.py:5 in barrier number 1 of the default group, for rank 1, which never came"
        in text
    )
    assert "it had raised ValueError: bad sample" in text
    assert found(tmp_path, script) == [("rank-failed", 4)]


def test_errors_of_the_same_moment(tmp_path, script):
    for rank, kind in enumerate(("DistBackendError", "ValueError", "TypeError")):
        writer = Writer(tmp_path, rank, 3, script)
        facts = {"kind": kind, "text": f"of {rank}", "whole": "", "notes": [], "trace": ""}
        writer.say("error", 40.0, s=0, **facts)
        writer.write(ended=False)
    result = merge.merged(tmp_path, Settings(), str(script), "pellucid")
    assert str(result.failure) == "rank 1: ValueError: of 1"


def test_a_journal_that_ends_within_a_line(tmp_path, script):
    job = steps(tmp_path, script, 1.0)
    path = job.ranks[1].path
    path.write_text(path.read_text()[:-40])
    assert len(Job(tmp_path).ranks[1].all("step")) == 12


def test_stalls_are_seen_and_busy_ranks_left_alone(tmp_path, script, monkeypatch):
    monkeypatch.setattr(launch._Seen, "alive", lambda self: True)
    monkeypatch.setattr(launch.time, "monotonic", lambda: 1.0)
    busy = {1000: False, 1001: False}
    monkeypatch.setattr(launch._Seen, "works", lambda self: busy[self.pid])
    waiting = Writer(tmp_path, 0, 2, script)
    waiting.say(
        "call",
        2.0,
        c=1,
        name="barrier",
        group="g",
        ranks=[0, 1],
        n=1,
        words="barrier()",
        s=1,
        chain=1,
        why="program",
    )
    waiting.write(ended=False)
    other = Writer(tmp_path, 1, 2, script)
    other.say("at", 5.0, s=0)
    other.write(ended=False)
    assert (
        launch.Stalls(str(tmp_path), 0.5)._stalled()
        and not launch.Stalls(str(tmp_path), 2.0)._stalled()
    )
    busy[1001] = True
    assert not launch.Stalls(str(tmp_path), 0.5)._stalled()  # it computes: ten times as long


CONDITIONS = '''
import torch.distributed as dist
rank = dist.get_rank()
main = rank == 0
if rank == 0:
    dist.barrier()
if world_size > 1:
    dist.barrier()
main and dist.barrier()
value = dist.barrier() if main else None
def save(self):
    if not self.is_main_process:
        return
    dist.barrier()
def log(rank):
    with open("x") as f:
        dist.barrier()
while dist.get_rank() == 0:
    dist.barrier()
'''  # fmt: skip


@pytest.mark.parametrize(
    "line, said",
    [
        (6, (5, "rank == 0")),
        (8, None),
        (9, (9, "main")),
        (10, (10, "main")),
        (14, (12, "not self.is_main_process")),
        (17, None),
        (19, (18, "dist.get_rank() == 0")),
    ],
)
def test_conditions_on_the_rank(line, said, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(CONDITIONS)
    assert condition(str(path), line) == said


def test_the_page_shows_ranks_lines_and_findings(tmp_path, script):
    job = steps(tmp_path, script, 4.0)
    data = waits.page_data(job)
    assert [len(r["segments"]) > 12 for r in data["ranks"]] == [True, True] and data["leftOut"] == 0
    result = merge.merged(tmp_path, Settings(), str(script), "pellucid")
    html = timeline.timeline(
        data, about="two <ranks>", findings=[f.as_dict() for f in result.findings], notes=["a note"]
    )
    for part in ("two &lt;ranks&gt;", "straggler", "waiting for ranks", "a note"):
        assert part in html
    page = timeline.write(tmp_path / "ranks.html", html)
    if browser.find() is None:
        pytest.skip("no browser")
    seen = browser.Browser(1366, 900)
    try:
        for scheme in ("light", "dark"):
            seen.scheme(scheme)
            seen.open(page)
            assert seen.errors == [] and len(seen.requests) <= 1
            assert seen.run("document.documentElement.scrollWidth <= innerWidth")
            # Pointing at rank 0 while it waits tells for whom, and where that rank was.
            said = seen.run("""(() => { const c = document.getElementById('ranks'), b = c.getBoundingClientRect();
                for (let x = 80; x < b.width; x += 2) {
                  c.dispatchEvent(new PointerEvent('pointermove', {clientX: b.left + x, clientY: b.top + 40}));
                  const t = document.querySelector('.tip:not([hidden])');
                  if (t && t.textContent.includes('waits for rank 1')) return t.innerText;
                } return ''; })()""")
            assert (
                "all_reduce number" in said
                and "train.py:5" in said
                and "rank 1 was at train.py:4: time.sleep(late)" in said
            ), said
    finally:
        seen.close()


def test_places_are_short():
    assert str(RankLine("/a/b/train.py", 3)) == "train.py:3"
