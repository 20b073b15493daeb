"""Find where gradients become zero, grow, shrink, or stop being finite in backward, and why."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ...core import source
from ...core.tape import Node, walk
from ...core.tensor import OutputSlot, Tensor, node_of
from .._hooks import AFTER, BEFORE, OF_LEAVES, hook_of

TINY = 1e-12  # a gradient smaller than this, relative to what came in, counts as zero
CAME_IN = "before the first recorded operation used it"
ROUNDING = 1e-5  # the same for sums in which equal terms cancel: what is left of them is rounding


class Fault(NamedTuple):
    """The place where a gradient became zero, or a value NaN or Inf: `cause` is the slug, `name`
    the operation; `leaf` the parameter whose values made it so.
    """

    cause: str
    name: str
    site: source.Site | None
    detail: str
    module: str | None = None
    leaf: weakref.ref[Tensor] | None = None

    @property
    def line(self) -> source.Line | None:
        """The user's line."""
        return source.describe(self.site)


class Factor(NamedTuple):
    """By how much one operation scaled a gradient; `operand` says which large value it was
    multiplied by, `computed` if that had grown in the forward pass, `begun` where."""

    factor: float
    name: str
    site: source.Site | None
    operand: str = ""
    computed: bool = False
    begun: source.Site | None = None

    def __str__(self) -> str:
        line = source.describe(self.site)
        return (
            f"{self.name} times {self.factor:.3g}"
            + (f" at {line}" if line else "")
            + (f": {self.operand}" if self.operand else "")
        )


class Growth(NamedTuple):
    """How a gradient grew and shrank on its way: magnitude at first and at the end, how many
    factors were above one and below, the extreme ones with their places, the product of the
    shrinking factors of saturating activations and of all operations, and the largest sum without a mean
    (its factor is the number of its elements)."""

    first: float
    last: float
    up: int
    down: int
    largest: Factor
    smallest: Factor
    flat: float
    shrunk: float
    summed: Factor


class _Arrived:
    """What has reached one node or leaf so far during a backward."""

    __slots__ = ("fault", "growth", "hook", "nonzero", "site", "target")

    def __init__(self, target: Any) -> None:
        self.target, self.nonzero = target, 0
        self.site: source.Site | None = None  # of the last that was not zero
        self.fault: Fault | None = None
        self.growth: Growth | None = None
        self.hook: source.Site | None = None  # of a hook that may have changed what was given to it


