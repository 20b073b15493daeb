"""Nested tensors against the same computation component by component: results, gradients, refusals."""

import copy
import doctest
import io
import pickle

import pytest

import pellucid as torch
from pellucid import nested
from pellucid.errors import full_text
from pellucid.nn import functional as F

SIZES = (2, 5, 3)
D = torch.float64


def leaves(width=4):
    g = torch.manual_seed(0)
    return [torch.randn(n, width, generator=g, dtype=D, requires_grad=True) for n in SIZES]


def test_doctests():
    assert doctest.testmod(nested).failed == 0


W = torch.arange(12.0, dtype=D).reshape(4, 3) / 7

# Functions that mean the same for a nested tensor and for each component with a batch dimension of
# one.
FUNCTIONS = {
    "arithmetic": lambda x: (2 - x) / (x**2 + 1) + x.abs(),
    "activation": lambda x: F.gelu(x) + torch.sigmoid(x) * F.softplus(x),
    "linear": lambda x: F.linear(x, W.T),
    "matmul": lambda x: x @ W,
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "rms_norm": lambda x: F.rms_norm(x, (4,)),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "softmax": lambda x: F.softmax(x, dim=-1),
    "softmax over the ragged dimension": lambda x: F.softmax(x, dim=1),
    "log_softmax over the ragged dimension": lambda x: torch.log_softmax(x, 1),
    "cumsum over the ragged dimension": lambda x: x.cumsum(1),
    "sum over the ragged dimension": lambda x: x.sum(1),
    "weights over the ragged dimension": lambda x: x / (x * x).sum(1, keepdim=True),
    "mean over the ragged dimension": lambda x: x.mean(1),
    "largest over the ragged dimension": lambda x: (
        x.amax(1) + x.max(1).values - x.amin(dim=1, keepdim=False)
    ),
    "logsumexp over the ragged dimension": lambda x: x.logsumexp(1),
    "reductions of dense dimensions": lambda x: x.sum(-1) * x.mean(2) + x.var(-1) + x.max(-1)[0],
    "shapes": lambda x: (
        x.unflatten(-1, (2, 2)).transpose(1, 2).transpose(2, 3).flatten(1, 2).permute(0, 2, 1)
    ),
    "parts": lambda x: torch.cat([x.chunk(2, -1)[1], x.split(3, -1)[0], x.narrow(-1, 1, 2)], -1),
    "indices": lambda x: x[..., 1:3] * x[:, :, :1] + x[..., 2].unsqueeze(-1),
    "squeezes": lambda x: x.unsqueeze(1).unsqueeze(-1).squeeze(1) * 2,
    "views": lambda x: x.view(x.size(0), x.size(1), 2, 2).reshape(x.size(0), -1, 4),
    "attention": lambda x: F.scaled_dot_product_attention(x, x * 2, x + 1),
    "causal attention": lambda x: F.scaled_dot_product_attention(
        *[y.unflatten(-1, (2, 2)).transpose(1, 2) for y in (x, x, x)], is_causal=True
    ),
    "where": lambda x: torch.where(x > 0, x, 2 * x).clamp(max=1.5).masked_fill(x < -1, 0.0),
    "select": lambda x: x.select(-1, 2),
}


NOT_STRIDED = (
    "matmul",
    "normalize",
    "largest over the ragged dimension",
    "reductions of dense dimensions",
    "shapes",
    "parts",
    "views",
)


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_by_components(name, layout):
    function = FUNCTIONS[name]
    own, reference = leaves(), leaves()
    x = nested.as_nested_tensor(own, layout=layout)
    if layout is torch.strided and name in NOT_STRIDED:
        with pytest.raises((NotImplementedError, RuntimeError)):
            function(x)
        return
    result = function(x)
    rows = list(result.unbind())
    expected = [function(t[None])[0] for t in reference]
    for a, b in zip(rows, expected, strict=True):
        assert torch.allclose(a, b)
    weights = [torch.randn(e.shape, dtype=D) for e in expected]
    sum((r * w).sum() for r, w in zip(rows, weights, strict=True)).backward()
    sum((r * w).sum() for r, w in zip(expected, weights, strict=True)).backward()
    for a, b in zip(own, reference, strict=True):
        assert torch.allclose(a.grad, b.grad)


