"""Function transforms that nest: derivatives and batching (`torch.func`)."""

from __future__ import annotations

from ..api.packages import keep_functions as _keep_functions
from ._rearrange import rearrange as rearrange
from .modules import functional_call as functional_call
from .modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from .modules import stack_module_state as stack_module_state
from .transforms import debug_unwrap as debug_unwrap
from .transforms import functionalize as functionalize
from .transforms import grad as grad
from .transforms import grad_and_value as grad_and_value
from .transforms import hessian as hessian
from .transforms import jacfwd as jacfwd
from .transforms import jacrev as jacrev
from .transforms import jvp as jvp
from .transforms import linearize as linearize
from .transforms import vjp as vjp
from .vmap import vmap as vmap

__all__ = [
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

_keep_functions(__name__)
