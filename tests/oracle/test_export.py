"""`torch.export` beside PyTorch's: the operators of the graphs, and files that cross both ways."""

from __future__ import annotations

import io
import warnings

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

pytestmark = pytest.mark.oracle


def of_module(make):
    return lambda T: make(T.nn).eval()


def of_function(function):
    def make(T):
        class Module(T.nn.Module):
            def forward(self, x):
                return function(T, x)

        return Module()

    return make


def written(T, x):
    y = x.clone()
    y.add_(1)
    y[:, 1].mul_(3)
    y += x
    return T.nn.functional.relu(y, inplace=True)


ROWS, IMAGE, SEQUENCE = (2, 4), (2, 4, 8, 8), (2, 5, 4)
# name -> (what makes a module, the shape of its input)
CASES = {
    "mlp": (
        of_module(
            lambda nn: nn.Sequential(
                nn.Linear(4, 8),
                nn.GELU(),
                nn.LayerNorm(8),
                nn.Dropout(0.1),
                nn.Linear(8, 2),
                nn.LogSoftmax(-1),
            )
        ),
        ROWS,
    ),
    "activations": (
        of_module(
            lambda nn: nn.Sequential(
                nn.ReLU(),
                nn.SiLU(),
                nn.ELU(),
                nn.LeakyReLU(),
                nn.Tanh(),
                nn.Sigmoid(),
                nn.Softplus(),
                nn.Hardtanh(),
                nn.PReLU(),
                nn.Softmax(1),
                nn.Hardswish(),
                nn.Mish(),
            )
        ),
        ROWS,
    ),
    "convolutions": (
        of_module(
            lambda nn: nn.Sequential(
                nn.Conv2d(4, 8, 3),
                nn.BatchNorm2d(8),
                nn.ReLU(inplace=True),
                nn.Conv2d(8, 8, 3, padding="same", bias=False),
                nn.MaxPool2d(2),
                nn.ConvTranspose2d(8, 4, 2, 2),
                nn.GroupNorm(2, 4),
                nn.InstanceNorm2d(4),
                nn.AvgPool2d(2),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
            )
        ),
        IMAGE,
    ),
    "lstm": (of_module(lambda nn: nn.LSTM(4, 3, batch_first=True)), SEQUENCE),
    "gru": (of_module(lambda nn: nn.GRU(4, 3, 2, bidirectional=True)), SEQUENCE),
    "rms_norm": (of_module(lambda nn: nn.RMSNorm(4)), ROWS),
    "resized": (
        of_function(
            lambda T, x: (
                T.nn.functional.interpolate(x, scale_factor=2),
                T.nn.functional.interpolate(x, size=(4, 4), mode="bilinear"),
                T.nn.functional.pixel_shuffle(x, 2),
                T.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
                T.nn.functional.unfold(x, 2),
            )
        ),
        IMAGE,
    ),
    "arithmetic": (
        of_function(
            lambda T, x: (
                (1 - x) * 2 + x**2,
                1 / x,
                (x > 0) & (x < 1) | ~(x == 2),
                x % 2,
                T.where(x > 0, x, x * 2),
                x.masked_fill(x > 0, -1e9),
                T.clamp(x, max=1),
                x.sub(x, alpha=2),
            )
        ),
        ROWS,
    ),
    "reductions": (
        of_function(
            lambda T, x: (
                x.sum(),
                x.mean((0, 1)),
                x.var(1),
                x.std(0, correction=0),
                x.max(1)[0],
                x.amax(1),
                x.argmax(1),
                x.norm(),
                T.linalg.vector_norm(x, dim=1),
                x.logsumexp(1),
                x.cumsum(1),
                x.topk(2)[0],
            )
        ),
        ROWS,
    ),
    "shapes": (
        of_function(
            lambda T, x: (
                x.view(-1),
                x.reshape(4, 2),
                x.flatten(),
                x.transpose(0, 1),
                x.permute(1, 0),
                x.unsqueeze(0),
                x.expand(3, 2, 4),
                x.repeat(2, 1),
                x.unflatten(1, (2, 2)),
                T.cat([x, x]),
                T.stack([x, x], 1),
                x.chunk(2, 1)[0],
                x.split([1, 3], 1)[1],
            )
        ),
        ROWS,
    ),
    "indexing": (
        of_function(lambda T, x: (x[0], x[:, 1], x[:, None], x[1:, ::2], x[-1], x[0, 1])),
        ROWS,
    ),
    "products": (
        of_function(
            lambda T, x: (
                x @ x.transpose(0, 1),
                T.einsum("ij,kj->ik", x, x),
                T.bmm(x[None], x[None].transpose(1, 2)),
                T.tensordot(x, x, 2),
                T.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
            )
        ),
        ROWS,
    ),
    "factories": (
        of_function(
            lambda T, x: (
                T.zeros(2, 3),
                T.ones_like(x),
                T.arange(4),
                T.full((2,), 3.0),
                x.new_zeros(2),
                T.eye(3),
            )
        ),
        ROWS,
    ),
    "writes": (of_function(written), ROWS),
    "item": (of_function(lambda T, x: x * x.sum().item()), ROWS),
}


