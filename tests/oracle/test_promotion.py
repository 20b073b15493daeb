"""Element types, promotion, limits, devices and sizes answer as PyTorch's do."""

import itertools
import pickle

import pytest

from pellucid import devices, dtypes

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

ALL = dtypes.ALL
PAIRS = list(itertools.product(ALL, repeat=2))
STORED = ALL


def theirs(d):
    return getattr(torch, d.name)


def ours(d):
    return dtypes.BY_NAME[str(d).removeprefix("torch.")]


def outcome(function, *args):
    """The result as text, or the exception's built-in type and first line."""
    try:
        return str(function(*args))
    except Exception as error:
        return type(error).__name__, str(error).splitlines()[0]


def test_attributes():
    for d in ALL:
        t = theirs(d)
        assert str(d) == repr(d) == repr(t)
        for name in ("is_floating_point", "is_complex", "is_signed", "itemsize", "abbr"):
            assert getattr(d, name) == getattr(t, name), (d, name)
        assert str(d.to_real()) == str(t.to_real())
        assert outcome(d.to_complex) == outcome(t.to_complex)
    for alias, d in dtypes.BY_NAME.items():
        assert str(getattr(torch, alias)) == str(d)


def test_promote_types():
    for a, b in PAIRS:
        assert outcome(dtypes.promote_types, a, b) == outcome(
            torch.promote_types, theirs(a), theirs(b)
        )


def test_can_cast():
    for a, b in PAIRS:
        assert dtypes.can_cast(a, b) == torch.can_cast(theirs(a), theirs(b)), (a, b)


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_result_type(default):
    numbers = [True, 3, 2.5, 1j]
    torch.set_default_dtype(getattr(torch, default))
    dtypes.set_default_dtype(dtypes.BY_NAME[default])
    try:
        operands = [((d, dtypes.TENSOR), torch.empty(2, dtype=theirs(d))) for d in ALL]
        operands += [((d, dtypes.SCALAR_TENSOR), torch.empty((), dtype=theirs(d))) for d in ALL]
        operands += [((dtypes.number_dtype(n), dtypes.NUMBER), n) for n in numbers]
        for (a, x), (b, y) in itertools.product(operands, repeat=2):
            assert outcome(dtypes.result_type, a, b) == outcome(torch.result_type, x, y), (a, b)
        assert outcome(dtypes.default_complex_dtype) == outcome(lambda: torch.tensor(1j).dtype)
    finally:
        torch.set_default_dtype(torch.float32)
        dtypes.set_default_dtype(dtypes.float32)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_three_operands():
    kinds = [
        dtypes.bool_,
        dtypes.uint8,
        dtypes.int64,
        dtypes.float16,
        dtypes.bfloat16,
        dtypes.float32,
        dtypes.complex64,
    ]
    for a, b, c in itertools.product(kinds, repeat=3):
        x, y, z = (torch.ones(size, dtype=theirs(d)) for d, size in ((a, (2,)), (b, ()), (c, (2,))))
        wanted = torch.cat([x, z]).dtype  # cat promotes the dimensioned operands among themselves
        assert ours(wanted) is dtypes.result_type((a, dtypes.TENSOR), (c, dtypes.TENSOR))
        if dtypes.bool_ not in (a, b, c):
            try:
                total = torch.addcmul(x, y, z).dtype
            except RuntimeError:
                continue
            given = (a, dtypes.TENSOR), (b, dtypes.SCALAR_TENSOR), (c, dtypes.TENSOR)
            assert ours(total) is dtypes.result_type(*given)


def test_limits():
    names = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    for d in ALL:
        if d is dtypes.complex32:
            continue
        for cls, other, fields in (
            (dtypes.finfo, torch.finfo, names),
            (dtypes.iinfo, torch.iinfo, names[:1] + names[2:4]),
        ):
            assert outcome(cls, d) == outcome(other, theirs(d))
            if isinstance(outcome(cls, d), str):
                mine, wanted = cls(d), other(theirs(d))
                assert [getattr(mine, f) for f in fields] == [getattr(wanted, f) for f in fields]
                assert mine == cls(d)
    assert str(dtypes.finfo()) == str(torch.finfo())


