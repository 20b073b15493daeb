"""The profiler sees what runs, adds it up right, and leaves nothing behind. Times are checked among
themselves, never against a clock.
"""

import gzip
import json
import threading

import pytest

import pellucid as torch
from pellucid.core import observe
from pellucid.core.modes import state
from pellucid.profiler import (
    ProfilerAction,
    ProfilerActivity,
    _record,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)


def names(prof):
    return [event.name for event in prof.events()]


def row(prof, key, **options):
    return next(r for r in prof.key_averages(**options) if r.key == key)


def test_operations_and_backward_nodes():
    x = torch.ones(3, requires_grad=True)
    with profile() as prof:
        (x * x).exp().backward(torch.ones(3))
    assert names(prof) == ["aten::mul", "aten::exp", "ExpBackward0", "MulBackward0"]
    events = prof.events()
    for before, after in zip(events, events[1:]):
        assert before.start_ns < before.end_ns <= after.start_ns


def test_nothing_stays_behind():
    slow = state.slow
    with pytest.raises(RuntimeError, match="size of tensor"), profile():
        torch.ones(2) + torch.ones(3)
    with profile() as prof:
        pass
    torch.ones(2) + 1
    assert names(prof) == []
    assert state.slow == slow and not observe.observers and not _record.recorders


def test_two_profilers_at_once():
    with profile() as outer:
        torch.ones(2) + 1
        with profile() as inner:
            torch.ones(2) * 2
        torch.ones(2) - 1
    assert names(outer) == ["aten::add", "aten::mul", "aten::sub"] and names(inner) == ["aten::mul"]


def test_named_parts_nest_and_self_time_excludes_what_is_inside():
    @record_function("decorated")
    def f(x):
        return x * 2

    with profile() as prof, record_function("outer"):
        f(torch.ones(2))
        f(torch.ones(2))
    found = {r.key: r for r in prof.key_averages()}
    assert {k: r.count for k, r in found.items()} == {"aten::mul": 2, "decorated": 2, "outer": 1}
    mul, inner, outer = (prof.events()[i] for i in (0, 1, 4))
    assert mul.parent is inner and inner.parent is outer and outer.parent is None
    assert (
        outer.self_ns == outer.duration_ns - found["decorated"].cpu_time_total * 1e3
        or abs(outer.self_ns - outer.duration_ns + found["decorated"].cpu_time_total * 1e3) < 1
    )
    assert prof.events().self_cpu_time_total == pytest.approx(outer.cpu_time_total)


def test_recursion_is_counted_once_in_the_total():
    @record_function("again")
    def again(n):
        return n and again(n - 1)

    with profile() as prof:
        again(3)
    r = row(prof, "again")
    assert r.count == 4 and r.cpu_time_total == prof.events()[-1].cpu_time_total
    assert r.self_cpu_time_total == pytest.approx(r.cpu_time_total)


def test_without_a_profiler_a_named_part_is_nothing():
    with record_function("nobody sees it"):
        assert not _record.recorders


def test_shapes_and_memory():
    with profile(record_shapes=True, profile_memory=True) as prof:
        for n in (3, 3, 5):
            x = torch.ones(n, 2)
            (x @ torch.ones(2, 4)).t()
    by_shape = [
        r for r in prof.key_averages(group_by_input_shape=True) if r.input_shapes[1:] == [[2, 4]]
    ]
    assert [(r.input_shapes, r.count, r.self_cpu_memory_usage) for r in by_shape] == [
        ([[3, 2], [2, 4]], 2, 96),
        ([[5, 2], [2, 4]], 1, 80),
    ]
    views = [r for r in prof.key_averages() if r.self_cpu_memory_usage == 0]
    assert views and all(r.count == 3 for r in views)
    assert prof.total_average().self_cpu_memory_usage == 176


def test_modules_and_optimizer():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with profile(with_modules=True) as prof:
        model(torch.ones(4, 3)).sum().backward()
        optimizer.step()
    keys = {r.key for r in prof.key_averages()}
    assert (
        any(k.startswith("nn.Module: Linear") for k in keys) and "Optimizer.step#SGD.step" in keys
    )
    linear = next(e for e in prof.events() if e.name.startswith("nn.Module: Linear"))
    assert linear.parent.name.startswith("nn.Module: Sequential") and linear.children_ns > 0
    with profile() as plain:
        model(torch.ones(4, 3))
    assert not any("Module" in name for name in names(plain))


def test_threads_have_ranges_of_their_own():
    def work():
        with record_function("thread"):
            torch.ones(2) * 2

    with profile() as prof, record_function("main"):
        worker = threading.Thread(target=work)
        worker.start()
        worker.join()
    found = {e.name: e for e in prof.events()}
    assert found["aten::mul"].parent is found["thread"] and found["thread"].parent is None
    assert found["main"].thread != found["thread"].thread


def test_the_table():
    with profile(record_shapes=True, profile_memory=True) as prof:
        x = torch.ones(2, 3)
        x + x
        x * x
        x * x
    text = prof.key_averages(group_by_input_shape=True).table(
        sort_by="count", row_limit=1, header="Result"
    )
    lines = text.splitlines()
    assert lines[0].strip() == "Result"
    assert [c.strip() for c in lines[2].split("  ") if c.strip()] == [
        "Name",
        "Self CPU %",
        "Self CPU",
        "CPU total %",
        "CPU total",
        "CPU time avg",
        "CPU Mem",
        "Self CPU Mem",
        "# of Calls",
        "Input Shapes",
    ]
    assert (
        lines[4].split()[0] == "aten::mul"
        and lines[4].endswith("2  [[2, 3], [2, 3]]")
        and "48 B" in lines[4]
    )
    assert len(lines) == 7 and lines[6].startswith("Self CPU time total: ")
    assert prof.key_averages().table(time_unit="ms").count("ms") >= 6
    with pytest.raises(AttributeError, match="has no attribute 'zzz'"):
        prof.key_averages().table(sort_by="zzz")
    assert prof.key_averages().table(sort_by="cuda_time_total")


