"""PowerSGD: gradients travel as products of two narrow matrices.

Each gradient with two or more dimensions is a matrix M (n, m). The ranks average P = M Q, make
its columns orthonormal, average Q = M^T P, and take P Q^T for the mean of M: (n + m) r numbers
instead of n m. The error is added to the next gradient (error feedback). Source: Vogels,
Karimireddy and Jaggi, "PowerSGD: practical low-rank gradient compression for distributed
optimization", 2019; the functions and arguments are PyTorch's
`torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.public import FUNCTIONS
from ...core.streams.generator import Generator
from ...core.tensor import make_tensor
from ...errors import ArgumentValueError
from ...futures import Future
from .. import collectives
from ..groups import ProcessGroup, group_of
from ..transport.reductions import ReduceOp
from .reducer import GradBucket


class PowerSGDState:
    """What the hook keeps from bucket to bucket, and its options.

    Args:
        process_group: the ranks; None: all.
        matrix_approximation_rank: columns of P and Q.
        start_powerSGD_iter: before this iteration, gradients are averaged as without a hook.
        min_compression_rate: gradients that would not shrink by more travel whole.
        use_error_feedback: add what was lost to the next gradient.
        warm_start: begin with the Q of the iteration before.
        orthogonalization_epsilon: added to norms where columns are made orthonormal one by one; 0:
            by a QR decomposition.
        random_seed: of the first Q, the same on all ranks.

    Raises:
        ValueError: it is to start in the first two iterations, with error feedback or a warm start.
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1_000,  # noqa: N803 (PyTorch's name)
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ArgumentValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, because PowerSGD can only be applied "
                "after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank, self.min_compression_rate = (
            matrix_approximation_rank,
            min_compression_rate,
        )
        self.start_powerSGD_iter, self.use_error_feedback, self.warm_start = (
            start_powerSGD_iter,
            use_error_feedback,
            warm_start,
        )
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.rng = np.random.RandomState(random_seed)
        self.error_dict: dict[int, np.ndarray] = {}
        self.q_memory_dict: dict[int, list[np.ndarray]] = {}
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def compression_stats(self) -> tuple[float, int, int]:
        """(numbers before over numbers after, before, after)."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return (before / after if after > 0 else 0), before, after

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count an iteration with its last bucket."""
        self.iter += bucket.is_last()


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:  # noqa: N802 (PyTorch's name)
    """The mean of a bucket, its gradients with several dimensions as products of narrow matrices."""
    parts = [part._array for part in bucket.gradients()]
    shrinking = [
        part.ndim > 1
        and part.size > 0
        and _shrinks(state, part.shape[0], part.size // part.shape[0])
        for part in parts
    ]
    matrices = [
        part.reshape(part.shape[0], -1)
        for part, shrinks in zip(parts, shrinking, strict=True)
        if shrinks
    ]
    return _reduced(
        state,
        bucket,
        matrices,
        [part for part, shrinks in zip(parts, shrinking, strict=True) if not shrinks],
    )


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future[Any]:  # noqa: N802 (PyTorch's name)
    """The mean of a bucket, all of which is one square matrix: quicker, and coarser."""
    flat = bucket.buffer()._array
    side = int(np.ceil(np.sqrt(flat.size)))
    square = np.zeros((side, side), flat.dtype)
    square.reshape(-1)[: flat.size] = flat
    return _reduced(state, bucket, [square], [], square)


def _shrinks(state: PowerSGDState, n: int, m: int) -> bool:
    return (n + m) * min(n, m, state.matrix_approximation_rank) * state.min_compression_rate < n * m


def _summed(group: ProcessGroup, arrays: list[np.ndarray]) -> None:
    """Replace arrays by their sums over the ranks, all in one message."""
    if not arrays:
        return
    flat = np.concatenate([a.reshape(-1) for a in arrays])
    collectives.all_reduce(make_tensor(flat), ReduceOp.SUM, group)
    at = 0
    for a in arrays:
        a[...] = flat[at : at + a.size].reshape(a.shape)
        at += a.size


def _reduced(
    state: PowerSGDState,
    bucket: GradBucket,
    matrices: list[np.ndarray],
    whole: list[np.ndarray],
    square: np.ndarray | None = None,
) -> Future[Any]:
    """Average the matrices in place as products, the other arrays in place as they are; the
    bucket's buffer, later.
    """
    group = group_of(state.process_group)
    flat = bucket.buffer()._array
    done: Future[Any] = Future()
    if state.iter < state.start_powerSGD_iter:
        _summed(group, [flat])
        flat /= group.size()
    else:
        values = flat if square is None else square.reshape(-1)
        before = None
        if state.use_error_feedback:
            if bucket.index() in state.error_dict:
                values += state.error_dict[bucket.index()]
            before = values.copy()
        _summed(group, whole)
        for part in whole:
            part /= group.size()
        qs = _second_factors(state, bucket.index(), matrices)
        ps = [m @ q for m, q in zip(matrices, qs, strict=True)]
        state.total_numel_before_compression += sum(m.size for m in matrices) + sum(
            w.size for w in whole
        )
        state.total_numel_after_compression += sum(
            p.size + q.size for p, q in zip(ps, qs, strict=True)
        ) + sum(w.size for w in whole)
        _summed(group, ps)
        ps = [_orthonormal(p, state.orthogonalization_epsilon) for p in ps]
        for m, p, q in zip(matrices, ps, qs, strict=True):
            np.matmul(m.T, p, out=q)
        _summed(group, qs)
        for m, p, q in zip(matrices, ps, qs, strict=True):
            q /= group.size()
            np.matmul(p, q.T, out=m)
        if before is not None:
            # Of what travelled whole nothing is lost: `whole` are means, and the difference to them
            # is no error.
            error = before - values
            if square is None:
                for part in whole:
                    _within(error, flat, part)[...] = 0
            state.error_dict[bucket.index()] = error
        state.q_memory_dict[bucket.index()] = qs
        if square is not None:
            flat[...] = values[: flat.size]
    state.maybe_increase_iter(bucket)
    done.set_result(bucket.buffer())
    return done


def _within(error: np.ndarray, flat: np.ndarray, part: np.ndarray) -> np.ndarray:
    """The elements of `error` at the place that a part has in `flat`."""
    start = (
        part.__array_interface__["data"][0] - flat.__array_interface__["data"][0]
    ) // flat.itemsize
    return error[start : start + part.size]


def _second_factors(
    state: PowerSGDState, index: int, matrices: list[np.ndarray]
) -> list[np.ndarray]:
    """Q of each matrix, with orthonormal columns: those of the iteration before, or random ones
    that are the same on all ranks.
    """
    if state.warm_start and index in state.q_memory_dict:
        found = state.q_memory_dict[index]
    else:
        stream = Generator()
        stream.manual_seed(int(state.rng.randint(1_000_000_000)))
        found = []
        for m in matrices:
            rank = min(*m.shape, state.matrix_approximation_rank)
            found.append(
                FUNCTIONS["torch"]["randn"](m.shape[1], rank, generator=stream)._array.astype(
                    m.dtype
                )
            )
    return [_orthonormal(q, state.orthogonalization_epsilon) for q in found]


def _orthonormal(a: np.ndarray, epsilon: float) -> np.ndarray:
    """A matrix with orthonormal columns that span the same space."""
    if epsilon == 0 and a.dtype.itemsize >= 4:
        return np.ascontiguousarray(np.linalg.qr(a)[0])
    made = a.copy()
    for k in range(made.shape[1]):
        column = made[:, k]
        column /= np.linalg.norm(column) + epsilon
        made[:, k + 1 :] -= np.outer(column, column @ made[:, k + 1 :])
    return made
