"""Steps that change Python objects: results, and all that they change, must be eager's after each
call, also where calls fail.
"""

from __future__ import annotations

import collections
import copy
import gc
import re
import threading
import warnings
from types import SimpleNamespace as Space

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.optim import lr_scheduler as schedules
from pellucid.optim import swa_utils

from .eager_and_compiled import same

WARNING = torch.compiler.CompileWarning
CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


def parts(optimizer=lambda p: torch.optim.Adam(p, lr=1e-2)):
    m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
    return m, optimizer(m.parameters())


def sgd(p):
    return torch.optim.SGD(p, 0.1)


def options(o):
    return [{k: v for k, v in g.items() if k != "params"} for g in o.param_groups]


def train(m, o, x, y):
    o.zero_grad()
    loss = F.cross_entropy(m(x), y)
    loss.backward()
    o.step()
    return loss


def follow(make, compiled, bad=(), calls=12):
    """What each call returns, raises and warns of, with the state after it; and the function."""
    torch.manual_seed(0)
    step, state, *rest = make()
    run = torch.compile(step) if compiled else step
    rows = []
    for k in range(calls):
        generator = torch.Generator().manual_seed(k)
        x, y = (
            torch.randn(8, 4, generator=generator),
            torch.randint(0, 3, (8,), generator=generator),
        )
        if k in bad:
            y[3] = 7
        for change in rest:
            change(k)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                result = copy.deepcopy(run(x, y).detach())
            except (IndexError, ValueError, ZeroDivisionError) as error:
                result = type(error).__name__ + str(error)[:40]
        rows.append(
            (
                result,
                copy.deepcopy(state()),
                [str(w.message) for w in told if w.category is not WARNING],
            )
        )
    return rows, run


# ---- numbers ----------------------------------------------------------------------------------------
@case
def counter_in_an_attribute():
    m, o = parts()
    t = Space(n=0)

    def step(x, y):
        t.n += 1
        return train(m, o, x, y)

    def change(k):
        t.n = {5: 100, 7: 0, 9: 0.5}.get(k, t.n)

    return step, lambda: (t.n, m.state_dict()), change


@case
def counter_that_is_used():
    m, o = parts()
    t = Space(n=0, beta=0.0)

    def step(x, y):
        o.zero_grad()
        t.beta = min(1.0, t.n / 5)
        loss = F.cross_entropy(m(x), y) + t.beta * m[0].weight.pow(2).sum() * (t.n / 1000)
        loss.backward()
        o.step()
        t.n += 1
        return loss

    return step, lambda: (t.n, t.beta, m.state_dict())


@case
def sums_in_a_dictionary():
    m, o = parts()
    stats = {"n": 0, "loss": 0.0}

    def step(x, y):
        loss = train(m, o, x, y)
        stats["n"] += x.size(0)
        stats["loss"] += loss.item() * x.size(0)
        return loss

    return step, lambda: (stats, m.state_dict())


COUNT = 0


@case
def counter_in_a_closure_and_a_global():
    global COUNT
    COUNT = n = 0
    m, o = parts()

    def step(x, y):
        nonlocal n
        global COUNT
        n += 1
        COUNT += n
        return train(m, o, x, y)

    return step, lambda: (n, COUNT, m.state_dict())


@case
def counter_with_a_period():
    m, o = parts()
    t = Space(k=0)

    def step(x, y):
        loss = F.cross_entropy(m(x), y) / 2
        loss.backward()
        t.k = (t.k + 1) % 2
        if t.k == 0:
            o.step()
            o.zero_grad()
        return loss

    return step, lambda: (t.k, m.state_dict(), [p.grad for p in m.parameters()])


@case
def counter_set_to_what_it_was():
    """A constant is written also where the traced call found it there."""
    m, o = parts()
    t = Space(n=0, k=0)

    def step(x, y):
        loss = train(m, o, x, y) * (1 + t.n)
        t.n = 0
        t.k += 1
        return loss

    def change(k):
        t.n = k if k in (5, 7, 8) else t.n

    return step, lambda: (t.n, t.k, m.state_dict()), change


@case
def counters_in_slots():
    class Slots:
        __slots__ = ("h", "n")

    m, o = parts()
    s = Slots()
    s.n, s.h = 0, torch.zeros(4)

    def step(x, y):
        s.n += 1
        s.h = s.h + x.mean(0)
        return train(m, o, x, y)

    return step, lambda: (s.n, s.h, m.state_dict())


@case
def slots_and_setattr():
    class Noted:
        __slots__ = ("log", "n")

        def __init__(self):
            object.__setattr__(self, "log", [])
            self.n = 0

        def __setattr__(self, name, value):
            self.log.append(name)
            object.__setattr__(self, name, value)

    m, o = parts()
    s = Noted()

    def step(x, y):
        s.n += 1
        return train(m, o, x, y)

    return step, lambda: (s.n, [*s.log], m.state_dict())


