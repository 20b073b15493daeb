"""`fully_shard`: modules whose parameters, gradients and optimizer state are cut over the ranks.

Source: PyTorch's `torch.distributed.fsdp.fully_shard`, whose functions and methods these are; the
scheme is ZeRO-3 of Rajbhandari et al., "ZeRO: memory optimizations toward training trillion
parameter models", 2020.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any

from ... import nn
from ...core import reverse
from ...core.modes import enable_grad
from ...core.modes import local as modes
from ...core.tensor import Tensor
from ...distributed import groups
from ...distributed.mesh import DeviceMesh, init_device_mesh
from ...errors import ArgumentValueError, ContractError, UnsupportedError
from .group import Cut, Data, Group


@dataclasses.dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes of a module's computation and of the averaging of its gradients. The optimizer works with the original ones.

    Attributes:
        param_dtype: the dtype of the gathered parameters, and of floating-point inputs if `cast_forward_inputs`.
        reduce_dtype: the dtype in which gradients are averaged. Default: None, that of the computation.
        output_dtype: the dtype of floating-point results. Default: None, as computed.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.fsdp import MixedPrecisionPolicy, fully_shard
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> half = MixedPrecisionPolicy(param_dtype=torch.bfloat16)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> model = fully_shard(torch.nn.Linear(2, 3), mesh=mesh, mp_policy=half)
    >>> y = model(torch.ones(1, 2))
    >>> y.sum().backward()
    >>> y.dtype, model.weight.grad.dtype
    (torch.bfloat16, torch.float32)
    >>> dist.destroy_process_group()
    """

    param_dtype: Any = None
    reduce_dtype: Any = None
    output_dtype: Any = None
    cast_forward_inputs: bool = True


@dataclasses.dataclass
class OffloadPolicy:
    """Keep parameters where they are. This is the default.

    >>> from pellucid.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy
    >>> isinstance(CPUOffloadPolicy(), OffloadPolicy)
    True
    """


