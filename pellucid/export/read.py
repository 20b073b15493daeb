"""Exported programs from files, this library's and PyTorch's; see `write`."""

from __future__ import annotations

import ast
import io
import json
import operator
import os
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import dtypes
from .._files import record_size, unpack
from .._pytree import treespec_loads
from ..aten.fake import FakeTensorMode
from ..aten.overload import OpOverload, ops
from ..core.tensor import Parameter, Tensor, make_tensor
from ..devices import device
from ..errors import OperationError, UnsupportedError, facts_of
from ..fx.graph import Graph
from ..fx.node import Node
from ..serialization import load as load_tensors
from .capture import Seen
from .dynamic_shapes import Axis
from .exported_program import (
    CallSignature,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    argument_of,
    fake,
)
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from .pt2 import ARITHMETIC, FORMATS, KINDS, STRIDED
from .sizes import Expression, Symbol, ValueRanges


def load(
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read a program that `torch.export.save` stored, here or in PyTorch.

    Args:
        f: a path, or a binary stream.
        extra_files: its keys are names given to `save`. The values become the contents: text if they are UTF-8, else bytes.
        expected_opset_version: accepted; an operator that does not exist here is refused by name.

    Raises:
        RuntimeError: the file is damaged, or of another kind.
        NotImplementedError: the graph uses something that does not exist here.

    >>> import pellucid as torch
    >>> import io
    >>> file, notes = io.BytesIO(), {"notes.txt": ""}
    >>> program = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> torch.export.save(program, file, extra_files={"notes.txt": "trained on Monday"})
    >>> torch.export.load(file, extra_files=notes).module()(torch.tensor([-1.0, 1.0])), notes
    (tensor([0., 1.]), {'notes.txt': 'trained on Monday'})
    """
    try:
        with zipfile.ZipFile(f) as archive:
            return _read(archive, extra_files or {})
    except (FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:
        # a damaged file leads anywhere: missing entries, wrong types, no JSON, no tensors
        if facts_of(error) is not None:
            raise
        why = f"{type(error).__name__}: {error}"
        raise OperationError(
            f"export.load(): this is not a complete file of an exported program ({why})"
        ) from error


def _read(archive: zipfile.ZipFile, asked: dict[str, Any]) -> ExportedProgram:
    names = archive.namelist()
    marks = [name for name in names if name.endswith("archive_format")]
    root = marks[0].removesuffix("archive_format")
    models = [n for n in names if n.startswith(f"{root}models/") and n.endswith(".json")]
    model = json.loads(_record(archive, models[0]))
    stem = models[0].rpartition("/")[2].removesuffix(".json")
    for name in asked:
        content = _record(archive, f"{root}extra/{name}")
        try:
            asked[name] = content.decode()
        except UnicodeDecodeError:
            asked[name] = content
    tensors = {
        folder: _tensors(archive, f"{root}data/{folder}/", f"{stem}_{folder}_config.json")
        for folder in ("weights", "constants")
    }
    example = None
    if f"{root}data/sample_inputs/{stem}.pt" in names:
        stored = io.BytesIO(_record(archive, f"{root}data/sample_inputs/{stem}.pt"))
        try:
            example = load_tensors(stored, weights_only=True)
        except Exception:  # classes of the program's own; it runs without its example
            example = None
    return _Reader(model).program(tensors["weights"], tensors["constants"], example)


def _record(archive: zipfile.ZipFile, name: str) -> bytes:
    """A record's bytes, in bounded memory."""
    info = archive.getinfo(name)
    made = bytearray(record_size(archive, info))
    unpack(archive, info, memoryview(made))
    return bytes(made)


def _tensors(archive: zipfile.ZipFile, folder: str, config: str) -> dict[str, Tensor]:
    if folder + config not in archive.namelist():
        return {}
    made: dict[str, Tensor] = {}
    for name, about in json.loads(_record(archive, folder + config))["config"].items():
        if about["use_pickle"]:
            data = io.BytesIO(_record(archive, folder + about["path_name"]))
            value = load_tensors(data, weights_only=True)
        else:
            value = _tensor(_record(archive, folder + about["path_name"]), about["tensor_meta"])
        grad = bool(about["tensor_meta"]["requires_grad"]) if about["tensor_meta"] else True
        made[name] = Parameter(value, requires_grad=grad) if about["is_param"] else value
    return made


def _tensor(data: bytes, meta: dict[str, Any]) -> Tensor:
    """A tensor of bytes; sizes and strides must lie within them."""
    kind = np.dtype(_dtype(meta["dtype"]).numpy)
    shape = tuple([int(n["as_int"]) for n in meta["sizes"]])
    steps = tuple([int(n["as_int"]) for n in meta["strides"]])
    start = int(meta["storage_offset"]["as_int"])
    if min((start, *shape, *steps)) < 0 or len(shape) != len(steps):
        raise ValueError("a tensor has a negative size, stride or offset")
    last = start + sum((n - 1) * s for n, s in zip(shape, steps, strict=True))
    if 0 in shape:
        return make_tensor(np.zeros(shape, kind))
    if (last + 1) * kind.itemsize > len(data):
        raise ValueError(f"a tensor of the shape {shape} lies outside of its {len(data)} bytes")
    whole = np.frombuffer(data, kind, len(data) // kind.itemsize)[start:]
    strides = tuple([s * kind.itemsize for s in steps])
    return make_tensor(np.lib.stride_tricks.as_strided(whole, shape, strides).copy())


def _dtype(number: int) -> Any:
    name = next((name for name, n in KINDS.items() if n == number), None)
    if name is None:
        raise UnsupportedError(
            f"export.load(): the element type number {number} does not exist here"
        )
    return dtypes.BY_NAME[name]


class _Reader:
    """Makes nodes of what the schema says."""

    def __init__(self, model: dict[str, Any]) -> None:
        self.model = model
        self.said = model["graph_module"]["graph"]
        self.graph = Graph()
        self.nodes: dict[str, Node] = {}
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)

    def program(
        self, weights: dict[str, Tensor], constants: dict[str, Tensor], example: Any
    ) -> ExportedProgram:
        module = self.model["graph_module"]
        specs = [self.input_spec(s) for s in module["signature"]["input_specs"]]
        for spec in specs:
            node = self.graph.placeholder(spec.arg.name)
            node.name = spec.arg.name
            self.know(node)
        for said in self.said["nodes"]:
            self.node(said)
        results = tuple([self.value(r) for r in self.said["outputs"]])
        self.graph.output(results)
        outputs = [OutputSpec(OutputKind.USER_OUTPUT, argument_of(r), None) for r in results]
        signature = next(e["signature"] for e in module["module_call_graph"] if not e["fqn"])
        in_spec = treespec_loads(signature["in_spec"])
        out_spec = treespec_loads(signature["out_spec"])
        names = signature.get("forward_arg_names") or [
            s.arg.name for s in specs if s.kind is InputKind.USER_INPUT
        ]
        call = CallSignature(in_spec, out_spec, list(names), self.axes(specs))
        how = ModuleCallSignature([], [], in_spec, out_spec, list(names))
        paths = [e["fqn"] for e in module["module_call_graph"] if e["fqn"]]
        for spec in specs:
            if spec.kind is not InputKind.USER_INPUT:
                assert spec.target is not None
                if spec.target not in weights and spec.target not in constants:
                    raise KeyError(spec.target)
        made = ExportedProgram(
            None,
            self.graph,
            ExportGraphSignature(specs, outputs),
            OrderedDict(weights),
            self.ranges(),
            [ModuleCallEntry("", how), *[ModuleCallEntry(path) for path in paths]],
            example,
            constants,
            call=call,
        )
        made.validate()
        return made

    def ranges(self) -> dict[Any, ValueRanges]:
        made: dict[Any, ValueRanges] = {}
        for name, r in self.model["range_constraints"].items():
            low, high = r["min_val"], r["max_val"]
            made[Symbol(name, 0)] = ValueRanges(0 if low is None else int(low), high)
        return made

    def axes(self, specs: list[InputSpec]) -> dict[int, dict[int, Axis]]:
        """The sizes of the inputs that are not fixed."""
        made: dict[int, dict[int, Axis]] = {}
        own = [s for s in specs if s.kind is InputKind.USER_INPUT]
        for k, spec in enumerate(own):
            if isinstance(spec.arg, TensorArgument):
                for d, n in enumerate(self.said["tensor_values"][spec.arg.name]["sizes"]):
                    if "as_expr" in n:
                        e = read(n["as_expr"]["expr_str"])
                        if not isinstance(e, Expression) or len(e.names) != 1 or e.divisor != 1:
                            raise UnsupportedError(
                                f"export.load(): the size {n['as_expr']['expr_str']} of an input is not supported"
                            )
                        made.setdefault(k, {})[d] = Axis(e.names[0], e.factor, e.offset)
        return made

    def input_spec(self, said: dict[str, Any]) -> InputSpec:
        ((kind, about),) = said.items()
        if kind == "user_input":
            return InputSpec(
                InputKind.USER_INPUT, TensorArgument(about["arg"]["as_tensor"]["name"]), None
            )
        if kind == "constant_input":
            value = self.value(about["value"])
            return InputSpec(InputKind.USER_INPUT, ConstantArgument(about["name"], value), None)
        arg = TensorArgument(about["arg"]["name"])
        if kind == "parameter":
            return InputSpec(InputKind.PARAMETER, arg, about["parameter_name"])
        if kind == "buffer":
            lasting = bool(about["persistent"])
            return InputSpec(InputKind.BUFFER, arg, about["buffer_name"], lasting)
        if kind == "tensor_constant":
            return InputSpec(InputKind.CONSTANT_TENSOR, arg, about["tensor_constant_name"])
        raise UnsupportedError(f"export.load(): inputs of the kind {kind} are not supported")

    def know(self, node: Node) -> None:
        """Remember a node, with what the file says its value looks like."""
        self.nodes[node.name] = node
        meta = self.said["tensor_values"].get(node.name)
        if meta is not None:
            sizes = [_read_size(n) for n in meta["sizes"]]
            steps = [int(_read_size(n)) for n in meta["strides"]]
            hints = tuple([int(n) for n in sizes])
            seen = Seen(hints, _dtype(meta["dtype"]), tuple(steps), bool(meta["requires_grad"]))
            node.meta["val"] = fake(self.mode, seen, tuple(sizes))
        elif node.name in self.said["sym_int_values"]:
            node.meta["val"] = _read_size(self.said["sym_int_values"][node.name])
        elif node.name in (self.said.get("sym_float_values") or {}):
            node.meta["val"] = 0.0

    def node(self, said: dict[str, Any]) -> None:
        target = self.target(said["target"])
        args = [self.value(i["arg"]) for i in said["inputs"] if i.get("kind") != 2]
        kwargs = {i["name"]: self.value(i["arg"]) for i in said["inputs"] if i.get("kind") == 2}
        outputs = said["outputs"]
        first: dict[str, Any] = outputs[0] if outputs else {"as_none": True}
        name = said.get("name") or first.get("as_tensor", {}).get("name")
        single = len(outputs) == 1 and "as_tensors" not in first
        if single:
            ((_, value),) = first.items()
            if isinstance(value, dict):
                name = value.get("name") or value.get("as_name") or name
        node = self.graph.create_node("call_function", target, tuple(args), kwargs, name)
        node.name = name or node.name
        about = said.get("metadata") or {}
        if about.get("stack_trace"):
            node.meta["stack_trace"] = about["stack_trace"]
        if about.get("nn_module_stack"):
            node.meta["nn_module_stack"] = _stack(about["nn_module_stack"])
        self.know(node)
        if single:
            return
        parts = first["as_tensors"] if len(outputs) == 1 else [o.get("as_tensor") for o in outputs]
        for k, part in enumerate(parts):
            if part is not None:
                item = self.graph.create_node(
                    "call_function", operator.getitem, (node, k), {}, part["name"]
                )
                item.name = part["name"]
                self.know(item)

    def target(self, text: str) -> Any:
        """What a node calls: an operator, or arithmetic on sizes."""
        if text in ARITHMETIC:
            return ARITHMETIC[text]
        words = text.split(".")
        if len(words) == 5 and words[:2] == ["torch", "ops"]:
            found = getattr(getattr(getattr(ops, words[2]), words[3], None), words[4], None)
            if isinstance(found, OpOverload):
                return found
        raise UnsupportedError(f"export.load(): the graph calls {text}, which does not exist here")

    def value(self, said: dict[str, Any]) -> Any:
        """A value that the file says."""
        ((kind, about),) = said.items()
        if kind == "as_none":
            return None
        if kind in ("as_int", "as_bool", "as_string", "as_ints", "as_bools", "as_strings"):
            return _plain(about)
        if kind in ("as_float", "as_floats"):
            return [float(v) for v in about] if isinstance(about, list) else float(about)
        if kind == "as_complex":
            return complex(float(about["real"]), float(about["imag"]))
        if kind == "as_tensor":
            return self.nodes[about["name"]]
        if kind == "as_tensors":
            return [self.nodes[t["name"]] for t in about]
        if kind == "as_optional_tensors":
            return [self.nodes[t["as_tensor"]["name"]] if "as_tensor" in t else None for t in about]
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return (
                self.nodes[about["as_name"]] if "as_name" in about else next(iter(about.values()))
            )
        if kind in ("as_sym_ints", "as_sym_floats"):
            return [self.value({kind.removesuffix("s"): n}) for n in about]
        if kind == "as_scalar_type":
            return _dtype(about)
        if kind == "as_device":
            return (
                device(about["type"])
                if about["index"] is None
                else device(about["type"], about["index"])
            )
        if kind == "as_memory_format":
            return next(f for f, n in FORMATS.items() if n == about)
        if kind == "as_layout" and about == STRIDED:
            return dtypes.strided
        raise UnsupportedError(f"export.load(): values of the kind {kind} are not supported")


def _plain(about: Any) -> Any:
    """A number, a text, or a list of them."""
    values = about if isinstance(about, list) else [about]
    if not all(isinstance(v, (bool, int, str)) for v in values):
        raise ValueError(f"{about!r} is neither a number nor text")
    return about


def _stack(text: str) -> dict[str, tuple[str, str]]:
    """The submodules that a node belongs to."""
    found = [entry.split(",") for entry in text.split(";")]
    return {e[0]: (e[1], e[2]) for e in found if len(e) == 3}


def _read_size(said: dict[str, Any]) -> Any:
    if "as_int" in said:
        return int(said["as_int"])
    about = said["as_expr"]
    hint = about.get("hint") or {}
    return Symbol(read(about["expr_str"]), int(hint.get("as_int", 2)))


def read(text: str) -> Any:
    """The expression that `written` wrote; what has another form stays text.

    >>> read("Mul(Integer(2), Symbol('s0', positive=True, integer=True))")
    Expression(factor=2, names=('s0',), offset=0, divisor=1)
    """
    try:
        return _expression(ast.parse(text, mode="eval").body)
    except (ValueError, SyntaxError, AttributeError, IndexError, TypeError, RecursionError):
        return str(text)[:200]


def _expression(tree: Any) -> Expression:
    word, args = tree.func.id, tree.args
    if word == "Symbol":
        return Expression(1, (str(args[0].value),))
    if word == "Integer":
        return Expression(0, (), int(ast.literal_eval(args[0])))
    parts = [_expression(a) for a in args]
    if any(p.divisor != 1 for p in parts):
        raise ValueError(word)
    if word == "Mul":
        factor = 1
        names: list[str] = []
        for p in parts:
            if p.names and not p.offset:
                factor, names = factor * p.factor, [*names, *p.names]
            elif not p.names:
                factor *= p.offset
            else:
                raise ValueError(word)
        return Expression(factor, tuple(names))
    if word == "Add":
        own = [p for p in parts if p.names]
        rest = sum(p.offset for p in parts)
        if len(own) == 1:
            return Expression(own[0].factor, own[0].names, rest)
    if word == "FloorDiv" and not parts[1].names:
        return Expression(parts[0].factor, parts[0].names, parts[0].offset, parts[1].offset)
    raise ValueError(word)
