"""Which rules run and their severity: options, `PELLUCID_CHECK`, `[tool.pellucid.check]` in
pyproject.toml, comments in the code.

Options take precedence over the environment variable, and that over pyproject.toml.
"""

from __future__ import annotations

import fnmatch
import linecache
import os
import re
import tokenize
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

SEVERITIES = ("error", "warning", "info")
ENVIRONMENT = "PELLUCID_CHECK"
_COMMENT = re.compile(r"#\s*pellucid:\s*(ignore-file|ignore)(?![\w-])\s*(?:\[([^\]]*)\])?")


class SettingsError(ValueError):
    """A setting that means nothing; the message says where it stands."""


@dataclass(slots=True)
class Settings:
    """Which rules run, and how severe their findings are.

    Attributes:
        select, ignore: rules by name, identifier or the beginning of an identifier. Without `select`, all rules run.
        severities: other severities by rule.
        per_file: rules to ignore by pattern of file names.
        root: the folder that these patterns start from.

    >>> from pellucid.check import Settings
    >>> settings = Settings(select=("PL3",), ignore=("missing-zero-grad",))
    >>> settings.selected("missing-zero-grad", "PL301"), settings.selected("lr-absurd", "PL311")
    (False, True)
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severities: dict[str, str] = field(default_factory=dict)
    per_file: dict[str, tuple[str, ...]] = field(default_factory=dict)
    root: Path | None = None  # the folder that patterns of files are relative to

    def selected(self, slug: str, id: str) -> bool:
        """Whether a rule runs."""
        if self.select and not any(names(word, slug, id) for word in self.select):
            return False
        return not any(names(word, slug, id) for word in self.ignore)

    def severity(self, slug: str, id: str) -> str | None:
        """The severity that was asked for, or None."""
        return next(
            (level for word, level in self.severities.items() if names(word, slug, id)), None
        )

    def silenced(self, finding: Any) -> bool:
        """Whether a comment or a pattern of files silences a finding."""
        for pattern, words in self.per_file.items():
            if any(names(word, finding.name, finding.rule) for word in words) and self._matches(
                finding.file, pattern
            ):
                return True
        whole, lines = comments(finding.file)
        for silent in (whole, lines.get(finding.line), lines.get(-finding.line)):
            if silent is not None and (
                not silent or any(names(word, finding.name, finding.rule) for word in silent)
            ):
                return True
        return False

    def _matches(self, file: str, pattern: str) -> bool:
        path = Path(os.path.abspath(file))
        names = [path.name, path.as_posix()]
        if self.root is not None and path.is_relative_to(self.root):
            names.append(path.relative_to(self.root).as_posix())
        return any(fnmatch.fnmatch(name, pattern) for name in names)


def names(word: str, slug: str, id: str) -> bool:
    """Whether a word names a rule: its slug, its identifier or the beginning of it, or "ALL"."""
    return word == slug or word == "ALL" or (word[:2].isupper() and id.startswith(word))


@lru_cache(maxsize=256)
def comments(file: str) -> tuple[tuple[str, ...] | None, dict[int, tuple[str, ...]]]:
    """(rules silenced in the whole file, by line those silenced there); an empty tuple silences
    all, None nothing.

    A comment on a line of its own speaks for the next line of code, which is noted under its
    negative number.
    """
    whole: tuple[str, ...] | None = None
    lines: dict[int, tuple[str, ...]] = {}
    text = linecache.getlines(file)
    if not any("pellucid:" in line for line in text):
        return whole, lines
    waiting: list[tuple[str, ...]] = []
    try:
        for token in tokenize.generate_tokens(iter([*text, ""]).__next__):
            if token.type == tokenize.COMMENT:
                match = _COMMENT.match(token.string)
                if match is None:
                    continue
                words = tuple(w.strip() for w in (match[2] or "").split(",") if w.strip())
                if match[1] == "ignore-file":
                    whole = (
                        words
                        if whole is None
                        else (() if not whole or not words else whole + words)
                    )
                elif token.line[: token.start[1]].strip():
                    lines[token.start[0]] = words
                else:
                    waiting.append(words)
            elif waiting and token.type not in (
                tokenize.NL,
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
            ):
                lines[-token.start[0]] = (
                    () if () in waiting else tuple(w for words in waiting for w in words)
                )
                waiting = []
    except (tokenize.TokenError, IndentationError, SyntaxError, StopIteration):
        pass
    return whole, lines


def words(text: str | Iterable[str] | None, where: str) -> tuple[str, ...]:
    """A list of rules: an array of strings, or one string of comma-separated names."""
    if text is None:
        return ()
    if isinstance(text, str):
        return tuple(w.strip() for w in text.split(",") if w.strip())
    if not isinstance(text, (list, tuple)) or not all(isinstance(w, str) for w in text):
        raise SettingsError(f"{where} must be a list of names of rules, not {text!r}")
    return tuple(text)


def read_settings(
    script: str | None = None,
    select: str | None = None,
    ignore: str | None = None,
    environment: Any = None,
) -> Settings:
    """Return the settings for a script. Later sources win: the nearest pyproject.toml, the environment variable, the options given here.

    `PELLUCID_CHECK` is a comma-separated list of rules to run; a minus sign leaves a rule out: `PELLUCID_CHECK="-dead-units,-PL6"`.

    Raises:
        SettingsError: an unknown key or severity, or a setting of the wrong type.

    >>> import pellucid as torch
    >>> from pellucid.check import read_settings
    >>> read_settings(ignore="dead-units", environment={"PELLUCID_CHECK": "-PL6"}).ignore
    ('PL6', 'dead-units')
    """
    settings = _from_pyproject(Path(os.path.abspath(script or ".")))
    given = words(
        (os.environ if environment is None else environment).get(ENVIRONMENT), ENVIRONMENT
    )
    plus = tuple(w for w in given if not w.startswith("-"))
    minus = tuple(w[1:] for w in given if w.startswith("-"))
    if plus:
        settings.select = plus
    settings.ignore += minus
    if select is not None:
        settings.select = words(select, "--select")
    if ignore is not None:
        settings.ignore += words(ignore, "--ignore")
    return settings


def _from_pyproject(start: Path) -> Settings:
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if file.is_file():
            break
    else:
        return Settings()
    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file}: {error}") from None
    table = table.get("tool", {}).get("pellucid", {}).get("check", {})
    known = ("select", "ignore", "severity", "per-file-ignores")
    for key in table:
        if key not in known:
            raise SettingsError(
                f"{file}: [tool.pellucid.check] has no setting {key!r}; there are {', '.join(known)}"
            )
    severities = table.get("severity", {})
    for word, level in severities.items():
        if level not in SEVERITIES:
            raise SettingsError(
                f"{file}: the severity of {word!r} must be one of {', '.join(SEVERITIES)}, not {level!r}"
            )
    per_file = {
        pattern: words(list_, f"{file}: per-file-ignores")
        for pattern, list_ in table.get("per-file-ignores", {}).items()
    }
    return Settings(
        words(table.get("select"), f"{file}: select"),
        words(table.get("ignore"), f"{file}: ignore"),
        severities,
        per_file,
        file.parent,
    )
