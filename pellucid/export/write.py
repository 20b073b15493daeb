"""Exported programs into files: PyTorch's `pt2` archives, a zip file with the graph as JSON and the
tensors as bytes. Nothing in them is a pickle but the example's inputs, which are read as weights.
"""

from __future__ import annotations

import io
import json
import math
import operator
import os
import zipfile
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .. import dtypes
from .._files import replacing
from .._pytree import treespec_dumps
from ..aten.overload import OpOverload
from ..core.tensor import Tensor
from ..devices import device
from ..errors import UnsupportedError
from ..fx.node import Node
from ..ops.shape._sizes import element_strides
from ..serialization import save as save_tensors
from .exported_program import ExportedProgram
from .graph_signature import ConstantArgument, InputKind
from .pt2 import ARITHMETIC, FORMATS, KINDS, ROOT, SCHEMA, STRIDED
from .sizes import Expression, Symbol


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Store an exported program in a file or a binary stream, as PyTorch does (`.pt2`).

    Args:
        ep: the program.
        f: a path, or a binary stream.
        extra_files: names and contents (text or bytes) that are put into the file as well.
        opset_version: accepted; the version of PyTorch 2.13 is written.
        pickle_protocol: that of the example's inputs.

    Raises:
        TypeError: `ep` is not an exported program.
        NotImplementedError: the graph calls something that is not an operator.

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), file)
    >>> torch.export.load(file).module()(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    model = json.dumps(_program(ep))
    example = io.BytesIO()
    save_tensors(ep.example_inputs, example, pickle_protocol=pickle_protocol)
    root = ROOT
    if not hasattr(f, "write"):
        root = os.path.basename(os.fspath(f)).rpartition(".")[0] or ROOT
    with (
        nullcontext(f) if hasattr(f, "write") else replacing(f) as target,
        zipfile.ZipFile(target, "w") as archive,
    ):

        def put(name: str, content: str | bytes) -> None:
            archive.writestr(f"{root}/{name}", content)

        put("archive_format", "pt2")
        put("archive_version", "0")
        put(".data/version", "6\n")
        put("byteorder", "little")
        _payload(put, "weights", "weight", dict(ep.state_dict), ep)
        _payload(put, "constants", "tensor", dict(ep.constants), ep)
        put("models/model.json", model)
        put("data/sample_inputs/model.pt", example.getvalue())
        for name, content in (extra_files or {}).items():
            put(f"extra/{name}", content)


def _payload(
    put: Callable[[str, str | bytes], None],
    folder: str,
    stem: str,
    tensors: dict[str, Tensor],
    ep: ExportedProgram,
) -> None:
    """The tensors of a folder, a file each, and the list of what they are."""
    config: dict[str, Any] = {}
    parameters = set(ep.graph_signature.parameters)
    shared: dict[int, str] = {}
    for k, (name, t) in enumerate(tensors.items()):
        array = t._array
        if not isinstance(array, np.ndarray):
            raise UnsupportedError(f"export.save(): {name!r} has no values (it is on {t.device})")
        path = shared.setdefault(id(t), f"{stem}_{k}")
        whole = np.ascontiguousarray(array).reshape(array.shape)
        config[name] = {
            "path_name": path,
            "is_param": name in parameters,
            "use_pickle": False,
            "tensor_meta": _meta(whole.shape, t.dtype, element_strides(whole), bool(t._rg)),
        }
        if path == f"{stem}_{k}":
            put(f"data/{folder}/{path}", whole.tobytes())
    put(f"data/{folder}/model_{folder}_config.json", json.dumps({"config": config}))


def _meta(shape: Any, dtype: Any, strides: Any, grad: bool) -> dict[str, Any]:
    return {
        "dtype": KINDS[dtype.name],
        "sizes": [_size(n) for n in shape],
        "requires_grad": grad,
        "device": {"type": "cpu", "index": None},
        "strides": [_size(n) for n in strides],
        "storage_offset": {"as_int": 0},
        "layout": STRIDED,
    }


def _size(n: Any) -> dict[str, Any]:
    if not isinstance(n, Symbol):
        return {"as_int": int(n)}
    return {"as_expr": {"expr_str": written(n.expr), "hint": {"as_int": n.hint}}}


def written(expr: Any) -> str:
    """An expression as SymPy's `srepr` shows it.

    >>> written(Expression(2, ("s0",), -1))
    "Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(-1))"
    """
    if not isinstance(expr, Expression):
        return f"Symbol({str(expr)!r}, positive=True, integer=True)"
    parts = [f"Symbol({name!r}, positive=True, integer=True)" for name in expr.names]
    if expr.factor != 1:
        parts.insert(0, f"Integer({expr.factor})")
    text = parts[0] if len(parts) == 1 else f"Mul({', '.join(parts)})"
    if expr.offset:
        text = f"Add({text}, Integer({expr.offset}))"
    return text if expr.divisor == 1 else f"FloorDiv({text}, Integer({expr.divisor}))"


def _program(ep: ExportedProgram) -> dict[str, Any]:
    """The program as its file says it."""
    writer = _Writer(ep)
    call = ep.call_spec
    signature = {
        "inputs": [],
        "outputs": [],
        "in_spec": treespec_dumps(call.in_spec),
        "out_spec": treespec_dumps(call.out_spec),
        "forward_arg_names": ep._call.names,
    }
    calls: list[dict[str, Any]] = [{"fqn": "", "signature": signature}]
    calls += [{"fqn": e.fqn, "signature": None} for e in ep.module_call_graph if e.fqn]
    return {
        "graph_module": {
            "graph": writer.graph(),
            "signature": writer.signature(),
            "module_call_graph": calls,
            "metadata": {},
            "treespec_namedtuple_fields": {},
        },
        "opset_version": {"aten": 10},
        "range_constraints": {
            str(symbol): {"min_val": r.lower, "max_val": r.upper}
            for symbol, r in ep.range_constraints.items()
        },
        "schema_version": SCHEMA,
        "verifiers": ["TRAINING"],
        "torch_version": "2.13.0",
        "guards_code": [],
    }


class _Writer:
    """Says nodes in the words of the schema."""

    def __init__(self, ep: ExportedProgram) -> None:
        self.ep = ep
        self.tensors: dict[str, Any] = {}
        self.numbers: dict[str, Any] = {}
        self.floats: dict[str, Any] = {}

    def graph(self) -> dict[str, Any]:
        nodes, inputs, outputs = [], [], []
        constants = {s.arg.name: s for s in self.ep.graph_signature.input_specs}
        for node in self.ep.graph.nodes:
            if node.op == "placeholder":
                arg = constants[node.name].arg
                if isinstance(arg, ConstantArgument):
                    inputs.append(self.argument(arg.value))
                else:
                    inputs.append({"as_tensor": {"name": node.name}})
                    self.describe(node)
            elif node.op == "output":
                outputs = [self.argument(r) for r in node.args[0]]
            elif node.target is not operator.getitem:
                nodes.append(self.node(node))
        return {
            "inputs": inputs,
            "outputs": outputs,
            "nodes": nodes,
            "tensor_values": self.tensors,
            "sym_int_values": self.numbers,
            "sym_bool_values": {},
            "is_single_tensor_return": False,
            "custom_obj_values": {},
            "sym_float_values": self.floats,
        }

    def describe(self, node: Node) -> None:
        """Write down what a node's tensor looks like."""
        value: Any = node.meta["val"]
        steps = element_strides(value._array)
        self.tensors[node.name] = _meta(value.shape, value.dtype, steps, bool(value._rg))

    def node(self, node: Node) -> dict[str, Any]:
        target: Any = node.target
        stack = node.meta.get("nn_module_stack") or {}
        about = {
            "stack_trace": node.stack_trace or "",
            "nn_module_stack": ";".join(
                [f"{key},{path},{kind}" for key, (path, kind) in stack.items()]
            ),
        }
        return {
            "target": self.target(target),
            "inputs": self.inputs(node, target),
            "outputs": self.outputs(node, target),
            "metadata": {key: text for key, text in about.items() if text},
            "is_hop_single_tensor_return": None,
            "name": node.name,
        }

    def target(self, target: Any) -> str:
        if isinstance(target, OpOverload):
            return f"torch.ops.{target}"
        name = next((n for n, f in ARITHMETIC.items() if f is target), None)
        if name is None:
            raise UnsupportedError(
                f"export.save(): the graph calls {target}, which is not an operator"
            )
        return name

    def inputs(self, node: Node, target: Any) -> list[dict[str, Any]]:
        if not isinstance(target, OpOverload):
            pairs = list(zip(("a", "b"), node.args, strict=False))
            return [{"name": n, "arg": self.argument(v), "kind": 1} for n, v in pairs]
        arguments = target._schema.arguments
        made = []
        for argument, value in zip(arguments, node.args, strict=False):
            said = self.argument(value, argument.type)
            made.append({"name": argument.name, "arg": said, "kind": 1})
        types = {a.name: a.type for a in arguments}
        for name, value in node.kwargs.items():
            made.append({"name": name, "arg": self.argument(value, types.get(name)), "kind": 2})
        return made

    def outputs(self, node: Node, target: Any) -> list[dict[str, Any]]:
        value = node.meta.get("val")
        if isinstance(value, (Symbol, int)) and not isinstance(value, bool):
            self.numbers[node.name] = _size(value)
            return [{"as_sym_int": {"as_name": node.name}}]
        if isinstance(value, float):
            expr = {"expr_str": f"Symbol('zuf{len(self.floats)}')", "hint": None}
            self.floats[node.name] = {"as_expr": expr}
            return [{"as_sym_float": {"as_name": node.name}}]
        if value is not None:
            self.describe(node)
            return [{"as_tensor": {"name": node.name}}]
        parts: dict[Any, Node] = {
            user.args[1]: user for user in node.users if user.target is operator.getitem
        }
        for part in parts.values():
            self.describe(part)
        if len(target._schema.returns) == 1:
            count = max(parts, default=-1) + 1
            return [{"as_tensors": [{"name": _part_name(node, parts, k)} for k in range(count)]}]
        count = len(target._schema.returns)
        return [{"as_tensor": {"name": _part_name(node, parts, k)}} for k in range(count)]

    def argument(self, value: Any, kind: Any = None) -> dict[str, Any]:
        """A value; `kind` is the type that its schema gives it."""
        if isinstance(value, Node):
            known = value.meta.get("val")
            if isinstance(known, float):
                return {"as_sym_float": {"as_name": value.name}}
            if isinstance(known, (Symbol, int)):
                return {"as_sym_int": {"as_name": value.name}}
            return {"as_tensor": {"name": value.name}}
        if value is None:
            return {"as_none": True}
        if isinstance(value, (list, tuple)):
            return self.items(list(value), kind)
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            floating = kind is not None and kind.base == "float"
            return {"as_float": float(value)} if floating else {"as_int": value}
        if isinstance(value, float):
            return {"as_float": _number(value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": _number(value.real), "imag": _number(value.imag)}}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, dtypes.dtype):
            return {"as_scalar_type": KINDS[value.name]}
        if isinstance(value, device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if value in FORMATS:
            return {"as_memory_format": FORMATS[value]}
        if value is dtypes.strided:
            return {"as_layout": STRIDED}
        raise UnsupportedError(
            f"export.save(): an argument of the type {type(value).__name__} cannot be stored"
        )

    def items(self, values: list[Any], kind: Any) -> dict[str, Any]:
        tensors = kind is not None and kind.base == "Tensor"
        if tensors and any(v is None for v in values):
            return {
                "as_optional_tensors": [
                    {"as_none": True} if v is None else {"as_tensor": {"name": v.name}}
                    for v in values
                ]
            }
        said = [self.argument(v, None if kind is None else kind.within()) for v in values]
        words = {next(iter(s)) for s in said}
        if not said:
            return {"as_tensors" if tensors else "as_ints": []}
        if words == {"as_tensor"}:
            return {"as_tensors": [s["as_tensor"] for s in said]}
        if "as_sym_int" in words:
            return {"as_sym_ints": [s.get("as_sym_int", {"as_int": s.get("as_int")}) for s in said]}
        if words <= {"as_int", "as_float"} and "as_float" in words:
            return {"as_floats": [next(iter(s.values())) for s in said]}
        if len(words) == 1 and (word := words.pop()) in _LISTS:
            return {_LISTS[word]: [s[word] for s in said]}
        raise UnsupportedError(f"export.save(): a list of {values!r} cannot be stored")

    def signature(self) -> dict[str, Any]:
        inputs: list[dict[str, Any]] = []
        for s in self.ep.graph_signature.input_specs:
            if s.kind is InputKind.USER_INPUT:
                if isinstance(s.arg, ConstantArgument):
                    value = {"name": s.arg.name, "value": self.argument(s.arg.value)}
                    inputs.append({"constant_input": value})
                else:
                    inputs.append({"user_input": {"arg": {"as_tensor": {"name": s.arg.name}}}})
            elif s.kind is InputKind.PARAMETER:
                about = {"arg": {"name": s.arg.name}, "parameter_name": s.target}
                inputs.append({"parameter": about})
            elif s.kind is InputKind.BUFFER:
                about = {"arg": {"name": s.arg.name}, "buffer_name": s.target}
                inputs.append({"buffer": {**about, "persistent": bool(s.persistent)}})
            else:
                about = {"arg": {"name": s.arg.name}, "tensor_constant_name": s.target}
                inputs.append({"tensor_constant": about})
        results = self.ep.graph.output_node().args[0]
        outputs = [{"user_output": {"arg": self.argument(r)}} for r in results]
        return {"input_specs": inputs, "output_specs": outputs}


_LISTS = {"as_int": "as_ints", "as_bool": "as_bools", "as_string": "as_strings"}


def _part_name(node: Node, parts: dict[Any, Node], k: int) -> str:
    return parts[k].name if k in parts else f"{node.name}_unused_{k}"


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
