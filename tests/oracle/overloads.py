"""Calls of every overload that PyTorch's schemas list, made with PyTorch and with Pellucid, and
compared.

    python tests/oracle/overloads.py [--names PATTERN] [--json FILE]
    python tests/oracle/overloads.py --hold    # writes the counts, and takes out reasons of calls that are equal now

For each public function and method, each of its schemas gives a call that PyTorch takes: small
tensors of one of several shapes and types, and numbers after the names of the arguments. From that
call come its forms: arguments by position and by keyword, each default said, each optional argument
given, numbers for tuples and for tensors, tensors for numbers, NumPy's names, `out=`, and what has
to be refused: too few and too many arguments, unknown keywords, other types. Compared are the class
of the result, dtype, shape, strides, values, warnings, and of a refusal its class and text.

`overloads.json` holds how many calls are equal, and the reason of each that differs, by its name:
`torch.norm: out text`, the function and the form. A call that differs and has no reason is an
error, and so is a reason of a call that does not differ any more.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

import pellucid
from pellucid._names import Calls
from pellucid.api import attach
from pellucid.api.exchange import done_by
from pellucid.core.public import FUNCTIONS, METHODS

HELD = Path(__file__).with_suffix(".json")
NUMPY = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"}
PREFIXED = ("linalg", "fft", "special")
SPACES = ("torch", "Tensor", "linalg", "fft", "special", "nn.functional")
# What has no result to compare, no CPU kernel in PyTorch, or acts on the process.
LEFT_OUT = re.compile(
    r"_|cudnn|miopen|mkldnn|fbgemm|quantized|q_|int_repr|fake_quantize|choose_qparams|mps|record_stream|pin_memory|is_pinned|dequantize"
    r"|(new_)?empty|Generator|resize_as_sparse|set_|rename|refine_names|align|from_file|quantize|fused_moving|batch_norm_(elemt|stats|gather|update|backward)"
    r"|share_memory|resize|sparse|sspaddmm|smm|hspmm|backward|requires_grad|retain_grad|manual_seed|seed|fork|wait|tolist|save|load|device|hash_tensor|sym_|copysign_$"
)


@dataclass(frozen=True)
class T:
    """A tensor of either library: its content and, where it is not contiguous, the order of its
    dimensions in memory.
    """

    content: Any
    dtype: str = ""
    layout: str = ""

    def made(self, library: Any) -> Any:
        found = library.from_numpy(np.array(self.content))
        if not self.content.size:  # PyTorch gives an empty array strides of 0
            found = library.empty(found.shape, dtype=found.dtype)
        found = found.to(getattr(library, self.dtype)) if self.dtype else found
        return getattr(found, f"to_{self.layout}")() if self.layout else found


@dataclass(frozen=True)
class Name:
    """What a library has under a name: a dtype, a layout."""

    name: str


@dataclass
class Call:
    path: str
    schema: str
    form: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)


def built(value: Any, library: Any) -> Any:
    if isinstance(value, T):
        return value.made(library)
    if isinstance(value, Name):
        return (
            library.Generator().manual_seed(3)
            if value.name == "Generator"
            else getattr(library, value.name)
        )
    if isinstance(value, (list, tuple)):
        return type(value)(built(v, library) for v in value)
    return value


# ---- arguments -----------------------------------------------------------------------------------
def _worlds() -> list[dict[str, Any]]:
    r = np.random.default_rng(0)
    square = r.uniform(0.1, 0.3, (3, 3)).astype(np.float32)
    square = square + square.T + np.eye(3, dtype=np.float32)
    whole = r.integers(0, 3, (3, 3))

    def floats(*shape: int) -> np.ndarray:
        return r.uniform(0.1, 0.9, shape).astype(np.float32)

    line = floats(3)
    indices = np.array([0, 2, 1])
    boundaries = np.array([0.1, 0.4, 0.7], np.float32)
    mask = whole > 0
    common = {
        "mask": mask,
        "condition": mask,
        "boundaries": boundaries,
        "sorted_sequence": boundaries,
        "pivots": np.array([1, 2, 3], np.int32),
    }
    square_world = {
        "": square,
        "index": whole,
        "indices": whole,
        "target": square,
        "vec": line,
        "vec2": line,
        "weight": None,
        **common,
    }
    return [
        square_world,
        square_world | {"index": indices, "indices": indices},
        {"": line, "index": indices, "indices": indices, "vec1": line, "vec2": line, **common},
        {"": whole, "index": whole, "indices": whole, **common},
        {"": indices, "index": indices, "indices": indices, **common},
        {"": mask, "mask": mask, "condition": mask},
        {
            "": floats(2, 3, 4),
            "weight": floats(5, 3, 2),
            "bias": floats(5),
            "mean": floats(3),
            "batch1": floats(2, 3, 4),
            "batch2": floats(2, 4, 3),
        },
        # before the next one: of its weight, batch norm reads what is behind the end
        {
            "": floats(1, 3, 4, 4),
            "weight": floats(3),
            "bias": floats(3),
            "running_mean": floats(3),
            "running_var": floats(3),
            "grid": floats(1, 2, 2, 2),
        },
        {
            "": floats(1, 3, 5, 5),
            "weight": floats(2, 3, 2, 2),
            "bias": floats(2),
            "running_mean": floats(3),
            "running_var": floats(3),
        },
        {"": floats(1, 3, 4, 4, 4), "weight": floats(2, 3, 2, 2, 2), "grid": floats(1, 2, 2, 2, 3)},
        {
            "": floats(3, 3),
            "weight": floats(4, 3),
            "bias": floats(4),
            "index": whole,
            "target": indices,
            "indices": indices,
        },
        {
            "": floats(3, 4),
            "weight": floats(5, 3, 3),
            "input1": line[None],
            "input2": line[None],
            "target": indices,
        },
        {"": (square + 1j * square).astype(np.complex64), "index": whole},
        {
            "": floats(2, 3, 3),
            "input": floats(1, 3, 3),
            "batch1": floats(2, 3, 3),
            "batch2": floats(2, 3, 3),
        },
        {
            "": floats(2, 5),
            "hx": floats(2, 4),
            "cx": floats(2, 4),
            "w_ih": floats(12, 5),
            "w_hh": floats(12, 4),
        },
        {"": np.float32(0.5), "index": np.int64(0)},
        {"": floats(3, 2), "real": line, "imag": line, "abs": line, "angle": line},
        {"": floats(3, 1), "x": floats(3, 1), "weights": line, "bins": 3},
        # what follows a name after "=" is no tensor
        {
            "": floats(2, 3, 8),
            "weight": floats(3, 2, 2),
            "bias": floats(2),
            "=kernel_size": [2],
            "=output_size": [3],
        },
        {"": floats(1, 3, 5, 5), "weight": floats(3, 2, 2, 2), "bias": floats(2)},
        {
            "": floats(1, 3, 4, 4, 4),
            "weight": floats(3, 2, 2, 2, 2),
            "bias": floats(2),
            "random_samples": floats(1, 3, 3),
            "=kernel_size": [2, 2, 2],
            "=output_size": [2, 2, 2],
        },
        square_world | {"=reduce": "add"},
        square_world | {"index": indices, "=reduce": "mean"},
        square_world
        | {"start": np.int64(0), "value": np.float32(0.5), "=stride": [1, 1], "=size": [2, 2]},
        square_world
        | {
            "LU_data": square,
            "LU_pivots": np.array([1, 2, 3], np.int32),
            "tau": line,
            "input2": line,
            "input3": square,
            "target": whole,
            "weight": floats(3, 3),
            "offsets": np.array([0, 2]),
        },
        {
            "": indices,
            "weight": floats(5, 3),
            "indices": indices,
            "offsets": np.array([0, 2]),
        },
        {"": floats(5, 2, 3), "weight": floats(2, 3, 4), "bias": floats(4)},
        {"": floats(1, 2, 3), "=size": [1, 1, 2, 2]},
        {"": floats(16).astype(np.complex64)},
        {"": floats(2, 5).astype(np.complex64)},
        {"": np.eye(4, dtype=np.float32).reshape(2, 2, 2, 2)},
        # for one function or two each
        square_world | {"batch1": floats(2, 3, 4), "batch2": floats(2, 4, 3)},
        {"": line, "self": line, "mat": floats(3, 4), "vec": floats(4)},
        {"": line, "self": floats(3, 4), "vec1": line, "vec2": floats(4)},
        {"": square, "self": square, "src": floats(2, 2), "=size": [2, 2], "=stride": [3, 1]},
        {"": square, "self": square, "src": line},
        {
            "": line,
            "log_probs": -floats(5, 2, 4),
            "targets": np.array([[1, 2], [3, 1]]),
            "=input_lengths": [5, 4],
            "=target_lengths": [2, 1],
        },
        {
            "": line,
            "log_probs": -floats(5, 2, 4),
            "targets": np.array([[1, 2], [3, 1]]),
            "input_lengths": np.array([5, 4]),
            "target_lengths": np.array([2, 1]),
        },
        {"": square, "=equation": "ij,jk->ik"},
        {
            "weight": floats(5, 3),
            "": indices,
            "offsets": np.array([0, 2]),
            "=per_sample_weights": None,
        },
        {"": square.astype(np.float64)},
        {"": square, "=spacing": [2.0]},
        {"": square, "=spacing": [T(boundaries)]},
        {"": square, "=spacing": [T(boundaries), T(boundaries)]},
        {"": floats(4, 2), "=bins": [T(boundaries), T(boundaries)]},
        {"": square, "=p": "fro"},
        {
            "input": floats(1, 3, 2, 2),
            "": line,
            "=N": 1,
            "=C": 3,
            "=HxW": 4,
        },
        {"": square, "=dim": [0, 1]},
        {"": square, "high": np.int64(5)},
        {"": square, "=from": 1, "=to": 5},
        {"": square, "=blocksize": [3, 1]},
        *(
            {
                "": line,
                "input": floats(4, 1, 2),
                "data": floats(4, 2),
                "batch_sizes": np.array([2, 1, 1]),
                "hx": floats(1, batch, 3),
                "=hx": states,
                "=params": [T(floats(g, n)) for g, n in ((gates, 2), (gates, 3))]
                + [T(floats(gates)), T(floats(gates))],
                "=dropout": 0.0,
                "=num_layers": 1,
                "=bidirectional": False,
                "=batch_first": False,
                "=train": False,
            }
            for gates, width in ((3, 1), (9, 1), (12, 2))
            for batch in (1, 2)
            for states in [[T(floats(1, batch, 3))] * 2 if width == 2 else T(floats(1, batch, 3))]
        ),
        {
            "input": floats(2, 5),
            "=hx": [T(floats(2, 4)), T(floats(2, 4))],
            "w_ih": floats(16, 5),
            "w_hh": floats(16, 4),
            "": floats(16),
        },
        *({"": square, ".layout": f"sparse{kind}"} for kind in ("", "_csr", "_csc")),
    ]


WORLDS = _worlds()
INTS = {
    "dim": 0,
    "dim0": 0,
    "dim1": 1,
    "axis0": 0,
    "axis1": 1,
    "n": 2,
    "k": 1,
    "steps": 3,
    "chunks": 2,
    "sections": 3,
    "diagonal": 0,
    "offset": 0,
    "end": 3,
    "start": 0,
    "m": 3,
    "num_classes": 5,
    "kernel_size": 2,
    "groups": 1,
    "upscale_factor": 1,
    "downscale_factor": 1,
    "num_groups": 1,
    "size": 2,
    "step": 1,
    "length": 1,
    "num_samples": 2,
    "n_fft": 2,
    "window_length": 4,
    "bins": 4,
    "repeats": 2,
    "high": 5,
    "low": 0,
    "N": 3,
    "ord": 2,
    "p": 2,
    "self_int": 1,
    "row": 3,
    "col": 3,
    "index": 1,
    "split_size": 2,
    "dilation": 1,
    "blank": 0,
    "reduction": 1,
    "interpolation_mode": 0,
    "padding_mode": 0,
    "mode": 0,
    "decimals": 1,
    "minlength": 2,
    "correction": 0,
    "source": 0,
    "destination": 1,
}
LISTS = {
    "dim": [0],
    "dims": [0, 1],
    "axis": [0],
    "size": [3, 3],
    "shape": [3, 3],
    "repeats": [2, 2],
    "kernel_size": [2, 2],
    "padding": [0],
    "pad": [1, 1],
    "stride": [1],
    "dilation": [1],
    "output_size": [2, 2],
    "sizes": [3, 1],
    "split_sizes": [1, 2],
    "split_size": [1, 2],
    "indices": [1, 2],
    "shifts": [1],
    "normalized_shape": [3],
    "dims_self": [0],
    "dims_other": [0],
    "source": [0, 1],
    "destination": [1, 0],
    "output_padding": [0],
    "s": [2, 2],
    "bins": [2, 2],
    "tensor_indices_or_sections": [1],
    "names": ["A"],
}
STRINGS = {
    "reduce": "sum",
    "equation": "ii->i",
    "ord": "fro",
    "UPLO": "L",
    "mode": "reduced",
    "indexing": "ij",
    "side": "left",
    "rounding_mode": "floor",
    "approximate": "tanh",
    "norm": "ortho",
    "interpolation": "linear",
    "driver": "gelsd",
    "padding": "valid",
    "pad_mode": "constant",
    "p": "fro",
    "order": "C",
}


def sample(argument: Any, world: dict[str, Any], given: bool = False) -> Any:
    """A value for an argument of a schema; `given` for an optional one, which should differ from
    its default. KeyError: none known.
    """
    name, kind = (
        argument.name,
        str(argument.type)
        .removeprefix("Optional[")
        .removesuffix("]" if str(argument.type).startswith("Optional") else ""),
    )
    if f"={name}" in world:
        return world[f"={name}"]
    if kind == "Tensor":
        content = world.get(name, world[""])
        if content is None:
            content = world[""]
        return T(content, layout=world.get(".layout", ""))
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        if name == "indices":
            return [T(np.array([0, 1]))]
        return [T(world[""]), T(world[""])]
    if (
        kind == "int"
        and str(argument.real_type if hasattr(argument, "real_type") else "").find("ScalarType")
        >= 0
    ):
        return Name("float64")
    if kind == "int":
        if name in ("dtype", "out_dtype"):
            return Name("float64")
        if name == "layout":
            return Name("strided")
        if name == "memory_format":
            return Name("contiguous_format")
        return INTS.get(name, 1)
    if kind == "number":
        return {
            "end": 3,
            "start": 0,
            "step": 1,
            "low": 0.5,
            "high": 2.0,
            "alpha": 2,
            "beta": 2,
            "ord": 2,
            "p": 2.0,
        }.get(name, 2)
    if kind == "float":
        return {"p": 0.5, "end": 3.0, "std": 1.0, "eps": 1e-3}.get(name, 0.5)
    if kind == "bool":
        return (
            not argument.default_value
            if given and argument.has_default_value() and argument.default_value is not None
            else True
        )
    if kind == "List[int]":
        return list(LISTS.get(name, [1]))
    if kind in ("List[float]", "List[number]"):
        return [0.5, 1.0]
    if kind == "List[bool]":
        return [True, True, True]
    if kind == "str":
        return STRINGS[name]
    if kind == "Device":
        return "cpu"
    if kind == "Generator":
        return Name("Generator")
    if kind == "complex":
        return 1 + 2j
    raise KeyError(kind)


def said(value: Any) -> Any:
    """A default as a program would write it."""
    return value


# ---- outcomes ------------------------------------------------------------------------------------
def resolved(path: str, library: Any) -> Any:
    found = library
    for part in path.split("."):
        if part != "torch":
            found = getattr(found, part)
    return found


def made(call: Call, library: Any) -> tuple[Any, list[str]]:
    """("error", class, text) or what the result is, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.manual_seed(1)
        try:
            args = [built(a, library) for a in call.args]
            kwargs = {k: built(v, library) for k, v in call.kwargs.items()}
            if call.path.startswith("Tensor."):
                found = getattr(args[0], call.path.removeprefix("Tensor."))(*args[1:], **kwargs)
            else:
                found = resolved(call.path, library)(*args, **kwargs)
            result: Any = [shown(found, library)]
            result += [shown(a, library) for a in (args[:1] if call.path.endswith("_") else [])]
            if "out" in kwargs:
                result.append(shown(kwargs["out"], library))
        except Exception as error:
            said = str(error).partition(" If you are a Facebook employee")[0]  # a build's backends
            result = ("error", type(error).__name__, said)
    texts = [
        f"{w.category.__name__}: {str(w.message).partition(' (Triggered internally')[0]}"
        for w in caught
    ]
    return result, texts


