import copy
import itertools
import pickle

import numpy as np
import pytest

import pellucid as torch
from pellucid import devices, dtypes
from pellucid.dtypes import NUMBER, SCALAR_TENSOR, TENSOR


def test_names_and_numpy():
    assert repr(dtypes.float32) == str(dtypes.float32) == "torch.float32"
    assert dtypes.BY_NAME["half"] is dtypes.float16 and dtypes.BY_NAME["long"] is dtypes.int64
    held = {array_type: d for array_type, d in dtypes.BY_NUMPY.items() if array_type.names is None}
    for array_type, d in held.items():
        assert d.numpy == array_type and d.itemsize == array_type.itemsize
        assert dtypes.from_numpy(np.zeros(1, array_type).dtype) is d
    assert len(held) == len(dtypes.ALL)


def test_quantised_elements_are_no_numbers_of_numpy():
    """They lie in arrays with a field of their name, so that no arithmetic takes them for integers."""
    fields = {
        str(d): array_type
        for array_type, d in dtypes.BY_NUMPY.items()
        if array_type.names is not None
    }
    assert fields == {
        "torch.quint8": [("quint8", "u1")],
        "torch.qint8": [("qint8", "i1")],
        "torch.qint32": [("qint32", "i4")],
    }
    with pytest.raises(RuntimeError, match=r"torch\.quint8 has no NumPy counterpart"):
        torch.quint8.numpy


def test_complex32_has_halves():
    assert dtypes.complex32.numpy.itemsize == 4 and dtypes.complex32.to_real() is dtypes.float16
    assert dtypes.float16.to_complex() is dtypes.complex32


def test_singletons_survive_copies():
    for d in dtypes.ALL:
        assert copy.deepcopy(d) is d and copy.copy(d) is d and d.__reduce__() == d.name
    for thing in (devices.device("cuda:1"), devices.cpu):
        assert copy.deepcopy(thing) is thing
        function, args = thing.__reduce__()
        assert function(*args) is thing
    size = devices.Size([2, 3])
    assert copy.deepcopy(size) == size and type(copy.deepcopy(size)) is devices.Size


def test_values_are_closed():
    for cls in (dtypes.dtype, devices.layout, devices.memory_format):
        with pytest.raises(TypeError, match=f"cannot create 'torch.{cls.__name__}' instances"):
            cls("float32")
    with pytest.raises(AttributeError, match="'torch.dtype' object has no attribute 'size'"):
        dtypes.float32.size
    with pytest.raises(
        AttributeError, match="attribute 'type' of 'torch.device' objects is not writable"
    ):
        devices.cpu.type = "cuda"


def test_promotion_is_a_commutative_upper_bound():
    for a, b in itertools.product(dtypes.ALL, repeat=2):
        try:
            both = dtypes.promote_types(a, b)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="Promotion for"):
                dtypes.promote_types(b, a)
            continue
        assert dtypes.promote_types(b, a) is both
        assert both.category == max(a.category, b.category)
        assert dtypes.can_cast(a, both) and dtypes.can_cast(b, both)


def test_numbers_do_not_widen():
    for d in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64):
        assert dtypes.result_type((d, TENSOR), (dtypes.number_dtype(2.5), NUMBER)) is d
        assert dtypes.result_type((d, TENSOR), (dtypes.float64, SCALAR_TENSOR)) is d
    assert (
        dtypes.result_type((dtypes.int8, TENSOR), (dtypes.number_dtype(300), NUMBER)) is dtypes.int8
    )
    assert (
        dtypes.result_type((dtypes.bool_, TENSOR), (dtypes.number_dtype(1), NUMBER)) is dtypes.int64
    )
    assert (
        dtypes.result_type((dtypes.float64, TENSOR), (dtypes.number_dtype(1j), NUMBER))
        is dtypes.complex128
    )


def test_default_dtype_reaches_promotion():
    pair = (dtypes.int64, TENSOR), (dtypes.float32, NUMBER)
    assert dtypes.result_type(*pair) is dtypes.float32
    dtypes.set_default_dtype(dtypes.float64)
    try:
        assert dtypes.result_type(*pair) is dtypes.float64
        assert dtypes.number_dtype(1.0) is dtypes.float64 and dtypes.finfo().dtype == "float64"
    finally:
        dtypes.set_default_dtype(dtypes.float32)
    assert dtypes.result_type(*pair) is dtypes.float32


@pytest.mark.parametrize(
    ("array", "kind", "words"),
    [
        (np.array(["a"]), TypeError, "can't convert np.ndarray of type numpy.str_"),
        (np.array([None]), TypeError, "can't convert np.ndarray of type numpy.object_"),
        (
            np.zeros(1, np.dtype(np.float32).newbyteorder()),
            ValueError,
            "given numpy array has byte order different",
        ),
    ],
)
def test_arrays_that_are_no_tensors(array, kind, words):
    with pytest.raises(kind, match=words):
        dtypes.from_numpy(array.dtype)


def test_limits():
    assert (dtypes.finfo(dtypes.bfloat16).max, dtypes.finfo(dtypes.float8_e4m3fn).max) == (
        3.3895313892515355e38,
        448.0,
    )
    assert (dtypes.iinfo(dtypes.int64).min, dtypes.iinfo(dtypes.uint64).max) == (
        -(2**63),
        2**64 - 1,
    )
    assert dtypes.finfo(dtypes.complex64) == dtypes.finfo(dtypes.float32)


def test_accelerator_index():
    with pytest.raises(
        RuntimeError, match="Cannot access accelerator device when none is available"
    ):
        devices.device(0)
    devices.set_accelerator_finder(lambda: "cuda")
    try:
        assert devices.device(1) is devices.device("cuda:1")
    finally:
        devices.set_accelerator_finder(lambda: None)


def test_sizes():
    size = devices.Size([np.int64(2), 3])
    assert type(size[0]) is int and size.numel() == 6 and repr(size) == "torch.Size([2, 3])"
    for made in (size[:1], size + (1,), (1,) + size, size * 2, 2 * size):
        assert type(made) is devices.Size


def test_pickles_come_back_as_the_same_objects():
    for thing in (*dtypes.ALL, devices.device("cuda:1"), devices.strided, devices.channels_last):
        assert pickle.loads(pickle.dumps(thing)) is thing
    again = pickle.loads(pickle.dumps(devices.Size([1, 2])))
    assert type(again) is devices.Size and again == (1, 2)
