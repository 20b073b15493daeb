"""Run the tutorials without Jupyter: in this process, on Pellucid or on PyTorch, with the outputs
that a notebook would show.

    python tools/docs/notebooks.py docs/tutorials/*.ipynb            # run them and their exercises; exit with 1 where one fails
    python tools/docs/notebooks.py --write docs/tutorials/*.ipynb    # the same, and store the outputs in the files
    python tools/docs/notebooks.py --engine torch docs/tutorials/*.ipynb

What cells mean here, by their tags (`metadata.tags`):

- `pellucid`: uses what only Pellucid has; left out on PyTorch.
- `varies`: what it prints may change with the version (diagnostics, compiled programs); the tests
  do not compare it.
- `exercise`: a task for the reader, unfinished; under a line `# --- check` stand the assertions
  that hold when it is done. It is not run with the rest (in Jupyter the tag `raises-exception` lets
  "run all" go on). `run_exercises` sees that it fails as it stands, and holds once the solution has
  been run.
- `solution`: Markdown after an exercise, with the solution as Python in a collapsed <details>.

Stored outputs are text. Pictures are made by whoever shows the notebook: Jupyter when it is run,
the documentation when it is built.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import linecache
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = ROOT / "docs" / "tutorials"
IMPORT = "import pellucid as torch"
CHECK = "# --- check"


@dataclass
class Cell:
    """A cell: `kind` is "markdown" or "code"; `html` are the pictures of the last run, which are
    not stored.
    """

    kind: str
    source: str
    tags: list[str] = field(default_factory=list)
    outputs: list[dict[str, Any]] = field(default_factory=list)
    html: list[str] = field(default_factory=list)


class CellError(Exception):
    """A cell failed; the message has the notebook, the cell and the traceback."""


class Notebook:
    """The cells of a file, and the names that its cells have defined so far.

    Args:
        path: the file.
        engine: "pellucid", or "torch": then the import line is changed, and cells tagged `pellucid`
            are left out.
    """

    def __init__(self, path: Path, engine: str = "pellucid") -> None:
        self.path, self.engine = Path(path), engine
        document = json.loads(self.path.read_text(encoding="utf-8"))
        if document["nbformat"] != 4:
            raise ValueError(f"{path}: format {document['nbformat']}, not 4")
        self.cells = [
            Cell(
                c["cell_type"],
                _joined(c["source"]),
                c["metadata"].get("tags", []),
                c.get("outputs", []),
            )
            for c in document["cells"]
        ]
        self.scope: dict[str, Any] = {"__name__": "__main__"}

    @property
    def title(self) -> str:
        """The heading of the first cell."""
        return self.cells[0].source.splitlines()[0].removeprefix("# ")

    def runs(self, cell: Cell) -> bool:
        """False for cells that are not for this engine."""
        return self.engine == "pellucid" or "pellucid" not in cell.tags

    def run(self) -> None:
        """Run all cells except exercises; sets their outputs.

        Raises:
            CellError: a cell failed.
        """
        for number, cell in enumerate(self.cells, 1):
            if cell.kind == "code":
                cell.outputs, cell.html = [], []
                if self.runs(cell) and "exercise" not in cell.tags:
                    self._execute(cell.source, f"cell {number}", cell)

    def exercises(self) -> Iterator[tuple[int, str, str, str]]:
        """(cell number, starting point with its checks, the checks alone, solution) of every
        exercise for this engine.

        Raises:
            ValueError: an exercise without checks or without a solution after it.
        """
        for number, (cell, following) in enumerate(
            zip(self.cells, [*self.cells[1:], None], strict=True), 1
        ):
            if "exercise" not in cell.tags or not self.runs(cell):
                continue
            solution = (
                re.search(r"```python\n(.*?)```", following.source, re.DOTALL)
                if following
                else None
            )
            if (
                CHECK not in cell.source
                or not solution
                or "solution" not in following.tags
                or "<details>" not in following.source
            ):
                raise ValueError(
                    f"{self.path.name}, cell {number}: an exercise needs `{CHECK}` and a solution after it"
                )
            yield number, cell.source, cell.source[cell.source.index(CHECK) :], solution[1]

    def run_exercises(self) -> int:
        """After `run`: see that every exercise fails unsolved and holds solved; returns how many
        there are.
        """
        count = 0
        for number, start, checks, solution in self.exercises():
            try:
                self._execute(start, f"exercise {number}")
            except CellError:
                pass
            else:
                raise CellError(
                    f"{self.path.name}, cell {number}: the checks hold although nothing was solved"
                )
            self._execute(solution, f"solution {number}")
            self._execute(checks, f"checks {number}")
            count += 1
        return count

    def _execute(self, source: str, name: str, cell: Cell | None = None) -> None:
        filename = f"{self.path.name}, {name}"
        if self.engine == "torch":
            source = source.replace(IMPORT, "import torch")
        # As for a file: tracebacks and explanations show the source line.
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        target = cell or Cell("code", source)

        def show(*values: Any) -> None:
            for value in values:
                self._show(value, target, stream)

        self.scope["display"] = show
        stream = _Stream(target)
        try:
            tree = ast.parse(source, filename)
            last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
            with redirect_stdout(stream):
                exec(compile(tree, filename, "exec"), self.scope)
                if last is not None:
                    value = eval(compile(ast.Expression(last.value), filename, "eval"), self.scope)
                    if value is not None and not source.rstrip().endswith(";"):
                        show(value)
        except Exception as error:
            error.__traceback__ = error.__traceback__.tb_next if error.__traceback__ else None
            raise CellError(
                f"{filename}\n\n{source}\n\n{''.join(traceback.format_exception(error))}"
            ) from error
        finally:
            stream.close_text()

    @staticmethod
    def _show(value: Any, cell: Cell, stream: _Stream) -> None:
        stream.close_text()
        page = getattr(value, "_repr_html_", lambda: None)()
        if page is not None:
            cell.html.append(page)
        cell.outputs.append(
            {
                "data": {"text/plain": _lines(repr(value))},
                "execution_count": None,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
        if page is not None:
            cell.outputs[-1]["page"] = page

    def text(self) -> str:
        """The file's text: one line per line of source, and nothing that changes from run to run."""
        cells = []
        for number, cell in enumerate(self.cells, 1):
            entry: dict[str, Any] = {
                "cell_type": cell.kind,
                "id": f"cell-{number}",
                "metadata": {},
                "source": _lines(cell.source),
            }
            if cell.tags:
                entry["metadata"]["tags"] = cell.tags
            if cell.kind == "code":
                entry["execution_count"] = None
                entry["outputs"] = [
                    {k: v for k, v in o.items() if k != "page"} for o in cell.outputs
                ]
            cells.append(dict(sorted(entry.items())))
        document = {
            "cells": cells,
            "metadata": {
                "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
                "language_info": {"name": "python"},
            },
            "nbformat": 4,
            "nbformat_minor": 5,
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


class _Stream(io.TextIOBase):
    """What a cell prints, as outputs of the cell, in order with what it shows."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.parts = cell, []

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.parts.append(text)
        return len(text)

    def close_text(self) -> None:
        if self.parts:
            self.cell.outputs.append(
                {"name": "stdout", "output_type": "stream", "text": _lines("".join(self.parts))}
            )
            self.parts.clear()


def _joined(source: str | list[str]) -> str:
    return source if isinstance(source, str) else "".join(source)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def output_text(output: dict[str, Any]) -> str:
    """What an output shows as text."""
    return _joined(
        output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]
    )


_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def same_output(one: str, other: str) -> bool:
    """True for texts that differ in the last digits of floating point numbers at most."""
    if one == other:
        return True
    if _NUMBER.sub("#", one) != _NUMBER.sub("#", other):
        return False
    for a, b in zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True):
        if a != b and ("." not in a + b or abs(float(a) - float(b)) > 1e-6 + 2e-3 * abs(float(b))):
            return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run tutorials and their exercises.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", help="store the outputs in the files")
    parser.add_argument("--engine", choices=("pellucid", "torch"), default="pellucid")
    options = parser.parse_args(argv)
    if options.write and options.engine != "pellucid":
        parser.error("the stored outputs are Pellucid's")
    failed = False
    for path in options.files:
        notebook = Notebook(path, options.engine)
        try:
            notebook.run()
            text = notebook.text()
            count = notebook.run_exercises()
        except CellError as error:
            print(error, file=sys.stderr)
            failed = True
            continue
        if options.write and text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {len(notebook.cells)} cells, {count} exercises")
    return int(failed)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main())
