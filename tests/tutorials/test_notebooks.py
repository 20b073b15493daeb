"""The tutorials: every cell runs, every claim holds, outputs are those in the files, exercises fail
unsolved and hold solved.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "tutorials").glob("*.ipynb"))


def load_tool(name):
    """A module of tools/docs, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = load_tool("notebooks")


def texts(notebook):
    return [[tool.output_text(output) for output in cell.outputs] for cell in notebook.cells]


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_with_the_outputs_in_the_file(path):
    notebook = tool.Notebook(path)
    stored = texts(notebook)
    notebook.run()
    for number, (cell, old, new) in enumerate(
        zip(notebook.cells, stored, texts(notebook), strict=True), 1
    ):
        assert (
            "varies" in cell.tags or len(old) == len(new) and all(map(tool.same_output, old, new))
        ), (
            f"{path.name}, cell {number}: stored {old}, now {new}; `make notebooks` stores what is shown now"
        )
    assert 3 <= notebook.run_exercises() <= 5


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_form(path):
    text = path.read_text(encoding="utf-8")
    notebook = tool.Notebook(path)
    assert notebook.text() == text  # as the tool writes it, so that changes are small
    code = "\n".join(cell.source for cell in notebook.cells if cell.kind == "code")
    shared = "\n".join(
        cell.source
        for cell in notebook.cells
        if cell.kind == "code" and "pellucid" not in cell.tags
    )
    # one line to change for PyTorch
    assert code.count(tool.IMPORT) == 1 and len(re.findall(r"\bpellucid\b", shared)) == 1
    assert notebook.cells[0].kind == "markdown" and notebook.cells[0].source.startswith("# ")
    assert sum("**Predict" in cell.source for cell in notebook.cells) >= 3
    claims = sum("assert" in cell.source for cell in notebook.cells if cell.kind == "code")
    assert claims >= 10
    assert {tag for cell in notebook.cells for tag in cell.tags} <= {
        "pellucid",
        "exercise",
        "raises-exception",
        "solution",
        "varies",
    }
    # "run all" goes on
    assert all(
        ("exercise" in cell.tags) == ("raises-exception" in cell.tags) for cell in notebook.cells
    )
    assert {
        cell["metadata"].get("tags", [""])[0]
        for cell in json.loads(text)["cells"]
        if cell["cell_type"] == "markdown"
    } <= {"", "solution"}


def test_there_is_one_for_each_subject():
    assert [path.stem[:2] for path in NOTEBOOKS] == [f"{k:02}" for k in range(1, 19)]


class TestRunner:
    """What the tests above rely on: the runner notices what is wrong."""

    @pytest.fixture
    def notebook(self, tmp_path):
        def make(*cells, engine="pellucid"):
            path = tmp_path / "small.ipynb"
            entries = [
                {
                    "cell_type": kind,
                    "source": source,
                    "metadata": {"tags": tags.split()} if tags else {},
                }
                for kind, source, tags in cells
            ]
            path.write_text(json.dumps({"nbformat": 4, "cells": entries}))
            return tool.Notebook(path, engine)

        return make

    def test_a_false_claim(self, notebook):
        book = notebook(("code", "x = 1", ""), ("code", "print(x)\nassert x == 2", ""))
        with pytest.raises(tool.CellError, match="small.ipynb, cell 2(.|\n)*assert x == 2"):
            book.run()

    def test_outputs_come_in_order(self, notebook):
        book = notebook(
            ("code", "print('a')\ndisplay(1)\nprint('b')\n[2]", ""),
            ("code", "None", ""),
            ("code", "3;", ""),
        )
        book.run()
        assert texts(book) == [["a\n", "1", "b\n", "[2]"], [], []]
        assert [output["output_type"] for output in book.cells[0].outputs] == [
            "stream",
            "execute_result",
        ] * 2

    def test_pictures_are_kept_apart(self, notebook):
        book = notebook(
            (
                "code",
                "class Picture:\n    def _repr_html_(self):\n        return chr(60) + 'b>'\nPicture()",
                "",
            )
        )
        book.run()
        assert book.cells[0].outputs[0]["page"] == "<b>" and "<b>" not in book.text()

    def test_cells_for_one_engine(self, notebook):
        cells = [("code", "import sys; here = 1", ""), ("code", "here = 2", "pellucid")]
        for engine, expected in (("pellucid", 2), ("torch", 1)):
            book = notebook(*cells, engine=engine)
            book.run()
            assert book.scope["here"] == expected

    def exercise(self, start, solution):
        return [
            ("code", f"x = {start}\n\n# --- check\nassert x == 2", "exercise"),
            ("markdown", f"<details>\n\n```python\nx = {solution}\n```\n\n</details>", "solution"),
        ]

    def test_an_exercise(self, notebook):
        book = notebook(*self.exercise(1, 2))
        book.run()
        assert book.run_exercises() == 1

    def test_an_exercise_that_holds_unsolved(self, notebook):
        with pytest.raises(tool.CellError, match="hold although nothing was solved"):
            notebook(*self.exercise(2, 2)).run_exercises()

    def test_a_wrong_solution(self, notebook):
        with pytest.raises(tool.CellError, match="checks 1"):
            notebook(*self.exercise(1, 3)).run_exercises()

    def test_an_exercise_without_a_solution(self, notebook):
        with pytest.raises(ValueError, match="cell 1: an exercise needs"):
            notebook(self.exercise(1, 2)[0]).run_exercises()

    @pytest.mark.parametrize(
        ("one", "other", "same"),
        [
            ("a 0.5000", "a 0.5001", True),
            ("a 0.5", "a 0.6", False),
            ("cell 3", "cell 4", False),
            ("7 steps", "8 steps", False),
            ("a", "b", False),
            ("tensor([1., 2.])", "tensor([1., 2.])", True),
            ("1.0 2.0", "1.0", False),
        ],
    )
    def test_outputs_may_differ_in_last_digits_only(self, one, other, same):
        assert tool.same_output(one, other) is same
