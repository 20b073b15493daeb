"""Datasets from local files: images, tables, arrays, text."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..data.dataset import Dataset
from ._digits import load_digits
from ._read import DataFileError, existing, read_idx, read_npz, text_of

Transform = Callable[[Any], Any] | None


def _tensor(array: np.ndarray) -> Tensor:
    return FUNCTIONS["torch"]["from_numpy"](np.ascontiguousarray(array))


class ImageSet(Dataset[tuple[Any, Any]]):
    """Pictures and labels in memory; a sample is (picture, label), each through its transform.

    `data` is a uint8 array `(number, height, width)` or `(number, height, width, channels)`,
    `targets` an int64 tensor. A picture goes to the transform as an array; `transforms.ToTensor`
    makes a float tensor of it.
    """

    classes: Sequence[str] = ()

    def __init__(
        self,
        data: np.ndarray,
        targets: np.ndarray,
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        if len(data) != len(targets):
            raise DataFileError(
                f"{len(data)} pictures and {len(targets)} labels: the files do not belong together"
            )
        self.data = data
        self.targets = _tensor(targets.astype(np.int64))
        self.transform = transform
        self.target_transform = target_transform

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        image, label = self.data[index], int(self.targets[index].item())
        return (
            image if self.transform is None else self.transform(image),
            label if self.target_transform is None else self.target_transform(label),
        )

    def __len__(self) -> int:
        return len(self.data)


class Digits(ImageSet):
    """The 1,797 handwritten digits that come with the package, 8x8 pixels of 0 to 255 (see
    `load_digits`).

    Args:
        train: True for the first 1,437, False for the other 360, None for all.

    Example:
        >>> image, label = Digits(train=True)[0]
        >>> image.shape, image.dtype.name, label
        ((8, 8), 'uint8', 0)
    """

    classes = tuple("0123456789")
    _TRAIN = 1437

    def __init__(
        self,
        train: bool | None = None,
        transform: Transform = None,
        target_transform: Transform = None,
    ) -> None:
        images, labels = load_digits()
        part = (
            slice(None)
            if train is None
            else slice(0, self._TRAIN)
            if train
            else slice(self._TRAIN, None)
        )
        scaled = (images[part].astype(np.float32) * (255 / 16)).round().astype(np.uint8)
        super().__init__(scaled, labels[part], transform, target_transform)


class MNIST(ImageSet):
    """The MNIST digits from local IDX files, 28x28.

    Args:
        root: the folder with the four files, or the one above `MNIST/raw` that holds them, as
            torchvision leaves them; each may end in .gz.
        train: the 60,000 pictures for training, or the 10,000 for testing.
        download: taken for torchvision's sake; nothing is downloaded.

    Raises:
        FileNotFoundError: with the places that were looked at.
        ValueError: for damaged files.
    """

    classes: Sequence[str] = tuple("0123456789")

    def __init__(
        self,
        root: str | os.PathLike[str],
        train: bool = True,
        transform: Transform = None,
        target_transform: Transform = None,
        download: bool = False,
    ) -> None:
        self.root = Path(os.fspath(root))
        self.train = train
        images, labels = (
            read_idx(self._find(f"{'train' if train else 't10k'}-{part}"))
            for part in ("images-idx3-ubyte", "labels-idx1-ubyte")
        )
        if images.ndim != 3 or labels.ndim != 1:
            raise DataFileError(
                f"pictures have shape {list(images.shape)}, labels {list(labels.shape)}; 3 and 1 dimensions are wanted"
            )
        super().__init__(images, labels, transform, target_transform)

    def _find(self, name: str) -> Path:
        folders = (
            self.root,
            self.root / type(self).__name__ / "raw",
            self.root / type(self).__name__,
            self.root / "raw",
        )
        return existing(
            [folder / (name + end) for folder in folders for end in ("", ".gz")],
            f"{type(self).__name__}'s {name}",
        )


class FashionMNIST(MNIST):
    """Zalando's articles of clothing in MNIST's format; see `MNIST`."""

    classes = (
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    )


class KMNIST(MNIST):
    """Kuzushiji characters in MNIST's format; see `MNIST`."""

    classes = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")


