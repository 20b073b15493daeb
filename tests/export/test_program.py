"""Exported programs: the recorded operations do what the module does, in memory and from a file,
and nothing is recorded wrongly.
"""

import io
import zipfile

import pytest

import pellucid as torch
from pellucid.export import Dim, export, load, save
from pellucid.nn import functional as F

from .models import CASES, Function, cnn, tensors


def stored(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


@pytest.mark.parametrize("name", CASES)
def test_runs_like_the_module(name):
    model, args, axes, others = CASES[name]
    program = export(
        model, args, dynamic_shapes=tuple({k: Dim(word) for k, word in a.items()} for a in axes)
    )
    again = stored(program)
    for given in (args, others):
        for want, got, read in zip(
            *[tensors(m(*given)) for m in (model, program.module(), again.module())], strict=True
        ):
            torch.testing.assert_close(got, want)
            assert torch.equal(got, read)
    assert again.graph == program.graph
    assert list(again.state_dict) == list(program.state_dict)


def test_graph_text_and_state():
    program = export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    assert program.graph.splitlines() == [
        "inputs: %0 float32[4, 3]",
        "%1 float32[2, 3] = state 'weight'",
        "%2 float32[2] = state 'bias'",
        "%3 float32[4, 2] = linear(%0, %1, %2)",
        "result: %3",
    ]
    assert list(program.state_dict) == ["weight", "bias"]


def test_gradients_reach_the_parameters():
    layer = torch.nn.Linear(3, 2)
    module = export(layer, (torch.ones(4, 3),)).module()
    module(torch.ones(4, 3)).sum().backward()
    assert layer.weight.grad.tolist() == [[4.0] * 3] * 2
    again = stored(export(layer, (torch.ones(4, 3),))).module()
    assert [name for name, _ in again.named_parameters()] == ["weight", "bias"]


def test_writes_to_tensors_and_views():
    def function(x, index):
        z = torch.zeros(2, 3)
        z[:, 0] = x[:, 0]
        part = z[:, 1:]
        part += 1
        z.mul_(2)
        flat = z.view(-1)
        z[0] = 5
        part.zero_()
        z[:, 2].copy_(x[:, 1])
        return {"a": flat + 1, "b": [z, part * 2, None], "c": x[index]}

    args = (torch.randn(2, 3), torch.tensor([1, 0]))
    program = export(Function(function), args)
    for module in (program.module(), stored(program).module()):
        other = (torch.randn(2, 3), torch.tensor([0, 0]))
        want, got = function(*other), module(*other)
        assert torch.equal(got["a"], want["a"])
        assert torch.equal(got["c"], want["c"])
        assert all(torch.equal(g, w) for g, w in zip(got["b"][:2], want["b"][:2], strict=True))
        assert got["b"][2] is None


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x.mean().item(),
        lambda x: x * float(x.numpy()[0, 0]),
        lambda x: x + torch.tensor(x.numpy()),
        lambda x: x if x.sum() > 0.9 else -x,
        lambda x: x + torch.randn(3),
        lambda x: F.dropout(x, 0.5, True),
        lambda x: x[x > 0.2],
    ],
)
def test_what_depends_on_values_is_refused(function):
    x = torch.tensor([[0.25, 0.5, -0.5], [0.75, -1.0, 1.0]])
    with pytest.raises(
        NotImplementedError, match="export: .* depends on the (values of the )?inputs"
    ):
        export(Function(function), (x,))


def test_writing_to_inputs_and_state_is_refused():
    with pytest.raises(NotImplementedError, match="mul_ writes to an input"):
        export(Function(lambda x: x.mul_(2)), (torch.ones(2),))
    model = torch.nn.BatchNorm1d(2)
    with pytest.raises(NotImplementedError):
        export(model.train(), (torch.randn(4, 2),))


def test_other_arguments_are_refused():
    module = export(Function(lambda x: x * 2), (torch.ones(2, 3),)).module()
    with pytest.raises(ValueError, match=r"input 0 should be float32\[2, 3\], not float32\[3, 3\]"):
        module(torch.ones(3, 3))
    with pytest.raises(ValueError, match="float64"):
        module(torch.ones(2, 3, dtype=torch.float64))
    with pytest.raises(ValueError, match="structure"):
        module(torch.ones(2, 3), torch.ones(2, 3))
    limited = export(
        Function(lambda x: x * 2), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("n", max=4)},)
    ).module()
    assert limited(torch.ones(4, 3)).shape == (4, 3)
    with pytest.raises(ValueError, match="dynamic size 'n' is 5"):
        limited(torch.ones(5, 3))