def test_dense_arguments_are_broadcast_to_the_components():
    own = leaves()
    x = nested.as_nested_tensor(own, layout=torch.jagged)
    row, batch = (
        torch.arange(4.0, dtype=D),
        torch.arange(12.0, dtype=D).reshape(3, 1, 4).requires_grad_(),
    )
    whole, places = torch.randn(3, 5, 4, dtype=D), torch.randn(5, 1, dtype=D)
    y = x * row + batch - whole + places
    for k, part in enumerate(y.unbind()):
        n = SIZES[k]
        assert torch.allclose(part, own[k] * row + batch[k] - whole[k, :n] + places[:n])
    y.sum().backward()
    assert batch.grad[:, 0, 0].tolist() == list(SIZES)
    with pytest.raises(RuntimeError, match="does not broadcast"):
        x + torch.ones(3, 6, 4, dtype=D)
    with pytest.raises(RuntimeError, match="does not broadcast"):
        x + torch.ones(1, 1, 1, 4, dtype=D)


def test_products():
    own = leaves()
    x = nested.as_nested_tensor(own, layout=torch.jagged)
    each = torch.randn(3, 4, 2, dtype=D)
    assert all(
        torch.allclose(a, b @ w) for a, b, w in zip((x @ each).unbind(), own, each, strict=True)
    )
    gram = x.transpose(1, 2) @ x
    assert all(
        torch.allclose(a, b.T @ b) for a, b in zip(gram, own, strict=True)
    ) and gram.shape == (3, 4, 4)
    with pytest.raises(
        RuntimeError, match=r"matmul\(\): not supported between inputs of shapes \(3, j\d+, 4\)"
    ):
        x @ x.transpose(1, 2)
    s = nested.as_nested_tensor(own)
    assert all(
        torch.allclose(a, b @ b.T)
        for a, b in zip((s @ s.transpose(1, 2)).unbind(), own, strict=True)
    )


def test_gaps_between_components():
    values = torch.arange(10.0, requires_grad=True)
    x = nested.nested_tensor_from_jagged(
        values, torch.tensor([0, 4, 10]), lengths=torch.tensor([2, 3])
    )
    assert (
        [t.tolist() for t in x.unbind()] == [[0, 1], [4, 5, 6]]
        and not x.is_contiguous()
        and x.numel() == 5
    )
    assert x.sum().item() == 16 and x.mean(1).tolist() == [0.5, 5.0] and x.max().item() == 6
    assert x.to_padded_tensor(-1.0).tolist() == [[0, 1, -1], [4, 5, 6]]
    assert [t.tolist() for t in x.softmax(1).sum(1, keepdim=True)] == [[pytest.approx(1)]] * 2
    y = x.contiguous()
    assert y.is_contiguous() and y.offsets().tolist() == [0, 2, 5]
    (y * 2).sum().backward()
    assert values.grad.tolist() == [2, 2, 0, 0, 2, 2, 2, 0, 0, 0]


def test_a_leaf_has_a_nested_gradient():
    for layout in (torch.jagged, torch.strided):
        x = nested.nested_tensor(
            [torch.ones(2, 3), torch.ones(1, 3)], layout=layout, requires_grad=True
        )
        assert x.is_leaf and x.requires_grad and x.grad is None
        (x * x).to_padded_tensor(0.0).sum().backward()
        assert (
            x.grad.is_nested
            and x.grad.layout is layout
            and [g.tolist() for g in x.grad.unbind()] == [[[2.0] * 3] * 2, [[2.0] * 3]]
        )
        x.grad = None
        assert x.grad is None
    y = nested.nested_tensor(
        [torch.ones(2), torch.ones(1)], layout=torch.jagged, requires_grad=True
    )
    z = y * 3
    z.backward(torch.ones_like(y))
    assert y.grad.values().tolist() == [3, 3, 3] and z.grad_fn.name() == "MulBackward0"


