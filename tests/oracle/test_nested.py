"""Nested tensors: what is said of them, results and gradients as PyTorch's, in both layouts."""

import io
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
SIZES = (2, 5, 3)


def parts(m, width=4, grad=False, ragged=0):
    rng = np.random.default_rng(0)
    shapes = [(n, width) if ragged == 0 else (width, n) for n in SIZES]
    return [m.tensor(rng.standard_normal(s), dtype=m.float64, requires_grad=grad) for s in shapes]


def heads(m, x):
    return x.unflatten(-1, (2, 2)).transpose(1, 2)


def shared(m, x):
    """Another nested tensor of the same raggedness."""
    return m.nested.nested_tensor_from_jagged(x.values() * 2 + 1, x.offsets())


JAGGED = {
    "add": lambda m, F, x: x + 1,
    "rsub": lambda m, F, x: 1 - x,
    "pow": lambda m, F, x: x**2,
    "div": lambda m, F, x: 3 / (x * x + 1),
    "pair": lambda m, F, x: x * shared(m, x),
    "dense row": lambda m, F, x: x * m.arange(4.0, dtype=m.float64),
    "dense batch": lambda m, F, x: x * m.arange(12.0, dtype=m.float64).reshape(3, 1, 4),
    "dense whole": lambda m, F, x: x * m.arange(60.0, dtype=m.float64).reshape(3, 5, 4),
    "exp": lambda m, F, x: x.exp(),
    "gelu": lambda m, F, x: F.gelu(x),
    "sigmoid": lambda m, F, x: m.nn.Sigmoid()(x),
    "softplus": lambda m, F, x: m.nn.Softplus()(x),
    "clamp": lambda m, F, x: x.clamp(-0.5, 0.5),
    "where": lambda m, F, x: m.where(x > 0, x, x * 2),
    "masked_fill": lambda m, F, x: x.masked_fill(x > 0, 0.0),
    "linear": lambda m, F, x: F.linear(
        x, m.arange(12.0, dtype=m.float64).reshape(3, 4), m.ones(3, dtype=m.float64)
    ),
    "matmul": lambda m, F, x: x @ m.arange(12.0, dtype=m.float64).reshape(4, 3),
    "bmm": lambda m, F, x: m.bmm(x, m.arange(36.0, dtype=m.float64).reshape(3, 4, 3)),
    "layer_norm": lambda m, F, x: F.layer_norm(x, (4,)),
    "rms_norm": lambda m, F, x: F.rms_norm(x, (4,)),
    "softmax": lambda m, F, x: m.softmax(x, -1),
    "softmax ragged": lambda m, F, x: x.softmax(1),
    "log_softmax": lambda m, F, x: F.log_softmax(x, -1),
    "sum": lambda m, F, x: x.sum(),
    "sum ragged": lambda m, F, x: x.sum(1),
    "sum ragged keep": lambda m, F, x: x / x.sum(1, keepdim=True),
    "sum dense": lambda m, F, x: x.sum(-1),
    "sum dense keep": lambda m, F, x: x.sum(-1, keepdim=True),
    "mean": lambda m, F, x: x.mean(),
    "mean ragged": lambda m, F, x: x.mean(1),
    "amax ragged": lambda m, F, x: x.amax(1),
    "max ragged": lambda m, F, x: x.max(1).values,
    "amin dense": lambda m, F, x: x.amin(-1),
    "unsqueeze": lambda m, F, x: x.unsqueeze(1) * 2,
    "squeeze": lambda m, F, x: x.unsqueeze(-1).squeeze(-1),
    "heads": lambda m, F, x: heads(m, x),
    "and back": lambda m, F, x: heads(m, x).transpose(1, 2).flatten(-2),
    "view": lambda m, F, x: x.view(3, -1, 2, 2),
    "reshape": lambda m, F, x: x.reshape(3, x.size(1), 4, 1),
    "chunk": lambda m, F, x: x.chunk(2, -1)[1],
    "split": lambda m, F, x: x.split(3, -1)[0],
    "cat": lambda m, F, x: m.cat([x, shared(m, x)], -1),
    "narrow": lambda m, F, x: x.narrow(-1, 1, 2),
    "select": lambda m, F, x: x.select(-1, 2),
    "ellipsis": lambda m, F, x: x[..., 1],
    "component": lambda m, F, x: x[1],
    "padded": lambda m, F, x: x.to_padded_tensor(0.5),
    "padded shorter": lambda m, F, x: m.nested.to_padded_tensor(x, 0.5, (3, 4, 4)),
    "permute": lambda m, F, x: x.permute(0, 2, 1),
    "float": lambda m, F, x: x.float(),
    "attention": lambda m, F, x: F.scaled_dot_product_attention(
        heads(m, x), heads(m, x * 2), heads(m, x + 1)
    ),
}


