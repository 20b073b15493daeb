"""ONNX files: their structure, their results when read back, and their results by onnxruntime where
it is installed.
"""

import importlib.util
import io
import math

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.nn import functional as F
from pellucid.onnx import load
from pellucid.onnx.writer import wire
from pellucid.onnx.writer.read import parse, read_model

from ..export.models import CASES, Function, cnn, tensors


def exported(model, args, **options):
    file = io.BytesIO()
    names = [f"x{k}" for k in range(len(args))]
    torch.onnx.export(model, args, file, input_names=names, **options)
    return file.getvalue()


def check_structure(data, opset):
    """Every name is made once and before its use, and the file says what it is."""
    model = read_model(data)
    assert (model.producer, model.opset) == ("pellucid", opset)
    known = set(model.inputs) | set(model.initializers) | {""}
    for node in model.nodes:
        assert set(node.inputs) <= known, node
        assert not set(node.outputs) & known, node
        known |= set(node.outputs)
    assert set(model.outputs) <= known
    return model


def check_results(data, model, *calls):
    """Equal results when the file is read back, and from onnxruntime, if there is one."""
    again = load(io.BytesIO(data))
    for args in calls:
        with torch.no_grad():
            want = tensors([model(*args)])
        got = tensors([again(*[args[int(name[1:])] for name in again.input_names])])
        for g, w in zip(got, want, strict=True):
            torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4, equal_nan=True)
    if importlib.util.find_spec("onnx") is None or importlib.util.find_spec("onnxruntime") is None:
        return
    import onnx
    import onnxruntime as runtime

    onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(data, options)
    for args in calls:
        named = {f"x{k}": t.numpy() for k, t in enumerate(args)}
        got = session.run(None, {i.name: named[i.name] for i in session.get_inputs()})
        with torch.no_grad():
            want = [t.numpy() for t in tensors([model(*args)])]
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, 1e-4, 1e-4)


@pytest.mark.parametrize("opset", wire.IR_VERSIONS)
@pytest.mark.parametrize("name", CASES)
def test_models(name, opset):
    model, args, axes, others = CASES[name]
    data = exported(
        model, args, opset_version=opset, dynamic_axes={f"x{k}": a for k, a in enumerate(axes)}
    )
    read = check_structure(data, opset)
    for k, (a, t) in enumerate(zip(axes, args, strict=True)):
        assert read.inputs[f"x{k}"][1] == tuple(a.get(i, n) for i, n in enumerate(t.shape))
    assert axes[0][next(iter(axes[0]))] in next(iter(read.outputs.values()))[1]
    for key, value in model.named_parameters():
        assert np.array_equal(read.initializers[key], value.detach().numpy())
    check_results(data, model, args, others)


X = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))
INDEX = torch.tensor([1, 0])
FUNCTIONS = {
    "arithmetic": lambda x: (
        (x + 1) * x - x / 2 - (2 - x) % 0.7 + x // 0.7 + torch.fmod(x, 0.3) + (-x)
    ),
    "integers": lambda x: (
        (x * 9).int() // 4,
        (x * 9).int() % 4,
        torch.div((x * 9).int(), 4, rounding_mode="trunc"),
    ),
    "powers": lambda x: (
        x**2,
        x.abs() ** 1.5,
        2**x,
        x.abs().sqrt(),
        (x.abs() + 1).rsqrt(),
        torch.square(x),
        torch.exp2(x),
    ),
    "logs": lambda x: [
        f(x.abs() + 1)
        for f in (torch.log, torch.log2, torch.log10, torch.log1p, torch.expm1, torch.reciprocal)
    ],
    "waves": lambda x: [
        f(x)
        for f in (torch.sin, torch.cos, torch.tan, torch.atan, torch.sinh, torch.tanh, torch.asinh)
    ],
    "rounding": lambda x: [
        f(x)
        for f in (
            torch.floor,
            torch.ceil,
            torch.round,
            torch.trunc,
            torch.frac,
            torch.sign,
            torch.abs,
        )
    ],
    "special": lambda x: (
        torch.erf(x),
        torch.erfc(x),
        torch.isnan(x),
        torch.isinf(x),
        torch.isfinite(x),
    ),
    "comparisons": lambda x: (
        ((x > 0.5) | (x < -0.5)) & ~(x == 1),
        x != 0,
        x >= 0,
        x <= 0,
        torch.maximum(x, -x),
    ),
    "choices": lambda x: (
        torch.where(x > 0, x, 2.0),
        x.masked_fill(x > 0, 3),
        x.clamp(-0.5, 0.5),
        x.clamp(min=0),
        x.clamp(max=0),
    ),
    "mixing": lambda x: (torch.lerp(x, x * 2, 0.3), torch.addcmul(x, x, x, value=0.5)),
    "casts": lambda x: (x.half(), x.double() + 1, (x * 3).int() * 2 + (x > 0).long(), x.bool()),
    "activations": lambda x: [
        f(x)
        for f in (
            F.relu,
            F.relu6,
            F.silu,
            F.mish,
            F.hardswish,
            F.hardsigmoid,
            F.hardtanh,
            F.leaky_relu,
            F.elu,
            F.selu,
            F.celu,
            F.gelu,
        )
    ],
    "more activations": lambda x: [
        f(x)
        for f in (
            F.softplus,
            F.logsigmoid,
            F.softsign,
            F.tanhshrink,
            F.hardshrink,
            F.softshrink,
            F.glu,
            torch.sigmoid,
        )
    ],
    "activations with numbers": lambda x: (
        F.gelu(x, approximate="tanh"),
        F.softplus(x, 2, 1),
        F.celu(x, 0.7),
        F.threshold(x, 0.1, 2.0),
        F.prelu(x, torch.full((3,), 0.2)),
    ),
    "sums": lambda x: (
        x.sum(),
        x.sum((1, 2)),
        x.mean(),
        x.mean(-1, keepdim=True),
        x.prod(1),
        (x > 0).sum(),
        x.cumsum(1),
    ),
    "extremes": lambda x: (
        x.max(),
        x.max(1),
        x.min(1, keepdim=True),
        x.amax((1, 2)),
        x.argmax(),
        x.argmin(-1),
        x.topk(3),
        x.sort(),
    ),
    "statistics": lambda x: (
        x.std(),
        x.var(1),
        x.std((2, 3), keepdim=True),
        x.norm(),
        x.norm(p=1, dim=1),
        F.normalize(x),
    ),
    "logical": lambda x: (
        (x > -9).all(),
        (x > 1).any(1),
        torch.logsumexp(x, 1),
        F.softmax(x, 1),
        F.log_softmax(x, -1),
    ),
    "views": lambda x: (
        x.view(2, -1),
        x.flatten(1),
        x.transpose(1, -1),
        x.permute(0, 2, 3, 1).reshape(2, 64, 3),
        x.mT,
    ),
    "sizes": lambda x: (
        x.unsqueeze(1).squeeze(1),
        x[:, :1].expand(-1, 4, -1, -1),
        x.repeat(1, 2, 1, 1),
        x.repeat(2, 1, 1, 1, 1),
    ),
    "parts": lambda x: (
        x[:, 1:, ::2, -3:],
        x[0],
        x[:, -1],
        x[..., 2],
        x[1, :, 2:4, None],
        x.narrow(2, 1, 3),
    ),
    "lists": lambda x: (
        x.split(3, 2),
        x.chunk(4, -1),
        x.unbind(1),
        torch.cat([x, x * 2], 1),
        torch.stack([x, x], 1),
    ),
    "orders": lambda x: (x.flip(1, 2), x.roll((1, 2), (2, 3)), x.tril(), x.triu(1)),
    "padding": lambda x: (
        [F.pad(x, (1, 2, 0, 1), value=1.0)]
        + [F.pad(x, (1, 2, 3, 1), mode=m) for m in ("reflect", "replicate", "circular")]
    ),
    "einsum": lambda x: (
        torch.einsum("bchw,bc->bhw", x, x[:, :, 0, 0]),
        F.pixel_shuffle(x.view(2, 12, 4, 4), 2),
    ),
    "writes": lambda x: (
        lambda z: (z.__setitem__((slice(None), 0), x[:, 0, 0, 0]), z.mul_(2), z)[-1]
    )(torch.zeros(2, 3)),
    "masks": lambda x: (
        (lambda z: (z.__setitem__(x > 0.5, 3.0), z)[-1])(x * 2),
        x[:, torch.tensor([True, False, True])],
    ),
    "indexed writes": lambda x: (
        x.index_add(1, torch.tensor([2, 0]), x[:, :2], alpha=2),
        x.index_copy(2, torch.tensor([7, 0, 3]), x[:, :, :3]),
        x.index_fill(3, torch.tensor([1, 4]), 2.5),
        x.scatter_reduce(2, torch.zeros(2, 3, 8, 8).long(), x, "amax"),
        x.scatter_reduce(0, torch.ones(2, 3, 8, 8).long(), x, "prod"),
        torch.take_along_dim(x, x.argsort(3), 3),
    ),
    "windows": lambda x: (
        x.unfold(2, 3, 2),
        F.unfold(x, (2, 3), (1, 2), (1, 0), 2),
        F.fold(x.reshape(2, 12, 16), (5, 5), 2),
        x.diagonal(1, 2, 3),
        x.diagonal(-2, 1, 2),
        torch.repeat_interleave(x, 3, 1),
        x.diagonal(0, -1, 0),
    ),
    "corners": lambda x: (
        torch.hypot(x, x + 1),
        torch.atan2(x, x.flip(3)),
        torch.atan2(x * 0, x),
        torch.signbit(x),
        torch.signbit(-x.relu()),
        torch.sgn(x),
        torch.logit(x.sigmoid(), 0.2),
        torch.nan_to_num(x / x.relu(), posinf=9.0),
        torch.isposinf(x / 0),
        torch.isneginf(x / 0),
        torch.fmax(x, (x - 1).sqrt()),
        torch.xlogy(x.relu(), x.relu()),
        torch.count_nonzero(x.relu(), 1),
        torch.nansum(x.sqrt(), 2),
        torch.logaddexp(x, -x),
    ),
    "distances": lambda x: (
        [torch.cdist(x, x + 1, p) for p in (1.0, 2.0, 3.0, math.inf)]
        + [torch.linalg.det(x[..., :4, :4])]
    ),
    "losses": lambda x: (
        F.binary_cross_entropy(x.sigmoid(), (x > 0).float()),
        F.binary_cross_entropy_with_logits(x, (x > 0).float(), reduction="none"),
        F.mse_loss(x, -x),
        F.l1_loss(x, -x),
        F.smooth_l1_loss(x, -x),
        F.huber_loss(x, -x),
    ),
    "causal": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
}
NEWER = {"indexed writes", "windows"}  # need opset 18
INDEXED = {
    "index": lambda x, i: (x[i], x[:, i], x[:, i, i], x[i, :, i], x[i[:, None], i]),
    "gather": lambda x, i: (
        torch.index_select(x, 1, i),
        torch.gather(x, 1, i.view(2, 1, 1, 1)),
        F.embedding(i, x[0, 0]),
    ),
    "small integers": lambda x, i: F.embedding(i.int(), x[0, 0]),
    "mask": lambda x, i: F.scaled_dot_product_attention(
        x, x, x, attn_mask=(i > 0).view(2, 1, 1, 1) | torch.eye(8).bool()
    ),
    "bias": lambda x, i: F.scaled_dot_product_attention(x, x, x, attn_mask=x[:, :1]),
}


