"""`summary`: a model's layers in a table, with output shapes, parameters and multiply-adds of one forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core import observe
from ..core.modes import no_grad
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, ArgumentValueError
from .graph import shape_text


class Row(NamedTuple):
    """One layer: `depth` in the tree, its own parameters (`params`, `trainable`: those of its parts not included)."""

    path: str
    kind: str
    depth: int
    output: str
    params: int
    trainable: int
    mult_adds: int
    calls: int
    shared: bool


class Summary:
    """The table: `rows`, the totals, and its text; notebooks show it as a table."""

    def __init__(self, name: str, rows: list[Row], totals: dict[str, int], ran: bool) -> None:
        self.name, self.rows, self.ran = name, rows, ran
        self.total_params = totals["params"]
        self.trainable_params = totals["trainable"]
        self.buffer_elements = totals["buffers"]
        self.param_bytes = totals["bytes"]
        self.mult_adds = totals["mult_adds"]

    _HEAD = ("layer", "output shape", "parameters", "trainable", "mult-adds")

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for r in self.rows:
            name = r.path.rpartition(".")[2]
            label = f"{'  ' * r.depth}{name} ({r.kind})" if name else r.kind
            notes = ("shared" if r.shared else "") or (f"x{r.calls}" if r.calls > 1 else "")
            count = f"{r.params:,}" if r.params else "-"
            trains = "-" if not r.params else "yes" if r.trainable == r.params else f"{r.trainable:,}" if r.trainable else "no"
            work = f"{r.mult_adds:,}" if r.mult_adds else "-"
            yield label + (f"  [{notes}]" if notes else ""), r.output or "-", count, trains, work if self.ran else "?"

    def _totals(self) -> list[str]:
        lines = [
            f"parameters      {self.total_params:,}  ({_bytes(self.param_bytes)})",
            f"trainable       {self.trainable_params:,}",
            f"not trainable   {self.total_params - self.trainable_params:,}",
        ]
        if self.buffer_elements:
            lines.append(f"buffers         {self.buffer_elements:,} elements")
        return lines + ([f"mult-adds       {self.mult_adds:,}"] if self.ran else [])

    def __str__(self) -> str:
        table = [self._HEAD, *self._cells()]
        widths = [max(len(row[k]) for row in table) for k in range(len(self._HEAD))]
        lines = [
            "  ".join(c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True)))
            for row in table
        ]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), rule, *self._totals()])

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=self.name, caption="\n".join(self._totals()), caption_justify="left")
        for k, head in enumerate(self._HEAD):
            table.add_column(head, justify="left" if k < 2 else "right")
        for cells in self._cells():
            table.add_row(*(c.replace("[", "\\[") for c in cells))
        return table

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{h}</th>" for h in self._HEAD)
        body = "".join(
            "<tr>" + "".join(f"<td style='white-space:pre'>{escape(c)}</td>" for c in row) + "</tr>" for row in self._cells()
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><pre>{escape(chr(10).join(self._totals()))}</pre>"
        )


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    raise AssertionError


def _multiplications(op: Any, inputs: Any, outputs: Any) -> int:
    """Multiply-adds of one operation that contracts its arguments: each output element times the length of the sum behind it."""
    arrays: list[Any] = [x._array if isinstance(x, Tensor) else None for x in inputs]
    out = outputs[0] if isinstance(outputs, tuple) else outputs
    size = int(np.prod(out._array.shape)) if isinstance(out, Tensor) else 0
    name = op.name
    if name.startswith("conv_transpose") or (name.startswith("conv") and "transpose" in name):
        weight = arrays[1]
        return int(np.prod(arrays[0].shape)) * int(np.prod(weight.shape[1:])) if weight is not None else 0
    if name.startswith("conv"):
        weight = arrays[1]
        return size * int(np.prod(weight.shape[1:])) if weight is not None else 0
    if name == "linear":
        return size * int(arrays[0].shape[-1])
    if name in ("matmul", "mm", "bmm", "mv", "dot"):
        return size * int(arrays[0].shape[-1])
    if name in ("addmm", "baddbmm", "addmv"):
        index = op.args.index("mat1") if "mat1" in op.args else op.args.index("batch1") if "batch1" in op.args else None
        index = op.args.index("input") if index is None and "weight" in op.args else index
        return size * int(arrays[1 if index is None else index].shape[-1])
    if name == "scaled_dot_product_attention" or name == "attention":
        query, key = arrays[0], arrays[1]
        return int(np.prod(query.shape)) * int(key.shape[-2]) + size * int(key.shape[-2])
    return 0


class _Trace:
    """An observer that notes each module's output and the multiply-adds inside it."""

    def __init__(self) -> None:
        self.outputs: dict[int, list[Any]] = {}
        self.work: dict[int, int] = {}
        self.total = 0
        self._stack: list[int] = []

    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        self._stack.append(id(module))

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        self._stack.pop()
        self.outputs.setdefault(id(module), []).append(_shapes(result))

    def operation(self, op: Any, inputs: Any, params: Any, outputs: Any) -> None:
        count = _multiplications(op, inputs, outputs)
        self.total += count
        if count and self._stack:
            self.work[self._stack[-1]] = self.work.get(self._stack[-1], 0) + count


