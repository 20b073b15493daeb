"""`summary` lists a model's layers with output shapes, parameters, multiply-adds, memory and time
of one forward pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes
from ..core import observe
from ..core.modes import no_grad
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentTypeError, ArgumentValueError
from .graph import shape_text


class Row(NamedTuple):
    """One layer: `depth` in the tree, its own parameters (`params`, `trainable`: those of its parts
    not included).

    `memory` is the size of its outputs in bytes, over all its calls, `seconds` the time of all its
    calls, its parts included; both are 0 when nothing was run.
    """

    path: str
    kind: str
    depth: int
    output: str
    params: int
    trainable: int
    mult_adds: int
    calls: int
    shared: bool
    memory: int = 0
    seconds: float = 0.0


class Summary:
    """The table that `summary` returns. `print` shows it as text, notebooks as a table.

    Attributes:
        rows: the data of each layer.
        total_params, trainable_params, buffer_elements, param_bytes, mult_adds, input_bytes, output_bytes, seconds: totals.

    >>> import pellucid as torch
    >>> from pellucid import debug
    >>> table = debug.summary(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)))
    >>> table.total_params, table.buffer_elements
    (12, 5)
    """

    def __init__(self, name: str, rows: list[Row], totals: dict[str, int], ran: bool) -> None:
        self.name, self.rows, self.ran = name, rows, ran
        self.total_params = totals["params"]
        self.trainable_params = totals["trainable"]
        self.buffer_elements = totals["buffers"]
        self.param_bytes = totals["bytes"]
        self.mult_adds = totals["mult_adds"]
        self.input_bytes = totals["inputs"]
        self.output_bytes = totals["outputs"]
        self.seconds = rows[0].seconds

    @property
    def _head(self) -> tuple[str, ...]:
        head = ("layer", "output shape", "parameters", "trainable", "mult-adds")
        return head + (("memory",) if self.ran else ()) + (("time (ms)",) if self.seconds else ())

    def _cells(self) -> Iterator[tuple[str, ...]]:
        for r in self.rows:
            name = r.path.rpartition(".")[2]
            label = f"{'  ' * r.depth}{name} ({r.kind})" if name else r.kind
            notes = ("shared" if r.shared else "") or (f"x{r.calls}" if r.calls > 1 else "")
            count = f"{r.params:,}" if r.params else "-"
            trains = (
                "-"
                if not r.params
                else "yes"
                if r.trainable == r.params
                else f"{r.trainable:,}"
                if r.trainable
                else "no"
            )
            work = f"{r.mult_adds:,}" if r.mult_adds else "-"
            cells = [
                label + (f"  [{notes}]" if notes else ""),
                r.output or "-",
                count,
                trains,
                work if self.ran else "?",
            ]
            if self.ran:
                cells.append(_bytes(r.memory) if r.memory else "-")
            if self.seconds:
                cells.append(f"{1e3 * r.seconds:.3f}" if r.calls else "-")
            yield tuple(cells)

    def _totals(self) -> list[str]:
        lines = [
            f"parameters      {self.total_params:,}  ({_bytes(self.param_bytes)})",
            f"trainable       {self.trainable_params:,}",
            f"not trainable   {self.total_params - self.trainable_params:,}",
        ]
        if self.buffer_elements:
            lines.append(f"buffers         {self.buffer_elements:,} elements")
        if self.ran:
            whole = self.input_bytes + self.output_bytes + self.param_bytes
            lines += [
                f"mult-adds       {self.mult_adds:,}",
                f"memory          {_bytes(whole)}  (inputs {_bytes(self.input_bytes)}, outputs {_bytes(self.output_bytes)}, parameters)",
            ]
        return lines + ([f"time            {1e3 * self.seconds:.3f} ms"] if self.seconds else [])

    def __str__(self) -> str:
        table = [self._head, *self._cells()]
        widths = [max(len(row[k]) for row in table) for k in range(len(self._head))]
        lines = [
            "  ".join(
                c.ljust(w) if k < 2 else c.rjust(w)
                for k, (c, w) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join(
            [lines[0].rstrip(), rule, *(line.rstrip() for line in lines[1:]), rule, *self._totals()]
        )

    __repr__ = __str__

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=self.name, caption="\n".join(self._totals()), caption_justify="left")
        for k, head in enumerate(self._head):
            table.add_column(head, justify="left" if k < 2 else "right")
        for cells in self._cells():
            table.add_row(*(c.replace("[", "\\[") for c in cells))
        return table

    def _repr_html_(self) -> str:
        from html import escape

        from .pictures.parts import palette

        head = "".join(f'<th scope="col">{escape(h)}</th>' for h in self._head)
        body = ""
        for row in self._cells():
            body += "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>"
        totals = escape("\n".join(self._totals()))
        return (
            f'<div class="ps"><style>{palette(".ps")}{_STYLE}</style><table><caption>{escape(str(self.name))}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><pre>{totals}</pre></div>"
        )


_STYLE = """
.ps { color: var(--ink); padding: 10px 14px; border: 1px solid var(--faint); border-radius: 8px; overflow-x: auto; }
.ps table { border-collapse: collapse; font: 12.5px/1.5 ui-monospace, Menlo, Consolas, monospace; color: var(--ink); }
.ps caption { text-align: left; font-weight: 600; font-size: 14px; padding: 0 0 6px; color: var(--ink); }
.ps th { text-align: right; padding: 3px 12px; border-bottom: 2px solid var(--faint); color: var(--soft); font-weight: 600; }
.ps td { text-align: right; padding: 2px 12px; border-bottom: 1px solid var(--faint); white-space: pre; background: none; }
.ps th:nth-child(-n+2), .ps td:nth-child(-n+2) { text-align: left; }
.ps tbody tr:hover td { background: var(--mark); }
.ps pre { margin: 10px 0 0; background: none; color: var(--soft); font-size: 12.5px; }
"""


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    raise AssertionError


def _multiplications(op: Any, inputs: Any, outputs: Any) -> int:
    """Multiply-adds of one operation that contracts its arguments."""
    if op.work is None:
        return 0
    out = outputs[0] if isinstance(outputs, tuple) else outputs
    shapes = [x._array.shape if isinstance(x, Tensor) else None for x in inputs]
    return int(op.work(math.prod(out._array.shape), *shapes))


class _Trace:
    """An observer that notes each module's output and the multiply-adds inside it."""

    def __init__(self) -> None:
        self.outputs: dict[int, list[Any]] = {}
        self.work: dict[int, int] = {}
        self.memory: dict[int, int] = {}
        self.seconds: dict[int, float] = {}
        self.total = 0
        self._stack: list[int] = []

    def module_enter(self, module: Any, name: str, args: Any, kwargs: Any) -> None:
        self._stack.append(id(module))

    def module_exit(self, module: Any, name: str, result: Any) -> None:
        self._stack.pop()
        self.outputs.setdefault(id(module), []).append(_shapes(result))
        self.memory[id(module)] = self.memory.get(id(module), 0) + _size(result)

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


