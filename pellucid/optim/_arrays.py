"""Optimizers that update arrays in place: all changes of a step are made together, or none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import numpy as np

from .. import dtypes
from ..arrays.meta import MetaArray
from ..arrays.sparse.array import SparseArray, refusal
from ..arrays.sparse.products import add_rows
from ..core import source, tracing
from ..core.inplace import check_mode
from ..core.modes import enable_grad, local, no_grad
from ..core.tensor import (
    Tensor,
    VersionCounter,
    count_write,
    hand_out_copies,
    make_tensor,
    version_of,
)
from ..errors import OperationError, UnsupportedError
from ..ops.pointwise.complex import view_as_complex, view_as_real
from .optimizer import Optimizer, to_number


def step_counter() -> Tensor:
    """The count of steps that each parameter's state holds: a 0-d tensor of the default type
    (float32, or float64).
    """
    kind = np.float64 if dtypes.get_default_dtype() is dtypes.float64 else np.float32
    return make_tensor(np.zeros((), kind))


def counted(p: Tensor) -> VersionCounter:
    """A parameter's count of writes, one higher for the write that comes; whoever borrows its memory
    takes a copy before.
    """
    version = version_of(p)
    if version.borrowers is not None:
        hand_out_copies(version)
    count_write(version)
    return version


_WORKS = (np.dtype(np.float32), np.dtype(np.float64))


class Changes:
    """What an update stores, as iterators of calls of C code, which are made at once: no line of
    Python runs in between, so no handler of a signal does.
    """

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.held = 0  # bytes that wait to be stored
        self.done: list[list[Any]] = []  # the arrays of parameters that are updated

    def add(self, params: list[Any], calls: list[Any], held: int = 0) -> None:
        """Add the calls that update these parameters; `held` is the size of the arrays that they
        store.
        """
        self.calls += calls
        self.calls.append(map(self.done.append, (params,)))
        self.held += held
        if self.held > _HELD:
            self.make()

    def make(self) -> None:
        """Make the calls."""
        calls, self.calls, self.held = self.calls, [], 0
        deque(chain.from_iterable(calls), maxlen=0)


_HELD = 256 << 10  # bytes: what is stored soon is still near the processor


class ArrayOptimizer(Optimizer):
    """An optimizer that updates NumPy arrays in place, one parameter after the other.

    A subclass says which arrays its state has (`_init_state`) and how one parameter is updated
    (`_update`); `_fused` may update all parameters of a group in one call first.

    A parameter that is not an array itself (a distributed tensor) has
    `__update_part__(optimizer, grad, state)`. It returns what is updated in its place: `param`,
    `grad`, `state`, and `done()`, which is called when the step is made.
    """

    by_elements = False  # whether the update of an element depends on that element alone
    _in_inference = False  # whether it has made state in inference mode

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if defaults.get("fused") and defaults.get("differentiable"):
            raise OperationError("`fused` does not support `differentiable`")
        if defaults.get("fused") and defaults.get("foreach"):
            raise OperationError("`fused` and `foreach` cannot be `True` together.")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss, and its value is returned."""
        loss = self._loss(closure)
        if self.defaults.get("differentiable"):
            self._recorded_step()
            return loss
        site = source.capture(2)
        name = f"{type(self).__name__}.step"
        states, work, parts = self.state, [], []
        for group in self.param_groups:
            arrays, grads, own, begun = [], [], [], []
            keeps = self._keeps_state(group)
            for p in group["params"]:
                grad = p._grad
                if grad is None:
                    if tracing.tracer():
                        tracing.tracer().grad_missing(p)
                    continue
                if type(p._array) is MetaArray:
                    with no_grad():
                        self._recorded_update(group, p, grad)
                    continue
                state = states[p] if keeps else {}
                if hasattr(type(p), "__update_part__"):
                    part = p.__update_part__(self, grad, state)
                    parts.append(part)
                    p, grad, state = part.param, part.grad, part.state
                if not state:
                    made: dict[str, Any] = {}
                    self._init_state(group, p, made)
                    state.update(made)  # all of it or nothing, where an exception comes in between
                    begun.append(state)
                    if local.inference:
                        self._in_inference = True
                elif self._in_inference:
                    for held in state.values():
                        if isinstance(held, Tensor):
                            check_mode(held, name)
                version = counted(p)
                version.writer = (name, site)
                arrays.append(p._array)
                grads.append(grad._array)
                own.append(state)
            if SparseArray in map(type, grads):
                arrays, grads, own = self._sparse_group(group, arrays, grads, own)
            if not arrays:
                continue
            if tracing.tracer():
                tracing.effect(self._update_group, group, arrays, grads, own, writes=(1, 3))
                if keeps and begun:
                    tracing.tracer().state_begun(self, begun)
            else:
                work.append((group, arrays, grads, own))
        if work:
            self._update_all(work)
        for part in parts:
            part.done()
        return loss

    def _sparse_group(
        self, group: dict[str, Any], params: list[Any], grads: list[Any], states: list[Any]
    ) -> Any:
        """Update the parameters with sparse gradients; returns the lists of the others."""
        rest: tuple[list[Any], ...] = ([], [], [])
        for p, g, state in zip(params, grads, states, strict=True):
            if type(g) is SparseArray:
                if g.layout != "coo":
                    raise refusal("add_", g.layout)
                self._sparse_update(group, p, -1 * g if group.get("maximize", False) else g, state)
            else:
                for parts, value in zip(rest, (p, g, state), strict=True):
                    parts.append(value)
        return rest

    @staticmethod
    def _add_sparse(p: Any, g: SparseArray, factor: float) -> None:
        """Add a gradient in coordinates times a number to an array."""
        index = g.index()
        if len(index) == 1:
            add_rows(p, index[0], g.values, factor)
        else:
            np.add.at(p, index, (g.values * p.dtype.type(factor)).astype(p.dtype, copy=False))

    def _sparse_update(
        self, group: dict[str, Any], p: Any, g: SparseArray, state: dict[str, Any]
    ) -> None:
        """Update one array in place with a gradient in coordinates; `state` holds tensors."""
        raise OperationError(f"{type(self).__name__} does not support sparse gradients")

    def _update_all(
        self, work: list[tuple[dict[str, Any], list[Any], list[Any], list[dict[str, Any]]]]
    ) -> None:
        """Update all groups or none, also where an exception comes from outside (Ctrl-C, a signal's
        handler).

        Where the changes are too large to be held until all are known, an exception waits until the
        rest is made. One that is raised again at the same place is an error of the update itself.
        """
        changes = Changes()
        waiting: BaseException | None = None
        while True:
            before = len(changes.done)
            try:
                changes.calls = []
                for group, params, grads, states in work:
                    if waiting is not None:
                        params, grads, states = _without(changes.done, params, grads, states)
                    if params:
                        self._changes(group, params, grads, states, changes)
                changes.make()
                break
            except BaseException as error:
                if not changes.done or (waiting is not None and len(changes.done) == before):
                    raise
                waiting = error
        if waiting is not None:
            raise waiting

    def _recorded_step(self) -> None:
        """A step made of recorded operations: what the parameters and the state become has a
        gradient.
        """
        with enable_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is not None:
                        self._recorded_update(group, p, p._grad)

    def _recorded_update(self, group: dict[str, Any], p: Tensor, g: Tensor) -> None:
        """The step of one parameter, in operations."""
        state = self.state[p] if self._keeps_state(group) else {}
        if not state:
            self._init_state(group, p, state)
        g = -g if group.get("maximize", False) else g
        old = p.clone()  # what the gradient rules save must outlive the write to p
        if p.is_complex():
            parts = {
                k: view_as_real(v) if isinstance(v, Tensor) and v.is_complex() else v
                for k, v in state.items()
            }
            new = view_as_complex(self._recorded(group, view_as_real(old), view_as_real(g), parts))
            pair = (*p.shape, 2)
            state.update(
                {k: view_as_complex(v) if tuple(v.shape) == pair else v for k, v in parts.items()}
            )
        else:
            new = self._recorded(group, old, g, state)
        p.copy_(new)

    def _update_group(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
    ) -> None:
        """Update the parameters of one group, given as arrays."""
        changes = Changes()
        self._changes(group, params, grads, states, changes)
        changes.make()

    def _changes(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
        changes: Changes,
    ) -> None:
        """Add what the update of a group stores to `changes`."""
        if not self._fused(group, params, grads, states, changes):
            self._one_by_one(group, params, grads, states, changes)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        """Whether parameters of this group have any state."""
        return True

    def _init_state(self, group: dict[str, Any], p: Tensor, state: dict[str, Any]) -> None:
        """Fill the state of a parameter that is updated for the first time."""

    def _fused(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
        changes: Changes,
    ) -> bool:
        """Update all parameters by one kernel where that is possible; False: nothing is added to
        the changes.
        """
        return False

    def _update(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> None:
        """Update one array `p` in place with gradient `g`; `state` holds arrays and may get new
        ones.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define _update")

    def _recorded(self, group: dict[str, Any], p: Any, g: Any, state: dict[str, Any]) -> Any:
        """The new value of parameter `p` as tensor operations of it, of `g` and of `state`, which
        gets new tensors.
        """
        raise UnsupportedError(f"{type(self).__name__} does not support differentiable=True")

    def _one_by_one(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        states: list[dict[str, Any]],
        changes: Changes,
    ) -> None:
        negate = group.get("maximize", False)
        for p, g, state in zip(params, grads, states):
            if negate:
                g = -g
            # Computed on copies, and stored at once.
            arrays = {k: v._array if isinstance(v, Tensor) else v for k, v in state.items()}
            new = {k: a.copy() if isinstance(a, np.ndarray) else a for k, a in arrays.items()}
            if p.dtype in _WORKS:
                work = p.copy()
                self._update(group, work, g, new)
            elif p.dtype.kind == "c":
                work = p.copy()
                new = {k: as_real(a) if _is_complex(a) else a for k, a in new.items()}
                self._update(group, as_real(work), as_real(g), new)
                pair = (*p.shape, 2)
                new = {
                    k: a.view(p.dtype).reshape(p.shape)
                    if isinstance(a, np.ndarray) and a.shape == pair
                    else a
                    for k, a in new.items()
                }
            else:  # 16 bits: computed in float32 and rounded once
                new = {
                    k: a.astype(np.float32) if isinstance(a, np.ndarray) and k != "step" else a
                    for k, a in new.items()
                }
                work = p.astype(np.float32)
                self._update(group, work, g.astype(np.float32), new)
                new = {
                    k: a.astype(p.dtype) if isinstance(a, np.ndarray) and k not in arrays else a
                    for k, a in new.items()
                }
            old = [
                k
                for k, a in new.items()
                if isinstance(a, np.ndarray) and isinstance(arrays.get(k), np.ndarray)
            ]
            others = {
                k: make_tensor(a) if isinstance(a, np.ndarray) else a
                for k, a in new.items()
                if k not in old
            }
            changes.add(
                [p],
                [
                    map(
                        _set,
                        [p, *[arrays[k] for k in old]],
                        repeat(...),
                        [work, *[new[k] for k in old]],
                    ),
                    map(state.update, (others,)),
                ],
                held=work.nbytes * (1 + len(old)),
            )


_set = np.ndarray.__setitem__


def _without(done: list[list[Any]], params: list[Any], *lists: list[Any]) -> tuple[list[Any], ...]:
    """The lists without the entries of parameters that are updated."""
    updated = {id(p) for these in done for p in these}
    left = [k for k, p in enumerate(params) if id(p) not in updated]
    return tuple([these[k] for k in left] for these in (params, *lists))


def _is_complex(a: Any) -> bool:
    return isinstance(a, np.ndarray) and a.dtype.kind == "c"


def as_real(a: Any) -> Any:
    """A complex array as real numbers, sharing memory: (..., 2)."""
    return a.reshape(*a.shape, 1).view(a.real.dtype)


def add_decay(g: Any, p: Any, weight_decay: Any) -> Any:
    """g + weight_decay * p, as a new array when there is decay."""
    decay = to_number(weight_decay)
    return g + p * decay if decay != 0 else g


def decayed(g: Any, p: Any, weight_decay: Any) -> Any:
    """`add_decay` of tensors, where the decay may be a tensor with a gradient of its own."""
    return g + p * weight_decay if isinstance(weight_decay, Tensor) or weight_decay != 0 else g


def mixed(a: Any, b: Any, weight: Any) -> Any:
    """The way from tensor `a` to `b`: 0 is a, 1 is b."""
    return a + (b - a) * weight


def zeros(p: Tensor) -> Tensor:
    """Zeros of the shape and type of a parameter."""
    return make_tensor(np.zeros_like(p._array))


def full(p: Tensor, value: Any) -> Tensor:
    """One value in the shape and type of a parameter."""
    return make_tensor(np.full_like(p._array, value))