class BackwardNotes:
    """Follows one backward call after another; what is found about leaves goes into the facts that
    `about(leaf)` returns.
    """

    def __init__(
        self,
        about: Callable[[Tensor], dict[str, Any]],
        masks: Any,
        mask_sites: Mapping[int, source.Site | None],
        returns: Mapping[CodeType, source.Site],
    ) -> None:
        self._about, self._masks, self._returns = about, masks, returns
        self._mask_sites = mask_sites
        self._arrived: dict[int, _Arrived] = {}
        self.bad: Fault | None = None  # the first derivative of all that was not finite
        self._bad_now: Fault | None = None
        self._bad_root: Fault | None = None
        self.site: source.Site | None = None
        self.largest = 0.0  # the largest gradient that a leaf got in the last call
        self._walks = 0  # through what a large value was computed from
        self._whole = True
        self.keeps = False  # keep what arrived at leaves after the call, for who asks `arrived`

    def start(self, site: source.Site | None, bad_root: Fault | None, whole: bool = True) -> None:
        """A backward call begins; `bad_root` says where its root became NaN or Inf, if it is; `whole` is
        False where only some gradients are wanted, and rules leave out the others.
        """
        self._arrived.clear()
        self._whole = whole
        self.site, self._bad_root, self._bad_now = site, bad_root, None
        self.largest = 0.0
        self._walks = 0

    def end(self) -> None:
        """The call is over: nothing of its graph is held any longer."""
        if not self.keeps:
            self._arrived.clear()

    def node(self, node: Node, g: Any, gs: Any) -> None:
        """One node was differentiated: `g` reached it, `gs` goes to its inputs."""
        largest = max(
            (largest_of(x) for x in (g if isinstance(g, (tuple, list)) else (g,))), default=0.0
        )
        came = self._arrived.pop(id(node), None)
        if came is not None and came.target is not node:
            came = None
        finite = bool(np.isfinite(largest))
        hook = hook_of(node, BEFORE, self._returns) if node.ext else None
        if came is not None and (hook := hook or came.hook) is not None:
            _hooked(came, largest, hook)
        after = hook_of(node, AFTER, self._returns) if node.ext else None
        for k, (edge, gi) in enumerate(zip(node.inputs, gs, strict=False)):
            if edge is None:
                continue
            target = node_of(edge)
            if gi is None and not self._whole:
                continue
            if gi is None:
                detail = f"the derivative of {node.name()} with respect to argument {k} was returned as None"
                none = Fault(
                    "no-derivative",
                    node.name(),
                    _returned(node, self._returns),
                    detail,
                    module_of(node),
                )
                for leaf in (target,) if isinstance(target, Tensor) else walk([target]):
                    if isinstance(leaf, Tensor):
                        self._about(leaf)["none"] = none
                continue
            size = largest_of(gi)
            if finite and not np.isfinite(size):
                self._not_finite(node, k, g, gi, largest)
            there = self._arrived.get(id(target))
            if there is None or there.target is not target:
                there = self._arrived[id(target)] = _Arrived(target)
            there.hook = after or there.hook
            self._grew(node, k, there, came, largest, size, target)
            fault = self._zero_fault(node, k, g, gi, came, largest, size, hook)
            if fault is None or (size > TINY * largest and size > 0):
                there.nonzero += 1
                there.site = node.source
                if fault is not None and there.fault is None:
                    there.fault = fault
            elif there.fault is None:
                there.fault = fault

    def _zero_fault(
        self,
        node: Node,
        k: int,
        g: Any,
        gi: Any,
        came: _Arrived | None,
        largest: float,
        size: float,
        hook: source.Site | None,
    ) -> Fault | None:
        if size != 0 and not size <= ROUNDING * largest:
            return None
        if largest == 0:
            if came is None:
                return Fault(
                    "times-zero",
                    node.name(),
                    node.source,
                    "the gradient given to backward() is zero",
                    module_of(node),
                )
            if came.nonzero and hook is not None:
                return _by_hook(node.name(), hook, module_of(node))
            if came.nonzero:
                detail = f"{came.nonzero} paths meet in its result, and their gradients cancel"
                at = node.source if came.fault is None else came.site
                detail += _besides(came.fault)
                return Fault("cancels", node.name(), at, detail, module_of(node))
            return came.fault
        exact = size == 0 or size <= TINY * largest  # a NaN that reached it is no measure
        cause, detail = zero_cause(node, k, g, gi, self._masks, exact)
        if cause is None:
            return None
        if cause == "masked":
            for value in node.saved or ():
                if self._masks.get(id(value)) is value is not None and not value.any():
                    made = self._mask_sites.get(id(value)) or node.source
                    return Fault(cause, node.name(), made, detail, module_of(node))
        leaf = _begun_so(node, cause, k)
        held = None if leaf is None else weakref.ref(leaf)
        return Fault(cause, node.name(), node.source, detail, module_of(node), held)

    def _not_finite(self, node: Node, k: int, g: Any, gi: Any, largest: float) -> None:
        came_in = _bad_constant(node)
        detail = f"the gradient that reached it was finite ({largest:.4g})"
        at = _bad_index(gi)
        if at is not None:
            values = [
                f"{name} = {a[at]:.6g}"
                for name, a in _saved(node)
                if a.shape == np.shape(_values(gi)) and a.dtype.kind in "fiu"
            ]
            shown = f" where {' and '.join(dict.fromkeys(values))}" if values else ""
            name = node.op.args[k] if k < len(node.op.args) else f"argument {k}"
            detail += f"; its derivative with respect to {name} is {_values(gi)[at]:.4g} at index {list(map(int, at))}{shown}"
        fault = Fault("nan-backward", node.name(), node.source, detail, module_of(node))
        # activations can hide in the forward pass that a value was infinite
        if came_in is not None:
            detail = f"its {came_in} was not finite {CAME_IN}"
            fault = Fault("nan-forward", node.op.name, node.source, detail, module_of(node))
        self.bad = self.bad or fault
        self._bad_now = self._bad_now or fault

    def _grew(
        self,
        node: Node,
        k: int,
        there: _Arrived,
        came: _Arrived | None,
        before: float,
        after: float,
        target: Any,
    ) -> None:
        if not (0 < before < np.inf and after < np.inf):
            return
        none = Factor(1.0, "", None)
        growth = (
            came.growth
            if came is not None and came.growth is not None
            else Growth(before, before, 0, 0, none, none, 1.0, 1.0, none)
        )
        factor = after / before
        # A mean or a sum spreads one gradient over many elements: that is no shrinking.
        spreads = factor < 1 and _elements(target) > _elements(node)
        here = Factor(
            factor, node.name(), node.source, *_large_operand(node, k) if factor >= _LARGE else ()
        )
        count = _elements(target)
        if factor == 1 and _elements(node) == 1 and count > max(_LARGE, growth.summed.factor):
            growth = growth._replace(summed=Factor(count, node.name(), node.source))
        if here.computed and factor > growth.largest.factor and self._walks < 16:
            self._walks += 1
            here = here._replace(begun=_began_to_grow(node))
        growth = growth._replace(last=after, up=growth.up + (factor > 1))
        if factor < 1 and not spreads:
            flat = "saturates" in node.op.traits and not _is_relu(node)
            growth = growth._replace(
                down=growth.down + 1,
                flat=growth.flat * (factor if flat else 1.0),
                shrunk=growth.shrunk * factor,
                smallest=here
                if factor < growth.smallest.factor or not growth.smallest.name
                else growth.smallest,
            )
        if factor > growth.largest.factor or not growth.largest.name:
            growth = growth._replace(largest=here)
        if there.growth is None or there.growth.last < after:
            there.growth = growth

    def accumulate(self, leaf: Tensor, grad: Any) -> None:
        """A leaf got its gradient."""
        about = self._about(leaf)
        about["accumulated"] = self.site
        if grad is not None:  # a hook may have cleared it
            about.pop("cleared", None)
        there = self._arrived.pop(id(leaf), None)
        size = largest_of(grad)
        self.largest = max(self.largest, size if np.isfinite(size) else 0.0)
        if not np.isfinite(size) and "bad" not in about:
            about["bad"] = self._bad_root or self._bad_now or self.bad
        if there is None:
            return
        hook = (hook_of(leaf, OF_LEAVES, self._returns) if leaf._x else None) or there.hook
        if hook is not None:
            _hooked(there, size, hook)
        about["growth"] = there.growth
        about["zero"] = there.fault
        if hook is not None and there.nonzero and size == 0:
            about["zero"] = _by_hook("the gradient of the leaf", hook, None)
            return
        if there.nonzero > 1 and size == 0:
            detail = f"{there.nonzero} paths lead from the loss to it, and their gradients cancel"
            at = self.site if there.fault is None else there.site
            detail += _besides(there.fault)
            about["zero"] = Fault("cancels", "the sum of them", at, detail)