def test_the_trace(tmp_path):
    with profile(record_shapes=True, with_stack=True) as prof, record_function("part"):
        torch.ones(2) * 2
    prof.add_metadata("note", "mine")
    prof.add_metadata_json("numbers", "[1, 2]")
    for name, opened in (("t.json", open), ("t.json.gz", gzip.open)):
        prof.export_chrome_trace(tmp_path / name)
        with opened(tmp_path / name, "rt") as file:
            trace = json.load(file)
        assert trace["note"] == "mine" and trace["numbers"] == [1, 2]
        mul, part = (e for e in trace["traceEvents"] if e["ph"] == "X")
        assert (mul["name"], mul["cat"], part["cat"]) == ("aten::mul", "cpu_op", "user_annotation")
        assert (
            part["ts"] == 0
            and mul["ts"] + mul["dur"] <= part["dur"] + 1e-6
            and mul["args"]["Input Dims"][0] == [2]
        )
        assert "test_the_trace" in mul["args"]["Call stack"]


def test_stacks(tmp_path):
    with profile(with_stack=True) as prof:
        for _ in range(20):
            torch.ones(1000) * 2
    assert "test_stacks" in row(prof, "aten::mul", group_by_stack_n=1).stack[0]
    assert "test_profiler.py" in prof.key_averages(group_by_stack_n=1).table()
    prof.export_stacks(tmp_path / "stacks.txt", "self_cpu_time_total")
    (line,) = (tmp_path / "stacks.txt").read_text().splitlines()
    stack, time = line.rsplit(" ", 1)
    assert stack.endswith(";aten::mul") and "test_stacks" in stack and int(time) > 0
    with pytest.raises(ValueError, match="metric should be one of"):
        prof.export_stacks(tmp_path / "x", "self_time")
    with profile() as without, pytest.raises(ValueError, match="with_stack=True"):
        without.export_stacks(tmp_path / "x")


def test_schedule():
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert [plan(i).name for i in range(10)] == [
        "NONE",
        "NONE",
        "WARMUP",
        "RECORD",
        "RECORD_AND_SAVE",
        "NONE",
        "WARMUP",
        "RECORD",
        "RECORD_AND_SAVE",
        "NONE",
    ]
    with pytest.raises(AssertionError, match="Invalid profiler schedule arguments. Got wait=1"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.warns(UserWarning, match="won't be using warmup"):
        schedule(wait=0, warmup=0, active=1)


def test_steps_record_by_plan(tmp_path):
    seen = []
    with profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda p: seen.append(names(p)),
    ) as prof:
        for i in range(9):
            torch.ones(1) + i
            prof.step()
    assert seen == [
        ["aten::add", "ProfilerStep#2", "aten::add", "ProfilerStep#3"],
        ["aten::add", "ProfilerStep#6", "aten::add", "ProfilerStep#7"],
    ]
    assert prof.current_action is ProfilerAction.NONE and prof.step_num == 9
    handler = tensorboard_trace_handler(tmp_path / "traces", "worker", use_gzip=True)
    handler(prof)
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name.startswith("worker.") and path.name.endswith(".pt.trace.json.gz")


def test_the_number_of_events_is_bounded(monkeypatch):
    monkeypatch.setattr(_record, "MOST_EVENTS", 3)
    prof = profile()
    prof.start()
    for _ in range(5):
        torch.ones(1) + 1
    with pytest.warns(UserWarning, match="2 later ones are missing"):
        prof.stop()
    assert len(prof.events()) == 3


def test_what_is_not_there_says_so():
    assert supported_activities() == {ProfilerActivity.CPU}
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])
    with pytest.warns(UserWarning, match="with_flops is not supported"):
        profile(with_flops=True)
    with pytest.raises(AssertionError, match="must be initialized"):
        profile().events()


def test_the_older_form():
    with torch.autograd.profiler.profile(enabled=False) as off:
        torch.ones(1) + 1
    with pytest.raises(AssertionError):
        off.events()
    with (
        torch.autograd.profiler.profile(record_shapes=True) as prof,
        torch.autograd.profiler.record_function("part"),
    ):
        torch.ones(1) + 1
    assert (
        names(prof) == ["aten::add", "part"]
        and "aten::add" in prof.table(sort_by="self_cpu_time_total")
        and prof.self_cpu_time_total > 0
    )
    with torch.autograd.profiler.emit_nvtx(), torch.autograd.profiler.emit_itt():
        assert (torch.ones(1) + 1).item() == 2


def test_results_are_the_same_under_the_profiler():
    def run():
        torch.manual_seed(0)
        x = torch.randn(5, 4, requires_grad=True)
        (
            torch.nn.functional.softmax(x @ torch.randn(4, 3), 1).log().sum() + x.detach().mean()
        ).backward()
        return x.grad.tolist()

    plain = run()
    with profile(record_shapes=True, profile_memory=True, with_stack=True, with_modules=True):
        assert run() == plain
