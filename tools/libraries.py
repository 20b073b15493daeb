"""Write docs/libraries.md: the libraries that `make tours` runs with PyTorch and with Pellucid, and
what of each is compared.

    python tools/libraries.py            # writes it
    python tools/libraries.py --check    # fails where it is out of date

The versions stand in tests/oracle/tours/requirements.txt, what is compared in the first line of
each tour.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOURS = ROOT / "tests/oracle/tours"
PAGE = ROOT / "docs/libraries.md"


def document() -> str:
    """The page's text."""
    lines = [
        "# Libraries that run",
        "",
        "Written by `tools/libraries.py`. Each line is a program in `tests/oracle/tours` that `make tours` runs twice, with PyTorch 2.13 and with",
        "Pellucid in its place: both must print the same. The libraries are the published ones, unmodified. Models are tiny and random, data",
        "are made on the spot, nothing is downloaded.",
        "",
        "`pellucid run train.py` runs a program that imports them. `pellucid stand-in install` makes a whole environment do so, without PyTorch.",
        "Extensions that are compiled against PyTorch's C++ library cannot be loaded; `pellucid compat` names them.",
        "",
        "| program | what it does |",
        "|---|---|",
    ]
    for path in sorted(TOURS.glob("[a-z]*.py")):
        text = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").replace(
            "\n", " "
        )
        lines.append(f"| [`{path.stem}`](../tests/oracle/tours/{path.name}) | {text} |")
    lines += ["", "| library | version |", "|---|---|"]
    for line in (TOURS / "requirements.txt").read_text(encoding="utf-8").split():
        name, _, version = line.partition("==")
        if name != "torch":
            lines.append(f"| {name} | {version} |")
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or compare it with what would be written (1 when it differs)."""
    if "--check" in (sys.argv[1:] if argv is None else argv):
        same = PAGE.exists() and PAGE.read_text(encoding="utf-8") == document()
        if not same:
            print(f"{PAGE.name} is out of date: run python tools/libraries.py", file=sys.stderr)
        return 0 if same else 1
    PAGE.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