@case
def property_and_setattr():
    class Counted:
        def __init__(self):
            self._n = 0

        @property
        def n(self):
            return self._n

        @n.setter
        def n(self, value):
            self._n = value

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            object.__setattr__(self, "stores", getattr(self, "stores", 0) + 1)

    m, o = parts()
    c = Counted()

    def step(x, y):
        c.n = c.n + 1
        return train(m, o, x, y)

    return step, lambda: (c.__dict__, m.state_dict())


@case
def flag_that_goes_to_and_fro():
    m, o = parts()
    t = Space(flip=False)

    def step(x, y):
        t.flip = not t.flip
        return train(m, o, x * (2 if t.flip else 1), y)

    return step, lambda: (t.flip, m.state_dict())


@case
def decision_by_a_loss():
    m, o = parts()
    t = Space(bad=0, n=0)
    log = []

    def step(x, y):
        t.n += 1
        o.zero_grad()
        loss = F.cross_entropy(m(x), y)
        log.append(loss.item())
        if loss.item() > 1.1:
            t.bad += 1
            return loss
        loss.backward()
        o.step()
        return loss

    return step, lambda: (t.bad, t.n, log, m.state_dict())


# ---- tensors ----------------------------------------------------------------------------------------
@case
def buffers_that_are_replaced():
    class Running(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 3)
            self.register_buffer("running", torch.zeros(4))
            self.plain = torch.zeros(())
            self.calls = 0
            self.history = []

        def forward(self, x):
            self.calls += 1
            self.running = 0.9 * self.running + 0.1 * x.mean(0)
            self.plain = self.plain + x.sum().detach() / self.calls
            self.history.append(self.calls)
            return self.inner(x - self.running)

    m = Running()
    o = torch.optim.SGD(m.parameters(), 0.1)

    def change(k):
        if k == 7:
            m.running = torch.ones(4)
        if k == 8:
            m.load_state_dict({name: v + 0.1 for name, v in m.state_dict().items()})
        if k == 9:
            m.eval()

    return (
        (lambda x, y: train(m, o, x, y)),
        lambda: (m.state_dict(), m.plain, m.calls, m.history),
        change,
    )


@case
def averages_in_a_dictionary():
    m, o = parts()
    ema = {}

    def step(x, y):
        loss = train(m, o, x, y)
        with torch.no_grad():
            for name, p in m.named_parameters():
                ema[name] = 0.9 * ema[name] + 0.1 * p if name in ema else p.clone()
        return loss

    return step, lambda: (ema, m.state_dict())


@case
def hidden_state():
    lstm, head = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, 3)
    o = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
    t = Space(state=None)

    def step(x, y):
        o.zero_grad()
        out, state = lstm(x[:, None], t.state)
        loss = F.cross_entropy(head(out[:, -1]), y)
        loss.backward()
        o.step()
        t.state = tuple(s.detach() for s in state)
        return loss

    def change(k):
        if k in (4, 8):  # a new epoch
            t.state = None
        if k == 10:
            t.state = (torch.ones(1, 8, 5), torch.zeros(1, 8, 5))

    return step, lambda: (t.state, lstm.state_dict()), change


@case
def what_stands_at_the_place_is_changed():
    m, o = parts()
    t = Space(h=None)

    def step(x, y):
        loss = train(m, o, x, y)
        t.h = x.mean(0) if t.h is None else 0.5 * t.h + 0.5 * x.mean(0)
        return loss + t.h.sum()

    def change(k):
        others = {
            4: None,
            6: torch.ones(4),
            7: torch.ones(2, 4),
            9: torch.ones(4, dtype=torch.float64),
        }
        if k in others:
            t.h = others[k]

    return step, lambda: (t.h, m.state_dict()), change


@case
def two_names_of_one_tensor():
    m, o = parts()
    t, u = Space(), Space()
    t.h = u.h = torch.zeros(4)

    def step(x, y):
        t.h = t.h + x.mean(0)
        return train(m, o, x, y) + u.h.sum()

    def change(k):
        if k == 6:
            t.h = u.h

    return step, lambda: (t.h, u.h, m.state_dict()), change


@case
def two_names_that_are_both_replaced():
    m, o = parts()
    t = Space()
    t.h = t.g = torch.zeros(4)

    def step(x, y):
        t.h = t.g = t.h + x.mean(0)
        return train(m, o, x, y) + t.g.sum()

    def change(k):
        if k == 6:
            t.g = torch.ones(4)

    return step, lambda: (t.h, t.g, t.h is t.g, m.state_dict()), change


