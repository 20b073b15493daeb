"""Generated kernels against PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pellucid.kernels.pointwise import activations  # noqa: E402
from pellucid.kernels.rows import attention, softmax  # noqa: E402
from pellucid.llvm import target  # noqa: E402

if not target.available():
    pytest.skip("kernels need llvmlite and a processor with vectors", allow_module_level=True)

RNG = np.random.default_rng(0)


def data(*shape):
    return np.asarray(RNG.standard_normal(shape), np.float32)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    "options", [{}, {"label_smoothing": 0.1}, {"weight": data(17) ** 2}, {"ignore_index": 3}]
)
def test_cross_entropy(options, reduction):
    x, t = data(40, 17), RNG.integers(0, 17, 40)
    tx = torch.from_numpy(x).requires_grad_()
    theirs = {k: torch.from_numpy(v) if k == "weight" else v for k, v in options.items()}
    want = torch.nn.functional.cross_entropy(tx, torch.from_numpy(t), reduction=reduction, **theirs)
    loss, saved = softmax.cross_entropy(x, t, reduction=reduction, **options)
    np.testing.assert_allclose(loss, want.detach().numpy(), rtol=2e-6, atol=1e-6)
    g = data(*loss.shape)
    want.backward(torch.from_numpy(g))
    got = softmax.cross_entropy_backward(g, x, t, saved, **options)
    np.testing.assert_allclose(got, tx.grad.numpy(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal):
    q, k, v, g = (data(2, 3, 70, 16) for _ in range(4))
    inputs = [torch.from_numpy(a).requires_grad_() for a in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
    want.backward(torch.from_numpy(g))
    out, lse = attention.attention(q, k, v, None, causal)
    grads = attention.attention_backward(g, q, k, v, lse, None, causal)
    for mine, theirs in zip((out, *grads), (want.detach(), *(t.grad for t in inputs)), strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "name, arguments",
    [("gelu", {}), ("silu", {}), ("mish", {}), ("softplus", {}), ("hardswish", {})],
)
def test_activations(name, arguments):
    x, g = data(1000) * 4, data(1000)
    tx = torch.from_numpy(x).requires_grad_()
    want = getattr(torch.nn.functional, name)(tx, **arguments)
    want.backward(torch.from_numpy(g))
    numbers = (1.0, 20.0) if name == "softplus" else ()
    np.testing.assert_allclose(
        getattr(activations, name)(x, *numbers), want.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    got = getattr(activations, name + "_backward")(g, x, *numbers)
    np.testing.assert_allclose(got, tx.grad.numpy(), rtol=1e-5, atol=2e-6)