HOOK = "a hook"


def _by_hook(name: str, hook: source.Site, module: str | None) -> Fault:
    """What is to be said of a gradient that was not zero before a hook saw it."""
    return Fault("hook", name, hook, "the gradient that the hook got was not zero", module)


def _hooked(came: _Arrived, size: float, hook: source.Site) -> None:
    """What reached a place is scaled by a hook: that is one more factor."""
    growth = came.growth
    if growth is None or not 0 < size < np.inf or not growth.last > 0:
        return
    here = Factor(size / growth.last, HOOK, hook)
    if 1 / _LARGE < here.factor < _LARGE:
        return
    growth = growth._replace(last=size, up=growth.up + (here.factor > 1))
    if here.factor < 1:
        growth = growth._replace(down=growth.down + 1, shrunk=growth.shrunk * here.factor)
        if here.factor < growth.smallest.factor:
            growth = growth._replace(smallest=here)
    elif here.factor > growth.largest.factor:
        growth = growth._replace(largest=here)
    came.growth = growth


def _besides(fault: Fault | None) -> str:
    """What is to be said of a further path on which nothing arrives."""
    if fault is None or fault.cause != "through-integer":
        return ""
    return f"; a further one goes through {fault.name}, where no gradient flows ({fault.detail})"


_LARGE = 1e3


