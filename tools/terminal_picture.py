"""Write what a command prints in a terminal as an SVG picture: the pictures of README.md.

FORCE_COLOR=1 pellucid check train.py 2>&1 | python tools/terminal_picture.py "pellucid check
train.py" docs/images/check.svg
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text


def main(argv: Sequence[str]) -> int:
    """Read the output from the standard input; the arguments are the command line shown and the
    file to write.
    """
    command, target = argv
    console = Console(record=True, width=104, file=open("/dev/null", "w"))
    console.print(Text.from_ansi(f"\033[1m$ {command}\033[0m\n{sys.stdin.read().rstrip()}"))
    svg = console.export_svg(title="pellucid", unique_id="pellucid")
    # which would be loaded from elsewhere
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    Path(target).parent.mkdir(parents=True, exist_ok=True)
    Path(target).write_text(
        svg.replace("Fira Code,", "ui-monospace, Menlo, Consolas,"), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
