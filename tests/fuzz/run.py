"""Random programs, operations and files against Pellucid.

    python tests/fuzz/run.py                                  # every fuzzer, a minute each
    python tests/fuzz/run.py --only programs --seconds 600 --seed 7
    python tests/fuzz/run.py --only operations --cases 100000
    python tests/fuzz/run.py --replay build/fuzz/programs/wrong-value-0123456789.json

Failures are shrunk and written to build/fuzz; a case that was a fault of ours moves to
tests/fuzz/corpus when it is mended. The exit code is 1 where anything failed.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import harness


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=harness.FUZZERS,
        default=list(harness.FUZZERS),
        help="which fuzzers",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=None,
        help="time for each fuzzer (default 60 without --cases)",
    )
    parser.add_argument("--cases", type=int, default=None, help="number of cases for each fuzzer")
    parser.add_argument(
        "--seed",
        type=int,
        default=int(datetime.date.today().strftime("%Y%m%d")) * 1_000_000,
        help="default: the day",
    )
    parser.add_argument(
        "--out", type=Path, default=Path("build/fuzz"), help="where failures are written"
    )
    parser.add_argument(
        "--floor",
        type=Path,
        help="JSON with the share of failures that each fuzzer may have, crashes and hangs not included",
    )
    parser.add_argument(
        "--replay", type=Path, nargs="+", help="run stored cases (NAME/FILE.json) instead"
    )
    arguments = parser.parse_args()
    if arguments.replay:
        return replay(arguments.replay)
    failed = total = 0
    floor = json.loads(arguments.floor.read_text(encoding="utf-8")) if arguments.floor else {}
    below = True
    for name in arguments.only:
        if harness.load(name).NEEDS_TORCH and importlib.util.find_spec("torch") is None:
            print(f"{name}: needs PyTorch, left out")
            continue
        seconds = arguments.seconds or (60.0 if arguments.cases is None else 1e9)
        report = harness.fuzz(name, seconds, arguments.seed, arguments.out, arguments.cases)
        total += report.cases
        failed += sum(report.failures.values())
        grave = report.failures["hang"]
        if name not in ("operations", "trainings"):
            # in these PyTorch may have damaged memory before, in the same process
            grave += report.failures["crash"]
        if grave or sum(report.failures.values()) > floor.get(name, 0.0) * report.cases:
            below = False
        print(f"{name}: {report.cases} cases in {report.seconds:.0f} s, seed {arguments.seed}")
        for group, count in report.failures.most_common():
            print(f"    FAILED {count:6d}  {group}")
        for why, count in report.known.most_common():
            print(f"    known  {count:6d}  {why}")
        for path in report.files:
            print(f"    stored {path}")
    print(f"{total - failed} passed, {failed} {'failed' if not floor else 'differ'}")
    return int(not below)


def replay(paths: list[Path]) -> int:
    failed = 0
    for path in paths:
        fuzzer = harness.load(path.resolve().parent.name)
        print(json.dumps(json.loads(path.read_text(encoding="utf-8"))["case"], indent=1))
        text = harness.replay(fuzzer, path)
        print(f"{path}: {text or 'passes'}")
        failed += text is not None
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