def _large_operand(node: Node, k: int) -> tuple[str, bool]:
    """The value by which a node multiplied a gradient, when it is large, and whether it was
    computed (data and leaves are not).
    """
    own = node.op.name in ("pow", "square")
    for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False):
        if kind != "in" or i == k and not own:
            continue
        if type(value) is np.ndarray and largest_of(value) >= _LARGE:
            computed = isinstance(node.inputs[i], (Node, OutputSlot))
            argument = node.op.args[i] if i < len(node.op.args) else f"argument {i}"
            return (
                f"{argument} {'had grown to' if computed else 'holds values up to'} {largest_of(value):.3g}",
                computed,
            )
    small = {
        name: least
        for name, a in _saved(node)
        if a.dtype.kind == "f" and a.size and 0 < (least := float(np.abs(a).min())) <= 1 / _LARGE
    }
    return next((f"{name} is as small as {least:.3g}" for name, least in small.items()), ""), False


def _began_to_grow(node: Node) -> source.Site | None:
    """The operation before a node whose result is larger than its inputs by the greatest factor."""
    nodes = [n for n in walk([node]) if isinstance(n, Node)]
    size: dict[int, float] = {}
    for n in nodes:
        for (kind, i), value in zip(n.plan.entries, n.saved or (), strict=False):
            if kind == "out" and type(value) is np.ndarray:
                size[id(n)] = largest_of(value)
            elif kind == "in" and type(value) is np.ndarray and i < len(n.inputs):
                edge = n.inputs[i]
                maker = node_of(edge)
                if maker is not None:
                    size[id(maker)] = largest_of(value)
    found, most = None, 1.0
    for n in nodes:
        before = [size.get(id(node_of(e)), 0.0) for e in n.inputs]
        grown = size.get(id(n), 0.0) / max(1.0, *before, 1.0)
        if n is not node and grown > most:
            found, most = n.source, grown
    return found


def module_of(node: Node) -> str | None:
    """The module in whose forward a node was recorded, when that was watched."""
    return (node.ext or {}).get("module")


def _values(x: Any) -> Any:
    return x._array if isinstance(x, Tensor) else x


def largest_of(x: Any) -> float:
    """The largest magnitude in an array or tensor; NaN when it holds one."""
    a = _values(x)
    if x is None or not hasattr(a, "tobytes") or not np.size(a):
        return 0.0
    with np.errstate(all="ignore"):
        return float(
            np.max(
                np.abs(np.asarray(a, None if np.asarray(a).dtype.kind in "fciub" else np.float32))
            )
        )


def _elements(place: Any) -> int:
    shape = place.shape
    return (
        max((int(np.prod(s)) for s in shape), default=0)
        if isinstance(shape, list)
        else int(np.prod(shape))
    )


def _bad_index(x: Any) -> tuple[Any, ...] | None:
    a = _values(x)
    if type(a) is not np.ndarray or a.dtype.kind not in "fc":
        return None
    bad = np.argwhere(~np.isfinite(a))
    return tuple(bad[0]) if len(bad) else None


def _bad_constant(node: Node) -> str | None:
    """The argument of a node that came in from outside and holds NaN or Inf."""
    for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False):
        if kind == "in" and node.inputs[i] is None and _bad_index(value) is not None:
            return node.op.args[i] if i < len(node.op.args) else f"argument {i}"
    return None


