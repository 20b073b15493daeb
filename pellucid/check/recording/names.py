"""Name things as the user does: parameters by their path from a variable ("model.fc.weight"),
tensors and modules by their variable.
"""

from __future__ import annotations

import inspect
import re
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any

from ..numbers import number_of


def locals_of(frame: FrameType) -> dict[str, Any]:
    """The variables of a running frame, without leaving a trace in it.

    Before Python 3.13 a function's frame keeps the dictionary that `f_locals` gives, and with it
    everything that its variables referred to at that moment; so that one is emptied, unless the
    program holds it because it has called `locals()`.
    """
    found = frame.f_locals
    if not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return found  # a module or class: the true dictionary
    copied = dict(found)
    # the frame's, `found`, and the argument here
    if sys.version_info < (3, 13) and sys.getrefcount(found) <= 3:
        found.clear()
    return copied


class Names:
    """Looks up names when a rule asks; nothing is kept but weak references to modules and where
    they were made.
    """

    def __init__(self, is_library: Any) -> None:
        self._is_library = is_library
        # id -> (module, site where it was made)
        self.modules: dict[int, tuple[weakref.ref[Any], Any]] = {}
        self.sites: set[Any] = set()  # of all modules that were ever made
        self.within: set[int] = set()  # numbers of modules made while another one was called
        # by id of a module: who called the function that made it
        self._callers: dict[int, Any] = {}
        self._roots: dict[int, tuple[weakref.ref[Any], str]] = {}
        self._inner: dict[int, tuple[weakref.ref[Any], dict[int, str]]] = {}

    # ---- modules -----------------------------------------------------------------------------------------------------
    def made(self, module: Any, site: Any, caller: Any = None) -> None:
        """Note where a module was made, and who called the function that made it."""
        key, table = id(module), self.modules
        self.sites.add(site)
        self._callers.pop(key, None)
        if caller is not None:
            self._callers[key] = caller

        def forget(ref: Any) -> None:
            held = table.get(key)
            if held is not None and held[0] is ref:
                del table[key]

        table[key] = (weakref.ref(module, forget), site)

    def site_of(self, module: Any) -> Any:
        """Where a module was made, or None."""
        held = self.modules.get(id(module))
        return held[1] if held is not None and held[0]() is module else None

    def asked_at(self, module: Any) -> Any:
        """Where a module was asked for: the call of its class, which for a class of the user's is
        the call of its `__init__`.
        """
        site = self.site_of(module)
        inside = site is not None and site.code.co_name == "__init__"
        return self._callers.get(id(module), site) if inside else site

    def created_at(self, module: Any) -> Any:
        """Where a module is made: of a function that only gives it back, the call."""
        site = self.asked_at(module)
        given_back = site is not None and site.text.startswith("return ")
        return self._callers.get(id(module), site) if given_back else site

    def chosen_at(self, module: Any) -> Any:
        """Where it was chosen of which class a module is: the call of the function that made it,
        when that was handed the class (`act()`); else where it was made."""
        site = self.site_of(module)
        caller = self._callers.get(id(module)) if site is not None else None
        called = site.call.function if caller is not None and site.call is not None else None
        code = site.code if site is not None else None
        if called is None or code is None:
            return site
        own = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]) - {"self", "cls"}
        return caller if own & set(re.findall(r"(?<![\w.])\w+", called)) else site

    def alive(self) -> list[Any]:
        """All modules that live, in the order in which they were made."""
        return [m for ref, _ in list(self.modules.values()) if (m := ref()) is not None]

    def roots(self) -> list[Any]:
        """The living modules that are no other module's child."""
        alive = self.alive()
        inner = {id(child) for m in alive for child in m._modules.values() if child is not None}
        return [m for m in alive if id(m) not in inner]

    def root_name(self, module: Any, site: Any = None) -> str:
        """The name of a module that is nobody's child: its variable, else its class."""
        held = self._roots.get(id(module))
        if held is not None and held[0]() is module:
            return held[1]
        name = self._listed(module) or self.variable(module)
        if name is None and site is not None:
            call = site.call
            written = call.function if call is not None else None
            if written is not None and written.replace(".", "").replace("_", "").isalnum():
                name = written.removeprefix("self.")
        if name is None:
            return type(module).__name__
        self._roots[id(module)] = (weakref.ref(module), name)
        return name

    def _listed(self, module: Any) -> str | None:
        """The name of a module in a plain list or dict of another one, `model.heads[0]`; a loop's
        variable says less.
        """
        for owner in self.alive():
            for key, held in vars(owner).items():
                if (
                    key.startswith("_")
                    or not isinstance(held, (list, tuple, dict))
                    or len(held) > 64
                ):
                    continue
                for k, part in held.items() if isinstance(held, dict) else enumerate(held):
                    if part is module and owner is not module:
                        return f"{self.root_name(owner)}.{key}[{k!r}]"
        return None

    def module_path(self, module: Any, root: Any, site: Any = None) -> str:
        """The path of a module inside a root, beginning with the root's name."""
        title = self.root_name(root, site)
        if module is root:
            return title
        for path, m in root.named_modules():
            if m is module:
                return f"{title}.{path}"
        return f"{title}.{type(module).__name__}"

    def inner_path(self, root: Any, module: Any) -> str | None:
        """The path of a module below a root, without the root's name; None when it is not in it."""
        held = self._inner.get(number_of(root))
        if held is None or held[0]() is not root or number_of(module) not in held[1]:
            held = (weakref.ref(root), {number_of(m): path for path, m in root.named_modules()})
            self._inner[number_of(root)] = held
        return held[1].get(number_of(module))

    # ---- tensors -----------------------------------------------------------------------------------------------------
    def parameter(self, tensor: Any) -> str | None:
        """The path of a module's parameter."""
        for root in self.roots():
            for path, p in root.named_parameters(remove_duplicate=False):
                if p is tensor:
                    return f"{self.root_name(root)}.{path}"
        return None

    def of(self, tensor: Any) -> str | None:
        """The parameter's path, else the variable's name, else None."""
        return self.parameter(tensor) or self.variable(tensor)

    def variable(self, thing: Any) -> str | None:
        """The variable of the user's that holds a thing: of the script first, then of the functions
        that are running.
        """
        main = sys.modules.get("__main__")
        scopes: list[dict[str, Any]] = []
        for frame in self._frames():
            scopes.append(locals_of(frame))
        # the outermost first: what a function calls `net` is `model` to the script
        scopes.reverse()
        if main is not None:
            scopes.append(vars(main))
        for scope in scopes:
            for name, value in list(scope.items()):
                if value is thing and name != "self" and not name.startswith("_"):
                    return name
        for scope in scopes:
            for name, value in list(scope.items()):
                if (
                    name.startswith("__")
                    or type(value).__module__ == "builtins"
                    and not isinstance(value, (list, dict))
                ):
                    continue
                if isinstance(value, list) and len(value) <= 64:
                    for k, item in enumerate(value):
                        if item is thing:
                            return f"{name}[{k}]"
                elif isinstance(value, dict) and len(value) <= 64:
                    for k, item in value.items():
                        if item is thing:
                            return f"{name}[{k!r}]"
                else:
                    inside = getattr(value, "__dict__", None)
                    if isinstance(inside, dict) and not isinstance(value, type):
                        for attribute, item in list(inside.items()):
                            if item is thing:
                                return attribute if name == "self" else f"{name}.{attribute}"
        return None

    def tensors(self, kind: Any) -> dict[tuple[Any, str], Any]:
        """The tensors that the user's variables hold: of the script, and of the functions that are
        running. By the code of the function (None: the script) and name.
        """
        main = sys.modules.get("__main__")
        found: dict[tuple[Any, str], Any] = {
            (frame.f_code, name): value
            for frame in self._frames()
            for name, value in locals_of(frame).items()
            if isinstance(value, kind)
        }
        for name, value in vars(main).items() if main is not None else ():
            if isinstance(value, kind):
                found[None, name] = value
        return found

    def _frames(self) -> Iterator[FrameType]:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            if not self._is_library(frame.f_code.co_filename):
                yield frame
            frame = frame.f_back