@case
def number_that_some_values_forbid():
    """What is divided by it is used nowhere, and eager execution fails nevertheless."""
    m, o = parts()
    t = Space(n=0)

    def step(x, y):
        loss = train(m, o, x, y)
        t.n += 1
        if t.n != 7:
            _ = 1 / (t.n - 9)
        return loss

    def change(k):
        t.n = 10 if k == 8 else t.n

    return step, lambda: (t.n, m.state_dict()), change


@case
def tensors_that_change_places():
    m, o = parts()
    t = Space(a=torch.zeros(4), b=torch.ones(4))

    def step(x, y):
        t.a, t.b = t.b, t.a
        t.a.add_(x.mean(0))
        return train(m, o, x, y) + t.b.sum()

    return step, lambda: (t.a, t.b, m.state_dict())


@case
def written_to_and_replaced():
    m, o = parts()
    t = Space(h=torch.zeros(4), old=None)

    def step(x, y):
        t.old = t.h
        t.h.add_(1)
        t.h = t.h * 2 + x.mean(0)
        return train(m, o, x, y)

    return step, lambda: (t.h, t.old, m.state_dict())


@case
def arguments_that_are_kept():
    m, o = parts()
    t = Space(x=torch.zeros(8, 4))

    def step(x, y):
        loss = train(m, o, x, y) + (t.x * x).sum()
        t.x = x
        return loss

    return step, lambda: (t.x, m.state_dict())


@case
def views_that_are_kept():
    m, o = parts()
    t = Space(row=torch.zeros(4))

    def step(x, y):
        loss = train(m, o, x, y) + (t.row * x[1]).sum()
        t.row = x[0].detach()
        return loss

    return step, lambda: (t.row, m.state_dict())


@case
def losses_with_a_graph():
    m, o = parts()
    t = Space(sum=torch.zeros(()), last=None)

    def step(x, y):
        loss = F.cross_entropy(m(x), y)
        t.sum = t.sum + loss
        t.last = loss.detach()
        return loss.detach()

    def change(k):
        if k % 3 == 2:
            o.zero_grad()
            t.sum.backward()
            o.step()
            t.sum = torch.zeros(())

    return (
        step,
        lambda: (t.sum.detach(), t.last, m.state_dict(), [p.grad for p in m.parameters()]),
        change,
    )


# ---- lists ------------------------------------------------------------------------------------------
@case
def lists_that_grow():
    m, o = parts()
    losses, recent, table = [], collections.deque(maxlen=3), {"loss": [], "n": []}
    t = Space(last=None, pairs=[])

    def step(x, y):
        loss = train(m, o, x, y)
        losses.append(loss.detach())
        recent.append(loss.detach())
        t.last = loss.detach()
        t.pairs.append((x.size(0), loss.item()))
        table["loss"].append({"value": loss.item()})
        table["n"] += [1, x.size(0)]
        return loss

    def change(k):
        if k == 5:
            losses.clear()
        if k == 7:
            t.pairs = []

    return step, lambda: (losses, recent, t.last, t.pairs, table, m.state_dict()), change


@case
def list_with_two_names():
    m, o = parts()
    log = []
    t = Space(log=log)

    def step(x, y):
        loss = train(m, o, x, y)
        log.append(loss.item())
        t.log.append(1)
        return loss

    def change(k):
        t.log = {6: [], 8: log}.get(k, t.log)

    return step, lambda: (log, t.log, m.state_dict()), change


# ---- schedules --------------------------------------------------------------------------------------
SCHEDULES = {
    "OneCycleLR": lambda o: schedules.OneCycleLR(o, 0.1, total_steps=20),
    "CosineAnnealingLR": lambda o: schedules.CosineAnnealingLR(o, 5),
    "CosineAnnealingWarmRestarts": lambda o: schedules.CosineAnnealingWarmRestarts(o, 3),
    "LambdaLR": lambda o: schedules.LambdaLR(o, lambda epoch: 0.9**epoch),
    "MultiplicativeLR": lambda o: schedules.MultiplicativeLR(
        o, lambda epoch: 0.9 if epoch % 2 else 1.0
    ),
    "StepLR": lambda o: schedules.StepLR(o, 2),
    "MultiStepLR": lambda o: schedules.MultiStepLR(o, [3, 6]),
    "ConstantLR": lambda o: schedules.ConstantLR(o, 0.5, 4),
    "LinearLR": lambda o: schedules.LinearLR(o, total_iters=5),
    "ExponentialLR": lambda o: schedules.ExponentialLR(o, 0.9),
    "PolynomialLR": lambda o: schedules.PolynomialLR(o, 8),
    "CyclicLR": lambda o: schedules.CyclicLR(o, 0.001, 0.1, 3),
    "SequentialLR": lambda o: schedules.SequentialLR(
        o, [schedules.LinearLR(o, 0.1, total_iters=3), schedules.ExponentialLR(o, 0.9)], [3]
    ),
    "ChainedScheduler": lambda o: schedules.ChainedScheduler(
        [schedules.ConstantLR(o, 0.5, 2), schedules.ExponentialLR(o, 0.9)]
    ),
    "SWALR": lambda o: swa_utils.SWALR(o, 0.05, 3),
}


