"""`torch.testing._internal.common_utils`: a `TestCase` whose `assertEqual` compares tensors,
`parametrize`, `run_tests` and what tests of other libraries ask for besides.

>>> TestCase().assertEqual(1.0, 1.0)
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import platform
import random
import sys
import tempfile
import unittest
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.gradcheck import gradcheck as gradcheck
from ...autograd.gradcheck import gradgradcheck as gradgradcheck
from ...core.tensor import Tensor
from ...ops.create.random import manual_seed
from .._creation import make_tensor as make_tensor
from .._pairs import (
    BooleanPair,
    NonePair,
    NumberPair,
    ObjectPair,
    TensorLikePair,
    not_close_error_metas,
)
from ._generated import dtype_name as dtype_name
from ._generated import instantiate_parametrized_tests as instantiate_parametrized_tests
from ._generated import parametrize as parametrize
from ._generated import subtest as subtest

IS_LINUX = sys.platform == "linux"
IS_WINDOWS = sys.platform == "win32"
IS_MACOS = sys.platform == "darwin"
IS_X86 = platform.machine() in ("x86_64", "i386", "AMD64")
IS_ARM64 = platform.machine() in ("arm64", "aarch64")
IS_CI = bool(os.getenv("CI"))
IS_SANDCASTLE = IS_FBCODE = IS_JETSON = IS_PPC = False
TEST_NUMPY = True
TEST_CUDA = TEST_MULTIGPU = TEST_MPS = TEST_XPU = TEST_MKL = False
TEST_WITH_ROCM = TEST_WITH_ASAN = TEST_WITH_TSAN = TEST_WITH_UBSAN = False
TEST_WITH_TORCHDYNAMO = TEST_WITH_TORCHINDUCTOR = TEST_WITH_CROSSREF = False
TEST_WITH_SLOW = os.getenv("PYTORCH_TEST_WITH_SLOW", "0") == "1"
SEED = 1234


def set_rng_seed(seed: int | None = None) -> None:
    """Seed the random numbers of tensors, Python and NumPy."""
    seed = SEED if seed is None else seed
    manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002


def _skips(condition: bool, reason: str) -> Callable[[Any], Any]:
    return unittest.skipIf(condition, reason)


skipIfWindows = _skips(IS_WINDOWS, "Test is not supported on windows")  # noqa: N816
skipIfMacOS = _skips(IS_MACOS, "Test is not supported on MacOS")  # noqa: N816
slowTest = _skips(  # noqa: N816
    not TEST_WITH_SLOW, "test is slow; run with PYTORCH_TEST_WITH_SLOW to enable test"
)


def _as_it_is(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The test as it is: nothing is there that it would be skipped for."""
    return fn if callable(fn) else lambda test: test


skipIfRocm = skipIfTorchDynamo = skipIfTorchInductor = skipIfCrossRef = _as_it_is  # noqa: N816
skipIfNoLapack = skipIfMps = skipIfXpu = _as_it_is  # noqa: N816


TEST_SCIPY = importlib.util.find_spec("scipy") is not None
skipIfNoSciPy = _skips(not TEST_SCIPY, "test require SciPy, but SciPy not found")  # noqa: N816


def suppress_warnings(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: warnings inside are not shown."""

    @functools.wraps(fn)
    def test(*args: Any, **kwargs: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(*args, **kwargs)

    return test


@contextlib.contextmanager
def set_default_dtype(dtype: dtypes.dtype) -> Iterator[None]:
    """Inside, new tensors of floats have this dtype."""
    before = dtypes.get_default_dtype()
    dtypes.set_default_dtype(dtype)
    try:
        yield
    finally:
        dtypes.set_default_dtype(before)


@contextlib.contextmanager
def TemporaryFileName(*args: Any, **kwargs: Any) -> Iterator[str]:  # noqa: N802
    """The name of a file that is deleted at the end."""
    with tempfile.NamedTemporaryFile(*args, **{**kwargs, "delete": False}) as file:
        name = file.name
    try:
        yield name
    finally:
        os.unlink(name)


def noncontiguous_like(t: Tensor) -> Tensor:
    """A tensor of the same values that does not lie in memory row by row."""
    if not t.is_contiguous():
        return t
    made = t.detach().unsqueeze(-1).repeat_interleave(2, dim=-1)[..., 0]
    return made.requires_grad_(t.requires_grad)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(
        f"torch.testing._internal.common_utils.{name} is not part of Pellucid, which has what tests of other libraries use"
    )


class TestCase(unittest.TestCase):
    """A test case whose `assertEqual` holds numbers and tensors, also in containers, to be close."""

    __test__ = False  # nothing for pytest to collect where it is imported; subclasses are collected

    precision: float = 0
    rel_tol: float = 0

    def setUp(self) -> None:  # noqa: N802
        """Seed the random numbers, so that each test draws the same ones."""
        set_rng_seed()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def assertEqual(  # noqa: N802
        self,
        x: Any,
        y: Any,
        msg: Any = None,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        equal_nan: bool = True,
        exact_dtype: bool = True,
        exact_device: bool = False,
        exact_layout: bool = False,
        exact_stride: bool = False,
        exact_is_coalesced: bool = False,
    ) -> None:
        """Fail unless the values are equal, or close within the tolerances of their type
        (`torch.testing.assert_close`).

        Raises:
            AssertionError: they differ.
        """
        if isinstance(x, str) or isinstance(y, str) or x is None or y is None:
            super().assertEqual(x, y, msg)
            return
        found = not_close_error_metas(
            x,
            y,
            pair_types=(NonePair, BooleanPair, NumberPair, TensorLikePair, ObjectPair),
            rtol=rtol,
            atol=atol,
            equal_nan=equal_nan,
            check_dtype=exact_dtype,
            check_device=exact_device,
            check_layout=exact_layout,
            check_stride=exact_stride,
            msg=msg,
        )
        if found:
            raise found[0].to_error(msg)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **kwargs: Any) -> None:  # noqa: N802
        """Fail where `assertEqual` would pass."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(first, second, **kwargs)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program that calls it."""
    unittest.main(argv=argv)