def _saved(node: Node) -> list[tuple[str, np.ndarray]]:
    """What a node kept: arguments and results as arrays, by name."""
    found = []
    for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False):
        if type(value) is np.ndarray and kind in ("in", "out"):
            found.append(
                (node.op.args[i] if kind == "in" and i < len(node.op.args) else "its result", value)
            )
    return found


def _is_relu(node: Any) -> bool:
    if not isinstance(node, Node):
        return False
    name, params = node.op.name, node.params
    return name in ("relu", "rnn_relu_layer") or (
        name.startswith("clamp") and params.get("min") == 0 and params.get("max") is None
    )


def _silent_relu(edge: Any) -> Node | None:
    """The ReLU whose zeros arrive over an edge, behind operations that only move or sum up values."""
    for _ in range(20):
        node = node_of(edge)
        if not isinstance(node, Node):
            return None
        if _is_relu(node):
            return node
        if "passes" not in node.op.traits:
            return None
        edge = next((e for e in node.inputs if e is not None), None)
    return None


def zero_cause(
    node: Node, k: int, g: Any, gi: Any, masks: Collection[int] = (), exact: bool = True
) -> tuple[str | None, str]:
    """Why the gradient of argument `k` is zero although one reached the node: the slug and what was
    seen; "unknown" if it is not clear.

    With `exact` False the gradient is not zero but no more than rounding; the slug is None when
    nothing explains that.
    """
    name = node.op.name
    if "recentres" in node.op.traits and not exact:
        return (
            "cancels",
            f"{name} does not change when the same amount is added to all elements, and they all get the same gradient",
        )
    if not exact:
        if np.size(_values(gi)) < np.size(_values(g) if not isinstance(g, (tuple, list)) else 0):
            return "cancels", "its gradients sum to zero: what follows ignores a constant shift"
        return None, ""
    if _is_relu(node):
        return "dead-relu", f"every input that a gradient reached is where {name} is flat"
    if "steps" in node.op.traits:
        return (
            "through-integer",
            "a drawn sample has no derivative"
            if name == "sample"
            else f"{name} is a step function: flat everywhere",
        )
    if "masks" in node.op.traits:
        return "masked", f"{name} passes none of these elements"
    target, ignored = node.params.get("target"), node.params.get("ignore_index")
    if name == "cross_entropy" and type(target) is np.ndarray and bool(np.all(target == ignored)):
        return "masked", f"all labels are {ignored}, which the loss ignores"
    if "saturates" in node.op.traits:
        return "saturation", f"{name} is flat at these inputs" + _range(node)
    if name in ("squared_difference", "abs"):
        return (
            "at-minimum",
            f"{name} is at its minimum: its operands agree exactly, or its input is zero",
        )
    if "chooses" in node.op.traits:
        return "masked", f"{name} takes the other operand everywhere"
    others = [
        (i, value)
        for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False)
        if kind == "in" and i != k
    ]
    for i, value in others:
        a = np.asarray(value)
        if a.dtype.kind not in "biufc" or not a.size:
            continue
        argument = node.op.args[i] if i < len(node.op.args) else f"argument {i}"
        maker = node.inputs[i]
        if not a.any():
            relu = _silent_relu(maker)
            if relu is not None:
                return (
                    "dead-relu",
                    f"{argument} is zero: it comes from {relu.op.name}, which is inactive for all inputs ({relu.line})",
                )
            if a.dtype.kind == "b" or id(value) in masks:
                return "masked", f"{argument} is a mask of False only"
            if maker is None and _speaks_of(node, *(("mask", "drop") if a.size > 1 else ("drop",))):
                return "masked", f"{argument} is zero everywhere"
            return "times-zero", f"{argument} is zero"
        if maker is None and bool(np.isin(a, (0, 1)).all()) and a.size > 1:
            return "masked", f"{argument} is a mask, zero wherever a gradient arrived"
        if (
            not isinstance(g, (tuple, list))
            and np.shape(_values(g)) == a.shape
            and not (a * np.asarray(_values(g))).any()
        ):
            return "times-zero", f"{argument} is zero wherever a gradient arrived"
    contracted = _contracted(node, k, g)
    if contracted is not None:
        return contracted
    if name in ("pow", "square") and not any(
        v.any() for n, v in _saved(node) if n == node.op.args[0]
    ):
        return "times-zero", f"the derivative of {name} is zero where its input is zero"
    return "unknown", f"its derivative with respect to argument {k} is zero"


