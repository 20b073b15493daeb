"""Differentiation: `backward`, `grad`, custom functions, gradient checks and gradient modes
(`torch.autograd`).
"""

from __future__ import annotations

import importlib as _importlib
from collections.abc import Sequence
from typing import Any

from ..api import overriding as _overriding
from ..api import transforms as _transforms
from ..api.edges import at_edges as _at_edges
from ..api.edges import listed as _listed
from ..api.edges import seeds as _seeds
from ..api.gradients import check_no_transform as _check_no_transform
from ..api.gradients import warn_of_cycle as _warn_of_cycle
from ..api.packages import keep_functions as _keep_functions
from ..core import reverse as _reverse
from ..core.display.nodes import SavedTensor as SavedTensor
from ..core.function import Function as Function
from ..core.modes import enable_grad as enable_grad
from ..core.modes import inference_mode as inference_mode
from ..core.modes import is_grad_enabled as is_grad_enabled
from ..core.modes import no_grad as no_grad
from ..core.modes import set_grad_enabled as set_grad_enabled
from ..core.tensor import Tensor
from ..errors import warn as _warn
from . import function as function
from . import grad_mode as grad_mode
from . import graph as graph
from . import profiler as profiler
from .anomaly_mode import detect_anomaly as detect_anomaly
from .anomaly_mode import set_detect_anomaly as set_detect_anomaly
from .grad_mode import is_multithreading_enabled as is_multithreading_enabled
from .grad_mode import set_multithreading_enabled as set_multithreading_enabled
from .gradcheck import GradcheckError as GradcheckError
from .gradcheck import gradcheck as gradcheck
from .gradcheck import gradgradcheck as gradgradcheck
from .variable import Variable as Variable

__all__ = [
    "Function",
    "GradcheckError",
    "SavedTensor",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
]


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Tensor | Sequence[Tensor] | None = None,
) -> None:
    """Compute gradients: add the derivative of the sum of `tensors` to the `.grad` of each leaf.

    Args:
        tensors: a tensor or several: usually the loss.
        grad_tensors: for each tensor, the gradient of the final objective with respect to it, in its shape. Default: None, which is
            allowed for tensors with one element.
        retain_graph: keep the saved values for another backward. Default: the value of `create_graph`.
        create_graph: record the gradients too, for higher derivatives. Default: False.
        inputs: accumulate into these tensors only. Default: all leaves.
        grad_variables: the old name of `grad_tensors`.

    Raises:
        RuntimeError: nothing requires a gradient, a tensor has several elements and no gradient is given, the graph was freed, or a
            value that backward needs was overwritten.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward([x.sum(), (2 * x).sum()])
    >>> x.grad
    tensor([3., 3.])
    """
    _check_no_transform()
    if grad_variables is not None:
        _warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _listed(inputs, "backward")
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _listed(tensors)
    if _overriding.concerns(asked := (*tensors, *(inputs or ()))):
        given = {
            "grad_tensors": grad_tensors,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "inputs": inputs,
        }
        return _overriding.handle(backward, asked, (tensors,), given)
    roots = _at_edges(tensors)
    seeds = _overriding.seeds(roots) if grad_tensors is None else _seeds(grad_tensors, len(roots))
    if create_graph:
        _warn_of_cycle()
    _reverse.backward(
        roots,
        seeds,
        retain_graph,
        create_graph,
        None if inputs is None else _at_edges(inputs),
    )


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Compute and return the gradients of the sum of `outputs` with respect to each of `inputs`. No `.grad` changes.

    Args:
        outputs, inputs: a tensor or several. `inputs` may be a dict, then the result is one.
        grad_outputs: for each output, the vector of the vector-Jacobian product, in its shape. Default: None, which is allowed for
            outputs with one element.
        retain_graph: keep the saved values for another call. Default: the value of `create_graph`.
        create_graph: record the computation, for higher derivatives. Default: False.
        only_inputs: deprecated, ignored.
        allow_unused: return None for an input that the outputs do not depend on, instead of raising an error. Default: False.
        is_grads_batched: `grad_outputs` have an additional first dimension, and so do the results: several vectors at once.
        materialize_grads: return zeros instead of None. Default: False.

    Returns:
        A tuple with a gradient for each input, in its shape.

    Raises:
        RuntimeError: an input is not used (see `allow_unused`), an output has several elements and no gradient is given, or the graph
            was freed.

    >>> import pellucid as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> g, = torch.autograd.grad(x ** 2, x, create_graph=True)
    >>> torch.autograd.grad(g, x)
    (tensor(2.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    unused = materialize_grads if allow_unused is None else allow_unused
    outputs, places = _listed(outputs), _listed(inputs, "grad")
    if not places:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if _overriding.concerns(asked := (*outputs, *places)):
        given = {
            "grad_outputs": grad_outputs,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": only_inputs,
            "allow_unused": unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        answer = _overriding.handle(grad, asked, (outputs, places), given)
        return dict(zip(inputs, answer, strict=True)) if type(inputs) is dict else answer
    if not only_inputs:
        _warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
            "gradient for other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    targets = _at_edges(places)
    if materialize_grads and any(isinstance(x, graph.GradientEdge) for x in places):
        raise RuntimeError(
            "materialize_grads cannot be used when the given input is a GradientEdge"
        )
    roots = _at_edges(outputs)
    if grad_outputs is None and _overriding.below is not None:
        grad_outputs = _overriding.seeds(roots)
    found = _transforms.grad(
        roots,
        targets,
        grad_outputs,
        retain_graph,
        create_graph,
        unused,
        is_grads_batched,
        materialize_grads,
    )
    kinds = [(t._x or {}).get("grad_dtype") if isinstance(t, Tensor) else None for t in targets]
    if any(kinds):
        found = tuple(
            g if kind is None or g is None else g.to(kind)
            for g, kind in zip(found, kinds, strict=True)
        )
    return dict(zip(inputs, found, strict=True)) if type(inputs) is dict else found


def _profiler_enabled() -> bool:
    """Whether a profiler is recording."""
    return bool(_importlib.import_module("..profiler._record", __name__).recorders)


def _disable_profiler() -> list[Any]:
    """End the profile that was started last; the events that it has recorded, none where there is
    no profile.
    """
    recorders = _importlib.import_module("..profiler._record", __name__).recorders
    if not recorders:
        return []
    last = recorders[-1]
    last.stop()
    return last.events


_HOME = __name__.partition(".")[0]


def __getattr__(name: str) -> Any:
    if name in ("forward_ad", "functional", "profiler", "variable"):
        return _importlib.import_module(f"{__name__}.{name}")
    if name == "kineto_available":
        return _importlib.import_module(f"{_HOME}.profiler").kineto_available
    if name == "DeviceType":
        return _importlib.import_module(f"{_HOME}._C._autograd").DeviceType
    raise AttributeError(f"module 'torch.autograd' has no attribute {name!r}")


assert _reverse

_keep_functions(__name__)
