"""The documents keep their word: examples run, links lead somewhere, commands exist, steps can be followed."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(text, language="python"):
    """The fenced code blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_of_a_document_run(path):
    examples = "\n".join(block for block in blocks(path.read_text(encoding="utf-8")) if block.startswith(">>> "))
    test = doctest.DocTestParser().get_doctest(examples, {"__name__": "__main__"}, path.name, str(path), 0)
    report = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(test, out=report.append)
    assert result.failed == 0, "".join(report)


def test_the_tour_has_examples():
    assert (ROOT / "README.md").read_text(encoding="utf-8").count(">>> ") >= 20


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (path.parent / link).exists()]
    assert broken == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(path):
    named = re.findall(r"`((?:pellucid|tests|docs|tools|examples|benchmarks)/[\w./-]*\w)`", path.read_text(encoding="utf-8"))
    invented = {"pellucid/ops/gudermannian.py"}  # the operation that CONTRIBUTING adds
    assert [name for name in named if name not in invented and not (ROOT / name).exists()] == []


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        commands = re.findall(r"(?:^    |`)make ([a-z-]+)", text, flags=re.MULTILINE)
        assert set(commands) <= targets, path.name


def test_adding_an_operation_works_as_written():
    """The code of CONTRIBUTING's steps, in a process of its own, as if the files had been written."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = dict(re.findall(r"<!-- step: (\w+) -->\n```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL))
    assert steps.keys() == {"record", "publish", "test"}
    program = f"""
import doctest, sys, types
import pellucid.ops
module = types.ModuleType("pellucid.ops.gudermannian")
module.__package__ = "pellucid.ops"
sys.modules[module.__name__] = module
exec({steps["record"] + steps["publish"]!r}, module.__dict__)
import pellucid
from pellucid.api import attach
attach.attach()
attach.publish(vars(pellucid), "torch")
scope = {{}}
exec({steps["test"]!r}, scope)
[value() for name, value in list(scope.items()) if name.startswith("test_")]
result = doctest.testmod(module)
assert result.attempted == 2 and not result.failed, result
print("added")
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "gudermannian", "tests/ops/test_table.py"]))
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("added\n")
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 6  # each property of the table, for the new record
