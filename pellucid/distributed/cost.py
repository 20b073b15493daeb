"""How long a training step takes on many ranks: a model of collectives and of data-parallel
training.

A message of n bytes takes `start + n / bandwidth` seconds, and adding up n bytes `n / adding`. For
N ranks an all-reduce takes

    ring              2 (N - 1) start + 2 (N - 1)/N n/bandwidth + (N - 1)/N n/adding
    recursive halving 2 log2(N) start + 2 (N - 1)/N n/bandwidth + (N - 1)/N n/adding      (Rabenseifner)
    recursive doubling  log2(N) (start + n/bandwidth + n/adding)

and the best of them is taken, as MPI libraries do. A reduce-scatter and an all-gather are its two
halves. The slowest of N ranks needs `sigma sqrt(2 ln N)` longer than the mean, where steps vary by
`sigma`. Source: Thakur, Rabenseifner and Gropp, "Optimization of collective communication
operations in MPICH", 2005; Rajbhandari et al., "ZeRO", 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

OVERLAP = 0.9  # of backward, while which gradients can travel
FORWARD = 1 / 3  # of a step, if nobody has measured it
UNITS = 8  # parts in which ZeRO-3 gathers a model, where nothing else is known


@dataclass(frozen=True)
class Network:
    """What joins the ranks.

    Args:
        name: what it is called.
        start: seconds until the first byte of a message arrives.
        bandwidth: bytes a second between two ranks.
        adding: bytes a second that a rank adds up.
    """

    name: str
    start: float
    bandwidth: float
    adding: float = 20e9

    def all_reduce(self, size: float, ranks: int) -> float:
        """Seconds of an all-reduce of `size` bytes.

        >>> round(NETWORKS["10GbE"].all_reduce(25e6, 8) * 1e3, 1)
        39.3
        """
        if ranks < 2:
            return 0.0
        rounds, part = math.log2(ranks), (ranks - 1) / ranks
        moved = 2 * part * size / self.bandwidth + part * size / self.adding
        ring, halving = (
            2 * (ranks - 1) * self.start + moved,
            2 * math.ceil(rounds) * self.start + moved,
        )
        doubling = math.ceil(rounds) * (self.start + size / self.bandwidth + size / self.adding)
        return min(ring, halving, doubling)

    def all_gather(self, size: float, ranks: int) -> float:
        """Seconds of an all-gather whose result has `size` bytes."""
        if ranks < 2:
            return 0.0
        return (
            math.ceil(math.log2(ranks)) * self.start + (ranks - 1) / ranks * size / self.bandwidth
        )

    def reduce_scatter(self, size: float, ranks: int) -> float:
        """Seconds of a reduce-scatter of `size` bytes on each rank."""
        return self.all_gather(size, ranks) + (
            0.0 if ranks < 2 else (ranks - 1) / ranks * size / self.adding
        )


NETWORKS = {
    "10GbE": Network("10 Gb/s Ethernet", 25e-6, 1.15e9),
    "25GbE": Network("25 Gb/s Ethernet", 20e-6, 2.9e9),
    "100Gb": Network("100 Gb/s InfiniBand", 2e-6, 11.5e9),
    "200Gb": Network("200 Gb/s InfiniBand", 2e-6, 23e9),
}


@dataclass(frozen=True)
class MeasuredStep:
    """What was measured of a training step of one rank.

    Args:
        seconds: all of it.
        backward: seconds of its backward.
        update: seconds of its optimizer's update, which ZeRO shares out.
        buckets: bytes of gradients, in the order in which they are reduced.
        parameters: bytes of all parameters.
        states: bytes of what the optimizer keeps.
        sigma: how much steps vary, as a part of a step.
        delayed: seconds of the step in which other programs had the processor.
    """

    seconds: float
    backward: float
    buckets: Sequence[int]
    parameters: int
    states: int
    update: float = 0.0
    sigma: float = 0.01
    delayed: float = 0.0

    @property
    def gradients(self) -> int:
        """Bytes of gradients."""
        return sum(self.buckets)


@dataclass(frozen=True)
class Prediction:
    """A step on many ranks.

    `seconds` of a step with the same batch for each rank, `efficiency` against one rank alone,
    bytes of `memory` for parameters, gradients and optimizer state, `exposed` seconds of
    communication during which nothing is computed, and what limits.
    """

    way: str
    ranks: int
    seconds: float
    efficiency: float
    memory: float
    exposed: float
    limit: str


WAYS = ("DDP", "ZeRO-1", "ZeRO-2", "ZeRO-3")


def predict(
    step: MeasuredStep, network: Network, ranks: int, overlap: float = OVERLAP
) -> list[Prediction]:
    """A step in each way of sharing the work.

    Args:
        overlap: the part of backward during which gradients can travel; 0 where no core is left for
            that.

    >>> step = MeasuredStep(0.394, 0.26, [25_000_000] * 4 + [2_000_000], 102_000_000, 204_000_000)
    >>> for p in predict(step, NETWORKS["10GbE"], 8):
    ...     print(p.way, f"{p.efficiency:.0%}", round(p.memory / 1e6))
    DDP 97% 408
    ZeRO-1 98% 230
    ZeRO-2 98% 140
    ZeRO-3 93% 51
    """
    jitter = step.seconds * step.sigma * math.sqrt(2 * math.log(ranks)) if ranks > 1 else 0.0
    hidden = overlap * step.backward
    forward = max(step.seconds - step.backward - step.update, 0.0)
    grads, params, states = step.gradients, step.parameters, step.states
    saved = step.update * (1 - 1 / ranks)  # each rank updates its share
    last = step.buckets[-1] if step.buckets else 0

    def both(call: Callable[[float, int], float], times: float = 1.0) -> float:
        return times * sum(call(b, ranks) for b in step.buckets)

    reduced, scattered = both(network.all_reduce), both(network.reduce_scatter)
    gathered = network.all_gather(params, ranks)
    unit = params / UNITS
    ways = {
        "DDP": (
            max(network.all_reduce(last, ranks), reduced - hidden),
            0.0,
            params + grads + states,
        ),
        "ZeRO-1": (
            max(network.reduce_scatter(last, ranks), scattered - hidden)
            + max(0.0, gathered - overlap * forward),
            saved,
            params + grads + states / ranks,
        ),
        "ZeRO-2": (
            max(network.reduce_scatter(last, ranks), scattered - hidden)
            + max(0.0, gathered - overlap * forward),
            saved,
            params + (grads + states) / ranks,
        ),
        "ZeRO-3": (
            network.all_gather(unit, ranks)
            + network.reduce_scatter(unit, ranks)
            + max(0.0, 2 * gathered + scattered - overlap * (step.seconds - step.update)),
            saved,
            (params + grads + states) / ranks,
        ),
    }
    if ranks < 2:
        ways = {"DDP": (0.0, 0.0, params + grads + states)}
    found = []
    for way, (exposed, saving, memory) in ways.items():
        seconds = step.seconds + jitter + exposed - saving
        found.append(
            Prediction(
                way,
                ranks,
                seconds,
                step.seconds / seconds,
                memory,
                exposed,
                _limit(step, network, ranks, jitter, exposed, overlap),
            )
        )
    return found


def _limit(
    step: MeasuredStep, network: Network, ranks: int, jitter: float, exposed: float, overlap: float
) -> str:
    """What costs most, in words."""
    if exposed < 0.01 * step.seconds and jitter < 0.01 * step.seconds:
        return "computing"
    if jitter >= exposed:
        return "ranks that wait for the slowest"
    rounds = 2 * math.ceil(math.log2(max(ranks, 2)))
    starts = len(step.buckets) * rounds * network.start
    if starts > exposed / 2:
        return "starting messages: fewer, larger buckets"
    last = step.buckets[-1] if step.buckets else 0
    if overlap and network.all_reduce(last, ranks) > 0.8 * exposed:
        return f"the last bucket, {last / 1e6:.3g} MB, which is complete when backward ends"
    return f"bandwidth: {step.gradients / 1e6:.3g} MB of gradients a step"
