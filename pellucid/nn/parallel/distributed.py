"""DistributedDataParallel: several processes train copies of a model, each on its part of the
batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core import tracing
from ...core.modes import local
from ...core.tensor import make_tensor
from ...distributed.join import Join, Joinable, JoinHook
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, UnsupportedError
from ..modules.module import Module
from ..modules.sparse import Embedding, EmbeddingBag
from ..parameter import UninitializedParameter

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module, Joinable):
    """A module whose gradients are averaged over all ranks during backward; all ranks begin with
    rank 0's parameters and buffers.

    Each rank computes the mean loss of its part of the batch; with parts of one size, the ranks
    together make the step that one process makes with the whole batch.

    Args:
        module: the model, with the same parameters on all ranks.
        broadcast_buffers: overwrite buffers by rank 0's before each forward.
        process_group: the ranks; default: all.
        bucket_cap_mb: size of the buckets in which gradients travel; default 25.
        find_unused_parameters: allow parameters that a forward does not use; they are looked for in
            each forward.
        gradient_as_bucket_view: gradients are parts of the buckets, which saves a copy of them.
        static_graph: each iteration uses the same parameters as often as the first.

    Attributes:
        module: the model.
        require_backward_grad_sync: False inside `no_sync`.

    Raises:
        ValueError: there is no process group. RuntimeError: no parameter requires a gradient, or
            the ranks' parameters differ; at the next forward: parameters had no gradient, which are
            named with the reason.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> model.module.weight.grad
    tensor([[4., 4.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        delay_all_reduce_named_params: Any = None,
        param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
        bucket_cap_mb_list: Any = None,
        batched_grad_copy: bool = False,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        # Not as attributes of the package: under the alias `torch` it has PyTorch's names alone.
        from ...distributed.ddp.reducer import FIRST_BUCKET
        from ...distributed.groups import group_of

        super().__init__()
        Joinable.__init__(self)
        for name, value in (
            ("delay_all_reduce_named_params", delay_all_reduce_named_params),
            ("mixed_precision", mixed_precision),
            ("param_to_hook_all_reduce", param_to_hook_all_reduce),
            ("device_mesh", device_mesh),
            ("bucket_cap_mb_list", bucket_cap_mb_list),
            ("skip_all_reduce_unused_params", skip_all_reduce_unused_params or None),
        ):
            if value is not None:
                raise UnsupportedError(f"DistributedDataParallel: {name} is not supported")
        self.process_group = group_of(process_group)
        if device_ids or output_device is not None:
            kinds = {p.device for p in module.parameters()}
            raise ArgumentValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU modules or "
                f"CPU modules, but got device_ids {device_ids}, output_device {output_device}, and module parameters {kinds}."
            )
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        self.module = module
        everything = self._named()
        named = [(n, p) for n, p in everything if p.requires_grad]
        if any(isinstance(p, UninitializedParameter) for _, p in everything):
            raise OperationError(
                "Modules with uninitialized parameters can't be used with `DistributedDataParallel`. Run a dummy forward pass to correctly "
                "initialize the modules"
            )
        if not named:
            raise OperationError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.device = everything[0][1].device
        self.device_ids, self.output_device, self.dim = None, None, dim
        self.broadcast_buffers = (
            broadcast_buffers is not False and forward_sync_buffers is not False
        )
        self.forward_sync_buffers = self.broadcast_buffers
        self.find_unused_parameters, self.static_graph = find_unused_parameters, static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._join: _Shadow | None = None
        # Modules may replace buffers, so each forward asks for them; not where there are none.
        self._has_buffers = bool(self._buffers_to_share())
        if init_sync:
            self._same_parameters(everything)
            # that forward does not share them says nothing about the start, except the old argument
            buffers = forward_sync_buffers is not None or broadcast_buffers is not False
            shared = self._buffers_to_share() if buffers else []
            self._share([*(p for _, p in everything), *shared])
        self.bucket_bytes_cap = int((25 if bucket_cap_mb is None else bucket_cap_mb) * 1024 * 1024)
        self._first_bucket = FIRST_BUCKET if bucket_cap_mb is None else self.bucket_bytes_cap
        self._reduce(named)

    def _reduce(self, named: list[tuple[str, Any]]) -> None:
        """Average the gradients of these parameters from now on."""
        from ...distributed.ddp.reducer import Reducer

        self.reducer = Reducer(
            named,
            self.process_group,
            self.bucket_bytes_cap,
            self.find_unused_parameters,
            self.static_graph,
            self.gradient_as_bucket_view,
            min(self.bucket_bytes_cap, self._first_bucket),
            self._sparse_names(),
        )

    def _named(self) -> list[tuple[str, Any]]:
        return [
            (n, p) for n, p in self.module.named_parameters() if n not in self.parameters_to_ignore
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in vars(self).items() if k not in ("process_group", "reducer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy averages over all ranks, and has no communication hook."""
        from ...distributed.groups import default_group

        super().__setstate__(state)
        self.process_group = default_group()
        self._reduce([(n, p) for n, p in self._named() if p.requires_grad])

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(
        module: Module, params_and_buffers_to_ignore: Any
    ) -> None:
        """Leave parameters and buffers of these names alone, once `module` is wrapped."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore

    def _same_parameters(self, named: list[tuple[str, Any]]) -> None:
        """Raise where rank 0 has other parameters than this rank; all ranks compare with rank 0."""
        from ... import distributed as dist

        mine = [(name, list(p.shape), str(p.dtype)) for name, p in named]
        shared = [mine]
        dist.broadcast_object_list(shared, group=self.process_group, group_src=0)
        rank, theirs = self.process_group.rank(), shared[0]
        text = ""
        if len(mine) != len(theirs):
            text = (
                f"DDP expects same model across all ranks, but Rank {rank} has {len(mine)} params, while rank 0 has inconsistent "
                f"{len(theirs)} params."
            )
        for k, (a, b) in enumerate(zip(mine, theirs, strict=False)):
            if not text and a[1:] != b[1:]:
                text = f"[{rank}]: params[{k}] in this process with sizes {a[1]} appears not to match sizes of the same param in process 0."
                text += f" ({a[0]}: {a[2]}{a[1]} here, {b[2]}{b[1]} there)"
        found: list[str] = [""] * self.process_group.size()
        dist.all_gather_object(found, text, self.process_group)
        wrong = [said for said in found if said]
        if wrong:
            raise OperationError(text or wrong[0])

    def _sparse_names(self) -> list[str]:
        return [
            f"{name}.weight".lstrip(".")
            for name, part in self.module.named_modules()
            if isinstance(part, (Embedding, EmbeddingBag)) and part.sparse
        ]

    def _share(self, tensors: list[Any], root: int = 0) -> None:
        """Overwrite tensors by those of one rank."""
        from ...distributed.ddp.reducer import broadcast_coalesced

        broadcast_coalesced(tensors, self.process_group, root)

    def _buffers_to_share(self) -> list[Any]:
        return [b for n, b in self.module.named_buffers() if n not in self.parameters_to_ignore]

    # ---- calls -------------------------------------------------------------------------------
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        self._before()
        return self._after(self.module(*inputs, **kwargs))

    def _before(self) -> None:
        """What precedes the module's forward."""
        if self._join_config.enable:
            work = Join.notify_join_context(self)
            if work is not None:
                work.wait()
            self._announce()
        if self._reducing():
            tracing.aside(self.reducer.check_finished)
        if self.require_forward_param_sync and self.broadcast_buffers and self._has_buffers:
            self._share(self._buffers_to_share(), self._source())

    def _after(self, output: Any) -> Any:
        """What follows it."""
        if self._reducing():
            self.reducer.prepare(output)
            self.require_forward_param_sync = True
        else:
            self.reducer.pause()
            self.require_forward_param_sync = (
                False if local.grad else self.require_forward_param_sync
            )
        return output

    def _reducing(self) -> bool:
        return local.grad and self.require_backward_grad_sync

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Context manager for gradient accumulation: backward adds to this rank's gradients without
        reducing them.

        The first forward and backward after it reduce the sum.
        """
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let `hook(state, bucket)` reduce the buckets. It returns a future of the reduced buffer,
        and must compute the mean itself.

        Raises:
            TypeError: it cannot be called. RuntimeError: there is one already.
        """
        from ...distributed.ddp.reducer import GradBucket

        if not callable(hook):
            raise ArgumentTypeError("Communication hook must be callable.")
        annotation = inspect.signature(hook).parameters["bucket"].annotation
        known = (inspect.Parameter.empty, GradBucket, "GradBucket", "dist.GradBucket")
        if annotation not in known:
            raise ArgumentValueError(
                "Communication hook: bucket annotation should be dist.GradBucket."
            )
        if self.reducer.hook is not None:
            raise OperationError(
                "register_comm_hook or register_builtin_comm_hook can only be called once."
            )
        self.reducer.hook, self.reducer.hook_state = hook, state

    def _register_builtin_comm_hook(self, comm_hook_type: Any) -> None:
        """Have one of `torch.distributed.BuiltinCommHookType` reduce the buckets."""
        from ...distributed.ddp.hooks import built_in

        self.register_comm_hook(None, built_in(comm_hook_type))

    def _set_static_graph(self) -> None:
        """As the argument `static_graph`."""
        self.static_graph = self.reducer.static = True

    def _get_ddp_logging_data(self) -> dict[str, Any]:
        parameters = self.reducer.parameters
        return {
            "world_size": self.process_group.size(),
            "rank": self.process_group.rank(),
            "module_name": type(self.module).__name__,
            "backend_name": self.process_group.name(),
            "bucket_cap_bytes": self.bucket_bytes_cap,
            "bucket_sizes": ", ".join(str(b.flat.nbytes) for b in self.reducer.buckets),
            "num_parameter_tensors": len(parameters),
            "total_parameter_size_bytes": sum(p._array.nbytes for p in parameters),
            "find_unused_parameters": int(self.find_unused_parameters),
            "gradient_as_bucket_view": int(self.gradient_as_bucket_view),
            "broadcast_buffers": int(self.broadcast_buffers),
            "static_graph": int(self.static_graph),
        }

    # ---- uneven inputs -----------------------------------------------------------------------
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Join:
        """Context manager in which ranks may run out of data at different times. A rank without
        data contributes zeros to the reductions of the others.

        Args:
            divide_by_initial_world_size: the mean is over all ranks, not over those that still have
                data.
            enable: False: an ordinary block.
            throw_on_early_termination: raise on all ranks when the first one runs out.

        At the end, all ranks get the parameters of a rank that had data until the end.
        """
        return Join(
            [self],
            enable,
            throw_on_early_termination,
            divide_by_initial_world_size=divide_by_initial_world_size,
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """What a rank without data does; `divide_by_initial_world_size` as in `join`."""
        return _Shadow(self, kwargs.get("divide_by_initial_world_size", True))

    @property
    def join_device(self) -> Any:
        """The device of the parameters."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The ranks that train this model."""
        return self.process_group

    def _tell(self, active: bool) -> np.ndarray:
        """[ranks with data, those of them that reduce in this iteration, the first of them]."""
        from ... import distributed as dist

        size, rank = self.process_group.size(), self.process_group.rank()
        said = np.zeros(size + 1, np.int64)
        if active:
            said[rank] = 1
            said[size] = self._reducing()
        dist.all_reduce(make_tensor(said), group=self.process_group)
        present = np.flatnonzero(said[:size])
        return np.array([len(present), said[size], present[0] if len(present) else -1])

    def _announce(self) -> None:
        """This rank has data, and begins an iteration."""
        assert self._join is not None
        active, _, first = self._tell(True)
        self._join.source = int(first)
        self.reducer.joined = True
        self.reducer.divisor = self.process_group.size() if self._join.by_all else int(active)

    def _source(self) -> int:
        """Whose buffers count: rank 0's, or with `join` those of the first rank with data."""
        return self._join.source if self._join is not None and self._join_config.enable else 0


class _Shadow(JoinHook):
    """The part of a rank without data in the others' iterations."""

    def __init__(self, model: DistributedDataParallel, by_all: bool) -> None:
        self.model, self.by_all, self.source = model, by_all, 0
        self.last = model.process_group.rank()  # the rank that was followed last
        model._join = self

    def main_hook(self) -> None:
        """Broadcast buffers and reduce gradients with the others."""
        model = self.model
        active, reducing, first = model._tell(False)
        self.last = int(first)
        model.reducer.joined = True
        if model.require_forward_param_sync and model.broadcast_buffers and model._has_buffers:
            model._share(model._buffers_to_share(), self.last)
        if reducing:
            model.reducer.shadow(int(active))

    def post_hook(self, is_last_joiner: bool) -> None:
        """Take the parameters and buffers of a rank that had data to the end."""
        from ... import distributed as dist

        model = self.model
        found: list[Any] = [None] * model.process_group.size()
        dist.all_gather_object(found, self.last, model.process_group)
        # Who ran out first followed the others longest: the last rank that anybody followed had
        # data to the end.
        root = max(set(found), key=lambda r: (found.count(r), r))
        model._share([*model.module.parameters(), *model._buffers_to_share()], root)
        model._join, model.reducer.joined = None, False
        model.reducer.divisor = model.process_group.size()
