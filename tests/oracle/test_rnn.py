"""Recurrent layers against PyTorch: values, gradients, second order, in every arrangement of
directions, layers and batches.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402


def results(lib, kind, options, weights, x, states, double, second):
    module = getattr(lib.nn, kind)(5, 7, **options)
    module = module.double() if double else module
    if weights is not None:
        module.load_state_dict({name: lib.tensor(value) for name, value in weights.items()})
    leaves = [lib.tensor(v, requires_grad=True) for v in (x, *states)]
    given = None if not states else tuple(leaves[1:]) if kind == "LSTM" else leaves[1]
    out, last = module(leaves[0], given)
    last = last if isinstance(last, tuple) else (last,)
    weight = lib.arange(out.numel()).reshape(out.shape).to(out.dtype) * 0.01
    loss = (out * out * weight).sum() + sum((s * s).sum() * (k + 1) for k, s in enumerate(last))
    leaves += module.parameters()
    gradients = lib.autograd.grad(loss, leaves, create_graph=second)
    made = [out, *last, *gradients]
    if second:
        made += lib.autograd.grad(sum((g * g).sum() for g in gradients), leaves)
    return module, [t.detach().numpy() for t in made]


@pytest.mark.filterwarnings("ignore:LSTM with projections")
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize(
    "shape, batch_first", [((4, 3, 5), False), ((3, 4, 5), True), ((4, 5), False)]
)
@pytest.mark.parametrize(
    "bidirectional, layers, bias", [(False, 1, True), (True, 2, True), (True, 1, False)]
)
@pytest.mark.parametrize(
    "kind, more",
    [
        ("LSTM", {}),
        ("LSTM", {"proj_size": 3}),
        ("GRU", {}),
        ("RNN", {}),
        ("RNN", {"nonlinearity": "relu"}),
    ],
)
def test_layers_equal_pytorch(
    kind, more, bidirectional, layers, bias, shape, batch_first, double, second
):
    rng = np.random.default_rng(3)
    dtype = np.float64 if double else np.float32
    options = {
        "bidirectional": bidirectional,
        "num_layers": layers,
        "bias": bias,
        "batch_first": batch_first,
        **more,
    }
    lead = (layers * (1 + bidirectional),) if len(shape) == 2 else (layers * (1 + bidirectional), 3)
    sizes = [] if layers == 2 else [more.get("proj_size", 7), 7][: 2 if kind == "LSTM" else 1]
    states = [rng.standard_normal((*lead, size)).astype(dtype) for size in sizes]
    x = rng.standard_normal(shape).astype(dtype)
    torch.manual_seed(0)
    module, wanted = results(torch, kind, options, None, x, states, double, second)
    weights = {name: value.numpy() for name, value in module.state_dict().items()}
    _, got = results(pellucid, kind, options, weights, x, states, double, second)
    tolerance = 1e-12 if double else 2e-5
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max()))
        assert a.dtype == b.dtype
