"""`pellucid stand-in` installs a small distribution called torch, so that libraries that require
PyTorch run on Pellucid.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from pellucid._files import replacing
from pellucid.interop.children import FILES, FOLDER, VERSION

from .command_line import Parser

_INFO = f"torch-{VERSION}.dist-info"
# PyTorch's command for several ranks. Windows starts no scripts by their first line.
_COMMAND = f"""\
#!{sys.executable}
# `pellucid stand-in install` wrote this file.
import sys

from pellucid.distributed.run import status

sys.exit(status())
"""
_EPILOG = """\
With the stand-in, `pip install transformers` downloads no PyTorch, and every
program of the environment that says `import torch` gets Pellucid: scripts,
notebooks, `accelerate launch`, `torchrun`. Nothing outside of this environment
changes.
To go back: pellucid stand-in remove.

examples:
  pellucid stand-in install
  pip install transformers
  python train.py
"""


class Refused(Exception):
    """The environment is not one in which the stand-in can be put in place or taken away."""


def main(argv: Sequence[str]) -> int:
    """Install or remove it; returns 0, or 1 when it refuses."""
    action = _parser().parse_args(argv).action
    folder, scripts = (Path(sysconfig.get_path(name)) for name in ("purelib", "scripts"))
    try:
        print(install(folder, scripts) if action == "install" else remove(folder, scripts))
    except Refused as error:
        print(f"pellucid: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid stand-in",
        description="Put Pellucid in PyTorch's place in this Python environment, or take it away.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=("install", "remove"), help="what to do")
    return parser


def found(folders: Sequence[str] | None = None) -> tuple[str, Path, bool] | None:
    """Version and folder of the distribution called torch among the folders (default: `sys.path`),
    and whether it is the stand-in.
    """
    for one in metadata.distributions(
        name="torch", path=list(sys.path if folders is None else folders)
    ):
        ours = (one.read_text("INSTALLER") or "").strip() == "pellucid"
        return one.version, Path(str(one.locate_file(""))), ours
    return None


def install(folder: Path, scripts: Path) -> str:
    """Write the stand-in into a folder for packages and its command `torchrun`, unless there is one,
    into a folder for scripts; returns what to tell.

    Raises:
        Refused: PyTorch is there, or another package of the name; the folder cannot be written to.
    """
    present = found([str(folder), *sys.path])
    if present is not None and not present[2]:
        raise Refused(
            f"PyTorch {present[0]} is installed in {present[1]}; the stand-in takes its place only where there is none"
        )
    if present is None and (folder / "torch").exists():
        raise Refused(f"{folder / 'torch'} is there already and is not Pellucid's")
    if present is not None:
        remove(present[1], scripts)
    names = [*FILES, f"{_INFO}/RECORD"]
    command = scripts / "torchrun"
    try:
        if os.name == "posix" and not command.exists():
            with replacing(command) as file:
                file.write(_COMMAND.encode())
            command.chmod(0o755)
            names.append(os.path.relpath(command, folder))
        record = "".join(f"{name},,\n" for name in names)
        contents = {name: (FOLDER / name).read_bytes() for name in FILES}
        for name, content in {**contents, f"{_INFO}/RECORD": record.encode()}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                file.write(content)
    except OSError as error:
        raise Refused(f"cannot write to {folder}: {error.strerror}") from error
    return f"torch {VERSION} is in {folder}: `import torch` is Pellucid in this environment. Undo: pellucid stand-in remove"


def remove(folder: Path, scripts: Path) -> str:
    """Take the stand-in out of a folder for packages and its command out of one for scripts; returns
    what to tell.

    Raises:
        Refused: it is not there, or what is there is PyTorch.
    """
    present = found([str(folder)])
    if present is None:
        raise Refused(f"there is no stand-in in {folder}")
    if not present[2]:
        raise Refused(
            f"torch {present[0]} in {folder} is PyTorch, not the stand-in: pip uninstall torch"
        )
    for path in (folder / "torch", folder / f"torch-{present[0]}.dist-info"):
        shutil.rmtree(path, ignore_errors=True)
    command = scripts / "torchrun"
    if command.exists() and command.read_bytes() == _COMMAND.encode():
        command.unlink()
    return f"the stand-in is out of {folder}"
