"""What a handler of a signal raises (a time limit, say) comes out of the step it came into, and the
step is not made twice.
"""

import contextlib
import functools
import signal
import time
import types

import numpy as np
import pytest

import pellucid as torch
from pellucid.errors import interruption, pass_on

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX"),
    # a handler may also run inside of a destructor
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Limit(Exception):
    """Of a class that the compiler catches where an operation raises it."""


@contextlib.contextmanager
def handled_by(handler):
    old = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def interrupted(call, delays):
    """How often the handler ran, and how often its exception came out, over calls that are
    interrupted after these times.
    """
    fired = raised = 0

    def handler(number, frame):
        nonlocal fired
        fired += 1
        raise Limit

    with handled_by(handler):
        for delay in delays:
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                call()
                time.sleep(0.02)
            except Limit:
                raised += 1
    return fired, raised


@pytest.mark.parametrize("compiled", [False, True])
def test_it_comes_out_and_no_step_is_made_twice(compiled):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    optimizer = torch.optim.Adam(net.parameters())
    x, y = torch.randn(8, 4), torch.randn(8, 1)

    seen = types.SimpleNamespace(steps=0)

    def train(x, y):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        seen.steps += 1
        return loss

    step = torch.compile(train) if compiled else train
    for _ in range(5):
        step(x, y)
    params = list(net.parameters())

    def call():
        before = [optimizer.state[p]["step"].item() for p in params]
        try:
            step(x, y)
        finally:
            made = {
                optimizer.state[p]["step"].item() - b for p, b in zip(params, before, strict=True)
            }
            assert made in ({0.0}, {1.0}), made

    delays = np.random.default_rng(4).uniform(2e-6, 4e-4 if not compiled else 1.2e-4, 150).tolist()
    fired, raised = interrupted(call, delays)
    # those inside of destructors are lost, by the interpreter
    assert fired > 100 and raised >= fired - 3


class Handler:
    def __call__(self, number, frame):
        raise Limit

    def method(self, number, frame):
        raise Limit


def plain(number, frame, *more):
    raise Limit


@pytest.mark.parametrize(
    "handler",
    [plain, Handler(), Handler().method, functools.partial(plain)],
    ids=lambda h: type(h).__name__,
)
def test_errors_of_handlers_are_told_from_others(handler):
    with handled_by(handler):
        with pytest.raises(Limit) as caught:
            signal.raise_signal(signal.SIGALRM)
        assert interruption(caught.value) is caught.value
        try:
            raise ValueError("explained") from caught.value
        except ValueError as error:
            assert interruption(error) is None  # a cause alone is no context
        with pytest.raises(Limit):
            try:
                signal.raise_signal(signal.SIGALRM)
            except Limit:
                try:
                    raise RuntimeError("said in other words") from None
                except RuntimeError as error:
                    pass_on(error)
        with pytest.raises(ZeroDivisionError) as other:
            _ = 1 / 0
        assert interruption(other.value) is None
