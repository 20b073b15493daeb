"""A step into which an exception comes (Ctrl-C, a signal's handler) is made for all parameters, or
for none.
"""

import signal
import sys
import time

import numpy as np
import pytest

import pellucid as torch
from pellucid import config


class Stop(BaseException):
    pass


def model(name, dtype, options):
    """Parameters in two groups with gradients, and their optimizer after `steps` steps."""
    values = np.random.default_rng(3)
    params = [
        torch.nn.Parameter(torch.tensor(values.standard_normal(shape)).to(dtype))
        for shape in ((3, 2), (2, 2), (2, 5))
    ]
    for p in params:
        p.grad = torch.tensor(values.standard_normal(p.shape)).to(dtype)
    groups = [{"params": params[:2]}, {"params": params[2:], "lr": 0.02}]
    return params, getattr(torch.optim, name)(groups, lr=0.01, **options)


def picture(params, optimizer):
    """All values that a step changes; a state that is not there yet as it begins."""
    found = [p.detach().to(torch.complex128).tolist() for p in params]
    for group in optimizer.param_groups:
        for p in group["params"]:
            state = optimizer.state.get(p) or {}
            if not state:
                optimizer._init_state(group, p, state)
            found.append(
                {
                    k: v.to(torch.complex128).tolist() if isinstance(v, torch.Tensor) else v
                    for k, v in state.items()
                }
            )
    return found


def places_of_a_step(name, dtype, options, before):
    """For each line that a step runs in the library: the values when an exception comes there, and
    those of no step and one step.
    """
    params, optimizer = model(name, dtype, options)
    for _ in range(before):
        optimizer.step()
    none = picture(params, optimizer)
    optimizer.step()
    whole = picture(params, optimizer)
    at = 0
    while True:
        params, optimizer = model(name, dtype, options)
        for _ in range(before):
            optimizer.step()
        seen = 0

        def trace(frame, event, argument):
            nonlocal seen
            if event == "line":
                seen += 1
                if seen == at:
                    raise Stop
            return trace

        stopped = False
        old = sys.gettrace()
        sys.settrace(trace)
        try:
            optimizer.step()
        except Stop:
            stopped = True
        finally:
            sys.settrace(old)
        if at and not stopped:
            return
        if at:
            yield at, picture(params, optimizer), none, whole, optimizer
        at += 1


CASES = [
    ("Adam", torch.float32, {}, True, 1),
    ("Adam", torch.float32, {"amsgrad": True}, False, 1),
    ("Adam", torch.bfloat16, {}, True, 1),
    ("SGD", torch.float32, {"momentum": 0.9}, True, 0),
    ("SGD", torch.float64, {"momentum": 0.9}, False, 0),
    ("Adafactor", torch.float32, {}, True, 1),
    ("Muon", torch.float32, {}, True, 1),
    ("NAdam", torch.float32, {}, False, 0),
]


@pytest.mark.parametrize(
    ("name", "dtype", "options", "kernels", "before"),
    CASES,
    ids=lambda v: str(v).replace("torch.", ""),
)
def test_an_exception_at_any_line(name, dtype, options, kernels, before, monkeypatch):
    monkeypatch.setattr(config, "kernels", kernels)
    places = finished = 0
    for at, got, none, whole, optimizer in places_of_a_step(name, dtype, options, before):
        places += 1
        assert got in (none, whole), f"the exception at line {at} of the step"
        finished += got == whole
        if at % 7 == 0:  # and training goes on
            optimizer.step()
    assert places > 20 and finished


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
# a handler may also run inside of a destructor
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_exceptions_of_a_signal_handler():
    """Which the interpreter calls between any two instructions, not lines."""
    params, optimizer = model("Adam", torch.float32, {})
    delays, stopped = np.random.default_rng(5).uniform(2e-6, 3e-4, 300).tolist(), 0

    def handler(number, frame):
        raise Stop

    old = signal.signal(signal.SIGALRM, handler)
    try:
        for delay in delays:
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                optimizer.step()
                time.sleep(0.02)
            except Stop:
                stopped += 1
            steps = {optimizer.state[p]["step"].item() for p in params if optimizer.state.get(p)}
            assert len(steps) <= 1, f"the parameters differ after {stopped} exceptions: {steps}"
    finally:
        signal.signal(signal.SIGALRM, old)
    assert stopped > len(delays) / 2


def test_an_error_of_the_update_itself_is_raised():
    params, optimizer = model("Adam", torch.float32, {})
    params[1].grad = torch.ones(2, 2)
    params[1]._grad._array = np.ones((3, 3), np.float32)
    with pytest.raises(ValueError, match="broadcast|shape"):
        optimizer.step()
    params[1].grad = torch.ones(2, 2)
    optimizer.step()
