"""Saving and loading: what was shared stays shared, what is damaged or hostile is refused, and
nothing in a file is run.
"""

import io
import operator
import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import serialization
from pellucid.sharded.checkpoint import metadata


def round_trip(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **options)


def test_views_share_memory_after_loading():
    base = torch.arange(12.0).reshape(3, 4)
    got = round_trip({"base": base, "part": base[1:, ::2], "turned": base.t()})
    got["base"][1, 0] = 77
    assert got["part"][0, 0] == 77
    assert got["turned"][0, 1] == 77
    assert got["part"].stride() == (4, 2)
    assert got["part"].storage_offset() == 4


@pytest.mark.parametrize(
    "name",
    ["float16", "bfloat16", "float64", "int8", "uint8", "uint16", "bool", "complex64", "int64"],
)
def test_element_types(name):
    x = torch.ones(3).to(getattr(torch, name))
    got = round_trip(x)
    assert got.dtype is x.dtype
    assert got.tolist() == x.tolist()


def test_plain_objects_and_flags():
    values = {
        "n": [1, 2.5, None, True, "x", b"y", 1 + 2j],
        "size": torch.ones(2, 3).shape,
        "dtype": torch.float32,
        "device": torch.device("cpu"),
        "ordered": OrderedDict(a=1),
        "empty": torch.empty(0, 3),
        "meta": torch.empty(2, device="meta"),
        "grad": torch.ones(2, requires_grad=True),
    }
    got = round_trip(values)
    assert repr(got) == repr(values)
    assert got["grad"].requires_grad


def test_subclasses_and_attributes():
    x = torch.ones(2)
    x.note = "kept"
    assert round_trip(x).note == "kept"


def test_old_format():
    file = io.BytesIO()
    base = torch.arange(6.0)
    torch.save([base, base[2:]], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    a, b = torch.load(file)
    a[2] = 9
    assert b.tolist() == [9.0, 3.0, 4.0, 5.0]


def test_memory_map(tmp_path):
    path = tmp_path / "x.pt"
    torch.save({"x": torch.arange(5.0)}, path)
    got = torch.load(path, mmap=True)["x"]
    got[0] = 7.0
    assert got.tolist() == [7.0, 1.0, 2.0, 3.0, 4.0]
    assert torch.load(path)["x"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)


def test_storages_are_aligned(tmp_path):
    path = tmp_path / "x.pt"
    torch.save([torch.ones(3), torch.ones(5)], path)
    with zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for info in archive.infolist():
            file.seek(info.header_offset + 26)
            name, extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
            assert (info.header_offset + 30 + name + extra) % 64 == 0
        assert "x/data.pkl" in archive.namelist()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.pt"
    torch.save(torch.ones(2), path)
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torch.save({"x": torch.zeros(2), "f": lambda: 0}, path)
    assert torch.load(path).tolist() == [1.0, 1.0]
    assert os.listdir(tmp_path) == ["x.pt"]


def test_missing_folder(tmp_path):
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, tmp_path / "no" / "x.pt")


# ---- damaged files -----------------------------------------------------------------------------
def archive_of(obj):
    file = io.BytesIO()
    torch.save(obj, file)
    return file.getvalue()


def test_every_truncation_is_noticed():
    data = archive_of({"x": torch.arange(10.0)})
    for n in range(4, len(data), 37):
        with pytest.raises((RuntimeError, pickle.UnpicklingError, EOFError)):
            torch.load(io.BytesIO(data[:n]))
    with pytest.raises(EOFError, match="^$"):
        torch.load(io.BytesIO(b""))


def test_a_changed_byte_never_gives_another_tensor():
    data = archive_of({"x": torch.arange(10.0)})
    rng = np.random.default_rng(0)
    for k in rng.integers(0, len(data), 300):
        changed = bytearray(data)
        changed[k] ^= 1 << int(rng.integers(8))
        try:
            got = torch.load(io.BytesIO(bytes(changed)))
        except (RuntimeError, ValueError, pickle.UnpicklingError, EOFError):
            continue
        assert got["x"].tolist() == list(range(10))


