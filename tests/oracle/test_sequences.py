"""Nested sequences given to tensor constructors: values, dtypes and refusals are PyTorch's."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pellucid  # noqa: E402

A = np.array


def sequences(root):
    itself = []
    itself.append(itself)
    return {
        "arrays of two lengths": [A([1, 2, 3]), A([1])],
        "nested arrays of two lengths": [[A([1, 2]), A([1])]],
        "a matrix and a vector": [A([[1, 2]]), A([1, 2])],
        "an array and a number": [A([1.0]), 2.0],
        "a number and an array": [2.0, A([1.0])],
        "an array and a longer list": [A([1, 2]), [1, 2, 3]],
        "arrays without dimensions": [A(1), A(2)],
        "empty arrays": [A([]), A([])],
        "an empty array of integers": [A([], dtype=int), A([1])],
        "arrays of two dtypes": [A([1], np.float32), A([2], np.int8)],
        "an array and a tuple": [A([1, 2]), (3, 4)],
        "an array of text": [A(["a"])],
        "an array of objects": [A([None])],
        "an array of floats of two bytes": [A([1.5], np.float16)],
        "matrices of two sizes": [np.zeros((2, 3)), np.zeros((2, 4))],
        "arrays of two ranks": [np.zeros((2, 3)), np.zeros((2, 3, 4))],
        "ranges": [range(3), range(3)],
        "ranges of two lengths": [range(3), range(2)],
        "tensors of two lengths": [root.ones(2), root.ones(3)],
        "tensors of one element": [root.ones(1), root.ones(1)],
        "a tensor and an array": [root.ones(2), A([1.0, 2.0])],
        "an array and a tensor": [A([1.0, 2.0]), root.ones(2)],
        "tensors without dimensions": [[root.tensor(1.0), 2], [3, 4]],
        "text": ["ab", "c"],
        "bytes": [b"a"],
        "a dictionary": [{}],
        "None": [None],
        "a number and None": [1, None],
        "a list and a number": [[1], 2],
        "a number and a list": [1, [2]],
        "an empty list and a list": [[], [1]],
        "a list and an empty list": [[1], []],
        "empty tuples": [(), []],
        "a list in itself": itself,
        "too large for 64 bits": [1 << 70, 1],
        "bools and numbers": [[True, 2], [3.5, False]],
        "complex numbers": [[1j, 2], [3.5, True]],
        "NumPy's numbers": [np.float32(1), np.int8(2), 3],
        "a set": {1, 2},
        "a generator": (i for i in range(3)),
        "plain text": "abc",
        "plain bytes": b"abc",
        "a bytearray": bytearray(b"ab"),
    }


DTYPES = [None, "float32", "int64", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("kind", DTYPES)
@pytest.mark.parametrize("name", sequences(pellucid))
def test_a_sequence_is_read_as_in_pytorch(name, kind):
    def told(root):
        data = sequences(root)[name]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = root.tensor(data, dtype=kind and getattr(root, kind))
        except Exception as error:
            return type(error).__name__, str(error)
        return str(made.dtype), made.shape, made.numpy().tolist()

    assert told(pellucid) == told(torch)
