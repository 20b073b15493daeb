"""Pictures and sound as bytes: layouts, grids, PNG and WAV.

Sources: the PNG specification (W3C, third edition) and the RIFF WAVE format.
"""

from __future__ import annotations

import io
import struct
import wave
import zlib
from typing import Any

import numpy as np

_COLOUR_TYPES = {1: 0, 2: 4, 3: 2, 4: 6}  # channels: PNG's color type


def png(pixels: np.ndarray) -> bytes:
    """Encode `(height, width, channels)` uint8 with 1 to 4 channels as PNG."""
    height, width, channels = pixels.shape
    # every row begins with its filter, 0 for none
    rows = np.zeros((height, 1 + width * channels), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in chunks
    )


def pixels_of(array: np.ndarray, dataformats: str) -> np.ndarray:
    """An image, or a batch as a grid of eight columns, as `(height, width, channels)` uint8.

    uint8 is taken as it is; anything else is scaled from [0, 1] to [0, 255] and clipped.
    """
    form = dataformats.upper()
    if len(set(form)) != len(form):
        raise AssertionError(
            f"You can not use the same dimension shordhand twice. input_format: {dataformats}"
        )
    if array.ndim != len(form) or set(form) not in (
        {"H", "W"},
        {"H", "W", "C"},
        {"N", "H", "W", "C"},
    ):
        raise AssertionError(
            f"size of input tensor and input format are different. tensor shape: {array.shape}, input_format: {dataformats}"
        )
    array = array.transpose([form.index(letter) for letter in "NHWC" if letter in form])
    if array.ndim == 4:
        array = _grid(array)
    elif array.ndim == 2:
        array = array[:, :, None]
    if array.shape[2] == 1:
        array = np.repeat(array, 3, axis=2)
    if array.shape[2] not in _COLOUR_TYPES:
        raise ValueError(
            f"an image has 1 to 4 channels, not {array.shape[2]} (shape {array.shape} as height, width, channels)"
        )
    if array.dtype == np.uint8:
        return array
    return (array.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


def _grid(images: np.ndarray, columns: int = 8) -> np.ndarray:
    number, height, width, channels = images.shape
    columns = min(number, columns)
    rows = -(-number // columns)
    cells = np.zeros((rows * columns, height, width, channels), dtype=images.dtype)
    cells[:number] = images
    return (
        cells.reshape(rows, columns, height, width, channels)
        .swapaxes(1, 2)
        .reshape(rows * height, columns * width, channels)
    )


def figure_pixels(figure: Any) -> np.ndarray:
    """A drawn matplotlib figure as `(height, width, 3)` uint8."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="rgba", dpi=figure.dpi)
    width, height = (int(size) for size in figure.bbox.size)
    return np.frombuffer(buffer.getvalue(), dtype=np.uint8).reshape(height, width, 4)[:, :, :3]


def wav(samples: np.ndarray, sample_rate: int) -> bytes:
    """Encode one channel of samples in [-1, 1] as 16-bit WAV."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(sample_rate)
        out.writeframes((samples.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return buffer.getvalue()
