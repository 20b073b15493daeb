"""`torch.distributed.tensor`: distributed tensors, how they lie on a mesh, and modules whose
parameters they are.

Source: PyTorch's `torch.distributed.tensor`, whose functions these are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .. import nn
from .._pytree import tree_flatten, tree_unflatten
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor, make_tensor
from ..distributed.mesh import DeviceMesh as DeviceMesh
from ..distributed.mesh import current_mesh
from ..distributed.mesh import init_device_mesh as init_device_mesh
from ..errors import ArgumentValueError, ContractError, OperationError, warn
from .dtensor import DTensor as DTensor
from .dtensor import distribute_tensor as distribute_tensor
from .dtensor import implicit_replication as implicit_replication
from .placements import DTensorSpec as DTensorSpec
from .placements import Partial as Partial
from .placements import Placement as Placement
from .placements import Replicate as Replicate
from .placements import Shard as Shard
from .placements import TensorMeta as TensorMeta
from .placements import _StridedShard as _StridedShard
from .placements import (
    compute_local_shape_and_global_offset as compute_local_shape_and_global_offset,
)
from .placements import local_shape, meta_of, normalized
from .redistribute import part


def _made(
    name: str,
    size: tuple[Any, ...],
    mesh: DeviceMesh | None,
    placements: Any,
    requires_grad: bool,
    fill: Any,
    options: Any,
) -> DTensor:
    sizes = tuple(size[0]) if len(size) == 1 and isinstance(size[0], (list, tuple)) else tuple(size)
    chosen = mesh or current_mesh()
    if placements is not None and len(placements) != chosen.ndim:
        raise ContractError("mesh dimension does not match the length of placements")
    wanted = normalized(placements, len(sizes), chosen)
    if name in ("rand", "randn"):
        local: Any = make_tensor(
            part(FUNCTIONS["torch"][name](sizes, **options)._array, chosen, wanted)
        )
    else:
        shape = local_shape(sizes, chosen, wanted)
        local = FUNCTIONS["torch"][name](shape, *fill, **options)
    return DTensor(
        local, DTensorSpec(chosen, wanted, meta_of(sizes, local.dtype)), requires_grad=requires_grad
    )


def zeros(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Zeros of a shape, distributed; `placements` default to `Replicate`.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> from pellucid.distributed import tensor
    >>> tensor.zeros(4, 2, device_mesh=dist.init_device_mesh("cpu", (1,))).full_tensor().shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    return _made("zeros", size, device_mesh, placements, requires_grad, (), {"dtype": dtype})


def ones(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Ones of a shape, distributed.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> from pellucid.distributed import tensor
    >>> tensor.ones(2, device_mesh=dist.init_device_mesh("cpu", (1,))).full_tensor()
    tensor([1., 1.])
    >>> dist.destroy_process_group()
    """
    return _made("ones", size, device_mesh, placements, requires_grad, (), {"dtype": dtype})


def empty(
    *size: Any,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Return a distributed tensor of the given shape with uninitialized values; `zeros` has an example."""
    return _made("empty", size, device_mesh, placements, requires_grad, (), {"dtype": dtype})


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    requires_grad: bool = False,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """One value in a shape, distributed.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> from pellucid.distributed import tensor
    >>> tensor.full((2,), 7.0, device_mesh=dist.init_device_mesh("cpu", (1,))).full_tensor()
    tensor([7., 7.])
    >>> dist.destroy_process_group()
    """
    return _made(
        "full", (size,), device_mesh, placements, requires_grad, (fill_value,), {"dtype": dtype}
    )


def rand(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Return a distributed tensor of uniform random numbers in [0, 1).

    If all ranks have the same seed, the values are those that a single process would draw for the whole tensor.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed import tensor
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> _ = torch.manual_seed(0)
    >>> x = tensor.rand(3, device_mesh=mesh, placements=[tensor.Shard(0)])
    >>> _ = torch.manual_seed(0)
    >>> torch.equal(x.full_tensor(), torch.rand(3))
    True
    >>> dist.destroy_process_group()
    """
    return _made("rand", size, device_mesh, placements, requires_grad, (), {"dtype": dtype})


def randn(
    *size: Any,
    requires_grad: bool = False,
    dtype: Any = None,
    layout: Any = None,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
) -> DTensor:
    """Return a distributed tensor of normal random numbers; otherwise as `rand`."""
    return _made("randn", size, device_mesh, placements, requires_grad, (), {"dtype": dtype})


def replaced_parameter(module: nn.Module, name: str, value: DTensor, requires_grad: bool) -> None:
    """Put a distributed tensor in the place of a module's parameter."""
    module.register_parameter(name, nn.Parameter(value, requires_grad))


def distribute_module(
    module: nn.Module,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[..., Any] | None = None,
    input_fn: Callable[..., Any] | None = None,
    output_fn: Callable[..., Any] | None = None,
) -> nn.Module:
    """Turn a module's parameters into distributed tensors.

    Args:
        module: the module, which is changed and returned.
        device_mesh: the mesh. Default: that of the `with` block around.
        partition_fn: called with (name, module, mesh) for each submodule; parameters that it does not distribute are replicated.
        input_fn, output_fn: called with (module, inputs or outputs, mesh) before and after forward;
            what they return is used instead.

    Raises:
        RuntimeError: the module is distributed already.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.tensor import distribute_module
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> model = distribute_module(torch.nn.Linear(2, 3), dist.init_device_mesh("cpu", (1,)))
    >>> model.weight.placements
    (Replicate(),)
    >>> dist.destroy_process_group()
    """
    if getattr(module, "_distribute_module_applied", False):
        raise OperationError(
            "distribute_module should only be called once on a module, but it has already been called on this module!"
        )
    mesh = device_mesh or current_mesh()
    for name, inner in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, inner, mesh)
        for key, param in inner._parameters.items():
            if param is not None and not isinstance(param, DTensor):
                replaced_parameter(
                    inner, key, distribute_tensor(param.detach(), mesh), param.requires_grad
                )
        for key, buffer in inner._buffers.items():
            if buffer is not None and not isinstance(buffer, DTensor):
                inner._buffers[key] = distribute_tensor(buffer, mesh)
    for function, what in ((input_fn, "input_fn"), (output_fn, "output_fn")):
        if function is None:
            continue
        count = len(inspect.signature(function).parameters)
        if count == 2:
            warn(
                f"Deprecating {what} that takes two arguments (inputs, device_mesh), please use {what} that takes in (module, inputs, device_mesh) "
                "instead!",
                FutureWarning,
            )
        elif count != 3:
            raise ArgumentValueError(
                f"{what} should take in 3 arguments, but got {count} arguments!"
            )
        _hook(module, mesh, function, count == 3, what == "input_fn")
    module._distribute_module_applied = True
    return module


