"""A check's result as text, JSON, SARIF 2.1.0 (OASIS) or GitHub's workflow commands."""

from __future__ import annotations

import json
import linecache
import os
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .._version import __version__
from ..core.display.notebook import cell_of
from .rule import Finding, all_rules

FORMATS = ("text", "json", "sarif", "github")


def render(result: Any, format: str, indent: int | None = None) -> str:
    """The result in one of `FORMATS`, with a newline at the end; JSON on one line unless `indent` is given."""
    if format == "json":
        return json.dumps(result.as_dict(), indent=indent) + "\n"
    if format == "sarif":
        return json.dumps(as_sarif(result), indent=indent) + "\n"
    if format == "github":
        return "".join(_github(f) for f in result.findings)
    if format == "text":
        return as_text(result) + "\n"
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, not {format!r}")


def shown_path(file: str) -> str:
    """A path relative to the current folder when it lies below it."""
    try:
        relative = os.path.relpath(file)
    except ValueError:  # another drive
        return file
    return file if relative.startswith("..") else relative


def as_text(result: Any) -> str:
    """The findings as paragraphs, the count last."""
    parts = []
    for f in result.findings:
        cell, line = cell_of(f.file, f.line)
        where = f"{shown_path(f.file)}:{line}" if cell is None else f"{shown_path(f.file)}: cell {cell}, line {line}"
        lines = [f"{where}: {f.severity} {f.rule} [{f.name}]"]
        source = linecache.getline(f.file, f.line).strip()
        if source:
            lines.append(f"    > {source}")
        lines += [textwrap.fill(line, 100, initial_indent="    ", subsequent_indent="    ") for line in f.message.splitlines()]
        if f.evidence:
            seen = ", ".join(f"{k.replace('_', ' ')}: {_short(v)}" for k, v in f.evidence.items())
            lines.append(textwrap.fill(f"seen: {seen}", 100, initial_indent="    ", subsequent_indent="          "))
        if f.fix:
            lines += [
                textwrap.fill(line, 100, initial_indent="    fix: " if k == 0 else "         ", subsequent_indent="         ")
                for k, line in enumerate(f.fix.splitlines())
            ]
        parts.append("\n".join(lines))
    parts += [f"note: {note}" for note in result.notes]
    steps = f"{result.steps} optimizer step{'s' if result.steps != 1 else ''}"
    count = len(result.findings)
    if count:
        errors = len(result.errors)
        parts.append(f"pellucid check: {count} finding{'s' if count != 1 else ''} ({errors} of severity error) in {steps}")
    else:
        parts.append(f"pellucid check: no findings in {steps}")
    return "\n\n".join(parts)


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
        text = ("" if cell is None else f"Cell {cell}: ") + f.message + (f"\nFix: {f.fix}" if f.fix else "")
        results.append(
            {
                "ruleId": f.rule,
                "ruleIndex": used.index(f.name),
                "level": _LEVELS[f.severity],
                "message": {"text": text},
                "locations": [{"physicalLocation": {"artifactLocation": _artifact(f.file), "region": {"startLine": max(line, 1)}}}],
                "properties": {"name": f.name, "evidence": f.evidence},
            }
        )
    driver = {"name": "pellucid check", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}],
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
