"""Many two-byte floats: tables of all values, bits instead of comparisons, sums in float32. Small calls
of kernels that serve every size.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays.halves import converted

F = torch.nn.functional


def every(kind):
    """Each two-byte float once: numbers, infinities, NaN."""
    return torch.from_numpy(np.arange(1 << 16, dtype=np.uint16).view(np.int16)).view(kind)


def same_bits(x, y):
    return torch.equal(x.view(torch.int16), y.view(torch.int16))


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
@pytest.mark.parametrize("name", ("lgamma", "digamma", "erfinv"))
def test_a_table_of_all_values_gives_the_bits_that_one_by_one_gives(kind, name):
    x = every(kind)
    many = getattr(torch, name)(torch.stack((x, x.flip(0))))
    assert same_bits(many[0], getattr(torch, name)(x))
    assert same_bits(many[1], many[0].flip(0))


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_bits_decide_what_is_not_zero_and_what_is_finite(kind):
    x = every(kind)
    wide = x.float()
    assert torch.equal(x.to(torch.bool), wide.to(torch.bool))
    assert torch.count_nonzero(x) == torch.count_nonzero(wide) == (1 << 16) - 2
    rows = torch.stack((x[:2], x[32767:32769], x[32768:32770]))
    assert rows.all(1).tolist() == [False, False, False] and rows.any(1).tolist() == [True] * 3
    assert torch.equal(x[32768:].view(2, -1).any(0), wide[32768:].view(2, -1).any(0))
    largest = torch.finfo(kind).max
    assert torch.nan_to_num(x).abs().max() == largest and torch.nan_to_num(x).isfinite().all()
    assert torch.equal(torch.nan_to_num(x)[x.isfinite()], x[x.isfinite()])
    for bad in (np.inf, -np.inf, np.nan):
        assert torch.nan_to_num(torch.tensor([1.0, bad], dtype=kind)).isfinite().all()


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_hypot_neither_overflows_nor_vanishes(kind):
    high, low = torch.finfo(kind).max, torch.finfo(kind).tiny
    x = torch.tensor([high, low, 0.0, -0.0, np.inf, np.nan, -np.inf, np.nan, 3.0] * 8, dtype=kind)
    y = torch.tensor([high, low, 0.0, 5.0, np.nan, np.inf, 1.0, 1.0, -4.0] * 8, dtype=kind)
    expected = np.hypot(x.double().numpy(), y.double().numpy())
    made = torch.hypot(x, y)
    assert torch.equal(made.isnan(), torch.from_numpy(expected).isnan())
    np.testing.assert_allclose(
        made.double().numpy()[1:],
        torch.from_numpy(expected).to(kind).double().numpy()[1:],
        rtol=2**-7,
    )
    assert not torch.signbit(made).any()


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_two_byte_floats_are_added_in_float32(kind):
    rng = np.random.default_rng(0)
    x, y = (torch.from_numpy(rng.normal(size=(40, 30))).to(kind) for _ in range(2))
    columns, rows = (
        torch.from_numpy(rng.integers(0, n, size)) for n, size in ((30, (40, 30)), (40, 40))
    )
    for name, index, dim in (("scatter_add", columns, 1), ("index_add", rows, 0)):
        expected = getattr(x.float(), name)(dim, index, y.float()).to(kind)
        assert same_bits(getattr(x, name)(dim, index, y), expected)


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_medians_and_triangles(kind):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(70, 90))).to(kind)
    assert x.median().float() == x.float().median()
    made, wide = x.median(1), x.float().median(1)
    assert torch.equal(made.values.float(), wide.values) and made.values.dtype is kind
    assert torch.equal(x.gather(1, made.indices[:, None])[:, 0], made.values)
    assert torch.equal(x.tril(-1).float(), x.float().tril(-1))


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_uniform_numbers_stay_below_one(kind):
    torch.manual_seed(0)
    x = torch.rand(1 << 16, dtype=kind)
    assert 0 <= x.min() and x.max() < 1


def test_numbers_of_a_kernel_keep_the_sign_of_zero():
    x = torch.tensor([-1.0, 2.0])
    for _ in range(3):
        for slope in (0.0, -0.0, 0.5):
            made = F.leaky_relu(x, slope)
            assert made.tolist() == [-slope, 2.0]
            assert np.signbit(made[0].item()) == np.signbit(-slope)


def test_a_kernel_that_serves_every_size_refuses_what_others_refuse():
    x = torch.tensor([-1.0, 0.0, 2.0, np.nan])
    for _ in range(100):
        first = F.softplus(x), F.mish(x), torch.rsqrt(x.abs())
    assert torch.equal(F.softplus(x[:0]), x[:0]) and F.softplus(x.double()).dtype is torch.float64
    with pytest.raises(RuntimeError, match="size of tensor"):
        torch.lerp(x, x, x[:3])
    for made, again in zip(first, (F.softplus(x), F.mish(x), torch.rsqrt(x.abs())), strict=True):
        torch.testing.assert_close(made, again, rtol=0, atol=0, equal_nan=True)
    # operands of two dtypes take another way
    assert torch.lerp(x, x, x.double().float()).dtype is torch.float32


def test_rows_added_at_places_outside_are_refused():
    x, rows = torch.zeros(6, 4), torch.ones(3, 4)
    assert x.index_add(0, torch.tensor([1, 1, 5]), rows).sum(1).tolist() == [0, 8, 0, 0, 0, 4]
    for bad in (6, -7):
        with pytest.raises((IndexError, RuntimeError), match="out of"):
            x.index_add(0, torch.tensor([1, bad, 2]), rows)
    many = torch.ones(100, 40)
    places = torch.arange(100) % 7
    assert torch.zeros(7, 40).index_add(0, places, many)[:, 0].tolist() == [15, 15] + [14] * 5
    with pytest.raises((IndexError, RuntimeError), match="out of"):
        torch.zeros(6, 40).index_add(0, places, many)


def test_few_places_of_a_large_array():
    x = torch.arange(6000.0).view(60, 100)
    for y in (x, x.t()):
        values, index = y.max(1)
        assert torch.equal(y.gather(1, index[:, None])[:, 0], values)
        w = y.detach().clone().requires_grad_()
        w.max(1).values.sum().backward()
        assert w.grad.sum() == len(y) and torch.equal(w.grad.nonzero()[:, 1], index)


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16))
def test_casts_draws_and_largest_elements(kind):
    x = every(kind)
    whole = x.float().nan_to_num(0).clamp(-60000, 60000).to(kind)
    for to in (torch.int64, torch.int32):
        assert torch.equal(whole.to(to), whole.float().to(to))
    # as in PyTorch, both steps round: to float32, then to two bytes
    wide = x.float().nan_to_num(1).double() * (1 + 2**-9) * (1 + 2**-40)
    if kind is torch.bfloat16:
        assert same_bits(wide.to(kind), wide.float().to(kind))
    torch.manual_seed(0)
    chances = torch.rand(300).to(kind)
    torch.manual_seed(1)
    drawn = torch.bernoulli(chances)
    torch.manual_seed(1)
    assert torch.equal(drawn.float(), torch.bernoulli(chances.float())) and drawn.dtype is kind
    rows = x.view(256, 256)
    for dim in (0, 1):
        made, expected = rows.max(dim), rows.float().max(dim)
        torch.testing.assert_close(made.values.float(), expected.values, equal_nan=True)
        assert torch.equal(made.indices, expected.indices)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_gated_unit_is_rounded_once(name):
    torch.manual_seed(0)
    x = torch.randn(300, 8).to(getattr(torch, name))
    exact = torch.nn.functional.glu(x.double()).to(x.dtype)
    for f in (torch.nn.functional.glu, torch.compile(torch.nn.functional.glu)):
        for _ in range(2):
            made = f(x)
            assert made.dtype is x.dtype
            assert torch.equal(made, exact)


@pytest.mark.parametrize("kind", (torch.bfloat16, torch.float16, torch.float32, torch.bool))
def test_results_of_expanded_tensors_lie_as_pytorchs(kind):
    one = torch.tensor([[0.0, 1.0, -2.0, 3.0, 5.0]]).to(kind)
    tests = [torch.isreal, torch.signbit, torch.isposinf, torch.isneginf, torch.isnan]
    calls = [torch.relu, torch.erf, torch.rsqrt, F.gelu, F.silu, F.hardswish, torch.sinc]
    for x, strides in (
        (one.expand(4, 5), (5, 1)),
        (one.t().expand(5, 4), (4, 1)),
        (one.expand(3, 5).t(), (3, 1)),
        (one[:, None].expand(2, 3, 5), (15, 5, 1)),
        (one.expand(60, 5), (5, 1)),
    ):
        for f in tests + (calls if kind.is_floating_point else []):
            made, alone = f(x), f(x.contiguous())
            assert made.stride() == strides, f
            assert torch.equal(made.nan_to_num(), alone.nan_to_num()), f
        # as an operation without a public function of its own has it
        if kind.is_floating_point:
            assert converted(x._array, np.dtype("f4")).strides == tuple(4 * s for s in strides)
