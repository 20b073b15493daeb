"""`explain()` of compiled functions, what happens where native code cannot be made, and several
threads.
"""

import html.parser
import re
import threading
import warnings

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid.compiler import passes
from pellucid.compiler.report import measure
from pellucid.compiler.run import execute
from pellucid.ir.program import VerificationError
from pellucid.kernels import schedule
from pellucid.llvm import target

nn = torch.nn


def step_of_a_network(dropout=0.0):
    torch.manual_seed(0)
    m = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(dropout), nn.Linear(32, 4))
    o = torch.optim.Adam(m.parameters())

    def step(x, y):
        o.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        o.step()
        return loss

    return m, step


def batch(seed=1):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(16, 20, generator=g), torch.randint(0, 4, (16,), generator=g)


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = {}

    def handle_starttag(self, tag, attrs):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        assert not any(value and "//" in value for name, value in attrs if name in ("src", "href"))


@pytest.mark.skipif(not target.available(), reason="needs llvmlite")
def test_the_explanation_of_a_step(tmp_path):
    m, step = step_of_a_network(0.5)
    run = torch.compile(step)
    for _ in range(4):
        run(*batch())
    before = {k: v.clone() for k, v in m.state_dict().items()}
    state = torch.get_rng_state()
    e = torch.compiler.explain(run)
    assert all(torch.equal(before[k], v) for k, v in m.state_dict().items()) and torch.equal(
        state, torch.get_rng_state()
    )
    for part in (
        "step: 1 traced version\n",
        "linear(x0, m.0.weight, m.0.bias)",
        "-- backward",
        "test_explanation.py:",
        "-- update",
        "guards, compared at each call",
        "product 16x20x32",
        "loop over 16x32",
        "adam update of 4 parameters",
        "cross entropy of 16 rows",
        "GB/s",
        "bytes for",
        "bernoulli of",
    ):
        assert part in e.text, part
    tags = Tags()
    tags.feed(e.html)
    assert tags.seen["table"] == 1 and tags.seen["svg"] == 2 and tags.seen["details"] > 4
    rows = re.findall(r"<tr class=\w+ id='([^']+)'", e.html)
    assert rows and re.findall(r"<a href='#([^']+)'", e.html) == rows, (
        "each bar of the timeline leads to its row"
    )
    assert (
        "It runs as " in e.html
        and "at best, µs" in e.html
        and re.search(r"<summary>\w[\w.]*</summary><pre>define", e.html)
    )
    assert "define" in e.html and "<locals>" not in e.html
    e.save(tmp_path / "step.html")
    e.save(tmp_path / "step.txt")
    assert (tmp_path / "step.html").read_text() == e.html and (
        tmp_path / "step.txt"
    ).read_text() == e.text + "\n"
    assert e._repr_html_().startswith("<details")
    assert run.explain().title == e.title


def test_calls_of_python_are_marked():
    run = torch.compile(lambda x: x.logcumsumexp(0) + 1)
    for _ in range(2):
        run(torch.ones(3))
    text = run.explain().text
    assert (
        "Python calls: logcumsumexp (no native code)" in text
        and "[a call of Python: no native code]" in text
    )


def test_timings_do_not_touch_the_state():
    m, step = step_of_a_network()
    run = torch.compile(step)
    losses = []
    for _ in range(6):
        losses.append(run(*batch()).item())
        if run.versions:
            for t in measure.timings(run.versions[0].code.run):
                assert t.seconds is None or t.seconds > 0
                assert t.bytes >= 0 and t.flops >= 0
            alone = measure.one_by_one(run.versions[0].code.run)
            assert alone is not None and alone > 0
    _, step = step_of_a_network()
    assert losses == pytest.approx([step(*batch()).item() for _ in range(6)], rel=1e-5)


def test_without_a_compiler_everything_still_runs(monkeypatch):
    monkeypatch.setattr(execute.target, "available", lambda: False)
    m, step = step_of_a_network()
    run = torch.compile(step)
    losses = [run(*batch()).item() for _ in range(5)]
    assert run.versions[0].hits == 4 and not run.versions[0].code.run.schedules
    monkeypatch.undo()
    _, step = step_of_a_network()
    assert losses == [step(*batch()).item() for _ in range(5)]


@pytest.mark.skipif(not target.available(), reason="needs llvmlite")
def test_a_failure_of_the_compiler_is_told_once_and_costs_no_result(monkeypatch):
    monkeypatch.setattr(schedule.Schedule, "compile", lambda self, name: None)
    monkeypatch.setattr(execute, "_warned", set())
    m, step = step_of_a_network()
    run = torch.compile(step)
    with pytest.warns(RuntimeWarning, match="runs without native code of its own") as caught:
        losses = [run(*batch()).item() for _ in range(5)]
    assert len(caught) == 1 and run.versions[0].hits == 4
    monkeypatch.undo()
    _, step = step_of_a_network()
    assert losses == [step(*batch()).item() for _ in range(5)]


