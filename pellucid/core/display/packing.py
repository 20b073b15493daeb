"""Pass a node's saved values to the user's saved-tensor hooks: the tensors that PyTorch's node
would save, in its order.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import prod
from typing import Any

import numpy as np
from numpy import ndarray

from ..callers import wrap
from ..interpret import thread
from ..modes import local, state
from ..primitive import TENSORS, Primitive, parameters
from ..tape import Node, Packed, value_at
from ..tensor import Tensor
from .words import words_of


def pack(
    node: Any,
    save: Callable[[Any], Any],
    tensors: Sequence[Any] = (),
    made: Sequence[Any] = (),
    aux: Any = None,
) -> None:
    """Replace each saved array of a node, or each that PyTorch's node would save, by the result of
    `save`. `tensors`, `made` and `aux` are the operation's inputs, results and aux value.
    """
    operands = {
        id(t._array): extra["operand"]
        for t in tensors
        if "operand" in (extra := getattr(t, "_x", None) or {})
    }
    if operands:
        save = functools.partial(_before_promotion, save, operands)
    if "overwritten" in beside.values:
        save = functools.partial(_before_write, save, beside.values["overwritten"])
    for one in (node,) if node.op.nodes is None else node.op.nodes(node):
        if one.op.packs:
            found = functools.partial(_value, one, tensors, made, aux)
            words = isinstance(one.op.packs, str)
            (_packed_by_words if words else _packed_by_rules)(one, save, found)
            continue
        saved = list(one.saved or ())
        for n in _in_order(one):
            saved[n] = _through(save, saved[n], one.plan.entries[n][0])
        _kept(one, saved)


def only_saves() -> bool:
    """Whether saved-tensor hooks are the only reason to be off the fast path. One operation may
    then stand for several steps.

    A function that runs again in order to save the same values must get the same answers as in its
    first run, so the answers can be recorded and replayed (`noting`, `repeating`).
    """
    stack = thread.stack
    alone = bool(stack.save) and len(stack.all) == len(stack.save) == state.slow
    for answer in beside.answers:
        alone = answer(alone)
    return alone


@contextmanager
def _answering(answer: Callable[[bool], bool]) -> Iterator[None]:
    before = beside.answers
    beside.answers = (*before, answer)
    try:
        yield
    finally:
        beside.answers = before


def noting(answers: list[bool]) -> AbstractContextManager[None]:
    """Record the answers of `only_saves` inside the block in a list."""

    def note(alone: bool) -> bool:
        answers.append(alone)
        return alone

    return _answering(note)


def repeating(answers: Sequence[bool]) -> AbstractContextManager[None]:
    """Let `only_saves` return recorded answers inside the block."""
    left = iter(answers)
    return _answering(lambda alone: next(left, alone))


def hooked() -> bool:
    """Whether saved-tensor hooks will see what the next operation saves."""
    return bool(state.slow and local.grad and thread.stack.save)


class _Beside(threading.local):
    """Additional values that a record's rules may name besides arguments, results and parameters:
    the arguments of the public function. Also the overrides of `only_saves`, innermost last.
    """

    values: dict[str, Any] = {}
    answers: tuple[Callable[[bool], bool], ...] = ()


beside = _Beside()


def given(**tensors: Any) -> AbstractContextManager[None]:
    """Make these tensors available by name to `pack` inside the block."""
    return _at_hand(tensors) if state.slow and thread.stack.save else _NOTHING


_NOTHING = nullcontext()


def before_write(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function whose result will be written into its first argument. Hooks then receive
    copies of saved arrays that share memory with that argument.
    """

    def call(t: Any, *args: Any, **kwargs: Any) -> Any:
        with given(overwritten=t):
            return function(t, *args, **kwargs)

    return call


def _before_write(save: Callable[[Any], Any], written: Any, value: Any) -> Any:
    known = isinstance(value, ndarray) and isinstance(written, ndarray)
    return save(value.copy() if known and np.may_share_memory(value, written) else value)


