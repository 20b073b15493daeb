"""The operators of torchvision's image library, `torch.ops.image`: image files as tensors, through
Pillow, which torchvision requires.

`torch.ops.load_library` of that library imports this module, so `torchvision.io.read_image`,
`decode_image` and `encode_jpeg` work. Pixels are those of torchvision's own decoders: gray is made
of colors as libpng makes it, JPEG files are read in the color space that is asked for, and images
lie in memory as they do in files (channels last).

Source: W3C, "Portable Network Graphics (PNG) Specification", 2003.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.tensor import Tensor, make_tensor
from ..errors import OperationError
from ..library import Library

_LIBRARY = Library("image", "FRAGMENT")
# `ImageReadMode`: how many channels come out; as many as the file has for 0
_CHANNELS = {0: None, 1: 1, 2: 2, 3: 3, 4: 4}
_ORIENTATION = 0x112
_TURNS = {  # EXIF orientation -> what makes the picture upright, on (height, width, channels)
    2: lambda a: a[:, ::-1],
    3: lambda a: a[::-1, ::-1],
    4: lambda a: a[::-1],
    5: lambda a: a.transpose(1, 0, 2),
    6: lambda a: a.transpose(1, 0, 2)[:, ::-1],
    7: lambda a: a.transpose(1, 0, 2)[::-1, ::-1],
    8: lambda a: a.transpose(1, 0, 2)[::-1],
}


def _operator(schema: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    name = _LIBRARY.define(schema)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        _LIBRARY.impl(name, function, "CompositeExplicitAutograd")
        return function

    return register


# ---- files -------------------------------------------------------------------------------------
@_operator("read_file(str filename) -> Tensor")
def read_file(filename: str) -> Tensor:
    """The bytes of a file."""
    try:
        return make_tensor(np.fromfile(filename, np.uint8))
    except OSError as error:
        raise OperationError(f"[Errno {error.errno}] {error.strerror}: '{filename}'") from None


@_operator("write_file(str filename, Tensor data) -> ()")
def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    a = data._array
    if a.dtype != np.uint8:
        raise OperationError("Input tensor dtype should be uint8")
    if a.ndim != 1:
        raise OperationError("Input data should be a 1-dimensional tensor")
    try:
        with open(filename, "wb") as file:
            file.write(np.ascontiguousarray(a).data)
    except OSError:
        raise OperationError("Error opening output file") from None


def _encoded(data: Tensor) -> bytes:
    a = data._array
    if a.dtype != np.uint8:
        raise OperationError(f"Input tensor must have uint8 data type, got {data.dtype}")
    if a.ndim != 1 or not a.size:
        raise OperationError(
            f"Input tensor must be 1-dimensional and non-empty, got {a.ndim} dims  and {a.size} numels."
        )
    return bytes(np.ascontiguousarray(a).data)


# ---- pixels ------------------------------------------------------------------------------------
def _picture(pixels: np.ndarray, source: Any = None) -> Tensor:
    """Pixels `(height, width, channels)` as a tensor `(channels, height, width)`; upright where the
    `source` says how it was turned.
    """
    pixels = np.array(pixels, order="C")
    turn = None if source is None else _TURNS.get(source.getexif().get(_ORIENTATION))
    if turn is not None:
        pixels = turn(pixels).copy(order="K")
    return make_tensor(pixels.transpose(2, 0, 1))


def _gray(colors: np.ndarray) -> np.ndarray:
    """Colors as libpng makes them gray, with weights 0.2989 and 0.587 in 15 bits."""
    red, green = (int(part * 32768) for part in (0.2989, 0.587))
    weights = np.array([red, green, 32768 - red - green], np.int64)
    made = (colors.astype(np.int64) @ weights + (1 << 14 if colors.dtype != np.uint8 else 0)) >> 15
    same = (colors == colors[..., :1]).all(-1)
    return np.where(same, colors[..., 0], made).astype(colors.dtype)[..., None]


def _with_channels(pixels: np.ndarray, wanted: int | None) -> np.ndarray:
    """Pixels in 1 to 4 channels, with gray made of colors, and opaque where there is no alpha."""
    has = pixels.shape[-1]
    if wanted is None or wanted == has:
        return pixels
    colors, alpha = (pixels, None) if has % 2 else (pixels[..., :-1], pixels[..., -1:])
    if wanted <= 2 and colors.shape[-1] == 3:
        colors = _gray(colors)
    elif wanted > 2 and colors.shape[-1] == 1:
        colors = np.repeat(colors, 3, -1)
    if wanted % 2:
        return colors
    if alpha is None:
        alpha = np.full((*colors.shape[:-1], 1), np.iinfo(colors.dtype).max, colors.dtype)
    return np.concatenate([colors, alpha], -1)


def _opened(data: bytes, broken: str) -> Any:
    from PIL import Image

    try:
        return Image.open(io.BytesIO(data), formats=("PNG", "JPEG", "WEBP", "GIF"))
    except (OSError, SyntaxError):
        raise OperationError(broken) from None


def _pixels(image: Any, mode: str | None, broken: str) -> np.ndarray:
    try:
        array = np.asarray(image if mode is None or image.mode == mode else image.convert(mode))
    except (OSError, SyntaxError, ValueError):
        raise OperationError(broken) from None
    return array[..., None] if array.ndim == 2 else array


def _mode_of(mode: int, file: str) -> int | None:
    if mode not in _CHANNELS:
        raise OperationError(f"The provided mode is not supported for {file} files")
    return _CHANNELS[mode]


# ---- decoders ----------------------------------------------------------------------------------
@_operator("decode_png(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_png(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of a PNG file, in 8 or 16 bits."""
    encoded, wanted = _encoded(data), _mode_of(mode, "PNG")
    if encoded[:8] != b"\x89PNG\r\n\x1a\n":
        raise OperationError("Content is not png!")
    broken = "Out of bound read in decode_png. Probably, the input image is corrupted"
    image = _opened(encoded, broken)
    kind = None
    if image.mode == "1":
        kind = "L"
    elif image.mode == "P" and wanted is not None:  # UNCHANGED gives the places in the palette
        kind = "RGBA" if "transparency" in image.info else "RGB"
    pixels = _pixels(image, kind, broken)
    if pixels.dtype == np.int32:
        pixels = pixels.astype(np.uint16)
    pixels = _with_channels(pixels, wanted)
    return _picture(pixels, image if apply_exif_orientation else None)


