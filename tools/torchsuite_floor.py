"""Hold a run of PyTorch's own unit tests to what was reached before.

    python tools/torchsuite_floor.py REPORT.json tests/oracle/torchsuite.json            # fails where a count fell or a failure is new
    python tools/torchsuite_floor.py REPORT.json tests/oracle/torchsuite.json --raise    # writes the counts, and takes out what passes now

REPORT.json is what the suite wrote. The second file holds the number of tests that pass in each
file, and the reason of each that does not. A failure without a reason is an error: it is mended, or
its reason is written down.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def failing(report: dict[str, Any]) -> dict[str, str]:
    """The error of each failing test, by `file::test`."""
    return {
        f"{part['file']}::{test}": error
        for part in report["files"]
        for test, error in part["failing"].items()
    }


def fallen(report: dict[str, Any], held: dict[str, Any]) -> list[str]:
    """One sentence for each count under its floor, and for each failure that has no reason."""
    short = [
        f"{part['file']}: {part['passed']} pass, were {held['floor'][part['file']]}"
        for part in report["files"]
        if part["passed"] < held["floor"].get(part["file"], 0)
    ]
    found = failing(report)
    return short + [
        f"{name}: {found[name]}" for name in sorted(found.keys() - held["reasons"].keys())
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print what differs, and return 1 where something fell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=Path)
    parser.add_argument("held", type=Path)
    parser.add_argument(
        "--raise", dest="lift", action="store_true", help="write the counts that are higher now"
    )
    args = parser.parse_args(argv)

    report, held = json.loads(args.report.read_text()), json.loads(args.held.read_text())
    found = failing(report)
    run = {part["file"] for part in report["files"]}
    total = sum(part["baseline"] for part in report["files"])
    print(f"{report['passed']} of {total} pass, {len(found)} fail")
    failures = fallen(report, held)
    for failure in failures:
        print(f"FELL  {failure}", file=sys.stderr)
    gone = [
        name for name in held["reasons"] if name.partition("::")[0] in run and name not in found
    ]
    for name in gone:
        print(f"passes now: {name}")
    if args.lift:
        held["floor"].update(
            {
                part["file"]: max(part["passed"], held["floor"].get(part["file"], 0))
                for part in report["files"]
            }
        )
        held["reasons"] = {
            name: reason for name, reason in sorted(held["reasons"].items()) if name not in gone
        }
        args.held.write_text(json.dumps(held, indent=2) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
