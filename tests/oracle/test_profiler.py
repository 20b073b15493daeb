"""The profiler's plan of steps is PyTorch's."""

import itertools
import warnings

import pytest

torch = pytest.importorskip("torch")

import pellucid.profiler  # noqa: E402

PLANS = list(itertools.product((0, 2), (0, 1), (1, 3), (0, 2), (0, 1), (0, 1)))


@pytest.mark.parametrize("wait, warmup, active, repeat, skip_first, skip_first_wait", PLANS)
def test_same_plan(wait, warmup, active, repeat, skip_first, skip_first_wait):
    plan = {
        "wait": wait,
        "warmup": warmup,
        "active": active,
        "repeat": repeat,
        "skip_first": skip_first,
        "skip_first_wait": skip_first_wait,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, ours = torch.profiler.schedule(**plan), pellucid.profiler.schedule(**plan)
    assert [ours(i).name for i in range(25)] == [theirs(i).name for i in range(25)]


def test_operators_that_name_a_part():
    def named(m):
        ops = m.ops.profiler
        with m.autograd.profiler.profile() as made:
            handle = ops._record_function_enter("older", "args")
            ops._record_function_exit(handle)
            record = ops._record_function_enter_new("newer", None)
            m.ones(2) + 1
            ops._record_function_exit(record)
        names = [e.name for e in made.function_events if e.name in ("older", "newer")]
        return handle.dtype is m.uint8, names, str(ops._record_function_exit.default._schema)

    assert named(pellucid) == named(torch)
