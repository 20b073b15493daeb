"""Storages, and tensors that share memory: copies, files, sizes that must stay."""

import copy
import os
import pickle

import numpy as np
import pytest

import pellucid as torch


def test_a_shallow_copy_shares_memory():
    x = torch.zeros(2, 2, requires_grad=True)
    x.note = "kept"
    y = copy.copy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.note == "kept"
    with torch.no_grad():
        y.fill_(1)
    assert x.sum() == 4
    p = torch.nn.Parameter(torch.zeros(2))
    assert type(copy.copy(p)) is type(p) and copy.copy(p).data_ptr() == p.data_ptr()
    s = torch.eye(2).to_sparse()
    assert torch.equal(copy.copy(s).to_dense(), torch.eye(2))


def test_a_deep_copy_keeps_tensors_and_storages_together():
    x = torch.zeros(4)
    view, storage = x.view(2, 2), x.untyped_storage()
    a, b, c = copy.deepcopy([x, view, storage])
    a.fill_(1)
    assert b.sum() == 4 and bytes(c.tolist()) == np.ones(4, np.float32).tobytes()
    assert x.sum() == 0


def test_typed_storages_are_lists_of_elements():
    s = torch.FloatStorage([1, 2, 3])
    assert (
        isinstance(s, torch.FloatStorage)
        and s.type() == "torch.FloatStorage"
        and len(s) == 3
        and s.nbytes() == 12
    )
    assert (
        str(s)
        == " 1.0\n 2.0\n 3.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 3]"
    )
    assert s.int().tolist() == [1, 2, 3] and s.double().dtype is torch.float64
    assert s.clone().fill_(7).tolist() == [7.0] * 3 and s.tolist() == [1.0, 2.0, 3.0]
    assert torch.FloatStorage(3).copy_(torch.FloatStorage([4, 5, 6])).tolist() == [4.0, 5.0, 6.0]
    assert torch.FloatTensor(s).data_ptr() == s.data_ptr()
    assert pickle.loads(pickle.dumps(s)).tolist() == s.tolist() == copy.copy(s).tolist()
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
        s[1:]
    with pytest.raises(RuntimeError, match="Too many positional arguments"):
        torch.FloatStorage(2, 3)
    s.resize_(5)
    assert s.size() == 5 and s.tolist()[:3] == [1.0, 2.0, 3.0]
    assert torch.FloatStorage([1.0]).share_memory_().is_shared()


def test_storages_from_buffers():
    made = torch.IntStorage.from_buffer(b"\0\0\0\1\0\0\0\2", "big")
    assert made.tolist() == [1, 2]
    assert torch.ShortStorage.from_buffer(b"\1\0\2\0", "little", count=1, offset=2).tolist() == [2]
    assert torch.ComplexFloatStorage.from_buffer(
        np.array([1 + 2j], ">c8").tobytes(), "big"
    ).tolist() == [1 + 2j]
    with pytest.raises(
        ValueError, match=r"buffer size \(3\) must be a multiple of element size \(4\)"
    ):
        torch.IntStorage.from_buffer(b"\0\0\0", "native")


def test_files_as_memory(tmp_path):
    path = os.fspath(tmp_path / "data")
    s = torch.FloatStorage.from_file(path, True, 4)
    s.fill_(2.0)
    x = torch.from_file(path, True, 4)
    x[0] = 1
    assert s.tolist() == [1.0, 2.0, 2.0, 2.0] and s.filename == path
    assert torch.from_file(path, size=2, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size <32>"):
        torch.from_file(path, size=8)
    with pytest.raises(
        RuntimeError,
        match=r"unable to open file </nowhere/at/all> in read-only mode: No such file or directory \(2\)",
    ):
        torch.from_file("/nowhere/at/all", size=1)


def test_memory_that_numpy_holds_does_not_grow():
    fixed = "Trying to resize storage that is not resizable"
    x = torch.zeros(2, 2)
    held = x.numpy()
    with pytest.raises(RuntimeError, match=fixed):
        x.resize_(10)
    assert x.resize_(3).shape == (3,) and held.shape == (2, 2)
    with pytest.raises(RuntimeError, match=fixed):
        torch.from_numpy(np.zeros(3)).resize_(4)
    with pytest.warns(UserWarning, match="was resized"), pytest.raises(RuntimeError, match=fixed):
        torch.add(torch.ones(5), 1, out=torch.from_numpy(np.zeros(3, np.float32)))
    assert torch.zeros(3).resize_(4).shape == (4,)


def test_expanded_dimensions_of_size_one_step_over_what_follows():
    x = torch.ones(5)
    assert x.expand(1, 1, 5).stride() == x[None, None].stride() == (5, 5, 1)
    assert x.expand(3, 1, 5).stride() == (0, 5, 1)
    assert torch.tensor(1.0).expand(2, 1).stride() == (0, 0)


def test_a_mask_with_one_value_fills_and_other_shapes_come_first():
    x = torch.arange(6)
    assert x.index_put((x > 2,), torch.tensor([1.0])).tolist() == [0, 1, 2, 1, 1, 1]
    for values in ([], [1.0, 2.0]):
        with pytest.raises(RuntimeError, match="shape mismatch: value tensor of shape"):
            x.clone()[x > 2] = torch.tensor(values)


def test_a_storage_takes_another_size_under_its_tensors():
    x = torch.arange(6.0).reshape(2, 3)
    column, row = x.t()[1:], x[1]
    storage = x.untyped_storage()
    storage.resize_(48)
    x[0, 1] = 9
    assert column.tolist() == [[9, 4], [2, 5]] and column.untyped_storage() is storage
    storage.resize_(0)  # the memory is gone, the shapes stay
    assert x.shape == (2, 3) and x.untyped_storage().nbytes() == 0 == x.untyped_storage().data_ptr()
    del storage
    column.untyped_storage().resize_(24)
    x.copy_(torch.ones(2, 3))
    assert row.tolist() == [1, 1, 1] and column.tolist() == [[1, 1]] * 2
    assert column.stride() == (1, 3) and x.untyped_storage().nbytes() == 24
    half = torch.ones(3, dtype=torch.bfloat16)
    half.untyped_storage().resize_(0)
    half.untyped_storage().resize_(6)
    assert half.fill_(1).tolist() == [1, 1, 1]
    lent = torch.from_numpy(np.ones(3))
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        lent.untyped_storage().resize_(0)


def test_set_makes_a_storage_larger():
    storage = torch.ones(3).untyped_storage()
    x = torch.zeros(2).set_(storage, 1, (5,))
    assert x.shape == (5,) and storage.nbytes() == 24 and x[:2].tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="the length of data is not a multiple of 2"):
        torch.UntypedStorage(3).byteswap(torch.int16)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.empty(10**14),
        lambda: torch.ones(1).expand(10**14).clone(),
        lambda: torch.ones(10**7, 1) + torch.ones(1, 10**7),
        lambda: torch.ones(2).resize_(10**14),
        lambda: torch.FloatTensor(10**14),
    ],
)
def test_memory_that_there_is_not(call):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == (
        "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate "
        "400000000000000 bytes. Error code 12 (Cannot allocate memory)"
    )


def test_numbers_that_64_bits_do_not_hold():
    said = "value cannot be converted to type int64_t without overflow"
    with pytest.raises(RuntimeError, match=said):
        torch.nn.functional.interpolate(torch.ones(1, 1, 4, 4), scale_factor=1e20, mode="bilinear")
    with pytest.raises(RuntimeError, match=said):
        torch.arange(2**63)