@contextmanager
def _at_hand(tensors: dict[str, Any]) -> Iterator[None]:
    before = beside.values
    beside.values = before | {k: getattr(t, "_array", t) for k, t in tensors.items()}
    try:
        yield
    finally:
        beside.values = before


def promoted(x: Tensor, dtype: Any) -> Tensor:
    """Cast an operand to the dtype that an operation computes in; the cast is recorded. PyTorch
    casts inside its operations, so this node is not shown, and hooks receive the operand before the
    cast.
    """
    made: Tensor = TENSORS.cast(x, dtype=dtype)
    if isinstance(made._node, Node) and made._node is not x._node:
        made._node.extra()["promotes"] = True
    return packed_as(made, x)


def packed_as(made: Tensor, x: Tensor) -> Tensor:
    """Let hooks receive `x` in place of `made`, which has the same values in another dtype or
    shape; returns `made`.
    """
    if state.slow and thread.stack.save and thread.stack.tracer is None and made is not x:
        made.extra()["operand"] = x
    return made


def _kept(node: Any, saved: list[Any]) -> None:
    node.saved, node.versions, node.total = tuple(saved), (), 0
    node.extra()["packed"] = True


def _through(save: Callable[[Any], Any], value: Any, kind: str) -> Any:
    """Pack the arrays of a saved value."""
    if kind in ("ins", "outs"):
        return type(value)([save(v) if isinstance(v, ndarray) else v for v in value])
    return save(value) if kind in ("in", "out") and isinstance(value, ndarray) else value


def _in_order(node: Any) -> list[int]:
    """The indices of the saved values in PyTorch's order: arguments sorted by name, then results."""
    places = {place: word for word, place in words_of(node).items() if isinstance(place, int)}

    def order(n: int) -> tuple[bool, str, int]:
        kind, k = node.plan.entries[n]
        out = kind.startswith("out")
        name = "self" if k == 0 else node.op.args[min(k, len(node.op.args) - 1)]
        return out, "" if out else places.get(k, name), k

    return sorted(range(len(node.plan.entries)), key=order)


def _value(node: Any, tensors: Sequence[Any], made: Sequence[Any], aux: Any, word: str) -> Any:
    """The value of a rule's parameter. Tensors are given as arrays."""
    op: Primitive = node.op
    word, _, user = word.partition("_for_")
    if user and not node.plan.needs[op.args.index(user)]:
        return None
    entry = op._entry(word)
    if entry is None or entry[0] == "out" and entry[1] >= len(made):
        return {"needs": node.plan.needs, **beside.values, **node.params}.get(word)
    kind, k = entry
    if kind == "aux":
        return aux
    source = made if kind.startswith("out") else tensors
    if kind in ("ins", "outs"):
        return [t._array for t in source[k:]]
    array = getattr(source[k], "_array", source[k]) if k < len(source) else None
    return array if kind in ("in", "out") else getattr(array, kind.removeprefix("out_"), None)


def _packed_by_words(node: Any, save: Callable[[Any], Any], found: Callable[[str], Any]) -> None:
    """Pack the values that the record's `packs` names. Values that no gradient rule uses are
    appended at the end.
    """
    entries, saved = list(node.plan.entries), list(node.saved)
    for word in node.op.packs.split():
        value = found(word)
        if isinstance(value, ndarray):
            entry = node.op._entry(word.partition("_for_")[0])
            packed = _in_shape(node, save, value, entry)
            if entry in entries:
                saved[entries.index(entry)] = packed
            else:
                saved.append(packed)
    _kept(node, saved)