def targets(program):
    return [
        str(n.target) if "getitem" not in str(n.target) else "getitem"
        for n in program.graph.nodes
        if n.op == "call_function"
    ]


def leaves(result):
    return [result] if not isinstance(result, (tuple, list)) else sum(map(leaves, result), [])


def pair(name):
    """The module in both libraries, with the same weights, and the same input."""
    make, shape = CASES[name]
    torch.manual_seed(0)
    theirs, x = make(torch), torch.randn(shape)
    ours = make(pellucid)
    state = {k: pellucid.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    return theirs, ours, x, pellucid.from_numpy(x.numpy().copy())


@pytest.mark.parametrize("name", CASES)
def test_graphs_and_files(name):
    theirs, ours, x, y = pair(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = torch.export.export(theirs, (x,))
    got = pellucid.export.export(ours, (y,))
    assert targets(got) == targets(want)
    assert [str(s) for s in got.graph_signature.input_specs] == [
        str(s) for s in want.graph_signature.input_specs
    ]
    result = leaves(theirs(x))
    files = io.BytesIO(), io.BytesIO()
    pellucid.export.save(got, files[0])
    torch.export.save(want, files[1])
    for f in files:
        f.seek(0)
    crossed = (
        leaves(torch.export.load(files[0]).module()(x)),
        leaves(pellucid.export.load(files[1]).module()(y)),
    )
    for made in crossed:
        assert len(made) == len(result)
        for a, b in zip(made, result, strict=True):
            torch.testing.assert_close(torch.from_numpy(a.detach().numpy()), b.detach())


def test_dynamic_sizes_cross():
    def dynamic(T):
        class Module(T.nn.Module):
            def forward(self, x, y):
                n, t = x.shape
                return T.arange(t), x.reshape(n * t), T.ones(y.shape[0] + 1), x[: n // 2]

        b, t, c = T.export.Dim("b"), T.export.Dim("t"), T.export.Dim("c")
        return Module(), {"x": {0: 2 * b, 1: t}, "y": {0: c}}

    for T, other in ((torch, pellucid), (pellucid, torch)):
        module, shapes = dynamic(T)
        program = T.export.export(module, (T.ones(4, 6), T.ones(5)), dynamic_shapes=shapes)
        file = io.BytesIO()
        T.export.save(program, file)
        file.seek(0)
        read = other.export.load(file).module()
        for n, t, c in ((4, 6, 5), (10, 3, 2)):
            made = read(other.ones(n, t), other.ones(c))
            assert [tuple(m.shape) for m in made] == [(t,), (n * t,), (c + 1,), (n // 2, t)]
