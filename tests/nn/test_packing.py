"""Padding: in one go, and, where a gradient or another dtype is involved, from operations, with the
same result.
"""

import pytest

import pellucid as torch
from pellucid.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_both_ways_of_padding_agree(shape, batch_first, side):
    torch.manual_seed(0)
    parts = [torch.randn(n, *shape) for n in (3, 0, 5, 5, 1)]
    quick = pad_sequence(parts, batch_first, -1.5, side)
    recorded = pad_sequence([p.requires_grad_() for p in parts], batch_first, -1.5, side)
    assert recorded.requires_grad and not quick.requires_grad
    assert (
        quick.shape == recorded.shape == torch.Size([*((5, 5) if batch_first else (5, 5)), *shape])
    )
    assert torch.equal(quick, recorded) and quick.is_contiguous()
    recorded.sum().backward()
    assert all(p.grad is None or p.grad.tolist() == torch.ones_like(p).tolist() for p in parts)
    row = quick[1] if batch_first else quick[:, 1]
    assert row.unique().tolist() == [-1.5]


def test_parts_that_do_not_fit():
    with pytest.raises(RuntimeError):
        pad_sequence([torch.zeros(2, 3), torch.zeros(2, 4)])
    assert (
        pad_sequence([torch.zeros(2, dtype=torch.int64), torch.ones(3, dtype=torch.int64)]).dtype
        is torch.int64
    )


def test_integers_and_many_lengths_pack_and_unpack():
    lengths = torch.tensor([6, 6, 4, 1])
    x = torch.arange(4 * 6).reshape(4, 6)
    packed = pack_padded_sequence(x, lengths, batch_first=True)
    assert packed.batch_sizes.tolist() == [4, 3, 3, 3, 2, 2]
    assert packed.data.tolist() == [
        int(x[k, t]) for t in range(6) for k in range(4) if t < lengths[k]
    ]
    padded, back = pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert back.tolist() == lengths.tolist()
    assert torch.equal(padded, torch.where(torch.arange(6) < lengths[:, None], x, -1))


def test_sequences_are_broadcast_to_the_first_or_refused():
    made = pad_sequence([torch.ones(2, 2), 3 * torch.ones(1)], True, -1.0)
    assert made.tolist() == [[[1, 1], [1, 1]], [[3, 3], [-1, -1]]]
    with pytest.raises(RuntimeError, match=r"^The size of tensor a \(3\) must match"):
        pad_sequence([torch.ones(2), torch.ones(3, 2)])
    with pytest.raises(RuntimeError, match="^ArrayRef: invalid slice, N = 1; size = 0"):
        pad_sequence([torch.tensor(1.0)])
    with pytest.raises(IndexError, match="^Dimension specified as 0 but tensor has no dimensions"):
        pad_sequence([torch.ones(2), torch.tensor(3.0)])
