"""ONNX files that others wrote: results, gradients, parameters, and what is refused."""

import copy
import io
import pickle
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import pellucid as torch
from pellucid.errors import full_text
from pellucid.onnx.writer import wire
from pellucid.onnx.writer.read import parse, read_model, tensor

# by PyTorch 2.13's two exporters; the results are PyTorch's
FILES = Path(__file__).parent / "files"
NAMES = ["conv_script", "conv_dynamo", "text_script", "text_dynamo"]


def stored(name):
    with np.load(FILES / f"{name.partition('_')[0]}.npz") as arrays:
        made = {key: torch.from_numpy(arrays[key]) for key in arrays}
    return made.pop("x"), list(made.values())


@pytest.mark.parametrize("name", NAMES)
def test_files_of_pytorch(name):
    model = torch.onnx.load(FILES / f"{name}.onnx")
    x, wanted = stored(name)
    got = model(x)
    torch.testing.assert_close(got, wanted[0], rtol=1e-5, atol=1e-6)
    # the batch is open
    torch.testing.assert_close(model(torch.cat([x, x[:1]]))[:2], wanted[0], rtol=1e-5, atol=1e-6)
    if "text" in name:
        # and the length
        torch.testing.assert_close(
            model(x[:, :3])[:, 0, :4], wanted[0][:, 0, :4], rtol=1e-5, atol=1e-6
        )
    got.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_written_again(name):
    model = torch.onnx.load(FILES / f"{name}.onnx")
    x, wanted = stored(name)
    file = io.BytesIO()
    axes = {0: "n", 1: "t"} if "text" in name else {0: "n"}
    torch.onnx.export(model, (x,), file, input_names=["x"], dynamic_axes={"x": axes})
    again = torch.onnx.load(io.BytesIO(file.getvalue()))
    for given in (x, torch.cat([x, x[:1]]), *([x[:, :3]] if "text" in name else [])):
        torch.testing.assert_close(again(given), model(given), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(again(x), wanted[0], rtol=1e-5, atol=1e-6)


def test_parameters_have_the_names_of_the_file_and_train():
    model = torch.onnx.load(FILES / "text_script.onnx")
    names = dict(model.named_parameters())
    assert {"word.weight", "place.weight", "block.ln1.weight", "block.attn.qkv.bias"} <= set(names)
    assert model.input_names == ["x"]
    assert model.opset == 17
    x, _ = stored("text")
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    losses = []
    for _ in range(5):
        loss = (model(x) - 0.5).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] * 0.8
    fresh = torch.onnx.load(FILES / "text_script.onnx")
    fresh.load_state_dict(model.state_dict())
    torch.testing.assert_close(fresh(x), model(x))