# PyTorch's backward raises here, or (softmax over the ragged dimension) is wrong: tests/nested has
# the gradients.
NO_BACKWARD = (
    "softmax ragged",
    "log_softmax",
    "sum ragged",
    "sum ragged keep",
    "sum dense",
    "sum dense keep",
    "mean ragged",
    "max ragged",
    "unsqueeze",
    "split",
    "narrow",
    "select",
    "ellipsis",
    "padded shorter",
)


def dense(m, result):
    if not result.is_nested:
        return [result]
    return list(result.unbind())


def run(m, name, layout):
    leaves = parts(m, grad=True)
    x = m.nested.as_nested_tensor(leaves, layout=getattr(m, layout))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = JAGGED[name](m, m.nn.functional, x)
    found = dense(m, result)
    total = sum(
        (r * m.arange(float(r.numel()), dtype=r.dtype).reshape(r.shape)).sum() for r in found
    )
    try:
        total.backward()
    except (RuntimeError, ValueError):
        # several of PyTorch's backwards are missing or broken; tests/nested has those
        assert m is torch and name in NO_BACKWARD
        return [r.detach().numpy() for r in found], [], result
    return (
        [r.detach().numpy() for r in found],
        [np.zeros(p.shape) if p.grad is None else p.grad.numpy() for p in leaves],
        result,
    )


@pytest.mark.parametrize("name", JAGGED)
def test_jagged(name):
    (theirs, their_grads, a), (ours, our_grads, b) = (
        run(m, name, "jagged") for m in (torch, pellucid)
    )
    assert a.is_nested == b.is_nested and str(a.dtype) == str(b.dtype)
    if a.is_nested:
        assert [str(s).lstrip("j").isdigit() and str(s).startswith("j") for s in a.shape] == [
            str(s).startswith("j") for s in b.shape
        ]
        assert [s for s in a.shape if isinstance(s, int)] == [
            s for s in b.shape if isinstance(s, int)
        ]
        assert name == "attention" or a.is_contiguous() == b.is_contiguous()
        assert a.numel() == b.numel() and a.dim() == b.dim()
    if name not in NO_BACKWARD:
        theirs, ours = theirs + their_grads, ours + our_grads
    for x, y in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-6, atol=1e-6)


STRIDED = [
    "add",
    "gelu",
    "linear",
    "softmax",
    "softmax ragged",
    "sum dense keep",
    "padded",
    "component",
    "bmm",
]


@pytest.mark.parametrize("name", STRIDED)
def test_strided(name):
    (theirs, their_grads, a), (ours, our_grads, b) = (
        run(m, name, "strided") for m in (torch, pellucid)
    )
    assert a.is_nested == b.is_nested
    if name not in NO_BACKWARD:
        theirs, ours = theirs + their_grads, ours + our_grads
    for x, y in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-6, atol=1e-6)


def renumbered(text):
    return text.replace("j1", "j").replace("j2", "j")


