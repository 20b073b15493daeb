"""Dropouts of tensors that are not contiguous: the mask is drawn in the order of memory, and
results keep PyTorch's strides.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

LAYOUTS = {
    "contiguous": lambda m: m.ones(4, 5, 6),
    "transposed": lambda m: m.ones(5, 4, 6).transpose(0, 1),
    "result of a transposed one": lambda m: m.ones(5, 4, 6).transpose(0, 1) * 2 + m.ones(4, 1, 6),
    "permuted": lambda m: m.ones(6, 5, 4).permute(2, 1, 0),
    "every other": lambda m: m.ones(4, 10)[:, ::2],
    "expanded": lambda m: m.ones(4, 1).expand(4, 5),
    "channels last": lambda m: m.ones(2, 3, 4, 5).to(memory_format=m.channels_last),
}
DROPOUTS = {
    "dropout": lambda m, x: m.nn.functional.dropout(x, 0.4),
    "in place": lambda m, x: m.nn.functional.dropout(x.clone(), 0.4, inplace=True),
    "alpha": lambda m, x: m.nn.functional.alpha_dropout(x, 0.4, True),
    "twice": lambda m, x: m.nn.functional.dropout(m.nn.functional.dropout(x, 0.1), 0.2),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", DROPOUTS)
def test_masks(name, layout):
    results = []
    for m in (torch, pellucid):
        m.manual_seed(3)
        result = DROPOUTS[name](m, LAYOUTS[layout](m))
        results.append((result.numpy(), m.rand(1).item()))
    np.testing.assert_allclose(results[1][0], results[0][0], rtol=1e-6)
    assert results[1][1] == results[0][1]


def test_norms_of_transposed_tensors_are_contiguous():
    for m in (torch, pellucid):
        x = m.ones(5, 4, 6).transpose(0, 1)
        assert m.nn.functional.layer_norm(x, (6,)).stride() == (30, 6, 1)
        assert m.nn.LayerNorm(6)(x).stride() == (30, 6, 1)


def test_an_encoder_on_sequences_that_were_transposed():
    """Embeddings `(N, L, E)` transposed to `(L, N, E)`, as many language models do, with dropout on
    the sum with positions.
    """
    losses = []
    for m in (torch, pellucid):
        m.manual_seed(0)
        embedding, positions = m.nn.Embedding(11, 8), m.randn(7, 1, 8)
        layer = m.nn.TransformerEncoderLayer(8, 2, 16, 0.2, activation="gelu")
        model = m.nn.TransformerEncoder(
            layer, 2, norm=m.nn.LayerNorm(8), enable_nested_tensor=False
        )
        head = m.nn.Linear(8, 11)
        ids = m.randint(0, 11, (3, 7))
        parameters = [*embedding.parameters(), *model.parameters(), *head.parameters()]
        optimizer = m.optim.AdamW(parameters, lr=1e-2)
        own = []
        for _ in range(6):
            x = m.nn.functional.dropout(embedding(ids).transpose(0, 1) * 8**0.5 + positions, 0.1)
            loss = m.nn.functional.cross_entropy(
                head(model(x)).transpose(0, 1).reshape(-1, 11), ids.view(-1)
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


def _operand(m, generator, shape, kind):
    """A tensor of this shape: permuted, expanded, cut out of a larger one, or of fewer dimensions."""
    n, way = len(shape), generator.integers(5)
    turn = [int(d) for d in generator.permutation(n)]
    back = [turn.index(d) for d in range(n)]
    sizes = [shape[d] for d in turn]
    ones = [1 if generator.random() < 0.4 else k for k in sizes]
    if way == 0:
        return m.ones(shape[1:], dtype=kind)
    if way == 1:
        return m.ones(ones, dtype=kind).permute(back).expand(shape)
    if way == 2:
        large = m.ones([2 * k for k in sizes], dtype=kind).permute(back)
        for d, k in enumerate(shape):
            large = large.narrow(d, int(generator.integers(k)), k)
        return large
    if way == 3 and n == 4:
        return m.ones(shape, dtype=kind).to(memory_format=m.channels_last)
    return m.ones(sizes, dtype=kind).permute(back)


POINTWISE = {
    "add": lambda m, x, y, z: x + y,
    "sub of three": lambda m, x, y, z: x - y * z,
    "maximum": lambda m, x, y, z: m.maximum(x, y),
    "lt": lambda m, x, y, z: x < y,
    "where": lambda m, x, y, z: m.where(x > 0, y, z),
    "addcmul": lambda m, x, y, z: m.addcmul(x, y, z),
    "lerp": lambda m, x, y, z: m.lerp(*(t.double() for t in (x, y, z))),
    "clamp": lambda m, x, y, z: m.clamp(x, y, z),
    "masked_fill": lambda m, x, y, z: x.masked_fill(y > 0, 2),
    "bce": lambda m, x, y, z: m.nn.functional.binary_cross_entropy_with_logits(
        *(t.double() for t in m.broadcast_tensors(x, y)), reduction="none"
    ),
    "clone": lambda m, x, y, z: x.clone(),
    "to": lambda m, x, y, z: x.to(m.float16),
    "nan_to_num": lambda m, x, y, z: x.nan_to_num(),
    "zeros_like": lambda m, x, y, z: m.zeros_like(x),
}


@pytest.mark.parametrize("way", ["eager", "recorded", "meta", "compiled"])
def test_results_lie_in_memory_as_pytorchs(way):
    """Also where the operands disagree; the first of them decides."""
    for seed in range(200 if way != "compiled" else 14):
        found = []
        for m in (torch, pellucid):
            generator = np.random.default_rng(seed)
            shape = [int(k) for k in generator.integers(2, 5, generator.integers(2, 5))]
            kinds = [m.float32, m.float32, m.float64, m.int64]
            given = [_operand(m, generator, shape, kinds[generator.integers(4)]) for _ in range(3)]
            rule = POINTWISE[list(POINTWISE)[seed % len(POINTWISE)]]
            if way == "recorded":
                given = [x.requires_grad_() if x.is_floating_point() else x for x in given]
            if way == "meta":
                given = [x.to("meta") for x in given]
            if way == "compiled" and m is pellucid:
                rule = pellucid.compile(rule)
            made = rule(m, *given)
            found.append((made.stride(), str(made.dtype).split(".")[1]))
        assert found[0] == found[1], (seed, list(POINTWISE)[seed % len(POINTWISE)], given)


def test_a_memory_format_orders_dimensions_of_one_element():
    for m in (torch, pellucid):
        x = m.ones(2, 3, 1, 1)
        for made in (x.to(memory_format=m.channels_last), x.clone(memory_format=m.channels_last)):
            assert made.stride() == (3, 1, 3, 3)
