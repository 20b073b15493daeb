"""Hostile files: whatever is in one, reading it ends soon, in little memory, executes nothing and
touches no other file.

What comes out is sane (exact types, every tensor inside its memory) or it is one of the errors that
the reader may raise.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import copy
import gzip
import importlib
import io
import json
import os
import pickle
import random
import struct
import sys
import tempfile
import time
import warnings
from collections import Counter, OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hostile
import numpy as np
import torchscript

import pellucid as torch
from pellucid import datasets, dtypes
from pellucid.arrays.meta import MetaArray
from pellucid.core.tensor import Parameter, Tensor
from pellucid.devices import Size
from pellucid.interop import safetensors
from pellucid.jit._code import is_kind
from pellucid.ops.shape.storage import TypedStorage, UntypedStorage
from pellucid.serialization import _restricted

NEEDS_TORCH = False
KNOWN: dict[str, str] = {}
SECONDS, MEMORY = 5.0, 768 << 20  # what one file of a few kB may take


# ---- drawing: pickles ---------------------------------------------------------------------------
def glob(path: str) -> list[Any]:
    return ["global", *path.rsplit(".", 1)]


UTILS = "torch._utils."
FLOATS = ["storage", "torch.FloatStorage", "0", "cpu", 4]
BYTES = ["storage", "torch.storage.UntypedStorage", "1", "cpu", 16]
ORDERED = ["call", glob("collections.OrderedDict"), ["tuple"]]
TWO = ["tuple", 2]
ONE = ["tuple", 1]
TENSOR = [
    "call",
    glob(UTILS + "_rebuild_tensor_v2"),
    ["tuple", FLOATS, 0, TWO, ONE, False, ORDERED],
]
CALLS: dict[str, list[Any]] = {
    UTILS + "_rebuild_tensor": [FLOATS, 0, TWO, ONE],
    UTILS + "_rebuild_tensor_v2": [FLOATS, 0, TWO, ONE, False, ORDERED, ["dict", ["conj", False]]],
    UTILS + "_rebuild_tensor_v3": [
        BYTES,
        0,
        TWO,
        ONE,
        False,
        ORDERED,
        glob("torch.complex64"),
        ["dict", ["conj", True]],
    ],
    UTILS + "_rebuild_parameter": [TENSOR, True, ORDERED],
    UTILS + "_rebuild_parameter_with_state": [TENSOR, True, ORDERED, ["dict", ["note", 1]]],
    UTILS + "_rebuild_meta_tensor_no_storage": [glob("torch.float32"), TWO, ONE, False],
    "torch._tensor._rebuild_from_type_v2": [
        glob(UTILS + "_rebuild_tensor_v2"),
        glob("torch.nn.parameter.Parameter"),
        ["tuple", FLOATS, 0, TWO, ONE, False, ORDERED],
        ["tuple", ["dict", ["note", 1]], ["dict"]],
    ],
    "collections.OrderedDict": [["list", ["list", "a", 1]]],
    "collections.Counter": [["dict", ["a", 1]]],
    "torch.nn.parameter.Parameter": [TENSOR, True],
    "torch.Size": [["tuple", 1, 2]],
    "torch.device": ["cuda", 1],
    "torch.serialization._get_layout": ["torch.strided"],
    "_codecs.encode": ["abc", "latin1"],
    "builtins.bytearray": ["abc", "latin1"],
    "builtins.set": [["list", 1, 2]],
    "builtins.complex": [1.0, 2.0],
    "torch.nn.utils.rnn.PackedSequence": [
        [
            "call",
            glob(UTILS + "_rebuild_tensor"),
            ["tuple", FLOATS, 0, ["tuple", 2, 2], ["tuple", 2, 1]],
        ],
        [
            "call",
            glob(UTILS + "_rebuild_tensor"),
            ["tuple", ["storage", "torch.LongStorage", "2", "cpu", 2], 0, TWO, ONE],
        ],
        None,
        None,
    ],
}
OTHERS = (
    "torch.Tensor",
    "torch.float32",
    "torch.uint8",
    "torch.bool",
    "torch.FloatStorage",
    "torch.BoolStorage",
    "torch._utils._rebuild_sparse_tensor",
    "torch._utils._rebuild_qtensor",
    "torch.storage._load_from_bytes",
    "torch.load",
    "os.system",
    "posix.system",
    "builtins.eval",
    "builtins.getattr",
    "builtins.object",
    "collections.OrderedDict.fromkeys",
    "torch.nn.parameter.Parameter.__reduce_ex__",
    "numpy.core.multiarray._reconstruct",
    "sys.modules",
    "torch.hub.load",
    "functools.partial",
    "torch.Size.__new__",
    "__builtin__.set",
)
NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    5,
    127,
    1 << 31,
    1 << 40,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    -(1 << 63),
    1 << 80,
    -(1 << 80),
)
NAMES = (
    "",
    "a",
    "0",
    "cpu",
    "cuda:0",
    "cuda:-1",
    "meta",
    "note",
    "grad",
    "__class__",
    "__dict__",
    "requires_grad",
    "shape",
    "_array",
    "_is_param",
    "items",
    "keys",
    "dtype",
    "numpy",
    "conj",
    "neg",
    "latin1",
    "zlib",
    "idna",
    "torch.strided",
    "x" * 5000,
    "\ud800",
)
SPECIAL: tuple[Any, ...] = (
    ["deep", 100_000, "tuple"],
    ["deep", 100_000, "list"],
    ["dag", 60, "tuple"],
    ["dag", 60, "list"],
    ["collide", 3000],
    ["int", "9" * 3000],
    ["int", "-" + "9" * 4200],
    ["float", "nan"],
    ["float", "inf"],
)


def leaf(r: random.Random) -> Any:
    return r.choice(
        (
            lambda: None,
            lambda: r.random() < 0.5,
            lambda: ["int", str(r.choice(NUMBERS))],
            lambda: r.choice((0.5, -1.0, 1e300)),
            lambda: r.choice(NAMES),
            lambda: ["bytes", bytes(r.randrange(256) for _ in range(r.randrange(12))).hex()],
            lambda: glob(r.choice((*CALLS, *OTHERS))),
            lambda: copy.deepcopy(r.choice(SPECIAL)),
            lambda: ["get", r.randrange(6)],
            lambda: [
                "storage",
                r.choice(
                    (
                        "torch.FloatStorage",
                        "torch.BoolStorage",
                        "torch.storage.UntypedStorage",
                        "torch.ByteStorage",
                        "torch.Tensor",
                    )
                ),
                r.choice(("0", "1", "2", "3", "../../etc/passwd")),
                r.choice(("cpu", "cuda:0", "meta", "x", 5)),
                r.choice((4, 16, 8, 1, 0, -1, 1 << 40, 1 << 62, 0.5)),
            ],
        )
    )()


def value(r: random.Random, depth: int) -> Any:
    """An expression, most of them with something wrong in it."""
    if depth <= 0:
        return leaf(r)
    form = r.random()
    if form < 0.5:
        return call(r, depth)
    if form < 0.6:
        return ["build", r.choice((ORDERED, TENSOR, call(r, depth - 1))), state(r, depth - 1)]
    if form < 0.68:
        return [r.choice(("list", "tuple")), *(value(r, depth - 1) for _ in range(r.randrange(4)))]
    if form < 0.75:
        return [
            "dict",
            *([value(r, depth - 1), value(r, depth - 1)] for _ in range(r.randrange(3))),
        ]
    if form < 0.79:
        return ["items", value(r, depth - 1), [value(r, depth - 1), value(r, depth - 1)]]
    if form < 0.82:
        return [r.choice(("append", "add")), value(r, depth - 1), value(r, depth - 1)]
    if form < 0.86:
        return ["put", r.randrange(6), value(r, depth - 1)]
    if form < 0.89:
        return [
            "pid",
            r.choice(
                (
                    value(r, depth - 1),
                    ["tuple", "storage", *(value(r, depth - 1) for _ in range(r.randrange(6)))],
                )
            ),
        ]
    if form < 0.92:
        return ["raw", bytes(r.randrange(256) for _ in range(r.randrange(1, 10))).hex()]
    return leaf(r)


def state(r: random.Random, depth: int) -> Any:
    if r.random() < 0.3:
        return value(r, depth)
    return ["dict", *([r.choice(NAMES), value(r, depth - 1)] for _ in range(r.randrange(1, 3)))]


def call(r: random.Random, depth: int) -> Any:
    """A call with right arguments, of which some are replaced."""
    name = r.choice(tuple(CALLS))
    arguments = copy.deepcopy(CALLS[name])
    for _ in range(r.choice((0, 1, 1, 1, 2))):
        k = r.randrange(len(arguments)) if arguments else 0
        form = r.random()
        if form < 0.7 and arguments:
            arguments[k] = value(r, depth - 1) if r.random() < 0.8 else state(r, depth)
        elif form < 0.85 and arguments:
            inner = arguments[k]
            if isinstance(inner, list) and inner[0] in ("tuple", "list", "dict") and len(inner) > 1:
                inner[r.randrange(1, len(inner))] = value(r, depth - 1)
            else:
                del arguments[k]
        else:
            arguments.insert(k, value(r, depth - 1))
    function = glob(name) if r.random() < 0.95 else value(r, depth - 1)
    wrapped = ["tuple", *arguments] if r.random() < 0.97 else value(r, depth - 1)
    return [r.choice(("call", "call", "call", "new")), function, wrapped]


# ---- drawing: what is around them -----------------------------------------------------------------
def records(r: random.Random) -> list[dict[str, Any]]:
    return [
        {
            "name": "archive/data.pkl",
            "content": {
                "pickle": ["list", value(r, r.randrange(1, 5)) if r.random() < 0.9 else TENSOR]
            },
        },
        {"name": "archive/version", "content": "3\n"},
        {"name": "archive/byteorder", "content": "little"},
        {"name": "archive/data/0", "content": {"repeat": ["0000803f", 4]}},
        {"name": "archive/data/1", "content": {"hex": "ff" * 16}},
        {"name": "archive/data/2", "content": {"hex": "02000000000000000000000000000000"}},
    ]


def draw_archive(r: random.Random) -> dict[str, Any]:
    found = records(r)
    end: dict[str, int] = {}
    for _ in range(r.choice((0, 0, 1, 1, 2)) if r.random() < 0.6 else 0):
        record = r.choice(found)
        size = r.choice(
            (0, 1, 15, 17, 1 << 20, 1 << 30, (1 << 31) - 1, (1 << 32) - 1, (1 << 32) - 2)
        )
        change = r.choice(
            (
                "size",
                "packed",
                "offset",
                "crc",
                "flags",
                "method",
                "local",
                "same",
                "bomb",
                "name",
                "end",
                "deflate",
                "copy",
            )
        )
        if change == "bomb":
            count = r.choice((1 << 16, 1 << 21, 1 << 24))
            record["content"], record["deflate"] = (
                {"repeat": [r.choice(("00", "28", "5d", "4e")), count]},
                True,
            )
            if r.random() < 0.3:
                record["size"] = size
        elif change == "deflate":
            record["deflate"] = True
        elif change == "same":
            record["same"] = r.randrange(len(found))
        elif change == "name":
            record["name"] = r.choice(
                (
                    "archive/data/0",
                    "archive/data.pkl",
                    "../x",
                    "/etc/passwd",
                    "archive/../../x",
                    "",
                    "a\0b",
                    "archive/constants.pkl",
                )
            )
        elif change == "local":
            record["local"] = r.choice(("x", "archive/data/1", ""))
        elif change == "end":
            end[r.choice(("count", "total", "size", "offset"))] = size
        elif change == "copy":
            found.append(dict(record))
        elif change == "method":
            record["method"] = r.choice((8, 12, 14, 93, 1))
        elif change == "flags":
            record["flags"] = r.choice((1, 8, 0x20, 0x40, 0x800, 0xFFFF))
        else:
            record[change] = size
    return {"kind": "archive", "records": found, "end": end, **how(r), **edits(r)}


def draw_script(r: random.Random) -> dict[str, Any]:
    found = torchscript.records(r, glob, TENSOR, value)
    return {"kind": "script", "records": found, "end": {}, **edits(r)}


def how(r: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if r.random() < 0.2:
        found["map"] = r.choice(("cpu", "meta", "dict", "same", "none", "other", "wrong", "short"))
    if r.random() < 0.15:
        found["mmap"] = True
    if r.random() < 0.1:
        found["safe"] = True
    return found


def edits(r: random.Random) -> dict[str, Any]:
    if r.random() < 0.8:
        return {}
    if r.random() < 0.3:
        return {"cut": r.random()}
    return {"edits": [[r.random(), r.randrange(256)] for _ in range(r.choice((1, 1, 2, 8)))]}


def draw_legacy(r: random.Random) -> dict[str, Any]:
    count = r.choice((4, 4, 4, 3, -1, 1 << 40))
    parts: list[Any] = [
        {"pickle": ["int", str(0x1950A86A20F9469CFC6C)]},
        {"pickle": 1001},
        {"pickle": ["dict", ["little_endian", True]]},
        {"pickle": ["list", value(r, r.randrange(1, 4)), TENSOR]},
        {"pickle": ["list", "0"]},
        {"storage": [count, r.choice((16, 16, 3, 0))]},
    ]
    if r.random() < 0.4:
        k = r.randrange(len(parts))
        parts[k] = {"pickle": value(r, 2)} if r.random() < 0.7 else {"storage": [count, 8]}
    if r.random() < 0.1:
        huge = struct.pack("<Q", r.choice((1 << 30, 1 << 40, 1 << 62))).hex()
        parts[3] = {"hex": "8004" + r.choice(("95", "8e", "8d")) + huge}
    return {"kind": "legacy", "parts": parts, **how(r), **edits(r)}


def draw_safetensors(r: random.Random) -> dict[str, Any]:
    def entry() -> Any:
        return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}

    header: Any = {
        "a": entry(),
        "b": {"dtype": "I64", "shape": [2], "data_offsets": [16, 32]},
        "__metadata__": {"format": "pt"},
    }
    for _ in range(r.choice((0, 1, 1, 2))):
        name = r.choice(tuple(header))
        odd = r.choice(
            (
                None,
                -1,
                0,
                1,
                1 << 40,
                1 << 63,
                1 << 64,
                0.5,
                "x",
                [],
                [1 << 62, 1 << 62],
                {},
                True,
                [[2]],
                [0, 16],
                [8, 4],
                [0, 1 << 62],
            )
        )
        if r.random() < 0.8 and isinstance(header[name], dict) and header[name]:
            header[name][r.choice(("dtype", "shape", "data_offsets", "more"))] = (
                odd if r.random() < 0.8 else r.choice(("F8_E4M3", "BOOL", "F4", "C64"))
            )
        else:
            header[name] = odd
    case: dict[str, Any] = {
        "kind": "safetensors",
        "header": json.dumps(header),
        "data": r.choice((32, 32, 0, 31, 33)),
        **edits(r),
    }
    form = r.random()
    if form < 0.1:
        case["length"] = r.choice(
            (0, 1, 1 << 20, 100_000_001, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)
        )
    elif form < 0.2:
        case["header"] = r.choice(
            (
                "",
                "{",
                "[]",
                "5",
                "{" * 50_000,
                "[" * 50_000,
                '{"a":' * 20_000,
                '{"a":1,"a":2}',
                '{"\ud83d":1}',
                "{}" + " " * 9,
                "NaN",
                '{"a":NaN}',
                '{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}',
            )
        )
    return case


def value_info(name: str) -> list[Any]:
    return [[1, name], [2, [[1, [[1, 1], [2, [[1, [[1, 2]]]]]]]]]]


def draw_onnx(r: random.Random) -> dict[str, Any]:
    weight: list[Any] = [[1, 2], [2, 1], [8, "w"], [9, {"hex": "0000803f0000803f"}]]
    node = [[1, "x"], [1, "w"], [2, "y"], [4, "Add"]]
    graph: list[Any] = [
        [1, node],
        [2, "g"],
        [5, weight],
        [11, value_info("x")],
        [12, value_info("y")],
    ]
    model: list[Any] = [[1, 8], [7, graph], [8, [[1, ""], [2, 18]]]]
    external = r.choice(
        (
            "x.bin",
            "../x.bin",
            "/etc/passwd",
            "link",
            "folder/../../x.bin",
            "",
            "fifo",
            ".",
            "linked/x.bin",
            "a\0b",
        )
    )
    for _ in range(r.choice((1, 1, 2, 3))):
        change = r.randrange(11)
        if change == 0:
            weight += [[13, [[1, "location"], [2, external]]], [14, 1]]
            weight[:] = [f for f in weight if f[0] != 9]
        elif change == 1:
            weight += [[13, [[1, "location"], [2, "x.bin"]]], [14, 1]]
            weight += [
                [
                    13,
                    [
                        [1, r.choice(("offset", "length"))],
                        [2, r.choice(("-1", "1", "8", "9" * 30, "x", "1e3", str(1 << 62)))],
                    ],
                ]
            ]
        elif change == 2:
            weight += [
                [1, r.choice((0, 1 << 40, 1 << 62, -1, 1 << 31))]
                for _ in range(r.choice((1, 2, 70)))
            ]
        elif change == 3:
            weight[1] = [2, r.choice((0, 7, 8, 9, 10, 14, 15, 16, 17, 20, 21, 22, 99, -1, 1 << 62))]
        elif change == 4:
            graph.append([5, copy.deepcopy(weight)])
        elif change == 5:
            node += [
                [
                    5,
                    [
                        [1, "a"],
                        [20, r.randrange(16)],
                        [r.choice((2, 3, 4, 5, 6, 7, 8, 9, 14, 22)), odd_field(r)],
                    ],
                ]
            ]
        elif change == 6:  # circles: nodes that read each other, functions that call themselves
            graph += [
                [1, [[1, "q"], [2, "p"], [4, "Relu"]]],
                [1, [[1, "p"], [2, "q"], [4, "Relu"]]],
            ]
        elif change == 7:
            inner = [
                [1, "f"],
                [4, "x"],
                [5, "y"],
                [7, [[1, "x"], [2, "y"], [4, "f"], [7, "d"]]],
                [9, [[1, ""], [2, 18]]],
                [10, "d"],
            ]
            model.append([25, inner])
            graph.append([1, [[1, "x"], [2, "z"], [4, "f"], [7, "d"]]])
        elif change == 8:
            sparse = [
                [1, weight],
                [2, [[1, 2], [2, 7], [9, {"zeros": 16}]]],
                [3, r.choice((2, -1, 1 << 40, 1 << 62, 0))],
            ]
            graph.append([15, sparse])
        elif change == 9:
            deep = {
                "deep": [
                    r.choice((50, 70, 1500)),
                    r.choice(([1, 5, 6], [7, 1, 5, 6], [25, 7, 5, 6], [4, 1, 1], [22, 1])),
                ]
            }
            r.choice((model, graph, node, weight)).append(
                [r.choice((1, 5, 6, 7, 15, 22, 25)), deep]
            )
        else:
            r.choice((model, graph, node, weight)).append([r.randrange(30), odd_field(r)])
    return {"kind": "onnx", "model": model, **edits(r)}


def odd_field(r: random.Random) -> Any:
    return r.choice(
        (
            r.choice(NUMBERS) & ((1 << 64) - 1),
            "x",
            "",
            {"hex": "ff" * r.randrange(12)},
            {"zeros": r.choice((1, 8, 5000))},
            {"float": "nan"},
            {"wire": [r.randrange(8), "ff" * r.randrange(11)]},
            [[1, 1 << 62], [2, 1], [9, {"hex": "00"}]],
            [],
            value_info("x"),
        )
    )


def draw_data(r: random.Random) -> dict[str, Any]:
    which = r.choice(("idx", "npz", "gzip"))
    sizes = [
        r.choice((0, 1, 2, 3, 1 << 16, 1 << 31, (1 << 32) - 1))
        for _ in range(r.choice((0, 1, 2, 3, 8, 100, 255)))
    ]
    head = bytes([0, 0, r.choice((8, 9, 11, 12, 13, 14, 99)), len(sizes)]) + b"".join(
        struct.pack(">I", n) for n in sizes
    )
    if which == "npz":
        shape = r.choice(
            (
                "(2,)",
                "(2, 1)",
                "()",
                "(-1,)",
                f"({1 << 40},)",
                f"({1 << 62}, 4)",
                "(2" + ",0" * 70 + ")",
                "x",
                "(1.5,)",
                "(True,)",
            )
        )
        kind = r.choice(
            (
                "<f4",
                "<f8",
                "|O",
                "|V8",
                "<U4",
                "[('a', '<f4')]",
                "<M8[s]",
                "|b1",
                "x",
                "<f99",
                "|S0",
            )
        )
        described = f"{{'descr': {kind!r}, 'fortran_order': {r.choice(('False', 'True', '5'))}, 'shape': {shape}, }}"
        described = r.choice(
            (
                described,
                described,
                described,
                "{" * 3000,
                "(" * 3000 + ")" * 3000,
                "__import__('os')",
                "-" * 9000 + "1",
            )
        )
        text = described.encode() + b"\n"
        array = (
            b"\x93NUMPY\x01\0"
            + struct.pack("<H", len(text) & 0xFFFF)
            + text
            + bytes(r.choice((8, 16, 0)))
        )
        record: dict[str, Any] = {
            "name": r.choice(("x.npy", "x", "../x.npy")),
            "content": {"hex": array.hex()},
        }
        if r.random() < 0.3:
            record |= {"deflate": True} | r.choice(
                ({}, {"size": 1 << 31}, {"method": 14}, {"content": {"zeros": 1 << 25}})
            )
        return {"kind": "npz", "records": [record], "end": {}, **edits(r)}
    if which == "gzip":
        return {
            "kind": "gzip",
            "idx": head[:4].hex(),
            "zeros": r.choice((0, 100, 1 << 20, 1 << 20, 1 << 20, 5 << 24)),
            **edits(r),
        }
    return {"kind": "idx", "hex": (head + bytes(r.choice((0, 1, 2, 6, 24)))).hex(), **edits(r)}


def draw_cache(r: random.Random) -> dict[str, Any]:
    return {
        "kind": "cache",
        "payload": r.randrange(200),
        "name": r.choice(("a", "b")),
        "mode": r.choice((0o600, 0o600, 0o644, 0o666)),
        **edits(r),
    }


def draw(r: random.Random) -> dict[str, Any]:
    form = r.random()
    for share, make in (
        (0.5, draw_archive),
        (0.62, draw_script),
        (0.72, draw_legacy),
        (0.79, draw_safetensors),
        (0.90, draw_onnx),
        (0.97, draw_data),
        (1.0, draw_cache),
    ):
        if form < share:
            return make(r)
    raise AssertionError


# ---- reading -----------------------------------------------------------------------------------------
def damaged(data: bytes, case: dict[str, Any]) -> bytes:
    if "cut" in case:
        data = data[: int(len(data) * case["cut"])]
    changed = bytearray(data)
    for where, byte in case.get("edits", ()):
        if changed:
            changed[int(where * len(changed))] = byte
    return bytes(changed)


def map_location(word: str | None) -> Any:
    short = UntypedStorage(np.zeros(1, np.uint8))
    return {
        "dict": {"cuda:0": "cpu", "x": "meta"},
        "same": lambda storage, place: storage,
        "none": lambda storage, place: None,
        "other": lambda storage, place: storage.clone(),
        "wrong": lambda storage, place: 5,
        "short": lambda storage, place: short,
    }.get(word, word)  # type: ignore[arg-type]


def begin() -> None:
    """From here on, what the reader does is watched: the files that a case needs are there."""
    global events
    events = []


def load_torch(data: bytes, case: dict[str, Any]) -> Any:
    options: dict[str, Any] = {"map_location": map_location(case.get("map")), "weights_only": True}
    allowed = [torch.nn.utils.rnn.PackedSequence] if case.get("safe") else []
    with torch.serialization.safe_globals(allowed):
        if case.get("mmap"):
            Path("x.pt").write_bytes(data)
            begin()
            return torch.load("x.pt", mmap=True, **options)
        begin()
        return torch.load(io.BytesIO(data), **options)


def load_script(data: bytes, case: dict[str, Any]) -> Any:
    global running
    begin()
    with contextlib.redirect_stdout(None):
        found = torch.jit.load(io.BytesIO(data), _extra_files={"note": ""})
        if not isinstance(found, torch.nn.Module):
            return None if is_kind(type(found)) else found
        # as the library has it: the archive may have methods and attributes of these names
        parts = list(torch.nn.Module.state_dict(found).values())
        running = True  # for which the library writes code of its own
        for x in (torch.ones(4), torch.ones(2, 2)):
            # the code in it may fail, and nothing else
            with contextlib.suppress(Exception):
                parts.append(found(x))
        running = False
    return [part for part in parts if isinstance(part, Tensor)]


def load_onnx(data: bytes, case: dict[str, Any]) -> Any:
    os.makedirs("model/folder")
    Path("model/x.bin").write_bytes(bytes(8))
    Path("x.bin").write_bytes(bytes(8))
    os.symlink("../x.bin", "model/link")
    os.symlink("..", "model/linked")
    os.mkfifo("model/fifo")
    Path("model/m.onnx").write_bytes(data)
    begin()
    model = torch.onnx.load("model/m.onnx")
    repr(model)
    return {**model.state_dict()}


def load_data(data: bytes, case: dict[str, Any]) -> Any:
    Path("data").write_bytes(data)
    begin()
    if case["kind"] == "npz":
        return list(datasets.NPZDataset("data").tensors)
    return torch.from_numpy(datasets.read_idx("data"))


def load_cache(data: bytes, case: dict[str, Any]) -> Any:
    from pellucid.llvm import cache

    os.environ.update(PELLUCID_CACHE_DIR=os.path.abspath("cache"), HOME=os.path.abspath("."))
    cache.store("a", data)
    path = Path("cache/a.o")
    stored = path.read_bytes()
    planted = damaged(stored, case)
    target = Path("cache") / (case["name"] + ".o")
    target.write_bytes(planted)
    target.chmod(case["mode"])
    genuine = planted == stored and case["name"] == "a" and not case["mode"] & 0o022
    found = cache.load(case["name"])
    assert found == (data if genuine else None), "the cache gave back what was not stored"
    return None


def safetensors_bytes(case: dict[str, Any]) -> bytes:
    header = case["header"].encode("utf-8", "surrogatepass")
    return struct.pack("<Q", case.get("length", len(header))) + header + bytes(case["data"])


READERS: dict[str, tuple[Any, Any]] = {
    "archive": (lambda case: hostile.archive(case["records"], case["end"]), load_torch),
    "script": (lambda case: hostile.archive(case["records"], case["end"]), load_script),
    "legacy": (lambda case: hostile.legacy(case["parts"]), load_torch),
    "safetensors": (safetensors_bytes, lambda data, case: safetensors.load(data)),
    "onnx": (lambda case: hostile.message(case["model"]), load_onnx),
    "npz": (lambda case: hostile.archive(case["records"], case["end"]), load_data),
    "idx": (lambda case: bytes.fromhex(case["hex"]), load_data),
    "gzip": (
        lambda case: gzip.compress(bytes.fromhex(case["idx"]) + bytes(case["zeros"]), 6),
        load_data,
    ),
    "cache": (lambda case: bytes(case["payload"]), load_cache),
}


def errors_of(kind: str) -> tuple[type[BaseException], ...]:
    """What a reader may raise, the classes that its documentation names."""
    if kind in ("archive", "legacy", "script"):
        return (pickle.UnpicklingError, RuntimeError, ValueError, EOFError)
    if kind == "safetensors":
        from safetensors import SafetensorError

        return (SafetensorError, ValueError)
    return (RuntimeError,) if kind == "onnx" else (ValueError,)


# ---- what may not happen -----------------------------------------------------------------------------
WATCHED = (
    "os.",
    "subprocess.",
    "socket.",
    "shutil.",
    "ctypes.dlopen",
    "exec",
    "compile",
    "import",
    "pty.",
    "webbrowser.",
)
events: list[str] | None = None
ready = running = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    if events is None:
        return
    if event == "open":
        path, mode = arguments[0], arguments[1] or ""
        # of an ONNX file, its own folder
        here = os.path.join(os.getcwd(), "model") if os.path.isdir("model") else os.getcwd()
        inside = isinstance(path, int) or os.path.realpath(os.fsdecode(path)).startswith(here)
        if not inside or (isinstance(mode, str) and set(mode) & set("wax+")):
            events.append(f"open {path!r} {mode!r}")
    elif event == "compile" and arguments[1] == "<unknown>":
        pass  # NumPy parses the header of an array with ast.literal_eval: nothing is executed
    elif event in ("compile", "exec") and (
        running or is_known(event, *arguments[:1], arguments[-1])
    ):
        pass
    elif running and event == "import":
        pass
    elif event.startswith(WATCHED) and event not in ("os.listdir", "os.scandir"):
        events.append(f"{event} {arguments!r}"[:200])


def is_known(event: str, what: Any, name: Any) -> bool:
    """Whether this is code that the library writes for its own calls, checked code of a TorchScript
    archive, or makes a named tuple of it.
    """
    file = str(name) if event == "compile" else what.co_filename
    if file.startswith(os.path.dirname(torch.__file__)):
        return True
    if event == "compile":
        return isinstance(what, ast.Module) or bytes(what).startswith(b"lambda _cls,")
    return file.endswith(" of an archive>") or any(
        getattr(inner, "co_names", None) == ("_tuple_new",) for inner in what.co_consts
    )


def prepare() -> None:
    """Once in a process: what it may take, and whom it tells of what it does."""
    global ready
    if ready:
        return
    ready = True
    import resource

    warnings.simplefilter("ignore")
    for words in ("hints", "overloads"):  # read when the first error is made
        importlib.import_module(f"pellucid.api.messages.{words}")
    importlib.import_module("pellucid.api.entries")
    torch.ops.aten.add.overloads()  # reads the schemas
    importlib.import_module("unicodedata")  # read for the first name that is not ASCII
    importlib.import_module("pellucid.ops._overloads").listed()
    sys.addaudithook(watch)
    used = (
        int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        if sys.platform == "linux"
        else 8 << 30
    )
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))


MAKERS = (draw_archive, draw_script, draw_legacy, draw_safetensors, draw_onnx, draw_data)


def warm() -> None:
    """Once before all cases: whatever the readers import when they are first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(60):
            make = MAKERS[seed % len(MAKERS)]
            case = make(random.Random(seed))
            with contextlib.suppress(Exception), place():
                READERS[case["kind"]][1](damaged(READERS[case["kind"]][0](case), case), case)
    importlib.import_module("pellucid.api.messages.hints")  # what words an error
    codecs.lookup("latin1"), codecs.lookup("ascii"), codecs.lookup("utf-8")


