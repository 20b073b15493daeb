"""Autograd methods of tensors: `backward`, detaching, leaf flags, hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..core import observe, reverse, tracing
from ..core.bind import keeps_type
from ..core.display.outdated import Outdated, remember
from ..core.inplace import RETAIN as _RETAIN
from ..core.inplace import reattach
from ..core.modes import local, state
from ..core.primitive import Primitive
from ..core.public import method, public, tensor_property
from ..core.tape import Node, RemovableHandle, register
from ..core.tensor import ExposedVersion, OutputSlot, Tensor, alias, set_requires_grad
from ..core.transforms.capturing import check_own
from ..errors import ArgumentTypeError, GraphError, OperationError, type_name, warn_once
from ..ops.shape.view import alias_op
from .edges import at_edges, listed, seeds


@tensor_property
def _cdata(self: Tensor) -> int:
    """A number of the tensor's own: two names of one tensor have the same."""
    return id(self)


@tensor_property
def _version(self: Tensor) -> int:
    """How often the memory was written in place; views share the count.

    Raises:
        RuntimeError: a tensor made in inference mode, whose writes nobody counts.

    >>> import pellucid as torch
    >>> x = torch.zeros(2)
    >>> x.add_(1)._version
    1
    """
    # No method is called: programs that replace methods may ask for the count in them.
    if self._x and self._x.get("inference") and type(self._ver) is not ExposedVersion:
        raise RuntimeError("Inference tensors do not track version counter.")
    tracing.unkept("how often a tensor was written")
    return 0 if self._ver is None else self._ver.count


@tensor_property
def _base(self: Tensor) -> Tensor | None:
    """The tensor that this one is a view of; None where it is none.

    >>> import pellucid as torch
    >>> x = torch.zeros(2, 3)
    >>> x[0]._base is x, x._base is None
    (True, True)
    """
    # asked first: a compiled call has to hear of it, of what is no view, too
    return self._view.base if _is_view(self) and self._view is not None else None


@method()
def _is_view(self: Tensor) -> bool:
    """Whether it is a view of another tensor; views made in inference mode do not count."""
    tracing.unkept("whether a tensor is a view")
    return (
        self._view is not None and self._view.kind != "bits" and not self._view.base.is_inference()
    )


def warn_of_cycle() -> None:
    """Warn once that gradients with a graph of their own are held by what they were computed from."""
    warn_once(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
        "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
        "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
    )


@method()
def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Compute gradients: add the derivative of this tensor with respect to each leaf to that leaf's
    `.grad`.

    Args:
        gradient: the gradient of the final objective with respect to this tensor, in its shape. You
            may leave it out for a tensor with one element.
        retain_graph: keep the saved values for another backward. Default: the value of
            `create_graph`.
        create_graph: record the gradients too, for higher derivatives. Default: False.
        inputs: accumulate into these tensors only; a tensor, several, or a dict of them. Default:
            all leaves.

    Raises:
        RuntimeError: nothing requires a gradient, the tensor is not a scalar and `gradient` is
            missing, the graph was freed, or a value that backward needs was overwritten.

    >>> import pellucid as torch
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    check_no_transform()
    if inputs is not None:
        inputs = at_edges(listed(inputs, "backward"))
        if not inputs:
            raise GraphError("`inputs` argument to `backward()` cannot be empty.")
    if create_graph:
        warn_of_cycle()
    reverse.backward((self,), seeds(gradient, 1), retain_graph, create_graph, inputs)


@public(methods="=")
def detach(input: Tensor) -> Tensor:
    """The same values without their history: a tensor that shares this memory and counts as a
    constant.

    >>> import pellucid as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> (w * 2).detach().requires_grad
    False
    """
    result = alias(input)
    if (
        type(input) is not Tensor
        and keeps_type(type(input))
        and type(input).__name__ != "Parameter"
    ):
        result.__class__ = type(input)
    if state.slow and observe.observers:
        observe.notify("operation", _DETACH, (input,), {}, result)
    return result


# What observers are told for `detach`, which is no recorded operation.
_DETACH = Primitive(name="detach", grad_name="Detach", title="detach")


