"""Docstrings of in-place forms and of other names, with the example of the function that they come from."""

from __future__ import annotations

import inspect
import re

_TRUTH = {"True": "1", "False": "0"}


def of_inplace(name: str, method: str, doc: str | None) -> str:
    """The docstring of the method `method`, the in-place form of the function `name`.

    Args:
        doc: the function's docstring. If its example is a call `torch.name(x, ...)`, the method's
            docstring shows the same call in place.
    """
    text = (
        f"In-place version of :func:`{name}`: writes the result into this tensor, which keeps its dtype, "
        "and returns it."
    )
    _, call, rest = (doc or "").partition(f">>> torch.{name}(")
    if not call or method.startswith("__"):
        return text
    tensor, others = _first_argument(rest)
    others, _, shown = others.partition("\n")
    shown = re.split(r"\n\s*(?:\n|>>>|$)", shown)[0]
    if re.search("True|False", shown) and not re.search("True|False", tensor):
        shown = re.sub(r"(?<=[\[ ]) ?(True|False)", lambda found: _TRUTH[found[1]], shown)
    lines = (
        ">>> import pellucid as torch",
        f">>> x = {tensor}",
        f">>> _ = x.{method}({others}",
        ">>> x",
        *(line.removeprefix("    ") for line in shown.splitlines()),
    )
    return "\n    ".join((text + "\n", *lines)) + "\n"


def of_alias(text: str, doc: str | None) -> str:
    """The docstring of a function under another name: `text`, and the examples of the docstring
    `doc`.
    """
    lines = inspect.cleandoc(doc or "").splitlines()
    first = next((k for k, line in enumerate(lines) if line.lstrip().startswith(">>> ")), None)
    return text if first is None else "\n".join((text, "", *lines[first:])) + "\n"


def _first_argument(text: str) -> tuple[str, str]:
    """The text of a call's first argument, and what follows it after the comma."""
    depth = 0
    for place, char in enumerate(text):
        if depth == 0 and char in ",)":
            return text[:place], text[place + (char == ",") :].lstrip(" ")
        depth += (char in "([{") - (char in ")]}")
    return text, ")"
