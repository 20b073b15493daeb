"""The command `pellucid`: one subcommand per module of this package, each loaded when it is asked
for.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import os
import sys
from collections.abc import Sequence

from pellucid._version import __version__

from .command_line import Parser

COMMANDS = {
    "run": "run a PyTorch script on Pellucid, unmodified",
    "check": "run a training script and report its bugs",
    "explain": "run a script, then explain one of its values or its exception",
    "compat": "list what a script uses that Pellucid does not support, without running it",
    "stand-in": "put Pellucid in PyTorch's place for all programs of this environment, or take it away",
    "torchrun": "run a script as several ranks of torch.distributed",
    "scale": "measure a script's training step, and predict it on many ranks",
    "doctor": "show the processor, BLAS, threads and versions, and test the native kernels",
    "completion": "print the completion script for bash, zsh or fish",
    "version": "show the version",
}

_EXAMPLES = """\
examples:
  pellucid run train.py --epochs 5         its `import torch` gets Pellucid
  pellucid check train.py                  report bugs: what, where, and the fix
  pellucid explain train.py --expr model.fc.weight.grad
                                           why it is None, zero, huge or NaN
  pellucid compat train.py                 what will not work, by line
  pellucid stand-in install                run libraries that require PyTorch
  pellucid COMMAND --help                  the options of one command
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line `argv` (default: `sys.argv[1:]`) and return the exit status; without
    arguments, print the help.

    A script started by `run` may end the process by itself; its SystemExit and its errors are
    passed on.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = Parser(
        prog="pellucid",
        usage="pellucid COMMAND [options]",
        description="Deep learning with PyTorch's API on an engine you can see through.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"pellucid {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True
    )
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    if not arguments:
        parser.print_help()
        return 0
    if not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        parser.error(_unknown(arguments[0]))
    # What follows the command belongs to it (for `run`: to the script), so only the command itself
    # is parsed here.
    command = parser.parse_args(arguments[:1]).command
    if command == "version":
        Parser(prog="pellucid version", description="Show the version.").parse_args(arguments[1:])
        print(f"pellucid {__version__}")
        return 0
    return importlib.import_module(f"pellucid.cli.{command.replace('-', '_')}").main(arguments[1:])


def _unknown(word: str) -> str:
    """What to say about a word that is not a command."""
    close = difflib.get_close_matches(word, COMMANDS, n=1)
    if close:
        return f"unknown command {word!r}; did you mean `pellucid {close[0]}`?"
    if word.endswith((".py", ".ipynb")) or os.path.exists(word):
        return f"unknown command {word!r}; to run a script: `pellucid run {word}`"
    return f"unknown command {word!r}; the commands are {', '.join(COMMANDS)}"