@public(methods="=")
def detach_(input: Tensor) -> Tensor:
    """Take this tensor out of the graph, which makes it a leaf, and return it.

    Raises:
        RuntimeError: the tensor is a view; use `detach()`.

    >>> import pellucid as torch
    >>> w = torch.ones(2, requires_grad=True)
    >>> y = w * 2
    >>> y.detach_().requires_grad, y.is_leaf
    (False, True)
    """
    if local.inference:
        return input  # as in PyTorch, whose graphs are out of reach there
    check_own(input, values=False)
    if input._view is not None:
        raise GraphError(
            "Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) for training, and "
            "gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() function in torch/optim/optimizer.py as "
            "the solution."
        )
    if state.slow and observe.observers:
        observe.notify("operation", _DETACH, (input,), {}, input)
    input._node = None
    input._rg = False
    return input


@method()
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set `requires_grad` in place, and return the tensor.

    Args:
        requires_grad: record operations on the tensor. Default: True.

    >>> import pellucid as torch
    >>> torch.zeros(2).requires_grad_()
    tensor([0., 0.], requires_grad=True)
    """
    _refuse_in_transforms("requires_grad_")
    if not isinstance(requires_grad, bool):
        raise ArgumentTypeError(
            f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type_name(requires_grad)}"
        )
    set_requires_grad(self, requires_grad, "only Tensors of floating point dtype")
    return self


def _refuse_in_transforms(name: str) -> None:
    """PyTorch's error for what `torch.func`'s transforms keep track of themselves."""
    if local.transforms:
        raise GraphError(
            f"You are attempting to call Tensor.{name}() {'' if name == 'retain_grad' else '(or perhaps using torch.autograd.functional.* APIs) '}"
            "inside of a function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
            f"transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name}() outside of a function being transformed instead."
        )


@method()
def retain_grad(self: Tensor) -> None:
    """Keep the gradient of this non-leaf tensor in `.grad` at the next backward; nothing happens
    for a leaf.

    >>> import pellucid as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> y.retain_grad()
    >>> (2 * y).backward()
    >>> y.grad
    tensor(2.)
    """
    if not self._rg:
        raise GraphError("can't retain_grad on Tensor that has requires_grad=False")
    _refuse_in_transforms("retain_grad")
    node = self._node
    if node is None or type(node) is Outdated and node.made is None or self.extra().get("retains"):
        return
    self.extra()["retains"] = True
    node, index = _place(self)
    from weakref import ref

    me = ref(self)

    def keep(g: Tensor | None) -> None:
        tensor = me()
        if tensor is not None and g is not None:
            held = tensor._grad
            tensor._grad = g.clone() if held is None else held + g

    _tensor_hooks(node, index)[_RETAIN] = keep


def _place(tensor: Tensor) -> tuple[Node, int]:
    edge = tensor._node
    return (edge.node, edge.index) if type(edge) is OutputSlot else (edge, 0)


def _tensor_hooks(node: Node, index: int) -> OrderedDict[int, Any]:
    hooks: OrderedDict[int, Any] = (
        node.extra().setdefault("tensor_hooks", {}).setdefault(index, OrderedDict())
    )
    return hooks


@method()
def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` whenever the gradient of this tensor is computed; it may return a new
    gradient.

    >>> import pellucid as torch
    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda g: g * 10)
    >>> (x * 3).sum().backward()
    >>> x.grad
    tensor([30., 30.])
    """
    if not self._rg:
        raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is None:
        return register(self.extra().setdefault("hooks", OrderedDict()), hook)
    node, index = _place(self)
    hooks = _tensor_hooks(node, index)
    handle = register(hooks, hook)
    view = self._view
    if view is not None and view.kind == "grad" and view.base._rg:
        remember(self, reattach)  # the hooks are those of its place in the graph until then
    if _RETAIN in hooks:
        hooks.move_to_end(_RETAIN)  # the retained gradient is what the hooks made of it
    return handle


@method()
def register_post_accumulate_grad_hook(
    self: Tensor, hook: Callable[[Tensor], None]
) -> RemovableHandle:
    """Call `hook(tensor)` each time `.grad` of this leaf has been accumulated.

    >>> import pellucid as torch
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda p: print("gradient:", p.grad))
    >>> (x * x).backward()
    gradient: tensor(6.)
    """
    if not self._rg:
        raise GraphError("cannot register a hook on a tensor that doesn't require gradient")
    if self._node is not None:
        raise GraphError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return register(self.extra().setdefault("post_accumulate", OrderedDict()), hook)


