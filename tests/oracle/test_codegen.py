"""Generated kernels against PyTorch."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pellucid.codegen import activations, attention, optim, softmax, target  # noqa: E402

if not target.available():
    pytest.skip("kernels need llvmlite and a processor with vectors", allow_module_level=True)

RNG = np.random.default_rng(0)
SHAPES = [(5, 9), (7,), ()]  # PyTorch's square root of larger tensors is not always correctly rounded


def data(*shape):
    return np.asarray(RNG.standard_normal(shape), np.float32)


def rounds_roots() -> bool:
    """Whether PyTorch's square roots are rounded correctly, as IEEE 754 demands: on some processors its vector library's are not."""
    x = np.linspace(0.01, 1, 10_000, dtype=np.float32)
    return bool((torch.from_numpy(x).sqrt().numpy() == np.sqrt(x)).all())


def same_bits(mine, theirs):
    for a, b in zip(mine, theirs, strict=True):
        if rounds_roots():
            np.testing.assert_array_equal(a, b.detach().numpy())
        else:
            np.testing.assert_allclose(a, b.detach().numpy(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"momentum": 0.9, "weight_decay": 0.01},
        {"momentum": 0.9, "nesterov": True, "maximize": True},
        {"momentum": 0.5, "dampening": 0.25},
    ],
)
def test_sgd_to_the_bit(options):
    params = [data(*s) for s in SHAPES]
    buffers = [np.zeros_like(p) for p in params]
    theirs = [torch.from_numpy(p.copy()).requires_grad_() for p in params]
    optimizer = torch.optim.SGD(theirs, lr=0.1, **options)
    for step in range(3):
        grads = [data(*s) for s in SHAPES]
        for t, g in zip(theirs, grads, strict=True):
            t.grad = torch.from_numpy(g)
        optimizer.step()
        assert optim.sgd(params, grads, buffers, lr=0.1, first_step=step == 0, **options)
        same_bits(params, theirs)


@pytest.mark.parametrize("options", [{}, {"amsgrad": True}, {"betas": (0.4, 0.9)}, {"weight_decay": 0.1, "maximize": True}])
@pytest.mark.parametrize("decoupled", [False, True])
def test_adam_to_the_bit(decoupled, options):
    params = [data(*s) for s in SHAPES]
    state = [[np.zeros_like(p) for p in params] for _ in range(3 if options.get("amsgrad") else 2)]
    theirs = [torch.from_numpy(p.copy()).requires_grad_() for p in params]
    options = {"weight_decay": 0.0, **options}
    optimizer = (torch.optim.AdamW if decoupled else torch.optim.Adam)(theirs, lr=1e-2, **options)
    beta1, beta2 = options.get("betas", (0.9, 0.999))
    mine = {"weight_decay": options["weight_decay"], "maximize": options.get("maximize", False)}
    for step in (1, 2, 3):
        grads = [data(*s) for s in SHAPES]
        for t, g in zip(theirs, grads, strict=True):
            t.grad = torch.from_numpy(g)
        optimizer.step()
        numbers = {"step": step, "lr": 1e-2, "beta1": beta1, "beta2": beta2}
        assert optim.adam(params, grads, *state, decoupled=decoupled, **numbers, **mine)
        same_bits(params, theirs)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.1}, {"weight": data(17) ** 2}, {"ignore_index": 3}])
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


@pytest.mark.parametrize("name, arguments", [("gelu", {}), ("silu", {}), ("mish", {}), ("softplus", {}), ("hardswish", {})])
def test_activations(name, arguments):
    x, g = data(1000) * 4, data(1000)
    tx = torch.from_numpy(x).requires_grad_()
    want = getattr(torch.nn.functional, name)(tx, **arguments)
    want.backward(torch.from_numpy(g))
    numbers = (1.0, 20.0) if name == "softplus" else ()
    np.testing.assert_allclose(getattr(activations, name)(x, *numbers), want.detach().numpy(), rtol=1e-5, atol=1e-6)
    got = getattr(activations, name + "_backward")(g, x, *numbers)
    np.testing.assert_allclose(got, tx.grad.numpy(), rtol=1e-5, atol=2e-6)
