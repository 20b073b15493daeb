"""What kernels take for checked cannot have been changed since, and lies about sizes are refused
before a kernel sees them.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.nn import functional as F
from pellucid.nn.utils.rnn import PackedSequence, pad_packed_sequence


def leaf(*shape):
    return torch.randn(shape).requires_grad_()


def positions():
    return torch.tensor([1, 2, 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda i: F.embedding(i, leaf(9, 4)),
        lambda i: F.embedding_bag(i, leaf(9, 4), torch.tensor([0, 1])),
        lambda i: F.embedding_bag(i, leaf(9, 4), torch.tensor([0, 1]), mode="max"),
        lambda i: F.cross_entropy(leaf(3, 9), i),
        lambda i: F.ctc_loss(
            leaf(6, 3, 9), i.view(3, 1), torch.tensor([6, 6, 6]), torch.tensor([1, 1, 1])
        ),
        lambda i: F.ctc_loss(
            leaf(6, 3, 9), torch.ones(3, 1, dtype=torch.int64), i, torch.tensor([1, 1, 1])
        ),
        lambda i: F.ctc_loss(
            leaf(6, 3, 9), torch.ones(3, 3, dtype=torch.int64), torch.tensor([6, 6, 6]), i
        ),
        lambda i: F.max_unpool1d(leaf(1, 1, 3), i.view(1, 1, 3), 2),
    ],
)
def test_backward_refuses_positions_that_were_written_to(call):
    i = positions()
    out = call(i)
    i.fill_(1 << 40)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_backward_refuses_places_of_maxima_that_were_written_to():
    out, places = F.fractional_max_pool2d(leaf(1, 2, 8, 8), 2, output_size=3, return_indices=True)
    places.fill_(1 << 40)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("sizes", [[100, 50], [4, -1], [1, 2], [2], [0, 3], [1, 1, 1, 1], []])
def test_batch_sizes_that_do_not_fit_their_data(kind, sizes):
    packed = PackedSequence(torch.ones(3, 1), torch.tensor(sizes, dtype=torch.int64))
    expected = RuntimeError if sizes else IndexError
    with pytest.raises(expected):
        getattr(torch.nn, kind)(1, 2)(packed)
    with pytest.raises(expected):
        pad_packed_sequence(packed)


def test_steps_that_no_sequence_has_change_nothing():
    model = torch.nn.GRU(1, 2)
    data = torch.randn(3, 1)
    out = [
        model(PackedSequence(data, torch.tensor(sizes)))[0].data.tolist()
        for sizes in ([2, 1], [2, 1, 0])
    ]
    assert out[0] == out[1]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(
    ("name", "shape"),
    [("weight_hh", (3, 2)), ("weight_hh", (4, 8)), ("weight_ih", (2, 3)), ("weight_hh", (16, 3))],
)
def test_recurrent_weights_of_other_shapes(kind, name, shape):
    layer, cell = getattr(torch.nn, kind)(3, 4), getattr(torch.nn, kind + "Cell")(3, 4)
    setattr(layer, name + "_l0", torch.nn.Parameter(torch.ones(shape)))
    setattr(cell, name, torch.nn.Parameter(torch.ones(shape)))
    with pytest.raises(RuntimeError):
        layer(torch.ones(5, 2, 3))
    with pytest.raises(RuntimeError):
        cell(torch.ones(2, 3))


@pytest.mark.parametrize("offsets", [[0, 3, 1], [0, -1], [0, 9], [1, 2]])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_offsets_that_are_no_places(offsets, mode):
    def call(starts):
        return F.embedding_bag(torch.tensor([1, 2, 3, 4]), torch.ones(9, 2), starts, mode=mode)

    compiled = torch.compile(call)
    for _ in range(3):
        compiled(torch.arange(len(offsets)))
    for function in (call, compiled):
        with pytest.raises(RuntimeError, match=r"offsets"):
            function(torch.tensor(offsets))
    assert call(torch.tensor([], dtype=torch.int64)).shape == (0, 2)


def test_lengths_whose_sum_comes_round():
    lengths = torch.tensor([1 << 62] * 4)
    with pytest.raises(RuntimeError):
        F.ctc_loss(
            torch.randn(5, 4, 3), torch.zeros(0, dtype=torch.int64), torch.tensor([5] * 4), lengths
        )


# ---- nothing to compute -----------------------------------------------------------------------------
def shapes_of(call, *arguments):
    """The shape of the result and of the gradients."""
    leaves = [a.requires_grad_() for a in arguments]
    out = call(*leaves)
    return [tuple(t.shape) for t in (out, *torch.autograd.grad(out.sum(), leaves))]


def test_no_features():
    ones = torch.ones
    index = torch.tensor([0, 1])
    assert shapes_of(lambda w: F.embedding(index, w), ones(3, 0)) == [(2, 0), (3, 0)]
    for mode in ("sum", "mean", "max"):
        assert shapes_of(
            lambda w, mode=mode: F.embedding_bag(index, w, torch.tensor([0]), mode=mode), ones(3, 0)
        ) == [
            (1, 0),
            (3, 0),
        ]
        none = torch.zeros(0, dtype=torch.int64)
        bags = shapes_of(
            lambda w, mode=mode, none=none: F.embedding_bag(
                none, w, torch.tensor([0, 0]), mode=mode
            ),
            ones(3, 2),
        )
        assert bags == [(2, 2), (3, 2)]
    assert shapes_of(F.linear, ones(0), ones(3, 0), ones(3)) == [(3,), (0,), (3, 0), (3,)]
    assert shapes_of(F.linear, ones(2, 4, 0), ones(3, 0), ones(3)) == [
        (2, 4, 3),
        (2, 4, 0),
        (3, 0),
        (3,),
    ]
    value = torch.randn(2, 4, 5)
    out = F.scaled_dot_product_attention(ones(2, 3, 0), ones(2, 4, 0), value)
    assert torch.allclose(out, value.mean(1, keepdim=True).expand(2, 3, 5))


def test_einsum_of_two_types_where_nothing_is_multiplied():
    a, b = torch.ones(2, 0), torch.ones(0, 3, dtype=torch.float64)
    assert torch.einsum("ij,jk->ik", a, b).dtype is torch.float64
    assert (
        torch.einsum("i,j->ij", torch.ones(3), torch.ones(2, dtype=torch.float64)).dtype
        is torch.float64
    )
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 3, dtype=torch.float64))


def test_empty_batches_and_sizes():
    none = torch.zeros(0, 2, 2, 2, dtype=torch.int64)
    assert F.max_unpool2d(torch.ones(0, 2, 2, 2), none, 2).shape == (0, 2, 4, 4)
    with pytest.raises(RuntimeError, match="non-zero size for non-batch dimensions"):
        F.max_unpool2d(torch.ones(1, 0, 2, 2), none.view(1, 0, 2, 2), 2)
    assert F.interpolate(torch.ones(1, 2, 3, 3), size=(0, 2), mode="area").shape == (1, 2, 0, 2)
    assert F.adaptive_avg_pool2d(torch.ones(1, 2, 3, 3), (0, 2)).shape == (1, 2, 0, 2)
    attention = torch.nn.MultiheadAttention(4, 2)
    x = torch.ones(3, 0, 4)
    assert attention(x, x, x)[0].shape == (3, 0, 4)
    with pytest.raises(RuntimeError, match="must not be empty"):
        F.ctc_loss(
            torch.randn(5, 0, 3),
            torch.zeros(0, 2, dtype=torch.int64),
            torch.zeros(0, dtype=torch.int64),
            torch.zeros(0, dtype=torch.int64),
        )


# ---- what the fuzzers of single operations found besides ---------------------------------------------
def test_queries_that_see_no_key_have_a_gradient_of_zeros():
    q, k, v = (
        torch.randn(1, 1, 3, 2).requires_grad_(),
        torch.randn(1, 1, 2, 2),
        torch.randn(1, 1, 2, 2).requires_grad_(),
    )
    bias = torch.tensor([[0.0, -1.0], [-float("inf")] * 2, [0.0, 0.0]]).requires_grad_()
    for leaves in ([q, v], [q, v, bias]):
        out = F.scaled_dot_product_attention(
            q, k, v, attn_mask=bias if len(leaves) == 3 else bias.detach()
        )
        for graph in (False, True):
            grads = torch.autograd.grad(
                out.sin().sum(), leaves, create_graph=graph, retain_graph=True
            )
            assert all(torch.isfinite(g).all() for g in grads)
            assert grads[0][0, 0, 1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_masks_of_no_elements_must_fit_as_others(shape):
    with pytest.raises(IndexError, match="The shape of the mask"):
        torch.ones(3, 2)[torch.zeros(shape, dtype=torch.bool)] = 1.0


def test_whole_numbers():
    assert F.avg_pool1d(torch.tensor([[[-3, 2, -4, 1]]]), 2).tolist() == [[[0, -1]]]
    assert F.avg_pool2d(torch.tensor([[[[-3, 2], [7, 8]]]]), 2, divisor_override=-4).tolist() == [
        [[[-3]]]
    ]
    kind = torch.int32
    assert (
        F.bilinear(
            torch.ones(2, 3, dtype=kind),
            torch.ones(2, 4, dtype=kind),
            torch.ones(5, 3, 4, dtype=kind),
        ).dtype
        is kind
    )
    assert torch.randint_like(torch.ones(4, 5), 2, 10).shape == (4, 5)
    assert torch.rand_like(torch.ones(4, 5), requires_grad=True).requires_grad


def test_places_of_one_number():
    for function in (torch.unique, torch.unique_consecutive):
        values, inverse, counts = function(torch.tensor(3), return_inverse=True, return_counts=True)
        assert (values.shape, inverse.shape, counts.tolist()) == ((1,), (), [1])


def test_booleans_of_other_bytes_are_sorted_as_booleans():
    x = torch.from_numpy(np.array([0, 1, 2, 255, 3], np.uint8).view(bool))
    assert x.sort(stable=True).indices.tolist() == [0, 1, 2, 3, 4]
    assert torch.frombuffer(bytearray([2, 0, 1]), dtype=torch.bool).sort(
        stable=True
    ).indices.tolist() == [1, 0, 2]


def test_dropout3d_without_a_batch_drops_whole_channels():
    for _ in range(5):
        out = F.dropout3d(torch.ones(4, 3, 3, 3), 0.5, True)
        assert all(len(set(channel.flatten().tolist())) == 1 for channel in out)


def test_sizes_that_leave_nothing():
    with pytest.raises(RuntimeError, match=r"\(0 x 0 x 1\). Output size is too small"):
        F.conv_transpose3d(torch.ones(1, 8, 4, 4, 5), torch.ones(8, 9, 1, 1, 1), padding=2)
    one = torch.ones(1, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="Expected 3-dimensional tensor"):
        F.ctc_loss(torch.ones(3, 1, 1, 5), one.view(1, 1), one, one)
    with pytest.raises(ValueError, match="weight has to be a 2D Tensor"):
        F.embedding_bag(one, torch.ones(5, 1, 8), one * 0)


def test_comparisons_of_shapes_that_do_not_fit():
    for function in (torch.isclose, torch.allclose):
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            function(torch.ones(3), torch.ones(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_bad_labels_of_every_dtype(dtype):
    compiled = torch.compile(F.cross_entropy)
    for _ in range(3):
        compiled(torch.randn(3, 4, dtype=dtype), torch.tensor([1, 2, 0]))
    for label in (-2, 7, 1 << 40):
        with pytest.raises(IndexError, match=f"Target {label} is out of bounds"):
            compiled(torch.randn(3, 4, dtype=dtype), torch.tensor([1, label, 0]))
