"""Calls of every overload with tensors of the types of which PyTorch has few kernels, made with
PyTorch and with Pellucid, and compared: floats of eight bits and half complex numbers.

    python tests/oracle/small_types.py [--names PATTERN] [--types NAMES] [--json FILE]

The calls are those of `overloads.py` that PyTorch takes, one for each overload, with the tensors of
floats made of the type; then with one of them alone of the type; then `out=` of it.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
import overloads
from overloads import Call, T

TYPES = (
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "complex32",
)


def of_type(value: Any, kind: str) -> Any:
    """The value with its tensors of floats, which have no layout of their own, of the type."""
    if isinstance(value, T):
        floats = np.asarray(value.content).dtype.kind in "fc" and not value.layout
        return T(value.content, kind) if floats else value
    if isinstance(value, (list, tuple)):
        return type(value)(of_type(v, kind) for v in value)
    return value


def forms(call: Call, kind: str, out: bool) -> Iterator[Call]:
    """The call with all tensors of the type, with each of them alone, and with `out=` of it."""

    def new(form: str, args: list[Any], kwargs: dict[str, Any]) -> Call:
        return Call(call.path, call.schema, f"{form} {kind}", args, kwargs)

    every = [of_type(a, kind) for a in call.args]
    named = {k: of_type(v, kind) for k, v in call.kwargs.items()}
    changed = [i for i, (a, b) in enumerate(zip(call.args, every, strict=True)) if a is not b]
    changed = [i for i in changed if repr(call.args[i]) != repr(every[i])]
    if changed or repr(named) != repr(call.kwargs):
        yield new("all", every, named)
        if len(changed) > 1:
            for i in changed:
                yield new(
                    f"alone {i}", [*call.args[:i], every[i], *call.args[i + 1 :]], call.kwargs
                )
    if out:
        result, _ = overloads.made(call, torch)
        if isinstance(result, list) and result[0][0] == "tensor":
            yield new(
                "out", call.args, call.kwargs | {"out": T(np.zeros(result[0][3], np.float32), kind)}
            )


def calls(pattern: str, kinds: tuple[str, ...]) -> Iterator[Call]:
    seen = set()
    for path, schema, out in overloads.schemas():
        if pattern and not re.fullmatch(pattern, path):
            continue
        found = overloads.base_call(path, schema)
        for kind in kinds if found is not None else ():
            for call in forms(found[0], kind, out):
                key = repr((call.path, call.args, call.kwargs))
                if key not in seen:
                    seen.add(key)
                    yield call


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--names", default="")
    parser.add_argument("--types", default=" ".join(TYPES))
    parser.add_argument("--json", default="")
    args = parser.parse_args()
    torch.set_num_threads(1)
    counts: collections.Counter[str] = collections.Counter()
    lines = []
    for call in calls(args.names, tuple(args.types.split())):
        found, theirs, ours = overloads.compared(call)
        counts[found or "equal"] += 1
        lines.append(
            [
                call.path,
                call.schema,
                call.form,
                repr((call.args, call.kwargs)),
                found,
                repr(theirs),
                repr(ours),
            ]
        )
    print(json.dumps(dict(counts.most_common())))
    if args.json:
        Path(args.json).write_text(json.dumps(lines, indent=0))


if __name__ == "__main__":
    main()
