"""Gradient clipping in compiled steps: native, and eager's results."""

import numpy as np
import pytest

import pellucid as torch
from pellucid.llvm import target

nn = torch.nn


def steps(norm_type, limit, shapes, dtype, scales, compiling):
    g = torch.Generator().manual_seed(0)
    params = [nn.Parameter(torch.randn(*s, generator=g).to(dtype)) for s in shapes]

    def step(x):
        for p in params:
            p.grad = None
        sum((p * p * x).sum() for p in params).backward()
        norm = nn.utils.clip_grad_norm_(params, limit, norm_type)
        return norm, *[p.grad * 1 for p in params]

    run = torch.compile(step) if compiling else step
    return run, [
        [t.to(torch.float64).numpy() for t in run(torch.tensor(s, dtype=dtype))] for s in scales
    ]


DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
# Norms are rounded to two bytes from sums in another order.
ERRORS = [2e-6, 1e-13, 2**-7, 2**-10]


@pytest.mark.parametrize("dtype, error", list(zip(DTYPES, ERRORS, strict=True)))
@pytest.mark.parametrize("norm_type", [2.0, 1.0, float("inf")])
@pytest.mark.parametrize("limit", [1.0, 1e4])
def test_norm_and_gradients_are_eagers(norm_type, limit, dtype, error):
    shapes, scales = (
        [(3, 5), (1,), (700, 3), (16,), (130, 129)],
        [1.0, 0.5, 0.0, float("inf"), float("nan"), 1e-30, 3.0],
    )
    run, got = steps(norm_type, limit, shapes, dtype, scales, True)
    _, want = steps(norm_type, limit, shapes, dtype, scales, False)
    for a, b in zip(got, want, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=error)
    items = {item.instructions[0].op: item.kind for item in run.versions[0].code.run.items}
    native = target.available()
    assert items["_scale"] == ("native" if native else "eager")
    assert items["_total_norm"] == ("native" if native and norm_type == 2.0 else "eager")


def test_many_terms_are_added_without_loss():
    p = nn.Parameter(torch.full((1 << 22,), 1e-3))

    @torch.compile
    def step():
        p.grad = None
        p.sum().backward()
        return nn.utils.clip_grad_norm_([p], 1.0), p.grad.sum()

    for _ in range(3):
        norm, total = step()
        assert norm.item() == 2048.0 and total.item() == pytest.approx(2048.0, rel=1e-5)


def test_threads_share_the_scaling():
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(
                steps(2.0, 1.0, [(400, 300), (7,)], torch.float32, [1.0, 2.0, 3.0], True)[1]
            )
        for a, b in zip(*results, strict=True):
            for x, y in zip(a, b, strict=True):
                np.testing.assert_array_equal(x, y)
    finally:
        torch.set_num_threads(before)


def limited(dtype, compiling):
    params = [nn.Parameter(torch.linspace(-3, 3, n, dtype=dtype)) for n in (1, 17, 5000)]

    def step(x):
        for p in params:
            p.grad = None
        sum((p * p * x).sum() for p in params).backward()
        nn.utils.clip_grad_value_(params, 0.75)
        return [p.grad * 1 for p in params]

    run = torch.compile(step) if compiling else step
    scales = [1.0, 0.1, 0.0, float("inf"), float("nan"), -2.0]
    made = [run(torch.tensor(s, dtype=dtype)) for s in scales]
    return run, [[t.to(torch.float64).numpy() for t in step] for step in made]


@pytest.mark.parametrize("dtype", DTYPES)
def test_limits_of_elements_are_eagers(dtype):
    run, got = limited(dtype, True)
    _, want = limited(dtype, False)
    for a, b in zip(got, want, strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_array_equal(x, y)
    items = {item.instructions[0].op: item.kind for item in run.versions[0].code.run.items}
    assert items["_limit"] == ("native" if target.available() else "eager")


@pytest.mark.parametrize("clip", ["norm", "unscale"])
def test_gradients_that_come_after_the_traced_call_are_clipped(clip):
    p = torch.tensor([3.0, 4.0], requires_grad=True)
    optimizer = torch.optim.SGD([p], lr=0.1)

    @torch.compile
    def limit(x):
        if clip == "norm":
            torch.nn.utils.clip_grad_norm_([p], 1.0)
        else:
            torch.amp.GradScaler("cpu", init_scale=8.0).unscale_(optimizer)
        return x * p

    for call in range(4):
        # the first call found no gradient to clip
        (limit(torch.full((2,), 4.0)) * 2).sum().backward()
        assert torch.equal(p.grad, torch.full((2,), 8.0))
        limit(torch.ones(2))
        want = {"norm": 0.5**0.5, "unscale": 1.0}[clip]
        assert torch.allclose(p.grad, torch.full((2,), want)), call
        p.grad = None