def _shapes(result: Any) -> str:
    if isinstance(result, Tensor):
        return shape_text(result.shape)
    if isinstance(result, Mapping):
        return ", ".join(f"{k}: {_shapes(v)}" for k, v in result.items())
    if isinstance(result, (list, tuple)):
        return ", ".join(_shapes(v) for v in result)
    return type(result).__name__


def _tree(module: Any, path: str, depth: int, limit: int, seen: set[int]) -> Iterator[tuple[str, Any, int, bool]]:
    again = id(module) in seen
    seen.add(id(module))
    yield path, module, depth, again
    if again or depth >= limit:
        return
    for name, child in module._modules.items():
        if child is not None:
            yield from _tree(child, f"{path}.{name}" if path else name, depth + 1, limit, seen)


def _make_inputs(size: Any, dtype: Any) -> tuple[Any, ...]:
    sizes = size if size and isinstance(size[0], (list, tuple)) else (size,)
    kinds = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(sizes)
    if len(kinds) != len(sizes):
        raise ArgumentValueError(f"summary(): {len(sizes)} input sizes and {len(kinds)} dtypes")
    made = []
    for shape, kind in zip(sizes, kinds, strict=True):
        kind = kind or dtypes.get_default_dtype()
        made.append(make_tensor(np.zeros(tuple(shape), kind.numpy)))
    return tuple(made)


def summary(
    model: Any,
    input_size: Sequence[Any] | None = None,
    *,
    inputs: Any = None,
    dtypes: Any = None,
    depth: int = 10,
) -> Summary:
    """A table of a model's layers: path, output shape, parameters, whether they are trained, multiply-adds.

    The model runs once, in eval mode and without gradients; its modes and buffers are afterwards as they were. Without an input the
    table has parameters only. Each parameter is counted once, also one that layers share or that stands in the model itself.
    Multiply-adds are those of linear layers, matrix products, convolutions and attention.

    Args:
        model: a Module.
        input_size: the shape of the input, batch included, or a list of shapes: zeros are given.
        inputs: the input itself instead: a tensor, a tuple of arguments, or a dict of keyword arguments.
        dtypes: dtype of the zeros (or a list of them); the default float type if left out.
        depth: levels of nesting to show; deeper layers are counted in the one above.

    Raises:
        TypeError: `model` is no Module.
        ValueError: both or contradictory inputs are given.

    >>> from pellucid import debug, nn
    >>> print(debug.summary(nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (32, 784)))
    layer         output shape  parameters  trainable  mult-adds
    ------------------------------------------------------------
    Sequential    (32, 10)               -          -          -
      0 (Linear)  (32, 128)        100,480        yes  3,211,264
      1 (ReLU)    (32, 128)              -          -          -
      2 (Linear)  (32, 10)           1,290        yes     40,960
    ------------------------------------------------------------
    parameters      101,770  (397.54 KiB)
    trainable       101,770
    not trainable   0
    mult-adds       3,252,224
    """
    if not isinstance(getattr(model, "_modules", None), dict) or not callable(getattr(model, "named_parameters", None)):
        raise ArgumentTypeError(f"summary(): argument 'model' must be a Module, not {type(model).__name__}")
    if input_size is not None and inputs is not None:
        raise ArgumentValueError("summary(): give input_size or inputs, not both")
    trace = _Trace()
    ran = input_size is not None or inputs is not None
    if ran:
        _run(model, _make_inputs(input_size, dtypes) if input_size is not None else inputs, trace)
    found = list(_tree(model, "", 0, depth, set()))
    rows, counted = [], set()
    for path, module, level, again in found:
        inner = list(module.modules()) if level >= depth else [module]
        own = [] if again else [p for m in inner for p in m._parameters.values() if p is not None and id(p) not in counted]
        own = list({id(p): p for p in own}.values())
        counted |= {id(p) for p in own}
        shapes = trace.outputs.get(id(module), [])
        work = 0 if again else sum(trace.work.get(id(m), 0) for m in inner)
        rows.append(
            Row(
                path, type(module).__name__, level, shapes[-1] if shapes else "", sum(p.numel() for p in own),
                sum(p.numel() for p in own if p.requires_grad), work, len(shapes), again,
            )
        )  # fmt: skip
    parameters = list(model.parameters())
    totals = {
        "params": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "buffers": sum(b.numel() for b in model.buffers()),
        "bytes": sum(p.numel() * p._array.dtype.itemsize for p in parameters),
        "mult_adds": trace.total,
    }
    return Summary(type(model).__name__, rows, totals, ran)


def _run(model: Any, inputs: Any, trace: _Trace) -> None:
    """One forward pass, watched, that leaves modes as they were."""
    training = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with no_grad(), observe.observing(trace):
            if isinstance(inputs, Mapping):
                model(**inputs)
            elif isinstance(inputs, (tuple, list)):
                model(*inputs)
            else:
                model(inputs)
    finally:
        for m, mode in training:
            m.training = mode
