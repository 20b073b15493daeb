"""Sparse tensors, and how what an operation does with them is found.

A `SparseTensor` is a Tensor whose array is a `SparseArray`: a sparse leaf has a place in the graph
of its own, and its gradients may be sparse or dense, as PyTorch's are. An operation of the engine
that meets one comes to the interpreter here, which looks into `HANDLERS.operations`; what is not
there is refused by PyTorch's words. Functions that are no single operation are found in the same
way by their public name: `function` makes them methods of SparseTensor and puts them before the
dense ones in the namespaces. Dense calls pass none of this.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import devices
from ..api.attach import Handler, Handlers
from ..arrays.sparse.array import SparseArray, refusal
from ..core import source, tracing
from ..core.callers import tensor_of
from ..core.inplace import bump, check_writable
from ..core.interpret import thread
from ..core.modes import enable_grad, local, no_grad
from ..core.primitive import Primitive
from ..core.tape import count, node_type
from ..core.tensor import Parameter, Tensor, make_tensor, version_of
from ..dtypes import BY_NUMPY, can_cast
from ..errors import DtypeError, OperationError, no_attribute

_new = object.__new__


class SparseTensor(Tensor):
    """A tensor of which only some elements are stored, in one of five layouts; PyTorch's
    `torch.sparse`.

    Made by `sparse_coo_tensor` and similar functions and by `Tensor.to_sparse`.
    """

    __slots__ = ()
    __getattr__ = no_attribute
    _array: SparseArray

    @property
    def layout(self) -> Any:
        """`torch.sparse_coo`, `torch.sparse_csr`, ..."""
        return getattr(devices, f"sparse_{self._array.layout}")

    @property
    def is_sparse(self) -> bool:
        """True in the coordinate layout alone."""
        return self._array.layout == "coo"

    @property
    def is_sparse_csr(self) -> bool:
        """True in the layout of compressed rows."""
        return self._array.layout == "csr"

    @property
    def _is_param(self) -> bool:
        return isinstance(self, SparseParameter)

    @_is_param.setter
    def _is_param(self, value: bool) -> None:
        # How `nn.Parameter` marks a tensor of a type of its own.
        self.__class__ = SparseParameter if value else SparseTensor

    class _interpreter:  # noqa: N801
        @staticmethod
        def run(below: Any, op: Any, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
            handler = HANDLERS.operations.get(op)
            if handler is None:
                layout = layout_of(*args)
                if op.elementwise and layout not in ("", "coo"):
                    raise OperationError(f"unsupported tensor layout: Sparse{layout.capitalize()}")
                raise refuse(op.overload or op.title, *args)
            return handler(*args, **params)

        @staticmethod
        def write(below: Any, tensor: Any, result: Any, name: str) -> Any:
            if not is_sparse(tensor) and name != "copy_":
                return below(tensor, result.to_dense(), name)
            return overwritten(tensor, result, name)


class SparseParameter(SparseTensor, Parameter):
    """A sparse tensor that a Module registers as its parameter."""

    __slots__ = ()


SparseTensor.__name__ = "Tensor"  # PyTorch has no class for them


# ---- making ----------------------------------------------------------------------------------
def wrapped(array: SparseArray) -> SparseTensor:
    """A sparse tensor without history."""
    made: SparseTensor = make_tensor(array, SparseTensor)
    return made


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse tensor."""
    return isinstance(value, Tensor) and type(value._array) is SparseArray


def layout_of(*values: Any) -> str:
    """The layout of the first sparse tensor."""
    for value in values:
        if is_sparse(value):
            return str(value._array.layout)
        if isinstance(value, (list, tuple)) and (found := layout_of(*value)):
            return found
    return ""


def refuse(name: str, *args: Any) -> Exception:
    """PyTorch's error for an operation that the layout of these arguments does not have."""
    return refusal(name, layout_of(*args))


