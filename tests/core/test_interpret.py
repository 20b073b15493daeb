"""The stack of interpreters: who steps in at what the engine does, in which order, and what it
costs when nobody does.
"""

import threading

import pytest

import pellucid as torch
from pellucid.core import interpret
from pellucid.core.interpret import thread
from pellucid.core.modes import state


class Doubling:
    """Runs every addition of two tensors with the first one doubled."""

    def __init__(self, log, name):
        self.log, self.name = log, name

    def run(self, below, op, args, params):
        self.log.append((self.name, "run", op.name))
        return below(op, (args[0] * 2, *args[1:]) if op.name == "add" else args, params)

    def ran(self, op, tensors, params, made, aux):
        self.log.append((self.name, "ran", op.name))

    def wrote(self, tensor, result):
        self.log.append((self.name, "wrote", tuple(tensor.shape)))

    def gradient(self, below, node, g):
        return tuple(None if g is None else g * 10 for g in below(node, g))


@pytest.fixture
def pushed():
    kept, slow = thread.stack, state.slow

    def push(interpreter):
        interpret.push(interpreter)
        return interpreter

    yield push
    interpret.install(kept.all)
    assert state.slow == slow


def test_the_highest_goes_around_and_the_lowest_is_told_first(pushed):
    log = []
    pushed(Doubling(log, "low"))
    pushed(Doubling(log, "high"))
    assert (torch.ones(2) + torch.ones(2)).tolist() == [5.0, 5.0]
    assert [entry for entry in log if entry[2] == "add"] == [
        ("high", "run", "add"),
        ("low", "run", "add"),
        ("low", "ran", "add"),
        ("high", "ran", "add"),
    ]


def test_writes_are_told_and_gradients_go_through(pushed):
    log = []
    x = torch.ones(2, requires_grad=True)
    pushed(Doubling(log, "a"))
    t = torch.zeros(2)
    t.copy_(torch.ones(2))
    assert ("a", "wrote", (2,)) in log
    (x * 3).backward(torch.ones(2))
    assert x.grad.tolist() == [30.0, 30.0]


def test_a_stack_is_the_threads_own(pushed):
    log, seen = [], []
    pushed(Doubling(log, "a"))
    other = threading.Thread(target=lambda: seen.append((torch.ones(2) + torch.ones(2)).tolist()))
    other.start()
    other.join()
    assert seen == [[2.0, 2.0]] and log == []


def test_a_role_is_exchanged_and_given_back():
    class Caster:
        role = "autocast"

    first, second = Caster(), Caster()
    with interpret.playing("autocast", first):
        with interpret.playing("autocast", second):
            assert thread.stack.autocast is second and len(thread.stack.all) == 1
        assert thread.stack.autocast is first
        with interpret.playing("autocast", None):
            assert thread.stack.autocast is None and state.slow == 0
            interpret.exchange("autocast", second)  # for good: the block leaves it
        assert thread.stack.autocast is second
        interpret.exchange("autocast", first)
    assert thread.stack.autocast is None and state.slow == 0


def test_tensor_types_run_their_own_operations():
    class Quiet(torch.Tensor):
        class _interpreter:  # noqa: N801
            @staticmethod
            def run(below, op, args, params):
                return op.name

            @staticmethod
            def write(below, tensor, result, name):
                return name

            @staticmethod
            def apply(below, cls, args, kwargs):
                return cls.__name__

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

    t = torch.ones(2).as_subclass(Quiet)
    assert torch.ones(2) * t == "mul" and Same.apply(t) == "Same"
    assert torch.zeros(2).copy_(t) == "copy_"


def test_profiler_and_watchers_replace_nothing():
    from pellucid.core import bind, reverse

    before = {**vars(bind)}, {**vars(reverse.BackwardPass)}
    with torch.profiler.profile():
        assert ({**vars(bind)}, {**vars(reverse.BackwardPass)}) == before
        torch.ones(2) + 1
