"""Gradients through collectives: those of the sum of all ranks' losses, computed in one process."""

import pellucid as torch
import pellucid.distributed as dist
from pellucid.distributed.nn import functional as DF


def inputs(size):
    generator = torch.Generator().manual_seed(3)
    return [
        torch.randn(2 * size, 3, generator=generator, dtype=torch.float64) for _ in range(size)
    ], [torch.randn(2 * size, 3, generator=generator, dtype=torch.float64) for _ in range(size)]


def pieces(x, size):
    return [x[2 * k : 2 * k + 2] for k in range(size)]


def cases(size):
    """name: (with collectives, all ranks' results in one process)."""
    last = size - 1
    total = lambda xs: sum(xs[1:], xs[0])
    zeros = lambda x: torch.zeros_like(x)
    return {
        "all_reduce": (lambda x, r: DF.all_reduce(x), lambda xs: [total(xs)] * size),
        "mean": (
            lambda x, r: DF.all_reduce(x, dist.ReduceOp.AVG),
            lambda xs: [total(xs) / size] * size,
        ),
        "broadcast": (lambda x, r: DF.broadcast(x, last), lambda xs: [xs[last]] * size),
        "reduce": (
            lambda x, r: DF.reduce(x, last) * (r == last),
            lambda xs: [total(xs) * (r == last) for r in range(size)],
        ),
        "all_gather": (
            lambda x, r: total([y * (k + 1) for k, y in enumerate(DF.all_gather(x))]),
            lambda xs: [total([y * (k + 1) for k, y in enumerate(xs)])] * size,
        ),
        "gather": (
            lambda x, r: total([y * (k + 1) for k, y in enumerate(DF.gather(x, last))]),
            lambda xs: [
                total([y * (k + 1) for k, y in enumerate(xs)]) if r == last else zeros(xs[0])
                for r in range(size)
            ],
        ),
        "scatter": (
            lambda x, r: torch.cat([DF.scatter(pieces(x, size), last)] * size),
            lambda xs: [torch.cat([pieces(xs[last], size)[r]] * size) for r in range(size)],
        ),
        "reduce_scatter": (
            lambda x, r: torch.cat(
                [DF.reduce_scatter(torch.empty(2, 3, dtype=x.dtype), pieces(x, size))] * size
            ),
            lambda xs: [
                torch.cat([total([pieces(x, size)[r] for x in xs])] * size) for r in range(size)
            ],
        ),
        "all_to_all": (
            lambda x, r: torch.cat(
                DF.all_to_all([torch.empty(2, 3, dtype=x.dtype)] * size, pieces(x, size))
            ),
            lambda xs: [torch.cat([pieces(x, size)[r] for x in xs]) for r in range(size)],
        ),
        "all_to_all_single": (
            lambda x, r: DF.all_to_all_single(torch.empty_like(x), x),
            lambda xs: [torch.cat([pieces(x, size)[r] for x in xs]) for r in range(size)],
        ),
    }


def main():
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    for name, (spread, alone) in cases(size).items():
        xs, ws = inputs(size)
        everything = [x.clone().requires_grad_() for x in xs]
        wanted = alone([x.sin() for x in everything])
        torch.stack([(y * w).sum() for y, w in zip(wanted, ws)]).sum().backward()
        x = xs[rank].clone().requires_grad_()
        y = spread(x.sin(), rank)
        assert torch.allclose(y, wanted[rank]), (name, y, wanted[rank])
        (y * ws[rank]).sum().backward()
        grad = everything[rank].grad
        grad = torch.zeros_like(x) if grad is None else grad
        assert torch.allclose(x.grad, grad), (name, x.grad, grad)
    x = torch.ones(2, requires_grad=True)
    try:
        DF.all_reduce(x, dist.ReduceOp.MAX)
    except NotImplementedError as error:
        assert "torch.distributed.nn.all_reduce: the gradient of RedOpType.MAX" in str(error)
    else:
        raise AssertionError("MAX has no gradient")
    print(f"rank {rank}: {len(cases(size))} gradients")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