def test_statistics_are_buffers_and_copies_run():
    model = torch.onnx.load(FILES / "conv_dynamo.onnx")
    kinds = {name for name, _ in model.named_buffers()}
    x, wanted = stored("conv")
    assert not kinds & {name for name, _ in model.named_parameters()}
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        torch.testing.assert_close(again(x), wanted[0], rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    assert not torch.allclose(model(x), again(x))


def test_the_graph_as_text():
    lines = str(torch.onnx.load(FILES / "conv_script.onnx")).splitlines()
    assert lines[0] == "OnnxModule("
    assert lines[1] == "  inputs x: float32[n, 2, 8, 8]"
    assert any("= MaxPool(" in line and "kernel_shape=[2, 2]" in line for line in lines)


def test_inputs_by_name_and_wrong_ones():
    model = torch.onnx.load(FILES / "conv_script.onnx")
    x, wanted = stored("conv")
    torch.testing.assert_close(model(x=x), wanted[0], rtol=1e-5, atol=1e-6)
    for args, kwargs in (((), {}), ((x, x), {}), ((x,), {"x": x}), ((), {"y": x})):
        with pytest.raises(ValueError, match="the model has 1 inputs"):
            model(*args, **kwargs)
    with pytest.raises(
        ValueError, match=r"input 'x' should be float32\['n', 2, 8, 8\], not float32\[2, 8, 8\]"
    ):
        model(x[0])


# ---- graphs made here --------------------------------------------------------------------------
def build(nodes, inputs, outputs, initializers=(), opset=18, functions=b""):
    """The bytes of a model; a node is (op, inputs, outputs, attributes)."""
    encoded = [
        n
        if isinstance(n, bytes)
        else wire.node_bytes(n[0], n[1], n[2], n[3] if len(n) > 3 else {}, "")
        for n in nodes
    ]
    values = [
        [wire.value_bytes(name, kind, shape) for name, kind, shape in part]
        for part in (inputs, outputs)
    ]
    head = wire.integer(1, 8) + wire.chunk(8, wire.chunk(1, "") + wire.integer(2, opset))
    return head + wire.chunk(7, graph(encoded, *values, initializers)) + functions


def graph(nodes, inputs, outputs, initializers=()):
    parts = [(1, nodes), (5, initializers), (11, inputs), (12, outputs)]
    return b"".join(wire.chunk(key, x) for key, items in parts for x in items) + wire.chunk(2, "g")


def subgraph(name, data):
    return wire.chunk(1, name) + wire.chunk(6, data) + wire.integer(20, 5)


def loaded(data):
    return torch.onnx.load(io.BytesIO(data))


X = ("x", np.float32, ("n", 3))


def test_sizes_that_are_computed():
    ints = {
        name: np.array(v, np.int64)
        for name, v in {"zero": [0], "one": [1], "minus": [-1], "two": [2]}.items()
    }
    made = [wire.tensor_bytes(name, a) for name, a in ints.items()]
    nodes = [
        ("Shape", ["x"], ["s"]),
        ("Gather", ["s", "zero"], ["n"], {"axis": 0}),
        ("Concat", ["n", "one", "minus"], ["to"], {"axis": 0}),
        ("Reshape", ["x", "to"], ["r"]),
        ("Mul", ["n", "two"], ["n2"]),
        ("Squeeze", ["n2"], ["end"]),
        ("Squeeze", ["zero"], ["start"]),
        ("Squeeze", ["one"], ["step"]),
        ("Range", ["start", "end", "step"], ["range"]),
        ("ConstantOfShape", ["n"], ["ones"], {"value": np.ones(1, np.float32)}),
        ("Expand", ["r", "to2"], ["wide"]),
        ("Slice", ["range", "one", "n2", "zero", "two"], ["odd"]),
    ]
    made.append(wire.tensor_bytes("to2", np.array([1, 2, 1], np.int64)))
    outputs = [
        ("wide", np.float32, ("n", 2, 3)),
        ("range", np.int64, ("m",)),
        ("ones", np.float32, ("n",)),
        ("odd", np.int64, ("k",)),
    ]
    wide, range_, ones, odd = loaded(build(nodes, [X], outputs, made))(
        torch.arange(6.0).reshape(2, 3)
    )
    assert wide.shape == (2, 2, 3)
    assert range_.tolist() == [0, 1, 2, 3]
    assert ones.tolist() == [1, 1]
    assert odd.tolist() == [1, 3]


def test_branches_see_the_values_outside():
    out = wire.value_bytes("y", np.float32, ("n", 3))
    branches = [
        graph([wire.node_bytes(op, ["x", "x"], ["y"], {}, "")], [], [out]) for op in ("Add", "Mul")
    ]
    node = wire.node_bytes("If", ["c"], ["z"], {}, "") + b"".join(
        wire.chunk(5, subgraph(name, b))
        for name, b in zip(("then_branch", "else_branch"), branches, strict=True)
    )
    for flag, wanted in ((True, 6.0), (False, 9.0)):
        made = [wire.tensor_bytes("c", np.array(flag))]
        x = torch.full((1, 3), 3.0, requires_grad=True)
        got = loaded(build([node], [X], [("z", np.float32, ("n", 3))], made))(x)
        assert got.tolist() == [[wanted] * 3]
        got.sum().backward()
        assert x.grad.tolist() == [[2.0 if flag else 6.0] * 3]


def test_a_loop_that_carries_and_collects():
    body = graph(
        [
            wire.node_bytes("Mul", ["v", "half"], ["w"], {}, ""),
            wire.node_bytes("Identity", ["go"], ["on"], {}, ""),
        ],
        [
            wire.value_bytes("i", np.int64, ()),
            wire.value_bytes("go", np.bool_, ()),
            wire.value_bytes("v", np.float32, (1, 3)),
        ],
        [
            wire.value_bytes("on", np.bool_, ()),
            wire.value_bytes("w", np.float32, (1, 3)),
            wire.value_bytes("w", np.float32, (1, 3)),
        ],
    )
    node = wire.node_bytes("Loop", ["count", "", "x"], ["last", "all"], {}, "") + wire.chunk(
        5, subgraph("body", body)
    )
    made = [
        wire.tensor_bytes("count", np.array(3, np.int64)),
        wire.tensor_bytes("half", np.array(0.5, np.float32)),
    ]
    x = torch.full((1, 3), 8.0, requires_grad=True)
    outputs = [("last", np.float32, (1, 3)), ("all", np.float32, (3, 1, 3))]
    last, steps = loaded(build([node], [("x", np.float32, (1, 3))], outputs, made))(x)
    assert last.tolist() == [[1.0] * 3]
    assert steps[:, 0, 0].tolist() == [4.0, 2.0, 1.0]
    last.sum().backward()
    assert x.grad.tolist() == [[0.125] * 3]


def test_functions_of_the_file_with_attributes():
    reference = wire.chunk(1, "alpha") + wire.chunk(21, "slope") + wire.integer(20, 1)
    inner = wire.node_bytes("LeakyRelu", ["a"], ["b"], {}, "") + wire.chunk(5, reference)
    function = (
        wire.chunk(1, "Leaky")
        + wire.chunk(4, "a")
        + wire.chunk(5, "b")
        + wire.chunk(6, "slope")
        + wire.chunk(7, inner)
    )
    function += wire.chunk(9, wire.integer(2, 18)) + wire.chunk(10, "my.ops")
    calls = []
    for at, slope in enumerate((0.5, 0.25)):
        calls.append(
            wire.node_bytes(
                "Leaky", ["x" if not at else "h"], ["h" if not at else "y"], {"slope": slope}, ""
            )
            + wire.chunk(7, "my.ops")
        )
    data = build(calls, [X], [("y", np.float32, ("n", 3))], functions=wire.chunk(25, function))
    assert loaded(data)(torch.tensor([[-8.0, 0.0, 1.0]])).tolist() == [[-1.0, 0.0, 1.0]]
    with pytest.raises(torch.onnx.UnsupportedOperatorError, match="no operators for: LeakyRely"):
        loaded(data.replace(b"LeakyRelu", b"LeakyRely"))


# ---- tensors -----------------------------------------------------------------------------------
def packed(key, numbers):
    return wire.chunk(key, b"".join(wire.varint(int(n)) for n in numbers))


TYPED = {
    "float32": lambda a: wire.chunk(4, a.astype("<f4").tobytes()),
    "float64": lambda a: wire.chunk(10, a.astype("<f8").tobytes()),
    "int64": lambda a: packed(7, a),
    "int32": lambda a: packed(5, a),
    "int8": lambda a: packed(5, a),
    "uint8": lambda a: packed(5, a),
    "int16": lambda a: packed(5, a),
    "uint16": lambda a: packed(5, a),
    "bool": lambda a: packed(5, a),
    "uint32": lambda a: packed(11, a),
    "uint64": lambda a: packed(11, a),
    "float16": lambda a: packed(5, a.view(np.uint16)),
    "bfloat16": lambda a: packed(5, a.view(np.uint16)),
    "complex64": lambda a: wire.chunk(4, a.tobytes()),
    "complex128": lambda a: wire.chunk(10, a.tobytes()),
}


@pytest.mark.parametrize("name", TYPED)
def test_every_encoding_of_tensors(name):
    array = np.array([[0, 1, 2], [3, 4, 100]]).astype(
        ml_dtypes.bfloat16 if name == "bfloat16" else name
    )
    if name.startswith("int"):
        array[0, 0] = -5
    head = (
        b"".join(wire.integer(1, n) for n in array.shape)
        + wire.integer(2, wire.data_type(array.dtype))
        + wire.chunk(8, "t")
    )
    for body in (TYPED[name](array.reshape(-1)), wire.chunk(9, array.tobytes())):
        got = tensor(parse("Tensor", memoryview(head + body)))
        assert got.dtype == array.dtype
        assert np.array_equal(got, array)


def test_numbers_need_not_be_packed():
    data = (
        wire.integer(1, 3)
        + wire.integer(2, 7)
        + b"".join(wire.integer(7, n) for n in (-1, 0, 2**40))
    )
    assert tensor(parse("Tensor", memoryview(data))).tolist() == [-1, 0, 2**40]


def test_data_in_another_file(tmp_path):
    weight = np.arange(6, dtype=np.float32).reshape(3, 2)

    def model(location, offset=4, length=24):
        entries = {"location": location, "offset": str(offset), "length": str(length)}
        data = (
            wire.integer(1, 3)
            + wire.integer(1, 2)
            + wire.integer(2, 1)
            + wire.chunk(8, "w")
            + wire.integer(14, 1)
        )
        data += b"".join(
            wire.chunk(13, wire.chunk(1, k) + wire.chunk(2, v)) for k, v in entries.items()
        )
        return build([("MatMul", ["x", "w"], ["y"])], [X], [("y", np.float32, ("n", 2))], [data])

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "w.bin").write_bytes(b"skip" + weight.tobytes())
    (tmp_path / "out.bin").write_bytes(bytes(64))
    path = tmp_path / "in" / "m.onnx"
    path.write_bytes(model("w.bin"))
    loaded_model = torch.onnx.load(path)
    assert loaded_model(torch.eye(3)).tolist() == weight.tolist()
    loaded_model.w.data.add_(1)  # the file is not written
    assert (tmp_path / "in" / "w.bin").read_bytes() == b"skip" + weight.tobytes()
    with pytest.raises(NotImplementedError, match="give the path of the model"):
        loaded(model("w.bin"))
    for location, message in (
        ("../out.bin", "outside"),
        (str(tmp_path / "out.bin"), "outside"),
        ("no.bin", "is missing"),
    ):
        path.write_bytes(model(location, 0))
        with pytest.raises((NotImplementedError, RuntimeError), match=message):
            torch.onnx.load(path)
    # links are followed before the place is judged
    (tmp_path / "in" / "link.bin").symlink_to(tmp_path / "out.bin")
    (tmp_path / "in" / "folder").symlink_to(tmp_path)
    for location in ("link.bin", "folder/out.bin", "w.bin\0"):
        path.write_bytes(model(location, 0))
        with pytest.raises((NotImplementedError, RuntimeError), match="outside|the location of"):
            torch.onnx.load(path)
    for offset, length in ((5, 24), (4, 23), (-1, 24), (2**60, 24)):
        path.write_bytes(model("w.bin", offset, length))
        with pytest.raises(RuntimeError, match="does not lie in"):
            torch.onnx.load(path)