@_operator("decode_jpeg(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_jpeg(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of a JPEG file."""
    encoded = _encoded(data)
    if mode not in (0, 1, 3):
        raise OperationError("The provided mode is not supported for JPEG files")
    if encoded[:2] != b"\xff\xd8":
        starts = " ".join(f"0x{byte:02x}" for byte in encoded[:2])
        raise OperationError(f"Not a JPEG file: starts with {starts}")
    broken = "Image is incomplete or truncated"
    image = _opened(encoded, broken)
    if image.mode == "CMYK":
        pixels = 255 - _pixels(image, None, broken)  # inks, as files of Adobe have them
        if mode:
            inks = pixels.astype(np.uint16)
            pixels = (inks[..., :3] * inks[..., 3:] // 255).astype(np.uint8)
        if mode == 1:
            weights = np.array([19595, 38470, 7471], np.int64)
            pixels = ((pixels @ weights + 32768) >> 16).astype(np.uint8)[..., None]
    else:
        if mode == 1 and image.mode == "RGB":
            image.draft("L", image.size)  # the brightness that the file has
        kind = {0: image.mode, 1: "L", 3: "RGB"}[mode]
        pixels = _pixels(image, kind, broken)
    return _picture(pixels, image if apply_exif_orientation else None)


@_operator("decode_webp(Tensor data, int mode) -> Tensor")
def decode_webp(data: Tensor, mode: int) -> Tensor:
    """The pixels of a WebP file: colors, with alpha where it has one or is asked for."""
    encoded = _encoded(data)
    _mode_of(mode, "WebP")
    if encoded[:4] != b"RIFF" or encoded[8:12] != b"WEBP":
        raise OperationError("WebPGetFeatures failed with error code 3")
    broken = "WebPDecodeRGB[A] failed."
    pixels = _pixels(_opened(encoded, broken), None, broken)
    return _picture(_with_channels(pixels, mode if mode in (3, 4) else None))


@_operator("decode_gif(Tensor data) -> Tensor")
def decode_gif(data: Tensor) -> Tensor:
    """The pixels of a GIF file in colors; `(frames, 3, height, width)` where it has several."""
    encoded = _encoded(data)
    if encoded[:3] != b"GIF":
        raise OperationError("DGifOpenFileName() failed - 103")
    from PIL import ImageSequence

    broken = "DGifSlurp() failed - 113"
    image = _opened(encoded, broken)
    frames = [_pixels(f.copy(), "RGB", broken) for f in ImageSequence.Iterator(image)]
    made = np.stack(frames).transpose(0, 3, 1, 2)
    return make_tensor(made[0] if len(frames) == 1 else made)


@_operator("decode_image(Tensor data, int mode, bool apply_exif_orientation=False) -> Tensor")
def decode_image(data: Tensor, mode: int, apply_exif_orientation: bool = False) -> Tensor:
    """The pixels of a JPEG, PNG, WebP or GIF file."""
    if data._array.dtype != np.uint8:
        raise OperationError("Expected a torch.uint8 tensor")
    if data._array.ndim != 1 or not data._array.size:
        raise OperationError("Expected a non empty 1-dimensional tensor")
    start = bytes(data._array[:12])
    if start[:3] == b"\xff\xd8\xff":
        return decode_jpeg(data, mode, apply_exif_orientation)
    if start[:4] == b"\x89PNG":
        return decode_png(data, mode, apply_exif_orientation)
    if start[:6] in (b"GIF89a", b"GIF87a"):
        return decode_gif(data)
    if start[:4] == b"RIFF" and start[8:] == b"WEBP":
        return decode_webp(data, mode)
    raise OperationError(
        "Unsupported image file. Only jpeg, png, webp and gif are currently supported. For avif and heic format, please rely on "
        "`decode_avif` and `decode_heic` directly."
    )


# ---- encoders ----------------------------------------------------------------------------------
def _written(data: Tensor, **options: Any) -> Tensor:
    from PIL import Image

    a = data._array
    if a.dtype != np.uint8:
        raise OperationError("Input tensor dtype should be uint8")
    if a.ndim != 3:
        raise OperationError("Input data should be a 3-dimensional tensor")
    if a.shape[0] not in (1, 3):
        raise OperationError(f"The number of channels should be 1 or 3, got: {a.shape[0]}")
    file = io.BytesIO()
    pixels = np.ascontiguousarray(a[0] if a.shape[0] == 1 else a.transpose(1, 2, 0))
    Image.fromarray(pixels).save(file, **options)
    return make_tensor(np.frombuffer(file.getvalue(), np.uint8).copy())


@_operator("encode_png(Tensor data, int compression_level) -> Tensor")
def encode_png(data: Tensor, compression_level: int) -> Tensor:
    """A PNG file of pixels `(1 or 3, height, width)`, as bytes."""
    if not 0 <= compression_level <= 9:
        raise OperationError("Compression level should be between 0 and 9")
    return _written(data, format="PNG", compress_level=compression_level)


@_operator("encode_jpeg(Tensor data, int quality) -> Tensor")
def encode_jpeg(data: Tensor, quality: int) -> Tensor:
    """A JPEG file of pixels `(1 or 3, height, width)`, as bytes."""
    return _written(data, format="JPEG", quality=quality)
