"""Files that lie: each function that a file may call with each wrong argument, archives and old
files with wrong sizes.
"""

import io
import pickle
import struct
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import pellucid as torch
from pellucid import serialization

sys.path.insert(0, str(Path(__file__).parent / "fuzz"))
import harness

files = harness.load("files")
hostile = sys.modules["hostile"]
ERRORS = (pickle.UnpicklingError, RuntimeError, ValueError, EOFError)


def archive(value, records=(), **changes):
    """A file with an object (an expression of tests/fuzz/hostile.py) and storages 0 (floats), 1
    (bytes) and 2 (two int64 numbers).
    """
    found = [
        {"name": "a/data.pkl", "content": {"pickle": value}, **changes},
        {"name": "a/version", "content": "3\n"},
        {"name": "a/data/0", "content": {"repeat": ["0000803f", 4]}},
        {"name": "a/data/1", "content": {"hex": "ff" * 16}},
        {"name": "a/data/2", "content": {"hex": "02" + "00" * 15}},
        *records,
    ]
    return hostile.archive(found, {})


def load(data, **options):
    return torch.load(io.BytesIO(data), weights_only=True, **options)


def test_the_right_arguments_are_taken():
    """Otherwise the other tests would prove nothing."""
    with serialization.safe_globals([torch.nn.utils.rnn.PackedSequence]):
        for name, arguments in files.CALLS.items():
            found = load(archive(["call", files.glob(name), ["tuple", *arguments]]))
            assert files.insane(found) is None, name
    assert load(archive(files.TENSOR)).tolist() == [1.0, 1.0]


WRONG = [
    None,
    True,
    0,
    -1,
    3,
    ["int", str(1 << 40)],
    ["int", str(1 << 63)],
    ["int", str(-(1 << 80))],
    0.5,
    ["float", "nan"],
    "",
    "grad",
    "zlib",
    ["bytes", "00ff"],
    ["list"],
    ["list", 1, 2],
    ["tuple"],
    ["tuple", -1],
    ["tuple", True],
    ["tuple", 0.5],
    ["tuple", ["int", str(1 << 62)]],
    ["tuple", ["int", str(1 << 80)]],
    ["tuple", 1, 2, 3],
    ["dict"],
    ["dict", ["grad", 1]],
    ["dict", ["__class__", 1]],
    ["dict", [1, 2]],
    ["dict", ["conj", True]],
    ["dict", ["conj", 1]],
    ["dict", ["shape", 1]],
    ["dict", ["_array", 1]],
    files.ORDERED,
    files.TENSOR,
    files.FLOATS,
    ["build", files.ORDERED, ["dict", ["numpy", files.ORDERED]]],
    ["dag", 60, "tuple"],
    ["dag", 60, "list"],
    files.glob("torch.float32"),
    files.glob("torch.FloatStorage"),
    files.glob("torch.Tensor"),
    files.glob("builtins.set"),
    files.glob("torch._utils._rebuild_tensor"),
]


@pytest.mark.parametrize("name", files.CALLS)
def test_each_wrong_argument_is_refused_or_harmless(name):
    with serialization.safe_globals([torch.nn.utils.rnn.PackedSequence]):
        for k in range(len(files.CALLS[name])):
            for wrong in WRONG:
                arguments = [*files.CALLS[name]]
                arguments[k] = wrong
                start = time.process_time()
                try:
                    problem = files.insane(
                        load(archive(["call", files.glob(name), ["tuple", *arguments]]))
                    )
                except ERRORS as error:
                    problem = None if str(error) else "an error without a text"
                assert problem is None, (k, wrong, problem)
                assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "kind",
    [["deep", 200_000, "tuple"], ["dag", 60, "tuple"], ["collide", 20_000]],
    ids=lambda kind: kind[0],
)
def test_keys_are_hashed_in_bounded_time_and_depth(kind):
    keys = kind if kind[0] == "collide" else ["dict", [kind, 1]]
    others = (
        []
        if kind[0] == "collide"
        else [
            ["call", files.glob(f"builtins.{name}"), ["tuple", ["list", kind]]] for name in ("set",)
        ]
    )
    for value in (keys, *others):
        with pytest.raises(pickle.UnpicklingError, match="a key "):
            load(archive(value))