def said(m):
    n = m.nested
    a, b = m.arange(6.0).reshape(2, 3), m.arange(12.0).reshape(4, 3)
    strided, jagged = n.nested_tensor([a, b]), n.nested_tensor([a, b], layout=m.jagged)
    yield repr(strided), str(n.nested_tensor([])), str(jagged.layout), str(strided.layout)
    yield (
        jagged.offsets().tolist(),
        jagged.values().tolist(),
        jagged.lengths(),
        [t.tolist() for t in jagged.unbind()],
    )
    yield (
        len(jagged),
        jagged.size(0),
        jagged.size(-1),
        jagged.shape[1] == jagged.shape[1],
        strided.size(-1),
        strided.numel(),
    )
    yield (
        jagged.requires_grad,
        jagged.is_leaf,
        jagged.is_nested,
        strided.is_nested,
        a.is_nested,
        isinstance(jagged, m.Tensor),
    )
    packed = n.nested_tensor_from_jagged(
        m.arange(8.0).reshape(8, 1), m.tensor([0, 3, 8]), lengths=m.tensor([2, 4])
    )
    yield packed.lengths().tolist(), packed.is_contiguous(), [t.tolist() for t in packed.unbind()]
    yield n.nested_tensor_from_jagged(m.arange(8.0), lengths=m.tensor([3, 5])).offsets().tolist()
    rows = n.narrow(
        m.arange(20.0).reshape(2, 10), 1, m.tensor([0, 2]), m.tensor([3, 4]), layout=m.jagged
    )
    yield rows.offsets().tolist(), [t.tolist() for t in rows.unbind()], rows.is_contiguous()
    kept = n.masked_select(
        m.arange(6).reshape(2, 3), m.tensor([[True, False, True], [True, False, False]])
    )
    yield kept.offsets().tolist(), kept.values().tolist()
    yield [t.tolist() for t in n.nested_tensor([[1, 2], [3]], layout=m.jagged).unbind()]
    other = n.nested_tensor([m.ones(2, 3), m.ones(2, 4)], layout=m.jagged)
    yield other.offsets().tolist(), other.shape[:2], [tuple(t.shape) for t in other.unbind()]
    leaf = n.nested_tensor([a, b], layout=m.jagged, requires_grad=True)
    (leaf * leaf).sum().backward()
    yield leaf.is_leaf, [g.tolist() for g in leaf.grad.unbind()], leaf.grad.is_nested
    model = m.nn.Sequential(
        m.nn.Linear(3, 4), m.nn.GELU(), m.nn.Dropout(0.0), m.nn.LayerNorm(4), m.nn.Linear(4, 2)
    )
    yield [tuple(t.shape) for t in model(jagged).unbind()]
    yield (
        m.nn.functional.embedding(
            n.nested_tensor([m.tensor([1, 0]), m.tensor([1])], layout=m.jagged), m.eye(2)
        )
        .values()
        .tolist()
    )
    yield (jagged > 2).any().item(), [t.tolist() for t in m.zeros_like(jagged).unbind()]
    written = jagged.clone()
    yield written.add_(1) is written, written.values().tolist(), jagged.values().tolist()


def test_what_is_said_of_them():
    assert list(said(pellucid)) == list(said(torch))


def refusals(m):
    n = m.nested
    a, b = m.arange(6.0).reshape(2, 3), m.arange(12.0).reshape(4, 3)
    x, y, s = (
        n.nested_tensor([a, b], layout=m.jagged),
        n.nested_tensor([b, a], layout=m.jagged),
        n.nested_tensor([a, b]),
    )
    for call in (
        lambda: x.unbind(1),
        lambda: x[:1],
        lambda: x.transpose(0, 1),
        lambda: x.sum(0),
        lambda: x.sum((1, 2)),
        lambda: m.cat([x, x], 0),
        lambda: m.stack([x, x]),
        lambda: x.numpy(),
        lambda: x.tolist(),
        lambda: x.item(),
        lambda: bool(x),
        lambda: s.shape,
        lambda: s.size(1),
        lambda: s.unbind(1),
        lambda: s.to_padded_tensor(0.0, (2, 3, 3)),
        lambda: s + m.ones(3),
        lambda: s @ m.ones(3, 2),
        lambda: s.transpose(0, 1),
        lambda: n.nested_tensor_from_jagged(m.arange(8.0)),
        lambda: n.narrow(a, 1, m.tensor([0, 1]), m.tensor([1, 1])),
        lambda: n.narrow(a, 0, 0, m.tensor([1, 1]), layout=m.jagged),
        lambda: n.nested_tensor([], layout=m.jagged),
        lambda: n.nested_tensor([m.tensor(1.0)], layout=m.jagged),
        lambda: n.nested_tensor([m.ones(2, 3), m.ones(2)], layout=m.jagged),
        lambda: n.nested_tensor([m.ones(2, 3), m.ones(2, 3).double()], layout=m.jagged),
        lambda: n.nested_tensor(3),
        lambda: n.as_nested_tensor([[1]]),
    ):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            call()
        yield type(caught.value), str(caught.value)
    with pytest.raises(
        RuntimeError,
        match=r"cannot call binary pointwise function add.Tensor with inputs of shapes \(2, j\d+, 3\)",
    ):
        x + y


def test_same_refusals():
    assert list(refusals(pellucid)) == list(refusals(torch))


@pytest.mark.parametrize("layout", ["strided", "jagged"])
@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("restricted", [False, True])
@pytest.mark.parametrize(("writer", "reader"), [(torch, pellucid), (pellucid, torch)])
def test_files_are_exchanged(layout, grad, restricted, writer, reader):
    made = writer.nested.nested_tensor(
        parts(writer), layout=getattr(writer, layout), requires_grad=grad
    )
    for x in (made, made * 2):
        file = io.BytesIO()
        writer.save([x], file)
        file.seek(0)
        (read,) = reader.load(file, weights_only=restricted)
        assert str(read.layout) == f"torch.{layout}"
        assert read.requires_grad == grad
        for a, b in zip(read.unbind(), x.unbind(), strict=True):
            assert a.tolist() == b.tolist()
