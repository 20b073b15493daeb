"""flex_attention and block masks: dense attention as the reference, blocks that are not computed,
gradients, refusals.
"""

import doctest
import warnings

import pytest

import pellucid as torch
from pellucid.nn.attention import SDPBackend, _block_mask, bias, flex_attention, sdpa_kernel
from pellucid.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
)

flex = flex_attention.flex_attention


def inputs(length=96, keys=96, heads=2, dtype=torch.float64, seed=0):
    g = torch.manual_seed(seed)
    return [
        torch.randn(2, heads, n, 4, generator=g, dtype=dtype, requires_grad=True)
        for n in (length, keys, keys)
    ]


def dense(q, k, v, mask=None):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def test_doctests():
    for module in (flex_attention, _block_mask, bias):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("block", [16, 128, (8, 32)])
@pytest.mark.parametrize(
    "mod",
    [
        lambda b, h, q, k: q >= k,
        lambda b, h, q, k: (q - k).abs() < 10,
        lambda b, h, q, k: (q >= k) ^ (h == 1),
        lambda b, h, q, k: (k < 20 * (b + 1)) | (q >= k),
    ],
)
def test_masks_and_their_gradients(mod, block):
    q, k, v = inputs()
    mask = create_block_mask(mod, 2, 2, 96, 96, BLOCK_SIZE=block)
    out = flex(q, k, v, block_mask=mask)
    reference = dense(q, k, v, create_mask(mod, 2, 2, 96, 96))
    assert torch.allclose(out, reference)
    weight = torch.randn(out.shape, dtype=torch.float64)
    mine = torch.autograd.grad((out * weight).sum(), (q, k, v))
    theirs = torch.autograd.grad((reference * weight).sum(), (q, k, v))
    assert all(torch.allclose(a, b) for a, b in zip(mine, theirs, strict=True))
    scored = flex(q, k, v, lambda s, b, h, i, j: torch.where(mod(b, h, i, j), s, -float("inf")))
    assert torch.allclose(scored, reference)


def test_gradients_by_finite_differences():
    q, k, v = inputs(6, 5, 2)
    table = torch.randn(11, dtype=torch.float64, requires_grad=True)
    mask = create_block_mask(lambda b, h, i, j: i - j < 3, 1, 1, 6, 5, BLOCK_SIZE=2)

    def run(q, k, v, table):
        return flex(
            q,
            k,
            v,
            lambda s, b, h, i, j: torch.tanh(s) * (h + 1) + table[i - j + 5],
            mask,
            return_aux=AuxRequest(lse=True),
        )

    assert torch.autograd.gradcheck(lambda *a: run(*a)[0], (q, k, v, table))
    assert torch.autograd.gradcheck(lambda *a: run(*a)[1].lse, (q, k, v, table))


def test_queries_that_see_nothing_get_zeros_and_no_gradient():
    q, k, v = inputs(40, 40)
    mask = create_block_mask(lambda b, h, i, j: (i > 20) & (j > 20), 1, 1, 40, 40, BLOCK_SIZE=16)
    out, aux = flex(
        q, k, v, lambda s, b, h, i, j: s + 1, mask, return_aux=AuxRequest(lse=True, max_scores=True)
    )
    assert (out[:, :, :21] == 0).all() and (out[:, :, 21:] != 0).all()
    assert aux.lse[:, :, :21].isneginf().all() and aux.max_scores[:, :, :21].isneginf().all()
    out.sum().backward()
    assert (
        (q.grad[:, :, :21] == 0).all()
        and q.grad.isfinite().all()
        and (v.grad[:, :, :21] == 0).all()
    )
    none = flex(q, k, v, block_mask=create_block_mask(lambda b, h, i, j: i < 0, 1, 1, 40, 40))
    assert (none == 0).all()


def test_blocks_that_nobody_sees_are_not_computed():
    """What stands in them must not matter: they hold nan."""
    q, k, v = inputs(96, 96)
    mask = create_block_mask(lambda b, h, i, j: (i < 32) & (j < 32), 1, 1, 96, 96, BLOCK_SIZE=32)
    assert mask.sparsity() == pytest.approx(100 * 8 / 9)
    spoiled = [t.detach().clone() for t in (k, v)]
    for t in spoiled:
        t[:, :, 32:] = float("nan")
    asked = []

    def score(s, b, h, i, j):
        asked.append(s.shape)
        return s

    out = flex(q, *spoiled, score, mask)
    assert (
        torch.equal(out[:, :, :32], flex(q, k, v, score, mask)[:, :, :32])
        and (out[:, :, 32:] == 0).all()
    )
    assert len(asked) == 2, "one call of the function for the only block of each run"