@method()
def as_subclass(self: Tensor, cls: type) -> Any:
    """A view of the whole tensor with the Python type `cls`.

    >>> import pellucid as torch
    >>> class Meters(torch.Tensor):
    ...     pass
    >>> type(torch.tensor([1.0]).as_subclass(Meters)).__name__
    'Meters'
    """
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type_name(cls)})")
    if not issubclass(cls, Tensor):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your class inherits "
            "from Tensor."
        )
    result = alias_op.call(self)
    if cls is not Tensor or keeps_type(type(result)):  # a batched tensor stays one
        result.__class__ = cls
    return result


def clear_gradients(tensors: list[Tensor], set_to_none: bool) -> None:
    """What `zero_grad` of modules and optimizers does: no gradients any more, or those that there
    are zero and without history.
    """
    if observe.observers:
        observe.notify("zero_grad", tensors, set_to_none)
    if set_to_none:
        for t in tensors:
            t._grad = None
        return
    for grad in tracing.gradients(tensors):
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()


def check_no_transform() -> None:
    """Refuse `backward()` while `torch.func` runs a function."""
    if local.transforms:
        raise GraphError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp instead "
            "or call backward() outside of functorch transforms."
        )


# ---- PyTorch's private names that its users know -------------------------------------------------
class _Engine:
    """`Variable._execution_engine`, of which libraries use `queue_callback`."""

    queue_callback = staticmethod(reverse.queue_callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether the backward that is under way goes to all leaves, so that reentrant checkpoints
        work in it.
        """
        return local.run is None or local.run.wanted is None


engine = _Engine()


def _refusing(message: str) -> Callable[[Tensor], None]:
    def refuse(self: Tensor) -> None:
        raise OperationError(message)

    return refuse


Tensor._grad_fn = property(  # type: ignore[method-assign, assignment]
    lambda self: self.grad_fn,
    None,
    _refusing("Deletion of _grad_fn not allowed. Detach tensor instead!"),
)


def _backward_hooks(self: Tensor) -> Any:
    if self._node is None:
        return (self._x or {}).get("hooks")
    node, index = _place(self)
    hooks = (node.ext or {}).get("tensor_hooks", {}).get(index)
    if hooks is not None and _RETAIN in hooks:
        hooks = OrderedDict([(key, hook) for key, hook in hooks.items() if key != _RETAIN]) or None
    return hooks


def _set_backward_hooks(self: Tensor, hooks: Any) -> None:
    if hooks is None:
        self.extra().pop("hooks", None)
    else:
        self.extra()["hooks"] = hooks


Tensor._backward_hooks = property(  # type: ignore[method-assign, assignment]
    _backward_hooks,
    _set_backward_hooks,
    _refusing("Deletion of _backwards_hooks not allowed!"),
)


# ---- the dtype of gradients ----------------------------------------------------------------------
def _grad_dtype(self: Tensor) -> dtypes.dtype | None:
    """The dtype that a leaf's gradient is converted to, its own unless another was set; None:
    whichever it has.
    """
    if self._node is not None:
        raise OperationError("grad_dtype can only be accessed on leaf tensors.")
    found: dtypes.dtype | None = (self._x or {}).get("grad_dtype", self.dtype)
    return found


def _set_grad_dtype(self: Tensor, kind: Any) -> None:
    if self._node is not None:
        raise OperationError("grad_dtype can only be set on leaf tensors.")
    if kind is not None and not isinstance(kind, dtypes.dtype):
        raise OperationError(f"grad_dtype must be a torch.dtype or None, but got {type_name(kind)}")
    held = self._grad
    if held is not None and kind is not None and held.dtype is not kind:
        raise OperationError(
            f"Cannot set grad_dtype to '{kind.scalar_type_name}' because there is already a gradient with dtype '{held.dtype.c_name}'. "
            "Please clear the gradient (.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing "
            "gradient's dtype."
        )
    self.extra()["grad_dtype"] = kind


Tensor.grad_dtype = property(_grad_dtype, _set_grad_dtype)  # type: ignore[method-assign, assignment]
