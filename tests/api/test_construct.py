"""torch.tensor of Python numbers: dtypes, and PyTorch's errors where the quick way does not apply."""

import pickle

import numpy as np
import pytest

import pellucid as torch


@pytest.mark.parametrize(
    "data, dtype, values",
    [
        ([1, 2], torch.int64, [1, 2]),
        ([1.5, 2.5], torch.float32, [1.5, 2.5]),
        ([1, 2.5], torch.float32, [1.0, 2.5]),
        ([True, False], torch.bool, [True, False]),
        ([True, 2], torch.int64, [1, 2]),
        ([[1, 2], [3, 4]], torch.int64, [[1, 2], [3, 4]]),
        ((1.0,), torch.float32, [1.0]),
        ([], torch.float32, []),
        ([2**63 - 1, -(2**63)], torch.int64, [2**63 - 1, -(2**63)]),
        ([1j], torch.complex64, [1j]),
    ],
    ids=str,
)
def test_lists_of_numbers(data, dtype, values):
    made = torch.tensor(data)
    assert made.dtype is dtype and made.tolist() == values
    assert made._array.flags.writeable and made._array.base is None


def test_the_default_type_counts():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor([0.1]).dtype is torch.float64 and torch.tensor([0.1]).item() == 0.1
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.tensor([0.1], dtype=torch.float64).item() == 0.1
    assert torch.tensor([1e300]).item() == float("inf")


def test_too_large_an_integer():
    with pytest.raises(ValueError, match="Overflow when unpacking long"):
        torch.tensor([1, 2**70])


@pytest.mark.parametrize(
    ("data", "dtype", "kind", "text"),
    [
        ([1, "a"], None, TypeError, "new(): invalid data type 'str'"),
        (["a", 1], None, ValueError, "too many dimensions 'str'"),
        ([[1], None], None, RuntimeError, "Could not infer dtype of NoneType"),
        ([1.0, {}], None, RuntimeError, "Could not infer dtype of dict"),
        (None, None, RuntimeError, "Could not infer dtype of NoneType"),
        (b"a", None, TypeError, "new(): invalid data type 'bytes'"),
        ([1, "a"], torch.float32, TypeError, "must be real number, not str"),
        (
            [[1, 2], [3]],
            torch.float32,
            ValueError,
            "expected sequence of length 2 at dim 1 (got 1)",
        ),
    ],
)
def test_what_is_no_number_is_refused_in_the_order_of_pytorch(data, dtype, kind, text):
    with pytest.raises(kind) as caught:
        torch.tensor(data, dtype=dtype)
    assert type(caught.value) is kind and str(caught.value) == text


def test_arrays_whose_dtype_is_another_object():
    """Pickle makes dtypes that are equal and not the same object; results must not depend on that."""
    x = torch.tensor([0.8472978472709656, 0.4054650664329529, -0.8472979068756104])
    array = pickle.loads(pickle.dumps(x.numpy()))  # noqa: S301
    assert array.dtype is not np.dtype(np.float32)
    shared = torch.from_numpy(array)
    others = [shared, torch.tensor(array), torch.as_tensor(array), pickle.loads(pickle.dumps(x))]  # noqa: S301
    for y in others:
        assert y.numpy().dtype is np.dtype(np.float32)
        assert torch.equal(torch.nn.functional.logsigmoid(y), torch.nn.functional.logsigmoid(x))
    array[0] = 5.0
    assert shared[0].item() == 5.0
    assert pickle.loads(pickle.dumps(x)).resize_(8).shape == (8,)  # noqa: S301


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ([np.float32(1), 2], torch.float32),
        ([2, np.float32(1)], torch.float32),
        ([np.float32(1), 2.5], torch.float32),
        ([np.float16(1), 2.5], torch.float32),
        ([1.5, np.float64(2)], torch.float64),
        ([1, np.float64(2)], torch.float64),
        ([np.int32(1), np.int64(2)], torch.int64),
        ([np.int8(1), 2], torch.int64),
        ([[1], [np.float32(2)]], torch.float32),
        ([np.complex64(1), 1.5], torch.complex64),
        ([np.bool_(True), False], torch.bool),
        ([np.uint8(1)], torch.uint8),
        ((np.float32(1), 3), torch.float32),
    ],
    ids=str,
)
def test_numbers_of_numpy_in_lists_keep_their_types(data, kind):
    made = torch.tensor(data)
    assert made.dtype is kind
    np.testing.assert_array_equal(made.numpy(), np.array(data))


@pytest.mark.parametrize(
    ("data", "dtype", "kind", "text"),
    [
        ([np.array(1.5)], None, TypeError, "len() of unsized object"),
        ([np.bool_(True), 1], None, TypeError, "'numpy.bool' object cannot be interpreted as an integer"),
        ([np.float32(1), 2], torch.int64, TypeError, "'numpy.float32' object cannot be interpreted as an integer"),
        ([np.datetime64("2020")], torch.float32, TypeError, "float() argument must be a string or a real number, not 'datetime.date'"),
        (np.str_("a"), None, TypeError, "new(): invalid data type 'numpy.str_'"),
        ([np.str_("a")], None, ValueError, "too many dimensions 'str'"),
    ],
)  # fmt: skip
def test_objects_of_numpy_that_are_no_such_numbers(data, dtype, kind, text):
    with pytest.raises(kind) as caught:
        torch.tensor(data, dtype=dtype)
    assert type(caught.value) is kind and str(caught.value) == text


@pytest.mark.parametrize("make", [torch.tensor, torch.as_tensor, torch.from_numpy])
@pytest.mark.parametrize("kind", ["U1", "S1", "O", "datetime64[s]", "longdouble", "V8"])
def test_arrays_of_other_types_name_them(make, kind):
    array = np.zeros(2, kind)
    with pytest.raises(
        TypeError, match=rf"can't convert np.ndarray of type numpy.{array.dtype.type.__name__}. The"
    ):
        make(array)


def test_a_list_of_arrays_warns_once(monkeypatch):
    monkeypatch.setattr("pellucid.errors.WARNED", set())
    with pytest.warns(UserWarning, match="list of numpy.ndarrays is extremely slow"):
        made = torch.tensor([np.ones(2, np.float32), [3, 4]])
    assert made.dtype is torch.float32
    torch.tensor([np.ones(2)])


@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_tensors_of_memory_mapped_arrays_hold_plain_ones(tmp_path, dtype):
    mapped = np.memmap(tmp_path / "weights", np.float32, "w+", shape=(3,))
    for make in (torch.tensor, torch.as_tensor, torch.asarray):
        assert type(make(mapped, dtype=dtype)._array) is np.ndarray
    mean = torch.tensor(mapped)
    normed = torch.nn.functional.batch_norm(torch.ones(2, 3), mean, torch.ones(3))
    assert normed.shape == (2, 3)
