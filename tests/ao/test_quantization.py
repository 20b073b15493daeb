"""Quantising models: dynamically, with calibration, and with training."""

import copy
import io

import pytest

import pellucid as torch
from pellucid import nn

tq = torch.ao.quantization
nnq = torch.ao.nn.quantized
pytestmark = pytest.mark.filterwarnings("ignore:Please use quant_min and quant_max")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quant, self.dequant = tq.QuantStub(), tq.DeQuantStub()
        self.conv, self.bn, self.relu = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU()
        self.fc = nn.Linear(4 * 6 * 6, 3)
        self.twice = nnq.FloatFunctional()

    def forward(self, x):
        x = self.relu(self.bn(self.conv(self.quant(x))))
        return self.dequant(self.fc(self.twice.add(x, x).flatten(1)))


def calibrated(engine="x86"):
    torch.manual_seed(0)
    net = Net()
    net(torch.randn(8, 2, 6, 6))
    net.eval()
    fused = tq.fuse_modules(net, [["conv", "bn", "relu"]])
    fused.qconfig = tq.get_default_qconfig(engine)
    prepared = tq.prepare(fused)
    for scale in (1, 2):
        prepared(torch.randn(8, 2, 6, 6) * scale)
    return net, prepared


def test_static_quantisation():
    net, prepared = calibrated()
    made = tq.convert(prepared)
    assert [type(m).__name__ for m in made.children()] == [
        "Quantize",
        "DeQuantize",
        "ConvReLU2d",
        "Identity",
        "Identity",
        "Linear",
        "QFunctional",
    ]
    x = torch.randn(4, 2, 6, 6)
    assert (made(x) - net(x)).abs().max() < 0.15
    assert repr(made.fc).startswith("QuantizedLinear(in_features=144, out_features=3, scale=")
    assert (
        made.fc.weight().qscheme() is torch.per_channel_affine
        and made.conv.weight().dtype is torch.qint8
    )
    assert type(prepared.fc) is nn.Linear  # a copy was converted


@pytest.mark.parametrize("weights_only", [False, True])
def test_a_state_dict_is_saved_and_loaded(weights_only):
    _, prepared = calibrated()
    made, other = tq.convert(prepared), tq.convert(copy.deepcopy(prepared))
    names = list(made.state_dict())
    assert (
        "fc._packed_params._packed_params" in names
        and "conv.weight" in names
        and "twice.scale" in names
    )
    file = io.BytesIO()
    torch.save(made.state_dict(), file)
    file.seek(0)
    other.fc.set_weight_bias(
        torch.quantize_per_tensor(torch.ones(3, 144), 1.0, 0, torch.qint8), None
    )
    other.load_state_dict(torch.load(file, weights_only=weights_only))
    x = torch.randn(4, 2, 6, 6)
    assert torch.equal(made(x), other(x))


def test_a_whole_model_is_saved_and_copied():
    made = tq.quantize_dynamic(
        nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2)), {nn.Linear}
    )
    file = io.BytesIO()
    torch.save(made, file)
    file.seek(0)
    x = torch.randn(3, 6)
    assert torch.equal(torch.load(file, weights_only=False)(x), made(x))
    assert torch.equal(copy.deepcopy(made)(x), made(x))


def test_dynamic_quantisation_of_linear_layers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 30), nn.ReLU(), nn.Linear(30, 5))
    made = tq.quantize_dynamic(model, {nn.Linear})
    assert (
        repr(made[0])
        == "DynamicQuantizedLinear(in_features=40, out_features=30, dtype=torch.qint8, qscheme=torch.per_tensor_affine)"
    )
    x = torch.randn(7, 40)
    assert (made(x) - model(x)).abs().max() < 0.05
    assert made(x[:0]).shape == (0, 5) and made(torch.randn(2, 3, 40)).shape == (2, 3, 5)
    only = tq.quantize_dynamic(model, {"2": tq.default_dynamic_qconfig})
    assert type(only[0]) is nn.Linear and type(only[2]) is nnq.dynamic.Linear


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_dynamic_quantisation_of_recurrent_networks(kind):
    torch.manual_seed(0)
    float_ = getattr(nn, kind)(10, 12, num_layers=2, bidirectional=True, batch_first=True)
    made = tq.quantize_dynamic(nn.Sequential(float_), {type(float_)})[0]
    x = torch.randn(3, 5, 10)
    (y, h), (expected, state) = made(x), float_(x)
    assert (y - expected).abs().max() < 0.05
    h, state = (h[0], state[0]) if kind == "LSTM" else (h, state)
    assert h.shape == state.shape and (h - state).abs().max() < 0.05
    assert set(made.get_weight()) == {
        n for n, _ in float_.named_parameters() if n.startswith("weight")
    }