def shown(value: Any, library: Any) -> Any:
    if isinstance(value, library.Tensor):
        layout = str(value.layout).rpartition(".")[2]
        dtype = str(value.dtype).rpartition(".")[2]
        if layout != "strided":
            return ("sparse", layout, dtype, tuple(value.shape), shown(value.to_dense(), library))
        plain = value.detach().resolve_conj().resolve_neg()
        wider = {"bfloat16": library.float32, "complex32": library.complex64}
        wider |= dict.fromkeys([d for d in [dtype] if d.startswith("float8")], library.float32)
        content = plain.to(wider[dtype]).numpy() if dtype in wider else plain.numpy()
        return (
            "tensor",
            type(value).__name__,
            dtype,
            tuple(value.shape),
            value.stride(),
            np.array(content),
        )
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [shown(v, library) for v in value])
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return (type(value).__name__, value)
    return (type(value).__name__, str(value).replace("pellucid.", "torch."))


def precision_of(call: Call) -> float:
    """The epsilon of the coarsest floats among the arguments: what is computed in it is no better
    in a wider result.
    """
    found = 0.0
    for value in [*call.args, *call.kwargs.values()]:
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, T) and one.dtype == "bfloat16":
                found = max(found, 2.0**-8 / 16)  # a unit or two in the last place
            elif isinstance(one, T) and np.asarray(one.content).dtype in (np.float32, np.complex64):
                found = max(found, float(np.finfo(np.float32).eps))
    return found


