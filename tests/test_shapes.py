import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid import shapes

small = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@given(small, small)
def test_broadcasting_agrees_with_numpy(a, b):
    try:
        wanted = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(
            RuntimeError, match=r"^The size of tensor a \(\d\) must match the size of tensor b"
        ):
            shapes.broadcast_shapes(a, b)
        return
    assert shapes.broadcast_shapes(a, b) == wanted
    strides = shapes.contiguous_strides(a)
    assert shapes.expand(a, strides, wanted)[0] == wanted
    added, stretched = shapes.broadcast_dims(a, wanted)
    assert added == len(wanted) - len(a)
    assert all(a[d] == 1 and wanted[added + d] != 1 for d in stretched)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_view_strides_address_the_same_elements(shape, data):
    array = (
        np.arange(np.prod(shape))
        .reshape(shape)
        .transpose(data.draw(st.permutations(range(len(shape)))))
    )
    new = data.draw(
        st.sampled_from([(-1,), (1, -1), (-1, 1), (*shape, 1), tuple(reversed(shape)), (2, -1)])
    )
    try:
        new = shapes.infer_size(new, array.size)
    except RuntimeError:
        assert new == (2, -1) and array.size % 2
        return
    elements = [s // array.itemsize for s in array.strides]
    strides = shapes.view_strides(array.shape, elements, new)
    wanted = array.reshape(new)
    assert (strides is not None) == np.shares_memory(wanted, array)
    if strides is not None:
        seen = np.lib.stride_tricks.as_strided(array, new, [s * array.itemsize for s in strides])
        assert (seen == wanted).all()


@given(
    st.integers(0, 12),
    st.one_of(st.none(), st.integers(-15, 15)),
    st.one_of(st.none(), st.integers(-15, 15)),
    st.integers(1, 4),
)
def test_slices_agree_with_lists(size, start, stop, step):
    first, length, by = shapes.slice_range(slice(start, stop, step), size)
    assert [first + i * by for i in range(length)] == list(range(size))[start:stop:step]


@given(st.integers(0, 30), st.integers(1, 12))
def test_splits_cover_the_dimension(size, parts):
    for lengths in (
        shapes.split_sizes(size, parts),
        shapes.chunk_sizes(size, parts),
        shapes.tensor_split_sizes(size, parts),
    ):
        assert sum(lengths) == size
    assert len(shapes.tensor_split_sizes(size, parts)) == parts


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
    st.lists(st.integers(1, 3), min_size=1, max_size=4),
)
def test_matmul_agrees_with_numpy(a, b):
    try:
        wanted = np.matmul(np.zeros(a), np.zeros(b)).shape
    except ValueError:
        with pytest.raises(RuntimeError, match="size|shapes|Expected"):
            shapes.matmul_shape(a, b)
        return
    assert shapes.matmul_shape(a, b) == wanted


@given(
    st.integers(1, 9), st.integers(1, 4), st.integers(1, 3), st.integers(0, 3), st.integers(1, 2)
)
def test_transposed_convolution_undoes_the_shape(size, kernel, stride, padding, dilation):
    made = shapes.conv_transpose_shape(
        1, (2, 3, size), (3, 5, kernel), stride=stride, padding=0, dilation=dilation
    )
    back = shapes.conv_shape(1, made, (3, 5, kernel), stride=stride, padding=0, dilation=dilation)
    assert back == (2, 3, size)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: shapes.broadcast_shapes((4, 3), (4, 2)), RuntimeError,
         "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"),
        (lambda: shapes.normalize_dim(5, 2), IndexError,
         "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
        (lambda: shapes.infer_size((2, 5), 12), RuntimeError, "shape '[2, 5]' is invalid for input of size 12"),
        (lambda: shapes.normalize_dims((0, -2), 2), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (lambda: shapes.mm_shape((2, 3), (4, 5)), RuntimeError,
         "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)"),
        (lambda: shapes.index_position(4, (4, 6), 0), IndexError, "index 4 is out of bounds for dimension 0 with size 4"),
        (lambda: shapes.slice_range(slice(None, None, -1), 3), ValueError, "step must be greater than zero"),
        (lambda: shapes.cat_shape([(2, 3), (2, 4)]), RuntimeError,
         "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1 in the list."),
    ],
)  # fmt: skip
def test_first_lines(call, kind, sentence):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value).splitlines()[0] == sentence


def test_offending_dimensions_and_hints_are_on_the_error():
    with pytest.raises(RuntimeError, match="non-singleton") as caught:
        shapes.broadcast_shapes((128, 10), (128,))
    assert caught.value.facts.dims == (-1,)
    assert (
        caught.value.facts.hint
        == "to use one value of b for each row, make it a column: b.unsqueeze(1)"
    )


def test_same_padding_keeps_the_size():
    for kernel in range(1, 6):
        ((before, after),) = shapes.same_padding((kernel,))
        assert before + after == kernel - 1
        assert shapes.conv_shape(1, (1, 1, 9), (1, 1, kernel), padding="same") == (1, 1, 9)


def test_shapes_of_convolutions_that_are_remembered():
    for _ in range(2):  # the second time it is looked up
        assert shapes.conv_shape(2, (8, 3, 9, 9), (4, 3, 3, 3), (4,), 2, (1, 0)) == (8, 4, 5, 4)
        assert shapes.conv_shape(2, (8, 3, 9, 9), (4, 3, 3, 3), (4,), [2, 2], [1, 0]) == (
            8,
            4,
            5,
            4,
        )
        assert shapes.conv_shape(1, [2, 3, 9], [4, 3, 3], None, 1, "same") == (2, 4, 9)
        with pytest.raises(RuntimeError, match="negative padding"):
            shapes.conv_shape(1, (2, 3, 9), (4, 3, 3), None, 1, -1)
        with pytest.raises(RuntimeError, match="expected input"):
            shapes.conv_shape(1, (2, 4, 9), (4, 3, 3))
    from pellucid.shapes.conv import whole

    assert whole(1) and whole((1, 2)) and whole("same") and whole(())
    assert not (whole(True) or whole((True, 1)) or whole([1]) or whole(1.0) or whole(None))
