"""The scripts under `scripts/<slug>/`: which there are, what is expected of them, and all of them
checked at once.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
ALL = os.environ.get("PELLUCID_TEST_SCRIPTS") == "all"
CASES = sorted(f"{path.parent.name}/{path.stem}" for path in SCRIPTS.glob("*/*.py"))

_spec = importlib.util.spec_from_file_location(
    "rule_examples", HERE.parents[1] / "tools" / "docs" / "rule_examples.py"
)
rule_examples = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(rule_examples)


def few():
    """The cases that `make test` runs: for each rule the one that its page shows, and a correct
    one. `make oracle` runs every fourth besides, on both engines; both run all with
    PELLUCID_TEST_SCRIPTS=all.
    """
    if ALL:
        return CASES
    correct = {}
    for case in CASES:
        slug, _, name = case.partition("/")
        if name.startswith("ok_"):
            correct.setdefault(slug, case)
    pages = [f"{slug}/buggy_{name}" for slug, name in rule_examples.SHOWN.items()]
    return sorted({*pages, *correct.values()} & {*CASES})


CORRECT = sorted((HERE / "correct").glob("*.py"))
EXAMPLES = sorted((HERE.parents[1] / "examples").glob("*.py"))
MARK = re.compile(r"# <- finding(?:: ([\w, -]+))?")


@lru_cache(maxsize=2)
def checked(engine, cases=tuple(CASES), identities=None):
    """What the check finds in scripts, correct programs and examples: {case: result of
    `batch.check_one`}. With `identities` in the scripts alone, and with such an `id`.
    """
    paths = {}
    if identities is None:
        paths |= {f"{path} --quick": path.stem for path in EXAMPLES}  # first: they take longest
        paths |= {str(path): path.stem for path in CORRECT}
    paths |= {str(SCRIPTS / f"{case}.py"): case for case in cases}
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
    }
    environment.pop("PELLUCID_CHECK", None)
    environment["PELLUCID_TEST_IDS"] = identities or ""
    command = [sys.executable, str(HERE / "batch.py"), engine, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment)
    assert done.returncode == 0, done.stderr[-4000:]
    return {
        paths[path]: result for path, result in json.loads(done.stdout.splitlines()[-1]).items()
    }


def expected_findings(case):
    """[(rule, line)], lines from 1, of `# <- finding` (of the folder's rule) and
    `# <- finding: rule, rule`.
    """
    slug, _ = case.split("/")
    text = (SCRIPTS / f"{case}.py").read_text(encoding="utf-8")
    marks = [
        (number, found)
        for number, line in enumerate(text.splitlines(), 1)
        if (found := MARK.search(line))
    ]
    return sorted(
        (name.strip(), number) for number, found in marks for name in (found[1] or slug).split(",")
    )


def complaint(case, engine, *cases):
    """What is wrong with the result for a script; None when it is as expected.

    A buggy script must give its rule's finding on every marked line and nothing else; a correct one
    nothing at all. A script may fail (end with an exception) only when it is buggy.
    """
    name = case.split("/")[1]
    result = checked(engine, *cases)[case]
    found = sorted((f["name"], f["line"]) for f in result["findings"])
    expected = expected_findings(case)
    if result["notes"]:
        return f"notes: {result['notes']}"
    if name.startswith("buggy") and not expected:
        return "no line is marked"
    if not name.startswith("buggy") and (expected or result["failure"]):
        return f"marked lines {expected}, failure {result['failure']}"
    if found != expected:
        return (
            f"found {found}, expected {expected}\n"
            + json.dumps(result["findings"], indent=2)
            + (result["failure"] or "")
        )
    return None
