"""Collectives with gradients. The loss is the sum of all ranks' losses, so the backward of a
collective is its transpose: a sum for a broadcast, a broadcast for a sum. All ranks that call
one must also call backward.

Source: PyTorch's `torch.distributed.nn.functional`, whose functions these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.function import Function
from ...core.public import FUNCTIONS
from ...core.tensor import Tensor
from ...errors import UnsupportedError
from .. import collectives, exchanges
from ..groups import get_rank, get_world_size
from ..transport.reductions import RedOpType, ReduceOp, kind


def _like(tensor: Tensor, zero: bool = False) -> Tensor:
    made: Tensor = FUNCTIONS["torch"]["zeros" if zero else "empty"](
        tensor.shape, dtype=tensor.dtype
    )
    return made


def _whole(tensor: Tensor) -> Tensor:
    copy: Tensor = tensor.detach().clone()
    return copy.contiguous()


def _linear(name: str, op: Any) -> Any:
    """The reduction, if it has a gradient."""
    if kind(op) not in (RedOpType.SUM, RedOpType.AVG):
        raise UnsupportedError(
            f"torch.distributed.nn.{name}: the gradient of {kind(op)} is not supported"
        )
    return op


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        result = _whole(tensor)
        collectives.broadcast(result, src, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        total = _whole(g)
        collectives.reduce(total, ctx.src, ReduceOp.SUM, ctx.group)
        return None, None, total if get_rank() == ctx.src else _like(total, zero=True)


class _Reduce(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.op, ctx.group = (
            dst,
            _linear("reduce", op) if tensor.requires_grad else op,
            group,
        )
        result = _whole(tensor)
        collectives.reduce(result, dst, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        result = _whole(g)
        collectives.broadcast(result, ctx.dst, ctx.group)
        return (
            None,
            None,
            None,
            result / get_world_size(ctx.group) if kind(ctx.op) == RedOpType.AVG else result,
        )


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Any:
        ctx.op, ctx.group = _linear("all_reduce", op) if tensor.requires_grad else op, group
        result = _whole(tensor)
        collectives.all_reduce(result, op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g)


class _Gather(Function):
    @staticmethod
    def forward(ctx: Any, dst: int, group: Any, tensor: Tensor) -> Any:
        ctx.dst, ctx.group = dst, group
        outputs = [_like(tensor, zero=True) for _ in range(get_world_size(group))]
        collectives.gather(tensor.detach(), outputs if get_rank() == dst else None, dst, group)
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        result = _like(gs[0])
        collectives.scatter(
            result, [_whole(g) for g in gs] if get_rank() == ctx.dst else None, ctx.dst, ctx.group
        )
        return None, None, result


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, *tensors: Tensor) -> Any:
        ctx.src, ctx.group = src, group
        output = _like(tensors[0])
        collectives.scatter(
            output, [t.detach() for t in tensors] if get_rank() == src else None, src, group
        )
        return output

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        results = [_like(g, zero=True) for _ in range(get_world_size(ctx.group))]
        collectives.gather(
            _whole(g), results if get_rank() == ctx.src else None, ctx.src, ctx.group
        )
        return None, None, *results


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, output: Tensor, *tensors: Tensor) -> Any:
        ctx.op, ctx.group = (
            _linear("reduce_scatter", op) if any(t.requires_grad for t in tensors) else op,
            group,
        )
        ctx.shapes = [t.shape for t in tensors]
        result = _like(output)
        exchanges.reduce_scatter(result, [t.detach() for t in tensors], op, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        results = [FUNCTIONS["torch"]["empty"](shape, dtype=g.dtype) for shape in ctx.shapes]
        collectives.all_gather(results, _whole(g), ctx.group)
        if kind(ctx.op) == RedOpType.AVG:
            results = [r / get_world_size(ctx.group) for r in results]
        return None, None, None, *results


class _AllGather(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Any:
        ctx.group = group
        results = [_like(tensor) for _ in range(get_world_size(group))]
        collectives.all_gather(results, tensor.detach(), group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        result = _like(gs[0])
        exchanges.reduce_scatter(result, [_whole(g) for g in gs], ReduceOp.SUM, ctx.group)
        return None, result


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shapes: Any, *tensors: Tensor) -> Any:
        ctx.group, ctx.shapes = group, [t.shape for t in tensors]
        results = [FUNCTIONS["torch"]["empty"](shape, dtype=tensors[0].dtype) for shape in shapes]
        exchanges.all_to_all(results, [t.detach() for t in tensors], group)
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gs: Any) -> Any:
        return None, None, *_AllToAll.apply(ctx.group, ctx.shapes, *gs)


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, shape: Any, into: Any, out: Any, tensor: Tensor) -> Any:
        ctx.group, ctx.shape, ctx.into, ctx.out = group, tensor.shape, into, out
        result = FUNCTIONS["torch"]["empty"](shape, dtype=tensor.dtype)
        exchanges.all_to_all_single(result, _whole(tensor), into, out, group)
        return result

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (
            None,
            None,
            None,
            None,
            _AllToAllSingle.apply(ctx.group, ctx.shape, ctx.out, ctx.into, g),
        )


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """The tensor of rank `src` on all ranks; its gradient is the sum of the ranks'."""
    return _Broadcast.apply(src, group, tensor)


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks on rank `dst`, zeros on the others."""
    return _Gather.apply(dst, group, tensor)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: Any = None) -> Tensor:
    """Of the tensors of rank `src` this rank's; the others give tensors of the same shapes."""
    return _Scatter.apply(src, group, *tensors)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of the ranks' tensors on rank `dst`, this rank's tensor on the others."""
    return _Reduce.apply(dst, op, group, tensor)


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: Any = ReduceOp.SUM, group: Any = None
) -> Tensor:
    """The sum of the ranks' lists at this rank's place."""
    return _ReduceScatter.apply(op, group, output, *input_list)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """The tensors of all ranks."""
    return _AllGather.apply(group, tensor)


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: Any = None
) -> tuple[Tensor, ...]:
    """What the ranks have for this one; the output list says in which shapes."""
    return _AllToAll.apply(group, [t.shape for t in output_tensor_list], *input_tensor_list)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: Any = None,
) -> Tensor:
    """As `all_to_all` with the parts of one tensor."""
    return _AllToAllSingle.apply(group, output.shape, output_split_sizes, input_split_sizes, input)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The sum of the ranks' tensors."""
    return _AllReduce.apply(op, group, tensor)
