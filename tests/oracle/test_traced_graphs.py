"""The graphs of traced modules and functions, as PyTorch prints them: but for the numbers of values,
the places in the source, and the numbers of classes that were scripted before.
"""

import re

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def canonical(graph):
    names = {}
    text = re.sub(r" # .*", "", str(graph))
    text = re.sub(r"___torch_mangle_\d+\.", "", text)
    text = re.sub(r"__torch__\.(test_traced_graphs|tests\.oracle\.test_traced_graphs)\.", "", text)
    return re.sub(r"%([\w.]+)", lambda m: f"%{names.setdefault(m[1], len(names))}", text)


def residual(root):
    class Residual(root.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.n = root.nn.Linear(4, 4), root.nn.BatchNorm1d(4)

        def forward(self, x):
            y = root.relu(self.n(self.a(x)))
            return x + y * 2

    return Residual().eval(), (root.ones(3, 4),)


def images(root):
    nn = root.nn

    class Images(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.pool = nn.Conv2d(3, 4, 3, padding=1), nn.MaxPool2d(2)
            self.drop, self.out = nn.Dropout(0.2), nn.Linear(16, 2)

        def forward(self, x):
            h = self.pool(root.relu(self.conv(x)))
            return self.out(self.drop(root.flatten(h, 1)))

    return Images().eval(), (root.ones(1, 3, 4, 4),)


def blocks(root):
    nn = root.nn

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.body = nn.Sequential(nn.LayerNorm(n), nn.Linear(n, n), nn.GELU())
            self.scale = nn.Parameter(root.ones(n))

        def forward(self, x):
            return x + self.scale * self.body(x)

    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb, self.head = nn.Embedding(5, 4), nn.Linear(4, 2)
            self.blocks = nn.ModuleList([Block(4), Block(4)])

        def forward(self, i):
            x = self.emb(i)
            for block in self.blocks:
                x = block(x)
            x = self.head(x)
            return x.mean(1), x.softmax(-1)

    return Deep(), (root.tensor([[0, 1, 2]]),)


def mlp(root):
    nn = root.nn
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)), (root.ones(3, 4),)


def signals(root):
    nn = root.nn
    layers = (
        nn.Conv1d(2, 3, 3, stride=2),
        nn.SiLU(),
        nn.AdaptiveAvgPool1d(1),
        nn.Flatten(),
        nn.Sigmoid(),
    )
    return nn.Sequential(*layers), (root.ones(1, 2, 8),)


def lists(root):
    def function(x, y):
        return root.cat([x, y], 1).sum(1, keepdim=True) / 3.0

    return function, (root.ones(2, 2), root.ones(2, 1))


def views(root):
    def function(x):
        return x.view(2, -1).t().reshape(-1).permute(0).unsqueeze(0).expand(3, 4) - 1

    return function, (root.ones(4),)


def several(root):
    def function(x):
        a, b = x.chunk(2, 1)
        return a @ b.transpose(0, 1) + root.zeros(2, 2), (x**2).clamp(min=0.5)

    return function, (root.ones(2, 4),)


@pytest.mark.parametrize("case", [residual, images, blocks, mlp, signals, lists, views, several])
def test_graphs_are_printed_alike(case):
    printed = []
    for root in (torch, pellucid):
        traced = root.jit.trace(*case(root), check_trace=False)
        printed.append((canonical(traced.graph), canonical(traced.inlined_graph)))
    assert printed[1][0] == printed[0][0]
    assert printed[1][1] == printed[0][1]


@pytest.mark.parametrize("case", [residual, images, mlp, lists])
def test_graphs_of_operators_are_printed_alike(case):
    printed = [canonical(root.jit._get_trace_graph(*case(root))[0]) for root in (torch, pellucid)]
    assert printed[1] == printed[0]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers(kind):
    printed = []
    for root in (torch, pellucid):
        layer = getattr(root.nn, kind)(3, 4, num_layers=2, bidirectional=True)
        h = root.zeros(4, 2, 4)
        graph, _ = root.jit._get_trace_graph(
            layer, (root.ones(5, 2, 3), (h, h + 1) if kind == "LSTM" else h)
        )
        printed.append(canonical(graph))
    assert printed[1] == printed[0]
