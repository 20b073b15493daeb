"""`pellucid compat`: what a script uses of PyTorch that Pellucid does not support, by line, without
running it.

The script is parsed, never executed; so are the modules beside it that it imports. Each name under
`torch` is looked up in Pellucid, the keywords of each call are compared with the signature here,
and a function whose body only raises is reported as unsupported. The type of `x` in `x.foo()` is
known only when the program runs, so of methods only those are reported that ask for a GPU or that a
tensor refuses.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from pellucid.interop import as_torch

from .._names import NUMPY_NAMES
from ..check.output import shown_path
from ..core.display.notebook import is_notebook, place, source_of
from ..core.tensor import Tensor
from .command_line import Parser, meant

_EPILOG = """\
The script is not run. Imports are followed into modules next to it and, with
--packages, into installed packages that the script imports. Code behind a test
is skipped: inside `if torch.cuda.is_available():`, `if hasattr(torch, ...):`,
`if TYPE_CHECKING:` or `try: ... except (ImportError, AttributeError):`.

The exit status is 0 when nothing was found, 1 when something was found, and 2
when the script cannot be read.

examples:
  pellucid compat train.py
  pellucid compat --format json lesson.ipynb
  pellucid compat --packages einops,timm train.py
"""

# a program may import Pellucid by its own name, too
_ROOTS = ("torch", "pellucid")
_GUARDS = ("is_available", "hasattr", "TYPE_CHECKING", "is_compiled")
_CATCHES = {
    "ImportError",
    "ModuleNotFoundError",
    "AttributeError",
    "NotImplementedError",
    "Exception",
    "RuntimeError",
}


@dataclass(frozen=True)
class Problem:
    """One use of PyTorch that does not work here."""

    file: str
    line: int
    name: str
    text: str


def main(argv: Sequence[str]) -> int:
    """Print what is not supported and return the exit status."""
    options = _parser().parse_args(list(argv))
    as_torch()
    found: list[Problem] = []
    names: set[str] = set()
    files: list[str] = []
    missing: dict[str, None] = {}
    packages = tuple(options.packages.split(",")) if options.packages else ()
    for script in options.scripts:
        try:
            scan = Scan(os.path.abspath(script), packages)
        except (OSError, SyntaxError, UnicodeDecodeError, ValueError) as error:
            guess = meant(script) if isinstance(error, FileNotFoundError) else ""
            print(f"pellucid compat: {script} cannot be read: {error}{guess}", file=sys.stderr)
            return 2
        found += [p for p in scan.problems if p not in found]
        names |= scan.names
        files += [f for f in scan.files if f not in files]
        missing |= dict.fromkeys(scan.not_installed)
    if options.format == "json":
        shown = [{**asdict(p), "file": shown_path(p.file)} for p in found]
        print(
            json.dumps(
                {
                    "problems": shown,
                    "names": len(names),
                    "files": [shown_path(f) for f in files],
                    "not_installed": list(missing),
                }
            )
        )
    else:
        for p in found:
            print(f"{place(p.file, p.line, shown_path(p.file))}: {p.text}")
        for module in missing:
            print(f"note: {module} is not installed here, so its use of PyTorch is unknown")
        count = len({p.name for p in found})
        many = f"{len(files)} file{'s' if len(files) != 1 else ''}"
        used = f"{len(names)} name{'s' if len(names) != 1 else ''} of PyTorch in {many}"
        verdict = (
            "all supported"
            if not found
            else f"{count} not supported, in {len(found)} place{'s' if len(found) != 1 else ''}"
        )
        print(f"pellucid compat: {used}; {verdict}")
    return int(bool(found))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid compat",
        usage="pellucid compat [options] SCRIPT ...",
        description="List what a script uses of PyTorch that Pellucid does not support, by line, without running it.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "scripts", metavar="SCRIPT", nargs="+", help="Python files or notebooks (.ipynb)"
    )
    parser.add_argument(
        "--packages",
        metavar="NAMES",
        help="also look into these installed packages (comma-separated)",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    return parser


class Scan:
    """What a script and the modules that it imports use of PyTorch: `problems`, the `names` looked
    up, the `files` read.
    """

    def __init__(self, script: str, packages: Sequence[str] = ()) -> None:
        self.problems: list[Problem] = []
        self.names: set[str] = set()
        self.files: list[str] = []
        self.not_installed: dict[str, None] = {}
        self.folder = os.path.dirname(script)
        self.packages = set(packages)
        waiting = [script]
        for package in packages:
            waiting += _files_of(package) or []
            if not _files_of(package):
                self.not_installed[package] = None
        for file in waiting:  # which grows
            if file in self.files:
                continue
            self.files.append(file)
            text = source_of(file) if is_notebook(file) else Path(file).read_text(encoding="utf-8")
            try:
                tree = ast.parse(text, file)
            except SyntaxError:
                if file == script:
                    raise
                continue
            waiting += _File(self, file, tree).visit_all()
        self.problems.sort(key=lambda p: (p.file != script, p.file, p.line))

    def beside(self, module: str, file: str, level: int) -> Iterator[str]:
        """The files of a module that lie beside the script, or beside the file that imports it."""
        base = Path(file).parent
        for _ in range(level - 1):
            base = base.parent
        for root in (base,) if level else dict.fromkeys((Path(self.folder), base)):
            at = root.joinpath(*module.split(".")) if module else root
            for candidate in (at.with_suffix(".py"), at / "__init__.py"):
                if candidate.is_file():
                    yield str(candidate)


@cache
def _files_of(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return [
            str(f)
            for place in spec.submodule_search_locations
            for f in sorted(Path(place).rglob("*.py"))
        ]
    return [spec.origin] if spec.origin and spec.origin.endswith(".py") else []


class _File(ast.NodeVisitor):
    """One file: which variables stand for which names of PyTorch, and what is done with them."""

    def __init__(self, scan: Scan, file: str, tree: ast.Module) -> None:
        self.scan, self.file, self.tree = scan, file, tree
        # a variable of the file: the name of PyTorch that it stands for
        self.known: dict[str, str] = {}
        self.guarded = 0
        self.further: list[str] = []
        self.said: set[tuple[int, str]] = set()
        own = {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        own |= {
            a.arg
            for n in ast.walk(tree)
            if isinstance(n, ast.arguments)
            for a in (*n.args, *n.kwonlyargs, *n.posonlyargs)
        }
        self.own = own  # names that the file binds otherwise, too: what they are is not known

    def visit_all(self) -> list[str]:
        """Look at the file; returns the files that it imports."""
        self.visit(self.tree)
        return self.further

    # ---- imports -------------------------------------------------------------------------------
    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            first, _, rest = alias.name.partition(".")
            if first in _ROOTS:
                name = f"torch.{rest}" if rest else "torch"
                self._use(name, node)
                self.known[alias.asname or first] = name if alias.asname else "torch"
            else:
                self._follow(alias.name, 0)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        first, _, rest = module.partition(".")
        if node.level == 0 and first in _ROOTS:
            module = f"torch.{rest}" if rest else "torch"
            if not self._use(module, node):
                return
            for alias in node.names:
                if alias.name != "*":
                    self._use(f"{module}.{alias.name}", node)
                    self.known[alias.asname or alias.name] = f"{module}.{alias.name}"
            return
        self._follow(module, node.level)
        for alias in node.names:
            self._follow(f"{module}.{alias.name}".strip("."), node.level, quiet=True)

    def _follow(self, module: str, level: int, quiet: bool = False) -> None:
        found = list(self.scan.beside(module, self.file, level))
        self.further += found
        top = module.partition(".")[0]
        if (
            not found
            and not level
            and not quiet
            and not self.guarded
            and top
            and top not in sys.stdlib_module_names
        ):
            try:
                there = top in sys.modules or importlib.util.find_spec(top) is not None
            except (ImportError, ValueError):
                there = False
            if not there and not os.path.exists(os.path.join(self.scan.folder, top)):
                self.scan.not_installed[top] = None

    # ---- code that asks first ------------------------------------------------------------------
    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        asks = any(
            isinstance(n, (ast.Name, ast.Attribute)) and _last(n) in _GUARDS
            for n in ast.walk(node.test)
        )
        self.guarded += asks
        for statement in node.body:
            self.visit(statement)
        self.guarded -= asks
        for statement in node.orelse:
            self.visit(statement)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        asks = any(
            isinstance(n, (ast.Name, ast.Attribute)) and _last(n) in _GUARDS
            for n in ast.walk(node.test)
        )
        self.guarded += asks
        self.visit(node.body)
        self.guarded -= asks
        self.visit(node.orelse)

    def visit_Try(self, node: ast.Try) -> None:
        caught = {
            _last(n)
            for h in node.handlers
            for n in (ast.walk(h.type) if h.type is not None else ())
        }
        catches = bool(caught & _CATCHES) or any(h.type is None for h in node.handlers)
        self.guarded += catches
        for statement in node.body:
            self.visit(statement)
        self.guarded -= catches
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    # ---- uses ----------------------------------------------------------------------------------
    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self._name(node)
        if name is not None:
            self._use(name, node)
            return
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self.known and node.id not in self.own:
            self._use(self.known[node.id], node)

    def visit_Call(self, node: ast.Call) -> None:
        name = self._name(node.func)
        if name is not None:
            if self._use(name, node.func):
                self._call(name, node)
        else:
            self.visit(node.func)
            self._method(node)
        for part in (*node.args, *node.keywords):
            self.visit(part)

    def _call(self, name: str, node: ast.Call) -> None:
        """Hold the keywords of a call against the signature, and its device against those that are
        here.
        """
        target = _object(name)
        if name == "torch.device" and node.args and _is_cuda(node.args[0]):
            self._cuda(node)
        for keyword in node.keywords:
            if keyword.arg == "device" and _is_cuda(keyword.value):
                self._cuda(node)
        if _refuses(target):
            self._problem(node, name, f"{name} is not supported: it raises when it is called")
            return
        accepted = _keywords(target)
        for keyword in node.keywords:
            if accepted is not None and keyword.arg is not None and keyword.arg not in accepted:
                self._problem(
                    node,
                    f"{name}({keyword.arg}=)",
                    f"{name} does not take the argument {keyword.arg}=",
                )

    def _method(self, node: ast.Call) -> None:
        """A method of something unknown: told when it asks for a device, or when a tensor's method
        of this name only raises.
        """
        if not isinstance(node.func, ast.Attribute) or _last(node.func.value) in (
            "self",
            "cls",
            "np",
        ):
            return
        name = node.func.attr
        if name == "cuda":
            self._cuda(node, ".cuda()")
        elif name == "to" and node.args and _is_cuda(node.args[0]):
            self._cuda(node)
        elif _refuses(getattr(Tensor, name, None)):
            self._problem(
                node,
                f"Tensor.{name}",
                f"Tensor.{name} is not supported: it raises when it is called",
            )

    def _cuda(self, node: ast.AST, what: str = "device 'cuda'") -> None:
        self._problem(
            node,
            "cuda",
            f"{what} is not available: Pellucid runs on the CPU; ask torch.cuda.is_available() first",
        )

    def _name(self, node: ast.AST) -> str | None:
        """The dotted name under `torch` that an expression stands for."""
        parts = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.known or node.id in self.own:
            return None
        return ".".join([self.known[node.id], *reversed(parts)])

    def _use(self, name: str, node: ast.AST) -> bool:
        """Whether the name is there; a problem is noted if not."""
        self.scan.names.add(name)
        found = _object(name)
        if found is _NOTHING:
            self._problem(node, name, f"{name} is not supported{_close(name)}")
        return found is not _NOTHING

    def _problem(self, node: ast.AST, name: str, text: str) -> None:
        line = getattr(node, "lineno", 1)
        # Names are looked up whole: of torch.a.b.c one problem is enough.
        if self.guarded or (line, name) in self.said:
            return
        self.said.add((line, name))
        self.scan.problems.append(Problem(self.file, line, name, text))


_NOTHING = object()


@cache
def _object(name: str) -> Any:
    """What a dotted name means under the alias `torch`; _NOTHING when it is not there. Attributes
    of values are taken for there.
    """
    here: Any = as_torch()
    path = "torch"
    for part in name.split(".")[1:]:
        path += f".{part}"
        found = getattr(here, part, _NOTHING)
        if found is _NOTHING and isinstance(here, ModuleType):
            try:
                found = importlib.import_module(path)
            except ImportError:
                return _NOTHING
        elif found is _NOTHING:
            return _NOTHING if isinstance(here, type) else None
        if not isinstance(found, (ModuleType, type)) and not callable(found):
            return found  # a value (torch.float32, torch.ops): what it has is not looked at
        here = found
    return here


def _close(name: str) -> str:
    """What may be meant."""
    parent, _, leaf = name.rpartition(".")
    owner = _object(parent)
    if owner is _NOTHING or owner is None:
        return ""
    close = difflib.get_close_matches(
        leaf, [n for n in dir(owner) if not n.startswith("_")], n=2, cutoff=0.75
    )
    return f" (close names: {', '.join(f'{parent}.{n}' for n in close)})" if close else ""


def _keywords(target: Any) -> set[str] | None:
    """The keywords that a call takes; None when all or unknown."""
    try:
        parameters = inspect.signature(target).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    if not isinstance(target, type) and all(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return (
        {p.name for p in parameters}
        | set(NUMPY_NAMES)
        | {"out", "dtype", "device", "layout", "requires_grad", "pin_memory"}
    )


@cache
def _refuses(target: Any) -> bool:
    """Whether a function does nothing but raise."""
    if not inspect.isfunction(target):
        return False
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(target))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return False
    body = list(getattr(tree, "body", ()))
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    return len(body) == 1 and isinstance(body[0], ast.Raise)


def _last(node: ast.AST) -> str:
    return (
        node.attr
        if isinstance(node, ast.Attribute)
        else node.id
        if isinstance(node, ast.Name)
        else ""
    )


def _is_cuda(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and value.partition(":")[0] in ("cuda", "mps", "xpu")
