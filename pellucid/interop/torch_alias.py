"""Make Pellucid available as `torch` in one process: aliases of its modules, and clear errors for
missing ones.

`import torch.x.y` gives the module object `pellucid.x.y` itself, never a second copy, so that
classes, flags and registries exist once under both names. The aliases live in this process's
`sys.modules` and `sys.meta_path`; nothing is written to disk.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import multiprocessing.spawn
import opcode
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from pellucid._version import __version__
from pellucid.interop.class_names import found, rename_classes

if TYPE_CHECKING:
    from importlib.metadata import Distribution, DistributionFinder

ALIAS = "torch"
HOME = __name__.partition(".")[0]
TORCH_VERSION = f"2.13.0+{HOME}{__version__}"

# Layers whose names are no part of the API; a name missing there is a mistake of ours, not a
# script's.
_INTERNAL = frozenset(
    {"api", "cli", "config", "core", "devices", "dtypes", "ir", "kernels", "llvm", "ops", "shapes"}
)
_IMPORT_FROM = opcode.opmap["IMPORT_FROM"]


# A package of PyTorch's distribution, and where its parts are here.
_FUNCTORCH = {
    "functorch": "deprecated",
    "functorch.compile": "compile",
    "functorch.dim": "dim",
    "functorch.einops": "einops",
}


class TorchVersion(str):
    """A version number that is a string and yet compares by its numbers: "2.13.0" is above "2.9"
    and (2, 9).
    """

    __slots__ = ()

    def _order(self, other: object) -> int | None:
        """Below, at or above zero as self is below, equal to or above `other`; None where that is
        no version.
        """
        if isinstance(other, (tuple, list)):
            other = ".".join(map(str, other))
        if not isinstance(other, str):
            return None
        mine, theirs = _version_key(self), _version_key(other)
        if mine is None or theirs is None:
            mine, theirs = ((), 0, str(self)), ((), 0, str(other))
        return (mine > theirs) - (mine < theirs)

    def __eq__(self, other: object) -> bool:
        return self._order(other) == 0

    def __ne__(self, other: object) -> bool:
        return self._order(other) != 0

    def __lt__(self, other: Any) -> bool:
        order = self._order(other)
        return NotImplemented if order is None else order < 0

    def __le__(self, other: Any) -> bool:
        order = self._order(other)
        return NotImplemented if order is None else order <= 0

    def __gt__(self, other: Any) -> bool:
        order = self._order(other)
        return NotImplemented if order is None else order > 0

    def __ge__(self, other: Any) -> bool:
        order = self._order(other)
        return NotImplemented if order is None else order >= 0

    __hash__ = str.__hash__


def _version_key(version: str) -> tuple[tuple[int, ...], int, str] | None:
    """Sort key after PEP 440, as far as PyTorch's own versions go: release numbers, pre-release or
    not, local part.
    """
    match = re.fullmatch(
        r"v?(\d+(?:\.\d+)*)[._-]?((?:a|b|rc|dev|alpha|beta)[\d.]*)?(?:\+(.*))?", version.strip()
    )
    if match is None:
        return None
    numbers = tuple(int(part) for part in match[1].split("."))
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    return numbers, 0 if match[2] else 1, match[3] or ""


def as_torch() -> ModuleType:
    """Make `import torch` mean Pellucid from here on in this process, and return the module.

    `import torch.nn.functional as F`, `from torch.utils.data import DataLoader` and every other
    `torch.x.y` resolve to the same objects as `pellucid.x.y`, also in libraries that are imported
    afterwards and in worker processes started with `multiprocessing`. A name that Pellucid does not
    have raises AttributeError or ImportError and is spelled out, with close names.
    `torch.__version__` and `importlib.metadata.version("torch")` give the PyTorch release whose
    interface is meant, with Pellucid's own version after the plus sign (`pellucid.__version__` too:
    it is one module). Calling it again changes nothing.

    Raises:
        ImportError: PyTorch itself has been imported in this process before.

    Example (at the top of a script, before anything that imports torch):

        import pellucid
        pellucid.interop.as_torch()
        import torch                       # Pellucid
    """
    root = sys.modules[HOME]
    current = sys.modules.get(ALIAS)
    if current is root:
        return root
    if current is not None:
        raise ImportError(
            f"as_torch() came too late: this process has already imported torch from "
            f"{getattr(current, '__file__', 'an unknown place')}. Call it before the first `import torch`, "
            f"or start the script with `{HOME} run`.",
            name=ALIAS,
        )
    sys.modules[ALIAS] = root
    sys.meta_path.insert(0, _Finder())
    root.__version__ = TorchVersion(TORCH_VERSION)  # type: ignore[attr-defined]
    # libraries compare it; the modules below keep theirs, which their files are found by
    root.__name__ = ALIAS
    for name, module in list(sys.modules.items()):
        if name == HOME or name.startswith(HOME + "."):
            _speak_up(module)
            _keep_functions(module)
            rename_classes(module)
    _carry_into_workers()
    return root


class _Finder:
    """Finds `torch.x` as `pellucid.x`, gives modules of Pellucid their words for missing names, and
    vouches for the distribution called torch."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.startswith(ALIAS + "."):
            known = name in sys.modules
            module = _resolve(name) or _place_of_classes(name)
            if module is not None:
                if not known:
                    # Classes of the module may have put it there. The import system would take that
                    # module's own spec, by which it would load a second one.
                    sys.modules.pop(name, None)
                return ModuleSpec(
                    name, _AliasLoader(module), is_package=hasattr(module, "__path__")
                )
            # Who only asks whether the module exists (importlib.util.find_spec) gets None; an
            # import gets the words.
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise _noted(ModuleNotFoundError(f"No module named {name!r}", name=name), name)
            return None
        # a package of PyTorch's distribution, whose parts reach into its C++
        if name in _FUNCTORCH:
            module = importlib.import_module(f"{HOME}._functorch.{_FUNCTORCH[name]}")
            return ModuleSpec(name, _AliasLoader(module), is_package=name == "functorch")
        if name.startswith(HOME + "."):
            return _found_by_others(self, name, path, target)
        return None

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        wanted = getattr(context, "name", None)
        if wanted is None or wanted.lower() == ALIAS:
            yield _distribution()


