"""torchvision's operators on image files: bytes, refusals, gray from colors, and pictures through
Pillow where it is installed.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid._torchvision import images

ops = torch.ops.image


def test_bytes_of_files(tmp_path):
    path, data = str(tmp_path / "a.bin"), torch.arange(5, dtype=torch.uint8)
    ops.write_file(path, data)
    assert ops.read_file(path).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match=r"\[Errno 2\] No such file or directory: '.*b.bin'"):
        ops.read_file(str(tmp_path / "b.bin"))
    with pytest.raises(RuntimeError, match="Input tensor dtype should be uint8"):
        ops.write_file(path, data.float())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops.decode_image(torch.zeros(9), 0), "Expected a torch.uint8 tensor"),
        (lambda: ops.decode_image(torch.zeros(9).byte(), 0), "Only jpeg, png, webp and gif"),
        (lambda: ops.decode_png(torch.zeros(0).byte(), 0), "1-dimensional and non-empty, got 1"),
        (lambda: ops.decode_png(torch.zeros(9).byte(), 0), "Content is not png!"),
        (lambda: ops.decode_jpeg(torch.zeros(9).byte(), 0), "starts with 0x00 0x00"),
        (lambda: ops.decode_jpeg(torch.zeros(9).byte(), 4), "mode is not supported for JPEG"),
        (lambda: ops.decode_gif(torch.zeros(9).byte()), "failed - 103"),
        (lambda: ops.decode_webp(torch.zeros(9).byte(), 0), "failed with error code 3"),
        (lambda: ops.encode_png(torch.zeros(3, 2, 2).byte(), 10), "between 0 and 9"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(RuntimeError, match=words):
        call()


def test_channels():
    colors = np.array([[[10, 20, 30], [7, 7, 7]]], np.uint8)
    gray = images._with_channels(colors, 1)
    assert gray[0, :, 0].tolist() == [int(0.2989 * 10 + 0.587 * 20 + 0.1141 * 30), 7]
    assert images._with_channels(gray, 4)[0, 1].tolist() == [7, 7, 7, 255]
    wide = np.full((1, 1, 1), 300, np.uint16)
    assert images._with_channels(wide, 2)[0, 0].tolist() == [300, 65535]


def test_pictures():
    pytest.importorskip("PIL")
    x = (torch.arange(3 * 6 * 8).reshape(3, 6, 8) % 251).byte()
    png = ops.encode_png(x, 6)
    back = ops.decode_image(png, 0)
    assert torch.equal(back, x) and back.stride() == (1, 24, 3)
    assert ops.decode_png(png, 4)[3].unique().tolist() == [255]
    assert ops.decode_image(ops.encode_png(x[:1], 9), 0).stride() == (1, 8, 1)
    made = ops.decode_jpeg(ops.encode_jpeg(x, 100), 0)
    assert made.shape == x.shape and (made.int() - x.int()).abs().float().mean() < 40
    assert ops.decode_jpeg(ops.encode_jpeg(x, 100), 1).shape == (1, 6, 8)
    with pytest.raises(RuntimeError, match="Out of bound read in decode_png"):
        ops.decode_png(ops.encode_png((torch.rand(3, 40, 40) * 255).byte(), 6)[:2000], 0)
    with pytest.raises(RuntimeError, match="The number of channels should be 1 or 3, got: 2"):
        ops.encode_jpeg(x[:2], 75)
