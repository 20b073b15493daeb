"""`pellucid run` runs a script, module or piece of code as `python` does, except that `import
torch` is Pellucid.
"""

from __future__ import annotations

import argparse
import builtins
import importlib.util
import io
import os
import pkgutil
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from pellucid.core.source import PACKAGE, is_library
from pellucid.errors import explained
from pellucid.interop import as_torch, torch_alias
from pellucid.interop.children import as_torch_too

from ..core.display.notebook import is_notebook, source_of, traceback_of
from .command_line import (
    Enough,
    Parser,
    add_common,
    meant,
    silencing,
    split,
    stopping_after,
    target,
)
from .uncaught import with_hint

_EPILOG = """\
SCRIPT is a Python file, a notebook (.ipynb), a folder or zip file with a
__main__.py, or - for standard input. Everything after SCRIPT belongs to it.
Arguments, imports, exit status and tracebacks are those of `python SCRIPT`.

examples:
  pellucid run train.py --epochs 5
  pellucid run -m package.train --lr 0.1
  pellucid run --max-steps 20 lesson.ipynb
  pellucid run -c "import torch; print(torch.arange(3) ** 2)"
"""


def main(argv: Sequence[str]) -> int:
    """Run what the command line names; returns 0 unless it could not be found. The script's
    exceptions pass through.
    """
    parser = _parser()
    own, rest = split(parser, argv)
    options = parser.parse_args(own)
    if options.nproc_per_node is not None:
        from pellucid.distributed.run import status as launch

        kind, name = target(options, parser)
        if kind == "code":
            parser.error("--nproc_per_node needs a script or a module")
        return launch(
            [
                "--nproc_per_node",
                options.nproc_per_node,
                *(["-m"] if kind == "module" else []),
                name,
                *rest,
            ]
        )
    kind, name = target(options, parser)
    with silencing(options.quiet), stopping_after(options.max_steps), as_torch_too():
        try:
            code, module = load(kind, name, rest)
        except NotFound as error:
            print(f"pellucid: {error}", file=sys.stderr)
            return error.status
        except SyntaxError as error:
            _show_from(error, None)
            raise
        try:
            _execute(code, module)
        except Enough:
            pass
    return 0


def load(
    kind: str, name: str, arguments: list[str], alias: bool = True
) -> tuple[CodeType, ModuleType]:
    """Code and `__main__` module of a script, module or piece of code; `torch` means Pellucid
    (`alias`) and `sys` is set up from here on.

    Raises:
        NotFound: there is nothing of that name.
        SyntaxError: the code cannot be read.
    """
    if alias:
        as_torch()
    if kind == "module":
        code, module, first = _module(name)
        arguments = [module.__spec__.origin or name, *arguments]  # type: ignore[union-attr]
    elif kind == "code":
        code, module, first = (
            compile(name, "<string>", "exec", dont_inherit=True),
            _main_module(),
            "",
        )
        arguments = ["-c", *arguments]
    elif name == "-":
        code = compile(sys.stdin.buffer.read(), "<stdin>", "exec", dont_inherit=True)
        module, first = _main_module(), ""
        arguments = ["-", *arguments]
    else:
        code, module, first = _script(name)
        arguments = [name, *arguments]
    sys.argv[:] = arguments
    if not sys.flags.safe_path:
        sys.path[0] = first
    return code, module


class NotFound(Exception):
    """There is nothing to run under the name given; `status` is what `python` ends with in the same
    case.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid run",
        usage="pellucid run [options] (SCRIPT | -m MODULE | -c CODE) [ARGS ...]",
        description="Run a PyTorch script on Pellucid. Inside it, `import torch` is Pellucid.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_common(parser, "run")
    parser.add_argument(
        "--nproc_per_node",
        "--nproc-per-node",
        metavar="N",
        help="run it as N ranks of torch.distributed, as torchrun does",
    )
    return parser


def _main_module(
    path: str | None = None, loader: Any = None, spec: ModuleSpec | None = None
) -> ModuleType:
    module: Any = ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins, __loader__=loader, __spec__=spec)
    if spec is not None:
        module.__package__ = spec.parent
    if path is not None:
        module.__file__ = path
        module.__cached__ = spec.cached if spec is not None else None
    made: ModuleType = module
    return made


def _script(name: str) -> tuple[CodeType, ModuleType, str]:
    """Code, `__main__` and `sys.path[0]` for a file, or for a folder or archive that holds a
    `__main__.py`.
    """
    path = os.path.abspath(name)
    importer = pkgutil.get_importer(path)
    if importer is not None and hasattr(importer, "find_spec"):  # None for an ordinary file
        spec = importer.find_spec("__main__")
        if spec is None or spec.loader is None:
            raise NotFound(f"can't find '__main__' module in {path!r}", 1)
        archived: Any = spec.loader
        code = archived.get_code("__main__")
        return code, _main_module(spec.origin, spec.loader, spec), path
    if is_notebook(path):
        try:
            code = compile(source_of(path), path, "exec", dont_inherit=True)
        except OSError as error:
            raise _unread(path, error) from None
        module = _main_module(path)
        module.__dict__["display"] = print
        return code, module, os.path.dirname(os.path.realpath(path))
    try:
        if path.endswith(".pyc"):
            loader: Any = SourcelessFileLoader("__main__", path)
            code = loader.get_code("__main__")
        else:
            loader = SourceFileLoader("__main__", path)
            with io.open_code(path) as file:
                source = file.read()
            code = compile(source, path, "exec", dont_inherit=True)
    except OSError as error:
        raise _unread(path, error) from None
    return code, _main_module(path, loader), os.path.dirname(os.path.realpath(path))


def _unread(path: str, error: OSError) -> NotFound:
    """Python's words for a file that cannot be read, and the file that may be meant."""
    guess = meant(path) if isinstance(error, FileNotFoundError) else ""
    return NotFound(f"can't open file {path!r}: [Errno {error.errno}] {error.strerror}{guess}", 2)