def _hook(
    module: nn.Module, mesh: DeviceMesh, function: Callable[..., Any], whole: bool, before: bool
) -> None:
    if before:
        module.register_forward_pre_hook(
            lambda m, inputs: function(m, inputs, mesh) if whole else function(inputs, mesh)
        )
    else:
        module.register_forward_hook(
            lambda m, inputs, outputs: (
                function(m, outputs, mesh) if whole else function(outputs, mesh)
            )
        )


def local_map(
    func: Any = None,
    out_placements: Any = None,
    in_placements: Any = None,
    in_grad_placements: Any = None,
    device_mesh: DeviceMesh | None = None,
    *,
    redistribute_inputs: bool = False,
) -> Any:
    """A function of distributed tensors that runs `func` on their shards.

    Args:
        func: takes and returns tensors; without it, a decorator.
        out_placements: of the result, or of each result in a tuple; None for plain tensors.
        in_placements: for each argument, None for those that are not distributed; default: as they
            come.
        in_grad_placements: how the arguments' gradients are placed; default: as the arguments.
        device_mesh: of the results; default: the arguments'.
        redistribute_inputs: move arguments to `in_placements`.

    Raises:
        ValueError: an argument has other placements. AssertionError: the numbers of placements and
            arguments, or results, differ.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed.tensor import Shard, distribute_tensor
    >>> from pellucid.distributed.tensor.experimental import local_map
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> double = local_map(lambda shard: shard * 2, out_placements=[Shard(0)])
    >>> double(distribute_tensor(torch.ones(2), mesh, [Shard(0)])).full_tensor()
    tensor([2., 2.])
    >>> dist.destroy_process_group()
    """
    if func is None:
        return lambda given: local_map(
            given,
            out_placements,
            in_placements,
            in_grad_placements,
            device_mesh,
            redistribute_inputs=redistribute_inputs,
        )

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree_flatten(args)
        if in_placements is not None and len(in_placements) != len(leaves):
            raise ContractError(
                f"in_placements length {len(in_placements)} does not match the number of input args {len(leaves)}!"
            )
        mesh, local = device_mesh, []
        for k, leaf in enumerate(leaves):
            wanted = None if in_placements is None else in_placements[k]
            if not isinstance(leaf, DTensor):
                if wanted is not None and isinstance(leaf, Tensor):
                    raise ContractError(
                        f"local_map: argument {k} has placements, and is no DTensor"
                    )
                local.append(leaf)
                continue
            mesh = mesh or leaf.device_mesh
            if wanted is not None and tuple(wanted) != leaf.placements:
                if not redistribute_inputs:
                    raise ArgumentValueError(
                        f"arg {leaf} in local_map has a mismatched placements: arg placements is {leaf.placements} but the input "
                        f"placements is {tuple(wanted)}! If redistribute_inputs is wanted, set redistribute_inputs=True to local_map."
                    )
                leaf = leaf.redistribute(mesh, wanted)
            gradient = None if in_grad_placements is None else in_grad_placements[k]
            local.append(leaf.to_local(grad_placements=gradient))
        results, shape = tree_flatten(func(*tree_unflatten(local, structure), **kwargs))
        each = out_placements if isinstance(out_placements, tuple) else (out_placements,)
        if len(each) != len(results):
            raise ContractError(
                f"local_map requires one PlacementType for each output value, received {len(each)} out_placements but {len(results)} is expected!"
            )
        return tree_unflatten(
            [_wrapped(r, p, mesh) for r, p in zip(results, each, strict=True)], shape
        )

    return mapped


def _wrapped(result: Any, placements: Any, mesh: DeviceMesh | None) -> Any:
    """A result of `local_map`, distributed if it has placements."""
    if placements is None or mesh is None:
        return result
    if isinstance(result, DTensor):
        raise ContractError("local_map: the function returned a DTensor")
    return DTensor.from_local(result, mesh, placements, run_check=False)