@dataclasses.dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keep parameters in the memory of the CPU, where they are already.

    >>> from pellucid.distributed.fsdp import CPUOffloadPolicy
    >>> CPUOffloadPolicy(pin_memory=False)
    CPUOffloadPolicy(pin_memory=False)
    """

    pin_memory: bool = True


class State:
    """What `fully_shard` keeps of the modules of one call."""

    def __init__(
        self,
        modules: list[nn.Module],
        group: Group,
        policy: MixedPrecisionPolicy,
        auto_reshard: bool,
    ) -> None:
        self.modules, self.group, self.policy = modules, group, policy
        # nobody said what happens after forward: the root keeps its parameters
        self.auto_reshard = auto_reshard
        self.root: State | None = None
        self.below: list[State] = []  # of a root: all of its modules' states
        self.inside = 0  # modules whose forward is running or was, in this pass
        self.in_backward = False
        self.queued = False

    def lazy_root(self) -> State:
        """The state of the outermost module, found when it is first called."""
        if self.root is None:
            found: dict[int, State] = {}
            for module in self.modules:
                for inner in module.modules():
                    state = inner.__dict__.get("_fsdp_state")
                    if state is not None:
                        found[id(state)] = state
            self.below = list(found.values())
            for state in self.below:
                state.root = self
            if self.auto_reshard:
                self.group.reshard_after_forward = False
        return self.root or self

    # ---- forward ---------------------------------------------------------------------------------
    def before(self, module: nn.Module, args: Any, kwargs: Any) -> Any:
        """Gather the parameters, and convert the inputs."""
        self.lazy_root()
        self.group.unshard()
        self.inside += 1
        policy = self.policy
        if policy.param_dtype is not None and policy.cast_forward_inputs:
            args, kwargs = _converted((args, kwargs), policy.param_dtype)
        return args, kwargs

    def after(self, module: nn.Module, args: Any, output: Any) -> Any:
        """Give the parameters back, and have backward gather them."""
        if self.policy.output_dtype is not None:
            output = _converted(output, self.policy.output_dtype)
        found = (
            [t for t in tensors_in(output) if t.requires_grad and t.grad_fn is not None]
            if modes.grad
            else []
        )
        for t in found:
            t.register_hook(self._before_backward)
        if self.inside >= len(self.modules):
            self.inside = 0
            trains = modes.grad and any(cut.sharded.requires_grad for cut in self.group.cuts)
            if self.group.reshard_after_forward and not self.in_backward and (found or not trains):
                self.group.reshard()
        return output

    # ---- backward --------------------------------------------------------------------------------
    def _before_backward(self, grad: Any) -> None:
        root = self.lazy_root()
        if not root.queued:
            root.queued = True
            reverse.queue_callback(root._finish)
        self.in_backward = True
        with enable_grad():  # a checkpoint around the module computes its forward again
            self.group.unshard()

    def _finish(self) -> None:
        """At the end of backward: what has not been reduced is, and all parameters are given back."""
        self.queued = False
        for state in reversed(self.below):
            group = state.group
            if state.in_backward and group.reshard_after_backward:
                group.reshard()
            state.in_backward, state.inside = False, 0


def tensors_in(value: Any, seen: set[int] | None = None) -> Iterator[Tensor]:
    """The tensors in lists, dictionaries, dataclasses and other plain objects."""
    seen = set() if seen is None else seen
    if isinstance(value, Tensor):
        yield value
        return
    if id(value) in seen or isinstance(value, (str, bytes, int, float, type(None), nn.Module)):
        return
    seen.add(id(value))
    if isinstance(value, (list, tuple, set)):
        for each in value:
            yield from tensors_in(each, seen)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()), seen)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from tensors_in(list(vars(value).values()), seen)


def _converted(value: Any, dtype: Any) -> Any:
    """Floating-point tensors in lists, tuples, dictionaries and dataclasses in another type."""
    if isinstance(value, Tensor):
        return value.to(dtype) if value.dtype.is_floating_point and value.dtype != dtype else value
    if isinstance(value, dict):
        made = {k: _converted(v, dtype) for k, v in value.items()}
        return made if type(value) is dict else type(value)(made)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_converted(v, dtype) for v in value])
    if isinstance(value, (list, tuple)):
        return type(value)([_converted(v, dtype) for v in value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value,
            **{
                f.name: _converted(getattr(value, f.name), dtype)
                for f in dataclasses.fields(value)
                if f.init
            },
        )
    return value


# ---- the modules' class ----------------------------------------------------------------------------
class UnshardHandle:
    """Returned by `unshard(async_op=True)`; `wait()` waits until the parameters are gathered."""

    def wait(self) -> None:
        """Return when the parameters are there; they are."""


class FSDPModule:
    """The base class that `fully_shard` adds to a module. Its methods control when parameters are gathered and gradients reduced.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.fsdp import fully_shard
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> model = fully_shard(torch.nn.Linear(2, 3), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> type(model.weight).__name__
    'DTensor'
    >>> model.unshard()
    >>> type(model.weight).__name__
    'Tensor'
    >>> model.reshard()
    >>> dist.destroy_process_group()
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """A container that makes another of itself (by a slice) makes one of its original class."""
        plain: Any = cls.__mro__[2]
        made = plain.__new__(plain, *args, **kwargs)
        made.__init__(*args, **kwargs)
        return made

    @property
    def _state(self) -> State:
        return vars(self)["_fsdp_state"]

    def _get_fsdp_state(self) -> State:
        return self._state

    def _states(self, recurse: bool) -> list[State]:
        if not recurse:
            return [self._state]
        found: dict[int, State] = {}
        for module in self.modules():  # type: ignore[attr-defined]
            if isinstance(module, FSDPModule):
                found[id(module._state)] = module._state
        return list(found.values())

    def reshard(self) -> None:
        """Give this module's whole parameters back."""
        self._state.group.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather this module's parameters, until `reshard` or the end of the next forward or
        backward.
        """
        self._state.group.unshard()
        return UnshardHandle() if async_op else None

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Accepted: backward ends its work each time."""

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether gradients are averaged at the end of backward; where not, they are added up in
        full.
        """
        for state in self._states(recurse):
            state.group.sync = requires_gradient_sync

    def set_requires_all_reduce(self, requires_all_reduce: bool, *, recurse: bool = True) -> None:
        """Whether gradients are averaged over the replicas, too, on a mesh of two dimensions."""
        for state in self._states(recurse):
            state.group.all_reduce = requires_all_reduce

    def set_reshard_after_forward(self, reshard_after_forward: bool, recurse: bool = True) -> None:
        """Whether parameters are given back after forward, and gathered again for backward."""
        if not isinstance(reshard_after_forward, bool):
            raise ArgumentValueError(
                f"reshard_after_forward should be a bool, got {type(reshard_after_forward)}"
            )
        for state in self._states(recurse):
            state.auto_reshard, state.group.reshard_after_forward = False, reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether parameters are given back after backward."""
        for state in self._states(recurse):
            state.group.reshard_after_backward = reshard_after_backward

    def set_gradient_divide_factor(self, factor: float) -> None:
        """By what the sum of the ranks' gradients is divided; default: their number."""
        self._state.group.divide_by = factor  # type: ignore[assignment]

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def set_modules_to_forward_prefetch(self, modules: Any) -> None:
        """Accepted: parameters are gathered when they are needed."""

    set_modules_to_backward_prefetch = set_modules_to_forward_prefetch

    def set_unshard_in_backward(self, unshard_in_backward: bool) -> None:
        """Accepted if True.

        Raises:
            NotImplementedError: False.
        """
        if not unshard_in_backward:
            raise UnsupportedError(
                "torch.distributed.fsdp: set_unshard_in_backward(False) is not supported"
            )

    def set_post_optim_event(self, event: Any) -> None:
        """Accepted."""

    def set_force_sum_reduction_for_comms(self, enable: bool) -> None:
        """Accepted: gradients are added and then divided in any case."""

    def _apply(self, *args: Any, **kwargs: Any) -> Any:
        for state in self._states(True):
            state.group.reshard()
        made = super()._apply(*args, **kwargs)  # type: ignore[misc]
        for state in self._states(True):
            for cut in state.group.cuts:
                held = cut.current()
                cut.dtype = held.dtype
                cut.put(held)
            state.group.block = None
        return made


def _no_copy(self: Any, memo: Any) -> Any:
    raise ContractError("FSDP does not support deepcopy. Please use state dict for serialization.")


@functools.cache
def _class_of(cls: Any) -> Any:
    return type(
        f"FSDP{cls.__name__}",
        (FSDPModule, cls),
        {"__deepcopy__": _no_copy, "__module__": cls.__module__},
    )


def _managed(
    modules: list[nn.Module], ignored: set[int]
) -> list[tuple[str, list[tuple[nn.Module, str]], Tensor]]:
    """Parameters of the modules and of those in them that are not sharded on their own: title,
    places, parameter.
    """
    found: dict[int, tuple[str, list[tuple[nn.Module, str]], Tensor]] = {}
    visited: set[int] = set()

    def visit(module: nn.Module, path: str, top: bool) -> None:
        if id(module) in visited or not top and isinstance(module, FSDPModule):
            return
        visited.add(id(module))
        for name, param in module._parameters.items():
            if param is None or id(param) in ignored:
                continue
            if id(param) in found:
                found[id(param)][1].append((module, name))
            else:
                found[id(param)] = (f"{path}{name}", [(module, name)], param)
        for name, child in module.named_children():
            visit(child, f"{path}{name}.", False)

    for module in modules:
        visit(module, "", True)
    return list(found.values())


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[Any], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[Any] | None = None,
    dp_mesh_dims: Any = None,
) -> Any:
    """Shard a module's parameters over the ranks. They are gathered for its forward and its backward, and each
    rank receives its shard of the averaged gradients.

    Call it on the blocks of a model first, then on the model: each call puts the parameters that no earlier call
    took into one group. Create the optimizer afterwards, because the parameters become `DTensor`s.
    All ranks must begin with the same parameters.

    Args:
        module: a module, or several whose parameters are gathered together.
        mesh: a mesh of one dimension (default: all ranks), or of two: parameters are replicated along the
            first and sharded along the second.
        reshard_after_forward: free the gathered parameters after forward, and gather them again for
            backward. Default: True, except for the outermost module.
        shard_placement_fn: called with a parameter, returns the `Shard` with the dimension to shard, or
            None for the first dimension.
        mp_policy: the dtypes of computation and reduction, a `MixedPrecisionPolicy`.
        offload_policy: accepted.
        ignored_params: parameters that are not sharded.

    Raises:
        ValueError: the mesh has more than two dimensions, or a parameter is a scalar. NotImplementedError:
            `reshard_after_forward` is a number of ranks, or `dp_mesh_dims` is given.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.Linear(2, 3)
    >>> model = dist.fsdp.fully_shard(model, mesh=dist.init_device_mesh("cpu", (1,)))
    >>> model.weight.placements
    (Shard(dim=0),)
    >>> dist.destroy_process_group()
    """
    if isinstance(module, (nn.ModuleList, nn.ModuleDict)):
        raise ArgumentValueError(
            f"fully_shard does not support containers that do not implement forward: {module}"
        )
    if dp_mesh_dims is not None:
        raise UnsupportedError(
            "torch.distributed.fsdp: fully_shard(dp_mesh_dims=) is not supported"
        )
    chosen = mesh or init_device_mesh("cpu", (groups.get_world_size(),))
    if chosen.ndim not in (1, 2):
        raise ArgumentValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {chosen}")
    if chosen.ndim == 2 and chosen.mesh_dim_names is None:
        raise ContractError("Please init the 2D mesh for HSDP with mesh_dim_names specified")
    if not isinstance(reshard_after_forward, (bool, int, type(None))):
        raise ArgumentValueError(
            "reshard_after_forward should be a bool or an int representing the group size to reshard to, not "
            f"{reshard_after_forward}"
        )
    data = Data(chosen)
    if isinstance(reshard_after_forward, int) and not isinstance(reshard_after_forward, bool):
        if reshard_after_forward not in (1, data.parts):
            raise UnsupportedError(
                "torch.distributed.fsdp: fully_shard(reshard_after_forward=) with a number of ranks is not supported"
            )
        reshard_after_forward = reshard_after_forward != 1
    policy = mp_policy or MixedPrecisionPolicy()
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for each in modules:
        if isinstance(each, FSDPModule):
            raise ContractError("fully_shard: each module can be sharded once")
    cuts = []
    for title, places, param in _managed(modules, {id(p) for p in ignored_params or ()}):
        placement = shard_placement_fn(param) if shard_placement_fn is not None else None
        dim = 0 if placement is None else placement.dim % max(param.ndim, 1)
        cuts.append(Cut(title, places, param, dim, data))
    group = Group(
        cuts, data, policy, True if reshard_after_forward is None else reshard_after_forward
    )
    state = State(modules, group, policy, reshard_after_forward is None)
    for each in modules:
        kind: Any = type(each)
        each.__class__ = _class_of(kind)
        each.__dict__["_fsdp_state"] = state
        each.register_forward_pre_hook(state.before, with_kwargs=True, prepend=True)
        each.register_forward_hook(state.after)
        each.register_state_dict_pre_hook(lambda m, prefix, keep_vars: group.reshard())
        each.register_load_state_dict_pre_hook(lambda m, *rest: group.reshard())
    return module


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Make a method other than forward gather the parameters as well, such as `generate`.

    Raises:
        ValueError: the module has no such method.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.fsdp import fully_shard, register_fsdp_forward_method
    >>> class Model(torch.nn.Linear):
    ...     def encode(self, x):
    ...         return self.weight @ x
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> model = fully_shard(Model(2, 3), mesh=dist.init_device_mesh("cpu", (1,)))
    >>> register_fsdp_forward_method(model, "encode")
    >>> model.encode(torch.ones(2)).shape
    torch.Size([3])
    >>> dist.destroy_process_group()
    """
    if not isinstance(module, FSDPModule):
        return
    if not hasattr(module, method_name):
        raise ArgumentValueError(f"{type(module)} does not have a method {method_name}")
    original = getattr(module, method_name)
    state = module._state

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.before(module, args, kwargs)
        return state.after(module, args, original(*args, **kwargs))

    setattr(module, method_name, wrapped)


def share_comm_ctx(modules: Any) -> None:
    """Accepted, without effect.

    >>> from pellucid.distributed.fsdp import share_comm_ctx
    >>> share_comm_ctx([])
    """
