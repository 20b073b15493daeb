"""`torch.distributed._functional_collectives`: collectives that return new tensors. Each waits
until it is done.

Source: PyTorch's module of that name, whose functions these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.function import Function
from ..core.tensor import Tensor, make_tensor
from ..errors import ArgumentValueError, OperationError
from . import calls, collectives, exchanges
from .groups import ProcessGroup, _state, group_of
from .mesh import DeviceMesh
from .transport.reductions import ReduceOp


def group_named(group: Any) -> ProcessGroup:
    """The group that is meant: a group, its name, a mesh of one dimension, or (mesh, dimension)."""
    if isinstance(group, DeviceMesh):
        return group.get_group()
    if isinstance(group, tuple) and len(group) == 2 and isinstance(group[0], DeviceMesh):
        return group[0].get_group(group[1])
    if isinstance(group, str):
        if group not in _state.groups:
            raise ArgumentValueError(
                f"Could not resolve the process group registered under the name {group}"
            )
        return _state.groups[group]
    return group_of(group)


def _op(name: str) -> Any:
    return getattr(ReduceOp, name.upper())


def _own(t: Tensor) -> Tensor:
    made: Tensor = make_tensor(np.array(calls.array_of(t), order="C"))
    return made


def wait_tensor(tensor: Tensor) -> Tensor:
    """The tensor, which is there."""
    return tensor


def broadcast(self: Tensor, src: int, group: Any, tag: str = "") -> Tensor:
    """Rank `src`'s tensor."""
    made = _own(self)
    collectives.broadcast(made, src, group_named(group))
    return made


def all_reduce(self: Tensor, reduceOp: str, group: Any, tag: str = "") -> Tensor:  # noqa: N803 (PyTorch's name)
    """What the ranks' tensors make together: "sum", "avg", "max" ..."""
    made = _own(self)
    collectives.all_reduce(made, _op(reduceOp), group_named(group))
    return made


def all_reduce_coalesced(
    self: list[Tensor],
    reduceOp: str,  # noqa: N803
    group: Any,
    tag: str = "",
) -> list[Tensor]:
    """As `all_reduce`, of several tensors."""
    return [all_reduce(t, reduceOp, group) for t in self]


def permute_tensor(self: Tensor, src_dst: Sequence[int], group: Any, tag: str = "") -> Tensor:
    """The tensor of the rank that has this rank's number in `src_dst`: rank k sends to `src_dst[k]`.

    Raises:
        RuntimeError: `src_dst` is not a permutation of the ranks.
    """
    chosen = group_named(group)
    n, mine = chosen.size(), chosen.rank()
    if sorted(src_dst) != list(range(n)):
        raise OperationError(f"permute_tensor: {list(src_dst)} is not a permutation of {n} ranks")
    flat = _own(self)
    count = int(flat._array.size)
    sent = [count if k == src_dst[mine] else 0 for k in range(n)]
    received = [count if k == list(src_dst).index(mine) else 0 for k in range(n)]
    made: Tensor = make_tensor(np.empty(count, flat._array.dtype))
    exchanges.all_to_all_single(made, make_tensor(flat._array.reshape(-1)), received, sent, chosen)
    return make_tensor(made._array.reshape(flat._array.shape))


def all_gather_tensor(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """The ranks' tensors one after the other along a dimension."""
    chosen, mine = group_named(group), _own(self)
    parts = [make_tensor(np.empty_like(mine._array)) for _ in range(chosen.size())]
    collectives.all_gather(parts, mine, chosen)
    made: Tensor = make_tensor(np.concatenate([p._array for p in parts], axis=gather_dim))
    return made


def reduce_scatter_tensor(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:  # noqa: N803
    """This rank's part, along a dimension, of what the ranks' tensors make together.

    Raises:
        AssertionError: the ranks do not divide the dimension.
    """
    chosen = group_named(group)
    array = calls.array_of(self)
    n = chosen.size()
    assert array.shape[scatter_dim] % n == 0, (
        f"input dimension 0 ({array.shape[0]} must be a multiple of group_size {n})"
    )
    pieces = [make_tensor(np.ascontiguousarray(p)) for p in np.split(array, n, axis=scatter_dim)]
    made: Tensor = make_tensor(np.empty(pieces[0]._array.shape, array.dtype))
    exchanges.reduce_scatter(made, pieces, _op(reduceOp), chosen)
    return made


def all_to_all_single(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """Part k, along the first dimension, goes to rank k; its parts come back one after the other."""
    chosen, mine = group_named(group), _own(self)
    rows = sum(output_split_sizes) if output_split_sizes is not None else mine._array.shape[0]
    made: Tensor = make_tensor(np.empty((rows, *mine._array.shape[1:]), mine._array.dtype))
    exchanges.all_to_all_single(made, mine, output_split_sizes, input_split_sizes, chosen)
    return made


class _Exchanged(Function):
    @staticmethod
    def forward(ctx: Any, kind: str, group: Any, one: Any, other: Any, x: Tensor) -> Any:
        ctx.about = kind, group, one, other
        return _FORWARD[kind](x, group, one, other)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        kind, group, one, other = ctx.about
        return None, None, None, None, _BACKWARD[kind](g, group, one, other)


_FORWARD: dict[str, Any] = {
    "gather": lambda x, group, dim, _: all_gather_tensor(x, dim, group),
    "scatter": lambda x, group, dim, op: reduce_scatter_tensor(x, op, dim, group),
    "exchange": lambda x, group, out, into: all_to_all_single(x, out, into, group),
}
_BACKWARD: dict[str, Any] = {
    "gather": lambda g, group, dim, _: reduce_scatter_tensor(g, "sum", dim, group),
    "scatter": lambda g, group, dim, op: (
        all_gather_tensor(g, dim, group) / (group_named(group).size() if op == "avg" else 1)
    ),
    "exchange": lambda g, group, out, into: all_to_all_single(g, into, out, group),
}


def all_gather_tensor_autograd(self: Tensor, gather_dim: int, group: Any, tag: str = "") -> Tensor:
    """As `all_gather_tensor`; backward adds up the ranks' gradients, part by part."""
    made: Tensor = _Exchanged.apply("gather", group, gather_dim, None, self)
    return made


def reduce_scatter_tensor_autograd(
    self: Tensor, reduceOp: str, scatter_dim: int, group: Any, tag: str = ""
) -> Tensor:  # noqa: N803
    """As `reduce_scatter_tensor`; backward gathers the gradients."""
    made: Tensor = _Exchanged.apply("scatter", group, scatter_dim, reduceOp, self)
    return made


def all_to_all_single_autograd(
    self: Tensor,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    tag: str = "",
) -> Tensor:
    """As `all_to_all_single`; backward sends the gradients back."""
    made: Tensor = _Exchanged.apply("exchange", group, output_split_sizes, input_split_sizes, self)
    return made


all_gather_single, reduce_scatter_single = all_gather_tensor, reduce_scatter_tensor
NAMES = (
    "wait_tensor",
    "broadcast",
    "all_reduce",
    "all_reduce_coalesced",
    "permute_tensor",
    "all_gather_tensor",
    "reduce_scatter_tensor",
    "all_to_all_single",
    "all_gather_tensor_autograd",
    "reduce_scatter_tensor_autograd",
    "all_to_all_single_autograd",
    "all_gather_single",
    "reduce_scatter_single",
)
