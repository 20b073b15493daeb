"""The transforms of `torch.func` under their older home; where Pellucid stands in for PyTorch,
`import functorch` gives this module.

>>> import pellucid as torch
>>> from pellucid._functorch.deprecated import grad
>>> grad(torch.sin)(torch.tensor(0.0))
tensor(1.)
"""

from __future__ import annotations

from typing import Any

from ..func import functionalize as functionalize
from ..func import grad as grad
from ..func import grad_and_value as grad_and_value
from ..func import hessian as hessian
from ..func import jacfwd as jacfwd
from ..func import jacrev as jacrev
from ..func import jvp as jvp
from ..func import stack_module_state
from ..func import vjp as vjp
from ..func import vmap as vmap
from .make_functional import FunctionalModule as FunctionalModule
from .make_functional import FunctionalModuleWithBuffers as FunctionalModuleWithBuffers
from .make_functional import make_functional as make_functional
from .make_functional import make_functional_with_buffers as make_functional_with_buffers
from .python_key import make_fx as make_fx


def combine_state_for_ensemble(models: Any) -> tuple[Any, Any, Any]:
    """A function of one model, with the parameters and buffers of all models stacked, for `vmap`
    over the models.

    Args:
        models: modules of one class.

    Raises:
        RuntimeError: no models, or of several classes.
    """
    params, buffers = stack_module_state(list(models))
    function, _, _ = make_functional_with_buffers(models[0])
    return function, tuple(params.values()), tuple(buffers.values())
