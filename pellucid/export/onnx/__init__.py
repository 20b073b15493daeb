"""ONNX export: a model's recorded forward as a file that other runtimes read, written without the `onnx` package."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pellucid._version import __version__
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.errors import ArgumentValueError, UnsupportedError
from pellucid.export.program import named_state, run_step
from pellucid.export.trace import Ref, Size, Trace, flatten, record_checked, refs

from . import math_rules as math_rules
from . import nn_rules as nn_rules
from . import shape_rules as shape_rules
from . import wire
from .errors import OnnxExporterError, UnsupportedOperatorError
from .graph import RULES, Context, Graph, Node

__all__ = ["OnnxExporterError", "UnsupportedOperatorError", "export", "export_bytes", "supported_operations"]

OPSETS = tuple(wire.IR_VERSIONS)


def supported_operations() -> list[str]:
    """Names of the operations that have a translation to ONNX.

    >>> from pellucid.export.onnx import supported_operations
    >>> "conv" in supported_operations()
    True
    """
    return sorted(RULES)


def export(
    model: Any, args: Any = (), f: str | os.PathLike[str] | Any = None, *, kwargs: dict[str, Any] | None = None,
    export_params: bool = True, verbose: bool | None = None, input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None, keep_initializers_as_inputs: bool = False, training: Any = None,
    do_constant_folding: bool = True, dynamo: bool = False,
) -> None:  # fmt: skip
    """Write a model as an ONNX file: its forward for example inputs, in eval mode, with the parameters by their state_dict names.

    Args:
        model: a module, or a function of tensors.
        args: the positional arguments in a tuple (or one tensor).
        f: path or binary stream.
        kwargs: keyword arguments of the call; they follow `args` among the inputs.
        export_params: False: parameters become inputs of the graph.
        verbose: print the graph.
        input_names: names of the inputs, tensors in the order of the arguments; further names rename parameters.
        output_names: names of the outputs.
        opset_version: 17 to 21 (default 18).
        dynamic_axes: for names of inputs the axes whose size is open: `{"x": {0: "batch"}}` or `{"x": [0]}`. Inputs that share a
            name share the size. What is named for outputs follows from the inputs and is only checked for the name.
        keep_initializers_as_inputs: list parameters as inputs too.
        training: None or TrainingMode.EVAL; a model in training is not exported.
        do_constant_folding: compute operations on constants now.
        dynamo: accepted; there is one way to export.

    Raises:
        UnsupportedOperatorError: lists every operation without translation.
        NotImplementedError: something recorded depends on the values of the inputs.

    Source: ONNX operators, https://onnx.ai/onnx/operators/

    >>> import io
    >>> import pellucid as torch
    >>> file = io.BytesIO()
    >>> torch.onnx.export(torch.nn.Linear(3, 2), (torch.ones(1, 3),), file, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    >>> file.getvalue()[2:12]
    b'\\x12\\x08pellucid'
    """
    if f is None:
        raise ArgumentValueError("onnx.export(): f must be a path or a binary stream to write to")
    if training not in (None, 0) and getattr(training, "value", training) != 0:
        raise UnsupportedError("onnx.export(): only training=TrainingMode.EVAL is supported")
    data = export_bytes(
        model, args, kwargs, export_params, input_names, output_names, opset_version, dynamic_axes, keep_initializers_as_inputs,
        do_constant_folding,
    )  # fmt: skip
    if verbose:
        print(_listing(wire.read_model(data)))
    if hasattr(f, "write"):
        f.write(data)
        return
    part = f"{os.fspath(f)}.part"
    with open(part, "wb") as file:
        file.write(data)
    os.replace(part, f)


def export_bytes(
    model: Any, args: Any = (), kwargs: dict[str, Any] | None = None, export_params: bool = True,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None, opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None, keep_initializers_as_inputs: bool = False, do_constant_folding: bool = True,
) -> bytes:  # fmt: skip
    """The contents of the file that `export` writes; see there."""
    opset = 18 if opset_version is None else int(opset_version)
    if opset not in OPSETS:
        raise ArgumentValueError(f"Unsupported ONNX opset version: {opset} (supported: {OPSETS[0]} to {OPSETS[-1]})")
    positional = (args,) if isinstance(args, Tensor) else tuple(args)
    given = dict(kwargs or {})
    if kwargs is None and positional and isinstance(positional[-1], dict):
        *first, given = positional
        positional = tuple(first)
    leaves: list[Any] = []
    flatten([list(positional), given], leaves)
    names = list(input_names or [])
    inputs = names[: len(leaves)] + [f"input_{k}" for k in range(len(names), len(leaves))]
    if len(set(inputs)) != len(inputs):
        raise ArgumentValueError(f"onnx.export(): input_names must differ from each other, got {inputs}")
    dynamic, words = _dynamic(dynamic_axes or {}, inputs, list(output_names or []), leaves)
    with _eval_mode(model):
        trace = record_checked(model, named_state(model), positional, given, dynamic)
    if len(inputs) != len(trace.inputs) or len(set(trace.inputs)) != len(inputs):
        raise ArgumentValueError("onnx.export(): the same tensor was given for two inputs; pass a copy")
    if do_constant_folding:
        _fold(trace)
    graph = Graph(trace, opset)
    state = _name_values(graph, inputs, dict(enumerate(names[len(leaves) :])))
    _translate(graph)
    outputs = _name_outputs(graph, list(output_names or []))
    return _encode(graph, inputs, state, outputs, words, export_params, keep_initializers_as_inputs)


@contextmanager
def _eval_mode(model: Any) -> Any:
    """The model's modules in eval mode, each as it was afterwards."""
    modules = [m for m in model.modules() if m.training] if hasattr(model, "modules") else []
    for module in modules:
        module.training = False
    try:
        yield
    finally:
        for module in modules:
            module.training = True


def _dynamic(
    axes: Mapping[str, Any], inputs: list[str], outputs: list[str], leaves: list[Any]
) -> tuple[dict[int, dict[int, str]], dict[str, dict[int, str]]]:
    """Dynamic axes by the number of the input, and the names wanted for axes of outputs."""
    dynamic: dict[int, dict[int, str]] = {}
    words: dict[str, dict[int, str]] = {}
    for name, given in axes.items():
        chosen = dict(given) if isinstance(given, Mapping) else {axis: f"{name}_dynamic_axes_{axis}" for axis in given}
        if name in inputs:
            rank = leaves[inputs.index(name)]._array.ndim
            for axis in chosen:
                if not -rank <= axis < rank:
                    raise ArgumentValueError(
                        f"onnx.export(): dynamic_axes names axis {axis} of {name!r}, which has {rank} dimensions"
                    )
            dynamic[inputs.index(name)] = {axis % rank: str(word) for axis, word in chosen.items()}
        elif name in outputs:
            words[name] = {axis: str(word) for axis, word in chosen.items()}
        else:
            raise ArgumentValueError(f"onnx.export(): dynamic_axes names {name!r}, which is no input or output")
    return dynamic, words


def _fold(trace: Trace) -> None:
    """Compute the steps that have only constants as arguments."""
    kept = []
    for step in trace.steps:
        used = [ref.value for ref in refs([step.inputs, step.params])]
        known = all(value in trace.constants for value in used) and (used or step.op not in ("full", "arange"))
        if not known or any(isinstance(n, Size) for v in step.outputs for n in trace.shapes[v]):
            kept.append(step)
            continue
        values = {value: make_tensor(trace.constants[value]) for value in used}
        made = run_step(step, values, {})
        for value, t in zip(step.outputs, made if isinstance(made, tuple) else (made,), strict=True):
            trace.constants[value] = t._array.copy()
    trace.steps[:] = kept


def _name_values(graph: Graph, inputs: list[str], renamed: dict[int, str]) -> dict[str, int]:
    """Names for inputs, parameters and constants; the names of the parameters that are used."""
    trace = graph.trace
    for value, name in zip(trace.inputs, inputs, strict=True):
        graph.names[value] = name
        graph.taken.add(name)
    used = {ref.value for s in trace.steps for ref in refs([s.inputs, s.params])} | set(trace.outputs)
    state = {}
    for k, (value, name) in enumerate(trace.state.items()):
        if value in used:
            graph.names[value] = graph.fresh(renamed.get(k, name))
            state[graph.names[value]] = value
    for value, array in trace.constants.items():
        if value in used:
            graph.names[value] = graph.const(array)
    return state


def _translate(graph: Graph) -> None:
    """Every step by its rule; what has none is reported together."""
    missing: dict[str, int] = {}
    for step in graph.trace.steps:
        translate = RULES.get(step.op)
        kinds = {graph.trace.dtypes[v] for v in step.outputs}
        try:
            if translate is None:
                raise UnsupportedOperatorError(step.op)
            for kind in kinds:
                wire.data_type(kind)
            made = translate(Context(graph, step))
        except UnsupportedOperatorError as error:
            missing[str(error).splitlines()[0]] = missing.get(str(error).splitlines()[0], 0) + 1
            made = [f"missing {step.op}"] * len(step.outputs)
        made = [made] if isinstance(made, str) else made
        graph.names.update(zip(step.outputs, made, strict=True))
    if missing:
        listed = ", ".join(f"{name} ({count} times)" if count > 1 else name for name, count in sorted(missing.items()))
        raise UnsupportedOperatorError(f"Exporting to ONNX opset version {graph.opset} is not supported for: {listed}")


def _name_outputs(graph: Graph, wanted: list[str]) -> list[tuple[str, int]]:
    """(name, value) of each output; results get the wanted names, through an Identity where they have another already."""
    out = []
    trace = graph.trace
    for k, value in enumerate(trace.outputs):
        name = wanted[k] if k < len(wanted) else f"output_{k}"
        if name in graph.taken:
            if k < len(wanted):
                raise ArgumentValueError(f"onnx.export(): the name {name!r} of an output is taken")
            name = graph.fresh(name)
        graph.taken.add(name)
        graph.nodes.append(Node("Identity", [graph.names[value]], [name], {}))
        out.append((name, value))
    if not out:
        raise ArgumentValueError("onnx.export(): the model returns no tensors")
    return out


def _encode(
    graph: Graph, inputs: list[str], state: dict[str, int], outputs: list[tuple[str, int]], words: dict[str, dict[int, str]],
    export_params: bool, as_inputs: bool,
) -> bytes:  # fmt: skip
    """The file's bytes."""
    trace = graph.trace
    used = {name for node in graph.nodes for name in node.inputs}
    arrays = {name: array for name, array in graph.initializers.items() if name in used}
    described = [
        wire.value_bytes(n, trace.dtypes[v], _dims(n, trace.shapes[v], {})) for n, v in zip(inputs, trace.inputs, strict=True)
    ]
    if as_inputs or not export_params:
        described += [wire.value_bytes(n, trace.dtypes[v], trace.shapes[v]) for n, v in state.items()]
    initializers = [wire.tensor_bytes(name, array) for name, array in arrays.items()]
    if export_params:
        initializers = [wire.tensor_bytes(n, trace.state_arrays[v]) for n, v in state.items()] + initializers
    results = [wire.value_bytes(n, trace.dtypes[v], _dims(n, trace.shapes[v], words.get(n, {}))) for n, v in outputs]
    return wire.model_bytes("main_graph", graph.encoded(), initializers, described, results, graph.opset, __version__)


def _dims(name: str, shape: Sequence[Any], words: dict[int, str]) -> list[int | str]:
    """Sizes, dynamic ones by name."""
    out: list[int | str] = []
    for axis, n in enumerate(shape):
        if n is None:
            out.append(words.get(axis, words.get(axis - len(shape), f"{name}_dim_{axis}")))
        else:
            out.append(n if isinstance(n, int) else str(n))
    return out


def _listing(model: wire.ReadModel) -> str:
    """The graph as text, a line for each node."""
    lines = [f"{name}: {kind.name}{list(dims)}" for name, (kind, dims) in model.inputs.items()]
    for node in model.nodes:
        extra = "".join(f", {key}={value}" for key, value in node.attributes.items())
        lines.append(f"{', '.join(node.outputs)} = {node.op}({', '.join(node.inputs)}{extra})")
    return "\n".join([*lines, "return " + ", ".join(model.outputs)])
