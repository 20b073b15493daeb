"""Options of `torch.serialization`, files without their tensors' bytes, and what is told of damaged ones."""

import io
import mmap
import zipfile

import pytest

import pellucid as torch

S = torch.serialization


def test_files_without_the_bytes_of_tensors(tmp_path):
    path = tmp_path / "x.pt"
    with S.skip_data():
        torch.save({"a": torch.ones(3), "n": 2}, path)
    assert torch.load(path)["a"].tolist() == [0, 0, 0]
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("x/data/0")
        names = [name.partition("/")[2] for name in archive.namelist()]
    assert names[-2:] == ["version", ".data/serialization_id"]
    with open(path, "r+b") as file:  # the bytes come later
        file.seek(info.header_offset + 28)
        extra = int.from_bytes(file.read(2), "little")
        file.seek(info.header_offset + 30 + len("x/data/0") + extra)
        file.write(torch.full((3,), 7.0).numpy().tobytes())
    assert torch.load(path)["a"].tolist() == [7, 7, 7]


def test_options(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.zeros(4), path)
    with S.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True).fill_(3)
    torch.load(path, mmap=True).fill_(5)
    assert torch.load(path).tolist() == [3] * 4
    assert S.get_default_mmap_options() == mmap.MAP_PRIVATE and S.get_crc32_options() is True
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but got 5"):
        S.set_default_mmap_options(5)
    S.set_default_load_endianness(S.LoadEndianness.BIG)
    assert S.get_default_load_endianness() is S.LoadEndianness.BIG
    S.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="Invalid argument type in function"):
        S.set_default_load_endianness(5)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04xxx", "reading zip archive: not a ZIP archive. This is an internal miniz"),
        (b"PK\x03\x04" + b"x" * 99, "failed finding central directory. This is an internal miniz"),
    ],
)
def test_damaged_archives(data, said):
    with pytest.raises(RuntimeError, match=said):
        torch.load(io.BytesIO(data))


def test_files_of_text_and_of_the_old_format():
    with pytest.raises(AssertionError, match="Expected bytes, got str"):
        torch.load(io.StringIO("x"))
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'str'"):
        torch.load(io.StringIO("x"), weights_only=False)
    file = io.BytesIO()
    torch.save(1, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(file, mmap=True)

    class Writes:
        def write(self, data):
            return len(data)

    with pytest.raises(AttributeError, match="'Writes' object has no attribute 'flush'"):
        torch.save(1, Writes())


def test_lazy_layers_keep_their_kind_in_files():
    file = io.BytesIO()
    torch.save(torch.nn.LazyBatchNorm1d().state_dict(), file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert str(loaded["weight"]) == "<UninitializedParameter>"
    assert str(loaded["running_mean"]) == "<UninitializedBuffer>"
    weight, used = torch.nn.LazyLinear(3).weight, "Attempted to use an uninitialized parameter in <"
    for call in (weight.numel, weight.dim, weight.clone, weight.sum, lambda: len(weight)):
        with pytest.raises(ValueError, match=used):
            call()
    with pytest.raises(ValueError, match=used + "built-in method sum of type object"):
        torch.sum(weight)
    assert weight.size() == (0,) and weight.is_leaf and weight.to(torch.float64).numel() == 0
