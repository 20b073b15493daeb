"""The saved values that nodes show as `_saved_<word>`: PyTorch's words for each kind of node, and
the matching entries of the record.

PyTorch's words are facts about its nodes (`LENT.kept`). A word for a tensor names an argument, a
result, or something that the record's `packs` computes. A word for a number or sizes names a
parameter, or follows from the shapes. The record's field `shows` covers the exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..bind import wrap
from ..primitive import PRIMITIVES, Primitive, parameters
from ..tape import Node, check_saved, opened, saved_tensors, value_at
from ..tensor import Tensor, node_of
from .words import LENT, words_of

_SIZES = re.compile(r"(.+?)(?:_sym)?_(sizes|strides|numel|argsize|size)(_opt|_minus_\d|_\d)?$")
_UNSET: dict[str, Any] = {"i": 0, "v": (), "a": None, "o": None, "T": None, "L": None}


class Kept:
    """One `_saved_<word>` of a node: its index among the saved values, or -1 and a function that
    makes the value.
    """

    __slots__ = ("make", "node", "position", "tensor", "word")

    def __init__(
        self, node: Node, word: str, tensor: bool, position: int, make: Callable[[], Any]
    ) -> None:
        self.node, self.word, self.tensor = node, word, tensor
        self.position, self.make = position, make

    def value(self) -> Any:
        """The value as PyTorch shows it."""
        if self.tensor:
            check_saved(self.node)
        if self.position < 0:
            return self.make()
        value = saved_tensors(self.node)[self.position]
        number = isinstance(value, (bool, int, float, complex))
        if isinstance(value, list):
            return tuple(value)
        # PyTorch's binary operators save a number as a tensor
        return wrap(np.asarray(value)) if number and self.tensor else value


def words(node: Node) -> dict[str, Kept]:
    """The node's words, in PyTorch's order if PyTorch has such a node."""
    known = LENT[0]().kept(type(node).__name__) if LENT else None
    found = {}
    for word, kind in (_own_words(node) if known is None else known).items():
        how = _found(node, word, kind, known or {})
        if how is not None:
            found[word] = how
    return found


def _own_words(node: Node) -> dict[str, str]:
    """The words of a node that PyTorch does not have: the record's own names."""
    tensors = [_own_word(node, *entry) for entry in getattr(node.plan, "entries", ())]
    return {w: "T" for w in tensors if w} | dict.fromkeys(node.params, "s")


def _own_word(node: Node, kind: str, k: int) -> str:
    if kind == "in":
        return "self" if k == 0 else node.op.args[k]
    return "result" if kind == "out" and node.op.outputs == 1 else ""


def _found(node: Node, word: str, kind: str, known: dict[str, str]) -> Kept | None:
    op = node.op
    tensor = kind in "TL"
    rule = op.shows.get(word)
    if callable(rule):
        return Kept(node, word, tensor, -1, lambda: _shown(kind, _ruled(node, rule)))
    if tensor:
        return _of_tensor(node, word, known)
    sizes = _SIZES.match(word)
    if sizes is not None and word not in node.params:
        k = _argument(node, sizes[1])
        if k is not None:
            return Kept(node, word, False, -1, lambda: _sizes(node, k, kind, *sizes.groups()[1:]))
    name = rule or words_of(node).get(word, word)
    if isinstance(name, int):
        name = op.args[name]
    if name in node.params:
        value = node.params[name]
        return Kept(node, word, False, -1, lambda: _shown(kind, value))
    if name in op.args:  # a number was passed in place of a tensor
        entry = ("in", op.args.index(name))
        position = node.plan.entries.index(entry) if entry in node.plan.entries else -1
        return Kept(node, word, False, position, lambda: None)
    # if a number was given, PyTorch has additional nodes here; otherwise the word shows its default
    default = (
        LENT[0]().default(type(node).__name__, word)
        if word in ("alpha", "beta") and op.name in PRIMITIVES
        else None
    )
    return (
        None if default is None else Kept(node, word, False, -1, lambda: _shown(kind, default[0]))
    )


# ---- tensors -------------------------------------------------------------------------------------
def _of_tensor(node: Node, word: str, known: dict[str, str]) -> Kept | None:
    op = node.op
    name = _other_word(op, word) or _own_name(node, word, known)
    entry = op._entry(name) if name else None
    if entry is not None and entry in node.plan.entries:
        position = node.plan.entries.index(entry)
        if entry[0] in ("in", "out", "ins", "outs"):
            return Kept(node, word, True, position, lambda: None)
        return Kept(node, word, True, -1, lambda: _as_tensor(opened((node.saved or ())[position])))
    value = node.params.get(name or word)
    if value is not None:
        return Kept(node, word, True, -1, lambda: _as_tensor(value))
    inside = None if op.name in PRIMITIVES else _inside(node, word, entry)
    if inside is not None:
        return Kept(node, word, True, -1, inside)
    if isinstance(op.packs, tuple) and known:
        place = [w for w, kind in known.items() if kind in "TL"].index(word)
        return Kept(node, word, True, -1, lambda: _packed(node, place))
    if entry is not None and entry[0] == "in" and not _named_by_rules(op, entry[1]):
        leaf = node.inputs[entry[1]] if entry[1] < len(node.inputs) else None
        if isinstance(leaf, Tensor):  # PyTorch's node saves it, ours does not need to
            return Kept(node, word, True, -1, lambda: leaf)
    return Kept(node, word, True, -1, lambda: None)


