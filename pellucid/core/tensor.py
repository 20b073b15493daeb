"""The Tensor: an array and its place in the graph. `pellucid.api` attaches arithmetic and methods."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..arrays.meta import MetaArray
from ..dtypes import BY_NUMPY, Size, device, dtype
from ..errors import DtypeError, GraphError, warn
from . import observe
from .display.assigned import TensorMeta, check_data, check_grad, checked_flag
from .display.outdated import follow, outdate_all
from .modes import local, state

_new = object.__new__
_tuple_new = tuple.__new__
_DEVICES: Any = {"cpu": device("cpu"), "meta": device("meta")}  # array device name -> device


class VersionCounter:
    """The write counter that a tensor shares with its views.

    `writer` is (operation, source) of the last write. `node` is the node of the last recorded write
    (a weak reference) and its type.
    """

    count = 0
    writer: Any = None
    node: tuple[weakref.ref[Any], type] | None = None
    views: list[weakref.ref[Any]] | None = None  # live differentiable views, kept by the base
    restricted: list[Any] | None = None  # (view, the object to notify of the next write)
    # nodes that borrow the memory and copy it before a write (`borrows` of `defop`)
    borrowers: list[weakref.ref[Any]] | None = None
    exposed = False  # `data` or the storage was handed out, so writes may bypass the counter
    born: float = 0  # of a tensor made in a transform: when, in the count of nodes


class ExposedVersion(VersionCounter):
    exposed = True


class InferenceVersion(VersionCounter):
    """The counter of tensors made in inference mode. It counts nothing, and reading it outside of
    inference mode, as saving for backward does, raises PyTorch's error.
    """

    @property
    def count(self) -> int:  # type: ignore[override]
        if local.inference or local.beyond_inference:
            return 0
        raise GraphError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
            "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
            "`torch.no_grad()` instead of `torch.inference_mode()`."
        )

    @count.setter
    def count(self, value: int) -> None:
        pass


class View:
    """How a view was derived from its base: the view operations and their parameters, which can be
    replayed on a new base.
    """

    __slots__ = ("base", "chain", "kind")

    def __init__(self, base: Tensor, chain: tuple[tuple[Any, ...], ...], kind: str) -> None:
        self.base = base
        self.chain = chain
        # "grad" allows in-place writes; "no_grad", "inference", "multi" and "custom" restrict them.
        # "bits" is a view through a dtype without gradients, whose writes do not affect the base's
        # graph.
        self.kind = kind


class Tensor(metaclass=TensorMeta):
    """A multi-dimensional array that can record how it was computed, for gradients.

    Create tensors with :func:`torch.tensor`, :func:`torch.zeros` and their relatives. `torch.Tensor(2, 3)` is an uninitialized tensor of
    the default dtype.

    Attributes:
        shape, dtype, device: what the tensor is.
        requires_grad: whether operations on it are recorded.
        grad: its gradient after `backward()`, or None.
        grad_fn: the graph node that computed it; None for a leaf.

    >>> import pellucid as torch
    >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> loss = (w ** 2).sum()
    >>> loss.backward()
    >>> w.grad
    tensor([2., 4.])
    """

    # `_array` (NumPy array, or MetaArray without data), `_node` (the graph node that computed it, an
    # OutputSlot for one of several results, None for a leaf), `_rg` (requires grad), `_grad`, `_ver`
    # (Version, made when first needed), `_view` (View or None), `_x` (rare things in a dict: hooks,
    # names, tangents, ...)
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_grad",
        "_node",
        "_rg",
        "_ver",
        "_view",
        "_x",
    )

    _array: Any
    _grad: Tensor | None
    _node: Any
    _rg: bool
    _ver: VersionCounter | None
    _view: View | None
    _x: dict[str, Any] | None
    # of a type that is more than an array: the interpreter of its operations (`core.interpret`)
    _interpreter: Any = None

    # ---- description -------------------------------------------------------------------------
    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return _tuple_new(Size, self._array.shape)

    @property
    def dtype(self) -> dtype:
        """The element type."""
        return BY_NUMPY[self._array.dtype]

    @property
    def device(self) -> device:
        """Where the data lives: `cpu`, or `meta` for a tensor without data."""
        return _DEVICES.get(self._array.device) or self._array.device

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def is_meta(self) -> bool:
        """True for a tensor without data."""
        return type(self._array) is MetaArray

    # ---- autograd ----------------------------------------------------------------------------
    @property
    def requires_grad(self) -> bool:
        """True when operations on this tensor are recorded."""
        return self._rg

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        set_requires_grad(
            self, checked_flag(value), "only Tensors of floating point and complex dtype"
        )

    @property
    def is_leaf(self) -> bool:
        """True for a tensor that no recorded operation made."""
        return not self._node

    @property
    def grad_fn(self) -> Any:
        """The graph node that made this tensor; None for a leaf."""
        node = self._node.node if type(self._node) is OutputSlot else self._node
        if node is not None and node.op.variant is not None:
            self._node, node = node.seen(self._node)
        return node

    @property
    def output_nr(self) -> int:
        """Which result of `grad_fn` this tensor is."""
        return self._node.index if type(self._node) is OutputSlot else 0

    @property
    def grad(self) -> Tensor | None:
        """The gradient accumulated by backward; None before the first, and for a non-leaf without
        `retain_grad`.
        """
        if self._grad is None and self._node is not None:
            _warn_non_leaf_grad(self)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            check_grad(self, value, Tensor)
        self._grad = value
        if state.slow:
            observe.notify("grad_set", self, value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        """True for a non-leaf tensor whose gradient will be kept."""
        return self._node is not None and bool(self._x and self._x.get("retains"))

    @property
    def data(self) -> Tensor:
        """The same values without history; writes to it are not seen by autograd."""
        if self._ver is None or not self._ver.exposed:
            hand_out_copies(version_of(self), past_the_counter=True)
        result: Tensor = alias(self)
        result._ver = ExposedVersion()
        result._ver.born = version_of(self).born
        if state.slow:
            observe.notify("data_taken", self, result)
        return result

    @data.setter
    def data(self, value: Tensor) -> None:
        check_data(self, value, Tensor)
        self._array = value._array

    def extra(self) -> dict[str, Any]:
        """The dictionary `_x` of rare attributes, created on first use."""
        if self._x is None:
            self._x = {}
        return self._x

    def __hash__(self) -> int:
        return id(self)


class _ParameterType(TensorMeta):
    """Makes `isinstance(x, Parameter)` true for parameters of other tensor types, which carry the
    mark `_is_param`.
    """

    def __instancecheck__(cls, instance: Any) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return (
            cls is Parameter
            and isinstance(instance, Tensor)
            and getattr(instance, "_is_param", False)
        )


class Parameter(Tensor, metaclass=_ParameterType):
    """A tensor that a Module registers as a parameter when it is assigned as an attribute; it
    requires grad by default.

    Args:
        data: the initial values, shared without a copy.
        requires_grad: whether operations on it are recorded.

    >>> import pellucid as torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.requires_grad, p.is_leaf
    (True, True)
    """

    __slots__ = ()

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Any:
        if data is None:
            data = make_tensor(np.empty(0, np.float32))
        if type(data) is Tensor or type(data) is Parameter:
            self = make_tensor(data._array, cls=cls)
        else:
            # A custom tensor type stays what it is and is marked as a parameter.
            self = data.detach()
            self._is_param = True
        set_requires_grad(self, requires_grad)
        return self


class OutputSlot:
    """An edge to one result of a node that has several."""

    __slots__ = ("index", "node")

    def __init__(self, node: Any, index: int) -> None:
        self.node = node
        self.index = index


def node_of(edge: Any) -> Any:
    """The node at an edge, which is an OutputSlot or the node itself."""
    return edge.node if type(edge) is OutputSlot else edge


FAST_TYPES = (Tensor, Parameter)


def make_tensor(array: Any, cls: Any = Tensor) -> Any:
    """A leaf tensor that shares `array`."""
    self = _new(cls)
    self._array = array
    self._node = self._grad = self._ver = self._view = self._x = None
    self._rg = False
    if state.slow and local.inference:
        self._ver = InferenceVersion()
        self._x = {"inference": True}
    return self if state.born is None else state.born(self)


def alias(source: Tensor, cls: Any = Tensor) -> Any:
    """A tensor without history that shares the array and the version counter of `source`
    (`detach`).
    """
    result = make_tensor(source._array, cls)
    result._ver, result._x = (
        version_of(source),
        {"inference": True} if source.is_inference() else None,
    )
    return result if state.born is None else state.born(result, source)


def collects(leaf: Tensor) -> bool:
    """Whether backward accumulates a gradient in this leaf. A view made without grad mode does not
    collect: it requires a gradient only because its base does.
    """
    view = leaf._view
    return view is None or not _inherits(view) or bool((leaf._x or {}).get("collects"))


def _inherits(view: View) -> bool:
    """Whether a view has `requires_grad` only because its base does."""
    return view.kind in ("no_grad", "inference") and view.base._rg


def version_of(tensor: Tensor) -> VersionCounter:
    """The tensor's version counter, created on first use."""
    version = tensor._ver
    if version is None:
        version = tensor._ver = VersionCounter()
    return version


