"""Counting multiplications and additions of matrix products, convolutions and attention
(`torch.utils.flop_counter`).

>>> import pellucid as torch
>>> with FlopCounterMode(display=False) as counter:
...     _ = torch.nn.Linear(3, 4)(torch.ones(2, 3))
>>> counter.get_total_flops()
48
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from .._pytree import tree_map
from ..aten.overload import OpOverload, OpOverloadPacket, ops
from ..core.tensor import Tensor
from ..errors import warn
from ._python_dispatch import TorchDispatchMode
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

_aten: Any = ops.aten
flop_registry: dict[Any, Callable[..., int]] = {}

Shape = Sequence[int]


def register_flop_formula(
    targets: Any, get_raw: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorator: how many operations an operator takes.

    Args:
        targets: an operator (`torch.ops.aten.mm`), or several.
        get_raw: the function gets tensors; otherwise it gets their shapes. It is called with the
            operator's arguments and `out_val` or `out_shape`, the result.
    """

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, OpOverloadPacket):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. torch.ops.mylib.foo), got {target} "
                    f"which is of type {type(target)}"
                )
            if target in flop_registry:
                raise RuntimeError(f"duplicate registrations for {target}")
            flop_registry[target] = formula if get_raw else _of_shapes(formula)
        return formula

    return register