def with_schedule(make, before):
    def made():
        m, o = parts(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))
        s = make(o)

        def step(x, y):
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            if before:
                s.step()
            o.step()
            if not before:
                s.step()
            return loss

        def change(k):
            if k == 5:
                o.param_groups[0]["weight_decay"] = 0.01
            if k == 9:
                o.param_groups[0]["lr"] = 0.03

        kept = lambda: {
            k: v
            for k, v in s.state_dict().items()
            if k not in ("lr_lambdas", "_schedulers") and not callable(v)
        }
        return step, lambda: (kept(), options(o), m.state_dict()), change

    return made


for name, make in SCHEDULES.items():
    CASES[name] = with_schedule(make, False)
    CASES[f"{name} before the optimizer"] = with_schedule(make, True)


def plateau(metric):
    def make():
        m, o = parts()
        s = schedules.ReduceLROnPlateau(o, patience=0, threshold=0.5)

        def step(x, y):
            loss = train(m, o, x, y)
            s.step(metric(loss))
            return loss

        return step, lambda: (s.best, s.num_bad_epochs, options(o), m.state_dict())

    return make


CASES["ReduceLROnPlateau of a number"] = plateau(lambda loss: loss.item())
CASES["ReduceLROnPlateau of a tensor"] = plateau(lambda loss: loss.detach())


@case
def schedule_every_third_step():
    m, o = parts()
    s = schedules.ExponentialLR(o, 0.9)
    t = Space(n=0)

    def step(x, y):
        loss = train(m, o, x, y)
        t.n += 1
        if t.n % 3 == 0:
            s.step()
        return loss

    return step, lambda: (t.n, options(o), m.state_dict())


@case
def schedule_that_is_read():
    m, o = parts()
    s = schedules.ExponentialLR(o, 0.9)
    log = []

    def step(x, y):
        before = s.last_epoch, o.param_groups[0]["lr"]
        loss = train(m, o, x * (1 + s.last_epoch / 10), y)
        s.step()
        log.append((before, s.last_epoch, o.param_groups[0]["lr"]))
        return loss

    return step, lambda: (log, options(o), m.state_dict())


@case
def schedule_that_is_replaced():
    m, o = parts()
    t = Space(s=schedules.ExponentialLR(o, 0.9))

    def step(x, y):
        loss = train(m, o, x, y)
        t.s.step()
        return loss

    def change(k):
        if k == 5:
            t.s = schedules.StepLR(o, 2)
        if k == 8:
            t.s.load_state_dict(t.s.state_dict() | {"last_epoch": 3})

    return step, lambda: (options(o), m.state_dict()), change


@case
def schedules_of_two_optimizers():
    m, o = parts()
    m2, o2 = parts(sgd)
    s, s2 = schedules.ExponentialLR(o, 0.9), schedules.CosineAnnealingLR(o2, 5)

    def step(x, y):
        loss = train(m, o, x, y)
        s.step()
        s2.step()
        return loss + train(m2, o2, x, y)

    return step, lambda: (options(o), options(o2), m.state_dict(), m2.state_dict())


@case
def function_of_a_schedule_that_reads_a_counter():
    m, o = parts()
    t = Space(n=0)
    s = schedules.LambdaLR(o, lambda epoch: 1 / (1 + t.n))

    def step(x, y):
        t.n += 1
        loss = train(m, o, x, y)
        s.step()
        return loss

    return step, lambda: (t.n, options(o), m.state_dict())


def failing_schedule(before):
    def make():
        m, o = parts()
        t = Space(n=0, k=0)

        def rate(epoch):
            if epoch in (5, 6):
                raise ValueError("no rate")
            return 0.9**epoch

        s = schedules.LambdaLR(o, rate)

        def step(x, y):
            t.n += 1
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            loss.backward()
            if before:
                s.step()
            o.step()
            if not before:
                s.step()
            t.k += 1
            return loss

        return step, lambda: (
            t.n,
            t.k,
            options(o),
            s.last_epoch,
            m.state_dict(),
            [p.grad for p in m.parameters()],
        )

    return make


CASES["schedule that fails"] = failing_schedule(False)
CASES["schedule that fails before the optimizer"] = failing_schedule(True)


@case
def learning_rates_by_hand():
    m, o = parts()
    m2, o2 = parts(sgd)
    t = Space(n=0)

    def step(x, y):
        for group in o.param_groups:
            group["lr"] = 0.01 * 0.9**t.n
        loss = train(m, o, x, y)
        t.n += 1
        loss = loss + train(m2, o2, x, y)
        for group in o2.param_groups:
            group["lr"] = 0.1 / (1 + t.n)
        return loss

    return step, lambda: (t.n, options(o), options(o2), m.state_dict(), m2.state_dict())


