"""`ZeroRedundancyOptimizer`: each rank updates some of the parameters and keeps their state alone,
then sends them to the others.

Source: PyTorch's `torch.distributed.optim.ZeroRedundancyOptimizer`, whose class this is; the scheme
is ZeRO-1 of Rajbhandari et al., 2020.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import optim
from ..core.modes import enable_grad
from ..core.tensor import Tensor, count_write, make_tensor, version_of
from ..distributed import collectives, groups, objects
from ..distributed.join import Join, Joinable, JoinHook
from ..errors import ArgumentTypeError, OperationError, UnsupportedError
from .local_sgd import PostLocalSGDOptimizer as PostLocalSGDOptimizer


class ZeroRedundancyOptimizer(optim.Optimizer, Joinable):
    """An optimizer whose state is divided over the ranks: the parameters with the most elements go
    to the rank that has the least.

    All ranks have all parameters, and averaged gradients (`DistributedDataParallel`).

    Args:
        params: parameters, or groups of them; the same on all ranks.
        optimizer_class: what updates them, with `defaults`.
        process_group: the ranks; default: all.
        parameters_as_bucket_view: have the parameters of a rank lie one after the other, so that
            they are sent without a copy.
        overlap_with_ddp: refused.

    Attributes:
        optim: the optimizer of this rank's parameters.

    Raises:
        NotImplementedError: `overlap_with_ddp`.
    """

    def __init__(
        self,
        params: Any,
        optimizer_class: Any,
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise UnsupportedError(
                "torch.distributed.optim: ZeroRedundancyOptimizer(overlap_with_ddp=True) is not supported"
            )
        given = list(params)
        if not given:
            raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
        if not all(isinstance(p, (Tensor, dict)) for p in given):
            raise ArgumentTypeError(
                "params argument should be an iterable of Tensors or dicts, but got something else"
            )
        self.process_group = groups.group_of(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._view, self._optimizer_class, self._defaults = (
            parameters_as_bucket_view,
            optimizer_class,
            defaults,
        )
        self._sizes = [0] * self.world_size
        # of each rank: for each group, its parameters
        self._parts: list[list[list[Tensor]]] = [[] for _ in range(self.world_size)]
        # the ranks' states, after `consolidate_state_dict`
        self._everything: list[Any] | None = None
        self._ready = False
        optim.Optimizer.__init__(self, given, defaults)
        Joinable.__init__(self)
        self.optim: Any = optimizer_class(
            [{**{k: v for k, v in group.items() if k != "params"}, "params": part}
             for group, part in zip(self.param_groups, self._parts[self.rank], strict=True)],
            **defaults,
        )  # fmt: skip
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=True):
            for key, value in own.items():
                group.setdefault(key, value)
        self._ready = True
        self._buckets = self._bucketed()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with options of their own."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        parts: list[list[Tensor]] = [[] for _ in range(self.world_size)]
        for p in sorted(group["params"], key=lambda p: -p._array.size):
            k = min(range(self.world_size), key=self._sizes.__getitem__)
            parts[k].append(p)
            self._sizes[k] += int(p._array.size)
        for k, part in enumerate(parts):
            self._parts[k].append(part)
        if self._ready:
            self.optim.add_param_group(
                {**{k: v for k, v in group.items() if k != "params"}, "params": parts[self.rank]}
            )
            for key, value in self.optim.param_groups[-1].items():
                group.setdefault(key, value)
            self._buckets = self._bucketed()

    def _bucketed(self) -> list[tuple[int, list[Tensor], np.ndarray]]:
        """(rank, parameters, memory for all of them), one for each rank and dtype."""
        found = []
        for k, parts in enumerate(self._parts):
            by_dtype: dict[Any, list[Tensor]] = {}
            for part in parts:
                for p in part:
                    by_dtype.setdefault(p._array.dtype, []).append(p)
            for dtype, params in by_dtype.items():
                flat = np.empty(sum(int(p._array.size) for p in params), dtype)
                if self._view:
                    at = 0
                    for p in params:
                        n = int(p._array.size)
                        view = flat[at : at + n].reshape(p._array.shape)
                        view[...] = p._array
                        p.data = make_tensor(view)
                        at += n
                found.append((k, params, flat))
        return found

    def _sync(self, source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        """Copy options: schedules change those of one of the two."""
        for a, b in zip(source, target, strict=True):
            b.update({key: value for key, value in a.items() if key != "params"})

    def step(self, closure: Callable[[], Any] | None = None, **kwargs: Any) -> Any:
        """Update this rank's parameters, and exchange all; returns the closure's value."""
        Join.notify_join_context(self)
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        self._sync(self.param_groups, self.optim.param_groups)
        if any(self._parts[self.rank]):
            self.optim.step(**kwargs)
        self._sync(self.optim.param_groups, self.param_groups)
        self._exchange()
        return loss

    def _exchange(self) -> None:
        """Send the parameters of each rank to the others."""
        works = []
        for k, params, flat in self._buckets:
            in_place = self._view and all(
                np.shares_memory(p._array, flat) for p in params if p._array.size
            )
            if not in_place and k == self.rank and flat.size:
                np.concatenate([p._array.reshape(-1) for p in params], out=flat)
            works.append(
                (
                    k,
                    params,
                    flat,
                    in_place,
                    collectives.broadcast(make_tensor(flat), None, self.process_group, True, k),
                )
            )
        for k, params, flat, in_place, work in works:
            if work is not None:
                work.wait()
            if k == self.rank:
                continue
            at = 0
            for p in params:
                n = int(p._array.size)
                if not in_place:
                    p._array[...] = flat[at : at + n].reshape(p._array.shape)
                at += n
                count_write(version_of(p))

    # ---- state -----------------------------------------------------------------------------------
    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the state of all ranks on one of them. All ranks call it before `state_dict`
        there.
        """
        self._sync(self.param_groups, self.optim.param_groups)
        held: list[Any] | None = [None] * self.world_size if self.rank == to else None
        objects.gather_object(self.optim.state_dict(), held, group=self.process_group, group_dst=to)
        self._everything = held

    def _numbers(self, rank: int) -> dict[int, Tensor]:
        """A rank's parameters by their numbers in its own state."""
        return dict(enumerate(p for part in self._parts[rank] for p in part))

    def state_dict(self) -> dict[str, Any]:
        """The state of all ranks, as the optimizer of one process has it.

        Raises:
            RuntimeError: `consolidate_state_dict` was not called, or for another rank.
        """
        if self._everything is None:
            raise OperationError(
                f"Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to={self.rank})` on all "
                "ranks beforehand if you meant to save the global state."
            )
        made = super().state_dict()
        every = [p for group in self.param_groups for p in group["params"]]
        places = {id(p): k for k, p in enumerate(every)}
        made["state"] = {}
        for rank, state in enumerate(self._everything):
            for number, p in self._numbers(rank).items():
                if number in state["state"]:
                    made["state"][places[id(p)]] = state["state"][number]
        made["state"] = dict(sorted(made["state"].items()))
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this rank's part of a state of all, such as the optimizer of one process has."""
        every = [p for group in self.param_groups for p in group["params"]]
        places = {id(p): k for k, p in enumerate(every)}
        for group, given in zip(self.param_groups, state_dict["param_groups"], strict=True):
            group.update(
                {key: copy.deepcopy(value) for key, value in given.items() if key != "params"}
            )
        self._sync(self.param_groups, self.optim.param_groups)
        own = self.optim.state_dict()
        own["state"] = {
            number: state_dict["state"][places[id(p)]]
            for number, p in self._numbers(self.rank).items()
            if places[id(p)] in state_dict["state"]
        }
        self.optim.load_state_dict(own)
        self._everything = None

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients."""
        super().zero_grad(set_to_none)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without data does: it steps with the others."""
        return _Stepping(self)

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The ranks that share the state."""
        return self.process_group


class _Stepping(JoinHook):
    """The part of a rank without data in the others' steps."""

    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Step."""
        self.optimizer.step()
