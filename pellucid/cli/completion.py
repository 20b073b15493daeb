"""`pellucid completion` prints a script that completes commands, options and rule names in a shell."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence

from pellucid.check.rule import all_rules

from . import COMMANDS
from .command_line import Parser

SHELLS = ("bash", "zsh", "fish")

_EPILOG = """\
examples:
  pellucid completion bash >> ~/.bashrc
  pellucid completion zsh > ~/.zfunc/_pellucid       with fpath+=~/.zfunc before compinit
  pellucid completion fish > ~/.config/fish/completions/pellucid.fish
"""


def main(argv: Sequence[str]) -> int:
    """Print the script for the shell that is named."""
    options = _parser().parse_args(list(argv))
    print({"bash": bash, "zsh": zsh, "fish": fish}[options.shell](), end="")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="pellucid completion",
        description="Print a script that completes commands, options and rule names in your shell.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")
    return parser


def options_of(command: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The options of a command: (help text, the words that may follow; () when none or any)."""
    if command == "version":
        return {"--help": ("show the options", ())}
    parser: argparse.ArgumentParser = importlib.import_module(
        f"pellucid.cli.{command.replace('-', '_')}"
    )._parser()
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for action in parser._actions:
        words = tuple(map(str, action.choices or ()))
        if action.dest in ("select", "ignore", "explain_rule"):
            words = tuple(name for rule in all_rules() for name in (rule.slug, rule.id))
        for flag in action.option_strings:
            found[flag] = ((action.help or "").replace("%%", "%"), words)
    return found


def _words(command: str) -> list[str]:
    return [*options_of(command), *(SHELLS if command == "completion" else ())]


def bash() -> str:
    """A completion function for bash 3.2 and newer."""
    cases, values = [], []
    for command in COMMANDS:
        cases.append(f'        {command}) words="{" ".join(_words(command))}" ;;')
        for flag, (_, words) in options_of(command).items():
            if words:
                values.append(f'        {command}:{flag}) words="{" ".join(words)}"; only=1 ;;')
    return "\n".join(
        [
            "_pellucid() {",
            '    local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words="" only=""',
            '    if [ "$COMP_CWORD" -eq 1 ]; then',
            f'        COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$current"))',
            "        return",
            "    fi",
            '    case "${COMP_WORDS[1]}:$previous" in',
            *values,
            "    esac",
            '    if [ -z "$only" ]; then',
            '        case "${COMP_WORDS[1]}" in',
            *cases,
            "        esac",
            "    fi",
            '    case "$current" in',
            '        -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;',
            '        *) COMPREPLY=($(compgen -W "$words" -- "$current"))',
            '           [ -n "$only" ] || COMPREPLY+=($(compgen -f -- "$current")) ;;',
            "    esac",
            "}",
            "complete -o filenames -F _pellucid pellucid",
            "",
        ]
    )


def zsh() -> str:
    """A completion function for zsh."""
    lines = ["#compdef pellucid", "_pellucid() {", "    local -a commands", "    commands=("]
    lines += [f"        {_quoted(f'{name}:{text}')}" for name, text in COMMANDS.items()]
    lines += [
        "    )",
        "    if (( CURRENT == 2 )); then",
        "        _describe command commands",
        "        return",
        "    fi",
    ]
    lines += ["    case $words[2] in"]
    for command in COMMANDS:
        specs = []
        for flag, (text, words) in options_of(command).items():
            explained = text.replace("[", "(").replace("]", ")").replace(":", " -")
            specs.append(
                _quoted(f"{flag}[{explained}]" + (f":value:({' '.join(words)})" if words else ""))
            )
        specs.append(
            _quoted(
                f"*:argument:({' '.join(SHELLS)})" if command == "completion" else "*:file:_files"
            )
        )
        lines.append(
            f"        {command}) shift words; (( CURRENT-- )); _arguments {' '.join(specs)} ;;"
        )
    return "\n".join([*lines, "    esac", "}", '_pellucid "$@"', ""])


def fish() -> str:
    """Completions for fish."""
    lines = [
        f"complete -c pellucid -f -n __fish_use_subcommand -a {name} -d {_quoted(text)}"
        for name, text in COMMANDS.items()
    ]
    for command in COMMANDS:
        here = f"complete -c pellucid -n '__fish_seen_subcommand_from {command}'"
        for flag, (text, words) in options_of(command).items():
            kind = f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
            lines.append(
                f"{here} {kind} -d {_quoted(text)}"
                + (f" -x -a {_quoted(' '.join(words))}" if words else "")
            )
        if command == "completion":
            lines.append(f"{here} -f -a {_quoted(' '.join(SHELLS))}")
    return "\n".join([*lines, ""])


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
