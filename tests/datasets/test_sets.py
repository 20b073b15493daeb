"""Data sets from local files: what is read, and what is said about files that are missing or
damaged.
"""

import gzip
import struct
import zipfile

import numpy as np
import pytest

import pellucid as torch
from pellucid.datasets import (
    MNIST,
    Characters,
    CSVDataset,
    Digits,
    FashionMNIST,
    NPZDataset,
    TextLines,
    load_digits,
    read_idx,
)  # fmt: skip
from pellucid.errors import full_text


def idx(array, kind):
    return (
        bytes([0, 0, kind, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.astype(array.dtype.newbyteorder(">")).tobytes()
    )


@pytest.mark.parametrize(
    "dtype, kind",
    [("uint8", 8), ("int8", 9), ("int16", 11), ("int32", 12), ("float32", 13), ("float64", 14)],
)
@pytest.mark.parametrize("packed", [False, True])
def test_idx(tmp_path, dtype, kind, packed):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    raw = idx(array, kind)
    (tmp_path / "file").write_bytes(gzip.compress(raw) if packed else raw)
    found = read_idx(tmp_path / "file")
    assert found.dtype == dtype and found.dtype.isnative
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("damage, words", [
    (lambda raw: raw[:-1], "is cut short: shape \\[2, 3\\] takes 18 bytes, the file has 17"),
    (lambda raw: raw + b"x", "is too long"),
    (lambda raw: raw[:7], "is cut short: 7 bytes, and its header alone takes 12"),
    (lambda raw: b"PK" + raw, "is not an IDX file: it begins with 50 4b"),
    (lambda raw: b"", "is not an IDX file: it begins with nothing"),
    (lambda raw: gzip.compress(raw)[:-9], "is damaged"),
])  # fmt: skip
def test_damaged_idx(tmp_path, damage, words):
    (tmp_path / "file").write_bytes(damage(idx(np.arange(6, dtype=np.uint8).reshape(2, 3), 8)))
    with pytest.raises(ValueError, match=words):
        read_idx(tmp_path / "file")


def write_mnist(folder, part="train", number=5, end=".gz"):
    folder.mkdir(parents=True, exist_ok=True)
    images = np.random.default_rng(0).integers(0, 256, (number, 28, 28), dtype=np.uint8)
    for name, array in (
        ("images-idx3", images),
        ("labels-idx1", np.arange(number, dtype=np.uint8)),
    ):
        raw = idx(array, 8)
        (folder / f"{part}-{name}-ubyte{end}").write_bytes(gzip.compress(raw) if end else raw)
    return images


@pytest.mark.parametrize("below, end", [("", ""), ("MNIST/raw", ".gz")])
def test_mnist(tmp_path, below, end):
    images = write_mnist(tmp_path / below, "t10k", end=end)
    data = MNIST(
        tmp_path,
        train=False,
        transform=lambda image: image + 1,
        target_transform=lambda label: label * 10,
    )
    image, label = data[3]
    assert len(data) == 5 and label == 30 and data.targets.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(image, images[3] + 1)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="FashionMNIST's train-images-idx3-ubyte not found"
    ) as caught:
        FashionMNIST(tmp_path, download=True)
    assert str(tmp_path / "FashionMNIST" / "raw" / "train-images-idx3-ubyte.gz") in full_text(
        caught.value
    )
    assert "not downloaded" in full_text(caught.value)


def test_files_that_do_not_belong_together(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(np.arange(4, dtype=np.uint8), 8))
    with pytest.raises(ValueError, match="5 pictures and 4 labels"):
        MNIST(tmp_path)


def test_digits():
    images, labels = load_digits()
    train, test, whole = Digits(train=True), Digits(train=False), Digits()
    assert (len(train), len(test), len(whole)) == (1437, 360, 1797)
    np.testing.assert_array_equal(np.concatenate([train.data, test.data]), whole.data)
    assert whole.data.max() == 255 and whole.targets.tolist() == labels.tolist()
    assert (whole.data == 0).sum() == (images == 0).sum()


def test_csv_with_names(tmp_path):
    (tmp_path / "t.csv").write_text("x, y,label\n1,2.5,0\n\n3,-4e1,1\n")
    data = CSVDataset(tmp_path / "t.csv", target="label", target_dtype=torch.int64)
    assert data.columns == ["x", "y", "label"] and len(data) == 2
    features, label = data[1]
    assert (
        features.tolist() == [3, -40]
        and features.dtype == torch.float32
        and label.dtype == torch.int64
        and label.item() == 1
    )


def test_csv_without_names(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"1;2;3\n4;5;6\n"))
    data = CSVDataset(tmp_path / "t.csv.gz", delimiter=";", dtype=torch.float64)
    assert data[1].tolist() == [4, 5, 6] and data[1].dtype == torch.float64
    _, last = CSVDataset(tmp_path / "t.csv.gz", target=-1, delimiter=";")[0]
    assert last.item() == 3


