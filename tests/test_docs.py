"""The documents keep their word: examples run, links lead somewhere, commands exist, steps can be
followed.
"""

import doctest
import html
import os
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
    examples = "\n".join(
        block for block in blocks(path.read_text(encoding="utf-8")) if block.startswith(">>> ")
    )
    test = doctest.DocTestParser().get_doctest(
        examples, {"__name__": "__main__"}, path.name, str(path), 0
    )
    report = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(
        test, out=report.append
    )
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
    named = re.findall(
        r"`((?:pellucid|tests|docs|tools|examples|benchmarks)/[\w./-]*\w)`",
        path.read_text(encoding="utf-8"),
    )
    invented = {"pellucid/ops/gudermannian.py"}  # the operation that CONTRIBUTING adds
    assert [name for name in named if name not in invented and not (ROOT / name).exists()] == []


def test_make_targets_that_are_named_exist():
    targets = set(
        re.findall(
            r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        commands = re.findall(r"(?:^    |`)make ([a-z-]+)", text, flags=re.MULTILINE)
        assert set(commands) <= targets, path.name


def test_adding_an_operation_works_as_written():
    """The code of CONTRIBUTING's steps, in a process of its own, as if the files had been written."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = dict(
        re.findall(
            r"<!-- step: (\w+) -->\n```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL
        )
    )
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
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("added\n")
    # each property of the table, for the new record
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 6


def test_the_tour_of_the_readme_prints_what_it_shows(tmp_path):
    """train.py and the commands of the README, as a stranger would type them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (script,) = [block for block in blocks(text) if block.startswith("# train.py\n")]
    (tmp_path / "train.py").write_text(script, encoding="utf-8")
    shown = blocks(text, "console")
    assert [block.split("\n")[0].split()[:3] for block in shown] == [
        ["$", "pellucid", name] for name in ("run", "check", "explain")
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    for block in shown:
        command, _, expected = block.partition("\n")
        done = subprocess.run(
            [sys.executable, "-m", *command.split()[1:]],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=environment,
            timeout=300,
        )
        got = (done.stdout + done.stderr).partition("\npellucid check:")[0].strip()
        got = got if command.startswith("$ pellucid run") else got.removeprefix("loss 5.2881\n")
        assert doctest.OutputChecker().check_output(
            expected.strip(), got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        ), got


def test_the_picture_of_the_readme_shows_what_its_text_shows():
    picture = (ROOT / "docs" / "images" / "check.svg").read_text(encoding="utf-8")
    parts = re.findall(r'<text class="pellucid-r\d+"[^>]*>(.*?)</text>', picture)
    shown = " ".join(html.unescape(" ".join(parts)).split())
    (text,) = [
        block
        for block in blocks((ROOT / "README.md").read_text(encoding="utf-8"), "console")
        if block.startswith("$ pellucid check")
    ]
    for part in text.split("..."):
        words = " ".join(part.split()).replace("train.py:12:", "train.py:12 :")
        assert words in shown


def test_the_sizes_of_the_readme_add_up():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    whole = int(re.search(r"takes about (\d+) MB on disk", text)[1])
    parts = [
        int(n)
        for n in re.search(
            r"(\d+) MB of that is llvmlite \(LLVM\), about (\d+) MB SciPy, (\d+) MB NumPy and (\d+) MB",
            text,
        ).groups()
    ]
    assert 0.85 * whole <= sum(parts) <= whole


# Phrases that read as translated, and what to write instead: CONTRIBUTING.md, "Words". Names, code
# and quotations are not looked at.
WORST = {
    "stays Python's": "keeps running in Python",
    "of one's own": "your own",
    "under watch": "while being recorded",
    "takes no part in": "is not used in",
    "with commas between": "comma-separated",
    "right, but slower": "correct, but slower",
    "nothing is paid": "there is no overhead",
    "no program can repeat": "cannot be compiled",
    "hangs at": "belongs to",
    "cannot be known now": "can no longer be determined",
    "is no tensor": "is not a tensor",
    "is no number": "is not a number",
    "is no copy": "does not copy",
    "wrong medicine": "wrong fix",
    "said in words": "as text",
    "ever other": "ever-changing",
    "compile, looked into": "inside compile",
    "beside PyTorch": "compared with PyTorch",
    "expand each other": "broadcast",
    "where notes are taken": "while gradients are recorded",
    "an update by hand": "a manual update",
    "Is it compiled whole": "Is it compiled as a single graph",
    "has to do everything (right": "has to do everything (correct",
}


# American spelling, as PyTorch's names have it: the stems of the words that are spelled otherwise elsewhere.
BRITISH = re.compile(
    r"\b\w*(?:quantis|normalis|initialis|factoris|regularis|standardis|recognis|summaris|parametris|vectoris|serialis"
    r"|synchronis|colour|neighbour|behaviour)[a-z]*"
)


def test_documents_have_american_spelling():
    found = []
    for path in [*DOCUMENTS, *sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))]:
        text = re.sub(
            r"```.*?```|`[^`\n]*`|\]\([^)]*\)",
            "",
            path.read_text(encoding="utf-8"),
            flags=re.DOTALL,
        )
        found += [f"{path.relative_to(ROOT)}: {word}" for word in BRITISH.findall(text)]
    assert found == []


def test_the_worst_phrases_are_gone():
    """In documents, tutorials, docstrings and messages; a comment of the source may be as short as
    it likes.
    """
    found = []
    texts = [
        *DOCUMENTS,
        *sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")),
        *sorted((ROOT / "pellucid").rglob("*.py")),
    ]
    for path in texts:
        if path.name == "CONTRIBUTING.md":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            shown = line.partition("  # ")[0] if path.suffix == ".py" else line
            found += [
                f"{path.relative_to(ROOT)}:{number}: {p!r}: write {better!r}"
                for p, better in WORST.items()
                if p in shown
            ]
    assert found == [], "\n".join(found)


def test_no_conflict_of_a_merge_is_left():
    texts = [
        *DOCUMENTS,
        *(
            path
            for folder in ("pellucid", "tests", "tools")
            for path in (ROOT / folder).rglob("*.py")
        ),
    ]
    marks = ("<" * 7 + " ", ">" * 7 + " ")
    assert [
        str(p)
        for p in texts
        if any(line.startswith(marks) for line in p.read_text(encoding="utf-8").splitlines())
    ] == []


def test_the_words_are_listed_for_contributors():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [phrase for phrase in WORST if phrase not in text] == []
