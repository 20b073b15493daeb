"""Docstrings and signatures as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any


def prose(text: str) -> str:
    """A docstring's sentence as Markdown: what stands in backticks is code, all else is itself."""
    text = re.sub(r":\w+:`([^`]*)`", r"`\1`", text).replace("``", "`")
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd backtick is a character
        return re.sub(r"([\\`*_{}\[\]<>#|$])", r"\\\1", text)
    return "`".join(
        part if k % 2 else re.sub(r"([\\*_{}\[\]<>#|$])", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def docstring(text: str) -> Iterator[str]:
    """The lines of a docstring as Markdown: paragraphs, sections with items, examples."""
    for block in _blocks(inspect.cleandoc(text).splitlines()):
        if block[0].lstrip().startswith(">>>"):
            yield from ["```python", *inspect.cleandoc("\n".join(block)).splitlines(), "```", ""]
        elif re.fullmatch(
            r"(Args|Arguments|Attributes|Raises|Returns|Yields|Shape|Keyword Args):", block[0]
        ):
            yield f"**{block[0][:-1].replace('Args', 'Arguments')}**"
            yield ""
            for item in _entries(block):
                name, colon, rest = item.partition(": ")
                if colon and re.fullmatch(r"[\w*,. ]+", name) and len(name) < 80:
                    yield f"- {', '.join(f'`{n.strip()}`' for n in name.split(','))}: {prose(rest)}"
                else:
                    yield f"- {prose(item)}"
            yield ""
        elif len(block) > 1 and all(line.startswith("    ") for line in block):
            yield from ["```text", *(line[4:] for line in block), "```", ""]
        elif any(re.match(r"\s*[-*] ", line) for line in block):
            yield ""
            for item in _items(block, bullets=True):
                yield prose(item) if not re.match(r"[-*] ", item) else f"- {prose(item[2:])}"
            yield ""
        else:
            yield prose(" ".join(line.strip() for line in block))
            yield ""


def _blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lines between empty ones; sections and examples begin blocks of their own."""
    block: list[str] = []
    for line in [*lines, ""]:
        example = line.lstrip().startswith(">>>") and not (
            block and block[0].lstrip().startswith(">>>")
        )
        if not line.strip() or example:
            if block and block not in (["Example:"], ["Examples:"]):
                yield block
            block = []
        if line.strip():
            block.append(line)


def _entries(block: list[str]) -> list[str]:
    """The items of a section, whose sentences may continue on the next line without an indent. The
    result is one item, and each error begins with its class.
    """
    items = _items(block[1:])
    if block[0] in ("Returns:", "Yields:"):
        return [" ".join(items)]
    if block[0] == "Raises:":
        return re.split(
            r" (?=[A-Z]\w*(?:Error|Warning|Exception)(?:, \w+Error)*: )", " ".join(items)
        )
    return items


def _items(lines: list[str], bullets: bool = False) -> list[str]:
    """Items of a section, lines that go on joined to them."""
    indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    items: list[str] = []
    for line in lines:
        begins = (
            bool(re.match(r"\s*[-*] ", line))
            if bullets
            else len(line) - len(line.lstrip()) == indent
        )
        if begins or not items:
            items.append(line.strip())
        else:
            items[-1] += " " + line.strip()
    return items


def signature_text(function: Callable[..., Any], name: str, method: bool = False) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parameters = list(signature.parameters.values())
    if method and parameters:
        parameters = parameters[1:]
    plain = [p.replace(annotation=_plain(p.annotation)) for p in parameters]
    text = str(inspect.Signature(plain, return_annotation=_plain(signature.return_annotation)))
    text = re.sub(
        r"<(?:function|class) '?([\w.]+)'?[^>]*>",
        r"\1",
        re.sub(r"<object object at \w+>", "...", text),
    )
    return name + re.sub(r" at 0x[0-9a-f]+", "", text)


def signature_lines(function: Callable[..., Any], name: str, method: bool = False) -> list[str]:
    """A signature as a code block, a long one with an argument on each line."""
    text = signature_text(function, name, method)
    if isinstance(function, type):
        text = text.removesuffix(" -> None")
    lines = [text]
    if len(text) > 92 and name + "(" in text:
        body, arrow, result = text.removeprefix(name + "(").rpartition(") -> ")
        if not arrow:
            body, result = text.removeprefix(name + "(").removesuffix(")"), ""
        lines = [
            f"{name}(",
            *(f"    {argument}," for argument in _split(body)),
            f"){arrow[1:]}{result}",
        ]
    return ["```python", *lines, "```", ""]


def _split(text: str) -> list[str]:
    """Arguments apart at the commas that stand in no bracket."""
    parts, depth, start = [], 0, 0
    for k, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append(text[start:k].strip())
            start = k + 1
    return [*parts, text[start:].strip()]


class _Plain:
    """An annotation that prints as it was written."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _plain(annotation: Any) -> Any:
    if annotation is inspect.Parameter.empty:
        return annotation
    if isinstance(annotation, str):
        return _Plain(annotation)
    return _Plain(
        annotation.__name__
        if isinstance(annotation, type) and not hasattr(annotation, "__args__")
        else str(annotation)
    )
