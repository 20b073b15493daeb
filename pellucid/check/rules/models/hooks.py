"""Hooks that look up a loop's variable too late, and hooks that are registered again and again."""

from __future__ import annotations

import ast
import weakref
from types import FunctionType
from typing import Any

from ...events import HookAdded
from ...numbers import number_of
from ...rule import Rule
from ..source.places import Place, Repeated, tree, walk


class _Last:
    """The hook that a line registered last."""

    __slots__ = ("event", "hook", "owner", "step")

    def __init__(self, event: HookAdded) -> None:
        self.hook, self.step = event.hook, event.step
        self.event = HookAdded(None, None, event.handle, event.site, event.step)
        self.owner = weakref.ref(event.owner)


class HookOfTheLast(Rule):
    """Hooks that a loop makes all read the loop's variable when they run: it is the last one then."""

    slug = "hook-of-the-last"
    id = "PL508"
    severity = "error"
    summary = "hooks created in a loop all use the loop's last value"

    def __init__(self) -> None:
        self._last: dict[Any, _Last] = {}
        self._told: set[Any] = set()

    def on_hook(self, event: HookAdded) -> None:
        """A second hook of the same line."""
        hook = event.hook
        if not isinstance(hook, FunctionType) or event.site in self._told or event.site is None:
            return
        before = self._last.get(event.site)
        self._last[event.site] = _Last(event)
        if (
            before is None
            or before.step != event.step
            or before.hook is hook
            or before.hook.__code__ is not hook.__code__
            or before.owner() is event.owner
            or not before.event.present()
        ):
            return
        names = variables_of_loops(event.site.file, event.site.line)
        code = hook.__code__
        shared = {
            name
            for k, name in enumerate(code.co_freevars)
            if hook.__closure__ and hook.__closure__[k] is (before.hook.__closure__ or ())[k]
        }
        if event.site.code.co_name == "<module>":
            shared |= read_globally(code)
        late = sorted(shared & names)
        if late:
            self._told.add(event.site)
            self.report(
                Place(event.site.file, code.co_firstlineno),
                f"each of these hooks looks up `{late[0]}` when it runs. The loop has ended by "
                "then, so all of them see its last value.",
                evidence={"variables": late, "registered_at": event.site},
                fix=f"bind the value as a default argument of the hook: `{late[0]}={late[0]}`",
            )


def read_globally(code: Any) -> set[str]:
    """Names that a function, or one inside it, reads from its module."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            found |= read_globally(constant)
    return found


def variables_of_loops(file: str, line: int) -> set[str]:
    """The variables of the loops around a line."""
    root, found = tree(file), set()
    for node in walk(root) if root is not None else ():
        if isinstance(node, (ast.For, ast.AsyncFor)):
            targets = [node.target]
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            targets = [g.target for g in node.generators]
        else:
            continue
        if node.lineno <= line <= (node.end_lineno or 0):
            for target in targets:
                found |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
    return found


class HooksPileUp(Rule):
    """The same hook is registered on the same module again in every epoch, and never removed."""

    slug = "hooks-pile-up"
    id = "PL509"
    severity = "error"
    summary = "a hook is registered again and again, and all of them run"
    covered = ("memory-growth",)

    TIMES = 3

    def __init__(self) -> None:
        # by place and number of the owner: the owner, and its hooks
        self._held: dict[Any, tuple[Any, list[HookAdded]]] = {}
        self._calls = Repeated()

    def on_hook(self, event: HookAdded) -> None:
        """One more hook."""
        if hasattr(event.owner, "is_leaf") and not event.owner.is_leaf or event.site is None:
            return  # a tensor that is made anew in each step
        callers = self.session.recorder.callers()
        self._calls.add(event.site, callers)
        key = event.site, number_of(event.owner)
        ref, held = self._held.get(key, (None, []))
        if ref is None or ref() is not event.owner:
            ref, held = weakref.ref(event.owner), []
            self._held[key] = ref, held
        kept = [h for h in held if h.present() and h.step != event.step]
        kept.append(HookAdded(None, None, event.handle, event.site, event.step))
        self._held[key] = ref, kept
        if len(kept) == self.TIMES:
            place = self._calls.place(event.site)
            if place.text.startswith("return ") and place in callers[:-1]:
                place = callers[callers.index(place) + 1]  # whoever gets the handle
            self.report(
                place,
                "this hook is registered again each time, and the earlier ones stay: "
                f"{len(kept)} of them now run one after another.",
                evidence={
                    "owner": type(event.owner).__name__,
                    "registered_at": event.site,
                    "steps": [h.step for h in kept],
                },
                fix="register it once before the loop, or keep the handle and call `handle.remove()`",
                covers=callers,
            )