@pytest.mark.skipif(not target.available(), reason="needs llvmlite")
def test_one_thread_and_two_give_the_same_bits():
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            torch.manual_seed(0)
            m = nn.Sequential(nn.Linear(300, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 10))
            o = torch.optim.AdamW(m.parameters())

            @torch.compile
            def step(x, y, m=m, o=o):
                o.zero_grad()
                loss = F.cross_entropy(m(x), y)
                loss.backward()
                o.step()
                return loss

            g = torch.Generator().manual_seed(2)
            x, y = torch.randn(512, 300, generator=g), torch.randint(0, 10, (512,), generator=g)
            results.append([step(x, y).item() for _ in range(6)])
    finally:
        torch.set_num_threads(before)
    assert results[0] == results[1]


def test_calls_from_several_threads():
    f = torch.compile(lambda x: (torch.tanh(x) * 2).sum(0))
    f(torch.zeros(4, 50))
    wrong = []

    def work(k):
        for i in range(50):
            x = torch.full((4, 50), float(k + i) / 10)
            if not torch.allclose(f(x), (torch.tanh(x) * 2).sum(0)):
                wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert not wrong


def test_a_thread_that_computes_while_another_traces_is_not_traced():
    stop, seen = threading.Event(), []

    def other():
        while not stop.is_set():
            x = torch.ones(3) * 2
            seen.append(x.sum().item())

    t = threading.Thread(target=other)
    t.start()
    try:
        for _ in range(20):
            f = torch.compile(lambda x: (x * 3).exp())
            assert torch.allclose(f(torch.ones(2)), f(torch.ones(2)))
            assert [i.op for i in f.versions[0].code.program.instructions] == ["mul", "exp"]
    finally:
        stop.set()
        t.join()
    assert set(seen) == {6.0}


def test_what_was_traced_again_names_the_tensors_that_are_others():
    compiled = torch.compile(lambda x, y: x * 2 + y)
    compiled(torch.ones(4, 3), torch.ones(3))
    compiled(torch.ones(4, 3), torch.ones(3))
    compiled(torch.ones(2, 3), torch.ones(3, dtype=torch.float64))
    compiled(torch.ones(3, 2).t(), torch.ones(3, dtype=torch.float64, requires_grad=True))
    told = compiled.history
    assert told[1].endswith(
        ": x is float32 [2, 3], was float32 [4, 3], y is float64 [3], was float32 [3]"
    )
    assert told[2].endswith(": x differs in strides, y differs in requires_grad")
    text = compiled.explain().text
    assert (
        "3 traced versions" in text
        and "version 3 for float32 [4, 3], float32 [3], used 1 time\n" in text
    )


def test_the_program_after_each_pass():
    m, step = step_of_a_network()
    run = torch.compile(step)
    run(*batch()), run(*batch())
    code = run.versions[0].code.run
    told = code.after_each_pass()
    assert [name for name, _ in told] == [p.__name__ for p in passes.PASSES]
    assert [p.text() for _, p in told][-1] == code.planned.text() and told[0][1].items is None
    text = str(torch.compiler.explain(run, measure=False, passes=True))
    assert all(f"forward after {name}" in text for name, _ in told) and "update\n" in text
    assert "after fuse_loops" not in str(torch.compiler.explain(run, measure=False))


def test_a_pass_that_breaks_the_program_is_named_by_the_verifier(monkeypatch):
    """What nothing has made any more is found right after the pass that lost it, and the step runs
    without native code.
    """

    def careless(program, context):
        return program.but(program.instructions[1:])

    monkeypatch.setattr(execute, "PASSES", (careless, *passes.PASSES))
    f = torch.compile(lambda x: (x * 2).exp())
    with pytest.warns(
        RuntimeWarning,
        match="VerificationError: instruction 0 .exp. reads %2, which nothing has made yet",
    ):
        assert f(torch.zeros(2)).tolist() == [1.0, 1.0]


def test_an_item_leaves_only_what_it_stores():
    @torch.compile
    def f(x):
        return (x * 2 + 1).sum(0)

    f(torch.ones(4, 3))
    program = f.versions[0].code.run.planned
    program.verify()
    item = program.items[0]
    assert item.kind == "loop" and len(item.instructions) == 3 and list(item.outputs) == item.stored
    assert [program.name(v) for v in item.reads()] == ["x"]
    item.stored.clear()
    with pytest.raises(VerificationError, match="the output %. is never made"):
        program.verify()


def test_what_was_traced_again_names_the_other_arguments_and_their_values():
    def step(x, rate, mode="sum", *more, **options):
        return (x[0] if isinstance(x, list) else x) * (rate or 1)

    compiled, x = torch.compile(step), torch.ones(3)
    compiled(x, 1.0)
    compiled(x, 2.0, "mean")
    compiled(x, None, sizes=[1, 2])
    compiled([x], 2.0)
    told = [entry.partition(": ")[2] for entry in compiled.history]
    assert told[1:] == [
        "rate is 2.0, was 1.0, mode is 'mean', was not there",
        "rate is None, was 2.0, sizes[0] is 1, was not there, sizes[1] is 2, was not there",
        "x[0] is a tensor, was not there, rate is 2.0, was None, x is not there, was a tensor",
    ]
    layer = torch.compile(torch.nn.Linear(3, 2))
    for size in (2, 4):
        layer(torch.ones(size, 3))
    text = torch.explain(layer, "compiled").text
    assert text.endswith(": input is float32 [4, 3], was float32 [2, 3]")
