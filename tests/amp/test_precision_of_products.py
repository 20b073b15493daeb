"""Under autocast, products take its precision whatever the precision of their arguments is."""

from __future__ import annotations

import math
from typing import Any

import pytest

import pellucid as torch
from pellucid import nn

bfloat16, float32 = torch.bfloat16, torch.float32


@pytest.mark.parametrize("given", [bfloat16, float32])
@pytest.mark.parametrize("kept", [bfloat16, float32])
@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv1d, (2, 3, 4)),
        (nn.Conv2d, (2, 3, 4, 4)),
        (nn.ConvTranspose1d, (2, 3, 4)),
        (nn.ConvTranspose2d, (2, 3, 4, 4)),
    ],
)
def test_convolutions(
    layer: type, shape: tuple[int, ...], given: torch.dtype, kept: torch.dtype
) -> None:
    module = layer(3, 2, 2).to(kept)
    with torch.autocast("cpu", dtype=bfloat16):
        result = module(torch.ones(shape, dtype=given))
    assert result.dtype == bfloat16
    result.float().sum().backward()
    assert module.weight.grad.dtype == kept and module.bias.grad.dtype == kept


def test_two_convolutions_one_after_the_other() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 1, 3), nn.PReLU())
    with torch.autocast("cpu", dtype=bfloat16):
        assert net(torch.ones(1, 1, 6, 6)).dtype == bfloat16


def test_products_with_a_sum() -> None:
    square, stack = torch.ones(3, 3), torch.ones(2, 3, 3)
    with torch.autocast("cpu", dtype=bfloat16):
        assert (
            torch.addmm(square, square, square).dtype
            == torch.addbmm(square, stack, stack).dtype
            == bfloat16
        )
        assert (
            torch.baddbmm(stack, stack, stack).dtype
            == torch.linalg.vecdot(square, square).dtype
            == bfloat16
        )
        # which autocast does not know
        assert torch.addmv(square[0], square, square[0]).dtype == float32
        assert square.clone().addmm_(square, square).dtype == float32


@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True}])
def test_all_of_an_lstm_is_in_low_precision(options: dict[str, int]) -> None:
    x = torch.ones(2, 3, 4)
    with torch.autocast("cpu", dtype=bfloat16):
        out, (h, c) = nn.LSTM(4, 3, **options)(x)
        packed, _ = nn.LSTM(4, 3, **options)(nn.utils.rnn.pack_sequence([x[0]]))
        assert out.dtype == h.dtype == c.dtype == packed.data.dtype == bfloat16
        out, (h, c) = nn.LSTM(4, 3, proj_size=2)(x)
        # whose steps are single operations
        assert out.dtype == h.dtype == bfloat16 and c.dtype == float32
        assert (
            nn.GRU(4, 3)(x)[0].dtype == float32 and nn.GRU(4, 3)(x.bfloat16())[0].dtype == bfloat16
        )


@pytest.mark.parametrize("given", [bfloat16, float32])
@pytest.mark.parametrize("weights", [(2, 3), (3,)])
def test_linear_layers_of_one_vector(weights: tuple[int, ...], given: torch.dtype) -> None:
    x, weight, bias = (
        torch.ones(3, dtype=given),
        torch.ones(weights, requires_grad=True),
        torch.ones(weights[:-1], requires_grad=True),
    )
    with torch.autocast("cpu", dtype=bfloat16):
        result = nn.functional.linear(x, weight, bias)
    assert result.dtype == bfloat16 and result.flatten().tolist() == [4.0] * result.numel()
    result.float().sum().backward()
    assert weight.grad.dtype == bias.grad.dtype == float32