def test_a_model_trains():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.LayerNorm(8)
    )
    head = torch.nn.Linear(8, 1)
    optimizer = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.02)
    batch = nested.nested_tensor([torch.randn(n, 4) for n in (3, 7, 1, 5) * 4], layout=torch.jagged)
    target = batch.sum((-1,)).mean(1)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.mse_loss(head(model(batch).mean(1)).squeeze(-1), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4


def test_printing():
    x = nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    number = str(x.shape[1])
    assert number[0] == "j" and int(number[1:]) > 0
    assert (
        repr(x)
        == f"NestedTensor(size=(2, {number}, 3), offsets=tensor([0, 2, 3]), contiguous=True)"
    )
    assert (
        str(x.shape) == f"torch.Size([2, {number}, 3])" and str(x.stride()) == f"(3*{number}, 3, 1)"
    )
    assert f"{x}" == repr(x) and "grad_fn=<MulBackward0>" in repr(x.requires_grad_() * 2)
    with pytest.raises(RuntimeError, match="the size of a ragged dimension"):
        int(x.shape[1])


def test_copies():
    x = nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    for y in (
        copy.deepcopy(x),
        pickle.loads(pickle.dumps(x)),
        nested.as_nested_tensor(
            nested.as_nested_tensor(x, layout=torch.strided), layout=torch.jagged
        ),
    ):
        assert (
            y.offsets().tolist() == [0, 2, 3]
            and y.values().tolist() == x.values().tolist()
            and y.values() is not x.values()
        )
    s = nested.nested_tensor([torch.ones(2), torch.ones(1)])
    for y in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert [t.tolist() for t in y.unbind()] == [[1, 1], [1]]


def test_stride_and_backward_take_what_a_tensor_s_take():
    a, b = (torch.ones(2, 3, requires_grad=True), torch.ones(4, 3, requires_grad=True))
    x = nested.as_nested_tensor([a, b], layout=torch.jagged)
    assert x.stride(2) == x.stride(-1) == 1 and x.stride(1) == 3
    y = x * 2
    y.backward(torch.ones_like(y), inputs=[a])
    assert a.grad.tolist() == [[2.0] * 3] * 2 and b.grad is None
    leaf = nested.nested_tensor(
        [torch.ones(1, 3), torch.ones(2, 3)], layout=torch.jagged, requires_grad=True
    )
    y = leaf * 3
    y.backward(torch.ones_like(y), inputs=leaf)
    assert leaf.grad.values().tolist() == [[3.0] * 3] * 3


@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: x.sort(1), "sort"),
        (lambda x: torch.einsum("bij->bi", x), "einsum"),
        (lambda x: F.conv1d(x, torch.ones(1, 4, 1)), "conv1d"),
        (lambda x: F.mse_loss(x, x), "mse_loss"),
        (lambda x: torch.linalg.svd(x), "svd"),
        (lambda x: x.roll(1), "roll"),
        (lambda x: x.median(1), "median"),
        (lambda x: x.index_select(0, torch.tensor([0])), "index_select"),
        (
            lambda x: F.scaled_dot_product_attention(x, x, x, attn_mask=torch.ones(1)),
            "scaled_dot_product_attention",
        ),
        (lambda x: torch.nn.LSTM(4, 3)(x), "array|sizes"),
    ],
)
def test_what_is_not_supported_names_itself(call, name, layout):
    x = nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=layout)
    with pytest.raises((NotImplementedError, RuntimeError), match=name) as caught:
        call(x)
    assert "ested" in full_text(caught.value)


def test_compiled_functions_run_eagerly_on_them():
    layer = torch.nn.Linear(4, 2)
    compiled = torch.compile(layer)
    x = nested.nested_tensor([torch.randn(3, 4), torch.randn(5, 4)], layout=torch.jagged)
    for _ in range(3):
        assert all(
            torch.equal(a, b) for a, b in zip(compiled(x).unbind(), layer(x).unbind(), strict=True)
        )


def test_the_sizes_that_are_given_are_believed():
    values, offsets = torch.arange(10.0).view(5, 2), torch.tensor([0, 2, 5])
    x = nested.nested_tensor_from_jagged(values, offsets, min_seqlen=1, max_seqlen=4)
    for y in (x, x * 2, copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.transpose(1, 2)):
        assert (y._min_seqlen, y._max_seqlen) == (1, 4)
    assert x.to_padded_tensor(0.0).shape == (2, 4, 2)
    short = nested.nested_tensor_from_jagged(values, offsets, max_seqlen=2)
    assert short.to_padded_tensor(0.0)[1].tolist() == [[4, 5], [6, 7]]


def test_taken_apart_and_put_together():
    x = nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)], layout=torch.jagged)
    names, context = x.__tensor_flatten__()
    parts = {name: getattr(x, name) for name in names}
    assert {name: tuple(part.shape) for name, part in parts.items()} == {
        "_values": (3, 3),
        "_offsets": (3,),
        "_min_seqlen_tensor": (1, 0),
        "_max_seqlen_tensor": (2, 0),
    }
    y = type(x).__tensor_unflatten__(parts, context, x.shape, x.stride())
    assert y.shape == x.shape and y.values() is x.values()
    gaps = nested.narrow(torch.ones(2, 5), 1, 1, torch.tensor([2, 3]), layout=torch.jagged)
    assert "_lengths" in gaps.__tensor_flatten__()[0]
    bare = nested.nested_tensor_from_jagged(torch.ones(3), torch.tensor([0, 3]))
    assert bare.__tensor_flatten__() == (
        ["_values", "_offsets"],
        {"requires_grad": False, "ragged_idx": 1},
    )


