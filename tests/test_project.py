"""The files around the package: they parse, agree with each other, and do what they say."""

import json
import re
import tomllib
from pathlib import Path

import pellucid as torch
from pellucid import _version
from pellucid.check import watching
from pellucid.check.output import as_text

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_the_same_everywhere():
    assert (
        re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
        == _version.__version__
    )
    assert f"## {_version.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_classifiers_name_what_the_readme_says_was_run():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    versions = re.findall(r"3\.\d+", re.search(r"^\| Linux, x86-64, (.*?) \|", text, re.M)[1])
    said = [
        c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d+$", c)
    ]
    assert versions == said
    assert [c for c in PROJECT["classifiers"] if c.startswith("Operating System")] == [
        "Operating System :: POSIX :: Linux"
    ]


def test_the_problem_matcher_finds_a_finding():
    (matcher,) = json.loads((ROOT / "tools" / "problem_matcher.json").read_text())["problemMatcher"]
    (pattern,) = matcher["pattern"]
    with watching() as result:
        ((torch.zeros(4, 1) - torch.zeros(4)) ** 2).mean()
    found = re.search(pattern["regexp"], as_text(result), re.M)
    assert found[pattern["file"]].endswith("test_project.py") and found[pattern["code"]] == "PL101"
    assert found[pattern["severity"]] == "error" and found[pattern["message"]] == "mutual-broadcast"
    (finding,) = result.findings
    assert int(found[pattern["line"]]) == finding.line
    of_ranks = "train.py:7: error D001 [collectives-differ]"
    assert re.search(pattern["regexp"], of_ranks)[pattern["code"]] == "D001"


def test_hooks_and_action_run_commands_that_exist():
    from pellucid.cli import COMMANDS
    from pellucid.cli.check import _parser

    options = {flag for action in _parser()._actions for flag in action.option_strings}
    texts = [
        (ROOT / name).read_text(encoding="utf-8")
        for name in ("action.yml", ".pre-commit-hooks.yaml")
    ]
    lines = [
        line
        for text in texts
        for line in text.splitlines()
        if re.search(r"(entry:|-m) pellucid ", line)
    ]
    assert len(lines) == 3
    for line in lines:
        words = line.partition("pellucid ")[2].split()
        assert words[0] in COMMANDS
        assert {w for w in words if w.startswith("--")} <= options


def test_nox_has_the_targets_of_the_makefile():
    """For systems without make. Read as text: nox is not among what the tests need."""
    targets = set(
        re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)[
            0
        ].split()
    ) - {"help"}
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    found = re.findall(
        r'^@nox\.session(?:\((.*)\))?\ndef (\w+)\(session: nox\.Session\) -> None:\n    """\w.*\."""$',
        text,
        re.M,
    )
    names = {
        (re.search(r'name="([\w-]+)"', options) or [0, function])[1] for options, function in found
    }
    assert names == targets
    removed = re.search(
        r"^clean:\n\trm -rf (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M
    )[1].split()
    assert all(f'"{name}"' in text for name in removed)
