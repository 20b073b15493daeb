"""`torch.testing._internal.common_device_type`: tests made for each type of device, of which there
is the CPU, and for dtypes.
"""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...dtypes import dtype
from ._generated import Made, bound, dtype_name, with_rows

Test = Callable[..., Any]
Decorator = Callable[[Test], Test]
_DEVICE = "cpu"


class dtypes:  # noqa: N801
    """Decorator of a test that is run once for each of the dtypes, or tuples of dtypes, as its
    argument `dtype`; on all types of devices, or on one.
    """

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        if len(args) == 1 and isinstance(args[0], (list, tuple)) and not args[0]:
            args = ()
        for one in args:
            kinds = one if isinstance(one, (list, tuple)) else (one,)
            if not all(isinstance(kind, dtype) for kind in kinds):
                raise AssertionError(f"Unknown dtype in {one}")
        self.args, self.device_type = args, device_type

    def __call__(self, fn: Test) -> Test:
        known = {**getattr(fn, "dtypes", {})}
        if self.device_type in known:
            raise AssertionError(f"dtypes redefinition for {self.device_type}")
        known[self.device_type] = self.args
        fn.dtypes = known  # type: ignore[attr-defined]
        return fn


dtypesIfCPU = functools.partial(dtypes, device_type="cpu")  # noqa: N816
dtypesIfCUDA = functools.partial(dtypes, device_type="cuda")  # noqa: N816
dtypesIfMPS = functools.partial(dtypes, device_type="mps")  # noqa: N816
dtypesIfXPU = functools.partial(dtypes, device_type="xpu")  # noqa: N816
dtypesIfPRIVATEUSE1 = functools.partial(dtypes, device_type="privateuse1")  # noqa: N816


class ops:  # noqa: N801
    """Decorator of a test that is run for each operator of a list and each of its dtypes, as its
    arguments `op` and `dtype`.

    Args:
        op_list: objects with `formatted_name` and `supported_dtypes(device_type)`.
        dtypes: the operators' own dtypes when left out, those of a list, or ("none" in PyTorch) an
            empty list for a test without.
        allowed_dtypes: no others than these.
    """

    def __init__(
        self,
        op_list: Iterable[Any],
        *,
        dtypes: Sequence[dtype] | None = None,
        allowed_dtypes: Sequence[dtype] | None = None,
    ) -> None:
        self.op_list, self.dtypes = list(op_list), dtypes
        self.allowed = None if allowed_dtypes is None else set(allowed_dtypes)

    def __call__(self, fn: Test) -> Test:
        return with_rows(fn, self._rows)

    def _rows(self, kind: Any) -> Iterator[Made]:
        for op in self.op_list:
            kinds: Any = op.supported_dtypes(_DEVICE) if self.dtypes is None else self.dtypes
            kinds = [k for k in kinds if self.allowed is None or k in self.allowed]
            for one in sorted(kinds, key=str) or ([None] if self.dtypes == () else []):
                yield Made(op.formatted_name, {"op": op}, dtype=one)


def _only(device_types: Sequence[str], what: str) -> Decorator:
    """Skip the test on other types of devices."""

    def decorate(fn: Test) -> Test:
        @functools.wraps(fn)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            if self.device_type not in device_types:
                raise unittest.SkipTest(what)
            return fn(self, *args, **kwargs)

        return test

    return decorate


class onlyOn:  # noqa: N801
    """Decorator that skips a test on other types of devices."""

    def __init__(self, device_type: str | Sequence[str]) -> None:
        self.device_type = device_type

    def __call__(self, fn: Test) -> Test:
        kinds = [self.device_type] if isinstance(self.device_type, str) else self.device_type
        return _only(kinds, f"Only runs on {self.device_type}")(fn)


onlyCPU = onlyOn("cpu")  # noqa: N816
onlyCUDA = onlyOn("cuda")  # noqa: N816
onlyMPS = onlyOn("mps")  # noqa: N816
onlyXPU = onlyOn("xpu")  # noqa: N816
onlyPRIVATEUSE1 = onlyOn("privateuse1")  # noqa: N816
_NATIVE = ["cpu", "cuda", "meta", "mps", "mtia", "xpu", "privateuse1"]
onlyNativeDeviceTypes = _only(_NATIVE, "onlyNativeDeviceTypes")  # noqa: N816
onlyAccelerator = _only(("cuda", "mps", "xpu"), "only runs on accelerators")  # noqa: N816
onlyCUDAAndPRIVATEUSE1 = _only(  # noqa: N816
    ("cuda", "privateuse1"), "onlyCUDAAndPRIVATEUSE1: doesn't run on cpu"
)