# ---- what training loops also have --------------------------------------------------------------------
def scaled(**settings):
    def make():
        m, o = parts()
        s = torch.amp.GradScaler("cpu", **settings)

        def step(x, y):
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            s.scale(loss).backward()
            s.unscale_(o)
            nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            s.step(o)
            s.update()
            return loss

        def change(k):
            with torch.no_grad():
                if k in (4, 8):
                    m[2].weight[0, 0] = 1e38
                if k in (5, 9):
                    m[2].weight[0, 0] = 0.1

        return step, lambda: (s.state_dict(), m.state_dict()), change

    return make


CASES["GradScaler"] = scaled(init_scale=8.0, growth_interval=3)
CASES["GradScaler that is off"] = scaled(enabled=False)


def averaged(**settings):
    def make():
        m, o = parts()
        a = swa_utils.AveragedModel(m, **settings)

        def step(x, y):
            loss = train(m, o, x, y)
            a.update_parameters(m)
            return loss

        return step, lambda: (a.state_dict(), m.state_dict())

    return make


CASES["AveragedModel"] = averaged()
CASES["AveragedModel with decay"] = averaged(
    multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.9), use_buffers=True
)


@case
def optimizer_of_ones_own():
    class Plain(torch.optim.Optimizer):
        def __init__(self, p):
            super().__init__(p, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"])

    m, o = parts(Plain)
    s = schedules.LinearLR(o, total_iters=8)

    def step(x, y):
        loss = train(m, o, x, y)
        s.step()
        return loss

    return step, lambda: (options(o), m.state_dict())


@case
def steps_that_take_turns():
    m, o = parts()
    t = Space(n=0)

    def step(x, y):
        t.n += 1
        return train(m, o, x, y) if t.n % 2 else F.cross_entropy(m(x), y).detach()

    return step, lambda: (t.n, m.state_dict())


# ---- calls that fail ---------------------------------------------------------------------------------
def failing(before):
    def make():
        m = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 3))
        o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)
        s = schedules.ExponentialLR(o, 0.9)
        t = Space(n=0, k=0)
        log = []

        def step(x, y):
            t.n += 1
            if before:
                s.step()
            o.zero_grad()
            loss = F.cross_entropy(m(x), y)
            log.append(loss.detach())
            loss.backward()
            o.step()
            if not before:
                s.step()
            t.k += 1
            return loss

        grads = lambda: [p.grad for p in m.parameters()]
        return step, lambda: (
            t.n,
            t.k,
            log,
            s.last_epoch,
            options(o),
            m.state_dict(),
            grads(),
            torch.get_rng_state(),
        )

    return make


def division():
    """It fails after the update, in eager execution: the program must not have run a part of that."""
    m, o = parts()
    t = Space(n=4, mean=0.0, k=0)

    def step(x, y):
        loss = train(m, o, x, y)
        t.k += 1
        t.mean = t.k / t.n
        t.n += 1
        return loss

    def change(k):
        t.n = 0 if k in (3, 7, 8) else max(t.n, 1)

    return step, lambda: (t.n, t.mean, t.k, m.state_dict()), change


FAILING = {"division": division, "labels": failing(False), "labels after a schedule": failing(True)}


def labels_after_an_update():
    m, o = parts()
    m2, o2 = parts()
    t = Space(n=0)

    def step(x, y):
        loss = train(m, o, x, y % 3)
        t.n += 1
        other = train(m2, o2, x, y)
        t.n += 1
        return loss + other

    return step, lambda: (
        t.n,
        m.state_dict(),
        m2.state_dict(),
        [v for e in o.state.values() for v in e.values()],
    )


FAILING["labels after an update"] = labels_after_an_update


@pytest.mark.parametrize("name", CASES)
def test_compiled_is_eager(name):
    expected, _ = follow(CASES[name], False)
    got, run = follow(CASES[name], True)
    same(expected, got)
    assert sum(v.hits for v in run.versions) >= 4, run.history
    assert not any(h.startswith("runs eagerly") for h in run.history), run.history


@pytest.mark.parametrize("name", FAILING)
def test_calls_that_fail_change_what_eager_ones_do(name):
    expected, _ = follow(FAILING[name], False, (3, 7, 8))
    got, run = follow(FAILING[name], True, (3, 7, 8))
    assert sum(isinstance(row[0], str) for row in expected) == 3
    same(expected, got)
    assert sum(v.hits for v in run.versions) >= 4, run.history


@pytest.mark.parametrize(
    "name",
    ["counter_that_is_used", "lists_that_grow", "hidden_state", "OneCycleLR", "decision_by_a_loss"],
)
def test_collections_of_garbage_at_any_time(name):
    expected, _ = follow(CASES[name], False, calls=6)
    before = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        got, _ = follow(CASES[name], True, calls=6)
    finally:
        gc.set_threshold(*before)
    same(expected, got)