def test_text_is_no_checkpoint():
    with pytest.raises(pickle.UnpicklingError) as told:
        torch.load(io.BytesIO(b"hello, this is no checkpoint"))
    # PyTorch's class and text: "h" reads what stands under the number of "e"
    assert (type(told.value).__name__, str(told.value)) == ("KeyError", "101")
    assert "damaged or hostile" in told.value.__notes__[0]


# ---- hostile files -----------------------------------------------------------------------------
class Bomb:
    def __reduce__(self):
        return (os.system, ("echo run > /dev/null",))


def with_pickle(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/data/0", b"\0" * 8)
    file.seek(0)
    return file


HOSTILE = {
    "call": pickle.dumps(Bomb(), 2),
    "builtin": b"\x80\x02cbuiltins\neval\nX\x03\x00\x00\x001+1\x85R.",
    "attribute of an allowed name": b"\x80\x02ccollections\nOrderedDict.fromkeys\n].",
    "instance": b"(S'x'\nios\nsystem\n.",
    "extension": b"\x80\x02\x82\x01.",
    "call of a value": b"\x80\x02X\x01\x00\x00\x00a)R.",
    "build of a list": b"\x80\x02]}b.",
    "append to a set": b"\x80\x02cbuiltins\nset\n]\x85RK\x01a.",
    "items of a list": b"\x80\x02]K\x01K\x02s.",
    "stack underflow": b"\x80\x02R.",
    "unknown memo": b"\x80\x02h\x07.",
    "foreign reference": b"\x80\x02X\x01\x00\x00\x00aQ.",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused(name):
    lost = {"stack underflow": "pop from empty list", "unknown memo": "7"}
    with pytest.raises(
        pickle.UnpicklingError, match=lost.get(name, "Weights only load failed")
    ) as told:
        torch.load(with_pickle(HOSTILE[name]))
    assert (type(told.value) is pickle.UnpicklingError) == (name not in lost)


def reference(count, sizes, strides, offset=0):
    parts = [
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    ]
    parts.append(pickle.dumps(count, 2)[2:-1] + b"tQ" + pickle.dumps(offset, 2)[2:-1])
    parts.append(
        pickle.dumps(sizes, 2)[2:-1]
        + pickle.dumps(strides, 2)[2:-1]
        + b"\x89ccollections\nOrderedDict\n)RtR."
    )
    return b"".join(parts)


@pytest.mark.parametrize(
    "arguments",
    [
        (2, (3,), (1,)),
        (2, (2,), (9,)),
        (2, (2,), (-1,)),
        (2, (2,), (1,), 1),
        (2, (2,), (1,), -1),
        (10**12, (2,), (1,)),
    ],
)
def test_tensors_never_reach_outside_their_storage(arguments):
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.load(with_pickle(reference(*arguments)))
    assert torch.load(with_pickle(reference(2, (2,), (1,)))).tolist() == [0.0, 0.0]


class Point:
    def __init__(self, x):
        self.x = x


def test_classes_can_be_allowed():
    with pytest.raises(pickle.UnpicklingError, match="was not an allowed global by default"):
        round_trip(Point(3))
    with serialization.safe_globals([Point]):
        assert round_trip(Point(3)).x == 3
    with pytest.raises(pickle.UnpicklingError):
        round_trip(Point(3))
    assert round_trip(Point(3), weights_only=False).x == 3


def test_places():
    file = io.BytesIO(archive_of(torch.ones(2)))
    assert torch.load(file, map_location="meta").is_meta
    for where in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage):
        file.seek(0)
        assert torch.load(file, map_location=where).tolist() == [1.0, 1.0]
    file.seek(0)
    with pytest.raises(
        RuntimeError,
        match="Attempting to deserialize object on a CUDA device but torch.cuda.is_available",
    ):
        torch.load(file, map_location="cuda")


@pytest.mark.parametrize(
    "name",
    [
        "tanh",
        "add",
        "nn.functional.gelu",
        "nn.functional.relu",
        "linalg.qr",
        "special.expit",
        "Tensor.float",
        "Tensor.add",
    ],
)
def test_functions_are_found_by_their_public_names(name):
    function = operator.attrgetter(name)(torch)
    assert pickle.loads(pickle.dumps(function)) == function
    model = torch.nn.TransformerEncoderLayer(4, 1, 4, activation=function)
    assert round_trip(model, weights_only=False).activation == function


def test_functions_beside_a_tensor_type_of_ones_own():
    import pellucid.nn.attention.bias  # noqa: F401  (with it the functions of the namespaces are dispatching ones)

    for function in (F.gelu, torch.tanh, torch.special.expit):
        assert pickle.loads(pickle.dumps(function)) == function


class Narrow:
    """A file with the methods that PyTorch asks for and no more."""

    def __init__(self, content):
        self.file, self.calls = io.BytesIO(content), []

    def read(self, size):
        return self.file.read(size)

    def readinto(self, memory):
        self.calls.append(len(memory))
        return self.file.readinto(memory)

    def seek(self, *where):
        return self.file.seek(*where)

    def tell(self):
        return self.file.tell()


def test_a_file_that_cannot_say_whether_it_seeks():
    written = io.BytesIO()
    torch.save({"x": torch.arange(5)}, written)
    narrow = Narrow(written.getvalue())
    assert torch.load(narrow)["x"].tolist() == [0, 1, 2, 3, 4] and narrow.calls


class OnlyWritten:
    """An object that has what PyTorch asks for when it saves, and no more."""

    def __init__(self):
        self.data, self.flushed = b"", False

    def write(self, data):
        self.data += bytes(data)

    def flush(self):
        self.flushed = True


@pytest.mark.parametrize("zipped", [True, False])
def test_what_a_file_must_have(zipped):
    file = OnlyWritten()
    torch.save(torch.arange(3), file, _use_new_zipfile_serialization=zipped)
    assert file.flushed
    assert torch.load(io.BytesIO(file.data)).tolist() == [0, 1, 2]


def test_parts_of_storages_as_of_old(monkeypatch):
    """A file of protocol 1001 with two parts of one storage of two floats."""
    storage = torch.FloatStorage
    whole = ("storage", storage, "7", "cpu", 2)

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj[1] if isinstance(obj, tuple) and obj[:1] == ("part",) else None

    file = io.BytesIO()
    for header in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(header, file, 2)
    parts = [("part", (*whole, ("8", 0, 1))), ("part", (*whole, ("9", 1, 1)))]
    monkeypatch.setitem(sys.modules, "torch", torch)
    Pickler(file, 2).dump(parts)
    pickle.dump(["7"], file, 2)
    file.write(struct.pack("<qff", 2, 1.5, 2.5))
    data = file.getvalue()
    first, second = torch.load(io.BytesIO(data))
    assert first.tolist() == [1.5] and second.tolist() == [2.5]
    assert first.data_ptr() + 4 == second.data_ptr()
    with pytest.raises(RuntimeError, match="reaches beyond its 2 elements"):
        torch.load(io.BytesIO(data.replace(b"K\x01K\x01\x87", b"K\x01K\x02\x87")))


class _ByValue:
    """A module whose pickler writes functions without a name, as cloudpickle does."""

    class Pickler(pickle.Pickler):
        def reducer_override(self, obj):
            if getattr(obj, "__name__", "") == "<lambda>":
                return eval, (f"lambda x: x + {obj(0)}",)
            return NotImplemented


@pytest.mark.parametrize("zipped", [True, False])
def test_another_module_takes_functions_apart(zipped):
    file = io.BytesIO()
    things = {"f": lambda x: x + 2, "w": torch.ones(2)}
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        torch.save(things, io.BytesIO(), _use_new_zipfile_serialization=zipped)
    torch.save(things, file, pickle_module=_ByValue, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    read = torch.load(file, weights_only=False)
    assert read["f"](1) == 3 and read["w"].tolist() == [1, 1]


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_distributed_checkpoints_are_read_in_every_protocol(tmp_path, protocol):
    """PyTorch writes `.metadata` in Python's own protocol, not in that of `torch.save`."""
    dcp = torch.distributed.checkpoint
    dcp.save({"a": torch.arange(6.0), "n": 3}, checkpoint_id=tmp_path, no_dist=True)
    path = tmp_path / ".metadata"
    file = io.BytesIO()
    metadata.Writer(file, protocol).dump(metadata.read(path.read_bytes()))
    path.write_bytes(file.getvalue())
    made = {"a": torch.zeros(6), "n": 0}
    dcp.load(made, checkpoint_id=tmp_path, no_dist=True)
    assert made["a"].tolist() == [0, 1, 2, 3, 4, 5] and made["n"] == 3
