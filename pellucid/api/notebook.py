"""HTML for tensors and modules in notebooks. It needs no script, and nothing is computed until it
is shown.
"""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ..core.public import METHODS
from ..core.tensor import Tensor

_MEASURED = 1_000_000  # elements of a tensor up to which least, greatest and mean are given
_TABLE = 16  # rows and columns of a matrix up to which it is shown as a table


def _facts(t: Tensor) -> list[str]:
    """What is worth knowing besides the values."""
    shape = "(" + ", ".join(map(str, t.shape)) + ("," if t.ndim == 1 else "") + ")"
    facts = [f"shape {shape}", str(t.dtype).removeprefix("torch."), str(t.device)]
    if t._rg and t._node is None:
        facts.append("leaf that requires a gradient" + ("" if t._grad is None else ", has one"))
    node = t.grad_fn
    if node is not None:
        line = getattr(node, "line", None)
        facts.append(
            f"made by {node.name()}"
            + (f" at {line.file.rpartition('/')[2]}:{line.line}" if line is not None else "")
        )
    array = t._array
    if not isinstance(array, np.ndarray):
        return facts
    facts.append(f"{array.size * array.dtype.itemsize:,} bytes")
    if array.dtype.kind in "fV" and 1 < array.size <= _MEASURED:
        plain = array.astype(np.float64)
        finite = plain[np.isfinite(plain)]
        if finite.size:
            facts.append(
                f"min {finite.min():.4g}, max {finite.max():.4g}, mean {finite.mean():.4g}"
            )
        if finite.size < plain.size:
            facts.append(f"{np.isnan(plain).sum()} NaN, {np.isinf(plain).sum()} Inf")
    return facts


def _table(array: Any) -> str | None:
    """A small matrix of numbers as a table, larger magnitudes on stronger ground; None for anything
    else.
    """
    if (
        not isinstance(array, np.ndarray)
        or array.ndim != 2
        or array.dtype.kind not in "fiu"
        or not 0 < array.size
    ):
        return None
    if max(array.shape) > _TABLE:
        return None
    plain = array.astype(np.float64)
    largest = max((abs(v) for v in plain.flat if np.isfinite(v)), default=0.0)
    rows = []
    for row in plain:
        cells = []
        for v in row:
            share = abs(v) / largest * 0.45 if largest and np.isfinite(v) else 0.0
            ground = (
                f"rgba({'31,119,180' if v >= 0 else '214,96,40'},{share:.2f})"
                if np.isfinite(v)
                else "rgba(214,39,40,.8)"
            )
            text = f"{v + 0.0:.4g}" if array.dtype.kind == "f" else str(int(v))  # no -0
            cells.append(
                f'<td style="text-align:right;padding:2px 8px;background:{ground}">{text}</td>'
            )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f'<table style="font-family:monospace;border-collapse:collapse">{"".join(rows)}</table>'


def tensor_html(t: Tensor) -> str:
    """A tensor: values as they print (a small matrix as a table), and below shape, dtype, origin
    and range.

    >>> import pellucid as torch
    >>> "shape (2,)" in torch.ones(2)._repr_html_()
    True
    """
    values = _table(t._array) or f'<pre style="margin:0">{escape(repr(t))}</pre>'
    facts = " &middot; ".join(map(escape, _facts(t)))
    return f'<div>{values}<div style="opacity:.7;font-size:90%">{facts}</div></div>'


def module_html(module: Any) -> str:
    """A module as a tree that opens and closes, with the number of parameters of each part (shared
    ones where they come first).
    """
    seen: set[int] = set()

    def own(m: Any) -> int:
        found = [p for p in m._parameters.values() if p is not None and id(p) not in seen]
        seen.update(id(p) for p in found)
        return sum(p._array.size for p in {id(p): p for p in found}.values())

    def part(name: str, m: Any, around: tuple[int, ...]) -> tuple[str, int]:
        count = own(m)
        inner = []
        if id(m) not in around:
            for key, child in m._modules.items():
                if child is not None:
                    text, inside = part(key, child, (*around, id(m)))
                    inner.append(text)
                    count += inside
        extra = escape(", ".join(m.extra_repr().split("\n")))
        head = f"{escape(name)}{': ' if name else ''}<b>{escape(m._get_name())}</b>({extra})"
        head += (
            f' <span style="opacity:.7">{count:,} parameter{"s" * (count != 1)}</span>'
            if count
            else ""
        )
        if not inner:
            return f'<div style="margin-left:1.1em">{head}</div>', count
        opened = " open" if len(around) < 2 else ""
        body = f'<div style="margin-left:1.3em">{"".join(inner)}</div>'
        return f"<details{opened}><summary>{head}</summary>{body}</details>", count

    return f'<div style="font-family:monospace">{part("", module, ())[0]}</div>'


METHODS["_repr_html_"] = tensor_html