class _Rule(Primitive):
    """What a node of a sparse operation goes by: its gradient rule is a function of tensors, sparse
    or dense.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            name=name,
            variadic=True,
            forward=_no_forward,
            vjp=_no_forward,
            grad_name=name if "Backward" in name else name + "Backward0",
        )
        self.entries, self.versioned, self.saves_nothing = (("custom", 0),), (), False

    def plan(self, needs: Any) -> Any:
        return self

    def backward(self, F: Any, g: Any, s: Any, p: dict[str, Any]) -> tuple[Any, ...]:
        """Tensors in and out of the rule, whatever the namespace."""
        with no_grad() if F.raw else enable_grad():
            found = p["rule"](tensor_of(g) if F.raw else g, *(s[0] if s else ()))
        found = found if isinstance(found, tuple) else (found,)
        return tuple([t._array if F.raw and t is not None else t for t in found])


def _no_forward(*args: Any) -> Any:
    raise OperationError("an operation on sparse tensors cannot be repeated")


@functools.cache
def _record_of(name: str) -> _Rule:
    return _Rule(name)


def recorded(
    name: str,
    array: Any,
    inputs: Sequence[Any],
    rule: Callable[..., Any],
    saved: Sequence[Tensor] = (),
) -> Any:
    """The tensor of a result, recorded where a gradient will be wanted.

    Args:
        name: PyTorch's name of the node, without `Backward0`.
        array: the result, dense or sparse.
        inputs: what is differentiated.
        rule: `rule(g, *saved)` gives a gradient (or None) for each input, by differentiable
            functions of tensors.
    """
    if tracing.tracer():
        tracing.tracer().refuse("the step computes with a sparse tensor")
    made = tensor_of(array)
    needs = [isinstance(x, Tensor) and x._rg for x in inputs]
    if not (True in needs and local.grad and made._array.dtype.kind not in "biu"):
        return made
    op: Any = _record_of(name)
    node: Any = _new(node_type(op))
    node.op = node.plan = op
    node.params = {"rule": rule}
    node.inputs = tuple(
        [(x._node or x) if need else None for x, need in zip(inputs, needs, strict=True)]
    )
    node.saved = (tuple(saved),) if saved else ()
    node.versions = tuple([version_of(t) for t in saved])
    node.total = sum([v.count for v in node.versions])
    node.shape, node.dtype, node.seq, node.ext = made._array.shape, made._array.dtype, count(), None
    node.source = source.capture(2)
    for step in thread.stack.recorded:
        step(node)
    made._node, made._rg = node, True
    return made


def overwritten(tensor: Any, result: Any, name: str) -> Any:
    """`tensor` becomes what `result` is: the in-place form of an operation."""
    check_writable(tensor, name)
    if not (is_sparse(tensor) and is_sparse(result)):
        if name == "copy_":
            raise OperationError(
                f"copy_() between dense and sparse Tensors is not implemented! Found self type = {tensor.type()} and src type = "
                f"{result.type()}"
            )
        raise refuse(name, tensor, result)
    a, r = tensor._array, result._array
    if r.shape != a.shape:
        raise OperationError(
            f"output with shape {list(a.shape)} doesn't match the broadcast shape {list(r.shape)}",
            op=name,
        )
    if r.dtype != a.dtype:
        if not can_cast(BY_NUMPY[r.dtype], BY_NUMPY[a.dtype]):
            raise DtypeError(
                f"result type {BY_NUMPY[r.dtype].scalar_type_name} can't be cast to the desired output type "
                f"{BY_NUMPY[a.dtype].scalar_type_name}",
                op=name,
            )
        r = r.astype(a.dtype)
    tensor._array = r.to(a.layout, a.block if a.layout[0] == "b" else None)
    bump(tensor, name)
    if result._rg and local.grad:
        tensor._node, tensor._rg = result._node, True
    return tensor


# ---- registering -----------------------------------------------------------------------------
def _choose(handler: Handler, dense: Any) -> Any:
    @functools.wraps(dense)
    def chosen(*args: Any, **kwargs: Any) -> Any:
        for x in args:
            if isinstance(x, (list, tuple)) and x:
                x = x[0]
            if isinstance(x, SparseTensor):
                return handler(*args, **kwargs)
        return (handler if kwargs and layout_of(*kwargs.values()) else dense)(*args, **kwargs)

    return chosen


HANDLERS = Handlers(SparseTensor, _choose)
operation, family = HANDLERS.operation, HANDLERS.family
method, function = HANDLERS.method, HANDLERS.function