def test_dynamic_sizes_are_told_apart():
    def function(x):
        n, t = x.shape
        return (
            torch.ones(t, n),
            torch.zeros(2 * n),
            torch.arange(t),
            x.reshape(n * t)[: t - 1],
            x[:, -1],
            torch.ones(4),
        )

    module = export(
        Function(function), (torch.randn(2, 5),), dynamic_shapes=({0: Dim("n"), 1: Dim("t")},)
    ).module()
    for shape in ((2, 5), (4, 2), (3, 9)):
        x = torch.randn(*shape)
        assert all(torch.equal(g, w) for g, w in zip(module(x), function(x), strict=True))
    with pytest.raises(NotImplementedError, match="a dynamic size"):
        export(
            Function(lambda x: x / x.shape[0] ** 0.5),
            (torch.ones(3),),
            dynamic_shapes=({0: Dim("n")},),
        )
    with pytest.raises(NotImplementedError, match="sequence of operations"):
        export(
            Function(lambda x: sum(row for row in x)),
            (torch.ones(3, 2),),
            dynamic_shapes=({0: Dim("n")},),
        )


def test_files(tmp_path):
    program = export(cnn().eval(), (torch.randn(1, 3, 12, 12),))
    path = tmp_path / "model.pt2"
    save(program, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt2"]
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["graph.json", "tensors.safetensors"]
    assert load(path).graph == program.graph
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RuntimeError, match="no complete file of an exported program"):
        load(path)
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(torch.nn.Linear(1, 1), path)


def test_parts_and_signature():
    layer = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).eval()
    program = export(layer, (torch.ones(4, 2),), dynamic_shapes=({0: Dim("n", min=2, max=9)},))
    assert [name for name, _ in program.named_parameters()] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
    ]
    assert [name for name, _ in program.named_buffers()] == [
        "1.running_mean",
        "1.running_var",
        "1.num_batches_tracked",
    ]
    assert (len(list(program.parameters())), len(list(program.buffers()))) == (4, 3)
    signature = program.graph_signature
    assert (signature.user_inputs, len(signature.user_outputs)) == (("%0",), 1)
    assert signature.parameters == [name for name, _ in program.named_parameters()]
    assert set(signature.buffers) <= {name for name, _ in program.named_buffers()}
    assert program.range_constraints == {"n": (2, 9)}
    for method in ("train", "eval"):
        with pytest.raises(
            NotImplementedError, match=rf"Calling {method}\(\) is not supported yet"
        ):
            getattr(program.module(), method)()


def test_extra_files():
    program = export(torch.nn.ReLU(), (torch.ones(2),))
    file = io.BytesIO()
    save(program, file, extra_files={"notes.txt": "grüße", "raw": b"\xff\x00"})
    found = {"notes.txt": "", "raw": ""}
    load(file, extra_files=found)
    assert found == {"notes.txt": "grüße", "raw": b"\xff\x00"}
    with pytest.raises(RuntimeError, match="no complete file"):
        load(file, extra_files={"missing": ""})


def test_files_of_pytorch_are_told_apart():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/archive_format", "pt2")
    with pytest.raises(NotImplementedError, match="PyTorch wrote this file"):
        load(file)


def _with_graph(data, change):
    """A stored program whose graph is another one."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == "graph.json" else old.read(name))
    return io.BytesIO(out.getvalue())


def test_damaged_programs_are_one_kind_of_error():
    file = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),)), file)
    data = file.getvalue()
    assert torch.export.load(_with_graph(data, lambda text: text)).module()(
        torch.ones(1, 2)
    ).shape == (1, 2)
    for change in (
        lambda text: b"[]",
        lambda text: b"{}",
        lambda text: b"[" * 100_000,
        lambda text: text[:50],
        lambda text: b"\xff",
        lambda text: text.replace(b'"steps"', b'"step"'),
        lambda text: text.replace(b'"version"', b'"versions"'),
        lambda text: text.replace(b'"tuple"', b'"toople"'),
        lambda text: text + b" " * (1 << 27),
    ):
        with pytest.raises(
            RuntimeError, match="no complete file of an exported program|unknown kind"
        ):
            torch.export.load(_with_graph(data, change))
    with pytest.raises(FileNotFoundError):
        torch.export.load("no such file")
