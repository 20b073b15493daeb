"""The bytes of an event file: protocol-buffer fields, CRC-32C and the record framing.

Sources: the protocol-buffer encoding guide (varints, wire types 0, 1, 2, 5); RFC 3720, appendix
B.4, for CRC-32C (polynomial 0x1EDC6F41, reflected 0x82F63B78); TensorFlow's TFRecord format for the
framing and the mask of the checksum.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

import numpy as np

__all__ = [
    "boolean",
    "crc32c",
    "data",
    "double",
    "doubles",
    "floats",
    "integer",
    "record",
    "single",
    "text",
    "varint",
]


# ---- fields ----------------------------------------------------------------------------------
def varint(value: int) -> bytes:
    """Seven bits to a byte, least significant first; negative numbers as 64-bit two's complement."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(number: int, value: int) -> bytes:
    """A field of any integer or enum type."""
    return varint(number << 3) + varint(int(value))


def boolean(number: int, value: bool) -> bytes:
    return integer(number, 1 if value else 0)


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def single(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + np.float32(value).astype("<f4").tobytes()


def data(number: int, value: bytes) -> bytes:
    """A field of bytes, or a message inside a message."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def text(number: int, value: str) -> bytes:
    return data(number, value.encode("utf-8"))


def doubles(number: int, values: Iterable[float]) -> bytes:
    """A packed repeated field."""
    return data(number, np.asarray(values, dtype="<f8").tobytes())


def floats(number: int, values: Iterable[float]) -> bytes:
    return data(number, np.asarray(values, dtype="<f4").tobytes())


# ---- checksum --------------------------------------------------------------------------------
def _table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _table()
_LANES = 256
_SHORT = 1 << 14


def crc32c(message: bytes) -> int:
    """CRC-32C (Castagnoli) of the message.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    if len(message) < _SHORT:
        return _update(0xFFFFFFFF, message) ^ 0xFFFFFFFF
    return _in_lanes(message) ^ 0xFFFFFFFF


def _update(crc: int, message: bytes) -> int:
    table = _TABLE
    for byte in message:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc


def _in_lanes(message: bytes) -> int:
    """The checksum of a long message: 256 parts side by side, then joined, since the checksum is
    linear.

    The start value is the same as an exclusive or with the first four bytes, after which zeros put
    in front change nothing.
    """
    length = -(-len(message) // _LANES)
    raw = np.zeros(length * _LANES, dtype=np.uint8)
    raw[raw.size - len(message) :] = np.frombuffer(message, dtype=np.uint8)
    raw[raw.size - len(message) :][:4] ^= 0xFF
    table = np.array(_TABLE, dtype=np.uint32)
    crcs = np.zeros(_LANES, dtype=np.uint32)
    for column in np.ascontiguousarray(raw.reshape(_LANES, length).T):
        crcs = table[(crcs ^ column) & 0xFF] ^ crcs >> 8
    # What one bit of a checksum becomes after a lane of zeros.
    moved = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    for _ in range(length):
        moved = table[moved & 0xFF] ^ moved >> 8
    bits = [int(m) for m in moved]
    total = 0
    for lane in crcs.tolist():
        shifted, place = lane, 0
        while total:
            if total & 1:
                shifted ^= bits[place]
            total >>= 1
            place += 1
        total = shifted
    return total


# ---- framing ---------------------------------------------------------------------------------
def masked(message: bytes) -> int:
    """The checksum as it stands in a record: rotated and offset, so that checksums of checksums do
    not degenerate.
    """
    crc = crc32c(message)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(message: bytes) -> bytes:
    """Length, checksum of the length, message, checksum of the message."""
    length = struct.pack("<Q", len(message))
    return length + struct.pack("<I", masked(length)) + message + struct.pack("<I", masked(message))