# ---- what runs eagerly --------------------------------------------------------------------------------
EAGER = {}


def eager(reason):
    def put(make):
        EAGER[make.__name__] = make, reason
        return make

    return put


@eager("which the step changes, too")
def learning_rate_by_hand_and_by_a_schedule():
    m, o = parts(sgd)
    s = schedules.ExponentialLR(o, 0.9)

    def step(x, y):
        for group in o.param_groups:
            group["lr"] = 0.1
        s.step()
        return train(m, o, x, y)

    return step, lambda: (options(o), s.get_last_lr(), m.state_dict())


@eager("which a schedule changes, too")
def learning_rate_by_a_schedule_and_by_hand():
    m, o = parts(sgd)
    s = schedules.ExponentialLR(o, 0.9)

    def step(x, y):
        s.step()
        for group in o.param_groups:
            group["lr"] = group["lr"] * 0.5
        return train(m, o, x, y)

    return step, lambda: (options(o), s.get_last_lr(), m.state_dict())


@eager("known by two names")
def view_of_a_parameter():
    m, o = parts()
    t = Space(bias=torch.zeros(3))

    def step(x, y):
        loss = train(m, o, x, y) + t.bias.sum()
        t.bias = m[2].bias.detach()
        return loss

    return step, lambda: (t.bias, m.state_dict())


@eager("and looks at it")
def list_that_is_looked_at():
    m, o = parts()
    log = []

    def step(x, y):
        loss = train(m, o, x, y)
        log.append(loss.item())
        if len(log) > 3:
            log.pop(0)
        return loss

    return step, lambda: (log, m.state_dict())


@eager("changes app")
def list_by_a_bound_method():
    m, o = parts()
    log = []
    app = log.append

    def step(x, y):
        loss = train(m, o, x, y)
        app(loss.item())
        return loss

    return step, lambda: (log, m.state_dict())


@eager("where it cannot be followed")
def list_in_a_tuple():
    m, o = parts()
    log = []
    held = (log,)

    def step(x, y):
        loss = train(m, o, x, y)
        log.append(1)
        return loss + len(held[0])

    return step, lambda: (log, m.state_dict())


@eager("changes .*names|which a program would not do")
def keys_that_come():
    m, o = parts()
    table = {"n": 0}

    def step(x, y):
        table["n"] += 1
        table[f"step {table['n']}"] = table["n"]
        return train(m, o, x, y)

    return step, lambda: (table, m.state_dict())


@eager("may change something")
def function_of_a_schedule_that_counts():
    m, o = parts()
    t = Space(n=1.0)

    def rate(epoch):
        t.n = 0.5**epoch
        return 0.9**epoch

    s = schedules.LambdaLR(o, rate)

    def step(x, y):
        loss = train(m, o, x, y)
        s.step()
        return loss * t.n

    return step, lambda: (t.n, options(o), m.state_dict())


@eager("computes with tensors")
def function_of_a_schedule_that_looks_at_weights():
    m, o = parts()
    s = schedules.LambdaLR(o, lambda epoch: 1 / (1 + m[0].weight.abs().sum().item()))

    def step(x, y):
        loss = train(m, o, x, y)
        s.step()
        return loss

    return step, lambda: (options(o), m.state_dict())


@eager("steps after a schedule")
def schedule_between_two_steps():
    m, o = parts()
    s = schedules.ExponentialLR(o, 0.9)

    def step(x, y):
        loss = train(m, o, x, y)
        s.step()
        train(m, o, x, y)
        s.step()
        return loss

    return step, lambda: (options(o), m.state_dict())


@eager("by what it computes")
def learning_rate_by_the_loss():
    m, o = parts(sgd)

    def step(x, y):
        o.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        for group in o.param_groups:
            group["lr"] = loss.item() * 0.1
        o.step()
        return loss

    return step, lambda: (options(o), m.state_dict())


@eager("between two steps of its optimizer")
def learning_rate_between_two_steps():
    m, o = parts(sgd)
    t = Space(n=0)

    def step(x, y):
        loss = train(m, o, x, y)
        for group in o.param_groups:
            group["lr"] = 0.1 / (1 + t.n)
        loss = loss + train(m, o, x, y)
        t.n += 1
        return loss

    return step, lambda: (options(o), m.state_dict())


@eager("prints")
def a_line_of_text():
    m, o = parts()
    t = Space(n=0)

    def step(x, y):
        t.n += 1
        print(end="")
        return train(m, o, x, y)

    return step, lambda: (t.n, m.state_dict())


