"""Hold the counts of a conformance run to the numbers that were reached before.

    python tools/conformance_floor.py RESULT.json FLOOR.json            # fails where a count fell
    python tools/conformance_floor.py RESULT.json FLOOR.json --raise    # writes higher counts into FLOOR.json

RESULT.json is what the comparison with PyTorch's operator database wrote. FLOOR.json holds one
number per count; the number of failing checks is not held, so that more samples of a hard operator
never look like a step back.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PARTS = ("forward", "grad", "second_order", "variants", "errors_refused")


def counts(report: dict[str, Any]) -> dict[str, int]:
    """Take the counts of the core operators out of a report: operators present and passing, checks
    passed by part.
    """
    core = report["core"]
    found = {"present": core["present"], "ok": core["ok"]}
    found.update({part: core[part]["checks_passed"] for part in PARTS})
    return found


def fallen(found: dict[str, int], floor: dict[str, int]) -> list[str]:
    """Return one sentence for each count that lies under its floor; a count without a floor is a
    mistake in the file.
    """
    missing = sorted(found.keys() - floor.keys())
    if missing:
        raise ValueError(f"the floor has no number for: {', '.join(missing)}")
    return [
        f"{name}: {found[name]}, was {floor[name]}" for name in found if found[name] < floor[name]
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare, print a table, and return 1 where a count fell or the run was cut short."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("floor", type=Path)
    parser.add_argument(
        "--raise", dest="lift", action="store_true", help="write the counts that are higher now"
    )
    args = parser.parse_args(argv)

    report = json.loads(args.result.read_text())
    if not report["finished"]:
        print("the conformance run did not finish", file=sys.stderr)
        return 1
    found = counts(report)
    floor = json.loads(args.floor.read_text())
    for name, value in found.items():
        print(f"{name:10} {value:6}  floor {floor.get(name, 0):6}")
    failures = fallen(found, floor)
    for failure in failures:
        print(f"FELL  {failure}", file=sys.stderr)
    if args.lift and not failures:
        args.floor.write_text(json.dumps(found, indent=2) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
