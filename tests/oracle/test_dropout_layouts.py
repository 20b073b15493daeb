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