@pytest.mark.parametrize("name", [*FUNCTIONS, *INDEXED])
def test_functions(name):
    args = (X,) if name in FUNCTIONS else (X, INDEX)
    model = Function({**FUNCTIONS, **INDEXED}[name])
    for opset in (13, 18, 23):
        try:
            data = exported(model, args, opset_version=opset)
        except torch.onnx.UnsupportedOperatorError as error:
            assert opset == 13 and name in NEWER, error
            continue
        check_structure(data, opset)
        check_results(data, model, args)


LAYERS = {
    "conv1d": (lambda: nn.Conv1d(4, 6, 3, padding=1, groups=2), (2, 4, 9)),
    "conv2d": (lambda: nn.Conv2d(4, 6, 3, dilation=2, padding=(2, 1), stride=(2, 1)), (2, 4, 9, 7)),
    "conv2d same": (lambda: nn.Conv2d(4, 4, (2, 3), padding="same"), (2, 4, 9, 7)),
    "conv2d reflect": (lambda: nn.Conv2d(4, 4, 3, padding=1, padding_mode="reflect"), (2, 4, 9, 7)),
    "conv2d without batch": (lambda: nn.Conv2d(4, 2, 3), (4, 8, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4)),
    "transposed 1d": (lambda: nn.ConvTranspose1d(4, 2, 3, stride=2), (2, 4, 5)),
    "transposed 2d": (
        lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
        (2, 4, 9, 7),
    ),
    "transposed groups": (
        lambda: nn.ConvTranspose2d(4, 6, 4, stride=3, groups=2, dilation=2, output_padding=2),
        (2, 4, 9, 7),
    ),
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1), (2, 4, 9, 7)),
    "max pool ceil": (lambda: nn.MaxPool2d(2, 2, ceil_mode=True), (2, 4, 9, 7)),
    "average pool": (lambda: nn.AvgPool2d(3, 2, 1), (2, 4, 9, 7)),
    "average pool without padding": (
        lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        (2, 4, 9, 7),
    ),
    "average pool divisor": (lambda: nn.AvgPool2d(2, divisor_override=3), (2, 4, 9, 7)),
    "adaptive even": (lambda: nn.AdaptiveAvgPool2d((3, 7)), (2, 4, 9, 7)),
    "adaptive uneven": (lambda: nn.AdaptiveAvgPool2d((4, 3)), (2, 4, 9, 7)),
    "adaptive max": (lambda: nn.AdaptiveMaxPool2d((3, 1)), (2, 4, 9, 7)),
    "batch norm": (lambda: nn.BatchNorm1d(4), (3, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 9, 7)),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), (2, 4, 9, 7)),
    "rms norm": (lambda: nn.RMSNorm(7), (2, 4, 9, 7)),
    "plain layer norm": (lambda: nn.LayerNorm(7, elementwise_affine=False), (2, 4, 9, 7)),
    "nearest": (lambda: nn.Upsample(scale_factor=2), (2, 4, 9, 7)),
    "bilinear": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 9, 7)),
    "bilinear corners": (
        lambda: nn.Upsample(size=(5, 11), mode="bilinear", align_corners=True),
        (2, 4, 9, 7),
    ),
    "bicubic": (lambda: nn.Upsample(scale_factor=1.5, mode="bicubic"), (2, 4, 9, 7)),
    "dropout": (lambda: nn.Dropout(0.5), (2, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape = LAYERS[name]
    torch.manual_seed(3)
    model, x = make(), torch.randn(*shape)
    data = exported(model, (x,))
    assert model.training  # put back
    check_structure(data, 18)
    check_results(data, model.eval(), (x,))


def test_inputs_and_results_of_other_forms():
    class Model(nn.Module):
        def forward(self, x, scale, unused=None, *, shift):
            return {"a": x * scale + shift, "b": [x, torch.ones(2)]}

    args, shift = (torch.randn(2, 3), torch.tensor(2.0)), torch.randn(3)
    file = io.BytesIO()
    torch.onnx.export(Model(), args, file, kwargs={"shift": shift}, input_names=["x0", "x1", "x2"])
    read = check_structure(file.getvalue(), 18)
    assert {name: shape for name, (_, shape) in read.inputs.items()} == {
        "x0": (2, 3),
        "x1": (),
        "x2": (3,),
    }
    assert [shape for _, shape in read.outputs.values()] == [(2, 3), (2, 3), (2,)]
    check_results(
        file.getvalue(), lambda x, scale, shift: Model()(x, scale, shift=shift), (*args, shift)
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_float_types(dtype):
    model, x = (
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8)).to(dtype),
        torch.ones(2, 4, dtype=dtype),
    )
    read = check_structure(exported(model, (x,)), 18)
    assert {str(a.dtype) for a in read.initializers.values()} == {str(dtype).removeprefix("torch.")}
    if dtype is torch.float64:
        check_results(exported(model, (x,)), model, (x,))


def test_sizes_that_follow_from_the_batch():
    def function(x):
        n = x.shape[0]
        return (
            x.flatten(1),
            x.view(n * 3, -1),
            x.unsqueeze(0).expand(2, -1, -1, -1),
            torch.zeros(n, 2) + x[:, 0, :2],
            x.reshape(-1, 8),
            torch.cat([x, x], 0),
            x.repeat(2, 1, 1),
            x[:-1],
            x[1:],
            x[-1],
            x.sum(0),
            torch.arange(n),
            x.transpose(0, 1).reshape(3, -1),
        )

    data = exported(Function(function), (X[:, :, 0],), dynamic_axes={"x0": {0: "n"}})
    shapes = [shape for _, shape in check_structure(data, 18).outputs.values()]
    assert shapes[1] == ("3*n", 8)
    assert shapes[7] == ("n - 1", 3, 8)
    check_results(data, function, (X[:, :, 0],), (torch.randn(5, 3, 8),))


def test_sizes_after_a_stride():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2)).eval()
    data = exported(model, (torch.randn(1, 3, 20, 20),), dynamic_axes={"x0": {2: "h", 3: "w"}})
    assert next(iter(check_structure(data, 18).outputs.values()))[1] == (
        1,
        4,
        "((h - 1)//4)",
        "((w - 1)//4)",
    )
    check_results(data, model, (torch.randn(1, 3, 31, 27),))