@pytest.mark.parametrize("text, target, words", [
    ("a,b\n1,2\n3\n", None, "line 3: 1 fields instead of 2"),
    ("a,b\n1,2\n3,x\n", None, "line 3, column b: 'x' is not a number"),
    ("a,b\n1,2\n", "c", "has no column 'c'; it has a, b"),
    ("a,b\n1,2\n", 2, "has no column 2"),
    ("\n \n", None, "is empty"),
])  # fmt: skip
def test_damaged_csv(tmp_path, text, target, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        CSVDataset(tmp_path / "t.csv", target=target)


def test_npz(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(6.0).reshape(3, 2), y=np.arange(3), z=np.arange(4))
    data = NPZDataset(tmp_path / "a.npz", ["x", "y"], transform=lambda x: x * 2)
    x, y = data[2]
    assert len(data) == 3 and x.tolist() == [8, 10] and y.item() == 2
    with pytest.raises(
        ValueError, match=r"arrays of one length are wanted, not x \[3, 2\], y \[3\], z \[4\]"
    ):
        NPZDataset(tmp_path / "a.npz")
    with pytest.raises(ValueError, match="has no array w; it has x, y, z"):
        NPZDataset(tmp_path / "a.npz", ["w"])
    whole = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is damaged or no NPZ file"):
        NPZDataset(tmp_path / "cut.npz")


def npy(header, data=bytes(8)):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text + data


LYING = {
    "more than the file has": npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,)}"
    ),
    "less than the file has": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"),
    "negative": npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
    "too many dimensions": npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2" + ", 1" * 70 + ")}"
    ),
    "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"),
    "dates": npy("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}"),
    "nested": npy("(" * 5000 + ")" * 5000),
    "signs": npy("-" * 9000 + "1"),
    "open": npy("{" * 3000),
    "code": npy("__import__('os')"),
    "no array": b"text",
}


@pytest.mark.parametrize("name", LYING)
def test_arrays_that_lie_about_themselves(tmp_path, name):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", LYING[name])
    with pytest.raises(ValueError):
        NPZDataset(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 2)}"))
    assert NPZDataset(tmp_path / "a.npz")[0][0].tolist() == [0.0, 0.0]


def test_compressed_files_do_not_fill_the_memory(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", bytes(80 << 20))
    with pytest.raises(ValueError, match="made to fill the memory"):
        NPZDataset(tmp_path / "a.npz")
    (tmp_path / "a.gz").write_bytes(gzip.compress(bytes([0, 0, 8, 1]) + bytes(80 << 20)))
    with pytest.raises(ValueError, match="made to fill the memory"):
        read_idx(tmp_path / "a.gz")
    (tmp_path / "a").write_bytes(bytes([0, 0, 8, 255]) + bytes(4 * 255))
    with pytest.raises(ValueError, match="255 dimensions"):
        read_idx(tmp_path / "a")
    (tmp_path / "a").write_bytes(bytes([0, 0, 14, 4]) + b"\xff\xff\xff\xff" * 4)
    with pytest.raises(ValueError, match="is cut short"):
        read_idx(tmp_path / "a")


def test_lines(tmp_path):
    (tmp_path / "t.txt").write_bytes("größe\r\n\n  \nend".encode())
    assert list(TextLines(tmp_path / "t.txt").lines) == ["größe", "", "  ", "end"]
    data = TextLines(tmp_path / "t.txt", skip_empty=True, transform=len)
    assert [data[i] for i in range(len(data))] == [5, 3]
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="is not text in utf-8: invalid start byte at byte 0"):
        TextLines(tmp_path / "bad.txt")
    (tmp_path / "empty.txt").touch()
    assert len(TextLines(tmp_path / "empty.txt")) == 0


def test_characters(tmp_path):
    (tmp_path / "t.txt").write_text("to be or not to be")
    data = Characters.from_file(tmp_path / "t.txt", 4)
    assert len(data) == 14
    x, y = data[-1]
    assert data.decode(x) == "to b" and data.decode(y) == "o be" and x.dtype == torch.int64
    with pytest.raises(ValueError, match="'z' is not in the alphabet"):
        data.encode("z")
    with pytest.raises(IndexError, match="sample 14 of 14"):
        data[14]
    with pytest.raises(ValueError, match="has no samples"):
        Characters("abc", 3)


def test_batches():
    from pellucid.datasets import transforms

    loader = torch.utils.data.DataLoader(Digits(transform=transforms.ToTensor()), batch_size=16)
    images, labels = next(iter(loader))
    assert (
        images.shape == (16, 1, 8, 8)
        and images.dtype == torch.float32
        and labels.dtype == torch.int64
    )
