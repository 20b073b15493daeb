"""What is around a call of a compiled function: modes of the caller, arguments that share memory,
calls that are all different.
"""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.compiler.function import SIZES


def training(compiled: bool, around) -> tuple[list[float], nn.Module]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 5)
    )
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(8, 1, 4, 4), torch.randint(0, 5, (8,))
    losses = []
    for _ in range(4):
        with around():
            out = run(x)
            loss = F.cross_entropy(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses += [loss.item(), str(out.dtype)]
    return losses, run


@pytest.mark.parametrize(
    "around",
    [
        lambda: torch.autocast("cpu", dtype=torch.bfloat16),
        lambda: torch.autocast("cpu", dtype=torch.float16, cache_enabled=False),
        lambda: torch.autocast("cpu", enabled=False),
        lambda: torch.enable_grad(),
    ],
)
def test_modules_are_compiled_inside_of_autocast(around):
    """The recipe for mixed precision: `with autocast(): out = compiled_model(x)`."""
    want, _ = training(False, around)
    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.compiler.CompileWarning)
        got, run = training(True, around)
    assert got[1::2] == want[1::2] and got[::2] == pytest.approx(want[::2], rel=1e-2)
    assert len(run._compiled().versions) == 1


def test_what_was_cast_before_the_call_is_nothing_that_a_program_reads():
    layer = nn.Linear(3, 3)
    run = torch.compile(layer)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(3):
            assert torch.equal(layer(torch.ones(2, 3)), run(torch.ones(2, 3)))
            with torch.no_grad():
                layer.weight.mul_(2)
    assert [v.hits for v in run._compiled().versions] == [2]


def test_inference_mode_is_compiled_and_its_results_are_inference_tensors():
    run = torch.compile(nn.Linear(3, 3))
    with torch.inference_mode():
        made = [run(torch.ones(2, 3)) for _ in range(3)]
    assert all(t.is_inference() for t in made) and run._compiled().versions[0].hits == 2
    other = run(torch.ones(2, 3))
    assert other.requires_grad and not other.is_inference()


# ---- arguments that share memory ---------------------------------------------------------------------
def test_a_step_on_words_and_the_words_that_follow_is_compiled():
    def run(compiled):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 20))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            optimizer.step()
            return loss

        function = torch.compile(step) if compiled else step
        losses = []
        for _ in range(6):
            text = torch.randint(0, 20, (4, 9))
            losses.append(function(text[:, :-1], text[:, 1:]).item())
        return losses, function

    want, _ = run(False)
    got, function = run(True)
    assert got == pytest.approx(want, rel=1e-6)
    assert [v.hits for v in function.versions] == [5]


def test_a_write_to_an_argument_is_seen_in_the_one_that_shares_its_memory():
    def f(x, y, z):
        x.mul_(2)
        y.add_(1)
        return x + 0, y * z, y[1:]

    compiled = torch.compile(f)
    for start in (0, 0, 0, 1, 1):
        bases = [torch.arange(12.0) for _ in range(2)]
        results = []
        for function, base in zip((f, compiled), bases, strict=True):
            x, y = base[:5], base[2 + start : 7 + start]
            made = function(x, y, torch.full((5,), 3.0))
            made[2].add_(100)  # looks into the argument
            results.append([*made[:2], base, x._version, y._version])
        for want, got in zip(*results, strict=True):
            torch.testing.assert_close(got, want)
    assert sum(v.hits for v in compiled.versions) == 3
    assert len(compiled.versions) == 2


def test_arguments_that_are_only_read_may_lie_apart_or_together():
    compiled = torch.compile(lambda x, y: x.t() @ y)
    base = torch.arange(20.0)
    for x, y in 2 * [
        (base[:6], base[6:12]),
        (base[:6], base[3:9]),
        (base[3:9], base[:6]),
        (base[:6], base[:6].clone()),
        (base[:6], base[:6].view(6)),
    ]:
        x, y = x.view(2, 3), y.view(2, 3)
        torch.testing.assert_close(compiled(x, y), x.t() @ y)
    assert len(compiled.versions) == 1


def test_arguments_that_share_memory_and_require_grad():
    compiled = torch.compile(lambda x, y: (x * y).sum())
    for _ in range(3):
        leaf = torch.arange(5.0, requires_grad=True)
        compiled(leaf[:-1], leaf[1:]).backward()
        assert leaf.grad.tolist() == [1, 2, 4, 6, 3]


def test_arguments_that_share_memory_with_gaps_in_it():
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))[::2]
    x, y = torch.from_numpy(array), torch.from_numpy(array[:, 1:])
    compiled = torch.compile(lambda x, y: x[:, 1:] + y)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, y), x[:, 1:] + y)
    assert [v.hits for v in compiled.versions] == [1]


# ---- calls that are all different ---------------------------------------------------------------------
def test_numbers_of_numpy_become_inputs_as_pythons_do():
    """`lam = np.random.beta(...)` of mixup is a float64 of NumPy's."""

    def f(x, lam):
        return lam * x + (1.0 - lam) * x.flip(0)

    compiled = torch.compile(f)
    x = torch.arange(4.0)
    for k in range(12):
        lam = np.float64(0.1 * k)
        torch.testing.assert_close(compiled(x, lam), f(x, lam))
    assert len(compiled.versions) == 2


def test_what_only_numpys_numbers_have_is_there():
    def f(x, lam):
        return x * (lam.item() if lam.dtype == np.float64 else 0) + x * lam.astype("int64").item()

    compiled = torch.compile(f)
    for k in range(4):
        lam = np.float64(1.5 * k)
        assert compiled(torch.ones(2), lam).tolist() == f(torch.ones(2), lam).tolist()


class Annealed(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = 1.0

    def forward(self, x):
        return F.softmax(x / self.temperature, -1)


def test_an_attribute_that_numpy_computes_becomes_an_input():
    model = Annealed()
    run = torch.compile(model)
    x = torch.arange(4.0)
    for k in range(10):
        model.temperature = np.maximum(np.exp(-0.1 * k), 0.5)
        torch.testing.assert_close(run(x), model(x))
    assert len(run._compiled().versions) <= 3


def test_calls_of_ever_other_lengths_are_not_traced_for_ever():
    model = nn.Linear(3, 3)
    run = torch.compile(model)
    rng = random.Random(0)
    for _ in range(500):
        x = torch.randn(rng.randint(1, 120), 3)
        torch.testing.assert_close(run(x), model(x))
    function = run._compiled()
    assert (
        sum("because" in h and h.startswith("traced") for h in function.history)
        == len(function.versions)
        == SIZES
    )
    hits = sum(v.hits for v in function.versions)
    known = function.versions[3].admission.signature[0][1]
    run(torch.randn(*known))
    # the versions that are there serve on
    assert sum(v.hits for v in function.versions) == hits + 1


def test_calls_under_autocast_need_only_the_quick_check(monkeypatch):
    model = torch.nn.Linear(3, 2)
    compiled = torch.compile(lambda x: model(x))

    def refuse(self, *rest):
        raise AssertionError("the slow check was asked")

    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        expected = model(torch.ones(4, 3))
        compiled(torch.ones(4, 3))
        with monkeypatch.context() as patched:
            patched.setattr(type(compiled.versions[0].admission), "why_not", refuse)
            assert torch.equal(compiled(torch.ones(4, 3)), expected)
    with torch.no_grad():
        assert compiled(torch.ones(4, 3)).dtype == torch.float32
        with torch.autocast("cpu", dtype=torch.float16):
            assert compiled(torch.ones(4, 3)).dtype == torch.float16
    assert len(compiled.versions) == 3
