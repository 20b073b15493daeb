"""Exported programs do what the module does, in memory and from a file, and nothing is recorded
wrongly.
"""

import io
import json
import zipfile

import pytest

import pellucid as torch
from pellucid import nn
from pellucid.export import AdditionalInputs, Dim, ShapesCollection, dims, export, load, save
from pellucid.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)
from pellucid.nn import functional as F

from .models import CASES, Function, cnn, tensors

UserError = torch._dynamo.exc.UserError


def stored(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return load(file)


def targets(program):
    return [str(n.target) for n in program.graph.nodes if n.op == "call_function"]


@pytest.mark.long
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
    assert targets(again) == targets(program)
    assert list(again.state_dict) == list(program.state_dict)
    assert str(again.graph_signature) == str(program.graph_signature)


def test_the_graph_is_made_of_whole_operators():
    program = export(cnn().eval(), (torch.randn(1, 3, 12, 12),))
    assert targets(program) == [
        "aten.conv2d.default",
        "aten.batch_norm.default",
        "aten.relu_.default",
        "aten.max_pool2d.default",
        "aten.conv2d.default",
        "aten.adaptive_avg_pool2d.default",
        "aten.flatten.using_ints",
        "aten.linear.default",
        "aten.softmax.int",
    ]
    signature = program.graph_signature
    assert signature.parameters[:3] == ("0.weight", "0.bias", "1.weight")
    assert signature.buffers == ("1.running_mean", "1.running_var", "1.num_batches_tracked")
    assert signature.inputs_to_parameters["p_0_weight"] == "0.weight"
    assert (signature.user_inputs, signature.user_outputs) == (("input",), ("softmax",))
    nodes = {n.name: n for n in program.graph.nodes}
    assert nodes["conv2d"].meta["val"].shape == (1, 8, 12, 12)
    assert list(nodes["linear"].meta["nn_module_stack"].values())[1][0] == "7"
    program.validate()


def test_text():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(4, 3)

        def forward(self, x):
            return torch.relu(self.layer(x)) * x.shape[0]

    program = export(Model(), (torch.ones(2, 4),), dynamic_shapes={"x": {0: Dim("b", max=64)}})
    text = str(program)
    for part in (
        'def forward(self, p_layer_weight: "f32[3, 4]", p_layer_bias: "f32[3]", x: "f32[s0, 4]"):',
        'sym_size_int: "Sym(s0)" = torch.ops.aten.sym_size.int(x, 0)',
        'linear: "f32[s0, 3]" = torch.ops.aten.linear.default(x, p_layer_weight, p_layer_bias)',
        "code: return torch.relu(self.layer(x)) * x.shape[0]",
        "p_layer_weight: PARAMETER target='layer.weight'",
        "Range constraints: {s0: VR[0, 64]}",
    ):
        assert part in text
    assert "x, = fx_pytree.tree_flatten_spec(([x], {}), self._in_spec)" in program.module().code


def test_gradients_reach_the_parameters():
    layer = nn.Linear(3, 2)
    module = export(layer, (torch.ones(4, 3),)).module()
    module(torch.ones(4, 3)).sum().backward()
    assert layer.weight.grad.tolist() == [[4.0] * 3] * 2
    again = stored(export(layer, (torch.ones(4, 3),))).module()
    assert [name for name, _ in again.named_parameters()] == ["weight", "bias"]
    assert all(p.requires_grad for p in again.parameters())


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
        x.add_(1)
        return {"a": flat + 1, "b": [z, part * 2, None], "c": x[index]}

    args = (torch.randn(2, 3), torch.tensor([1, 0]))
    before = args[0].clone()
    program = export(Function(function), args)
    assert torch.equal(args[0], before)  # exporting ran on copies
    for module in (program.module(), stored(program).module()):
        other = (torch.randn(2, 3), torch.tensor([0, 0]))
        want = function(other[0].clone(), other[1])
        given = other[0].clone()
        got = module(given, other[1])
        assert torch.equal(given, other[0] + 1)
        assert torch.equal(got["a"], want["a"])
        assert torch.equal(got["c"], want["c"])
        assert all(torch.equal(g, w) for g, w in zip(got["b"][:2], want["b"][:2], strict=True))
        assert got["b"][2] is None


def test_buffers_are_written_by_the_program_alone():
    model = nn.BatchNorm1d(2)
    program = export(model, (torch.randn(4, 2),))
    assert model.num_batches_tracked == 0
    x = torch.randn(4, 2)
    twin = nn.BatchNorm1d(2)
    assert torch.equal(program.module()(x), twin(x))
    assert torch.equal(model.running_mean, twin.running_mean)


def test_random_numbers_are_drawn_anew_and_the_stream_is_left_alone():
    torch.manual_seed(3)
    want = torch.rand(2)
    torch.manual_seed(3)
    program = export(Function(lambda x: F.dropout(x) + torch.randn(3)), (torch.ones(3),))
    assert torch.equal(torch.rand(2), want)
    module = program.module()
    assert not torch.equal(module(torch.ones(3)), module(torch.ones(3)))


def test_numbers_read_from_tensors_are_nodes():
    program = export(Function(lambda x: x * x.sum().item()), (torch.tensor([1.0, 2.0]),))
    for module in (program.module(), stored(program).module()):
        assert module(torch.tensor([3.0, 4.0])).tolist() == [21.0, 28.0]
    sizes = export(Function(lambda x: x[x > 0] * 2), (torch.tensor([1.0, -2.0]),)).module()
    assert sizes(torch.tensor([3.0, 4.0])).tolist() == [6.0, 8.0]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.sum() > 0.9 else -x,
        lambda x: x + (1 if x.max() else 2),
        lambda x: x * (2 * x.mean().item() + 1),
        lambda x: x + torch.ones(3) * float(x[0, 0]),
        lambda x: x * len(x.nonzero()),
    ],
)
def test_what_depends_on_values_is_refused(function):
    x = torch.tensor([[0.25, 0.5, -0.5], [0.75, 0.0, 1.0]])
    with pytest.raises(GuardOnDataDependentSymNode):
        export(Function(function), (x,))


