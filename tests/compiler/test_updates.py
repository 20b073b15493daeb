"""Optimizers in compiled steps: each update native, with eager's numbers."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.llvm import target

nn = torch.nn

pytestmark = pytest.mark.skipif(
    not target.available(), reason="needs llvmlite and a processor with vectors"
)

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "betas": (0.3, 0.9)}),
    ("RMSprop", {"lr": 0.05, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.05, "centered": True, "momentum": 0.5, "eps": 1e-3}),
    ("Adagrad", {"lr": 0.5, "lr_decay": 0.1}),
    ("Adadelta", {"lr": 5.0, "weight_decay": 0.1}),
    ("Adamax", {"lr": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.5)}),
    ("Rprop", {"lr": 0.05}),
    ("ASGD", {"lr": 0.05, "t0": 3.0}),
]


def steps(name, options, dtype, compiling):
    w = nn.Parameter(torch.linspace(-1, 1, 15, dtype=dtype).reshape(3, 5))
    b = nn.Parameter(torch.zeros(5, dtype=dtype))
    optimizer = getattr(torch.optim, name)([w, b], **options)

    def step(x):
        optimizer.zero_grad()
        loss = ((x * w + b).tanh() - x.sum()).pow(2).sum()
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiling else step
    losses = []
    for k in range(20):
        if k == 9:
            optimizer.param_groups[0]["lr"] *= 0.5
        if k == 15:
            optimizer.param_groups[0]["maximize"] = not optimizer.param_groups[0]["maximize"]
        losses.append(run(torch.linspace(0, k % 3 + 1, 12, dtype=dtype)[:5]).item())
    state = [t.numpy() for p in (w, b) for t in optimizer.state[p].values() if t is not None]
    return run, losses, [w.detach().numpy(), b.detach().numpy(), *state]


@pytest.mark.parametrize("name, options", [c for c in CASES if c[0] in ("Adam", "NAdam", "ASGD")])
def test_counters_are_float64_where_that_is_the_default(name, options):
    """Such an update was a call of Python."""
    torch.set_default_dtype(torch.float64)
    try:
        test_the_update_is_native_and_eagers(name, options, torch.float64)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name, options", CASES)
def test_the_update_is_native_and_eagers(name, options, dtype):
    run, losses, made = steps(name, options, dtype, True)
    _, want_losses, want = steps(name, options, dtype, False)
    tolerance = 2e-3 if dtype is torch.float32 else 1e-8
    np.testing.assert_allclose(losses, want_losses, rtol=tolerance)
    for a, b in zip(made, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    kinds = {item.kind for item in run.versions[-1].code.run.items}
    assert "update" in kinds
    assert "eager" not in kinds, [
        (i.instructions[0].op, i.reason)
        for i in run.versions[-1].code.run.items
        if i.kind == "eager"
    ]
    assert len(run.versions) == 1


class Shorter(torch.optim.Adam):
    """Adam with a step of its own, which calls the library's."""

    def step(self, closure=None):
        return super().step(closure)


class Halved(torch.optim.Adam):
    """Adam with other numbers."""

    def _numbers(self, group, *scalars):
        numbers, after = super()._numbers(group, *scalars)
        return (*numbers[:-1], numbers[-1] / 2), after


def kinds_of(optimizer, p):
    @torch.compile
    def step(x):
        optimizer.zero_grad()
        (p * x).sum().backward()
        optimizer.step()

    for _ in range(3):
        step(torch.ones(3))
    return {item.kind for item in step.versions[-1].code.run.items}


def test_a_subclass_is_native_where_the_update_is_the_library_s():
    p = nn.Parameter(torch.zeros(3))
    assert "update" in kinds_of(Shorter([p], lr=0.5), p)
    assert p.detach().numpy() == pytest.approx(-1.5, rel=1e-5)
    p = nn.Parameter(torch.zeros(3))
    assert "update" not in kinds_of(Halved([p], lr=0.5), p)
    assert p.detach().numpy() == pytest.approx(-0.75, rel=1e-5)


@pytest.mark.parametrize("clears_first", [True, False])
@pytest.mark.parametrize(
    "name, options", [*CASES, ("Adafactor", {"lr": 0.1}), ("Muon", {"lr": 0.1})]
)
def test_updates_of_parameters_in_another_order_see_new_options(name, options, clears_first):
    """A call of Python gets the optimizer's own dictionaries: it was given copies, with the first
    call's learning rate.
    """
    made = []
    for compiling in (False, True):
        w = nn.Parameter(torch.linspace(-1, 1, 15).reshape(5, 3).t())
        optimizer = getattr(torch.optim, name)([w], **options)

        def step(x, w=w, optimizer=optimizer):
            if clears_first:
                optimizer.zero_grad()
            loss = ((x * w).tanh() - 0.1).pow(2).sum()
            loss.backward()
            optimizer.step()
            if not clears_first:
                optimizer.zero_grad()
            return loss

        run = torch.compile(step) if compiling else step
        losses = []
        for k in range(10):
            if k in (4, 7):
                optimizer.param_groups[0]["lr"] *= 0.1
            losses.append(run(torch.linspace(0, k % 3 + 1, 5)).item())
        made.append((losses, w.detach().numpy().tolist(), optimizer.state_dict()["state"]))
    for eager, compiled in zip(made[0][:2], made[1][:2], strict=True):
        assert (
            compiled == pytest.approx(eager, rel=1e-3, abs=1e-5)
            if np.ndim(eager) == 1
            else np.allclose(compiled, eager, 1e-3, 1e-5)
        )
    for key, value in made[0][2].get(0, {}).items():
        assert np.allclose(value, made[1][2][0][key], 1e-3, 1e-5), key


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.NAdam, torch.optim.ASGD])
def test_a_parameter_that_is_updated_twice_after_another_number_of_steps(kind):
    """The first update runs in Python, since its counters differ; the second one follows from it."""
    found = []
    for compiled in (False, True):
        first, second = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
        optimizer = kind([first, second])

        def step(x, first=first, second=second, optimizer=optimizer):
            first.sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            second.sum().backward()
            optimizer.step()
            return x + 1

        run = torch.compile(step) if compiled else step
        for _ in range(5):
            run(torch.ones(2))
        found.append((first, second))
    for eager, made in zip(*found, strict=True):
        assert torch.allclose(eager, made, atol=1e-6)