# ---- what is refused -----------------------------------------------------------------------------
def test_sparse_initialisers_that_lie():
    def model(values, indices, dims):
        sparse = b"".join(
            wire.chunk(k, part) for k, part in ((1, values), (2, indices)) if part is not None
        )
        sparse += b"".join(wire.integer(3, n) for n in dims)
        # the last graph counts
        return build([("MatMul", ["x", "w"], ["y"])], [X], [X], []) + wire.chunk(
            7, wire.chunk(15, sparse)
        )

    values = wire.tensor_bytes("w", np.ones(2, np.float32))
    for parts in (
        (None, None, (4,)),
        (values, None, (4,)),
        (values, wire.tensor_bytes("", np.array([0, 9])), (4,)),
        (values, wire.tensor_bytes("", np.array([0, 1])), (2**40,)),
        (values, wire.tensor_bytes("", np.array([0, 1])), (-4,)),
        (values, wire.tensor_bytes("", np.array([0.5, 1])), (4,)),
        (values, wire.tensor_bytes("", np.array([[0, 9], [1, 1]])), (2, 2)),
        (
            wire.tensor_bytes("w", np.ones((), np.float32)),
            wire.tensor_bytes("", np.array([0, 1])),
            (4,),
        ),
    ):
        with pytest.raises(RuntimeError, match="sparse tensor"):
            read_model(model(*parts))