def test_a_write_to_a_tensor_that_is_no_buffer_is_refused():
    model = Function(lambda x: model.seen.add_(x.sum()))
    model.seen = torch.zeros(())
    with pytest.raises(NotImplementedError, match="writes to the attribute 'seen'"):
        export(model, (torch.ones(2),))
    assert model.seen == 0


def test_constants():
    model = Function(lambda x: x + model.scale + torch.tensor([1.0, 2.0]))
    model.scale = torch.tensor(3.0)
    program = export(model, (torch.ones(2),))
    assert set(program.constants) == {"scale", "lifted_tensor_0"}
    assert program.graph_signature.lifted_tensor_constants == ("scale", "lifted_tensor_0")
    for p in (program, stored(program)):
        assert p.module()(torch.zeros(2)).tolist() == [4.0, 5.0]
        assert not list(p.module().parameters())


def test_other_arguments_are_refused():
    module = export(Function(lambda x: x * 2), (torch.ones(2, 3),)).module()
    with pytest.raises(AssertionError, match=r"^Guard failed: args_0.size\(\)\[0\] == 2$"):
        module(torch.ones(3, 3))
    with pytest.raises(ValueError, match="Trying to flatten user inputs with exported input tree"):
        module(torch.ones(2, 3), torch.ones(2, 3))
    limited = export(nn.ReLU(), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("n", max=4)},))
    assert limited.module()(torch.ones(4, 3)).shape == (4, 3)
    with pytest.raises(AssertionError, match=r"input.size\(\)\[0\] <= 4"):
        limited.module()(torch.ones(5, 3))
    same = {"args": ({0: Dim("n")}, {0: Dim("n")})}
    pair = export(
        Function(lambda x, y: (x, y)), (torch.ones(2), torch.zeros(2)), dynamic_shapes=same
    )
    assert pair.module()(torch.ones(5), torch.ones(5))[0].shape == (5,)
    with pytest.raises(AssertionError, match=r"args_0.size\(\)\[0\] == args_1.size\(\)\[0\]"):
        pair.module()(torch.ones(5), torch.ones(6))
    numbered = export(Function(lambda x, n: x * n), (torch.ones(2), 3)).module()
    with pytest.raises(AssertionError, match="Guard failed: args_1 == 3"):
        numbered(torch.ones(2), 4)
    with pytest.raises(RuntimeError, match="Unable to call ExportedProgram directly"):
        limited(torch.ones(2, 3))
    for method in ("train", "eval"):
        with pytest.raises(NotImplementedError, match=rf"Calling {method}\(\) is not supported"):
            getattr(module, method)()


def test_keyword_arguments():
    class Model(nn.Module):
        def forward(self, x, *, mask=None, scale=1.0):
            return x * scale if mask is None else x + mask

    x = torch.ones(2)
    module = export(Model(), (x,), {"mask": x, "scale": 2.0}).module()
    assert module(x, scale=2.0, mask=x * 3).tolist() == [4.0, 4.0]
    with pytest.raises(AssertionError, match="scale == 2.0"):
        module(x, mask=x, scale=3.0)


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
            torch.zeros((t + 1) // 2),
        )

    shapes = {"args": ({0: Dim("n"), 1: Dim("t")},)}
    program = export(Function(function), (torch.randn(2, 5),), dynamic_shapes=shapes)
    for module in (program.module(), stored(program).module()):
        for shape in ((2, 5), (4, 2), (3, 9), (7, 40), (40, 7)):
            x = torch.randn(*shape)
            got = module(x)
            assert all(torch.equal(g, w) for g, w in zip(got, function(x), strict=True))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / x.shape[0] ** 0.5,
        lambda x: sum(row for row in x),
        lambda x: x if x.shape[0] > 5 else x + 1,
        lambda x: x.view(3, 2),
        lambda x: x + torch.tensor(list(range(x.shape[0])))[:, None],
    ],
)
def test_sizes_that_are_not_free_are_refused(function):
    with pytest.raises(UserError, match="Constraints violated"):
        export(Function(function), (torch.ones(3, 2),), dynamic_shapes={"args": ({0: Dim("n")},)})
    # with `Dim.AUTO` they are fixed
    program = export(
        Function(function), (torch.ones(3, 2),), dynamic_shapes={"args": ({0: Dim.AUTO},)}
    )
    assert program.range_constraints == {}