class CSVDataset(Dataset[Any]):
    """A table of numbers from a CSV file; a sample is a row, or (row without the target, target).

    Args:
        path: the file, plain or gzip.
        target: column that is the target, by name or by place (-1 is the last); None for none.
        delimiter: what stands between the fields.
        header: whether the first line has names; None asks whether it has a field that is not a
            number.
        dtype, target_dtype: element types; the target's is the features' by default.

    Raises:
        FileNotFoundError: when the file is not there.
        ValueError: for a field that is not a number or a line of another length, with line and
            column; for an unknown target.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     _ = file.write("a,b,y\\n1,2,0\\n3,4,1\\n")
        ...     file.flush()
        ...     CSVDataset(file.name, target="y", target_dtype=dtypes.int64)[1]
        (tensor([3., 4.]), tensor(1))
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | int | None = None,
        *,
        delimiter: str = ",",
        header: bool | None = None,
        dtype: dtypes.dtype = dtypes.float32,
        target_dtype: dtypes.dtype | None = None,
        encoding: str = "utf-8-sig",
    ) -> None:
        rows = list(csv.reader(text_of(path, encoding).splitlines(), delimiter=delimiter))
        lines = [
            (number, row)
            for number, row in enumerate(rows, start=1)
            if any(field.strip() for field in row)
        ]
        if not lines:
            raise DataFileError(f"{path} is empty")
        if header is None:
            header = any(_number(field) is None for field in lines[0][1])
        self.columns = (
            [field.strip() for field in lines[0][1]]
            if header
            else [str(i) for i in range(len(lines[0][1]))]
        )
        table = np.array(
            [self._row(path, number, row) for number, row in lines[header:]], dtype=np.float64
        )
        table = table.reshape(-1, len(self.columns))
        self.target: int | None = None
        self.targets: Tensor | None = None
        if target is not None:
            self.target = self._place(path, target)
            self.targets = _tensor(table[:, self.target]).to(target_dtype or dtype)
            table = np.delete(table, self.target, axis=1)
        self.features = _tensor(table).to(dtype)

    def _row(self, path: Any, number: int, row: list[str]) -> list[float]:
        if len(row) != len(self.columns):
            raise DataFileError(
                f"{path}, line {number}: {len(row)} fields instead of {len(self.columns)}"
            )
        values = [_number(field) for field in row]
        for column, (value, field) in enumerate(zip(values, row)):
            if value is None:
                raise DataFileError(
                    f"{path}, line {number}, column {self.columns[column]}: {field!r} is not a number"
                )
        return values  # type: ignore[return-value]

    def _place(self, path: Any, target: str | int) -> int:
        if isinstance(target, int) and -len(self.columns) <= target < len(self.columns):
            return target % len(self.columns)
        if target in self.columns:
            return self.columns.index(str(target))
        raise DataFileError(f"{path} has no column {target!r}; it has {', '.join(self.columns)}")

    def __getitem__(self, index: Any) -> Any:
        return (
            self.features[index]
            if self.targets is None
            else (self.features[index], self.targets[index])
        )

    def __len__(self) -> int:
        return self.features.shape[0]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


class NPZDataset(Dataset[Any]):
    """Arrays of an .npz file side by side; a sample is the tuple of their entries as tensors.

    Args:
        path: the file.
        keys: names of the arrays, in the samples' order; all of them by default.
        transform: applied to the first entry of a sample.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        keys: Sequence[str] | None = None,
        transform: Transform = None,
    ) -> None:
        found = existing([path], "the NPZ file")
        named = read_npz(found, keys)
        names, arrays = list(named), list(named.values())
        if not arrays or any(a.ndim == 0 or len(a) != len(arrays[0]) for a in arrays):
            shapes = ", ".join(f"{name} {list(a.shape)}" for name, a in zip(names, arrays))
            raise DataFileError(f"{found}: arrays of one length are wanted, not {shapes or 'none'}")
        self.keys = names
        try:
            self.tensors = tuple(_tensor(a) for a in arrays)
        except TypeError as error:
            raise DataFileError(f"{found}: {error}") from error
        self.transform = transform

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        first, *others = (t[index] for t in self.tensors)
        return (first if self.transform is None else self.transform(first), *others)

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class TextLines(Dataset[str]):
    """The lines of a text file, without their ends; a file compressed with gzip is read, too.

    Args:
        skip_empty: leave out lines of nothing but blanks.
        transform: applied to a line.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        encoding: str = "utf-8",
        skip_empty: bool = False,
        transform: Transform = None,
    ) -> None:
        text = text_of(path, encoding)
        lines = text.removesuffix("\n").split("\n") if text else []
        self.lines = [line for line in lines if line.strip()] if skip_empty else lines
        self.transform = transform

    def __getitem__(self, index: Any) -> Any:
        return self.lines[index] if self.transform is None else self.transform(self.lines[index])

    def __len__(self) -> int:
        return len(self.lines)


class Characters(Dataset[tuple[Tensor, Tensor]]):
    """A text as numbers, for models of characters: a sample is `block_size` characters and the same
    shifted by one, int64.

    Args:
        text: the text itself.
        block_size: characters in a sample.
        alphabet: the characters in the order of their numbers; those of the text, sorted, by
            default.

    Example:
        >>> corpus = Characters("hello", 3)
        >>> corpus.alphabet, corpus[1]
        ('ehlo', (tensor([0, 2, 2]), tensor([2, 2, 3])))
        >>> corpus.decode(corpus[0][0])
        'hel'
    """

    def __init__(self, text: str, block_size: int, alphabet: str | None = None) -> None:
        self.alphabet = "".join(sorted(set(text))) if alphabet is None else alphabet
        self.block_size = block_size
        self._numbers = {character: i for i, character in enumerate(self.alphabet)}
        if not 0 < block_size < len(text):
            raise DataFileError(
                f"a text of {len(text)} characters has no samples of {block_size} and the one after them"
            )
        self.data = self.encode(text)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        block_size: int,
        alphabet: str | None = None,
        encoding: str = "utf-8",
    ) -> Characters:
        """The text of a file, plain or gzip."""
        return cls(text_of(path, encoding), block_size, alphabet)

    def encode(self, text: str) -> Tensor:
        """The text's numbers; ValueError for a character outside the alphabet."""
        try:
            numbers = [self._numbers[character] for character in text]
        except KeyError as error:
            raise DataFileError(
                f"the character {error.args[0]!r} is not in the alphabet {self.alphabet!r}"
            ) from None
        return _tensor(np.array(numbers, dtype=np.int64))

    def decode(self, numbers: Any) -> str:
        """The text that has these numbers."""
        return "".join(
            self.alphabet[int(i)]
            for i in (numbers.tolist() if isinstance(numbers, Tensor) else numbers)
        )

    def __getitem__(self, index: Any) -> tuple[Tensor, Tensor]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} of {len(self)}")
        start = index % len(self)
        return self.data[start : start + self.block_size], self.data[
            start + 1 : start + 1 + self.block_size
        ]

    def __len__(self) -> int:
        return len(self.data) - self.block_size
