from pathlib import Path

import numpy as np

from pellucid import datasets

ROOT = Path(__file__).resolve().parents[2]
# Counts per class as the set's own documentation gives them.
CLASS_COUNTS = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_digits_are_those_of_the_documentation():
    images, labels = datasets.load_digits()
    assert images.shape == (1797, 8, 8)
    assert images.dtype == np.uint8
    assert (images.min(), images.max()) == (0, 16)
    assert labels.dtype == np.int64
    assert np.bincount(labels).tolist() == CLASS_COUNTS


def test_each_call_gives_arrays_of_its_own():
    first, _ = datasets.load_digits()
    first[:] = 99
    second, _ = datasets.load_digits()
    assert second.max() == 16


def test_the_example_reads_the_same_bytes_as_the_package():
    shipped = Path(datasets.__file__).with_name("digits.csv.gz").read_bytes()
    assert (ROOT / "examples" / "data" / "digits.csv.gz").read_bytes() == shipped


def test_source_and_licence_lie_beside_both_copies():
    notice = Path(datasets.__file__).with_name("LICENSE.digits.txt").read_text()
    assert "10.24432/C50P49" in notice
    assert "CC BY 4.0" in notice
    assert (ROOT / "examples" / "data" / "LICENSE.digits.txt").read_text() == notice