def difference(theirs: Any, ours: Any, precision: float = 0.0) -> str:
    """What differs first, in a word; "" where nothing does."""
    if (
        isinstance(theirs, tuple)
        and theirs
        and theirs[0] == "error"
        or isinstance(ours, tuple)
        and ours
        and ours[0] == "error"
    ):
        if isinstance(theirs, list):
            return "refused"
        if isinstance(ours, list):
            return "accepted"
        return "" if theirs == ours else "error class" if theirs[1] != ours[1] else "error text"
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(theirs) != len(ours):
            return "count"
        return next(
            (d for a, b in zip(theirs, ours, strict=True) if (d := difference(a, b, precision))), ""
        )
    if theirs[0] != ours[0]:
        return "class"
    if theirs[0] == "tensor":
        for place, word in ((1, "class"), (2, "dtype"), (3, "shape"), (4, "strides")):
            if theirs[place] != ours[place]:
                return word
        a, b = theirs[5], ours[5]
        if a.dtype.kind in "fc":
            eps = max(precision, np.finfo(a.dtype).eps)
            return (
                "" if np.allclose(a, b, rtol=64 * eps, atol=16 * eps, equal_nan=True) else "values"
            )
        return "" if np.array_equal(a, b) else "values"
    if theirs[0] == "sparse":
        return "sparse" if theirs[1:4] != ours[1:4] else difference(theirs[4], ours[4], precision)
    if isinstance(theirs[1], list):
        return difference(theirs[1], ours[1], precision)
    if isinstance(theirs[1], (float, complex)):
        return (
            "" if np.isclose(theirs[1], ours[1], rtol=1e-5, atol=1e-6, equal_nan=True) else "values"
        )
    return "" if theirs[1] == ours[1] else "values"