@pytest.mark.parametrize("kind", ["LSTMCell", "GRUCell", "RNNCell"])
def test_dynamic_quantisation_of_cells(kind):
    torch.manual_seed(0)
    float_ = getattr(nn, kind)(10, 12)
    made = tq.quantize_dynamic(nn.Sequential(float_), {type(float_)})[0]
    x = torch.randn(3, 10)
    got, expected = made(x), float_(x)
    got, expected = (got[0], expected[0]) if kind == "LSTMCell" else (got, expected)
    assert (got - expected).abs().max() < 0.05


def test_embeddings():
    torch.manual_seed(0)
    config = tq.float_qparams_weight_only_qconfig
    rows, bag = nn.Embedding(10, 8), nn.EmbeddingBag(10, 8, mode="sum")
    made = tq.quantize_dynamic(
        nn.ModuleDict({"rows": rows, "bag": bag}), {nn.Embedding: config, nn.EmbeddingBag: config}
    )
    index, offsets = torch.tensor([1, 2, 4, 9]), torch.tensor([0, 1, 1])
    assert (made["rows"](index) - rows(index)).abs().max() < 0.02
    assert (made["bag"](index, offsets) - bag(index, offsets)).abs().max() < 0.05
    assert made["rows"].weight().qscheme() is torch.per_channel_affine_float_qparams


def test_training_with_rounding():
    torch.manual_seed(0)
    net = tq.fuse_modules_qat(Net().train(), [["conv", "bn", "relu"]])
    net.qconfig = tq.get_default_qat_qconfig("x86")
    prepared = tq.prepare_qat(net)
    assert (
        type(prepared.conv) is torch.ao.nn.intrinsic.qat.ConvBnReLU2d
        and type(prepared.fc) is torch.ao.nn.qat.Linear
    )
    x, y = torch.randn(16, 2, 6, 6), torch.randint(0, 3, (16,))
    optimizer = torch.optim.SGD(prepared.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = nn.functional.cross_entropy(prepared(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    prepared.eval()
    made = tq.convert(prepared)
    assert type(made.conv) is torch.ao.nn.intrinsic.quantized.ConvReLU2d
    assert (made(x) - prepared(x)).abs().max() < 0.3
    with pytest.raises(AssertionError, match="prepare_qat only works on models in training mode"):
        tq.prepare_qat(prepared)


def test_observers():
    x = torch.tensor([[-1.0, 0.5], [2.0, 3.0]])
    observer = tq.MinMaxObserver()
    observer(x)
    scale, zero = observer.calculate_qparams()
    assert abs(scale.item() - 4 / 255) < 1e-7 and zero.item() == 64
    observer = tq.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    observer(x)
    assert abs(observer.calculate_qparams()[0].item() - 3 / 127.5) < 1e-7
    observer = tq.PerChannelMinMaxObserver(dtype=torch.qint8, qscheme=torch.per_channel_symmetric)
    observer(x)
    assert torch.allclose(observer.calculate_qparams()[0], torch.tensor([1 / 127.5, 3 / 127.5]))
    observer = tq.MovingAverageMinMaxObserver(averaging_constant=0.5)
    observer(x)
    observer(x + 2)
    assert (observer.min_val.item(), observer.max_val.item()) == (0, 4)
    observer = tq.HistogramObserver(bins=64)
    observer(torch.cat([torch.linspace(-1, 1, 1000), torch.tensor([40.0])]))
    observer(torch.linspace(-2, 2, 1000))
    assert observer.histogram.sum().item() == 2001 and observer.max_val.item() == 40
    assert observer.calculate_qparams()[0].item() <= 42 / 255


def test_switches_of_fake_quantisers():
    fake = tq.FakeQuantize(quant_min=0, quant_max=255)
    x = torch.tensor([-1.0, 0.301, 1.0])
    assert not torch.equal(fake(x), x)
    fake.apply(tq.disable_fake_quant)
    fake.apply(tq.disable_observer)
    assert torch.equal(fake(x * 9), x * 9) and fake.activation_post_process.max_val.item() == 1


def test_old_names_and_refusals():
    assert torch.quantization.quantize_dynamic is tq.quantize_dynamic
    assert (
        torch.nn.quantized.FloatFunctional is nnq.FloatFunctional
        and torch.nn.intrinsic.ConvReLU2d is torch.ao.nn.intrinsic.ConvReLU2d
    )
    with pytest.raises(AssertionError, match="not supported"):
        tq.get_default_qconfig("elsewhere")
    with pytest.raises(NotImplementedError, match="prepare_fx is not supported"):
        torch.ao.quantization.quantize_fx.prepare_fx(None)
    with pytest.raises(RuntimeError, match="is not a valid value for quantized engine"):
        torch.backends.quantized.engine = "nothing"