def _begun_so(node: Node, cause: str, k: int) -> Tensor | None:
    """The parameter to which a zero gradient is owed: a factor that is zero, or the bias that keeps
    a ReLU below zero.
    """
    if cause == "times-zero":
        made = [_moved(e) for i, e in enumerate(node.inputs) if i != k]
        return next(
            (t for t in made if t is not None and t._array.size and not t._array.any()), None
        )
    relu: Any = node if _is_relu(node) else None
    for e in node.inputs if cause == "dead-relu" and relu is None else ():
        relu = relu or _silent_relu(e)
    before: Any = relu.inputs[0] if relu is not None else None
    for _ in range(3):  # a norm may stand between
        before = node_of(before)
        if not isinstance(before, Node):
            return None
        leaves = [e for e in before.inputs if isinstance(e, Tensor) and e._rg]
        bias = [t for t in leaves if t._array.ndim == 1 and t._array.size and t._array.max() < _LOW]
        if bias:
            return bias[-1]
        low = [t for t in leaves if t._array.ndim > 1 and t._array.size and t._array.max() <= 0]
        if low:
            return low[-1]
        before = next((e for e in before.inputs if e is not None), None)
    return None


def _moved(edge: Any) -> Tensor | None:
    """The parameter at the end of an edge, behind operations that only move its values."""
    for _ in range(8):
        if isinstance(edge, Tensor):
            return edge if edge._rg else None
        if not isinstance(edge, Node) or "passes" not in edge.op.traits and not edge.op.view:
            return None
        edge = next((e for e in edge.inputs if e is not None), None)
    return None


_LOW = -0.5  # no layer begins with a bias this far below zero by itself


def _speaks_of(node: Node, *words: str) -> bool:
    """Does the source line, or the module's name, have one of the words? A constant of zeros is a
    mask in a line that says so.
    """
    line = node.line
    text = f"{line.text if line else ''} {module_of(node) or ''}".lower()
    return any(word in text for word in words)


def _contracted(node: Node, k: int, g: Any) -> tuple[str, str] | None:
    """A product of matrices: which units got a gradient, and are the other operand's entries for
    just those zero?
    """
    if node.op.name not in ("linear", "matmul", "conv") or isinstance(g, (tuple, list)):
        return None
    for (kind, i), value in zip(node.plan.entries, node.saved or (), strict=False):
        if kind != "in" or i == k or type(value) is not np.ndarray or value.ndim < 2:
            continue
        relu = _silent_relu(node.inputs[i])
        argument = node.op.args[i]
        if relu is not None:
            return (
                "dead-relu",
                f"{argument} comes from {relu.op.name}, which is inactive wherever a gradient arrived ({relu.line})",
            )
        return (
            "times-zero",
            f"the entries of {argument} that it is multiplied by are zero wherever a gradient arrived",
        )
    return None


def _range(node: Node) -> str:
    for name, a in _saved(node):
        if a.size and a.dtype.kind == "f":
            return f" ({name} lies between {float(a.min()):.4g} and {float(a.max()):.4g})"
    return ""


def function_of(node: Node) -> CodeType | None:
    """The `backward` of a custom function of the program that a node was made by."""
    code = getattr(getattr(node.op, "vjp", None), "__code__", None)
    return None if code is None or source.is_library(code.co_filename) else code


def _returned(node: Node, returns: Mapping[CodeType, source.Site]) -> Any:
    """Where the `backward` of a custom function returned, as noted, else its end; of another
    operation where that was called.
    """
    code = function_of(node)
    if code is None:
        return node.source
    return returns.get(code) or (code, len(code.co_code) - 2)
