"""Report calls and writes that a function mode cannot see as events; `instrument` inserts the calls
to this module.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np

from ..events import Called, Computed, Converted, Failure, Op, Value, Written
from .instrument import (
    CLIPS,
    COMPOSITES,
    DISTRIBUTIONS,
    JOINED,
    LEGACY,
    LISTED,
    MAKERS,
    OVERWRITE,
    TOLD,
    WATCHED,
)
from .recorder import Recorder


class Calls:
    """Listens for one run."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def converted(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that `instrument` makes through us: one of PyTorch's old types, or a conversion of
        NumPy's.
        """
        name = getattr(function, "__name__", "").rpartition(".")[2]
        if self.recorder.idle:
            return function(*args, **kwargs)
        if name in COMPOSITES:
            return self.recorder.composite(name, function, args, kwargs)
        if name == LISTED:
            kind, parts = self.recorder.engine.Tensor, args[0] if args else None
            several = isinstance(parts, (list, tuple)) and any(isinstance(p, kind) for p in parts)
            if function is not kind or not several:
                return function(*args, **kwargs)
        if name in LEGACY or name == LISTED:
            return self.recorder.composite("tensor", function, args, kwargs)
        if name in WATCHED:
            if self.recorder.wants("on_call"):
                event = Called(name, args, kwargs, self.recorder.site(2), self.recorder.step)
                event.owner = getattr(function, "__self__", None)
                self.recorder.tell("on_call", event)
            return function(*args, **kwargs)
        if name in DISTRIBUTIONS and isinstance(function, type):
            return self._distribution(name, function, args, kwargs)
        if name in MAKERS:
            return self._leaf_made(name, function, args, kwargs)
        if name in TOLD:
            return self._of_distribution(name, function, args, kwargs)
        out = kwargs.get("out")
        if name in OVERWRITE or type(out) is np.ndarray:
            owner = getattr(function, "__self__", None)
            target = (
                out
                if out is not None
                else owner
                if type(owner) is np.ndarray
                else args[0]
                if args
                else None
            )
            if type(target) is np.ndarray:
                self.array_written(target, None, True)
            if name == "shuffle" and self.recorder.wants("on_call"):
                event = Called(name, args, kwargs, self.recorder.site(2), self.recorder.step)
                event.owner = getattr(function, "__self__", None)
                self.recorder.tell("on_call", event)
            return function(*args, **kwargs)
        if name == "fromiter" and args and not isinstance(args[0], (list, tuple, np.ndarray)):
            count = args[2] if len(args) > 2 else kwargs.get("count", -1)
            args = (list(args[0] if count < 0 else itertools.islice(args[0], count)), *args[1:])
        result = function(*args, **kwargs)
        if name == "reshape":
            owner = getattr(function, "__self__", None)
            before = owner if type(owner) is np.ndarray else args[0] if args else None
            if (
                type(result) is np.ndarray
                and type(before) is np.ndarray
                and self.recorder.wants("on_arranged")
            ):
                self.recorder.tell(
                    "on_arranged",
                    Converted(before, result, self.recorder.site(2), self.recorder.step),
                )
            return result
        if name in CLIPS:
            owner = getattr(function, "__self__", None)
            before = owner if type(owner) is np.ndarray else args[0] if args else None
            if (
                type(result) is np.ndarray
                and type(before) is np.ndarray
                and self.recorder.wants("on_clipped")
            ):
                self.recorder.tell(
                    "on_clipped",
                    Converted(before, result, self.recorder.site(2), self.recorder.step),
                )
            return result
        if name in JOINED:
            if type(result) is np.ndarray and self.recorder.wants("on_joined"):
                self.recorder.tell(
                    "on_joined",
                    Converted(
                        args[0] if args else None, result, self.recorder.site(2), self.recorder.step
                    ),
                )
            return result
        if (
            type(result) is np.ndarray
            or isinstance(result, (int, np.generic))
            and _is_fraction(args)
        ) and self.recorder.wants("on_convert"):
            before = (
                getattr(function, "__self__", None)
                if name == "astype"
                else args[0]
                if args
                else None
            )
            if name in ("full", "full_like"):
                value = args[1] if len(args) > 1 else kwargs.get("fill_value")
                before = (
                    np.broadcast_to(value, result.shape)
                    if isinstance(value, (int, float))
                    else None
                )
            self.recorder.tell(
                "on_convert", Converted(before, result, self.recorder.site(2), self.recorder.step)
            )
        return result

    def array_written(self, target: Any, value: Any, inplace: bool) -> None:
        """The program is about to write into an array."""
        if not self.recorder.idle and self.recorder.wants("on_write"):
            self.recorder.tell(
                "on_write",
                Written(
                    target,
                    value,
                    inplace,
                    self.recorder.site(3),
                    self.recorder.step,
                    self.recorder.number(),
                ),
            )

    def array_computed(self, sign: str, left: Any, right: Any, result: Any) -> None:
        """The program has computed with short whole numbers of NumPy's."""
        if not self.recorder.idle and self.recorder.wants("on_computed"):
            self.recorder.tell(
                "on_computed",
                Computed(sign, left, right, result, self.recorder.site(3), self.recorder.step),
            )

    def _leaf_made(
        self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A sample of a distribution, or a parameter made of a computed value: told as an operation
        on what has a graph there.
        """
        owner = getattr(function, "__self__", None)
        result = function(*args, **kwargs)
        with self.recorder.reading():
            held = (
                _tensors(owner, self.recorder.engine.Tensor)
                if name == "sample"
                else [t for t in args[:1] if isinstance(t, self.recorder.engine.Tensor)]
            )
            inputs = [
                v
                for t in held
                if (v := self.recorder.value(t)).requires_grad
                and (name == "sample" or not v.is_leaf)
            ]
            if (
                not isinstance(result, self.recorder.engine.Tensor)
                or name == "sample"
                and ".distributions" not in type(owner).__module__
            ):
                return result
        if inputs or name == "sample":
            op = Op(name, self.recorder.site(3))
            op.step, op.number, op.grad_enabled = (
                self.recorder.step,
                self.recorder.number(),
                self.recorder.engine.grad_enabled(),
            )
            op.module = self.recorder.stack[-1] if self.recorder.stack else None
            op.args, op.inputs = {"input": inputs[0] if inputs else None}, tuple(inputs)
            op.outputs = (self.recorder._made(result, op, 0),)
            self.recorder.keep(op)
        return result

    def _of_distribution(
        self, name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """`log_prob`, `entropy` or `kl_divergence`: told as an operation that gives nothing, with
        `kind`, `value` and `result`.
        """
        result = function(*args, **kwargs)
        recorder = self.recorder
        owner = args[0] if name == "kl_divergence" and args else getattr(function, "__self__", None)
        if ".distributions" not in type(owner).__module__ or not isinstance(
            result, recorder.engine.Tensor
        ):
            return result
        op, inputs = Op(name, recorder.site(3)), list[Value]()
        with recorder.reading():
            op.step, op.number, op.grad_enabled = (
                recorder.step,
                recorder.number(),
                recorder.engine.grad_enabled(),
            )
            op.module = recorder.stack[-1] if recorder.stack else None
            given = args[0] if name == "log_prob" and args else kwargs.get("value")
            op.args = {
                "kind": type(owner).__name__,
                "value": recorder._argument(given, inputs) if name == "log_prob" else None,
                "result": recorder.value(result),
            }
            op.inputs = tuple(inputs)
        recorder.keep(op)
        return result

    def _distribution(
        self, name: str, kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A distribution is made: told as an operation "distribution" that gives nothing, with
        `kind`, `probs` and `logits`.
        """
        op, inputs = Op("distribution", self.recorder.site(3)), list[Value]()
        with self.recorder.reading():
            op.step, op.number, op.grad_enabled = (
                self.recorder.step,
                self.recorder.number(),
                self.recorder.engine.grad_enabled(),
            )
            op.module = self.recorder.stack[-1] if self.recorder.stack else None
            given = dict(zip(_parameters_of(kind), args, strict=False)) | kwargs
            op.args = {
                "kind": name,
                **{
                    k: self.recorder._argument(given[k], inputs)
                    for k in ("probs", "logits")
                    if given.get(k) is not None
                },
            }
            op.inputs = tuple(inputs)
        try:
            made = kind(*args, **kwargs)
        except Exception as error:
            self.recorder.tell("on_error", Failure(error, op, op.site, self.recorder.step))
            raise
        self.recorder.keep(op)
        return made


def _is_fraction(args: tuple[Any, ...]) -> bool:
    """Whether a number was given that a whole number cannot hold."""
    return (
        len(args) == 1
        and isinstance(args[0], (float, np.floating))
        and bool(np.isfinite(args[0]))
        and args[0] != int(args[0])
    )


def _tensors(thing: Any, Tensor: Any, depth: int = 2) -> list[Any]:
    """The tensors that a distribution holds, and those of the distributions that it is made of."""
    found = []
    for value in vars(thing).values() if hasattr(thing, "__dict__") else ():
        if isinstance(value, Tensor):
            found.append(value)
        elif depth and ".distributions" in type(value).__module__:
            found += _tensors(value, Tensor, depth - 1)
    return found


def _parameters_of(kind: type) -> list[str]:
    return [p for p in inspect.signature(kind).parameters if p != "self"]
