"""Exported programs in files: a zip archive with the graph as JSON and the tensors in the
safetensors format, without pickle.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import OrderedDict
from contextlib import nullcontext
from typing import Any

import numpy as np

from pellucid import dtypes
from pellucid._files import record_size, replacing, unpack
from pellucid.core.primitive import PRIMITIVES
from pellucid.core.tensor import Parameter, make_tensor
from pellucid.errors import OperationError, UnsupportedError, facts_of

from .program import ExportedProgram
from .trace import Ref, Size, Step, Trace

VERSION = 1


def encode(part: Any) -> Any:
    """A parameter as JSON: what JSON has no form for becomes an object with one key."""
    if part is None or isinstance(part, (bool, str)) or type(part) is int:
        return part
    if isinstance(part, (float, np.floating)):
        number = float(part)
        return number if np.isfinite(number) else {"float": repr(number)}
    if isinstance(part, np.integer):
        return int(part)
    if isinstance(part, np.bool_):
        return bool(part)
    if isinstance(part, complex):
        return {"complex": [repr(part.real), repr(part.imag)]}
    if isinstance(part, Ref):
        return {"ref": part.value}
    if isinstance(part, Size):
        return {"size": [part.factor, part.offset, *part.names]}
    if isinstance(part, tuple):
        return {"tuple": [encode(item) for item in part]}
    if isinstance(part, list):
        return [encode(item) for item in part]
    if isinstance(part, dict):
        return {"dict": {key: encode(item) for key, item in part.items()}}
    if isinstance(part, slice):
        return {"slice": [encode(part.start), encode(part.stop), encode(part.step)]}
    if part is ...:
        return {"ellipsis": True}
    if isinstance(part, np.dtype):
        return {"dtype": dtypes.BY_NUMPY[part].name}
    raise UnsupportedError(
        f"export.save(): a parameter of the type {type(part).__name__} cannot be stored"
    )


def decode(part: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(part, list):
        return [decode(item) for item in part]
    if not isinstance(part, dict):
        return part
    ((kind, value),) = part.items()
    if kind == "float":
        return float(value)
    if kind == "complex":
        return complex(float(value[0]), float(value[1]))
    if kind == "ref":
        return Ref(value)
    if kind == "size":
        return Size(value[0], tuple(value[2:]), value[1])
    if kind == "tuple":
        return tuple([decode(item) for item in value])
    if kind == "dict":
        return {key: decode(item) for key, item in value.items()}
    if kind == "slice":
        return slice(*[decode(item) for item in value])
    if kind == "ellipsis":
        return ...
    if kind == "dtype":
        return dtypes.BY_NAME[value].numpy
    raise OperationError(f"export.load(): unknown kind {kind!r} in the graph")


def _safetensors() -> Any:
    try:
        import safetensors.numpy as module
    except ImportError as error:
        raise UnsupportedError(
            "torch.export.save and load need the safetensors package: pip install safetensors"
        ) from error
    return module


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    opset_version: dict[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Store an exported program in a file or a binary stream, without pickle.

    Args:
        extra_files: names and contents (text or bytes) that are put into the file as well.
        opset_version: must be None. pickle_protocol: without meaning, there is no pickle.

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
    trace = ep._trace
    graph = {
        "version": VERSION,
        "values": [
            [encode(tuple(s)), encode(d)] for s, d in zip(trace.shapes, trace.dtypes, strict=True)
        ],
        "inputs": trace.inputs,
        "in_spec": ep._in_spec,
        "state": {str(v): name for v, name in trace.state.items()},
        "state_dict": list(ep.state_dict),
        "trainable": [name for name, t in ep.state_dict.items() if t.requires_grad],
        "constants": list(trace.constants),
        "steps": [[s.op, encode(s.inputs), encode(s.params), list(s.outputs)] for s in trace.steps],
        "outputs": trace.outputs,
        "result": trace.result,
        "bounds": ep._bounds,
    }
    tensors = {f"state.{name}": np.array(t._array, order="C") for name, t in ep.state_dict.items()}
    tensors |= {f"constant.{v}": np.array(a, order="C") for v, a in trace.constants.items()}
    if opset_version is not None:
        raise UnsupportedError("export.save(): opset_version is not supported")
    with (
        nullcontext(f) if hasattr(f, "write") else replacing(f) as target,
        zipfile.ZipFile(target, "w") as archive,
    ):
        archive.writestr("graph.json", json.dumps(graph))
        archive.writestr("tensors.safetensors", _safetensors().save(tensors))
        for name, content in (extra_files or {}).items():
            archive.writestr(f"extra/{name}", content)


def load(
    f: str | os.PathLike[str] | Any,
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: dict[str, int] | None = None,
) -> ExportedProgram:
    """Read a program that `save` stored.

    Args:
        extra_files: its keys are names given to `save`; the values become their contents, as text
            where they are UTF-8.
        expected_opset_version: must be None.

    Raises:
        RuntimeError: not such a file, damaged, or written by a newer version.
        NotImplementedError: a program that PyTorch stored.
    """
    if expected_opset_version is not None:
        raise UnsupportedError("export.load(): expected_opset_version is not supported")
    try:
        with zipfile.ZipFile(f) as archive:
            if any(name.endswith("archive_format") for name in archive.namelist()):
                raise UnsupportedError(
                    "export.load(): PyTorch wrote this file; its graphs of ATen operators are not read here. Write the model with "
                    "torch.onnx.export, or its state_dict with torch.save"
                )
            asked = extra_files or {}
            for name in asked:
                content = _record(archive, f"extra/{name}")
                try:
                    asked[name] = content.decode()
                except UnicodeDecodeError:
                    asked[name] = content
            graph = json.loads(_record(archive, "graph.json"))
            stored = _safetensors().load(_record(archive, "tensors.safetensors"))
        if graph["version"] > VERSION:
            raise OperationError(
                f"export.load(): the file has the version {graph['version']}, this library reads up to {VERSION}"
            )
        return _program(graph, stored)
    except (FileNotFoundError, PermissionError, IsADirectoryError, MemoryError):
        raise
    except Exception as error:
        # a damaged file leads anywhere: missing entries, wrong types, no JSON, no tensors
        if facts_of(error) is not None:
            raise
        why = f"{type(error).__name__}: {error}"
        raise OperationError(
            f"export.load(): this is no complete file of an exported program ({why})"
        ) from error


def _record(archive: zipfile.ZipFile, name: str) -> bytes:
    """A record's bytes, in bounded memory."""
    info = archive.getinfo(name)
    made = bytearray(record_size(archive, info))
    unpack(archive, info, memoryview(made))
    return bytes(made)


def _program(graph: Any, stored: dict[str, Any]) -> ExportedProgram:
    steps = [Step(op, decode(i), decode(p), tuple(o)) for op, i, p, o in graph["steps"]]
    missing = sorted({s.op for s in steps} - set(PRIMITIVES) - {"arange"})
    if missing:
        raise OperationError(
            f"export.load(): the graph uses operations that do not exist here: {', '.join(missing)}"
        )
    trace = Trace(
        steps=steps,
        shapes=[decode(shape) for shape, _ in graph["values"]],
        dtypes=[decode(kind) for _, kind in graph["values"]],
        inputs=graph["inputs"],
        state={int(v): name for v, name in graph["state"].items()},
        constants={v: stored[f"constant.{v}"] for v in graph["constants"]},
        outputs=graph["outputs"],
        result=graph["result"],
    )
    state = OrderedDict()
    for name in graph["state_dict"]:
        tensor = make_tensor(stored[f"state.{name}"])
        state[name] = Parameter(tensor) if name in graph["trainable"] else tensor
    return ExportedProgram(
        trace, state, graph["in_spec"], {k: tuple(v) for k, v in graph["bounds"].items()}
    )
