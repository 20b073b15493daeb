"""Read from the source which parameters are frozen by name: the condition around a switch, the
texts that it compares with, and the names that these fit.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from ...events import Site
from ..source.places import Place, tree, walk

_KINDS = frozenset(
    {"norm", "bn", "bias", "weight", "ln", "layernorm", "batchnorm", "lora", "lora_"}
)


def loop_over_parameters(site: Any) -> Place | None:
    """The head of the loop around a place that goes over a model's parameters: it chooses which."""
    root = tree(site.file)
    loops = (
        [
            node.lineno
            for node in walk(root)
            if isinstance(node, ast.For)
            and node.lineno <= site.line <= (node.end_lineno or 0)
            and "parameters" in ast.unparse(node.iter)
        ]
        if root is not None
        else []
    )
    return Place(site.file, max(loops)) if loops else None


def test_around(site: Site) -> tuple[int, ast.expr] | None:
    """(line, condition) of the innermost `if` around a place; of
    `p.requires_grad = name not in ...` that line and its right side.
    """
    root = tree(site.file)
    best: tuple[int, ast.expr] | None = None
    for node in walk(root) if root is not None else ():
        if (
            isinstance(node, ast.If)
            and node.lineno <= site.line <= (node.end_lineno or 0)
            and (best is None or node.lineno > best[0])
        ):
            best = node.lineno, node.test
    for node in walk(root) if root is not None and best is None else ():
        if (
            isinstance(node, ast.Assign)
            and node.lineno == site.line
            and not isinstance(node.value, ast.Constant)
        ):
            best = node.lineno, node.value
    return best


def by_text(node: ast.AST) -> bool:
    """`name.startswith("conv")`, `re.match("conv", name)`."""
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in (
        "startswith",
        "endswith",
        "match",
        "search",
        "fullmatch",
        "find",
    )


def texts_in(test: ast.expr, site: Site) -> list[str]:
    """The texts that a condition on names compares with: written in it, in what it iterates over,
    or held by variables of it.
    """
    found: list[str] = []
    names = set()
    for node in ast.walk(test):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.Name):
            names.add(node.id)
    root = tree(site.file)
    for node in walk(root) if root is not None and names else ():
        values: list[ast.expr] = []
        if isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id in names for t in node.targets
        ):
            values = [node.value]
        elif (
            isinstance(node, (ast.For, ast.comprehension))
            and isinstance(node.target, ast.Name)
            and node.target.id in names
        ):
            values = [node.iter]
        elif isinstance(node, ast.Call):  # freeze(model, "layers.1"), freeze(model, prefixes=[...])
            values = [*node.args, *(k.value for k in node.keywords)]
        elif isinstance(node, ast.arguments):
            values = [*node.defaults, *(d for d in node.kw_defaults if d is not None)]
        for value in values:
            if isinstance(value, ast.Name):
                inner = next(
                    (
                        n.value
                        for n in walk(root)
                        if isinstance(n, ast.Assign)
                        and any(ast.unparse(t) == value.id for t in n.targets)
                    ),
                    None,
                )
                value = inner if inner is not None else value
            if isinstance(value, (ast.Constant, ast.List, ast.Tuple, ast.Set)):
                found += [
                    c.value
                    for c in ast.walk(value)
                    if isinstance(c, ast.Constant) and isinstance(c.value, str)
                ]
    return [text for text in dict.fromkeys(found) if text and text not in _KINDS]


def beyond(frozen: list[str], names: list[str], texts: list[str]) -> tuple[str, str, str] | None:
    """(text, the name it means, a name that it fits only by its letters) among names that were
    frozen; None where all is as written.
    """
    for text in texts:
        whole = text.strip(".")
        exact = [n for n in frozen if f".{n}".startswith(f".{whole}.") or n == whole]
        if not exact or text.endswith("."):
            continue
        top = whole.partition(".")[0]
        for name in frozen:
            at = name.find(whole)
            if name in exact or at < 0:
                continue
            longer = name[at + len(whole) : at + len(whole) + 1] not in (".", "")
            # conv1 of the model, and conv1 of each block
            elsewhere = at > 0 and name.partition(".")[0] != top
            if (
                longer
                and (whole[-1].isdigit() and name[at + len(whole)].isdigit() or at == 0)
                or elsewhere
                and not longer
                and at
            ):
                rest = [n for n in names if n not in frozen]
                if rest:
                    return text, exact[0], name
    return None


def within(frozen: list[str], names: list[str], texts: list[str]) -> tuple[str, str, str] | None:
    """The same of a text that begins the name of one module and stands in the middle of a word of
    another: "enc" of "frequency".
    """
    for text in texts:
        if len(text) < 3 or not text.isalpha() or len(frozen) == len(names):
            continue
        begins = [n for n in frozen if n.startswith(text)]
        inside = [
            n
            for n in frozen
            if not re.search(rf"(^|[._0-9]){text}", n) and re.search(rf"[a-z]{text}[a-z]", n)
        ]
        if begins and inside and len(begins) + len(inside) == len(frozen):
            return text, begins[0], inside[0]
    return None


def numbered(frozen: list[str], names: list[str]) -> tuple[str, str, str] | None:
    """The same of numbers: with blocks.1 all of blocks.10 to blocks.19 are frozen, and other blocks
    are not.
    """
    groups: dict[str, dict[int, bool]] = {}
    for name in names:
        parts = name.split(".")
        for k, part in enumerate(parts):
            if part.isdigit():
                group = groups.setdefault(".".join(parts[:k]), {})
                group[int(part)] = group.get(int(part), True) and name in frozen
    for prefix, group in groups.items():
        held, free = [n for n, f in group.items() if f], [n for n, f in group.items() if not f]
        longer = [n for n in held if n > 9]
        if (
            longer
            and all(n // 10 in held for n in longer)
            and not any(n // 10 in held for n in free if n > 9)
        ):
            if any(0 < n < 10 for n in free):
                return str(longer[0] // 10), f"{prefix}.{longer[0] // 10}", f"{prefix}.{longer[0]}"
    return None