def test_default_dtype_errors():
    for d in [*STORED, "float32", float, None]:
        given = theirs(d) if isinstance(d, dtypes.dtype) else d
        assert outcome(dtypes.set_default_dtype, d) == outcome(torch.set_default_dtype, given), d
        torch.set_default_dtype(torch.float32)
        dtypes.set_default_dtype(dtypes.float32)


def test_wrong_arguments():
    assert outcome(dtypes.promote_types, 1, dtypes.float32) == outcome(
        torch.promote_types, 1, torch.float32
    )
    assert outcome(dtypes.can_cast, dtypes.float32, "a") == outcome(
        torch.can_cast, torch.float32, "a"
    )
    assert outcome(dtypes.finfo, "a") == outcome(torch.finfo, "a")
    assert outcome(lambda: dtypes.float32.nothing) == outcome(lambda: torch.float32.nothing)
    assert outcome(dtypes.dtype) == outcome(torch.dtype)
    assert outcome(setattr, dtypes.float32, "x", 1) == outcome(setattr, torch.float32, "x", 1)


DEVICES = [
    ("cpu",),
    ("cuda",),
    ("cuda:0",),
    ("cpu:1",),
    ("meta",),
    ("xla:3",),
    ("foo",),
    ("CPU",),
    ("",),
    (":",),
    ("cuda:",),
    ("cuda:-1",),
    ("cuda:01",),
    ("cuda:a",),
    ("cuda:1:2",),
    ("cuda: 1",),
    ("cuda", 1),
    ("cuda:0", 1),
    ("cuda", -2),
    ("cuda", "a"),
    (0,),
    (-1,),
    (),
    (None,),
    (1.5,),
    ("cpu", 0),
]


@pytest.mark.parametrize("args", DEVICES, ids=str)
def test_devices(args):
    assert outcome(lambda: repr(devices.device(*args))) == outcome(
        lambda: repr(torch.device(*args))
    )
    assert outcome(lambda: str(devices.device(*args))) == outcome(lambda: str(torch.device(*args)))


def test_device_keywords():
    assert repr(devices.device(type="cuda", index=2)) == repr(torch.device(type="cuda", index=2))
    assert outcome(devices.device, devices.cpu, 1) == outcome(torch.device, torch.device("cpu"), 1)
    for name in ("type", "index", "other"):
        assert outcome(setattr, devices.cpu, name, 1) == outcome(
            setattr, torch.device("cpu"), name, 1
        )


SIZES = [
    lambda S: S([1, 2]) + (3,),
    lambda S: (3,) + S([1, 2]),
    lambda S: S([1, 2]) * 2,
    lambda S: 2 * S([1, 2]),
    lambda S: S([1, 2, 3])[1:],
    lambda S: S([1, 2, 3])[-1],
    lambda S: S([]),
    lambda S: S(),
    lambda S: S([4, 5]).numel(),
    lambda S: S([True]),
    lambda S: S(["a"]),
    lambda S: S([1, 1.5]),
    lambda S: S(3),
    lambda S: S([1]) + [3],
    lambda S: S([2]) + "a",
    lambda S: hash(S([2, 3])) == hash((2, 3)),
    lambda S: S([2, 3]) == (2, 3),
]


@pytest.mark.parametrize("use", SIZES)
def test_sizes(use):
    assert outcome(use, devices.Size) == outcome(use, torch.Size)


def test_layouts_and_memory_formats():
    for name in (
        "strided",
        "sparse_coo",
        "sparse_csr",
        "sparse_csc",
        "sparse_bsr",
        "sparse_bsc",
        "jagged",
    ):
        assert repr(getattr(devices, name)) == repr(getattr(torch, name))
    for name in ("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"):
        assert repr(getattr(devices, name)) == repr(getattr(torch, name))
    assert outcome(devices.layout) == outcome(torch.layout)
    assert outcome(devices.memory_format) == outcome(torch.memory_format)


def test_pickled_torch_types_name_ours():
    """A reader of PyTorch's files finds ours under the same names."""
    for d in STORED:
        assert pickle.dumps(theirs(d), 2) == b"\x80\x02ctorch\n" + d.name.encode() + b"\nq\x00."
        assert d.__reduce__() == d.name
