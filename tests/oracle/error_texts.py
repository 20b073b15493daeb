"""Calls that PyTorch refuses, of its database of operators: is the error of the same class, with
the same text?

    python tests/oracle/error_texts.py [--names PATTERN] [--json FILE]

The calls are the database's error inputs, and its samples spoilt: an unknown keyword, a string for
the first argument, a dimension or an enumeration out of range.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import pellucid

SAMPLES = 3
LEFT_OUT = re.compile(
    r"jiterator_|torch\._scaled_mm|.*_(flash|efficient)_attention_forward|bmm/triton|_(?!_)|torch\.|.*hash_tensor"
)


def name_of(op: Any) -> str:
    return op.name + (f"/{op.variant_test_name}" if op.variant_test_name else "")


def counterpart(op: Any) -> Any:
    """What computes the operator here; None for lambdas of the database and for what is not there."""
    if isinstance(op.op, types.FunctionType) and op.op.__module__.startswith("torch.testing"):
        return None
    for path in (op.name, f"Tensor.{op.name}", f"Tensor.{op.name}_"):
        theirs, ours = torch, pellucid
        try:
            for part in path.split("."):
                theirs, ours = getattr(theirs, part), getattr(ours, part)
        except AttributeError:
            continue
        if theirs is op.op or getattr(theirs, "__name__", 0) == getattr(op.op, "__name__", 1):
            return ours
    return None


def carried(value: Any, bases: dict[Any, Any]) -> Any:
    """PyTorch's value as one of Pellucid's; TypeError where there is no such.

    Args:
        bases: memory that several arguments share: what stands for it so far, by its address; and
            what stands for a tensor that is given twice, by its `id`.
    """
    if isinstance(value, torch.Tensor):
        if not value.numel():  # which has no memory to share
            if id(value) not in bases:
                bases[id(value)] = pellucid.empty(
                    tuple(value.shape), dtype=getattr(pellucid, str(value.dtype)[6:])
                ).requires_grad_(value.requires_grad)
            return bases[id(value)]
        if (
            value.layout is not torch.strided
            or value.device.type != "cpu"
            or value.dtype in (torch.complex32, torch.quint8)
        ):
            raise TypeError("another kind of tensor")
        if value.numel() and (key := shared(value)) in bases:
            if bases[key] is None:
                whole = value.detach().as_strided((key[1],), (1,), 0)
                bases[key] = carried(whole, {})
            return bases[key].as_strided(tuple(value.shape), value.stride(), value.storage_offset())
        # a copy: memory that NumPy has seen cannot be resized any more
        plain = value.detach().clone().resolve_conj().resolve_neg()
        wide = plain.to(torch.float32) if plain.dtype is torch.bfloat16 else plain
        made = pellucid.from_numpy(np.array(wide.numpy())).to(
            getattr(pellucid, str(value.dtype)[6:])
        )
        return (
            made.as_strided(tuple(value.shape), value.stride())
            if 0 in value.stride() and made.numel()
            else made.requires_grad_(value.requires_grad)
        )
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return getattr(pellucid, str(value)[6:])
    if isinstance(value, torch.Size):
        return pellucid.Size(value)
    if type(value) in (list, tuple):
        return type(value)(carried(v, bases) for v in value)
    if isinstance(value, (types.FunctionType, torch.nn.Module, torch.Generator, torch.device)):
        raise TypeError("another kind of argument")
    return value


def shared(value: torch.Tensor) -> tuple[int, int]:
    """What names a tensor's memory: its address, and how many elements it holds."""
    held = value.untyped_storage()
    return held.data_ptr(), held.nbytes() // value.element_size()


def bases_of(value: Any) -> dict[Any, Any]:
    """The memory that several tensors among the arguments share."""
    parts: list[torch.Tensor] = []

    def collect(found: Any) -> None:
        if isinstance(found, torch.Tensor):
            if found.layout is torch.strided and found.device.type == "cpu" and found.numel():
                parts.append(found)
        elif type(found) in (list, tuple):
            for one in found:
                collect(one)

    collect(value)
    seen = [shared(t) for t in parts]
    return {key: None for key in seen if seen.count(key) > 1}


def spoilt(sample: Any) -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    yield sample.input, sample.args, {**sample.kwargs, "no_such_argument": 1}
    yield "text", sample.args, sample.kwargs
    for name in ("dim", "dims", "axis", "dim0", "reduction", "mode"):
        if sample.kwargs.get(name) is not None:
            yield sample.input, sample.args, {**sample.kwargs, name: 99}
    if sample.args and type(sample.args[0]) is int:
        yield sample.input, (99, *sample.args[1:]), sample.kwargs


def calls(op: Any) -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    torch.manual_seed(0)
    if op.error_inputs_func:
        for bad in op.error_inputs("cpu"):
            yield bad.sample_input.input, bad.sample_input.args, bad.sample_input.kwargs
    if torch.float32 in op.supported_dtypes("cpu"):
        samples = list(op.sample_inputs("cpu", torch.float32, requires_grad=False))[:400]
        for k in range(min(SAMPLES, len(samples))):
            yield from spoilt(samples[k * len(samples) // SAMPLES])


def compared(pattern: str = "") -> Iterator[tuple[str, tuple[str, str], tuple[str, str]]]:
    """(operator, PyTorch's class and text, ours) for each call that PyTorch refuses."""
    for op in op_db:
        ours = counterpart(op)
        if (
            ours is None
            or LEFT_OUT.match(name_of(op))
            or pattern
            and not re.fullmatch(pattern, name_of(op))
        ):
            continue
        for input, args, kwargs in calls(op):
            try:  # before PyTorch's call, which may change `out=` before it fails
                bases = bases_of((input, tuple(args), [*kwargs.values()]))
                own, own_args, own_kwargs = (
                    carried(input, bases),
                    carried(tuple(args), bases),
                    {k: carried(v, bases) for k, v in kwargs.items()},
                )
            except Exception:  # Pellucid has no such values
                continue
            try:
                op.op(input, *args, **kwargs)
                continue
            except Exception as error:
                theirs = type(error).__name__, str(error)
            try:
                ours(own, *own_args, **own_kwargs)
                found = "accepted", ""
            except Exception as error:
                found = type(error).__name__, str(error)
            yield name_of(op), theirs, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="")
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = list(compared(args.names))
    differing = [f for f in found if f[1] != f[2]]
    print(f"{len(found) - len(differing)} of {len(found)} errors are equal", file=sys.stderr)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(differing, file, indent=1)


if __name__ == "__main__":
    main()
