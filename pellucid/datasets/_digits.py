"""The digits that come with the package."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_digits"]

_DIGITS = Path(__file__).with_name("digits.csv.gz")


def load_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the 1,797 handwritten digits of the UCI set as images and labels.

    Returns:
        images: `(1797, 8, 8)`, uint8, each pixel the number of inked points from 0 to 16 in a cell
        of 4x4. labels: `(1797,)`, int64, the digit from 0 to 9.

    Both are new arrays at every call. The digits were written by 13 people; the order is that of
    the original file.

    Source: E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository, doi:10.24432/C50P49, licence CC BY 4.0 (see LICENSE.digits.txt beside the
    data).

    Example:
        >>> from pellucid.datasets import load_digits
        >>> images, labels = load_digits()
        >>> images.shape, images.dtype.name, labels[:5].tolist()
        ((1797, 8, 8), 'uint8', [0, 1, 2, 3, 4])
    """
    with gzip.open(_DIGITS, "rt", encoding="ascii", newline="") as lines:
        table = np.array(
            [[int(value) for value in row] for row in csv.reader(lines)], dtype=np.int64
        )
    return table[:, :64].astype(np.uint8).reshape(-1, 8, 8), table[:, 64].copy()