# ---- calls ---------------------------------------------------------------------------------------
def schemas() -> Iterator[tuple[str, Any, bool]]:
    """(path, schema, whether one with `out` stands beside it) for all that is public."""
    every: dict[str, list[Any]] = collections.defaultdict(list)
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            every[schema.name[6:]].append(schema)
    for name, found in sorted(every.items()):
        outs = [s for s in found if any(a.is_out for a in s.arguments)]
        plain = [s for s in found if s not in outs and s.arguments]
        for space in SPACES:
            prefix = space + "_" if space in PREFIXED else ""
            public = name.removeprefix(prefix)
            if not name.startswith(prefix) or LEFT_OUT.match(public):
                continue
            if not callable(
                getattr(resolved(space if space != "torch" else "torch", torch), public, None)
            ):
                continue
            for schema in plain:
                first = schema.arguments[0]
                if space == "Tensor" and (first.name != "self" or str(first.type) != "Tensor"):
                    continue  # a method of a tensor only
                if not any("Tensor" in str(a.type) for a in [*schema.arguments, *schema.returns]):
                    continue  # TorchScript's own: numbers, texts, lists
                yield f"{space}.{public}", schema, bool(outs) and space != "Tensor"


def base_call(path: str, schema: Any) -> tuple[Call, dict[str, Any]] | None:
    """A call with the required arguments that PyTorch takes, and the world that its tensors are
    from.
    """
    required = [a for a in schema.arguments if not a.has_default_value()]
    # where none of these will do, with one of the optional ones
    optional = [a for a in schema.arguments if a.has_default_value()]
    for more in (None, *optional[:3]):
        for world in WORLDS:
            try:
                args = [sample(a, world) for a in required if not a.kwarg_only]
                kwargs = {a.name: sample(a, world) for a in required if a.kwarg_only}
                kwargs |= {more.name: sample(more, world, True)} if more is not None else {}
            except KeyError:
                return None
            if path.startswith("Tensor.") and not isinstance(args[0], T):
                return None
            listed = len(args) == 1 and isinstance(args[0], list)
            for given in (args, args[0]) if listed else (args,):  # f([a, b]) or f(a, b)
                call = Call(path, str(schema), "base", given, kwargs)
                result, _ = made(call, torch)
                if isinstance(result, list):
                    made(call, pellucid)  # what is said once was said with PyTorch, too
                    return call, world
    return None