@pytest.mark.parametrize("biased", [False, True])
def test_bilinear_maps_keep_their_precision(biased: bool) -> None:
    layer, x = nn.Bilinear(3, 3, 2, bias=biased), torch.rand(4, 3)
    with torch.autocast("cpu", dtype=bfloat16):
        assert torch.equal(layer(x, x), nn.functional.bilinear(x, x, layer.weight, layer.bias))
        result = layer(x, x)
    assert result.dtype == float32 and torch.equal(result, layer(x, x))


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 2, 3)])
def test_linear_layers_refuse_doubles_beside_others(shape: tuple[int, ...]) -> None:
    x, weight, bias = torch.ones(shape), torch.ones(2, 3), torch.ones(2)
    cases = [
        (
            (x, weight, bias.double()),
            "self and mat2 must have the same dtype, but got Double and {}",
        ),
        (
            (x, weight.double(), bias),
            "self and mat2 must have the same dtype, but got {} and Double",
        ),
        (
            (x.double(), weight, bias),
            "mat1 and mat2 must have the same dtype, but got Double and {}",
        ),
    ]
    for arguments, text in cases:
        with pytest.raises(RuntimeError, match=text.format("Float")):
            nn.functional.linear(*arguments)
        with (
            torch.autocast("cpu", dtype=bfloat16),
            pytest.raises(RuntimeError, match=text.format("BFloat16")),
        ):
            nn.functional.linear(*arguments)
    with pytest.raises(
        RuntimeError, match="expected m1 and m2 to have the same dtype, but got: double != float"
    ):
        nn.functional.linear(x.double(), weight)
    with (
        torch.autocast("cpu", dtype=bfloat16),
        pytest.raises(RuntimeError, match="but got: double != c10::BFloat16"),
    ):
        nn.functional.linear(x.double(), weight)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_einsum_takes_operands_of_two_precisions(dtype):
    x, w = torch.randn(2, 3, dtype=dtype), torch.randn(3, 4, requires_grad=True)
    with torch.autocast("cpu", dtype=dtype):
        y = torch.einsum("ij,jk->ik", x, w)
        assert torch.equal(y, x @ w)
    assert y.dtype is dtype
    y.sum().backward()
    assert w.grad.dtype is torch.float32


def test_joined_tensors_of_a_third_precision_are_refused():
    half, brain, full = (torch.ones(2, dtype=d) for d in (torch.half, torch.bfloat16, torch.float))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for join in (torch.cat, torch.stack):
            for refused in ([half, half], [half, brain], [brain, half, full]):
                with pytest.raises(RuntimeError, match="at::autocast::prioritize"):
                    join(refused)
            assert join([brain, full]).dtype is join([full, half]).dtype is torch.float32
            assert join([brain, brain]).dtype is torch.bfloat16
            assert join([full.double(), brain]).dtype is torch.float64


def test_tensordot_is_lower_where_it_is_a_product_of_matrices():
    x, w = torch.randn(3, 4), torch.randn(4, 4)
    with torch.autocast("cpu"):
        for a, b, dims in ((x, w, 1), (x, x, 0), (x[:1], x[:1], 1), (x[:, :1], x[:1], 1)):
            assert torch.tensordot(a, b, dims).dtype is torch.bfloat16
        for a, b, dims in ((x[0], x[0], 1), (x, x, 2), (x[:1], w[:, :1], ([1], [0]))):
            y = torch.tensordot(a, b, dims)
            assert y.dtype is torch.float32
            torch.testing.assert_close(y.flatten(), (a.flatten() * b.flatten()).sum()[None])


def test_of_samples_what_is_added_to_a_product_keeps_its_precision() -> None:
    def rand(*shape: int) -> torch.Tensor:
        return (torch.arange(1.0, 1 + math.prod(shape)).reshape(shape) / 7).sin()

    added = rand(3, 2, 5)
    a, b, vectors = rand(3, 2, 4), rand(3, 4, 5), rand(3, 4)
    cases: list[tuple[Any, tuple[torch.Tensor, ...]]] = [
        (torch.nn.functional.linear, (a, b.mT, added[:, 0])),
        (torch.addmm, (added, a, b)),
        (torch.addmv, (added[:, 0], b.mT, vectors)),
        (torch.baddbmm, (added[:, None], a[:, None], b[:, None])),
        (torch.addbmm, (added, a[:, None], b[:, None])),
    ]
    for function, given in cases:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            all_of_them = torch.vmap(function)(*given)
            first = torch.vmap(function, in_dims=(0, *[None] * (len(given) - 1)))(
                given[0], *[t[0] for t in given[1:]]
            )
            alone = function(*[t[0] for t in given])
        assert all_of_them.dtype is first.dtype is torch.float32, function
        assert alone.dtype is torch.bfloat16 or function is torch.addmv, function
        whole = function(*[t[0] for t in given])
        for made in (all_of_them[0], first[0]):
            assert torch.allclose(made, whole, rtol=2e-2, atol=2e-2)
            # the product is lowered
            assert not torch.equal(made, whole) or function is torch.addmv, function
    with torch.autocast("cpu", dtype=torch.bfloat16):
        prelu = torch.vmap(torch.nn.functional.prelu)(-vectors, torch.ones(3, 1))
    assert prelu.dtype is torch.float32