def _of_shapes(formula: Callable[..., int]) -> Callable[..., int]:
    def counted(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(
            lambda x: x.shape if isinstance(x, Tensor) else x, (args, kwargs, out_val)
        )
        return formula(*args, out_shape=out_shape, **kwargs)

    counted._formula = formula  # type: ignore[attr-defined]
    return counted


@register_flop_formula(_aten.mm)
def mm_flop(
    a_shape: Shape, b_shape: Shape, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """2 m k n of a product of `(m, k)` and `(k, n)`."""
    (m, k), (inner, n) = a_shape, b_shape
    assert k == inner
    return m * n * 2 * k


@register_flop_formula(_aten.addmm)
def addmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """That of the product."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any) -> int:
    """2 b m k n of products of `(b, m, k)` and `(b, k, n)`."""
    (b, m, k), (count, inner, n) = a_shape, b_shape
    assert b == count and k == inner
    return b * m * n * 2 * k


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(
    self_shape: Shape, a_shape: Shape, b_shape: Shape, out_shape: Any = None, **kwargs: Any
) -> int:
    """That of the products."""
    return bmm_flop(a_shape, b_shape)


def conv_flop_count(
    x_shape: Shape, w_shape: Shape, out_shape: Shape, transposed: bool = False
) -> int:
    """2 of each pair of a weight and a place in the output (transposed: in the input), for every
    sample.

    Args:
        x_shape: `(N, C, *)`; w_shape: `(O, C / groups, *)`; out_shape: `(N, O, *)`.
    """
    c_out, c_in, *filter_size = w_shape
    return (
        prod((x_shape if transposed else out_shape)[2:])
        * prod(filter_size)
        * x_shape[0]
        * c_out
        * c_in
        * 2
    )


@register_flop_formula([_aten.convolution, _aten._convolution])
def conv_flop(
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    *args: Any,
    out_shape: Any = None,
    **kwargs: Any,
) -> int:
    """Those of a convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed=transposed)


@register_flop_formula(_aten.convolution_backward)
def conv_backward_flop(
    grad_out_shape: Shape,
    x_shape: Shape,
    w_shape: Shape,
    _bias: Any,
    _stride: Any,
    _padding: Any,
    _dilation: Any,
    transposed: bool,
    _output_padding: Any,
    _groups: int,
    output_mask: Sequence[bool],
    out_shape: Any,
) -> int:
    """Those of the gradients that are wanted: each is a convolution itself.

    The input's is the convolution of the gradient the other way round; the weight's that of the
    input with the gradient, channels and samples exchanged.
    """

    def turned(shape: Shape) -> list[int]:
        return [shape[1], shape[0], *shape[2:]]

    count = 0
    if output_mask[0]:
        count += conv_flop_count(grad_out_shape, w_shape, out_shape[0], not transposed)
    if output_mask[1]:
        if transposed:
            count += conv_flop_count(
                turned(grad_out_shape), turned(x_shape), turned(out_shape[1]), transposed=False
            )
        else:
            count += conv_flop_count(
                turned(x_shape), turned(grad_out_shape), turned(out_shape[1]), transposed=False
            )
    return count


def _suffix(number: int) -> int:
    return max(0, min(4, (len(str(number)) - 2) // 3))


def _shown(number: int, index: int) -> str:
    return f"{number / 1000**index:.3f}{('', 'K', 'M', 'B', 'T')[index]}" if index else str(number)


def _percent(number: int, of: int) -> str:
    return f"{number / of:.2%}" if of else "0%"


class FlopCounterMode:
    """Context manager that counts the operations of the operators with a formula, by module, in
    forward and backward.

    Args:
        mods: kept for older programs; modules need not be named.
        depth: how deep modules are shown in the table.
        display: print the table at the end.
        custom_mapping: further formulas, {operator: function of shapes}; one with the attribute
            `_get_raw` gets tensors.

    >>> import pellucid as torch
    >>> from pellucid.utils.flop_counter import FlopCounterMode
    >>> with FlopCounterMode(display=False) as counter:
    ...     y = torch.ones(2, 3) @ torch.ones(3, 4)
    >>> counter.get_total_flops()
    48
    """

    def __init__(
        self,
        mods: Any = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.depth = depth
        self.display = display
        if mods is not None:
            warn("mods argument is not needed anymore, you can stop passing it")
        own = {
            k: v if getattr(v, "_get_raw", False) else _of_shapes(v)
            for k, v in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **own}
        self.mod_tracker = ModuleTracker()
        self.mode: Any = None

    def get_total_flops(self) -> int:
        """The operations of all."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """{module's path: {operator: operations}}; "Global" is everything."""
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, modules down to a depth."""
        depth = self.depth if depth is None else depth
        depth = 999999 if depth is None else depth
        total = self.get_total_flops()
        index = _suffix(total)
        rows: list[tuple[str, str, str]] = []
        subsumed = False

        def lines(name: str) -> list[tuple[str, str, str]]:
            nonlocal subsumed
            count = sum(self.flop_counts[name].values())
            subsumed |= count >= total
            found = [(name, _shown(count, index), _percent(count, total))]
            return found + [
                (f"- {k}", _shown(v, index), _percent(v, total))
                for k, v in self.flop_counts[name].items()
            ]

        for name in sorted(self.flop_counts):
            if name != "Global" and name.count(".") + 1 <= depth:
                rows += lines(name)
        if "Global" in self.flop_counts and not subsumed:
            rows = lines("Global") + rows
        rows = rows or [("Global", "0", "0%")]
        head = ("Module", "FLOP", "% Total")
        widths = [max(len(h) + 2, *(len(row[k]) for row in rows)) for k, h in enumerate(head)]
        table = [head, tuple("-" * w for w in widths), *rows]
        return "\n".join(
            f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in table
        )

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.mode.__exit__(*exc)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        if func_packet in self.flop_registry:
            count = self.flop_registry[func_packet](*args, **kwargs, out_val=out)
            for parent in set(self.mod_tracker.parents):
                self.flop_counts[parent][func_packet] += count
        return out


class _Counting(TorchDispatchMode):
    """The mode of a counter. Operators that are not counted and are made of others are counted by
    those.
    """

    supports_higher_order_operators = True

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if (
            func not in self.counter.flop_registry
            and func.overloadpacket not in self.counter.flop_registry
            and func._can_decompose()
        ):
            with self:
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        return self.counter._count_flops(func.overloadpacket, func(*args, **kwargs), args, kwargs)
