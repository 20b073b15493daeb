"""A check's result as text, JSON, SARIF 2.1.0 (OASIS) or GitHub's workflow commands."""

from __future__ import annotations

import html
import json
import linecache
import os
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .._version import __version__
from ..core.display.notebook import cell_of, place
from .rule import Finding, all_rules

FORMATS = ("text", "json", "sarif", "github")


def wants_colour(stream: Any) -> bool:
    """Whether to color what is written to a stream: to a terminal, unless NO_COLOR is set
    (no-color.org); FORCE_COLOR colors always.
    """
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or bool(getattr(stream, "isatty", bool)())


def render(result: Any, format: str, indent: int | None = None, colour: bool = False) -> str:
    """The result in one of `FORMATS`, with a newline at the end; JSON on one line unless `indent`
    is given.
    """
    if format == "json":
        return json.dumps(result.as_dict(), indent=indent) + "\n"
    if format == "sarif":
        return json.dumps(as_sarif(result), indent=indent) + "\n"
    if format == "github":
        return "".join(_github(f) for f in result.findings)
    if format == "text":
        return as_text(result, colour) + "\n"
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")


def shown_path(file: str) -> str:
    """A path relative to the current folder when it lies below it."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative


_COLOURS = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "place": "1",
    "source": "2",
    "fix": "32",
}


def as_text(result: Any, colour: bool = False) -> str:
    """The findings as paragraphs, the count last; with `colour`, as terminals show it."""

    def painted(kind: str, text: str) -> str:
        return f"\033[{_COLOURS[kind]}m{text}\033[0m" if colour else text

    parts = []
    for f in result.findings:
        where = place(f.file, f.line, shown_path(f.file))
        lines = [
            f"{painted('place', where)}: {painted(f.severity, f.severity)} {f.rule} [{f.name}]"
        ]
        source = linecache.getline(f.file, f.line).strip()
        if source:
            lines.append(painted("source", f"    > {source}"))
        lines += [
            textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="    ")
            for line in f.message.splitlines()
        ]
        if f.evidence:
            lines.append(
                textwrap.fill(
                    f"seen: {_seen(f)}", 100, initial_indent="    ", subsequent_indent="          "
                )
            )
        if f.fix:
            fix = [
                textwrap.fill(
                    line,
                    100,
                    initial_indent="    fix: " if k == 0 else "         ",
                    subsequent_indent="         ",
                )
                for k, line in enumerate(f.fix.splitlines())
            ]
            lines += [painted("fix", line) for line in "\n".join(fix).splitlines()]
        parts.append("\n".join(lines))
    parts += [f"note: {note}" for note in result.notes]
    steps = f"{result.steps} optimizer step{'s' if result.steps != 1 else ''}"
    if result.ranks:
        steps += f" of {result.ranks} rank{'s' if result.ranks != 1 else ''}"
    count = len(result.findings)
    if count:
        errors = len(result.errors)
        parts.append(
            f"pellucid check: {count} finding{'s' if count != 1 else ''} ({errors} of severity error) in {steps}"
        )
    else:
        parts.append(f"pellucid check: no findings in {steps}")
    return "\n\n".join(parts)


def _seen(finding: Any) -> str:
    """The evidence on one line, with paths below the current folder shown relative to it."""
    parts = [f"{k.replace('_', ' ')}: {_short(v)}" for k, v in finding.evidence.items()]
    return ", ".join(parts).replace(os.getcwd() + os.sep, "")


def as_html(result: Any) -> str:
    """The findings as a notebook shows them."""
    colours = {"error": "#c62828", "warning": "#b26a00", "info": "#00695c"}
    parts = []
    for f in result.findings:
        where = place(f.file, f.line, shown_path(f.file))
        source = html.escape(linecache.getline(f.file, f.line).strip())
        seen = _seen(f)
        parts.append(
            f"<div style='border-left:4px solid {colours[f.severity]};padding:2px 10px;margin:8px 0'>"
            f"<b style='color:{colours[f.severity]}'>{f.severity} {f.rule}</b> {html.escape(f.name)} "
            f"<span style='opacity:.7'>{html.escape(where)}</span>"
            + (f"<pre style='margin:4px 0'>{source}</pre>" if source else "")
            + f"<div>{html.escape(f.message)}</div>"
            + (f"<div style='opacity:.7'>seen: {html.escape(seen)}</div>" if seen else "")
            + (
                f"<div><b>fix:</b> <span style='white-space:pre-wrap'>{html.escape(f.fix)}</span></div>"
                if f.fix
                else ""
            )
            + "</div>"
        )
    parts += [f"<div style='opacity:.7'>note: {html.escape(note)}</div>" for note in result.notes]
    return "".join(parts) + f"<div>{html.escape(as_text(result).splitlines()[-1])}</div>"


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and all(isinstance(v, (int, float, str)) for v in value):
        shown = [_short(v) for v in value[:8]]
        return f"({', '.join(shown)}{', ...' if len(value) > 8 else ''})"
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."


_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB = {"error": "error", "warning": "warning", "info": "notice"}


def as_sarif(result: Any) -> dict[str, Any]:
    """The result as a SARIF 2.1.0 log with one run."""
    kinds = {kind.slug: kind for kind in all_rules()}
    used = sorted({f.name for f in result.findings})
    rules = []
    for name in used:
        kind = kinds[name]
        rules.append(
            {
                "id": kind.id,
                "name": name,
                "shortDescription": {"text": kind.summary},
                "defaultConfiguration": {"level": _LEVELS[kind.severity]},
            }
        )
    results = []
    for f in result.findings:
        cell, line = cell_of(f.file, f.line)
        text = (
            ("" if cell is None else f"Cell {cell}: ")
            + f.message
            + (f"\nFix: {f.fix}" if f.fix else "")
        )
        results.append(
            {
                "ruleId": f.rule,
                "ruleIndex": used.index(f.name),
                "level": _LEVELS[f.severity],
                "message": {"text": text},
                "locations": [
                    {
                        "physicalLocation": {
                            "artifactLocation": _artifact(f.file),
                            "region": {"startLine": max(line, 1)},
                        }
                    }
                ],
                "properties": {"name": f.name, "evidence": f.evidence},
            }
        )
    driver = {"name": "pellucid check", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}
        ],
    }


def _artifact(file: str) -> dict[str, str]:
    """Where a file is: relative to the folder that the check ran in when it lies below it."""
    shown = shown_path(file)
    if os.path.isabs(shown):
        return {"uri": Path(shown).as_uri()}
    return {"uri": quote(shown.replace(os.sep, "/")), "uriBaseId": "%SRCROOT%"}


def _github(f: Finding) -> str:
    def escaped(text: str, inside: str = "") -> str:
        text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        return text.replace(":", "%3A").replace(",", "%2C") if inside else text

    cell, line = cell_of(f.file, f.line)
    text = ("" if cell is None else f"Cell {cell}: ") + f.message + (f"\n{f.fix}" if f.fix else "")
    place = f"file={escaped(shown_path(f.file), 'property')},line={line},title={escaped(f'{f.rule} {f.name}', 'property')}"
    return f"::{_GITHUB[f.severity]} {place}::{escaped(text)}\n"