def test_sizes_that_the_file_only_announces():
    huge = wire.integer(1, 2**40) + wire.integer(1, 2**20) + wire.integer(2, 1) + wire.chunk(8, "w")
    for body in (b"", wire.chunk(9, b"abcd"), wire.chunk(4, bytes(8))):
        with pytest.raises(RuntimeError, match="for"):
            read_model(build([("MatMul", ["x", "w"], ["y"])], [X], [X], [huge + body]))
    negative = wire.integer(1, -3) + wire.integer(2, 1) + wire.chunk(8, "w")
    with pytest.raises(RuntimeError, match="the shape"):
        read_model(build([], [X], [X], [negative]))
    deep = b""
    for _ in range(200):
        deep = wire.chunk(1, wire.chunk(5, wire.chunk(6, deep)))
    with pytest.raises(RuntimeError, match="nested too deeply"):
        read_model(wire.chunk(8, b"") + wire.chunk(7, deep))


def test_every_truncation_is_refused_or_reads_as_less():
    data = (FILES / "conv_script.onnx").read_bytes()
    whole = len(read_model(data).nodes)
    for cut in range(0, len(data), 37):
        try:
            model = read_model(data[:cut])
        except RuntimeError as error:
            assert "onnx: the file is damaged" in full_text(error)
        else:
            assert len(model.nodes) < whole or cut > len(data) - 60