@contextlib.contextmanager
def place() -> Iterator[None]:
    """An empty folder to work in."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="pellucid-files-") as folder:
        os.mkdir(os.path.join(folder, "inside"))
        os.chdir(os.path.join(folder, "inside"))
        try:
            yield
            if os.listdir(folder) != ["inside"]:
                raise AssertionError(f"a file was written outside: {os.listdir(folder)}")
        finally:
            os.chdir(before)


def run(case: dict[str, Any]) -> str | None:
    global events
    prepare()
    events = None
    make, load = READERS[case["kind"]]
    try:
        data = make(case)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, struct.error):
        return None  # a part was left out that its description needs
    if case["kind"] != "cache":
        data = damaged(data, case)
    with place():
        start, seen = time.process_time(), list[str]()
        try:
            found = load(data, case)
            # what was read is used next, for which the library may write code of its own
            seen, events = events or [], None
            problem = insane(found)
        except errors_of(case["kind"]) as error:
            problem = (
                None
                if str(error) or isinstance(error, EOFError)
                else f"an error without a text: {type(error).__name__}"
            )
        except MemoryError:
            problem = "memory: more than a file of this size may take"
        finally:
            seen, events = events or seen, None
        if problem is None and seen:
            problem = f"executed: {seen[0]}"
        spent = time.process_time() - start
        if problem is None and spent > SECONDS:
            problem = f"slow: {spent:.1f} s"
    return problem


def insane(found: Any) -> str | None:
    """What is wrong with what was read: types that no reader makes, tensors that reach out of their
    memory.
    """
    functions = {id(known) for known in (*_restricted.ALLOWED.values(), *_restricted.SAFE.values())}
    left, seen = [found], set()
    while left:
        here = left.pop()
        kind = type(here)
        if (
            id(here) in seen
            or here is None
            or kind
            in (
                bool,
                int,
                float,
                complex,
                str,
                bytes,
                bytearray,
                dtypes.dtype,
                torch.layout,
                torch.device,
            )
        ):
            continue
        seen.add(id(here))
        if kind in (list, tuple, set, Size):
            if kind is Size and any(type(n) is not int for n in here):
                return "insane: a Size of something else than integers"
            left.extend(here)
        elif kind in (dict, OrderedDict, Counter):
            left.extend(here.keys())
            left.extend(dict.values(here))
            if kind is OrderedDict and here.__dict__:
                bad = [
                    name
                    for name in here.__dict__
                    if type(name) is not str or hasattr(OrderedDict, name)
                ]
                if bad:
                    return "insane: an attribute hides a method"
                left.extend(here.__dict__.values())
        elif kind in (Tensor, Parameter):
            problem = insane_tensor(here)
            if problem:
                return "insane: " + problem
            left.extend(here.__dict__.values())
        elif kind is TypedStorage:
            left.append(here.untyped())
            if type(here.dtype) is not dtypes.dtype:
                return "insane: a storage without an element type"
            here.size()
        elif kind is UntypedStorage:
            owner = here._owner
            if type(owner) is np.ndarray:
                if owner.dtype.hasobject:
                    return "insane: a storage of objects"
                here.tolist()
            elif type(owner) is not MetaArray:
                return f"insane: a storage on {type(owner).__name__}"
        elif isinstance(here, torch.nn.utils.rnn.PackedSequence):
            left.extend(tuple(here))
            problem = use(lambda here=here: torch.nn.utils.rnn.pad_packed_sequence(here))
            if problem:
                return problem
        elif id(here) not in functions:
            return f"insane: an object of the type {kind.__name__}"
    return None


def insane_tensor(t: Any) -> str | None:
    array = t._array
    if t._rg not in (True, False) or not (t._grad is None or type(t._grad) is Tensor):
        return "flags of a tensor"
    if any(
        type(name) is not str or hasattr(Parameter, name) and name != "_is_param"
        for name in t.__dict__
    ):
        return "an attribute hides one of the class"
    if array.dtype not in dtypes.BY_NUMPY:
        return "an element type that does not exist"
    if (
        any(type(n) is not int or n < 0 for n in array.shape)
        or len(array.strides) != len(array.shape)
        or array.size >= 1 << 63
    ):
        return "sizes of a tensor"
    if type(array) is MetaArray:
        return None
    if type(array) is not np.ndarray or array.dtype.hasobject:
        return "an array of objects"
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if array.size:
        low, high = np.lib.array_utils.byte_bounds(array)
        first, last = np.lib.array_utils.byte_bounds(owner)
        if low < first or high > last:
            return "a tensor outside of its memory"
    if array.size <= 4096:
        return use(lambda: (repr(t), t.detach().clone(), t.detach().reshape(-1).tolist()))
    return None


def use(function: Any) -> str | None:
    """What was read can be used: nothing but an error of the library may come of it."""
    try:
        function()
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError):
        return None
    return None


# ---- making smaller ------------------------------------------------------------------------------------
def smaller(case: Any) -> Iterator[Any]:
    for key in ("edits", "cut", "map", "mmap", "safe"):
        if key in case:
            yield {k: v for k, v in case.items() if k != key}
    for key in ("records", "parts", "model", "end"):
        if key in case:
            for part in shrunk(case[key]):
                yield {**case, key: part}


def shrunk(part: Any) -> Iterator[Any]:
    """The part with something left out or made simple."""
    if isinstance(part, dict):
        for key in part:
            if key not in ("name", "content", "pickle", "storage", "hex", "deep"):
                yield {k: v for k, v in part.items() if k != key}
            for inner in shrunk(part[key]):
                yield {**part, key: inner}
    elif isinstance(part, list):
        form = part[0] if part and isinstance(part[0], str) else None
        if form is not None:
            yield None
            yield from (
                inner
                for inner in part[1:]
                if isinstance(inner, list) and inner and isinstance(inner[0], str)
            )
        for k in range(len(part) - 1, -1, -1):
            if form is None or (k and form in ("list", "tuple", "dict")):
                yield part[:k] + part[k + 1 :]
            if form not in ("global", "deep", "dag", "int", "raw", "bytes", "float"):
                for inner in shrunk(part[k]):
                    yield part[:k] + [inner] + part[k + 1 :]
    elif isinstance(part, int) and part > 1:
        yield 1


warm()