def _size(result: Any) -> int:
    """Bytes of the tensors in a result."""
    if isinstance(result, Tensor):
        return math.prod(result._array.shape) * int(result._array.dtype.itemsize)
    if isinstance(result, Mapping):
        result = list(result.values())
    return sum(map(_size, result)) if isinstance(result, (list, tuple)) else 0


def _tree(
    module: Any, path: str, depth: int, limit: int, seen: set[int]
) -> Iterator[tuple[str, Any, int, bool]]:
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
    input_size: Any = None,
    *,
    inputs: Any = None,
    dtypes: Any = None,
    depth: int = 10,
    time: bool = True,
) -> Summary:
    """A table of a model's layers: path, output shape, parameters, whether they are trained,
    multiply-adds, memory, time.

    The model runs in eval mode and without gradients, once to see what it does and twice for the
    time; its modes and buffers are afterwards as they were. Without an input the table has
    parameters only. Each parameter is counted once, also one that layers share or that stands in
    the model itself. Multiply-adds are those of linear layers, matrix products, convolutions,
    recurrent layers and attention. Memory is the size of a layer's output (of all calls); in the
    total, that of inputs, of the outputs of layers without parts, and of parameters. Time is that
    of all calls of a layer, its parts included.

    Args:
        model: a Module.
        input_size: the shape of the input, batch included, or a list of shapes: zeros are given. A
            tensor is taken as the input itself.
        inputs: the input itself instead: a tensor, a tuple of arguments, or a dict of keyword
            arguments.
        dtypes: dtype of the zeros (or a list of them); the default float type if left out.
        depth: levels of nesting to show; deeper layers are counted in the one above.
        time: also measure the time.

    Raises:
        TypeError: `model` is not a Module.
        ValueError: both or contradictory inputs are given.

    >>> from pellucid import debug, nn
    >>> print(debug.summary(nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10)), (32, 784), time=False))
    layer         output shape  parameters  trainable  mult-adds     memory
    -----------------------------------------------------------------------
    Sequential    (32, 10)               -          -          -   1.25 KiB
      0 (Linear)  (32, 128)        100,480        yes  3,211,264  16.00 KiB
      1 (ReLU)    (32, 128)              -          -          -  16.00 KiB
      2 (Linear)  (32, 10)           1,290        yes     40,960   1.25 KiB
    -----------------------------------------------------------------------
    parameters      101,770  (397.54 KiB)
    trainable       101,770
    not trainable   0
    mult-adds       3,252,224
    memory          528.79 KiB  (inputs 98.00 KiB, outputs 33.25 KiB, parameters)
    """
    if not isinstance(getattr(model, "_modules", None), dict) or not callable(
        getattr(model, "named_parameters", None)
    ):
        raise ArgumentTypeError(
            f"summary(): argument 'model' must be a Module, not {type(model).__name__}"
        )
    if input_size is not None and inputs is not None:
        raise ArgumentValueError("summary(): give input_size or inputs, not both")
    trace = _Trace()
    if _holds_tensors(input_size):
        input_size, inputs = None, input_size
    ran, given = input_size is not None or inputs is not None, None
    if ran:
        given = _make_inputs(input_size, dtypes) if input_size is not None else inputs
        _run(model, given, trace)
        if time:
            _clock(model, given, trace)
    found = list(_tree(model, "", 0, depth, set()))
    rows, counted = [], set()
    for path, module, level, again in found:
        inner = list(module.modules()) if level >= depth else [module]
        own = (
            []
            if again
            else [
                p
                for m in inner
                for p in m._parameters.values()
                if p is not None and id(p) not in counted
            ]
        )
        own = list({id(p): p for p in own}.values())
        counted |= {id(p) for p in own}
        shapes = trace.outputs.get(id(module), [])
        work = 0 if again else sum(trace.work.get(id(m), 0) for m in inner)
        rows.append(
            Row(
                path,
                type(module).__name__,
                level,
                shapes[-1] if shapes else "",
                sum(p._array.size for p in own),
                sum(p._array.size for p in own if p.requires_grad),
                work,
                len(shapes),
                again,
                trace.memory.get(id(module), 0),
                trace.seconds.get(id(module), 0.0),
            )
        )
    parameters = list(model.parameters())
    totals = {
        "params": sum(p._array.size for p in parameters),
        "trainable": sum(p._array.size for p in parameters if p.requires_grad),
        "buffers": sum(b._array.size for b in model.buffers()),
        "bytes": sum(p._array.size * p._array.dtype.itemsize for p in parameters),
        "mult_adds": trace.total,
        "inputs": _size(given),
        "outputs": sum(
            trace.memory.get(id(m), 0) for m in model.modules() if not any(m._modules.values())
        ),
    }
    return Summary(type(model).__name__, rows, totals, ran)


