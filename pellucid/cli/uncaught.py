"""Hints for errors that end a program and that Python words: an unknown keyword, a None, a missing
`__len__`.
"""

from __future__ import annotations

import builtins
import difflib
import inspect
import re
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from ..core.source import is_library
from ..errors import add, facts_of, hinted

_KEYWORD = re.compile(
    r"(\w+)(?:\.__init__)?\(\) (?:got an unexpected keyword argument '(\w+)'"
    r"|received an invalid combination of arguments - got \([^)]*?(\w+)=[^)]*\), but expected one of:(.*))",
    re.DOTALL,
)
_FORWARD = re.compile(r"([\w.<>]+)\.forward\(\) missing \d+ required positional arguments?: (.*)")
_NO_TORCH = (
    "PyTorch is not installed here; write `import pellucid as torch`, or call "
    "pellucid.interop.as_torch() before anything imports torch"
)
_NOTHING = "an argument is None; if it is a model's output, does its forward() return anything?"
# Python's words for objects that are used as something else, in a line of the user's.
_MISTAKEN = (
    (
        r"'(?:float|int)' object has no attribute 'backward'",
        "item() and float() make a Python number of the loss; call backward() on the tensor",
    ),
    (r"'Size' object is not callable", "shape is an attribute: write x.shape, or x.size()"),
    (
        r"'DataLoader' object is not subscriptable",
        "a loader gives batches in turn: next(iter(loader)); for one sample, index the dataset",
    ),
    (
        r"'NoneType' object has no attribute 'backward'",
        "the loss is None; does your function return it?",
    ),
)
_USUAL = ("dim", "keepdim", "dtype", "device", "requires_grad", "generator", "reduction", "out")
_SYNONYMS = {"axis": "dim", "axes": "dim", "keepdims": "keepdim", "size_average": "reduction"}


def with_hint(error: BaseException) -> BaseException:
    """The error, with a hint if it has none and one is known for it."""
    facts = facts_of(error)
    if not isinstance(error, Exception) or (facts is not None and facts.completed().hint):
        return error
    hint = None
    if isinstance(error, TypeError):
        hint = _keyword(str(error)) or _argument(str(error))
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "torch":
        if "torch" in sys.modules:  # a part of it that is not there
            return error
        hint = _NO_TORCH
    if hint is None and facts is None:
        hint = _nothing_given(error)
    if hint is None:
        return error
    return hinted(error, hint) if facts is None else add(error, hint=hint)


def _nothing_given(error: Exception) -> str | None:
    sentence, frames = str(error), traceback.extract_tb(error.__traceback__)
    if not frames:
        return None
    if not is_library(frames[-1].filename):
        asked = re.search(r"[\w.\[\]]+\.grad\b", frames[-1].line or "")
        if asked and "'NoneType'" in sentence:
            return f"{asked[0]} is None: `pellucid explain` with `--expr {asked[0]}` tells why"
        return next((hint for words, hint in _MISTAKEN if re.match(words, sentence)), None)
    if re.match(r"'NoneType' object (has no attribute|is not)", sentence):
        return _NOTHING
    sized = re.match(r"object of type '(\w+)' has no len\(\)", sentence)
    if isinstance(error, TypeError) and sized and not hasattr(builtins, sized[1]):
        return (
            f"define __len__(self) in {sized[1]}, which returns the number of samples "
            "(or derive it from IterableDataset)"
        )
    return None


def _keyword(sentence: str) -> str | None:
    """The keyword that was probably meant by one that a function or class does not take."""
    match = _KEYWORD.match(sentence)
    if match is None:
        return None
    name, given = match[1], match[2] or match[3]
    taken = set(re.findall(r"\w+", match[4])) if match[4] else set()
    for cls in _classes():
        if cls.__name__ == name:
            taken |= set(inspect.signature(cls).parameters)
    taken = taken or set(_USUAL)
    close = [_SYNONYMS.get(given, ""), *difflib.get_close_matches(given, taken, n=1)]
    meant = next((word for word in close if word in taken), None)
    return f"{given!r} is not an argument here; did you mean {meant!r}?" if meant else None


def _argument(sentence: str) -> str | None:
    """How to call a module whose forward got too few arguments."""
    match = _FORWARD.match(sentence)
    if match is None:
        return None
    modules: Iterator[Any] = _classes()
    for cls in modules:
        if cls.__qualname__ == match[1]:
            names = [*inspect.signature(cls.forward).parameters][1:]
            if names and {*names}.issuperset(re.findall(r"'(\w+)'", match[2])):  # not its namesake
                return (
                    f"forward takes ({', '.join(names)}): pass {match[2]} when you call the module, "
                    "or give it a default"
                )
    return None


def _classes() -> Iterator[type]:
    # only now: a script that fails has loaded them, and one that runs may need none
    from ..data.dataloader import DataLoader
    from ..nn.modules.module import Module
    from ..optim.lr_scheduler import LRScheduler

    waiting: list[type] = [Module, LRScheduler, DataLoader]
    while waiting:
        cls = waiting.pop()
        yield cls
        waiting += cls.__subclasses__()