def test_an_object_is_not_taken_for_a_dtype():
    """NumPy made an array of objects of it, over the file's bytes: pointers that were then
    followed.
    """
    numpy = [
        "build",
        ["items", files.ORDERED, ["names", ["list", "a"]], ["formats", ["list", "O"]]],
        ["dict", ["itemsize", 8]],
    ]
    fake = ["build", ["items", files.ORDERED, ["x", 1]], ["dict", ["numpy", numpy]]]
    for name in ("_rebuild_tensor", "_rebuild_tensor_v3"):
        arguments = [
            files.BYTES,
            0,
            files.ONE,
            files.ONE,
            *[False, files.ORDERED] * (name[-1] == "3"),
            fake,
        ]
        with pytest.raises(
            TypeError, match=r"argument 'dtype' must be torch.dtype, not OrderedDict"
        ) as caught:
            load(archive(["call", files.glob("torch._utils." + name), ["tuple", *arguments]]))
        # and what a damaged file always raises
        assert isinstance(caught.value, pickle.UnpicklingError)
    with pytest.raises(TypeError, match="must be torch.dtype"):
        load(
            archive(
                [
                    "call",
                    files.glob("torch._utils._rebuild_meta_tensor_no_storage"),
                    ["tuple", fake, files.TWO, files.ONE, False],
                ]
            )
        )


@pytest.mark.parametrize(
    "state", ["grad", "__class__", "__dict__", "_array", "requires_grad", "data", "add", "_node"]
)
def test_attributes_of_the_class_are_not_a_files_to_set(state):
    for form in (["dict", [state, 1]], ["tuple", ["dict"], ["dict", [state, files.TENSOR]]]):
        with pytest.raises(TypeError, match="is not state that a file may set"):
            load(
                archive(
                    [
                        "call",
                        files.glob(files.UTILS + "_rebuild_parameter_with_state"),
                        ["tuple", files.TENSOR, True, None, form],
                    ]
                )
            )
    with pytest.raises(pickle.UnpicklingError, match="cannot have the attribute"):
        load(archive(["build", files.ORDERED, ["dict", ["items", 1]]]))
    assert (
        load(archive(["build", files.ORDERED, ["dict", ["_metadata", ["dict"]]]]))._metadata == {}
    )


def test_a_conjugate_tensor_leaves_the_other_tensors_of_its_storage_alone():
    def part(conj, size, stride):
        flags = ["dict", ["conj", conj]]
        arguments = [
            ["storage", "torch.ComplexFloatStorage", "0", "cpu", 2],
            0,
            size,
            stride,
            False,
            files.ORDERED,
            flags,
        ]
        return ["call", files.glob("torch._utils._rebuild_tensor_v2"), ["tuple", *arguments]]

    a, b, c = load(
        archive(
            [
                "list",
                part(False, files.TWO, files.ONE),
                part(True, files.TWO, files.ONE),
                part(True, files.TWO, files.ONE),
            ]
        )
    )
    assert a.tolist() == [1 + 1j, 1 + 1j] and b.tolist() == c.tolist() == [1 - 1j, 1 - 1j]
    # one number, expanded: no memory of that size
    huge = load(archive(part(True, ["tuple", ["int", str(1 << 40)]], ["tuple", 0])))
    assert huge.shape == (1 << 40,) and huge[7].item() == 1 - 1j


def test_storages_stand_anywhere():
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        storage = torch.arange(3.0).storage()
    torch.save({"tuple": (storage,), "again": [storage]}, file)
    got = load(file.getvalue())
    assert got["tuple"][0].tolist() == [0.0, 1.0, 2.0] and got["again"][0] is got["tuple"][0]


def test_classes_of_the_library_can_be_allowed():
    file = io.BytesIO()
    torch.save([torch.nn.utils.rnn.pack_sequence([torch.ones(2, 1)])], file)
    with pytest.raises(pickle.UnpicklingError, match="PackedSequence was not an allowed global"):
        load(file.getvalue())
    with serialization.safe_globals([torch.nn.utils.rnn.PackedSequence]):
        (packed,) = load(file.getvalue())
    assert packed.batch_sizes.tolist() == [1, 1]


