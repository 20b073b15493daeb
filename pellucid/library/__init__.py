"""`torch.library`: operators that programs define, with a schema, kernels, gradients and rules for
`vmap`.

They are found in `torch.ops` and take part in everything that operators take part in. What computes
one is Python: a compiled function is cut there.

>>> import pellucid as torch
>>> @torch.library.custom_op("docs::scaled", mutates_args=())
... def scaled(x: torch.Tensor, factor: float = 2.0) -> torch.Tensor:
...     return x * factor
>>> scaled(torch.ones(2)), torch.ops.docs.scaled(torch.ones(2), 3.0)
(tensor([2., 2.]), tensor([3., 3.]))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from ..aten import checks as _checks
from ..aten.annotations import infer_schema as infer_schema
from ..errors import UnsupportedError
from .custom import CustomOpDef, custom_op
from .operators import (
    Library,
    _found,
    define,
    fallthrough_kernel,
    get_kernel,
    impl,
    impl_abstract,
    register_fake,
)
from .operators import _scoped_library as _scoped_library
from .rules import (
    register_autocast,
    register_autograd,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


class _FakeContext:
    """What `get_ctx` gives: sizes that depend on values."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> NoReturn:
        """Not supported: sizes are numbers here."""
        raise UnsupportedError(
            "torch.library.get_ctx().new_dynamic_size is not supported: sizes are Python numbers here"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx() -> _FakeContext:
    """Return the context of the running function that `register_fake` registered.

    Its `new_dynamic_size()`, a size that depends on values, is not supported: sizes are Python numbers here.

    >>> import pellucid as torch
    >>> type(torch.library.get_ctx()).__name__
    '_FakeContext'
    """
    return _FakeContext()


def wrap_triton(triton_kernel: Callable[..., Any], /) -> NoReturn:
    """Not supported, since there is no Triton: always raises an error.

    >>> import pellucid as torch
    >>> torch.library.wrap_triton(print)
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.library.wrap_triton is not supported: there is no Triton here...
    """
    raise UnsupportedError("torch.library.wrap_triton is not supported: there is no Triton here")


def triton_op(
    name: str, fn: Any = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> NoReturn:
    """Not supported, since there is no Triton: always raises an error. Use `custom_op`.

    >>> import pellucid as torch
    >>> torch.library.triton_op("mylib::twice", mutates_args=())
    Traceback (most recent call last):
        ...
    NotImplementedError: torch.library.triton_op is not supported: there is no Triton here...
    """
    raise UnsupportedError("torch.library.triton_op is not supported: there is no Triton here")


def opcheck(
    op: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: Any = (
        "test_schema",
        "test_autograd_registration",
        "test_faketensor",
        "test_aot_dispatch_dynamic",
    ),
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Test a custom operator on sample arguments.

    Four properties are checked: the operator writes only to arguments that its schema marks as
    written, its gradient is registered for autograd, the function registered by `register_fake` predicts the shapes
    and dtypes of the results, and a backward pass reaches the arguments.

    Args:
        op: the operator, or the definition that `custom_op` returned.
        args, kwargs: sample arguments.
        test_utils: the names of the checks to run. Default: all four.
        raise_exception: raise the first error. Default: True; with False the errors are in the result.
        atol, rtol: accepted.

    Returns:
        A dictionary with "SUCCESS" or the error for each check.

    >>> import pellucid as torch
    >>> @torch.library.custom_op("docs_check::double", mutates_args=())
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x.mul_(2).clone()  # writes to its argument, but the schema does not say so
    >>> _ = double.register_fake(lambda x: torch.empty_like(x))
    >>> result = torch.library.opcheck(double, (torch.ones(2),), raise_exception=False)
    >>> [name for name, outcome in result.items() if outcome != "SUCCESS"]
    ['test_schema']
    """
    return _checks.run(_found(op), args, dict(kwargs or {}), test_utils, raise_exception)


for _name in __all__:  # by which pickles find them
    globals()[_name].__module__ = __name__
