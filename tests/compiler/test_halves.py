"""Gradients of two-byte floats: a compiled step computes them in float32 and rounds once, as an
eager one does.
"""

import pytest

import pellucid as torch
from tests.compiler.eager_and_compiled import floats

F = torch.nn.functional
STEPS = {
    "batch norm": lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
    "layer norm": lambda x, w, b: F.layer_norm(x, (16,), w, b),
    "softmax": lambda x, w, b: (x * w).softmax(1) + b,
    "gelu": lambda x, w, b: F.gelu(x * w + b),
    "tanh": lambda x, w, b: x.tanh() * w + b,
    "sums": lambda x, w, b: x.sum(0) * w + b + x.exp().mean(0),
    "the same twice": lambda x, w, b: x.sin() * x.sin() * w + b * b,
}


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
@pytest.mark.parametrize("name", STEPS)
def test_gradients_are_rounded_as_eager_ones(name, dtype):
    g = torch.Generator().manual_seed(0)
    given = [
        make(g).detach().to(dtype).requires_grad_()
        for make in (floats(8, 16), floats(16), floats(16))
    ]

    def step(*tensors):
        out = STEPS[name](*tensors)
        return out, *torch.autograd.grad(
            out, tensors, torch.linspace(-1, 1, out.numel()).reshape(out.shape).to(dtype)
        )

    for eager, compiled in zip(
        step(*given), torch.compile(step, fullgraph=True)(*given), strict=True
    ):
        assert compiled.dtype is dtype
        torch.testing.assert_close(compiled, eager, rtol=torch.finfo(dtype).eps / 4, atol=1e-7)


@pytest.mark.parametrize("exponent", [3, 3.0, -2, -0.5, 2, 0.5, -1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def test_powers_are_rounded_as_eager_ones(dtype, exponent):
    x = torch.arange(1 << 16, dtype=torch.int32).to(torch.int16).view(dtype)
    x = x[x.isfinite()]
    power = lambda x: x**exponent
    compiled = torch.compile(power, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), power(x), rtol=0, atol=0, equal_nan=True)
    once, twice = (x.float() ** 3).to(dtype), x * x * x
    if exponent == 3:  # as in PyTorch
        wanted = once if dtype is torch.float16 else twice
        torch.testing.assert_close(power(x), wanted, rtol=0, atol=0)