def _module(name: str) -> tuple[CodeType, ModuleType, str]:
    """Code, `__main__` and `sys.path[0]` for a module found as by `python -m`."""
    first = os.getcwd()
    if not sys.flags.safe_path:
        sys.path[0] = first  # the module itself is looked for there
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        package, spec = name, _find(f"{name}.__main__")
        if spec is None:
            raise NotFound(
                f"No module named {name}.__main__; {package!r} is a package and cannot be directly executed",
                1,
            )
    loader: Any = None if spec is None else spec.loader
    code = None if spec is None or loader is None else loader.get_code(spec.name)
    if spec is None or code is None:
        raise NotFound(
            f"No module named {name}" if spec is None else f"No code object available for {name}", 1
        )
    return code, _main_module(spec.origin, spec.loader, spec), first


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise NotFound(
            f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})",
            1,
        ) from error


def _execute(code: CodeType, module: ModuleType) -> None:
    """Run the code as `__main__`. The module stays in place afterwards, for exit handlers and
    threads.
    """
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    except (SystemExit, Enough):
        raise
    except BaseException as error:
        _show_from(error, code)
        raise


def _show_from(error: BaseException, code: CodeType | None) -> None:
    """Have the traceback that ends the process begin with the script's own frame, as if `python`
    had run it.

    The exception itself goes up untouched, so that the interpreter ends in its usual way
    (KeyboardInterrupt by signal). A hook that the script has installed is called as usual, with the
    shortened traceback.
    """
    show = sys.excepthook

    def excepthook(
        kind: type[BaseException], value: BaseException, frames: TracebackType | None
    ) -> None:
        if value is error:
            frames = script_frames(frames, code, error)
            value.__traceback__ = frames
        shown(kind, value, frames, show)

    sys.excepthook = excepthook


def shown(
    kind: type[BaseException], error: BaseException, frames: TracebackType | None, show: Any = None
) -> None:
    """Show a traceback as `show` does (default: `sys.excepthook`), that of a notebook with its
    cells.
    """
    if any(is_notebook(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(frames)):
        print(traceback_of(error, frames), end="", file=sys.stderr)
    else:
        (show or sys.excepthook)(kind, error, frames)


def script_frames(
    frames: TracebackType | None, code: CodeType | None, error: BaseException | None = None
) -> TracebackType | None:
    """The part of a traceback from the script's module frame on, without the frames of the torch
    alias at its end.

    An error that Pellucid explains needs no frames of the library below the user's line, so they
    are left out.
    """
    while frames is not None and frames.tb_frame.f_code is not code:
        frames = frames.tb_next
    ours = error is not None and explained(with_hint(error))
    here = last = frames
    while here is not None:
        file = here.tb_frame.f_code.co_filename
        if file != torch_alias.__file__ and not (ours and is_library(file)):
            last = here
        here = here.tb_next
    if last is not None:
        last.tb_next = None
    return own_frames(frames) if ours else frames


def own_frames(frames: TracebackType | None) -> TracebackType | None:
    """A traceback without Pellucid's own frames."""
    kept = []
    while frames is not None:
        if not frames.tb_frame.f_code.co_filename.startswith(PACKAGE):
            kept.append(frames)
        frames = frames.tb_next
    whole: TracebackType | None = None
    for one in reversed(kept):
        whole = TracebackType(whole, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return whole