def test_changed_bytes_raise_errors_of_the_library():
    data = (FILES / "conv_dynamo.onnx").read_bytes()
    random = np.random.default_rng(0)
    for _ in range(150):
        broken = bytearray(data)
        for at in random.integers(0, len(data), 4):
            broken[at] = random.integers(0, 256)
        try:
            loaded(bytes(broken))
        except (RuntimeError, NotImplementedError, ValueError, TypeError, KeyError) as error:
            assert str(error)


def test_quantized_models_are_refused_by_name():
    nodes = [("QuantizeLinear", ["x", "s"], ["q"]), ("DequantizeLinear", ["q", "s"], ["y"])]
    with pytest.raises(
        torch.onnx.UnsupportedOperatorError,
        match="no operators for: DequantizeLinear, QuantizeLinear",
    ):
        loaded(build(nodes, [X], [X], [wire.tensor_bytes("s", np.array(0.1, np.float32))]))


def test_values_used_before_they_are_made():
    with pytest.raises(RuntimeError, match="'nothing' is used before it is made"):
        loaded(build([("Add", ["x", "nothing"], ["y"])], [X], [("y", np.float32, ("n", 3))]))(
            torch.ones(1, 3)
        )


def test_errors_name_the_node():
    model = loaded(build([("MatMul", ["x", "x"], ["y"])], [X], [("y", np.float32, ("n", 3))]))
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(1, 3))
    assert "in the node y = MatMul(x, x)" in "\n".join(caught.value.__notes__)
