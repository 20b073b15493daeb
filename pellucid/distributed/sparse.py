"""All-reduce of sparse tensors: the ranks gather their indices and values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.sparse.array import package
from ..core.modes import no_grad
from ..core.tensor import Tensor, make_tensor
from ..errors import UnsupportedError
from .calls import array_of, raw, shape_of, start
from .groups import ProcessGroup
from .transport.engine import Steps
from .transport.reductions import RedOpType, kind
from .transport.work import Work


def all_reduce_sparse(
    tensor: Tensor, op: Any, group: ProcessGroup, async_op: bool, soon: bool = False
) -> Work | None:
    """Replace a sparse tensor on all ranks by the sum, or the mean, of all their tensors."""
    if kind(op) not in (RedOpType.SUM, RedOpType.AVG):
        raise UnsupportedError(f"all_reduce: {kind(op)} of sparse tensors is not supported")

    def steps() -> Steps:
        comm, mpi, size = group.channel.comm, group.channel.engine.mpi, group.size()
        mine: Any = tensor.coalesce()
        rows = np.ascontiguousarray(array_of(mine.indices()).T)
        values = np.ascontiguousarray(array_of(mine.values()))
        counts = np.empty(size, np.int64)
        yield comm.Iallgather([np.array([len(rows)], np.int64), mpi.INT64_T], [counts, mpi.INT64_T])
        everything = []
        for part in (rows, values):
            whole = np.empty((int(counts.sum()), *part.shape[1:]), part.dtype)
            each = part.dtype.itemsize * int(np.prod(part.shape[1:], dtype=np.int64))
            sizes = [int(count) * each for count in counts]
            yield comm.Iallgatherv(
                [raw(part.reshape(-1)), mpi.BYTE], [raw(whole.reshape(-1)), sizes, mpi.BYTE]
            )
            everything.append(make_tensor(whole))
        with no_grad():
            total = (
                package()
                .sparse_coo_tensor(everything[0].t(), everything[1], tensor.shape)
                .coalesce()
            )
            tensor.copy_(total / size if kind(op) == RedOpType.AVG else total)

    dimensions = tensor.sparse_dim()
    facts = (kind(op).name, f"{shape_of(tensor)}, {dimensions} sparse dimensions")
    return start("all_reduce", group, facts, steps, [tensor], async_op, soon=soon)
