"""Archives of TorchScript that PyTorch writes: scripted, traced and frozen modules load and compute
the same.
"""

import io

import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
nn, F = torch.nn, torch.nn.functional


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("scale", torch.ones(4))
        self.rounds: int = 3

    def forward(self, x, flag: bool = True):
        y = self.linear(x) * self.scale
        for i in range(self.rounds):
            if flag and i % 2 == 0:
                y = y + float(i)
            else:
                y = torch.relu(y)
        while bool(y.sum() > 50.0):
            y = y / 2
        return y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.images = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.inner = Inner()
        self.drop = nn.Dropout(0.5)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.lstm = nn.LSTM(4, 4, batch_first=True)
        self.embedding = nn.Embedding(5, 4)
        self.constant = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, x):
        y = self.inner(self.images(x).mean([2, 3]))
        for layer in self.layers:
            y = F.gelu(layer(y))
        out = {"y": self.drop(y) + self.constant}
        out["h"] = self.lstm(y.unsqueeze(1))[0]
        parts = []
        for i in [1, 2]:
            parts.append(y[:, i : i + 1])
        out["parts"] = torch.cat(parts, 1)
        values, places = y.max(1)
        out["places"] = places
        q = torch.zeros_like(y)
        q[:, 0] = 1.5
        q[0] += 2
        out["q"] = q.to(torch.float64)
        out["every"] = y[..., ::2]
        out["wide"] = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
        out["embedded"] = self.embedding(torch.tensor([0, len(parts)]))
        return out


def archive_of(module):
    file = io.BytesIO()
    torch.jit.save(module, file)
    file.seek(0)
    return file


def assert_same(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(found[key], value)
    else:
        assert str(found.dtype) == str(expected.dtype)
        assert found.detach().numpy() == pytest.approx(expected.detach().numpy(), 1e-4, 1e-5)


def made(kind):
    torch.manual_seed(0)
    if kind == "scripted":
        return torch.jit.script(Net().eval()), torch.randn(2, 1, 8, 8)
    if kind == "encoder":
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        return torch.jit.script(nn.TransformerEncoder(layer, 2).eval()), torch.randn(2, 5, 8)
    images = nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.SiLU(inplace=True),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 3),
    ).eval()
    x = torch.randn(2, 1, 8, 8)
    if kind == "traced":
        return torch.jit.trace(images, x), x
    return torch.jit.freeze(torch.jit.script(images)), x


@pytest.mark.parametrize("kind", ["scripted", "encoder", "traced", "frozen"])
def test_loads_and_computes(kind):
    module, x = made(kind)
    loaded = pellucid.jit.load(archive_of(module))
    assert list(loaded.state_dict()) == list(module.state_dict())
    assert_same(loaded(pellucid.tensor(x.numpy())), module(x))


def test_trains():
    module, x = made("traced")
    loaded = pellucid.jit.load(archive_of(module))
    module(x).sum().backward()
    loaded(pellucid.tensor(x.numpy())).sum().backward()
    for (name, ours), (other, theirs) in zip(
        loaded.named_parameters(), module.named_parameters(), strict=True
    ):
        assert name == other
        assert_same(ours.grad, theirs.grad)
