"""`pellucid explain` on programs with one mistake each: the right cause, the user's line, sentences
and one fix.
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

CASES = runpy.run_path(str(Path(__file__).with_name("explain_scripts.py")))["CASES"]

if not hasattr(os, "fork"):
    pytest.skip("the programs are run in forked processes", allow_module_level=True)

# One process imports the library and trains once, which loads what is loaded on first use; each
# program then runs in a fork of it.
DRIVER = """
import json, os, sys, traceback
from pathlib import Path
import pellucid.api.messages.first, pellucid.api.messages.signatures, pellucid.debug
from pellucid.cli import explain
from pellucid.interop.torch_alias import as_torch
as_torch()
import torch
w = torch.ones(2, requires_grad=True)
with pellucid.debug.watch():
    scores = torch.nn.Linear(2, 3)(torch.rand(4, 2) * w).relu()
    torch.nn.functional.cross_entropy(scores, torch.zeros(4).long()).backward()
for optimizer in (torch.optim.SGD([w], 0.1), torch.optim.Adam([w], 0.1)):
    optimizer.step()
del w, scores, optimizer
folder = Path(sys.argv[1])
for name, (expr, text) in json.loads(sys.stdin.read()).items():
    script = folder / (name + ".py")
    script.write_text(text)
    if os.fork() == 0:
        try:
            value, _, question = (expr or "").partition(" --question ")
            asked = ["--exception"] if expr is None else ["--expr", value] if value else []
            asked += ["--question", question] if question else []
            status = explain.main([str(script), "--format", "json", "--output", str(folder / (name + ".json")), "--quiet", *asked])
            (folder / (name + ".status")).write_text(str(status))
        except BaseException:
            (folder / (name + ".failed")).write_text(traceback.format_exc())
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    files = {name: name.replace(" ", "_") for name in CASES}
    programs = {files[name]: (expr, text) for name, (_, expr, text) in CASES.items()}
    subprocess.run(
        [sys.executable, "-c", DRIVER, str(folder)],
        input=json.dumps(programs),
        text=True,
        check=True,
        timeout=900,
    )
    return folder, files


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_line(name, answers):
    folder, files = answers
    cause, _, text = CASES[name]
    failed = folder / f"{files[name]}.failed"
    assert not failed.exists(), failed.read_text()
    found = json.loads((folder / f"{files[name]}.json").read_text())
    assert set(found) == {"cause", "file", "line", "text", "fix"}
    assert found["cause"] == cause, found
    lines = [k for k, line in enumerate(text.split("\n"), 1) if line.endswith("# here")]
    if lines:
        assert (Path(found["file"]).name, found["line"]) == (f"{files[name]}.py", lines[0]), found
    assert len(found["text"].split()) > 3
    assert found["fix"] or cause in ("none", "depends")
    assert "\n" not in found["fix"]
    assert int((folder / f"{files[name]}.status").read_text()) == 0


def test_every_cause_has_three_programs():
    once = {
        "hook",
        "cancels",
        "shape-error",
        "dtype-error",
        "index-out-of-range-error",
        "dimension-error",
        "none",
        "depends",
        "argument-value-error",
        "graph-kept",
        "no-step",
        "operation-error",
        "no-derivative",
        "not-in-optimizer",
        "rate-zero",
        "retraced",
        "graph-break",
    }
    causes = [cause for cause, _, _ in CASES.values()]
    assert {
        cause: causes.count(cause)
        for cause in causes
        if causes.count(cause) < 3 and cause not in once
    } == {}