@pytest.mark.parametrize("name", EAGER)
def test_what_cannot_be_repeated_runs_eagerly(name):
    make, reason = EAGER[name]
    expected, _ = follow(make, False)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        torch.manual_seed(0)
        step, state, *_ = make()
        run = torch.compile(step)
        for k, row in enumerate(expected):
            generator = torch.Generator().manual_seed(k)
            x, y = (
                torch.randn(8, 4, generator=generator),
                torch.randint(0, 3, (8,), generator=generator),
            )
            same(row[0], run(x, y).detach())
            same(row[1], copy.deepcopy(state()))
    reasons = [str(w.message) for w in told if w.category is WARNING]
    assert len(reasons) == 1 and re.search(reason, reasons[0]), reasons


# ---- arguments -----------------------------------------------------------------------------------------
def test_an_argument_that_is_also_a_global():
    w = torch.ones(3)
    run = torch.compile(lambda a: a + w)
    zeros = torch.zeros(3)
    assert run(w).tolist() == [2, 2, 2]
    for _ in range(3):
        assert run(zeros).tolist() == [1, 1, 1]
        assert run(w).tolist() == [2, 2, 2]
    assert sum(v.hits for v in run.versions) >= 4


def test_arguments_that_share_memory_with_a_global():
    w = torch.arange(4.0)
    run = torch.compile(lambda a: a.sum() + w.sum())
    for k in range(9):
        a = (w.detach(), w[1:], torch.zeros(4), torch.zeros(3), w.detach())[k % 5]
        assert run(a).item() == a.sum().item() + 6


def test_arguments_that_are_changed():
    def step(x, table, rows):
        if table["n"] > 2:
            table["n"] += 1
            table["sum"] = x.sum()
            rows[0][0] *= 3
        return x * table["n"]

    run = torch.compile(step)
    x = torch.ones(2)
    with pytest.warns(WARNING, match="changes an argument"):
        for k in range(8):
            one, other = ({"n": float(k)}, [[k], 2]), ({"n": float(k)}, [[k], 2])
            same(step(x, *one), run(x, *other))
            same(one, other)
    traced = len(run.history)
    run(x, {"n": 50.0}, [[1], 2])
    assert len(run.history) == traced  # nothing is traced any more


# ---- the rest -------------------------------------------------------------------------------------------
def test_two_functions_count_together():
    m, o = parts()
    t = Space(n=0, h=torch.zeros(4))

    def one(x):
        t.n += 1
        t.h = t.h + x
        return t.h * t.n

    def two(x):
        t.n += 10
        t.h = t.h * 0.5
        return t.h + t.n

    f, g = torch.compile(one), torch.compile(two)
    x = torch.ones(4)
    n, h = 0, torch.zeros(4)
    for _ in range(6):
        n, h = n + 1, h + x
        same(h * n, f(x))
        n, h = n + 10, h * 0.5
        same(h + n, g(x))
        assert t.n == n
        same(h, t.h)
    assert f.versions[0].hits >= 2 and g.versions[0].hits >= 2


def test_the_explanation_lists_what_changes():
    m, o = parts()
    s = schedules.ExponentialLR(o, 0.9)
    t = Space(n=0)
    log = []

    def step(x, y):
        t.n += 1
        loss = train(m, o, x, y)
        log.append(loss.detach())
        s.step()
        return loss

    run = torch.compile(step, fullgraph=True)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    for _ in range(4):
        run(x, y)
    made = run.explain()
    for text in (
        "sets t.n after the program",
        "appends to log after the program",
        "calls ExponentialLR.step after the program",
    ):
        assert text in made.text and text in made.html
    assert "read again at each call:\n  t.n" in made.text


def test_threads_lose_no_step():
    """A thread that finds another one inside runs eagerly."""
    m, o = parts()
    t = Space(n=0)

    def step(x, y):
        t.n += 1
        return F.cross_entropy(m(x), y).detach()

    run = torch.compile(step)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    for _ in range(3):
        run(x, y)
    lock = threading.Lock()

    def work():
        for _ in range(50):
            with lock:
                run(x, y)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert t.n == 153


def test_the_order_of_schedule_and_optimizer_is_warned_of():
    m, o = parts()
    s = schedules.ExponentialLR(o, 0.9)

    def step(x, y):
        o.zero_grad()
        loss = F.cross_entropy(m(x), y)
        loss.backward()
        s.step()
        o.step()
        return loss

    run = torch.compile(step)
    x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
    with pytest.warns(UserWarning, match="before `optimizer.step") as told:
        run(x, y)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            run(x, y)
    assert run.versions[0].hits == 3