def _in_shape(node: Any, save: Callable[[Any], Any], value: Any, entry: Any) -> Any:
    """Pack a value in the shape that it has in PyTorch's node, in case one operation is several
    nodes there.
    """
    kind, k = entry or ("in", 0)  # treat a parameter like the first argument
    edge = node.inputs[k] if kind == "in" and node.op.nodes is not None else None
    shape = value_at(edge)[0] if edge is not None else value.shape
    if kind in ("out", "aux") and node.op.outputs == 1:
        shape = node.shape
    if beside.values.get("unbatched"):
        shape = shape[1:]
    if shape == value.shape or prod(shape) != value.size:
        return save(value)
    packed = save(value.reshape(shape))
    packed.unpack_hook = functools.partial(_reshaped, packed.unpack_hook, value.shape)
    return packed


def _before_promotion(save: Callable[[Any], Any], operands: dict[int, Tensor], value: Any) -> Any:
    """Pack a value with the dtype and shape that it had before promotion."""
    operand = operands.get(id(value))
    if operand is None:
        return save(value)
    packed = save(operand._array)
    packed.unpack_hook = functools.partial(_as_used, packed.unpack_hook, value)
    return packed


def _as_used(unpack_hook: Callable[[Any], Any], like: Any, packed: Any) -> Any:
    made = unpack_hook(packed)
    if not isinstance(made, Tensor):
        return made
    array = made._array.astype(like.dtype)
    return wrap(array.reshape(like.shape) if array.size == like.size else array)


def _reshaped(unpack_hook: Callable[[Any], Any], shape: Any, packed: Any) -> Any:
    made = unpack_hook(packed)
    return wrap(made._array.reshape(shape)) if isinstance(made, Tensor) else made


def _packed_by_rules(node: Any, save: Callable[[Any], Any], found: Callable[[str], Any]) -> None:
    """Pack the values that the first rule of `packs` computes. The second rule restores the saved
    values from them.
    """
    keeps, again = node.op.packs
    values = keeps(*map(found, parameters(keeps)))
    kept = [save(np.asarray(v)) if isinstance(v, (ndarray, np.generic)) else v for v in values]
    given = [found(word) for word in parameters(again)[1:]]
    words = [_word(node.op, *entry) for entry in node.plan.entries]
    group = _Group(kept, lambda values: again(values, *given), [w for w in words if w])
    if thread.stack.tracer is not None:  # a tracer identifies `aux` by identity
        group.tracer = weakref.ref(thread.stack.tracer)
        group.traced = dict(zip(words, node.saved, strict=True)).get("aux")
    _kept(
        node,
        [Made(group, group.taker(w)) if w else v for w, v in zip(words, node.saved, strict=True)],
    )


def _word(op: Primitive, kind: str, k: int) -> str:
    """The name by which a gradient rule reads a saved value; empty for shapes and dtypes."""
    words = {"in": op.args[k : k + 1], "out": [f"out{k}" if op.outputs != 1 else "out"]}
    return {"outs": "out", "aux": "aux"}.get(kind) or "".join(words.get(kind, ()))


class _Group:
    """Packed values, and the function that restores from them what a node's gradient rules read."""

    def __init__(
        self, kept: list[Any], again: Callable[[list[Any]], dict[str, Any]], words: list[str]
    ) -> None:
        self.kept, self.again, self.words = kept, again, words
        self.made: dict[str, Any] = {}
        self.traced: Any = None
        self.tracer: Callable[[], Any] = lambda: None

    def taker(self, word: str) -> Callable[[Any], Any]:
        return lambda group: group.take(word)

    def take(self, word: str) -> Any:
        """One of the restored values. Backward asks for all of them in order, so all are restored
        at the first request and dropped one by one.
        """
        if word == self.words[0]:
            made = self.again([v.array() if isinstance(v, Packed) else v for v in self.kept])
            self.made = {w: made[w] for w in self.words}
            tracer = thread.stack.tracer
            if tracer is not None and tracer.recording and tracer is self.tracer():
                self.made["aux"] = self.traced
        elif word not in self.made:
            self.take(self.words[0])
            value, self.made = self.made[word], {}
            return value
        return self.made.pop(word)


class Made(Packed):
    """A saved value that is restored from other values, which went through hooks."""

    __slots__ = ()

    def array(self) -> Any:
        return self.unpack()