def test_lists_of_blocks_decide_without_a_mask_function():
    q, k, v = inputs(64, 64)
    counts, order = (
        torch.tensor([[[1, 2]]], dtype=torch.int32),
        torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32),
    )
    mask = BlockMask.from_kv_blocks(counts, order, BLOCK_SIZE=32)
    assert mask.to_dense().tolist() == [[[[0, 1], [1, 1]]]] and mask.q_num_blocks.tolist() == [
        [[1, 2]]
    ]
    seen = torch.ones(64, 64, dtype=torch.bool)
    seen[:32, :32] = False
    assert torch.allclose(flex(q, k, v, block_mask=mask), dense(q, k, v, seen))
    part = create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 64, 64, BLOCK_SIZE=32)[:, :, 1:]
    with pytest.raises(RuntimeError, match="sliced BlockMask"):
        flex(q[:, :, 32:], k, v, block_mask=part._adjust(32, 64))
    part.mask_mod = lambda b, h, i, j: i + 32 >= j
    whole = create_mask(lambda b, h, i, j: i >= j, 1, 1, 64, 64)
    assert torch.allclose(
        flex(q[:, :, 32:], k, v, block_mask=part._adjust(32, 64)), dense(q, k, v, whole)[:, :, 32:]
    )


def test_half_precision_computes_in_float32():
    q, k, v = (t.detach().to(torch.bfloat16) for t in inputs())
    out, lse = flex(q, k, v, return_lse=True)
    assert out.dtype == torch.bfloat16 and lse.dtype == torch.float32
    reference = dense(q.float(), k.float(), v.float())
    assert (out.float() - reference).abs().max() < 0.02


def test_combined_masks():
    left, right = (lambda b, h, q, k: q >= k), (lambda b, h, q, k: q <= k)
    both, either = (
        create_mask(and_masks(left, right), 1, 1, 4, 4),
        create_mask(or_masks(left, right), 1, 1, 4, 4),
    )
    assert torch.equal(both[0, 0], torch.eye(4, dtype=torch.bool)) and either.all()
    assert create_mask(noop_mask, 1, 1, 2, 2).all()
    assert (
        create_mask(and_masks(), 1, 1, 2, 2).all() and not create_mask(or_masks(), 1, 1, 2, 2).any()
    )


def test_indices_outside_a_block_mask():
    mask = create_block_mask(lambda b, h, q, k: q >= k, 2, 3, 64, 64)
    assert mask[-1].shape == (1, 3, 64, 64) and mask[..., 0].shape == (2, 3, 64, 64)
    for index in (5, (0, 3), (0, 0, 0, 0)):
        with pytest.raises(IndexError):
            mask[index]
    q, k, v = inputs(64, 64)
    with pytest.raises(ValueError, match="does not fit"):
        flex(q, k, v, block_mask=mask)
    with pytest.raises(ValueError, match="BLOCK_SIZE must be positive"):
        create_block_mask(lambda b, h, q, k: q >= k, 1, 1, 4, 4, BLOCK_SIZE=0)


def test_choice_of_kernels():
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert dense(*inputs()).shape == (2, 2, 96, 4)
    assert str(SDPBackend.MATH) == "SDPBackend.MATH"
    with (
        pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"),
        sdpa_kernel(3),
    ):
        pass


def test_causal_bias_in_ordinary_operations():
    mask = bias.causal_upper_left(3, 3)
    assert torch.equal(~mask, torch.ones(3, 3, dtype=torch.bool).triu(1))
    assert type(mask + 1) is torch.Tensor
    q, k, v = inputs(3, 3)
    assert torch.allclose(
        dense(q, k, v, mask),
        torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    )
    with pytest.warns(UserWarning, match="Lower right causal bias"):
        bias.causal_lower_right(4, 2)


def test_compiled():
    """What depends on the mask's blocks is not replayed for another mask."""
    compiled = torch.compile(flex)
    q, k, v = inputs(64, 64)
    masks = [
        create_block_mask(mod, 1, 1, 64, 64, BLOCK_SIZE=16)
        for mod in (lambda b, h, i, j: i >= j, lambda b, h, i, j: i <= j)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mask in (*masks, *masks):
            assert torch.allclose(
                compiled(q, k, v, block_mask=mask), flex(q, k, v, block_mask=mask)
            )
            assert torch.allclose(
                compiled(q, k, v, lambda s, b, h, i, j: s * 2),
                flex(q, k, v, lambda s, b, h, i, j: s * 2),
            )