def _inside(node: Node, word: str, entry: Any) -> Callable[[], Any] | None:
    """An argument or result of a function that is recorded as several operations, taken from the
    operation that saved it. None if no operation did.
    """
    if not node.saved or not isinstance(node.saved[0], tuple):
        return None
    inner, edges, *kept = node.saved[0]
    if kept and word in kept[0]:
        return lambda: wrap(kept[0][word])
    roots = inner if type(inner) is tuple else (inner,)  # one root per result
    if word == "result":
        return _at(roots[0], ("out", 0))
    edge = edges[entry[1]] if entry is not None and entry[1] < len(edges) else None
    ends, left = {id(e) for e in edges}, [node_of(r) for r in roots]
    for one in left:
        for k, under in enumerate(one.inputs):
            if under is edge and edge is not None and _at(one, ("in", k)):
                return _at(one, ("in", k))
            if isinstance(under, Node) and id(under) not in ends and under not in left:
                left.append(under)
    return None


def _at(node: Node, entry: Any) -> Callable[[], Any] | None:
    if entry not in getattr(node.plan, "entries", ()):
        return None
    position = node.plan.entries.index(entry)
    return lambda: saved_tensors(node)[position]


def _named_by_rules(op: Primitive, k: int) -> bool:
    """Whether some gradient rule of the operation uses this argument, even if that rule is not
    needed here.
    """
    rules = op.vjp.values() if isinstance(op.vjp, dict) else (op.vjp,)
    named = {word.partition("_for_")[0] for rule in rules if rule for word in parameters(rule)}
    return op.args[k] in named


def _other_word(op: Primitive, word: str) -> str | None:
    """The record's name for the word, if its field `shows` gives one."""
    found = op.shows.get(word)
    return found if isinstance(found, str) else None


def _own_name(node: Node, word: str, known: dict[str, str]) -> str | None:
    """The record's name for the tensor that PyTorch calls `word`."""
    op = node.op
    k = _argument(node, word)
    if k is not None:
        return op.args[k]
    if word == "result" or word == "result0" and op.outputs == 1:
        return "out"
    tensors = [w for w, kind in known.items() if kind in "TL"]
    packs = op.packs.split() if isinstance(op.packs, str) else ()
    if len(packs) == len(tensors):
        return packs[tensors.index(word)].partition("_for_")[0]
    results = LENT[0]().results(type(node).__name__, word)
    if word in results:
        return "out" if op.outputs == 1 else f"out{results.index(word)}"
    return f"out{word[6:]}" if re.fullmatch(r"result\d", word) and op.outputs != 1 else None


def _argument(node: Node, word: str) -> int | None:
    """The position of the argument that PyTorch calls by this word."""
    args = node.op.args
    word = _other_word(node.op, word) or word
    known = words_of(node).get(word)
    if isinstance(known, int):
        return known if known < len(args) else None
    return args.index(word) if word in args else 0 if word == "self" and args else None


def _as_tensor(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple([_as_tensor(v) for v in value])
    return wrap(np.asarray(value)) if isinstance(value, (np.ndarray, np.generic)) else value


def _read(node: Node, word: str) -> Any:
    """The value of a gradient rule's parameter, taken from what the node saved."""
    entry = node.op._entry(word)
    if entry is None:
        return {"needs": node.plan.needs, "node": node, **node.params}.get(word)
    kind, k = entry
    if entry in node.plan.entries:
        return opened((node.saved or ())[node.plan.entries.index(entry)])
    edge = node.inputs[k] if k < len(node.inputs) else None
    if kind in ("out_shape", "out_dtype"):
        return node.shape if kind == "out_shape" else node.dtype
    if edge is None or kind not in ("in", "shape", "dtype"):
        return None
    return getattr(edge, "_array", None) if kind == "in" else value_at(edge)[kind == "dtype"]


def _ruled(node: Node, rule: Callable[..., Any]) -> Any:
    return rule(*[_read(node, word) for word in parameters(rule)])


def _packed(node: Node, place: int) -> Any:
    """The value at index `place` among those that the record's `packs` rule computes for
    saved-tensor hooks.
    """
    made = _ruled(node, node.op.packs[0])  # type: ignore[arg-type]
    return _as_tensor(made[place]) if place < len(made) else None


# ---- numbers and sizes ---------------------------------------------------------------------------
def _shown(kind: str, value: Any) -> Any:
    """A parameter as PyTorch shows it. Negative integers appear as their unsigned 64-bit value."""
    if kind in "TL":
        return _as_tensor(value)
    if kind in "va" and value is not None:
        value = tuple(value) if isinstance(value, (tuple, list, np.ndarray)) else (value,)
        return tuple([_shown("i", v) for v in value])
    if value is None and kind == "v":
        return ()
    if kind == "i" and isinstance(value, tuple) and value:
        value = value[0]
    if kind in "io" and type(value) is int and value < 0:
        return value + 2**64
    if isinstance(value, (bool, np.bool_)) and kind == "i":
        return int(value)
    return float(value) if kind == "d" and isinstance(value, int) else value


def _sizes(node: Node, k: int, kind: str, what: str, more: str | None) -> Any:
    """Sizes, strides or the element count of an argument."""
    edge = node.inputs[k] if k < len(node.inputs) else None
    array = _read(node, node.op.args[k])
    if edge is None and array is None:
        return _UNSET[kind]
    shape = tuple(value_at(edge)[0] if edge is not None else np.shape(array))
    if what == "sizes":
        return shape
    if what == "numel":
        return prod(shape)
    if what == "strides":
        return _UNSET[kind] if array is None else wrap(array).stride()
    assert more is not None
    at = int(more.rpartition("_")[2]) * (-1 if "minus" in more else 1)
    return shape[at] if -len(shape) <= at < len(shape) else 0