def test_numbers_that_follow_from_a_size_after_a_stride():
    def function(x):
        y = F.avg_pool1d(x, 3, stride=2)
        return y.reshape(1, 2, 3, y.shape[2]), torch.zeros(y.shape[2]) + x[0, 0, 0]

    x = torch.randn(1, 6, 9)
    data = exported(Function(function), (x,), dynamic_axes={"x0": {2: "t"}})
    for length in (3, 4, 8, 31):
        check_results(data, function, (x,), (torch.randn(1, 6, length),))


def test_what_has_no_translation_is_listed_at_once():
    function = Function(
        lambda x: torch.digamma(torch.fft.fft(x).real) + torch.digamma(x) + torch.lgamma(x).sum()
    )
    with pytest.raises(torch.onnx.UnsupportedOperatorError) as caught:
        exported(function, (X,))
    first = str(caught.value).splitlines()[0]
    assert first.startswith("Exporting to ONNX opset version 18 is not supported for: ")
    assert f"lgamma at {__file__}:" in str(caught.value)
    assert {"digamma (2 times)", "lgamma"} <= set(first.partition("for: ")[2].split(", "))


def test_refusals():
    layer, x = nn.Linear(3, 2), torch.ones(4, 3)
    with pytest.raises(ValueError, match="Unsupported ONNX opset version: 9"):
        exported(layer, (x,), opset_version=9)
    with pytest.raises(ValueError, match="names 'y', which is no input or output"):
        exported(layer, (x,), dynamic_axes={"y": {0: "n"}})
    with pytest.raises(ValueError, match="axis 2 of 'x0'"):
        exported(layer, (x,), dynamic_axes={"x0": {2: "n"}})
    with pytest.raises(NotImplementedError, match="depends on the inputs"):
        exported(Function(lambda x: x * x.mean().item()), (X,))
    with pytest.raises(NotImplementedError, match="training"):
        exported(layer, (x,), training=torch.onnx.TrainingMode.TRAINING)