def forms(call: Call, schema: Any, world: dict[str, Any], out: bool) -> Iterator[Call]:
    """The call in all its forms."""

    def new(form: str, args: list[Any], kwargs: dict[str, Any]) -> Call:
        return Call(call.path, call.schema, form, args, kwargs)

    method = call.path.startswith("Tensor.")
    arguments = [a for a in schema.arguments if not a.is_out]
    places = [a for a in arguments if not a.kwarg_only]
    required = [a for a in places if not a.has_default_value()]
    optional = [a for a in arguments if a.has_default_value()]
    fixed = 1 if method else 0
    python = {
        a.name: "input" if a.name == "self" and call.path.partition(".")[0] != "special" else a.name
        for a in arguments
    }
    yield call
    if len(required) == 1 < len(call.args):  # any number of tensors
        for place, value in enumerate(call.args):
            for form, other in _others(value):
                args = [*call.args[:place], other, *call.args[place + 1 :]]
                yield new(f"{form} {place}", args, call.kwargs)
        yield new("one alone", call.args[:1], call.kwargs)
        yield new("none", [], call.kwargs)
        yield new("list and one", [call.args, call.args[0]], call.kwargs)
        yield new("unknown keyword", call.args, call.kwargs | {"no_such": 1})
        return
    named = dict(zip([python[a.name] for a in required], call.args, strict=True))
    own = {k: v for k, v in named.items() if not (method and k == "input")}
    if own:
        yield new("keywords", call.args[:fixed], own | call.kwargs)
        yield new("keywords reversed", call.args[:fixed], dict(reversed(own.items())) | call.kwargs)
    for name in own:
        if name in NUMPY:
            rest = {NUMPY[k] if k == name else k: v for k, v in own.items()}
            yield new(f"{name} as {NUMPY[name]}", call.args[:fixed], rest | call.kwargs)
        if name == "input":
            yield new(
                "input as self",
                call.args[:fixed],
                {"self" if k == name else k: v for k, v in own.items()} | call.kwargs,
            )
    # optional arguments
    filled = list(call.args)
    for a in optional:
        if not a.kwarg_only and len(filled) == places.index(a):
            try:
                filled.append(
                    sample(a, world, True) if a.default_value is None else a.default_value
                )
            except KeyError:
                break
            yield new(f"position {a.name}", list(filled), call.kwargs)
    for a in optional:
        if not (
            a.name in ("dtype", "layout", "memory_format") and isinstance(a.default_value, int)
        ):
            yield new(f"default {a.name}", call.args, call.kwargs | {a.name: a.default_value})
        try:
            value = sample(a, world, True)
        except KeyError:
            continue
        yield new(f"given {a.name}", call.args, call.kwargs | {a.name: value})
        yield new(f"None {a.name}", call.args, call.kwargs | {a.name: None})
        if a.name in NUMPY:
            yield new(f"given {NUMPY[a.name]}", call.args, call.kwargs | {NUMPY[a.name]: value})
        yield new(
            f"wrong {a.name}",
            call.args,
            call.kwargs | {a.name: "text" if not isinstance(value, str) else 5},
        )
    # values of other types that stand for the same, or for nothing
    for place in range(fixed, len(call.args)):
        value = call.args[place]
        for form, other in _others(value):
            args = list(call.args)
            args[place] = other
            yield new(f"{form} {required[place].name}", args, call.kwargs)
    # calls to refuse
    yield new("unknown keyword", call.args, call.kwargs | {"no_such": 1})
    if len(call.args) > fixed:
        yield new("one missing", call.args[:-1], call.kwargs)
        yield new("twice", call.args, call.kwargs | {python[required[-1].name]: call.args[-1]})
    yield new("one too many", [*filled, "text"], call.kwargs)
    if out:
        result, _ = made(call, torch)
        tensors = result[0]
        if tensors[0] == "tensor":
            for form, dtype, more in (
                ("out", "", ()),
                ("out float64", "float64", ()),
                ("out int64", "int64", ()),
                ("out complex64", "complex64", ()),
                ("out bool", "bool", ()),
                ("out resized", "", (2,)),
            ):
                yield new(
                    form,
                    call.args,
                    call.kwargs
                    | {"out": T(np.zeros((*tensors[3], *more), tensors[5].dtype), dtype)},
                )
            yield new(
                "out empty", call.args, call.kwargs | {"out": T(np.zeros(0, tensors[5].dtype))}
            )
            order = T(np.zeros(tensors[3], tensors[5].dtype, "F"))
            yield new("out in columns", call.args, call.kwargs | {"out": order})
            yield new("out None", call.args, call.kwargs | {"out": None})
            yield new("out text", call.args, call.kwargs | {"out": "text"})
        elif isinstance(tensors[1], list) and all(t[0] == "tensor" for t in tensors[1]):
            fitting = [T(np.zeros(t[3], t[5].dtype)) for t in tensors[1]]
            outs: list[tuple[str, Any]] = [("out", tuple(fitting)), ("out list", fitting)]
            outs += [("out alone", fitting[0]), ("out too few", tuple(fitting[:-1]))]
            for place, one in enumerate(fitting):
                for dtype in ("float64", "int64", "bool"):
                    changed = (*fitting[:place], T(one.content, dtype), *fitting[place + 1 :])
                    outs.append((f"out {dtype} at {place}", changed))
                longer = T(np.zeros((*one.content.shape, 2), one.content.dtype))
                changed = (*fitting[:place], longer, *fitting[place + 1 :])
                outs.append((f"out resized at {place}", changed))
            for form, given in outs:
                yield new(form, call.args, call.kwargs | {"out": given})


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    yield "text for", "text"
    yield "None for", None
    if isinstance(value, T):
        yield "number for", 2
        yield "array for", np.ones(2, np.float32)
        yield "list for", [1, 2]
        yield (
            "float64",
            T(
                np.asarray(value.content).astype(
                    np.complex128 if np.iscomplexobj(value.content) else np.float64
                )
            ),
        )
        yield "transposed", T(np.asarray(value.content).T)
        yield "int32", T(np.asarray(value.content).real.astype(np.int32))
        yield "bool", T(np.asarray(value.content).astype(bool))
        yield "bfloat16", T(np.asarray(value.content).real.astype(np.float32), "bfloat16")
    elif isinstance(value, bool):
        yield "number for", 1
    elif isinstance(value, int):
        yield "float for", float(value)
        yield "tensor for", T(np.array(value))
        yield "float tensor for", T(np.array(float(value)))
        yield "NumPy for", np.int64(value)
        yield "bool for", True
        yield "tuple for", (value,)
        yield "far", value + 100
        yield "negative", -value - 1
    elif isinstance(value, float):
        yield "tensor for", T(np.array(value))
        yield "NumPy for", np.float32(value)
        yield "int for", 1
        yield "complex for", 1j
    elif isinstance(value, list):
        yield "tuple for", tuple(value)
        yield "tensor for", T(np.array(1))
        yield "empty", []
        if value and isinstance(value[0], int):
            yield "int for", value[0]
            yield "floats for", [float(v) for v in value]
            yield "NumPy for", [np.int64(v) for v in value]
            yield "text in", ["text"]
            yield "longer", [*value, value[-1]]


