"""ONNX export: a model's recorded forward as a file that other runtimes read, written without the
`onnx` package.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pellucid._files import replacing
from pellucid._version import __version__
from pellucid.core import source
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Tensor, make_tensor
from pellucid.errors import ArgumentValueError, UnsupportedError
from pellucid.export.sizes import Expression

from . import wire
from .errors import OnnxExporterError, UnsupportedOperatorError
from .graph import OnnxContext, OnnxGraph, OnnxNode, translate
from .listing import lines
from .read import read_model
from .trace import Ref, Trace, flatten, named_state, record_checked, refs, run_step

__all__ = [
    "OnnxExporterError",
    "UnsupportedOperatorError",
    "export",
    "export_bytes",
    "supported_operations",
]

OPSETS = tuple(wire.IR_VERSIONS)


def supported_operations() -> list[str]:
    """Names of the operations that have a translation to ONNX.

    >>> from pellucid.onnx.writer import supported_operations
    >>> "conv" in supported_operations()
    True
    """
    return sorted(name for name, op in PRIMITIVES.items() if op.onnx is not None)


def export(
    model: Any,
    args: Any = (),
    f: str | os.PathLike[str] | Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    export_params: bool = True,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool = False,
    training: Any = None,
    do_constant_folding: bool = True,
    dynamo: bool = False,
) -> None:
    """Write a model as an ONNX file; `torch.onnx.export` describes the arguments.

    >>> import io
    >>> import pellucid as torch
    >>> from pellucid.onnx.writer import export
    >>> file = io.BytesIO()
    >>> export(torch.nn.Linear(3, 2), (torch.ones(1, 3),), file, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    >>> file.getvalue()[2:12]
    b'\\x12\\x08pellucid'
    """
    if f is None:
        raise ArgumentValueError("onnx.export(): f must be a path or a binary stream to write to")
    if training not in (None, 0) and getattr(training, "value", training) != 0:
        raise UnsupportedError("onnx.export(): only training=TrainingMode.EVAL is supported")
    data = export_bytes(
        model,
        args,
        kwargs,
        export_params,
        input_names,
        output_names,
        opset_version,
        dynamic_axes,
        keep_initializers_as_inputs,
        do_constant_folding,
    )
    if verbose:
        print("\n".join(lines(read_model(data))))
    write(data, f)


def write(data: bytes, f: str | os.PathLike[str] | Any) -> None:
    """Put bytes into a binary stream, or into a file, which replaces an older one at once."""
    if hasattr(f, "write"):
        f.write(data)
        return
    with replacing(f, sync=True) as file:
        file.write(data)


def model_proto(data: bytes) -> Any:
    """The model as an object of the `onnx` package."""
    try:
        import onnx
    except ImportError as error:
        raise UnsupportedError(
            "ONNXProgram.model_proto needs the onnx package: pip install onnx"
        ) from error
    return onnx.load_from_string(data)


def export_bytes(
    model: Any,
    args: Any = (),
    kwargs: dict[str, Any] | None = None,
    export_params: bool = True,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamic_axes: Mapping[str, Any] | None = None,
    keep_initializers_as_inputs: bool = False,
    do_constant_folding: bool = True,
) -> bytes:
    """The contents of the file that `export` writes; see there."""
    opset = 18 if opset_version is None else int(opset_version)
    if opset not in OPSETS:
        raise ArgumentValueError(
            f"Unsupported ONNX opset version: {opset} (supported: {OPSETS[0]} to {OPSETS[-1]})"
        )
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
        raise ArgumentValueError(
            f"onnx.export(): input_names must differ from each other, got {inputs}"
        )
    dynamic, words = _dynamic(dynamic_axes or {}, inputs, list(output_names or []), leaves)
    with eval_mode(model):
        trace = record_checked(model, named_state(model), positional, given, dynamic)
    if len(inputs) != len(trace.inputs) or len(set(trace.inputs)) != len(inputs):
        raise ArgumentValueError(
            "onnx.export(): the same tensor was given for two inputs; pass a copy"
        )
    if do_constant_folding:
        _fold(trace)
    graph = OnnxGraph(trace, opset)
    state = _name_values(graph, inputs, dict(enumerate(names[len(leaves) :])))
    _translate(graph)
    outputs = _name_outputs(graph, list(output_names or []))
    return _encode(graph, inputs, state, outputs, words, export_params, keep_initializers_as_inputs)


@contextmanager
def eval_mode(model: Any) -> Any:
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
        chosen = (
            dict(given)
            if isinstance(given, Mapping)
            else {axis: f"{name}_dynamic_axes_{axis}" for axis in given}
        )
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
            raise ArgumentValueError(
                f"onnx.export(): dynamic_axes names {name!r}, which is no input or output"
            )
    return dynamic, words


def _open(tree: Any) -> bool:
    """Whether nested parameters contain a dynamic or an unknown size."""
    if isinstance(tree, Expression):
        return True
    if isinstance(tree, Ref):
        return False
    if isinstance(tree, slice):
        return _open([tree.start, tree.stop, tree.step])
    parts = (
        tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    )
    return any(_open(part) for part in parts)


def _fold(trace: Trace) -> None:
    """Compute the steps that have only constants as arguments."""
    kept = []
    for step in trace.steps:
        used = [ref.value for ref in refs([step.inputs, step.params])]
        known = all(value in trace.constants for value in used) and (
            used or step.op not in ("full", "arange")
        )
        if not known or _open([step.inputs, step.params, [trace.shapes[v] for v in step.outputs]]):
            kept.append(step)
            continue
        values = {value: make_tensor(trace.constants[value]) for value in used}
        made = run_step(step, values, {})
        for value, t in zip(
            step.outputs, made if isinstance(made, tuple) else (made,), strict=True
        ):
            trace.constants[value] = t._array.copy()
    trace.steps[:] = kept


def _name_values(graph: OnnxGraph, inputs: list[str], renamed: dict[int, str]) -> dict[str, int]:
    """Names for inputs, parameters and constants; the names of the parameters that are used."""
    trace = graph.trace
    for value, name in zip(trace.inputs, inputs, strict=True):
        graph.names[value] = name
        graph.taken.add(name)
    used = {ref.value for s in trace.steps for ref in refs([s.inputs, s.params])} | set(
        trace.outputs
    )
    state = {}
    for k, (value, name) in enumerate(trace.state.items()):
        if value in used:
            graph.names[value] = graph.fresh(renamed.get(k, name))
            state[graph.names[value]] = value
    for value, array in trace.constants.items():
        if value in used:
            graph.names[value] = graph.const(array)
    return state


def _translate(graph: OnnxGraph) -> None:
    """Every step by its record; what has no translation is reported together."""
    missing: dict[str, list[Any]] = {}
    for step in graph.trace.steps:
        kinds = {graph.trace.dtypes[v] for v in step.outputs}
        try:
            for kind in kinds:
                wire.data_type(kind)
            made = translate(OnnxContext(graph, step))
        except UnsupportedOperatorError as error:
            missing.setdefault(str(error).splitlines()[0], []).append(source.describe(step.site))
            made = [f"missing {step.op}"] * len(step.outputs)
        made = [made] if isinstance(made, str) else made
        graph.names.update(zip(step.outputs, made, strict=True))
    if missing:
        found = sorted(missing.items())
        listed = ", ".join(
            f"{name} ({len(lines)} times)" if len(lines) > 1 else name for name, lines in found
        )
        where = [
            f"  {name} at {line}"
            for name, lines in found
            for line in dict.fromkeys(map(str, filter(None, lines)))
        ]
        raise UnsupportedOperatorError(
            "\n".join(
                [
                    f"Exporting to ONNX opset version {graph.opset} is not supported for: {listed}",
                    *where,
                ]
            )
        )


def _name_outputs(graph: OnnxGraph, wanted: list[str]) -> list[tuple[str, int]]:
    """(name, value) of each output; results get the wanted names, through an Identity where they
    have another already.
    """
    out = []
    trace = graph.trace
    for k, value in enumerate(trace.outputs):
        name = wanted[k] if k < len(wanted) else f"output_{k}"
        if name in graph.taken:
            if k < len(wanted):
                raise ArgumentValueError(f"onnx.export(): the name {name!r} of an output is taken")
            name = graph.fresh(name)
        graph.taken.add(name)
        graph.nodes.append(OnnxNode("Identity", [graph.names[value]], [name], {}))
        out.append((name, value))
    if not out:
        raise ArgumentValueError("onnx.export(): the model returns no tensors")
    return out


def _encode(
    graph: OnnxGraph,
    inputs: list[str],
    state: dict[str, int],
    outputs: list[tuple[str, int]],
    words: dict[str, dict[int, str]],
    export_params: bool,
    as_inputs: bool,
) -> bytes:
    """The file's bytes."""
    trace = graph.trace
    used = {name for node in graph.nodes for name in node.inputs}
    arrays = {name: array for name, array in graph.initializers.items() if name in used}
    described = [
        wire.value_bytes(n, trace.dtypes[v], _dims(n, trace.shapes[v], {}))
        for n, v in zip(inputs, trace.inputs, strict=True)
    ]
    if as_inputs or not export_params:
        described += [
            wire.value_bytes(n, trace.dtypes[v], trace.shapes[v]) for n, v in state.items()
        ]
    initializers = [wire.tensor_bytes(name, array) for name, array in arrays.items()]
    if export_params:
        initializers = [
            wire.tensor_bytes(n, trace.state_arrays[v]) for n, v in state.items()
        ] + initializers
    results = [
        wire.value_bytes(n, trace.dtypes[v], _dims(n, trace.shapes[v], words.get(n, {})))
        for n, v in outputs
    ]
    return wire.model_bytes(
        "main_graph", graph.encoded(), initializers, described, results, graph.opset, __version__
    )


def _dims(name: str, shape: Sequence[Any], words: dict[int, str]) -> list[int | str]:
    """Sizes, dynamic ones by name."""
    out: list[int | str] = []
    for axis, n in enumerate(shape):
        if n is None:
            out.append(words.get(axis, words.get(axis - len(shape), f"{name}_dim_{axis}")))
        else:
            out.append(n if isinstance(n, int) else str(n))
    return out
