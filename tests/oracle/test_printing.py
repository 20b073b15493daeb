"""Printed tensors are PyTorch's, character for character."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from pellucid import devices, dtypes
from pellucid.core.display import formatting

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

NAMES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
    "float8_e4m3fn",
    "float8_e5m2",
]
SHAPES = [
    (),
    (1,),
    (3,),
    (7,),
    (40,),
    (1001,),
    (2, 3),
    (5, 17),
    (3, 1, 4),
    (2, 2, 2, 3),
    (11, 9, 13),
    (1200, 2),
    (2, 600),
]


def reference(array: np.ndarray, name: str):
    kind = getattr(torch, name)
    if name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        carrier = {1: np.uint8, 2: np.uint16}[array.dtype.itemsize]
        signed = {1: torch.uint8, 2: torch.int16}[array.dtype.itemsize]
        bits = torch.from_numpy(
            array.reshape(-1)
            .view(carrier)
            .copy()
            .view(np.int16 if signed is torch.int16 else np.uint8)
        )
        return bits.view(kind).reshape(array.shape)
    return torch.from_numpy(np.array(array))


def random_array(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = dtypes.BY_NAME[name].numpy
    if name == "bool":
        return rng.random(shape) < 0.5
    if kind.kind in "iu":
        info = np.iinfo(kind)
        span = int(rng.choice([2, 10, 1000, 2**62]))
        return rng.integers(
            max(info.min, -span), min(info.max, span), shape, dtype=kind, endpoint=True
        )
    if kind.kind == "c":
        return (random_real(rng, shape) + 1j * random_real(rng, shape)).astype(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        return random_real(rng, shape).astype(kind)


def random_real(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    scale = 10.0 ** int(rng.integers(-9, 10))
    with np.errstate(all="ignore"):
        values = np.asarray(
            {
                0: lambda: rng.standard_normal(shape) * scale,
                1: lambda: np.round(rng.standard_normal(shape) * 10 ** int(rng.integers(0, 9))),
                2: lambda: rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 5, shape),
                3: lambda: rng.integers(-3, 4, shape).astype(float),
                4: lambda: np.round(rng.standard_normal(shape), 1),
                5: lambda: np.zeros(shape),
            }[int(rng.integers(0, 6))]()
        )
    values = np.array(values, dtype=np.float64)
    if rng.random() < 0.4:
        flat = values.reshape(-1)
        for special in (np.nan, np.inf, -np.inf, 0.0, -0.0):
            if flat.size and rng.random() < 0.5:
                flat[rng.integers(0, flat.size, size=max(1, flat.size // 5))] = special
    return values


def check(array: np.ndarray, name: str) -> None:
    assert formatting.tensor_str(array, dtype=dtypes.BY_NAME[name]) == repr(reference(array, name))


@pytest.mark.parametrize("name", NAMES)
def test_random_arrays(name):
    rng = np.random.default_rng(NAMES.index(name))
    for _, shape in itertools.product(range(6), SHAPES):
        check(random_array(rng, name, shape), name)
    for _ in range(100):
        shape = tuple(int(n) for n in rng.integers(1, 7, int(rng.integers(0, 5))))
        check(random_array(rng, name, shape), name)


@pytest.mark.parametrize("name", NAMES)
def test_empty(name):
    for shape in [(0,), (0, 3), (2, 0), (0, 0, 1)]:
        check(np.zeros(shape, dtypes.BY_NAME[name].numpy), name)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 0},
        {"precision": 10},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 5, "edgeitems": 0},
        {"edgeitems": 0},
        {"threshold": 0, "edgeitems": 2},
        {"linewidth": 30},
        {"linewidth": 1},
        {"linewidth": 200},
        {"profile": "short"},
        {"profile": "full", "linewidth": 120},
        {"sci_mode": True},
        {"sci_mode": False},
        {"sci_mode": True, "precision": 1, "threshold": 10},
    ],
    ids=str,
)
def test_print_options(options):
    rng = np.random.default_rng(5)
    torch.set_printoptions(**options)
    formatting.set_printoptions(**options)
    try:
        for name in ("int64", "float32", "float64", "complex64", "bfloat16", "bool"):
            for shape in SHAPES:
                if options.get("profile") != "full" or np.prod(shape) < 100:
                    check(random_array(rng, name, shape), name)
        ours, theirs = formatting.get_printoptions(), torch._tensor_str.get_printoptions()
        assert ours == theirs
    finally:
        torch.set_printoptions(profile="default")
        formatting.set_printoptions(profile="default")


@pytest.mark.parametrize("default", ["float16", "bfloat16", "float32", "float64"])
def test_default_dtype_decides_the_suffix(default):
    torch.set_default_dtype(getattr(torch, default))
    dtypes.set_default_dtype(dtypes.BY_NAME[default])
    try:
        for name in NAMES:
            for shape in [(), (2,), (0,), (0, 2)]:
                check(np.ones(shape, dtypes.BY_NAME[name].numpy), name)
    finally:
        torch.set_default_dtype(torch.float32)
        dtypes.set_default_dtype(dtypes.float32)


def test_gradient_suffixes():
    rng = np.random.default_rng(0)
    for shape in [(), (3,), (8,), (2, 3), (0,), (3, 3, 3)]:
        for name in ("float32", "float64"):
            array = rng.standard_normal(shape).astype(name)
            leaf = torch.tensor(array, requires_grad=True)
            assert formatting.tensor_str(array, requires_grad=True) == repr(leaf)
            made = leaf + 0
            text = formatting.tensor_str(array, requires_grad=True, grad_fn_name="AddBackward0")
            assert text == repr(made)


def test_parameters_and_subclasses():
    class Waves(torch.Tensor):
        pass

    class Weights(torch.nn.Parameter):
        pass

    array = np.arange(30, dtype=np.float32).reshape(3, 10) / 7
    ours = formatting.tensor_str(array, class_name="Parameter", parameter=True, requires_grad=True)
    assert ours == repr(torch.nn.Parameter(torch.from_numpy(array)))
    assert formatting.tensor_str(array, class_name="Waves") == repr(
        torch.from_numpy(array).as_subclass(Waves)
    )
    ours = formatting.tensor_str(array, class_name="Weights", parameter=True, requires_grad=True)
    assert ours == repr(Weights(torch.from_numpy(array)))


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "bool", "complex64"])
def test_meta(name):
    for shape in [(), (3,), (0,), (2, 0), (2, 3)]:
        array = np.empty(shape, dtypes.BY_NAME[name].numpy)
        text = formatting.tensor_str(array, device=devices.meta)
        assert text == repr(torch.empty(shape, dtype=getattr(torch, name), device="meta"))


def test_format():
    values = [(np.float32(2.5), "float32"), (np.float64(1e-9), "float64"), (np.int64(-7), "int64")]
    values += [
        (np.asarray(1.25, ml_dtypes.bfloat16), "bfloat16"),
        (np.asarray(0.5, np.float16), "float16"),
    ]
    for value, name in values:
        tensor = torch.tensor(float(value), dtype=getattr(torch, name))
        for spec in ("", ".3f", "8.2e", ">12", "+.1f"):
            try:
                wanted = format(tensor, spec)
            except ValueError:
                with pytest.raises(ValueError, match="."):
                    formatting.format_tensor(np.asarray(value), spec, str)
                continue
            assert formatting.format_tensor(np.asarray(value), spec, str) == wanted
    with pytest.raises(TypeError) as theirs:
        format(torch.zeros(3), ".2f")
    with pytest.raises(TypeError) as ours:
        formatting.format_tensor(np.zeros(3), ".2f", str)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("indent", [0, 3, 9])
def test_the_parts_that_classes_print_themselves_with(indent):
    import pellucid
    from pellucid import _tensor_str as ours

    theirs = torch._tensor_str
    for values in (
        [[1.0, 2.5], [3.0, 4.0]],
        [],
        3.0,
        [1, 2, 3],
        [True, False],
        [1 + 2j],
        list(range(40)),
    ):
        a, b = pellucid.tensor(values), torch.tensor(values)
        assert ours._tensor_str(a, indent) == theirs._tensor_str(b, indent)
        assert ours._str(a, tensor_contents="...") == theirs._str(b, tensor_contents="...")
        assert ours._str_intern(a) == theirs._str_intern(b)
    for suffixes in ([], ["x=1"], ["size=(1, 2)"] * 9):
        for forced in (False, True):
            assert ours._add_suffixes("ab([1]", suffixes, indent, forced) == theirs._add_suffixes(
                "ab([1]", suffixes, indent, forced
            )
