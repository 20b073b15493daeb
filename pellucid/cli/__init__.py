"""The command `pellucid`: one subcommand per module of this package, each loaded when it is asked for."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from pellucid._version import __version__

COMMANDS = {
    "run": "run a PyTorch script on Pellucid, unmodified",
    "check": "run a training script under watch and report its bugs",
    "explain": "run a script under watch and explain a value of it, or its exception",
    "doctor": "show what this machine offers and whether native kernels work",
    "version": "show the version",
}

_EXAMPLES = """\
examples:
  pellucid run train.py --epochs 5    train.py says `import torch` and gets Pellucid
  pellucid run -m package.train       the same for a module
  pellucid check train.py             the same under watch: what is wrong with it, where, and the fix
  pellucid explain train.py --expr model.fc.weight.grad    why it is None, zero, huge or NaN
  pellucid doctor                     processor, BLAS, threads, kernel cache, versions
  pellucid COMMAND --help             more on one command
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: `sys.argv[1:]`) and return the exit status.

    A script started by `run` may end the process by itself; its SystemExit and its errors are passed on.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="pellucid",
        description="Deep learning with PyTorch's API on an engine you can see through.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"pellucid {__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    # What follows the command belongs to it (for `run`: to the script), so only the command itself is parsed here.
    command = parser.parse_args(arguments[:1]).command
    if command == "version":
        argparse.ArgumentParser(prog="pellucid version", description="Show the version.").parse_args(arguments[1:])
        print(f"pellucid {__version__}")
        return 0
    return importlib.import_module(f"pellucid.cli.{command}").main(arguments[1:])
