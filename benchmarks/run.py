"""Run every benchmark file of this folder, one after the other, each in a process of its own.

python benchmarks/run.py [--json FOLDER] [options of a single benchmark, see
`python benchmarks/NAME.py --help`]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
HELPERS = {"harness.py", "run.py"}


def benchmarks() -> list[Path]:
    """The files that hold benchmarks, by name."""
    return sorted(
        path
        for path in HERE.glob("*.py")
        if path.name not in HELPERS and not path.name.startswith("_")
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run them; returns the number of files that failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--json", type=Path, metavar="FOLDER", help="write one JSON file per benchmark there"
    )
    args, rest = parser.parse_known_args(argv)
    failures = 0
    for path in benchmarks():
        command = [sys.executable, str(path), *rest]
        if args.json is not None:
            args.json.mkdir(parents=True, exist_ok=True)
            command += ["--json", str(args.json / f"{path.stem}.json")]
        print(f"\n== {path.stem}", flush=True)
        failures += subprocess.run(command, cwd=HERE).returncode != 0
    return failures


if __name__ == "__main__":
    sys.exit(main())
