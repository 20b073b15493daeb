"""The records of a checkpoint's archive, read and written one by one."""

import doctest
import io
import zipfile

import pytest

import pellucid as torch
from pellucid.serialization import records


def test_doctests():
    assert doctest.testmod(records).failed == 0


def test_reading(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.arange(4.0), "b": torch.ones(3, dtype=torch.int64)}, path)
    reader = torch._C.PyTorchFileReader(str(path))
    assert {"data.pkl", "byteorder", "data/0", "data/1", "version"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/2")
    assert reader.get_record_size("data/1") == 24
    start = reader.get_record_offset("data/0")
    assert start % 64 == 0 and start > reader.get_record_header_offset("data/0")
    assert path.read_bytes()[start : start + 16] == reader.get_record("data/0")
    for count, dtype in ((4, torch.float32), (16, torch.uint8), (16, torch.UntypedStorage)):
        empty = reader.get_storage_from_record("data/0", count, dtype)
        storage = empty.untyped_storage()
        assert empty.numel() == 0 and storage.nbytes() == 16
        assert torch.empty(0).set_(storage, 0, (4,)).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="locating file data/2: file not found"):
        reader.get_record("data/2")
    with pytest.raises(RuntimeError, match=r"record size \(16 bytes\) does not match"):
        reader.get_storage_from_record("data/0", 5, torch.float32)
    with pytest.raises(RuntimeError, match="errno 2 on fopen: No such file"):
        torch.PyTorchFileReader(str(tmp_path / "none"))
    for text, why in ((b"text", "not a ZIP archive"), (b"t" * 99, "failed finding central")):
        with pytest.raises(RuntimeError, match=why):
            torch.PyTorchFileReader(io.BytesIO(text))


def test_writing(tmp_path):
    path = tmp_path / "parts.pt"
    writer = torch.PyTorchFileWriter(str(path))
    writer.write_record("data/0", torch.ones(2).untyped_storage(), 8)
    writer.write_record("notes", "text", 4)
    with pytest.raises(RuntimeError, match="^Tried to serialize file twice: notes"):
        writer.write_record("notes", b"", 0)
    writer.set_min_version(6)
    assert writer.archive_name() == "parts"
    assert writer.get_all_written_records() == {"data/0", "notes"}
    writer.write_end_of_file()
    with zipfile.ZipFile(path) as archive:
        assert archive.read("parts/.data/version") == b"6\n"
        assert archive.read("parts/notes") == b"text"
    reader = torch.PyTorchFileReader(str(path))
    assert reader.serialization_id() == writer.serialization_id() and reader.serialization_id()
    assert reader.get_storage_from_record(
        "data/0", 2, torch.float32
    ).untyped_storage().tolist() == [*torch.ones(2).view(torch.uint8).tolist()]


def test_a_storage_can_be_noted_on():
    storage = torch.TypedStorage(dtype=torch.float32, device="meta")
    storage.archiveinfo = "data/0"
    assert storage.archiveinfo == "data/0"
    rebuild = torch._utils._rebuild_tensor_v2
    later = rebuild(storage, 0, (2, 3), (3, 1), False, {})
    assert later.device.type == "meta" and later.shape == (2, 3)


class Later:
    """Not a tensor, but it answers for one."""

    def __init__(self, reader, name, shape):
        self.reader, self.name, self.shape = reader, name, shape

    def tensor(self):
        empty = self.reader.get_storage_from_record(self.name, self.shape.numel(), torch.float32)
        held = empty._typed_storage()._untyped_storage
        storage = torch.TypedStorage(wrap_storage=held, dtype=torch.float32, _internal=True)
        return torch.empty(0).set_(storage.untyped(), 0, self.shape)

    def dim(self):
        return len(self.shape)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(*[a.tensor() if isinstance(a, cls) else a for a in args], **kwargs or {})


def test_parameters_are_loaded_when_they_are_copied():
    file = io.BytesIO()
    torch.save(torch.arange(6.0), file)
    net = torch.nn.Linear(3, 2, bias=False)
    net.load_state_dict(
        {"weight": Later(torch.PyTorchFileReader(file), "data/0", torch.Size((2, 3)))}
    )
    assert net.weight.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_what_has_no_forward_says_so_as_pytorch_does():
    with pytest.raises(TypeError, match=r"^_forward_unimplemented\(\) got an unexpected keyword"):
        torch.nn.Module()(x=1)


def test_what_a_function_makes_becomes_a_tensor_of_another_type():
    class Own(torch.Tensor):
        pass

    made = torch._tensor._rebuild_from_type_v2(lambda: torch.ones(2), Own, (), {"note": 3})
    assert type(made) is Own and made.note == 3