class skipIf:  # noqa: N801
    """Decorator that skips a test on one type of device where a condition holds; the condition may
    be the name of an attribute of the test case.
    """

    def __init__(self, dep: Any, reason: str, device_type: str | None = None) -> None:
        self.dep, self.reason, self.device_type = dep, reason, device_type

    def __call__(self, fn: Test) -> Test:
        @functools.wraps(fn)
        def test(self_: Any, *args: Any, **kwargs: Any) -> Any:
            dep = getattr(self_, self.dep, True) if isinstance(self.dep, str) else self.dep
            if self.device_type in (None, "all", self_.device_type) and dep:
                raise unittest.SkipTest(self.reason)
            return fn(self_, *args, **kwargs)

        return test


skipCPUIf = functools.partial(skipIf, device_type="cpu")  # noqa: N816
skipCUDAIf = functools.partial(skipIf, device_type="cuda")  # noqa: N816
skipMPSIf = functools.partial(skipIf, device_type="mps")  # noqa: N816
skipXPUIf = functools.partial(skipIf, device_type="xpu")  # noqa: N816
skipMetaIf = functools.partial(skipIf, device_type="meta")  # noqa: N816


def _as_it_is(fn: Test) -> Test:
    """The test as it is: what it asks for is there, or is of another type of device."""
    return fn


skipCPUIfNoLapack = skipCPUIfNoFFT = skipCPUIfNoMkl = skipCUDAIfNoCusolver = _as_it_is  # noqa: N816
skipCUDAIfNoMagma = skipCUDAIfNoMagmaAndNoCusolver = skipCUDAIfRocm = skipMeta = _as_it_is  # noqa: N816
skipMPS = skipXPU = skipCUDAIfNoCudnn = expectedFailureMeta = expectedFailureMPS = _as_it_is  # noqa: N816
expectedFailureCUDA = expectedFailureXPU = expectedFailureXLA = skipXLA = _as_it_is  # noqa: N816


def deviceCountAtLeast(count: int) -> Decorator:  # noqa: N802
    """Decorator that skips a test where there are fewer devices; it gets them as a list."""

    def decorate(fn: Test) -> Test:
        @functools.wraps(fn)
        def test(self: Any, *args: Any, **kwargs: Any) -> Any:
            if count > 1:
                raise unittest.SkipTest(f"fewer than {count} devices detected")
            return fn(self, [kwargs.pop("device", _DEVICE)], *args, **kwargs)

        return test

    return decorate


def get_device_type_test_bases() -> list[str]:
    """The types of devices that tests are made for."""
    return [_DEVICE]


def _made(
    function: Test, name: str, rows: Iterable[Made], known: dict[str, Any]
) -> Iterator[tuple[str, Test]]:
    for row in rows:
        of_test: Any = known.get(_DEVICE, known.get("all"))
        kinds = [row.dtype] if of_test is None else of_test
        for kind in kinds:
            stem = f"{name}_{row.name}" if row.name else name
            parts = kind if isinstance(kind, (list, tuple)) else () if kind is None else (kind,)
            full = "_".join([stem, _DEVICE, *[dtype_name(part) for part in parts]])
            given = {**row.given, "device": _DEVICE}
            if kind is not None:
                given["dtypes" if isinstance(kind, (list, tuple)) else "dtype"] = kind
            yield full, bound(function, row, given)


def instantiate_device_type_tests(
    generic_test_class: Any,
    scope: dict[str, Any],
    except_for: Any = None,
    only_for: Any = None,
    include_lazy: bool = False,
    allow_mps: bool = False,
    allow_xpu: bool = False,
) -> None:
    """Put a class with a test for each device, dtype and row of values into `scope` in the place of
    a class of templates.

    Args:
        generic_test_class: its tests take the arguments `device`, and where `dtypes` decorates them
            `dtype`.
        scope: the module's dictionary, `globals()`.
        except_for, only_for: types of devices.
    """
    scope.pop(generic_test_class.__name__, None)

    def listed(given: Any) -> Any:
        return [given] if isinstance(given, str) else given

    if except_for is not None and _DEVICE in listed(except_for):
        return
    if only_for is not None and _DEVICE not in listed(only_for):
        return
    templates = {n: f for n, f in vars(generic_test_class).items() if n.startswith("test")}
    made: dict[str, Any] = {
        "device_type": _DEVICE,
        "get_primary_device": classmethod(lambda cls: _DEVICE),
        "get_all_devices": classmethod(lambda cls: [_DEVICE]),
        "__module__": generic_test_class.__module__,
    }
    for name, function in templates.items():
        rows = getattr(function, "_rows", lambda kind: [Made("", {})])(generic_test_class)
        for full, test in _made(function, name, rows, getattr(function, "dtypes", {})):
            if full in made:
                raise AssertionError(f"Redefinition of test {full}")
            test.__name__ = full
            made[full] = test
        delattr(generic_test_class, name)
    full_name = f"{generic_test_class.__name__}{_DEVICE.upper()}"
    scope[full_name] = type(full_name, (generic_test_class,), made)