def count_write(version: VersionCounter, writes: int = 1) -> None:
    """Count one write, or several."""
    version.count += writes
    if version.restricted is not None:
        outdate_all(version)


def views_of(base: Tensor) -> list[Any]:
    """The live views of `base`. Views of tensors made by `detach()` are in the same list, because
    these share the counter, and are filtered out.
    """
    known = None if base._ver is None else base._ver.views
    live = [(ref, view) for ref in known or () if (view := ref()) is not None]
    if known:
        known[:] = [ref for ref, _ in live]
    return [view for _, view in live if view._view is not None and view._view.base is base]


def hand_out_copies(version: VersionCounter, past_the_counter: bool = False) -> None:
    """Let nodes that borrow the memory copy it. Called before a write, and before the memory is
    handed out in a way that lets later writes bypass the counter (`past_the_counter`).
    """
    version.exposed = version.exposed or past_the_counter
    borrowers, version.borrowers = version.borrowers, None
    for node in filter(None, [ref() for ref in borrowers or ()]):
        node.copy_borrowed(version)


_DIFFERENTIABLE = "Only Tensors of floating point and complex dtype"


def set_requires_grad(tensor: Tensor, value: bool, wanted: str = _DIFFERENTIABLE) -> None:
    """Set `requires_grad` with PyTorch's checks. `wanted` starts the error message for integer
    tensors, which differs between callers.
    """
    value = bool(value)
    if tensor._node is not None:
        if not value:
            raise RuntimeError(
                "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                "subgraph that doesn't require differentiation use var_no_grad = var.detach()."
            )
        return
    if value and tensor._array.dtype.kind not in "fcW" and not tensor.dtype.is_floating_point:
        raise DtypeError(
            f"{wanted} can require gradients",
            hint=f"this tensor has dtype {tensor.dtype}: pass dtype=torch.float32, write 1.0 instead of 1, or convert it with .float()",
        )
    if value and tensor._x is not None and tensor._x.get("inference") and not local.inference:
        raise RuntimeError(
            "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
        )
    if tensor._view is not None and _inherits(tensor._view):
        tensor.extra()["collects"] = value
        return
    tensor._rg = value
    for view in views_of(tensor):  # a view requires a gradient when its base does
        if view._node is None:
            view._rg = follow(view, value)
    if state.slow:
        observe.notify("requires_grad", tensor, value)


def _warn_non_leaf_grad(tensor: Tensor) -> None:
    if tensor._x is None or not tensor._x.get("retains"):
        warn(
            "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
            "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
            "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the leaf Tensor "
            "instead. See github.com/pytorch/pytorch/pull/30531 for more information.",
            UserWarning,
        )
