"""`pellucid check FOLDER` checks every script and notebook of a folder, each in its own process,
and prints a table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_LEFT_OUT = {"__pycache__", ".ipynb_checkpoints", "node_modules", "venv"}


def is_folder(path: str) -> bool:
    """Whether a path is a folder of scripts, and not one that `python` would run."""
    return os.path.isdir(path) and not os.path.isfile(os.path.join(path, "__main__.py"))


def scripts_in(path: str) -> list[Path]:
    """The scripts and notebooks of a folder and those below it, by name; hidden folders and
    environments are left out.
    """
    found = []
    for here, folders, files in os.walk(path):
        folders[:] = sorted(
            f
            for f in folders
            if f not in _LEFT_OUT and not f.startswith(".") and not f.endswith(".egg-info")
        )
        found += [
            Path(here, f) for f in files if f.endswith((".py", ".ipynb")) and f != "__init__.py"
        ]
    return sorted(found)


def check(options: argparse.Namespace, own: Sequence[str]) -> int:
    """Check each script with the options given; returns 1 when one has an error (--strict: any
    finding) or did not run.
    """
    if options.report is not None or options.format not in ("text", "json"):
        print("pellucid check: a folder is reported as text or json", file=sys.stderr)
        return 2
    scripts = scripts_in(options.script)
    if not scripts:
        print(
            f"pellucid check: there is no .py or .ipynb file in {options.script}", file=sys.stderr
        )
        return 2
    passed = _passed(options)
    with ThreadPoolExecutor(max(options.jobs, 1)) as pool:
        rows = list(pool.map(lambda script: _checked(script, passed, options.timeout), scripts))
    for row in rows:
        row["script"] = Path(row["script"]).relative_to(options.script).as_posix()
    text = json.dumps(rows, indent=2) if options.format == "json" else table(rows)
    if options.output is not None:
        Path(options.output).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    bad = [
        row
        for row in rows
        if row["failure"] or row["errors"] or (options.strict and row["findings"])
    ]
    return int(bool(bad))


def _passed(options: argparse.Namespace) -> list[str]:
    """The options that each script is checked with."""
    passed = ["--engine", options.engine]
    for name in ("select", "ignore", "max_steps"):
        value = getattr(options, name)
        if value is not None:
            passed += [f"--{name.replace('_', '-')}", str(value)]
    return passed


def _checked(script: Path, passed: list[str], timeout: float) -> dict[str, Any]:
    """The row of one script."""
    row: dict[str, Any] = {
        "script": str(script),
        "failure": None,
        "errors": 0,
        "warnings": 0,
        "findings": [],
    }
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "findings.json")
        command = [
            sys.executable,
            "-m",
            "pellucid",
            "check",
            *passed,
            "--format",
            "json",
            "--output",
            output,
            script.name,
        ]
        try:
            done = subprocess.run(
                command,
                cwd=script.parent,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=timeout,
                env=_environment(),
            )
        except subprocess.TimeoutExpired:
            row["failure"] = f"did not end within {timeout:g} s"
            return row
        try:
            found = json.loads(Path(output).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            row["failure"] = said[-1] if said else f"ended with status {done.returncode}"
            return row
    row["findings"] = found["findings"]
    row["failure"] = found.get("failure") or (
        f"ended with status {done.returncode}" if done.returncode not in (0, 1) else None
    )
    for severity in ("error", "warning"):
        row[f"{severity}s"] = sum(f["severity"] == severity for f in row["findings"])
    return row


def _environment() -> dict[str, str]:
    """The environment of a script: without a display, so that plots do not wait for somebody to
    close them.
    """
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    return {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": path}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows, one line each, and the sums; of a notebook with cell and line."""
    cells = [("script", "result", "errors", "warnings", "rules")]
    for row in rows:
        rules = ", ".join(
            dict.fromkeys(
                f"{f['name']}:{f['line']}"
                if "cell" not in f
                else f"{f['name']} (cell {f['cell']}, line {f['line']})"
                for f in row["findings"]
            )
        )
        result = "failed" if row["failure"] else "ok" if not row["findings"] else "findings"
        what = " ".join(row["failure"].split())[:60] if row["failure"] else ""
        cells.append(
            (
                row["script"],
                result,
                str(row["errors"]),
                str(row["warnings"]),
                "; ".join(t for t in (what, rules) if t),
            )
        )
    widths = [max(len(row[k]) for row in cells) for k in range(4)]
    lines = [
        "  ".join([*(c.ljust(w) for c, w in zip(row[:4], widths, strict=True)), row[4]]).rstrip()
        for row in cells
    ]
    lines.insert(1, "-" * max(map(len, lines)))
    clean = sum(1 for row in rows if not row["findings"] and not row["failure"])
    failed = sum(1 for row in rows if row["failure"])
    return "\n".join(
        [*lines, "", f"{len(rows)} scripts: {clean} without findings, {failed} failed"]
    )