def _holds_tensors(given: Any) -> bool:
    """True for a tensor, and for a tuple, list or dict with one in it: an input, not a shape."""
    if isinstance(given, Mapping):
        return True
    return isinstance(given, Tensor) or (
        isinstance(given, (tuple, list)) and any(map(_holds_tensors, given))
    )


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Eval mode inside the block; afterwards every module's mode is as it was."""
    training = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for m, mode in training:
            m.training = mode


def _call(model: Any, inputs: Any) -> None:
    if isinstance(inputs, Mapping):
        model(**inputs)
    elif isinstance(inputs, (tuple, list)):
        model(*inputs)
    else:
        model(inputs)


def _run(model: Any, inputs: Any, trace: _Trace) -> None:
    """One forward pass, watched."""
    with evaluating(model), no_grad(), observe.observing(trace):
        _call(model, inputs)


def _clock(model: Any, inputs: Any, trace: _Trace) -> None:
    """Two more forward passes, not watched, so that operations take the engine's fast path; clocks
    run in hooks in the second.
    """
    began: list[float] = []

    def before(module: Any, args: Any) -> None:
        began.append(perf_counter())

    def after(module: Any, args: Any, result: Any) -> None:
        trace.seconds[id(module)] = (
            trace.seconds.get(id(module), 0.0) + perf_counter() - began.pop()
        )

    with evaluating(model), no_grad():
        _call(model, inputs)  # kernels are made at their first use
    handles = []
    try:
        for m in model.modules():
            handles += [m.register_forward_pre_hook(before), m.register_forward_hook(after)]
        with evaluating(model), no_grad():
            _call(model, inputs)
    finally:
        for handle in handles:
            handle.remove()
