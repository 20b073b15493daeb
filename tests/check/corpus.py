"""Measures `pellucid check` on a folder of planted bugs: how many are found at their line, and what
is said of programs without one.

    python tests/check/corpus.py tests/check/planted/second [--engine torch] [--only PATTERN] [--json FILE]

In the folder (and those below it) a file with lines that end in `# BUG family` has a bug of that
family (`# BUG a|b` where either name is right); where several lines could be changed all are
marked, and a finding at any of them counts, anywhere in the same statement. `NAME_fixed.py` and
`clean_*.py` are correct programs: any finding there is a false alarm.
"""

import argparse
import ast
import fnmatch
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

MARK = re.compile(r"#\s*BUG:?\s+([\w|-]+)")
AT_ONCE = 40  # scripts per interpreter


def marks(path):
    """[(line, families)] of a script's planted bugs."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        (number, found[1].split("|"))
        for number, line in enumerate(lines, 1)
        if (found := MARK.search(line))
    ]


def statement(path, line):
    """(first line, last line) of the statement at a line; of a compound one only its head."""
    best = (line, line)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            if node.lineno <= line <= last and (best == (line, line) or node.lineno >= best[0]):
                best = (node.lineno, last)
    return best


def checked(paths, engine):
    """{path: result of `batch.check_one`}."""
    results = {}
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    environment.pop("PELLUCID_CHECK", None)
    for k in range(0, len(paths), AT_ONCE):
        part = [str(path) for path in paths[k : k + AT_ONCE]]
        command = [sys.executable, str(Path(__file__).parent / "batch.py"), engine, *part]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise SystemExit(done.stderr[-4000:])
        results |= json.loads(done.stdout.splitlines()[-1])
    return results


def judge(path, result):
    """[(family, verdict, lines, findings)] for each family planted: "found" at one of its marks,
    "elsewhere" (only the line is wrong), "other" (some other finding) or "missed"."""
    findings = [(f["name"], f["line"]) for f in result["findings"]]
    names = {name for name, _ in findings}
    judged = []
    for families in dict.fromkeys(tuple(families) for _, families in marks(path)):
        places = [statement(path, line) for line, named in marks(path) if tuple(named) == families]
        if any(
            name in families and first <= at <= last
            for name, at in findings
            for first, last in places
        ):
            verdict = "found"
        elif names & set(families):
            verdict = "elsewhere"
        else:
            verdict = "other" if names else "missed"
        judged.append(
            (
                families[0],
                verdict,
                [line for line, named in marks(path) if tuple(named) == families],
                findings,
            )
        )
    return judged


def main(arguments):
    """Check the folder and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", choices=("pellucid", "torch"), default="pellucid")
    parser.add_argument(
        "--only", default="*", help="pattern of names, or of families with a leading '@'"
    )
    parser.add_argument("--json", type=Path, help="write all results to a file")
    options = parser.parse_args(arguments)
    paths = sorted(options.folder.rglob("*.py"))
    if options.only.startswith("@"):
        wanted = [
            p.stem
            for p in paths
            if any(fnmatch.fnmatch(f, options.only[1:]) for _, fs in marks(p) for f in fs)
        ]
        paths = [p for p in paths if p.stem.removesuffix("_fixed") in wanted]
    else:
        paths = [p for p in paths if fnmatch.fnmatch(p.stem, options.only)]
    results = checked(paths, options.engine)
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    families, told = {}, []
    alarms = bugs = correct = 0
    for path in paths:
        result = results[str(path)]
        extra = [f"    note: {note}" for note in result["notes"]]
        if not marks(path):
            correct += 1
            alarms += bool(result["findings"])
            if result["findings"] or extra:
                told += [
                    f"false alarm  {path.name}",
                    *(f"    {f['line']}: {f['name']}: {f['message']}" for f in result["findings"]),
                ]
            if result["failure"]:
                told += [
                    f"fails        {path.name}",
                    "    " + result["failure"].strip().splitlines()[-1],
                ]
            told += extra
            continue
        for family, verdict, lines, findings in judge(path, result):
            bugs += 1
            families.setdefault(family, Counter())[verdict] += 1
            if verdict != "found":
                seen = ", ".join(f"{name} at {at}" for name, at in findings) or "nothing"
                told.append(
                    f"{verdict:<12} {path.name}:{','.join(map(str, lines))} {family}; said: {seen}"
                )
        told += [f"{path.name}", *extra] if extra else []
    print("\n".join(told))
    print(f"\n{'family':<32}{'bugs':>5}{'found':>7}{'elsewhere':>11}{'other':>7}{'missed':>8}")
    total = Counter()
    for family, counts in sorted(families.items()):
        total += counts
        print(
            f"{family:<32}{counts.total():>5}" + "".join(f"{counts[v]:>{w}}" for v, w in _COLUMNS)
        )
    print(f"{'all':<32}{bugs:>5}" + "".join(f"{total[v]:>{w}}" for v, w in _COLUMNS))
    print(f"correct programs: {correct}, with findings: {alarms}")


_COLUMNS = (("found", 7), ("elsewhere", 11), ("other", 7), ("missed", 8))

if __name__ == "__main__":
    main(sys.argv[1:])
