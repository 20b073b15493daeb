"""Bytes of hostile files from short descriptions that JSON can hold: pickles, ZIP archives, files
of the old format, protobuf.

An expression is a number, a text, None or a flag, or a list whose first entry says what it is:

    ["list", ...], ["tuple", ...], ["dict", [key, value], ...], ["bytes", hex], ["int", digits], ["float", text]
    ["global", module, name], ["call", function, arguments], ["new", class, arguments], ["build", object, state]
    ["storage", class, key, location, count], ["pid", expression]
    ["items", object, [key, value], ...], ["append", object, ...], ["add", set, ...]
    ["put", number, expression], ["get", number]
    ["deep", count, "tuple" | "list"], ["dag", count, "tuple" | "list"], ["collide", count], ["raw", hex]
"""

from __future__ import annotations

import binascii
import struct
import zlib
from typing import Any


def text(value: str) -> bytes:
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def integer(n: int) -> bytes:
    if -(1 << 31) <= n < 1 << 31:
        return b"J" + struct.pack("<i", n)
    data = n.to_bytes(n.bit_length() // 8 + 1, "little", signed=True)
    return (
        b"\x8a" + bytes([len(data)]) if len(data) < 256 else b"\x8b" + struct.pack("<i", len(data))
    ) + data


def real(value: str) -> bytes:
    return b"G" + struct.pack(">d", float(value))


def entries(items: Any) -> bytes:
    return b"".join(assembled(part) for part in items)


def nested(count: int, kind: str) -> bytes:
    return b")" + b"\x85" * count if kind == "tuple" else b"]" * (count + 1) + b"a" * count


def shared(count: int, kind: str) -> bytes:
    """A value that holds another one twice, which holds another one twice ..."""
    if kind == "tuple":
        return b")" + b"".join(
            b"r" + struct.pack("<I", 900 + k) + b"j" + struct.pack("<I", 900 + k) + b"\x86"
            for k in range(count)
        )
    made = b"]"
    for k in range(count):
        here = struct.pack("<I", 900 + k)
        made += b"r" + here + b"0](j" + here + b"j" + here + b"e"
    return made


def colliding(count: int) -> bytes:
    """A dict whose keys have one hash."""
    return b"}(" + b"".join(integer(k * ((1 << 61) - 1)) + b"N" for k in range(1, count)) + b"u"


FORMS = {
    "list": lambda *items: b"](" + entries(items) + b"e",
    "tuple": lambda *items: b"(" + entries(items) + b"t",
    "dict": lambda *pairs: b"}(" + b"".join(entries(pair) for pair in pairs) + b"u",
    "bytes": lambda data: b"B" + struct.pack("<I", len(data) // 2) + bytes.fromhex(data),
    "int": lambda digits: integer(int(digits)),
    "float": real,
    "global": lambda module, name: f"c{module}\n{name}\n".encode(),
    "call": lambda function, arguments: assembled(function) + assembled(arguments) + b"R",
    "new": lambda cls, arguments: assembled(cls) + assembled(arguments) + b"\x81",
    "build": lambda target, state: assembled(target) + assembled(state) + b"b",
    "storage": lambda kind, key, location, count: (
        b"("
        + text("storage")
        + assembled(["global", *kind.rsplit(".", 1)])
        + entries((key, location, count))
        + b"tQ"
    ),
    "pid": lambda value: assembled(value) + b"Q",
    "items": lambda target, *pairs: (
        assembled(target) + b"(" + b"".join(entries(pair) for pair in pairs) + b"u"
    ),
    "append": lambda target, *items: assembled(target) + b"(" + entries(items) + b"e",
    "add": lambda target, *items: assembled(target) + b"(" + entries(items) + b"\x90",
    "put": lambda number, value: assembled(value) + b"r" + struct.pack("<I", number),
    "get": lambda number: b"j" + struct.pack("<I", number),
    "deep": nested,
    "dag": shared,
    "collide": colliding,
    "raw": bytes.fromhex,
}


def assembled(value: Any) -> bytes:
    """The instructions that leave the value of an expression on the stack."""
    if value is None:
        return b"N"
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return real(repr(value))
    if isinstance(value, str):
        return text(value)
    return FORMS[value[0]](*value[1:])


def pickled(value: Any) -> bytes:
    return b"\x80\x02" + assembled(value) + b"."


# ---- archives ----------------------------------------------------------------------------------
def content(spec: Any) -> bytes:
    """{"pickle": expression}, {"hex": bytes}, {"zeros": count}, {"repeat": [hex, count]} or a text."""
    if isinstance(spec, str):
        return spec.encode()
    if "pickle" in spec:
        return pickled(spec["pickle"])
    if "hex" in spec:
        return bytes.fromhex(spec["hex"])
    if "repeat" in spec:
        return bytes.fromhex(spec["repeat"][0]) * spec["repeat"][1]
    return bytes(spec["zeros"])


def archive(records: list[dict[str, Any]], end: dict[str, int]) -> bytes:
    """A ZIP archive. A record has a `name` and `content`, and may lie: method, size, packed, crc,
    offset, flags, local (its name there).

    `same` is the number of a record whose bytes this one shares.
    """
    body, directory, offsets = b"", b"", []
    for record in records:
        data = content(record["content"])
        method = record.get("method", 0)
        packed = data
        if record.get("deflate"):
            method = record.get("method", 8)
            machine = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = machine.compress(data) + machine.flush()
        name = record["name"].encode()
        local = record.get("local", record["name"]).encode()
        crc = record.get("crc", binascii.crc32(data))
        sizes = (
            record.get("packed", len(packed)) & 0xFFFFFFFF,
            record.get("size", len(data)) & 0xFFFFFFFF,
        )
        flags = record.get("flags", 0)
        at = len(body)
        if "same" in record and record["same"] < len(offsets):
            at = offsets[record["same"]]
        else:
            body += (
                struct.pack(
                    "<4s5H3I2H", b"PK\3\4", 20, flags, method, 0, 0, crc, *sizes, len(local), 0
                )
                + local
                + packed
            )
        offsets.append(at)
        at = record.get("offset", at) & 0xFFFFFFFF
        directory += (
            struct.pack(
                "<4s6H3I5H2I",
                b"PK\1\2",
                20,
                20,
                flags,
                method,
                0,
                0,
                crc,
                *sizes,
                len(name),
                0,
                0,
                0,
                0,
                0,
                at,
            )
            + name
        )
    fields = [
        end.get("count", len(records)) & 0xFFFF, end.get("total", len(records)) & 0xFFFF,
        end.get("size", len(directory)) & 0xFFFFFFFF, end.get("offset", len(body)) & 0xFFFFFFFF,
    ]  # fmt: skip
    return body + directory + struct.pack("<4s2H2H2IH", b"PK\5\6", 0, 0, *fields, 0)


def legacy(parts: list[Any]) -> bytes:
    """The format before archives: {"pickle": ...} one after another, then {"storage": [count,
    bytes]}.
    """
    made = b""
    for part in parts:
        if "storage" in part:
            count, size = part["storage"]
            made += struct.pack("<q", count) + bytes(size)
        else:
            made += content(part)
    return made


# ---- protobuf ----------------------------------------------------------------------------------
def varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    made = bytearray()
    while n > 127:
        made.append(n & 127 | 128)
        n >>= 7
    made.append(n)
    return bytes(made)


def message(fields: list[Any]) -> bytes:
    """[number, value] pairs: an int, a text, {"hex": bytes}, {"zeros": count}, {"float": text},
    {"wire": [type, hex]}, {"deep": [..]} (a message around itself, `count` times, by a path of
    field numbers), or a list of fields."""
    made = b""
    for number, value in fields:
        if isinstance(value, int):
            made += varint(number << 3) + varint(value)
        elif isinstance(value, dict) and "float" in value:
            made += varint(number << 3 | 5) + struct.pack("<f", float(value["float"]))
        elif isinstance(value, dict) and "wire" in value:
            made += varint(number << 3 | value["wire"][0]) + bytes.fromhex(value["wire"][1])
        else:
            if isinstance(value, dict) and "deep" in value:
                count, path = value["deep"]
                data = b""
                for k in range(count):
                    data = varint(path[-1 - k % len(path)] << 3 | 2) + varint(len(data)) + data
            else:
                data = message(value) if isinstance(value, list) else content(value)
            made += varint(number << 3 | 2) + varint(len(data)) + data
    return made