def test_ragged_sizes_compare():
    x = nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged)
    y = nested.nested_tensor([torch.ones(2), torch.ones(1)], layout=torch.jagged)
    j, k = x.shape[1], y.shape[1]
    assert isinstance(j, torch.SymInt) and torch.Size([2, j]) == x.shape
    assert j >= 2 and j > 1 and not j < 2 and not j <= 1 and j != 5 and j != k
    assert j >= j and j <= j and 2 * j > j and j < 3 * j
    for compare in (lambda: j > 2, lambda: j < 5, lambda: 5 < j, lambda: j > k, lambda: j <= k):
        with pytest.raises(ValueError, match="^ge: relation is indeterminate"):
            compare()


@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
@pytest.mark.parametrize("grad", [False, True])
def test_files(layout, grad):
    made = nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=layout)
    made = made.requires_grad_() if grad else made * 2
    made.note = "kept"
    file = io.BytesIO()
    torch.save({"x": made}, file)
    file.seek(0)
    read = torch.load(file)["x"]
    assert (read.layout, read.requires_grad, read.note) == (layout, grad, "kept")
    for a, b in zip(read.unbind(), made.unbind(), strict=True):
        assert torch.equal(a, b)


def test_files_of_nothing():
    file = io.BytesIO()
    torch.save(nested.nested_tensor([]), file)
    file.seek(0)
    assert len(torch.load(file)) == 0


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (0, torch.ones(4)),  # too short
        (0, torch.ones(3, 3)),
        (0, torch.ones(18)[::2]),
        (0, 3),
        (1, torch.tensor([[2, 3]])),
        (1, torch.tensor([[2.0, 3], [1, 3]])),
        (1, torch.tensor([[2, 3], [1, -3]])),
        (1, torch.tensor([2, 1])),
        (1, torch.zeros(1, dtype=torch.int64).expand(1 << 40, 0)),
        (2, torch.tensor([[3, 1], [1 << 40, 1]])),
        (2, torch.tensor([[3, 1], [-3, 1]])),
        (3, torch.tensor([0, 7])),
        (3, torch.tensor([0, -1])),
        (3, torch.zeros(1, dtype=torch.int64).expand(1 << 40)),
    ],
)
def test_files_that_lie(part, value):
    given = [
        torch.ones(9),
        torch.tensor([[2, 3], [2, 3]]),
        torch.tensor([[3, 1], [3, 1]]),
        torch.tensor([0, 3]),
    ]
    assert len(nested._files.rebuild_strided(*given)) == 2
    given[part] = value
    with pytest.raises(RuntimeError, match="nested tensor|out of bounds"):
        nested._files.rebuild_strided(*given)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("values", 3),
        ("offsets", torch.tensor([0, 2, 7])),
        ("offsets", torch.tensor([0, -1, 3])),
        ("offsets", torch.tensor([0, 2, 1])),
        ("offsets", torch.tensor([0.0, 2, 3])),
        ("offsets", torch.zeros(1, dtype=torch.int64).expand(1 << 40)),
        ("offsets", torch.zeros(0, dtype=torch.int64)),
        ("lengths", torch.tensor([1, 9])),
        ("lengths", torch.tensor([1])),
        ("_ragged_idx", 3),
        ("_ragged_idx", True),
        ("_metadata_cache", [1]),
        ("_metadata_cache", {"max_seqlen": torch.ones(1 << 30, 0)}),
        ("_metadata_cache", {"min_seqlen": torch.ones(2, 0)}),
        ("requires_grad", 1),
    ],
)
def test_jagged_files_that_lie(part, value):
    given = {"values": torch.ones(3, 3), "offsets": torch.tensor([0, 2, 3]), "_ragged_idx": 1}
    assert len(nested._files.rebuild_jagged(given)) == 2
    with pytest.raises((RuntimeError, TypeError), match="nested tensor|requires_grad"):
        nested._files.rebuild_jagged(given | {part: value})


def test_shapes_of_the_parts_as_a_tensor():
    x = nested.nested_tensor([torch.ones(2, 3), torch.ones(4, 3)])
    assert x._nested_tensor_size().tolist() == [[2, 3], [4, 3]]
    assert x._nested_tensor_strides().tolist() == [[3, 1], [3, 1]]
    assert x._nested_tensor_storage_offsets().tolist() == [0, 6]
    assert x._nested_tensor_size().dtype is torch.int64
    with pytest.raises(AttributeError):
        torch.ones(2)._nested_tensor_size()
