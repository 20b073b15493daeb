"""`asarray`, `frombuffer` and sizes that no memory holds."""

import array

import numpy as np
import pytest

import pellucid as torch


def test_asarray_reads_buffers_as_the_dtype():
    assert torch.asarray(bytearray(b"abcd"), dtype=torch.int16).tolist() == [25185, 25699]
    memory = array.array("i", [1, 2])
    shared = torch.asarray(memory, dtype=torch.int32)
    memory[0] = 5
    assert shared.tolist() == [5, 2]
    with pytest.raises(ValueError, match="must be a multiple of element size"):
        torch.asarray(bytearray(b"abcde"), dtype=torch.int16)
    with pytest.raises(ValueError, match="object does not implement Python buffer protocol"):
        torch.frombuffer(3, dtype=torch.int32)


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ([1.0], {}, "can't alias arbitrary sequence into a tensor."),
        (np.ones(2), {"dtype": torch.float32}, "can't alias tensor with dtype 'Double' into dtype"),
        (np.ones(2), {"device": "meta"}, "can't alias tensor from device 'cpu' to 'meta'."),
    ],
)
def test_asarray_without_a_copy(given, options, text):
    with pytest.raises(ValueError) as info:
        torch.asarray(given, copy=False, **options)
    assert str(info.value).startswith(text)


@pytest.mark.parametrize("make", [torch.zeros, torch.empty, torch.rand, torch.ones(1).new_ones])
def test_sizes_beyond_64_bits(make):
    with pytest.raises(RuntimeError, match=r"^Storage size calculation overflowed with sizes=\["):
        make(2**40, 2**40)


def test_ranges_and_sizes_that_do_not_fit():
    with pytest.raises(RuntimeError, match="^invalid size, possible overflow"):
        torch.arange(0, 1e30)
    with pytest.raises(RuntimeError, match="^value cannot be converted to type int64_t without"):
        torch.arange(0, 2**63, 2**62)
    with pytest.raises(RuntimeError, match="^numel: integer multiplication overflow"):
        torch.ones(3).resize_(2, -1)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ([1, [2]], "'list' object cannot be interpreted as an integer"),
        ([1.0, (2,)], "must be real number, not tuple"),
    ],
)
def test_uneven_sequences_by_the_type_of_their_numbers(data, text):
    with pytest.raises(TypeError) as info:
        torch.tensor(data)
    assert str(info.value) == text


def test_what_is_filled_resizes_out_without_a_word():
    out = torch.ones(2)
    assert torch.zeros(3, out=out) is out
    assert out.tolist() == [0.0, 0.0, 0.0]
    with pytest.warns(UserWarning, match="The number of elements in the out tensor of shape"):
        torch.arange(4.0, out=out)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.complex(torch.ones(2), torch.ones(2), out=torch.zeros(3, dtype=torch.complex64))
