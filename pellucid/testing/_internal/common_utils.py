"""`torch.testing._internal.common_utils`: a `TestCase` whose `assertEqual` compares tensors, and
`run_tests`.

>>> TestCase().assertEqual(1.0, 1.0)
"""

from __future__ import annotations

import unittest
from typing import Any

from .._comparison import assert_close
from .._creation import make_tensor as make_tensor


class TestCase(unittest.TestCase):
    """A test case whose `assertEqual` holds numbers and tensors, also in containers, to be close."""

    __test__ = False  # nothing for pytest to collect where it is imported; subclasses are collected

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
        try:
            assert_close(
                x,
                y,
                rtol=rtol,
                atol=atol,
                equal_nan=equal_nan,
                check_dtype=exact_dtype,
                check_device=exact_device,
                check_layout=exact_layout,
                check_stride=exact_stride,
                msg=msg,
            )
        except TypeError:  # no numbers: sets, classes, functions
            super().assertEqual(x, y, msg)

    def assertNotEqual(self, first: Any, second: Any, msg: Any = None, **kwargs: Any) -> None:  # noqa: N802
        """Fail where `assertEqual` would pass."""
        with self.assertRaises(AssertionError, msg=msg):
            self.assertEqual(first, second, **kwargs)


def run_tests(argv: list[str] | None = None) -> None:
    """Run the tests of the program that calls it."""
    unittest.main(argv=argv)