def calls(pattern: str = "") -> Iterator[Call]:
    seen = set()
    for path, schema, out in schemas():
        if pattern and not re.fullmatch(pattern, path):
            continue
        if TRACE:
            print(path, schema, file=sys.stderr, flush=True)
        found = base_call(path, schema)
        if found is None:
            UNCALLED.append((path, str(schema)))
            continue
        for call in forms(found[0], schema, found[1], out):
            key = repr((call.path, call.args, call.kwargs))
            if key not in seen:
                seen.add(key)
                yield call


UNCALLED: list[tuple[str, str]] = []
TRACE = False  # say what is called next, for crashes


def compared(call: Call) -> tuple[str, Any, Any]:
    """(what differs, PyTorch's outcome, ours)."""
    theirs = made(call, torch)
    ours = made(call, pellucid)
    found = difference(theirs[0], ours[0], precision_of(call))
    if not found and theirs[1] != ours[1] and isinstance(theirs[0], list):
        found = "warnings"
        return found, theirs[1], ours[1]
    return found, theirs[0], ours[0]


def unaccounted(found: list[Any], reasons: dict[str, str]) -> list[str]:
    """One sentence for each call that differs without a reason, and for each reason without such a
    call. `found`: as `main` writes it.
    """
    differing = {f"{path}: {form}": kind for path, _, form, _, kind, *_ in found}
    return [
        *(
            f"{name}: {differing[name]}, and no reason"
            for name in sorted(differing - reasons.keys())
        ),
        *(f"{name}: equal now, but has a reason" for name in sorted(reasons.keys() - differing)),
    ]


