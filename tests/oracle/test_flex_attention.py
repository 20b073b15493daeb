"""flex_attention, block masks and causal biases against PyTorch, and against masks written out in
full.
"""

import warnings

import pytest

torch = pytest.importorskip("torch")

import numpy as np  # noqa: E402
import torch.nn.attention.bias as their_bias  # noqa: E402
import torch.nn.attention.flex_attention as theirs  # noqa: E402

import pellucid  # noqa: E402
import pellucid.nn.attention.bias as our_bias  # noqa: E402
import pellucid.nn.attention.flex_attention as ours  # noqa: E402

L = 150


def data(kv_heads=4, length=L, keys=L):
    rng = np.random.default_rng(0)
    shapes = ((2, 4, length, 8), (2, kv_heads, keys, 8), (2, kv_heads, keys, 6))
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def document(m):
    return m.tensor((np.arange(L) // 47).tolist())


SCORES = {
    "nothing": lambda m: None,
    "alibi": lambda m: lambda s, b, h, q, k: s + (k - q) * m.exp2(-(h + 1) * 2.0),
    "cap": lambda m: lambda s, b, h, q, k: 2.0 * m.tanh(s / 2.0),
    "relative": lambda m: lambda s, b, h, q, k: s + m.linspace(-1, 1, 2 * L)[q - k + L],
    "causal by score": lambda m: lambda s, b, h, q, k: m.where(q >= k, s, -float("inf")),
    "by batch": lambda m: lambda s, b, h, q, k: s * m.tensor([0.5, 2.0])[b],
}
MASKS = {
    "nothing": lambda m: None,
    "causal": lambda m: lambda b, h, q, k: q >= k,
    "window": lambda m: lambda b, h, q, k: (q - k < 20) & (q >= k),
    "band": lambda m: lambda b, h, q, k: (q - k).abs() <= 30,
    "documents": lambda m: lambda b, h, q, k: document(m)[q] == document(m)[k],
    "prefix": lambda m: lambda b, h, q, k: (k < m.tensor([10, 70])[b]) | (q >= k),
    "by head": lambda m: lambda b, h, q, k: (q - k) * (h % 2 * 2 - 1) >= 0,
    "rows that see nothing": lambda m: lambda b, h, q, k: (q > 60) & (k > 60),
}


def theirs_and_ours(mask, score, kv_heads=4, block=32, aux=True):
    results = []
    for m, flex, kind in ((torch, theirs, torch.tensor), (pellucid, ours, pellucid.tensor)):
        q, k, v = (kind(x) for x in data(kv_heads))
        mod = MASKS[mask](m)
        blocks = mod and flex.create_block_mask(mod, 2, 4, L, L, device="cpu", BLOCK_SIZE=block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out = flex.flex_attention(
                q,
                k,
                v,
                SCORES[score](m),
                blocks,
                enable_gqa=kv_heads != 4,
                return_aux=flex.AuxRequest(lse=True) if aux else None,
            )
        results.append((out[0].numpy(), out[1].lse.numpy()) if aux else (out.numpy(),))
    return results


def close(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(y, x, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("mask", MASKS)
def test_masks(mask):
    close(*theirs_and_ours(mask, "nothing"))
    close(*theirs_and_ours(mask, "nothing", aux=False))


@pytest.mark.parametrize("score", SCORES)
def test_scores(score):
    close(*theirs_and_ours("nothing", score))
    close(*theirs_and_ours("window", score, kv_heads=2))
    close(*theirs_and_ours("prefix", score, kv_heads=1, block=(64, 16)))


def test_gradients_of_what_the_functions_read():
    """PyTorch has no backward of flex_attention on the CPU: the reference is its dense attention
    with the bias written out.
    """
    q, k, v = data()
    table, slope = (
        np.random.default_rng(1).standard_normal(n).astype(np.float32) for n in (2 * L, 4)
    )
    leaves = [torch.tensor(x, requires_grad=True) for x in (q, k, v, table, slope)]
    row, column = torch.arange(L)[:, None], torch.arange(L)
    bias = leaves[3][row - column + L] + leaves[4][:, None, None] * (column - row) / 50
    bias = bias.masked_fill((row - column >= 40) | (row < column), -float("inf"))
    out = torch.nn.functional.scaled_dot_product_attention(
        *leaves[:3], attn_mask=bias.expand(2, 4, L, L)
    )
    weight = np.random.default_rng(2).standard_normal(out.shape).astype(np.float32)
    (out * torch.tensor(weight)).sum().backward()

    mine = [pellucid.tensor(x, requires_grad=True) for x in (q, k, v, table, slope)]
    mask = ours.create_block_mask(
        lambda b, h, i, j: (i - j < 40) & (i >= j), None, None, L, L, BLOCK_SIZE=16
    )
    result = ours.flex_attention(
        *mine[:3], lambda s, b, h, i, j: s + mine[3][i - j + L] + mine[4][h] * (j - i) / 50, mask
    )
    (result * pellucid.tensor(weight)).sum().backward()
    np.testing.assert_allclose(result.detach().numpy(), out.detach().numpy(), rtol=1e-5, atol=1e-5)
    for a, b in zip(leaves, mine, strict=True):
        np.testing.assert_allclose(b.grad.numpy(), a.grad.numpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "sizes",
    [
        (1000, 1500, 128),
        (300, 300, (64, 128)),
        (90, 200, 16),
        (128, 128, 128),
        (1, 300, 128),
        (900, 900, 16),
    ],
)
@pytest.mark.parametrize("separate", [True, False])
def test_block_masks(sizes, separate):
    q, k, block = sizes
    for mod in (
        lambda b, h, i, j: i >= j,
        lambda b, h, i, j: (i - j).abs() < 100 * (h + 1),
        lambda b, h, i, j: (b + i) * 0 > 1,
    ):
        pair = [
            m.create_block_mask(
                mod, 2, 3, q, k, device="cpu", BLOCK_SIZE=block, separate_full_blocks=separate
            )
            for m in (theirs, ours)
        ]
        for a, b in (
            (pair[0], pair[1]),
            (pair[0][1], pair[1][1]),
            (pair[0][:, 1:, 0], pair[1][:, 1:, 0]),
        ):
            assert str(b) == str(a)
            assert repr(b).replace("_cut_mask", "_sliced_mask_mod_error") == repr(a)
            assert b.to_string(limit=2, grid_size=(3, 5)) == a.to_string(limit=2, grid_size=(3, 5))
            assert b.to_string(-1) == a.to_string(-1)
            assert (
                b.shape == a.shape
                and b.numel() == a.numel()
                and b.sparsity() == pytest.approx(a.sparsity())
            )
            assert b.to_dense().tolist() == a.to_dense().tolist()
            for name in theirs.BlockMask._TENSOR_ATTRS[:8]:
                x, y = getattr(a, name), getattr(b, name)
                assert (x is None) == (y is None), name
                if x is not None:
                    assert y.tolist() == x.tolist() and str(y.dtype) == str(x.dtype), name
    whole = [
        m.create_mask(lambda b, h, i, j: i * (h + 1) >= j + b, 2, 2, 5, 7, device="cpu").tolist()
        for m in (theirs, ours)
    ]
    assert whole[0] == whole[1]


def test_adjusted_lengths():
    masks = [
        m.create_block_mask(
            lambda b, h, i, j: i >= j, 1, 2, 300, 300, device="cpu", BLOCK_SIZE=32
        )._adjust(100, 200)
        for m in (theirs, ours)
    ]
    assert (
        repr(masks[1]) == repr(masks[0])
        and masks[1].to_dense().tolist() == masks[0].to_dense().tolist()
    )


def refusals(m, flex):
    q = m.ones(1, 2, 300, 8)
    block = flex.create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 128, 128, device="cpu")
    wide = flex.create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 600, 600, device="cpu")
    for call in (
        lambda: flex.flex_attention(q[0], q, q),
        lambda: flex.flex_attention(q, q[:, :1], q[:, :1]),
        lambda: flex.flex_attention(
            m.ones(1, 3, 4, 8), m.ones(1, 2, 4, 8), m.ones(1, 2, 4, 8), enable_gqa=True
        ),
        lambda: flex.flex_attention(q, q[..., :4], q),
        lambda: flex.flex_attention(q, q, q, block_mask=block),
        lambda: flex.flex_attention(q, q, q, block_mask=wide),
        lambda: flex.flex_attention(q.expand(2, 2, 300, 8), q, q),
        lambda: flex.flex_attention(q, q, q, return_lse=True, return_aux=flex.AuxRequest(lse=True)),
        lambda: flex.create_mask(lambda b, h, i: i, 1, 1, 2, 2),
        lambda: flex.and_masks(3),
        lambda: flex.or_masks(3),
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        yield type(caught.value).__name__, str(caught.value)


def test_same_refusals():
    assert list(refusals(pellucid, ours)) == list(refusals(torch, theirs))


def test_causal_biases():
    rng = np.random.default_rng(0)
    for q_len, k_len in ((4, 4), (3, 7)):
        q, k = rng.standard_normal((2, q_len, 8)), rng.standard_normal((2, k_len, 8))
        for name in ("causal_upper_left", "causal_lower_right"):
            a, b = getattr(their_bias, name)(q_len, k_len), getattr(our_bias, name)(q_len, k_len)
            assert repr(a) == repr(b) and int(a.variant) == int(b.variant)
            assert a._materialize().tolist() == b._materialize().tolist()
            t = torch.nn.functional.scaled_dot_product_attention(
                torch.tensor(q)[None], torch.tensor(k)[None], torch.tensor(k)[None], a
            )
            p = pellucid.tensor
            o = pellucid.nn.functional.scaled_dot_product_attention(
                p(q)[None], p(k)[None], p(k)[None], attn_mask=b
            )
            np.testing.assert_allclose(o.numpy(), t.numpy(), rtol=1e-6, atol=1e-7)
    with pytest.raises(ValueError, match="CausalBias should not be used with causal=True"):
        pellucid.nn.functional.scaled_dot_product_attention(
            p(q)[None], p(k)[None], p(k)[None], b, is_causal=True
        )