def test_names_files_and_parameters(tmp_path, capsys):
    layer, x = nn.Linear(3, 2), torch.ones(4, 3)
    path = tmp_path / "model.onnx"
    torch.onnx.export(
        layer,
        x,
        path,
        input_names=["in"],
        output_names=["out"],
        verbose=True,
        dynamic_axes={"in": [0], "out": [0]},
    )
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert "Gemm(in, weight, bias, transB=1)" in capsys.readouterr().out
    read = check_structure(path.read_bytes(), 18)
    assert read.inputs == {"in": (np.dtype("float32"), ("in_dynamic_axes_0", 3))}
    assert read.outputs == {"out": (np.dtype("float32"), ("in_dynamic_axes_0", 2))}
    assert set(read.initializers) == {"weight", "bias"}
    bare = read_model(exported(layer, (x,), export_params=False))
    assert list(bare.inputs) == ["x0", "weight", "bias"]
    assert not bare.initializers


def test_loading_refuses_what_it_does_not_know():
    head = wire.integer(1, 8) + wire.chunk(8, wire.integer(2, 18))
    value = wire.value_bytes("x", np.float32, (2,)), wire.value_bytes("y", np.float32, (2,))
    nodes = [wire.node_bytes(op, ["x"], [op], {}, op) for op in ("DeformConv", "Attention")]
    nodes[1] += wire.chunk(7, "com.example")
    graph = (
        b"".join(wire.chunk(1, n) for n in nodes)
        + wire.chunk(11, value[0])
        + wire.chunk(12, value[1])
    )
    with pytest.raises(
        torch.onnx.UnsupportedOperatorError,
        match="no operators for: DeformConv, com.example.Attention",
    ):
        torch.onnx.load(io.BytesIO(head + wire.chunk(7, graph)))
    old = wire.integer(1, 8) + wire.chunk(8, wire.integer(2, 6)) + wire.chunk(7, graph)
    with pytest.raises(torch.onnx.UnsupportedOperatorError, match="the opset 6"):
        torch.onnx.load(io.BytesIO(old))
    again = torch.onnx.load(io.BytesIO(exported(nn.Linear(3, 2), (torch.ones(4, 3),))))
    assert set(again.state_dict()) == {"weight", "bias"}
    with pytest.raises(ValueError, match=r"input 'x0' should be float32\[4, 3\], not float64"):
        again(torch.ones(4, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="1 inputs"):
        again()


def test_constants_are_folded():
    model = Function(lambda x: x + torch.ones(3).exp().sum())
    x = torch.ones(3)
    assert [n.op for n in read_model(exported(model, (x,))).nodes] == ["Add", "Identity"]
    ops = [n.op for n in read_model(exported(model, (x,), do_constant_folding=False)).nodes]
    assert ops == ["Exp", "ReduceSum", "Add", "Identity"]
    assert math.isclose(
        float(next(iter(read_model(exported(model, (x,))).initializers.values()))),
        3 * math.e,
        rel_tol=1e-6,
    )


def test_damaged_files_are_refused():
    data = exported(cnn(), (torch.randn(1, 3, 12, 12),))
    for cut in (1, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(RuntimeError, match="damaged"):
            read_model(data[:cut])
    with pytest.raises(RuntimeError, match="damaged"):
        read_model(b"nothing of the kind")


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**31, 2**63 - 1, -1, -(2**63)])
def test_integers_on_the_wire(number):
    assert parse("Attribute", memoryview(wire.integer(3, number))).i == number
    assert len(wire.varint(number)) == max(1, math.ceil((number % 2**64).bit_length() / 7))