def test_bounds_at_which_the_program_differs_are_refused():
    shapes = {"args": ({0: Dim("n", max=100)},)}
    with pytest.raises(UserError, match="at the bound n = 100"):
        export(
            Function(lambda x: x if x.shape[0] < 50 else -x),
            (torch.ones(3),),
            dynamic_shapes=shapes,
        )


def test_sizes_that_must_be_equal_are_one():
    x, y = torch.ones(2, 3), torch.zeros(2, 3)
    program = export(
        Function(lambda x, y: x + y),
        (x, y),
        dynamic_shapes={"args": ({0: Dim.AUTO}, {0: Dim.AUTO})},
    )
    assert len(program.range_constraints) == 1
    assert program.module()(torch.ones(5, 3), torch.ones(5, 3)).shape == (5, 3)
    with pytest.raises(AssertionError, match="Guard failed"):
        program.module()(torch.ones(5, 3), torch.ones(1, 3))


def test_sizes_that_follow_from_others():
    n = Dim("n")
    assert repr((2 * n + 1, n - 1)) == "(2*n + 1, n - 1)"
    program = export(
        Function(lambda x, y: x[: y.shape[0]].sum() + y.sum()),
        (torch.ones(6), torch.ones(2)),
        dynamic_shapes={"args": ({0: 2 * n + 2}, {0: n})},
    )
    for p in (program, stored(program)):
        assert p.module()(torch.ones(8), torch.ones(3)) == 6
        with pytest.raises(AssertionError, match="follows from"):
            p.module()(torch.ones(8), torch.ones(4))
    with pytest.raises(NotImplementedError, match="positive integer"):
        n * -1
    with pytest.raises(ConstraintViolationError, match=r"2 not in range \[3, int_oo\]"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=({0: Dim("n", min=3)},))


def test_dynamic_shapes_in_the_structure_of_the_arguments():
    model = Function(lambda d: d["a"][0] + d["b"])
    args = ({"a": [torch.ones(3)], "b": torch.ones(3)},)
    n = Dim("n")
    shapes = {"args": ({"a": [{0: n}], "b": (n,)},)}
    collected = ShapesCollection()
    collected[args[0]["a"][0]] = {0: n}
    collected[args[0]["b"]] = {0: n}
    more = AdditionalInputs()
    more.add(({"a": [torch.ones(4)], "b": torch.ones(4)},))
    for given in (shapes, (({"a": [{0: n}], "b": {0: n}}),), collected, more):
        module = export(model, args, dynamic_shapes=given).module()
        assert module({"a": [torch.ones(7)], "b": torch.ones(7)}).shape == (7,)
    with pytest.raises(UserError, match="top-level keys must be the arg names"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes={"x": {0: n}})
    with pytest.raises(UserError, match="`inputs` has 1 elements, but `dynamic_shapes` has 2"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=[{0: n}, None])
    with pytest.raises(UserError, match="same length as the actual tensor shape"):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=[(n, None)])
    with pytest.raises(IndexError):
        export(nn.ReLU(), (torch.ones(2),), dynamic_shapes=[{5: n}])
    assert dims("a", "b", max=3)[1].max == 3


def test_decompositions():
    program = export(nn.Sequential(nn.Linear(3, 2), nn.GELU()), (torch.ones(2, 3),))
    core = program.run_decompositions()
    assert targets(core) == ["aten.t.default", "aten.addmm.default", "aten.gelu.default"]
    x = torch.randn(2, 3)
    assert torch.equal(core.module()(x), program.module()(x))
    table = {torch.ops.aten.gelu.default: lambda x, approximate="none": torch.ops.aten.relu(x)}
    assert targets(program.run_decompositions(table))[-1] == "aten.relu.default"
    free = export(nn.Linear(3, 2), (torch.ones(2, 3),), dynamic_shapes=({0: Dim("n")},))
    assert free.run_decompositions().module()(torch.ones(9, 3)).shape == (9, 2)