class _AliasLoader(Loader):
    """Hands out a module that is already loaded, leaving it exactly as it is."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just put the alias's spec on the module; relative imports inside
        # need the true one.
        module.__spec__ = self.spec

    def get_code(self, name: str) -> CodeType | None:
        """Code of the module, for `python -m torch.x` style runners."""
        spec = self.spec
        loader = None if spec is None else spec.loader
        if spec is None or loader is None or not hasattr(loader, "get_code"):
            return None
        code: CodeType | None = loader.get_code(spec.name)
        return code


def _resolve(name: str) -> ModuleType | None:
    """The module that `torch.x.y` stands for: what Pellucid shows under that name, else its own
    submodule.
    """
    parent_name, _, leaf = name.rpartition(".")
    parent = sys.modules[parent_name]
    shown = vars(parent).get(leaf)
    if shown is None:
        shown = _ask(parent, leaf)
    if isinstance(shown, ModuleType):
        return shown
    true_name = f"{HOME if parent.__name__ == ALIAS else parent.__name__}.{leaf}"
    try:
        if importlib.util.find_spec(true_name) is None:
            return None
    except ModuleNotFoundError:  # the parent is a plain module
        return None
    return importlib.import_module(true_name)


def _place_of_classes(name: str) -> ModuleType | None:
    """A module for a name that classes give as theirs and that is none here: it has those classes."""
    if name not in found:
        return None
    made = ModuleType(name, f"Classes that PyTorch has in `{name}`.")
    made.__spec__ = ModuleSpec(name, None)
    for module in found[name]:
        made.__dict__.update(
            {
                key: value
                for key, value in vars(module).items()
                if getattr(value, "__module__", None) == name
            }
        )
    return made


def _ask(module: ModuleType, name: str) -> Any:
    """What the module's own `__getattr__` gives for a name it loads on demand, or None."""
    try:
        return getattr(module, name)
    except AttributeError:
        return None


