"""`torch.onnx.export` with the arguments of PyTorch's newer exporter, and the models of the
examples.
"""

import importlib.util
import io
import re
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid import nn
from pellucid.onnx.writer.read import read_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Two(nn.Module):
    def forward(self, x, y):
        return x @ y.T, x.sum(0)


X, Y = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    "shapes",
    [
        ({0: "n"}, {0: "m"}),
        {"x": {0: torch.export.Dim("n")}, "y": {0: torch.export.Dim("m", min=2)}},
        ({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.AUTO, 1: torch.export.Dim.STATIC}),
        [{0: "n", 1: None}, ("m", None)],
    ],
    ids=["names", "by argument", "hints", "lists"],
)
def test_dynamic_shapes(shapes):
    program = torch.onnx.export(
        Two(), (X, Y), dynamic_shapes=shapes, verify=True, input_names=["a", "b"]
    )
    assert program.__class__ is torch.onnx.ONNXProgram
    first, second = read_model(program._data).inputs.values()
    assert (first[1][1], second[1][1]) == (3, 3)
    assert isinstance(first[1][0], str)
    assert first[1][0] != second[1][0]
    more = program(torch.ones(5, 3), torch.ones(7, 3))
    assert [tuple(t.shape) for t in more] == [(5, 7), (3,)]


def test_equal_sizes_are_one_without_names():
    program = torch.onnx.export(
        nn.Bilinear(3, 3, 2),
        (X, X + 1),
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC}, {0: torch.export.Dim.DYNAMIC}),
    )
    assert program(torch.ones(5, 3), torch.ones(5, 3))[0].shape == (5, 2)
    with pytest.raises(ValueError, match="should be float32"):
        program(torch.ones(5, 3), torch.ones(4, 3))


def test_exported_programs_and_files(tmp_path):
    layer = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).eval()
    recorded = torch.export.export(layer, (X,))
    path = tmp_path / "model.onnx"
    program = torch.onnx.export(recorded, (X,), path, verify=True)
    assert set(torch.onnx.load(path).state_dict()) >= {"0.weight", "0.bias"}
    program.save(tmp_path / "again.onnx")
    assert (tmp_path / "again.onnx").read_bytes() == path.read_bytes()
    torch.testing.assert_close(program(X)[0], layer(X))


def test_what_is_not_supported_is_named():
    for name, value in {
        "report": True,
        "profile": True,
        "custom_opsets": {"my": 1},
        "export_modules_as_functions": True,
    }.items():
        with pytest.raises(NotImplementedError, match=f"{name} is not supported"):
            torch.onnx.export(Two(), (X, Y), **{name: value})
    with pytest.raises(ValueError, match="not both"):
        torch.onnx.export(
            Two(), (X, Y), dynamic_shapes=({0: "n"}, None), dynamic_axes={"input_0": {0: "n"}}
        )
    with pytest.raises(NotImplementedError, match="include_initializers"):
        torch.onnx.export(Two(), (X, Y)).save("nowhere.onnx", include_initializers=False)


# ---- the models of the examples ------------------------------------------------------------------
def example(name):
    """The names of an example, which imports this library under its own name here."""
    source = (EXAMPLES / f"{name}.py").read_text()
    source = re.sub(r"^import torch$", "import pellucid as torch", source, flags=re.M)
    source = re.sub(r"^(import|from) torch\b", r"\1 pellucid", source, flags=re.M)
    found = {"__name__": f"example_{name}", "__file__": str(EXAMPLES / f"{name}.py")}
    exec(compile(source, found["__file__"], "exec"), found)
    return found


def models():
    """name -> (model, arguments, dynamic axes)"""
    R = torch.randn
    char, word, vae = example("char_gpt"), example("word_lstm"), example("vae")
    gan, graph, ode = example("dcgan"), example("gcn"), example("neural_ode")
    ids = torch.arange(12).reshape(2, 6)
    lstm, auto = word["RNNModel"](20, 8, 12, 2), vae["VAE"]()
    edges = (torch.tensor([0, 1, 2, 3, 0]), torch.tensor([1, 2, 3, 0, 0]), torch.rand(5))
    func = ode["ODEFunc"]()
    return {
        "digits": (example("digits")["Network"](), (R(2, 1, 8, 8),), {"x0": {0: "n"}}),
        "char_gpt": (char["GPT"](20, 16, 2, 2, 16), (ids,), {"x0": {0: "n", 1: "t"}}),
        "word_lstm": (lstm, (ids.T, *lstm.init_hidden(2)), None),
        "generator": (gan["Generator"](), (R(2, gan["NZ"], 1, 1),), {"x0": {0: "n"}}),
        "discriminator": (gan["Discriminator"](), (R(2, 1, 8, 8),), {"x0": {0: "n"}}),
        "gcn": (graph["GCN"](5, 8, 3), (R(4, 5), *edges), {"x0": {0: "nodes"}}),
        "neural_ode": (
            lambda y: ode["odeint"](func, y, torch.linspace(0, 1, 4)),
            (R(3, 2),),
            {"x0": {0: "n"}},
        ),
        "resnet": (example("resnet")["ResNet"]([4, 8]), (R(2, 3, 16, 16),), {"x0": {0: "n"}}),
        "encoder": (auto.encode, (R(2, 64),), {"x0": {0: "n"}}),
        "decoder": (auto.decode, (R(2, 8),), {"x0": {0: "n"}}),
        "vit": (example("vit")["ViT"](), (R(2, 1, 8, 8),), {"x0": {0: "n"}}),
        "actor_critic": (example("actor_critic")["Policy"](), (R(2, 4),), {"x0": {0: "n"}}),
    }


NAMES = [
    "digits",
    "char_gpt",
    "word_lstm",
    "generator",
    "discriminator",
    "gcn",
    "neural_ode",
    "resnet",
    "encoder",
    "decoder",
    "vit",
    "actor_critic",
]


@pytest.fixture(scope="module")
def examples():
    torch.manual_seed(0)
    return models()


@pytest.mark.parametrize("name", NAMES)
def test_examples(examples, name):
    model, args, axes = examples[name]
    flat = [t for a in args for t in (a if isinstance(a, tuple) else (a,))]
    names = [f"x{k}" for k in range(len(flat))]
    file = io.BytesIO()
    if isinstance(model, nn.Module):
        model.eval()
    if name == "word_lstm":
        inner, args = model, (args[0], *args[1:])
        model = lambda x, h, c: inner(x, (h, c))
    torch.onnx.export(model, args, file, input_names=names, dynamic_axes=axes, verify=True)
    calls = [flat]
    if axes and name != "gcn":
        calls.append([torch.cat([flat[0], flat[0][:1]])])
    if importlib.util.find_spec("onnxruntime") is None:
        return
    import onnxruntime as runtime

    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(file.getvalue(), options)
    for given in calls:
        with torch.no_grad():
            want = model(*given)
        want = [t for t in (want if isinstance(want, tuple) else (want,)) if t is not None]
        want = [t for part in want for t in (part if isinstance(part, tuple) else (part,))]
        got = session.run(
            None, {i.name: given[int(i.name[1:])].numpy() for i in session.get_inputs()}
        )
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w.numpy(), 1e-4, 1e-5)


def test_random_numbers_are_refused(examples):
    with pytest.raises(NotImplementedError, match="a random number"):
        torch.onnx.export(examples["encoder"][0].__self__, (torch.randn(2, 64),))