def test_what_is_no_module_or_no_tuple_is_refused():
    with pytest.raises(ValueError, match=r"Expected `mod` to be an instance of `torch.nn.Module`"):
        export(lambda x: x, (torch.ones(2),))
    with pytest.raises(UserError, match="Expecting `args` to be a tuple of example positional"):
        export(nn.ReLU(), [torch.ones(2)])
    with pytest.raises(UserError, match="one of the outputs with type"):
        export(Function(lambda x: object()), (torch.ones(2),))


# ---- files -------------------------------------------------------------------------------------
def test_files(tmp_path):
    program = export(cnn().eval(), (torch.randn(1, 3, 12, 12),))
    path = tmp_path / "model.pt2"
    save(program, path)
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt2"]
    with zipfile.ZipFile(path) as archive:
        assert archive.read("model/archive_format") == b"pt2"
        weights = json.loads(archive.read("model/data/weights/model_weights_config.json"))
    assert weights["config"]["0.weight"]["is_param"] is True
    assert str(load(path)).split("Graph signature")[1] == str(program).split("Graph signature")[1]
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(RuntimeError, match="not a complete file of an exported program"):
        load(path)
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram'"):
        save(nn.Linear(1, 1), path)


def test_weights_of_all_kinds_come_back():
    model = Function(lambda x: x)
    for k, kind in enumerate(
        (torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.bool, torch.complex64)
    ):
        model.register_buffer(f"b{k}", torch.arange(4).reshape(2, 2).to(kind).t())
    model.register_buffer("empty", torch.empty(0, 3))
    model.register_buffer("scalar", torch.tensor(2))
    model.register_buffer("transient", torch.ones(2), persistent=False)
    again = stored(export(model, (torch.ones(1),)))
    for name, want in model.named_buffers():
        got = dict(again.named_buffers())[name]
        assert got.dtype == want.dtype
        assert torch.equal(got, want)
    assert again.graph_signature.non_persistent_buffers == ("transient",)
    assert "transient" not in again.state_dict


def test_extra_files():
    program = export(nn.ReLU(), (torch.ones(2),))
    file = io.BytesIO()
    save(program, file, extra_files={"notes.txt": "grüße", "raw": b"\xff\x00"})
    found = {"notes.txt": "", "raw": ""}
    load(file, extra_files=found)
    assert found == {"notes.txt": "grüße", "raw": b"\xff\x00"}
    with pytest.raises(RuntimeError, match="not a complete file"):
        load(file, extra_files={"missing": ""})


def _with(data, name, change):
    """A stored program one of whose records is another one."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.namelist():
            content = old.read(entry)
            new.writestr(entry, change(content) if entry.endswith(name) else content)
    return io.BytesIO(out.getvalue())


def test_damaged_programs_are_one_kind_of_error():
    file = io.BytesIO()
    save(export(nn.Linear(2, 2), (torch.ones(1, 2),)), file)
    data = file.getvalue()
    same = load(_with(data, "model.json", lambda text: text)).module()
    assert same(torch.ones(1, 2)).shape == (1, 2)
    for change in (
        lambda text: b"[]",
        lambda text: b"{}",
        lambda text: b"[" * 100_000,
        lambda text: text[:50],
        lambda text: b"\xff",
        lambda text: text.replace(b'"nodes"', b'"nods"'),
        lambda text: text.replace(b'"as_tensor"', b'"as_tensors"'),
        lambda text: text.replace(b'"weight"', b'"height"'),
        lambda text: text.replace(b"builtins.tuple", b"builtins.toople"),
        lambda text: text + b" " * (1 << 27),
    ):
        with pytest.raises(RuntimeError, match="not a complete file of an exported program"):
            load(_with(data, "models/model.json", change))
    for old, new in (
        (b'{"as_int": 2}', b'{"as_int": 2000}'),
        (b'{"as_int": 2}', b'{"as_int": -2}'),
        (b'"storage_offset": {"as_int": 0}', b'"storage_offset": {"as_int": 9999999}'),
        (b"weight_0", b"weight_9"),
    ):
        with pytest.raises(RuntimeError, match="not a complete file of an exported program"):
            load(_with(data, "weights_config.json", lambda text: text.replace(old, new)))
    with pytest.raises(FileNotFoundError):
        load("no such file")


def test_files_call_operators_alone():
    file = io.BytesIO()
    save(export(nn.Linear(2, 2), (torch.ones(1, 2),)), file)
    for target in (
        b"os.system",
        b"torch.ops.load_library",
        b"torch.ops.aten.linear.__init__",
        b"torch.ops.__class__.__base__.default",
        b"_operator.attrgetter",
    ):
        with pytest.raises(NotImplementedError, match="which does not exist here"):
            load(
                _with(
                    file.getvalue(),
                    "models/model.json",
                    lambda text: text.replace(b"torch.ops.aten.linear.default", target),
                )
            )