def shorten_at_once() -> None:
    """Have all functions get their short entries with the next call."""
    for space in SPACES:
        for function in (METHODS if space == "Tensor" else FUNCTIONS[space]).values():
            own = done_by(attach.own(function))
            cells = getattr(own, "__closure__", None) or ()
            for cell in cells:
                if isinstance(cell.cell_contents, Calls):
                    cell.cell_contents.left = 1


def run(
    pattern: str = "",
    each: Callable[[Call, str, Any, Any], None] | None = None,
    part: tuple[int, int] = (0, 1),
) -> dict[str, Any]:
    """Counts: overloads, those all of whose calls are equal, calls, equal calls, and differing
    calls by kind.

    Of `part = (k, n)` each n-th call is made, from the k-th on.
    """
    kinds: collections.Counter[str] = collections.Counter()
    total = equal = 0
    overloads: dict[tuple[str, str], bool] = {}
    for number, call in enumerate(calls(pattern)):
        if number % part[1] != part[0]:
            continue
        found, theirs, ours = compared(call)
        total += 1
        equal += not found
        key = (call.path, call.schema)
        overloads[key] = overloads.get(key, True) and not found
        if found:
            kinds[found] += 1
            if each is not None:
                each(call, found, theirs, ours)
    return {
        "overloads": len(overloads),
        "overloads equal": sum(overloads.values()),
        "calls": total,
        "calls equal": equal,
        "not called": len(UNCALLED),
        "differences": dict(kinds.most_common()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="")
    parser.add_argument("--json", default="")
    parser.add_argument(
        "--every", type=int, default=1, metavar="N", help="make each Nth call alone"
    )
    parser.add_argument(
        "--hold", action="store_true", help="write the counts and the reasons that are left"
    )
    parser.add_argument(
        "--short", action="store_true", help="with short entries, from the second call on"
    )
    parser.add_argument(
        "--trace", action="store_true", help="say each overload before it is called"
    )
    args = parser.parse_args()
    global TRACE
    TRACE = args.trace
    if args.short:
        shorten_at_once()
    torch.set_num_threads(1)
    lines: list[Any] = []
    report = run(
        args.names,
        lambda c, d, t, o: lines.append(
            [c.path, c.schema, c.form, repr((c.args, c.kwargs)), d, repr(t), repr(o)]
        ),
        (0, args.every),
    )
    json.dump(report, sys.stdout, indent=1)
    if not args.names and args.every == 1:
        held = json.loads(HELD.read_text())
        for sentence in unaccounted(lines, held["reasons"]):
            print(sentence, file=sys.stderr)
        if args.hold:
            left = {f"{path}: {form}" for path, _, form, *_ in lines}
            held |= {
                "calls": report["calls"],
                "calls equal": report["calls equal"],
                "reasons": {n: why for n, why in sorted(held["reasons"].items()) if n in left},
            }
            HELD.write_text(json.dumps(held, indent=2) + "\n")
    if args.json:
        with open(args.json, "w") as file:
            json.dump({**report, "uncalled": UNCALLED, "found": lines}, file, indent=1)


if __name__ == "__main__":
    main()
