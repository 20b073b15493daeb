"""The transforms of `torch.func` under their older home; where Pellucid stands in for PyTorch,
`import functorch` gives this module. Its functions warn that they are deprecated.

>>> import warnings
>>> import pellucid as torch
>>> from pellucid._functorch.deprecated import grad
>>> with warnings.catch_warnings(action="ignore"):
...     slope = grad(torch.sin)
>>> slope(torch.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import func as _func
from ..errors import warn as _warn
from . import make_functional as _make_functional
from .make_functional import FunctionalModule as FunctionalModule
from .make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from .python_key import make_fx as make_fx


def _deprecated(function: Callable[..., Any], instead: str = "") -> Callable[..., Any]:
    """The function with a warning before each call."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _warn(
            f"We've integrated functorch into PyTorch. As the final step of the integration, `functorch.{function.__name__}` is "
            "deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. Please use "
            f"`{instead or 'torch.func.' + function.__name__}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` "
            "migration guide for more details https://pytorch.org/docs/main/func.migrating.html",
            FutureWarning,
        )
        return function(*args, **kwargs)

    call.__module__ = __name__
    return call


vmap = _deprecated(_func.vmap, "torch.vmap")
grad = _deprecated(_func.grad)
grad_and_value = _deprecated(_func.grad_and_value)
vjp = _deprecated(_func.vjp)
jvp = _deprecated(_func.jvp)
jacrev = _deprecated(_func.jacrev)
jacfwd = _deprecated(_func.jacfwd)
hessian = _deprecated(_func.hessian)
functionalize = _deprecated(_func.functionalize)
make_functional = _deprecated(_make_functional.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _deprecated(
    _make_functional.make_functional_with_buffers, "torch.func.functional_call"
)
combine_state_for_ensemble = _deprecated(
    _make_functional.combine_state_for_ensemble, "torch.func.stack_module_state"
)