def _found_by_others(
    finder: _Finder, name: str, path: Sequence[str] | None, target: ModuleType | None
) -> ModuleSpec | None:
    """The spec that the other finders give for a module of Pellucid, set to `_speak_up` once it is
    loaded.
    """
    for other in sys.meta_path:
        spec = None if other is finder else other.find_spec(name, path, target)
        if spec is None:
            continue
        loader = spec.loader
        if loader is not None and hasattr(loader, "exec_module"):
            execute = loader.exec_module

            def exec_module(
                module: ModuleType, execute: Callable[[ModuleType], None] = execute
            ) -> None:
                execute(module)
                _speak_up(module)
                _keep_functions(module)
                rename_classes(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
    return None


def _keep_functions(module: ModuleType) -> None:
    """Let `torch.autograd.gradcheck` stay a function: importing the module of that name would put
    the module in its place.

    It does not where the module is already known by its alias.
    """
    for name, value in list(vars(module).items()):
        own = sys.modules.get(f"{module.__name__}.{name}")
        if own is not None and own is not value:
            sys.modules[ALIAS + own.__name__.removeprefix(HOME)] = own


def _speak_up(module: ModuleType, public: str | None = None) -> None:
    """Let a missing name of the module be reported as missing from PyTorch's interface, with close
    names.

    `public` is the name it is known by there; without it, its own name under `torch`.
    """
    if public is None:
        _, _, rest = module.__name__.partition(".")
        if rest.partition(".")[0] in _INTERNAL:
            return
        public = f"{ALIAS}.{rest}" if rest else ALIAS
    own = vars(module).get("__getattr__")
    if getattr(own, "speaks_up", False):
        return
    for name, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and value.__name__.startswith(f"{HOME}.api."):
            _speak_up(value, f"{public}.{name}")

    def __getattr__(name: str) -> Any:
        if own is not None:
            try:
                value = own(name)
            except AttributeError as error:
                # something else is missing, inside what was loaded on demand
                if error.name not in (None, name):
                    raise
            else:
                if isinstance(value, ModuleType) and value.__name__.startswith(f"{HOME}.api."):
                    _speak_up(value, f"{public}.{name}")
                return value
        caller, file = sys._getframe(1), vars(module).get("__file__")
        inner = sys.modules.get(f"{module.__name__}.{name}")
        if inner is not None and str(caller.f_globals.get("__name__", "")).startswith(f"{HOME}."):
            # the library's own code imports a module that PyTorch's interface does not show
            return inner
        missing: Exception = AttributeError(
            f"module {public!r} has no attribute {name!r}", name=name
        )
        if caller.f_lasti >= 0 and caller.f_code.co_code[caller.f_lasti] == _IMPORT_FROM:
            missing = ImportError(
                f"cannot import name {name!r} from {public!r} ({file or 'unknown location'})",
                name=public,
                path=file,
            )
        raise missing if name.startswith("__") else _noted(missing, f"{public}.{name}", module)

    __getattr__.speaks_up = True  # type: ignore[attr-defined]
    module.__getattr__ = __getattr__  # type: ignore[method-assign]


def _noted(error: Exception, name: str, module: ModuleType | None = None) -> Exception:
    """The error with a note that Pellucid does not have `name`, and what it has that may be meant."""
    error.add_note(_sentence(name, module, _public_modules(len(sys.modules))))
    return error


@lru_cache(maxsize=1)
def _public_modules(loaded_modules: int) -> tuple[str, ...]:
    """The modules of Pellucid that a program may know, of those that are loaded by now."""
    return tuple(
        name
        for name in list(sys.modules)
        if name.partition(".")[0] == HOME
        and "._" not in name
        and f"{name}.".split(".")[1] not in _INTERNAL
    )


@lru_cache(maxsize=1024)
def _sentence(name: str, module: ModuleType | None = None, among: tuple[str, ...] = ()) -> str:
    """Say that Pellucid does not have `name`, and what it has that may be meant.

    The search takes milliseconds, and libraries ask `hasattr(torch, ...)` at each step: an answer
    holds until Pellucid loads another module.
    """
    parent_name, _, leaf = name.rpartition(".")
    module = module or sys.modules.get(parent_name)
    sentence = f"Pellucid {__version__} has no {name}"
    elsewhere = sorted(
        f"{ALIAS}{other.removeprefix(HOME)}.{leaf}"
        for other in among
        if not leaf.startswith("_") and leaf in getattr(sys.modules.get(other), "__dict__", ())
    )
    if elsewhere:
        return f"{sentence}; there is {elsewhere[0]}"
    names = (
        [entry for entry in dir(module) if not entry.startswith("_") and entry != leaf]
        if module is not None
        else []
    )
    by_lower = {entry.lower(): entry for entry in reversed(names)}
    # at 0.65 `SDG` is near `SGD`, and `nosuch` not near `cosh`
    matches = difflib.get_close_matches(leaf.lower(), by_lower, n=3, cutoff=0.65)
    close = [by_lower[entry] for entry in matches]
    if close:
        return f"{sentence}; close names: {', '.join(f'{parent_name}.{entry}' for entry in close)}"
    return sentence


def _distribution() -> Distribution:
    from importlib.metadata import Distribution

    class TorchAlias(Distribution):
        """What `importlib.metadata` tells libraries that look for an installed torch."""

        def read_text(self, filename: str) -> str | None:
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: {ALIAS}\nVersion: {TORCH_VERSION}\nSummary: {HOME} as {ALIAS}\n"

        def locate_file(self, path: Any) -> Any:
            raise FileNotFoundError(
                f"{ALIAS} stands for {HOME} in this process and has no files of its own"
            )

    return TorchAlias()


class _InWorker:
    """Unpickled in a new process before the script is imported there, it makes the aliases first."""

    def __reduce__(self) -> tuple[Callable[[], ModuleType], tuple[()]]:
        return as_torch, ()


def _carry_into_workers() -> None:
    """Give the aliases to processes that `multiprocessing` starts afresh, too: they import the
    script anew.
    """
    prepare = multiprocessing.spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return prepare(name) | {f"{HOME}_as_{ALIAS}": _InWorker()}

    multiprocessing.spawn.get_preparation_data = get_preparation_data