# ---- archives ----------------------------------------------------------------------------------
def test_a_small_file_does_not_fill_the_memory():
    version = {"name": "a/version", "content": "3\n"}
    zeros = {"name": "a/data/9", "content": {"zeros": 1 << 27}, "deflate": True}
    big = ["storage", "torch.storage.UntypedStorage", "9", "cpu", 1 << 27]
    with pytest.raises(RuntimeError, match="made to fill the memory"):
        load(archive(big, [zeros]))
    with pytest.raises(RuntimeError, match="made to fill the memory"):
        load(
            hostile.archive(
                [
                    version,
                    {"name": "a/data.pkl", "content": {"repeat": ["28", 1 << 23]}, "deflate": True},
                ],
                {},
            )
        )
    lying = {
        "name": "a/data.pkl",
        "content": {"repeat": ["5d", 1 << 22]},
        "deflate": True,
        "packed": (1 << 32) - 2,
    }
    with pytest.raises(RuntimeError, match="made to fill the memory"):
        load(hostile.archive([version, lying], {}))
    # Records that share their bytes: each is as large as the file.
    many = [
        {
            "name": f"a/data/{k}",
            "content": {"zeros": 1 << 20},
            **({"same": 5, "local": "a/data/9"} if k > 9 else {}),
        }
        for k in range(9, 200)
    ]
    refer = [
        "list",
        *(
            ["storage", "torch.storage.UntypedStorage", str(k), "cpu", 1 << 20]
            for k in range(9, 200)
        ),
    ]
    with pytest.raises(RuntimeError):
        load(archive(refer, many))
    small = {"name": "a/data/9", "content": {"zeros": 1 << 20}, "deflate": True}
    assert (
        load(
            archive(["storage", "torch.storage.UntypedStorage", "9", "cpu", 1 << 20], [small])
        ).size()
        == 1 << 20
    )


@pytest.mark.parametrize("count", [0, 3, 5, 1 << 40, -1])
def test_a_storage_has_the_size_of_its_record(count):
    with pytest.raises(
        (RuntimeError, pickle.UnpicklingError),
        match=r"does not match expected size|needs a storage class",
    ):
        load(archive(["storage", "torch.FloatStorage", "0", "cpu", ["int", str(count)]]))


def test_records_of_one_name_are_refused():
    with pytest.raises(RuntimeError, match="several records have the same name"):
        load(archive(files.TENSOR, [{"name": "a/data.pkl", "content": {"pickle": 1}}]))


def test_map_location_must_give_a_storage():
    with pytest.raises(TypeError, match="map_location must return a storage or None"):
        load(archive(files.TENSOR), map_location=lambda storage, place: 5)
    with pytest.raises(RuntimeError, match="out of bounds for storage of size 1"):
        load(archive(files.TENSOR), map_location=lambda storage, place: storage[:1])


# ---- the old format ----------------------------------------------------------------------------
def old(value, keys=("list", "0"), count=4, size=16):
    head = [
        {"pickle": ["int", str(0x1950A86A20F9469CFC6C)]},
        {"pickle": 1001},
        {"pickle": ["dict"]},
    ]
    return hostile.legacy(
        [*head, {"pickle": value}, {"pickle": list(keys)}, {"storage": [count, size]}]
    )


def test_old_files_that_lie():
    assert load(old(files.TENSOR)).tolist() == [0.0, 0.0]
    many = ["list", *(["storage", "torch.FloatStorage", str(k), "cpu", 4] for k in range(50))]
    for data in (
        old(files.TENSOR, count=5),
        old(files.TENSOR, count=-1),
        old(files.TENSOR, size=15),
        old(files.TENSOR, keys=("list",)),
        old(many),
        old(files.TENSOR, keys=("dict",)),
        old(files.TENSOR, keys=("list", ["dag", 60, "list"])),
        old(["dag", 60, "tuple"])[:-20],
    ):
        with pytest.raises(ERRORS):
            load(data)
    head = old(files.TENSOR)
    at = head.index(b"\x80\x02", 60)
    # frames, bytes, texts and integers of a terabyte
    for opcode in (b"\x95", b"\x8e", b"\x8d", b"\x8b"):
        with pytest.raises(ERRORS):
            load(head[:at] + b"\x80\x04" + opcode + struct.pack("<Q", 1 << 40))


def test_conjugates_in_old_files_are_named():
    arguments = [
        ["storage", "torch.ComplexFloatStorage", "0", "cpu", 2],
        0,
        files.TWO,
        files.ONE,
        False,
        None,
        ["dict", ["conj", True]],
    ]
    with pytest.raises(NotImplementedError, match="old format"):
        load(
            old(
                ["call", files.glob("torch._utils._rebuild_tensor_v2"), ["tuple", *arguments]],
                count=2,
            )
        )
    saved = io.BytesIO()
    torch.save(torch.arange(3.0), saved, _use_new_zipfile_serialization=False)
    assert type(load(saved.getvalue()).untyped_storage()).__name__ == "UntypedStorage"
    assert np.array_equal(load(saved.getvalue()).numpy(), [0, 1, 2])