@pytest.mark.parametrize("how", ["attribute", "method"])
def test_a_version_that_leaves_another_mode_behind_is_for_the_mode_it_found(how):
    class Model(torch.nn.Module):
        def forward(self, x):
            return x * 2 if self.training else x * 3

    def outcomes(compiled):
        model = Model()

        def step(x):
            y = model(x)
            if how == "attribute":
                model.training = True
            else:
                model.train()
            return y

        run = torch.compile(step) if compiled else step
        made = []
        for k in range(7):
            if k in (1, 4):
                model.eval()
            made.append((run(torch.ones(1)).item(), model.training))
        return made

    assert outcomes(True) == outcomes(False)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize("of", ["leaf", "result", "view", "part"])
@pytest.mark.parametrize("how", ["hook", "retain", "after"])
def test_hooks_that_a_step_registers_on_what_it_is_given_are_registered_at_each_call(of, how):
    makers = {
        "leaf": lambda w: w.detach().clone().requires_grad_(),
        "result": lambda w: w * 1,
        "view": lambda w: (w * 1)[1:],
        "part": lambda w: (w * 1).unbind(0)[1],
    }

    def outcomes(compiled):
        w, counter, log = torch.ones(3, requires_grad=True), torch.zeros(2), []

        def hook(x):
            counter.add_(1)  # so that there is something to compile
            x.register_hook(lambda g: g * 2)

        def retain(x):
            counter.add_(1)
            x.retain_grad()

        def after(x):
            counter.add_(1)
            x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.tolist()))

        step = {"hook": hook, "retain": retain, "after": after}[how]
        run = torch.compile(step) if compiled else step
        for _ in range(5):
            x = makers[of](w)
            if how == "after" and of != "leaf":
                with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
                    run(x)
                continue
            run(x)
            (x * 3).sum().backward()
            log.append(x.grad.tolist() if x.is_leaf or x.retains_grad else None)
        return counter.tolist(), None if w.grad is None else w.grad.tolist(), log

    assert outcomes(True) == outcomes(False)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_hooks_that_a_part_registers_on_the_result_of_an_earlier_part_are_registered_at_each_call():
    def outcomes(compiled):
        w, counter = torch.ones(3, requires_grad=True), torch.zeros(2)

        def step():
            x = w * 2
            print(end="")
            counter.add_(1)
            x.register_hook(lambda g: g * 2)
            w.grad = None
            x.sum().backward()
            return w.grad.tolist()

        run = torch.compile(step) if compiled else step
        return [run() for _ in range(6)]

    assert outcomes(True) == outcomes(False)


def test_a_type_error_of_the_function_itself_does_not_make_its_call_twice():
    chosen, drawn, counted = torch.ones(2), torch.Generator().manual_seed(0), iter(range(9))

    @torch.compile
    def step(x):
        y = x + 1 if float(chosen.sum()) < 3 else x
        torch.rand(2, generator=drawn)
        next(counted)
        return (y, y) * 0.5

    for _ in range(3):
        with pytest.raises(TypeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            step(torch.ones(2))
    once = torch.Generator().manual_seed(0)
    torch.rand(6, generator=once)
    assert next(counted) == 3 and torch.equal(drawn.get_state(), once.get_state())


class Backwards:
    """What the backward functions below read and change."""

    factor = 1.0
    calls = 0


factors = {"rate": 2.0}
seen: list[int] = []


def helped(g):
    return g * factors["rate"]


class Reading(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return helped(g) * Backwards.factor


class Changing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        seen.append(1)
        Backwards.calls += 1
        return g * 3


def test_what_the_backward_of_a_custom_function_reads_is_guarded(monkeypatch):
    compiled = torch.compile(lambda x: Reading.apply(x).sum())

    def slope():
        x = torch.ones(2, requires_grad=True)
        compiled(x).backward()
        return x.grad.tolist()

    assert [slope() for _ in range(4)] == [[2.0, 2.0]] * 4
    monkeypatch.setitem(factors, "rate", 5.0)
    assert [slope() for _ in range(3)] == [[5.0, 5.0]] * 3
    monkeypatch.setattr(Backwards, "factor", 7.0)
    assert [slope() for _ in range(3)] == [[35.0, 35.0]] * 3


def test_what_changes_between_a_compiled_call_and_its_backward_is_told(monkeypatch):
    compiled = torch.compile(lambda x: Reading.apply(x).sum())
    for _ in range(3):
        x = torch.ones(2, requires_grad=True)
        y = compiled(x)
    monkeypatch.setitem(factors, "rate", 5.0)
    with pytest.raises(RuntimeError, match="has changed since the compiled function was called"):
        y.backward()


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_the_backward_of_a_custom_function_changes_things_when_it_is_asked_for():
    compiled = torch.compile(lambda x: Changing.apply(x).sum())
    seen.clear()
    Backwards.calls = 0
    for n in range(4):
        x = torch.ones(2, requires_grad=True)
        y = compiled(x)
        assert len(seen) == Backwards.calls == n
        y.backward()
        assert len(seen) == Backwards.calls == n + 1 and x.grad.tolist() == [3.0, 3.0]
