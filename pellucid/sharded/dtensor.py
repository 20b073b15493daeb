"""`DTensor`: a tensor of which each rank has a part, and which computes as the whole.

It is a type with `__torch_dispatch__`: functions are taken apart into operators, autograd stands
above, so gradients are distributed tensors, too; `propagate` says what an operator does with the
parts.

Source: PyTorch's `torch.distributed.tensor`, whose names and messages these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

from .._pytree import tree_flatten, tree_unflatten
from ..api import overriding
from ..aten import dispatch
from ..aten.gradients.rules import ATEN
from ..aten.level import data_of
from ..aten.overload import OpOverload, Tag, bound
from ..core.function import Function
from ..core.modes import local as modes
from ..core.public import METHODS
from ..core.tensor import Tensor, make_tensor
from ..distributed import collectives
from ..distributed.mesh import DeviceMesh, current_mesh
from ..errors import ArgumentValueError, OperationError, UnsupportedError, warn
from . import propagate, rules
from .aliases import Memory, Source
from .placements import (
    REPLICATE,
    DTensorSpec,
    Partial,
    Placement,
    Shard,
    compute_local_shape_and_global_offset,
    meta_of,
    normalized,
)
from .redistribute import redistributed

_make: Any = METHODS.get("_make_wrapper_subclass") or Tensor._make_wrapper_subclass
_implicit = [False]  # whether plain tensors count as replicated: `implicit_replication`


class DTensor(Tensor):
    """A tensor that is distributed over the ranks of a mesh. Each rank holds a part (`to_local()`), and
    operations behave as on the whole tensor.

    `distribute_tensor`, `DTensor.from_local`, `torch.distributed.tensor.zeros` and others create it.

    Attributes:
        device_mesh: the ranks.
        placements: for each dimension of the mesh, `Shard(dim)`, `Replicate()` or `Partial()`.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> from pellucid.distributed.tensor import Shard, distribute_tensor
    >>> mesh = dist.init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
    >>> (x + 1).to_local().shape, x.placements
    (torch.Size([4, 2]), (Shard(dim=0),))
    >>> dist.destroy_process_group()
    """

    _local_tensor: Tensor
    _spec: DTensorSpec
    _memory: Memory

    __torch_function__ = overriding.disabled

    @staticmethod
    def __new__(
        cls: Any, local_tensor: Tensor, spec: DTensorSpec, *, requires_grad: bool = False
    ) -> DTensor:
        meta = spec.tensor_meta
        made: DTensor = _make(
            cls,
            tuple(meta.shape),
            strides=meta.stride,
            dtype=meta.dtype,
            device=local_tensor.device,
            requires_grad=requires_grad,
        )
        made._local_tensor, made._spec, made._memory = local_tensor, spec, Memory()
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, placements={self._spec.placements})"

    def __reduce_ex__(self, protocol: Any = 2) -> Any:
        kind = type(self)
        return _again, (
            kind,
            self._local_tensor,
            self._spec.mesh,
            self._spec.placements,
            tuple(self.shape),
            self.requires_grad,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        if id(self) in memo:
            return memo[id(self)]
        made = type(self)(
            self._local_tensor.detach().clone(), self._spec, requires_grad=self.requires_grad
        )
        made.__dict__.update(
            {
                k: v
                for k, v in self.__dict__.items()
                if k not in ("_local_tensor", "_spec", "_memory")
            }
        )
        memo[id(self)] = made
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        return made

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(
        inner: dict[str, Any], about: Any, size: Any = None, stride: Any = None
    ) -> DTensor:
        spec, requires_grad = about
        return DTensor(inner["_local_tensor"], spec, requires_grad=requires_grad)

    @classmethod
    def __torch_dispatch__(
        cls, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return dispatched(func, args, kwargs or {})

    @classmethod
    def __with_values__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """A function that computes on values: every rank calls it with the whole tensors."""
        leaves, structure = tree_flatten((args, kwargs))
        mesh = _mesh_of(leaves)
        args, kwargs = tree_unflatten(
            [x.full_tensor() if isinstance(x, DTensor) else x for x in leaves], structure
        )
        return _in_full(function(*args, **kwargs), mesh)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Any = None,
        stride: Any = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> DTensor:
        """The distributed tensor whose parts are the ranks' tensors; differentiable.

        Args:
            run_check: compare the shapes, and copy what is replicated from the first rank.
            shape: of the whole; without it the parts count as equally long.
            grad_placements: the layout of the gradient that comes back; default: `placements`,
                Partial as Replicate.

        Raises:
            RuntimeError: `local_tensor` is distributed already.
        """
        if isinstance(local_tensor, DTensor):
            raise OperationError(
                f"the local_tensor argument only accepts torch.Tensor but got {type(local_tensor)} value."
            )
        mesh = device_mesh or current_mesh()
        wanted = normalized(placements, local_tensor.ndim, mesh)
        if len(wanted) != mesh.ndim:
            raise OperationError(f"{len(wanted)} placements for a mesh of {mesh.ndim} dimensions")
        back = (
            None
            if grad_placements is None
            else normalized(grad_placements, local_tensor.ndim, mesh)
        )
        return _FromLocal.apply(local_tensor, mesh, wanted, run_check, shape, stride, back)

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """This rank's part; differentiable.

        Args:
            grad_placements: the layout that the part's gradient has; default: this tensor's,
                Partial as Replicate.
        """
        self._memory.refreshed()
        if not modes.grad or not self.requires_grad:
            return (
                self._local_tensor
                if not self._local_tensor.requires_grad
                else self._local_tensor.detach()
            )
        back = (
            None
            if grad_placements is None
            else normalized(grad_placements, self.ndim, self._spec.mesh)
        )
        return _ToLocal.apply(self, back)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: Any = None,
        backward_dtype: Any = None,
    ) -> DTensor:
        """The same tensor in another layout; differentiable.

        Raises:
            RuntimeError: no placements are given, or a Partial one that the tensor does not have.
                NotImplementedError: another mesh.
        """
        mesh = device_mesh or self._spec.mesh
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        wanted = normalized(placements, self.ndim, mesh)
        if len(wanted) != mesh.ndim:
            raise OperationError(f"{len(wanted)} placements for a mesh of {mesh.ndim} dimensions")
        for mine, p in zip(self._spec.placements, wanted, strict=True):
            if p.is_partial() and mine != p:
                raise OperationError(
                    f"Can not redistribute from {mine} to {p}, redistributing to Partial is for internal use only!"
                )
        own = self._spec.tensor_meta.dtype
        x: Any = self if forward_dtype in (None, own) else METHODS["to"](self, forward_dtype)
        if x._spec.placements == wanted and backward_dtype is None:
            return METHODS["view_as"](x, x) if x is self and modes.grad else x
        return _Redistribute.apply(x, wanted, backward_dtype)

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """The whole tensor on every rank; differentiable."""
        return self.redistribute(placements=(REPLICATE,) * self._spec.mesh.ndim).to_local(
            grad_placements=grad_placements
        )

    def __update_part__(self, optimizer: Any, grad: Any, state: dict[str, Any]) -> UpdatePart:
        """What an optimizer updates in this tensor's place: this rank's part, with the gradient in
        the same layout.
        """
        return UpdatePart(self, optimizer, grad, state)

    @property
    def device_mesh(self) -> DeviceMesh:
        """The ranks that have parts."""
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        """For each dimension of the mesh, how the tensor lies on it."""
        return self._spec.placements

    @property
    def is_meta(self) -> bool:
        """True for shards without data."""
        return self._local_tensor.is_meta

    def __become__(self, other: DTensor) -> DTensor:
        """Be what another tensor is from now on, its history aside."""
        self._local_tensor, self._spec = other._local_tensor, other._spec
        self._memory, self._array = other._memory, other._array
        return self

    def _set_data(self, value: Any) -> None:
        if not isinstance(value, DTensor):
            raise RuntimeError(
                "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have incompatible tensor type."
            )
        self.__become__(value)

    data = property(data_of, _set_data)


class UpdatePart:
    """This rank's part of a parameter, of its gradient and of an optimizer's state; `done` makes
    new state distributed.

    Raises:
        NotImplementedError: the optimizer's update of an element depends on others.
    """

    def __init__(self, param: DTensor, optimizer: Any, grad: Any, state: dict[str, Any]) -> None:
        if not optimizer.by_elements:
            raise UnsupportedError(
                f"{type(optimizer).__name__} of distributed parameters (DTensor) is not supported"
            )
        spec = param._spec
        if any(p.is_partial() for p in spec.placements):
            raise UnsupportedError(
                f"an optimizer's step of a parameter with placements {spec.placements} is not supported"
            )
        if not isinstance(grad, DTensor):
            raise OperationError(
                f"{type(optimizer).__name__}: the parameter is a DTensor, its gradient is a plain tensor"
            )
        self.spec, self.whole, self.param = spec, state, param._local_tensor
        self.grad = relaid(grad, spec.placements)._local_tensor
        self.state = {k: v._local_tensor if isinstance(v, DTensor) else v for k, v in state.items()}
        self.old = {k: v for k, v in state.items() if isinstance(v, DTensor)}
        self.memory = param._memory

    def done(self) -> None:
        """Put what is new into the state."""
        self.memory.written()
        for key, value in self.state.items():
            held = self.whole.get(key)
            if isinstance(held, DTensor) and held._local_tensor is value:
                continue
            like = (
                isinstance(value, Tensor)
                and value.ndim == self.param.ndim
                and value.shape == self.param.shape
            )
            if like and self.spec.ndim:
                value = DTensor(
                    value,
                    DTensorSpec(
                        self.spec.mesh,
                        self.spec.placements,
                        self.spec.tensor_meta._replace(dtype=value.dtype),
                    ),
                )
            self.whole[key] = value


def _again(
    kind: Any, local: Tensor, mesh: DeviceMesh, placements: Any, shape: Any, requires_grad: bool
) -> DTensor:
    return kind(
        local,
        DTensorSpec(mesh, placements, meta_of(shape, local.dtype)),
        requires_grad=requires_grad,
    )


def made_of(array: Any, spec: DTensorSpec) -> DTensor:
    """A distributed tensor of an array that is this rank's part."""
    return DTensor(make_tensor(array), spec)


def relaid(t: DTensor, placements: Sequence[Placement]) -> DTensor:
    """A tensor in another layout, past autograd."""
    t._memory.refreshed()
    spec = t._spec
    target = tuple(placements)
    if spec.placements == target:
        return t
    array = redistributed(t._local_tensor._array, spec.mesh, spec.placements, target, spec.shape)
    return made_of(array, DTensorSpec(spec.mesh, target, spec.tensor_meta))


def for_gradient(placements: Sequence[Placement]) -> tuple[Placement, ...]:
    """The layout of the gradient of a tensor of a layout: in full where the tensor consists of
    terms.
    """
    return tuple([REPLICATE if isinstance(p, Partial) else p for p in placements])


# ---- in and out of the graph ---------------------------------------------------------------------
class _FromLocal(Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        mesh: DeviceMesh,
        placements: Any,
        check: bool,
        shape: Any,
        stride: Any,
        back: Any,
    ) -> Any:
        ctx.back = for_gradient(placements) if back is None else back
        part: Any = x.detach()
        if shape is None:
            sizes, steps = list(x.shape), list(x.stride())
            for i, p in enumerate(placements):
                if isinstance(p, Shard):
                    sizes[p.dim] *= mesh.size(i)
                    for d, step in enumerate(steps):  # the shards lie side by side
                        if d != p.dim and step >= steps[p.dim]:
                            steps[d] *= mesh.size(i)
            stride = steps if stride is None else stride
        else:
            sizes = list(shape)
        if mesh.get_coordinate() is None:
            part = part.new_empty([0] * part.ndim)
        elif check:
            for i, p in enumerate(placements):
                if p.is_replicate():
                    part = part.contiguous().clone()
                    collectives.broadcast(part, group=mesh.get_group(i), group_src=0)
        return DTensor(part, DTensorSpec(mesh, placements, meta_of(sizes, x.dtype, stride)))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return (
            g.redistribute(placements=_reachable(g, ctx.back)).to_local(),
            None,
            None,
            None,
            None,
            None,
            None,
        )


def _reachable(g: DTensor, wanted: Sequence[Placement]) -> list[Placement]:
    return [
        REPLICATE if q.is_partial() and p != q else q
        for p, q in zip(g._spec.placements, wanted, strict=True)
    ]


class _ToLocal(Function):
    @staticmethod
    def forward(ctx: Any, x: DTensor, back: Any) -> Any:
        ctx.spec, ctx.back = x._spec, back
        return x._local_tensor.detach().view_as(x._local_tensor)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        spec = ctx.spec
        placements = for_gradient(spec.placements) if ctx.back is None else ctx.back
        return DTensor.from_local(
            g, spec.mesh, placements, shape=spec.shape, stride=spec.stride
        ), None


class _Redistribute(Function):
    @staticmethod
    def forward(ctx: Any, x: DTensor, placements: Any, backward_dtype: Any) -> Any:
        ctx.source, ctx.dtype, ctx.own = x._spec.placements, backward_dtype, x.dtype
        return relaid(x, placements)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.dtype is not None:
            g = g.to(ctx.dtype)
        made = g.redistribute(placements=_reachable(g, ctx.source))
        return made.to(ctx.own), None, None


# ---- operators -----------------------------------------------------------------------------------
_plans: dict[Any, propagate.LayoutPlan] = {}


def _known(value: Any) -> Any:
    """An argument as a key."""
    if isinstance(value, (list, tuple)):
        return tuple([_known(v) for v in value])
    return value


def dispatched(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator on distributed tensors."""
    given = bound(func._schema, args, kwargs)
    if Tag.inplace_view in func.tags or func._opname.startswith("resize_"):
        return _turned(func, given, args, kwargs)
    tensors: list[DTensor] = []
    mesh = _mesh_of(given)

    def described(v: Any) -> Any:
        if isinstance(v, Tensor):
            t = v if isinstance(v, DTensor) else _implied(func, v, mesh)
            if t._spec.mesh != mesh:
                raise OperationError(
                    f"{func}: DTensors on different meshes: {mesh} and {t._spec.mesh}"
                )
            t._memory.refreshed()
            tensors.append(t)
            return t._spec
        if isinstance(v, (list, tuple)) and any(isinstance(x, Tensor) for x in v):
            return [described(x) for x in v]
        return v

    values = [described(v) for v in given]
    special = SPECIAL.get(func._opname)
    if special is not None:
        return special(func, given, tensors)
    try:
        key = func, _known(values)
        plan = _plans.get(key)
    except TypeError:
        key, plan = None, None
    if plan is None:
        plan = rules.found_rule(func)(propagate.OperatorCall(func, values, mesh))
        if key is not None:
            if len(_plans) > 20000:
                _plans.clear()
            _plans[key] = plan
    if mesh.get_coordinate() is None:
        return _elsewhere(plan, tensors)
    laid = [t if p is None else relaid(t, p) for t, p in zip(tensors, plan.ins, strict=True)]
    parts = iter([t._local_tensor for t in laid])

    def part(v: Any) -> Any:
        if isinstance(v, Tensor):
            return next(parts)
        if isinstance(v, (list, tuple)) and any(isinstance(x, Tensor) for x in v):
            return [part(x) for x in v]
        return v

    local_values = [part(v) for v in given]
    for k, v in plan.replaced.items():
        local_values[k] = v
    call = propagate.OperatorCall(func, values, mesh) if plan.kernel is not None else None
    made = (
        propagate.run(func, local_values)
        if plan.kernel is None
        else plan.kernel(call, local_values)
    )
    if func._schema.is_mutable:
        _write_back(func, given, tensors, laid)
        name = func._schema.name
        if name.endswith("_") and not name.endswith("__"):
            return given[0]
    if plan.outs is None:
        wrapped = _in_full(made, mesh)
    else:
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        each = [
            DTensor(t, s) if isinstance(t, Tensor) and s is not None else t
            for t, s in zip(results, plan.outs, strict=True)
        ]
        wrapped = tuple(each) if isinstance(made, tuple) else each
        if not isinstance(made, (tuple, list)):
            wrapped = each[0]
    if dispatch.gives_views(func):
        _join_memory(func, given, tensors[0], laid[0], wrapped)
    return wrapped


def _turned(func: OpOverload, given: list[Any], args: Any, kwargs: Any) -> DTensor:
    """An operator that makes a tensor a view of itself (`x.t_()`)."""
    packet = getattr(ATEN, func._opname[:-1], None)
    view = getattr(packet, func._overloadname, None) or getattr(packet, "int", None)
    if view is None or not view.is_view:
        raise UnsupportedError(f"{func} of a distributed tensor (DTensor) is not supported")
    made: DTensor = given[0].__become__(dispatched(view, args, kwargs))
    return made


def _write_back(
    func: OpOverload, given: list[Any], tensors: list[DTensor], laid: list[DTensor]
) -> None:
    """An operator has written to arguments: those that were redistributed get the values."""
    written = [
        t
        for a, v in zip(func._schema.arguments, given, strict=True)
        if a.is_write
        for t in (v if isinstance(v, (list, tuple)) else [v])
        if isinstance(t, DTensor)
    ]
    for t, now in zip(tensors, laid, strict=True):
        if any(t is w for w in written):
            if now is not t:
                t._local_tensor.copy_(relaid(now, t._spec.placements)._local_tensor)
            t._memory.written()


def _join_memory(
    func: OpOverload, given: list[Any], base: DTensor, laid: DTensor, made: Any
) -> None:
    """Views lie in the memory of the tensor; where that was redistributed first, they are copies."""
    views = made if isinstance(made, (tuple, list)) else (made,)
    if laid is base:
        for t in views:
            t._memory = base._memory
        return
    # not the tensor itself, which may become another one (`x.t_()`, `x.data = y`)
    held = DTensor(base._local_tensor, base._spec)
    held._memory = base._memory
    at = next(k for k, v in enumerate(given) if v is base)
    rest = [None if k == at else v for k, v in enumerate(given)]
    for k, t in enumerate(views):

        def show(x: Any, k: int = k) -> Any:
            shown = propagate.run(func, [x if n == at else v for n, v in enumerate(rest)])
            return shown[k] if isinstance(shown, (tuple, list)) else shown

        t._memory = Memory(Source(held, t, show))


def _in_full(made: Any, mesh: DeviceMesh) -> Any:
    """Tensors that all ranks have, in lists and tuples, as distributed ones."""
    if isinstance(made, Tensor):
        if isinstance(made, DTensor):
            return made
        return DTensor.from_local(made, mesh, (REPLICATE,) * mesh.ndim)
    if isinstance(made, tuple) and type(made) is not tuple:
        return type(made)(*[_in_full(x, mesh) for x in made])
    if isinstance(made, (list, tuple)):
        return type(made)([_in_full(x, mesh) for x in made])
    return made


def _mesh_of(given: Sequence[Any]) -> DeviceMesh:
    for v in given:
        if isinstance(v, DTensor):
            return v._spec.mesh
        if isinstance(v, (list, tuple)):
            for x in v:
                if isinstance(x, DTensor):
                    return x._spec.mesh
    raise OperationError("no distributed tensor among the arguments")


def _implied(func: OpOverload, t: Tensor, mesh: DeviceMesh) -> DTensor:
    """A plain tensor among distributed ones: a number that all ranks have, or an error."""
    if not (_implicit[0] or dispatch.thread.constants) and (t.ndim or t._array.size != 1):
        if t._array.size == 1:
            warn(
                "Found a non-scalar tensor with numel=1 and ndim!=0, we are implicitly creating a replicated DTensor for it. However, "
                "please consider changing it to a scalar tensor or explicitly create a DTensor under distributed environment.",
            )
        else:
            raise OperationError(
                f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed "
                "operators! Please see https://docs.pytorch.org/docs/main/distributed.tensor.html#mixed-tensor-and-dtensor-operations "
                "for more details."
            )
    return DTensor(
        t.detach(),
        DTensorSpec(mesh, (REPLICATE,) * mesh.ndim, meta_of(t.shape, t.dtype, t.stride())),
    )


def _elsewhere(plan: propagate.LayoutPlan, tensors: list[DTensor]) -> Any:
    """On a rank that is not in the mesh: results without elements."""
    if plan.outs is None:
        return None
    made = [
        None
        if s is None
        else DTensor(tensors[0]._local_tensor.new_empty([0], dtype=s.tensor_meta.dtype), s)
        for s in plan.outs
    ]
    return tuple(made) if plan.several else made[0]


def _item(func: OpOverload, given: Any, tensors: list[DTensor]) -> Any:
    whole = relaid(tensors[0], (REPLICATE,) * tensors[0]._spec.mesh.ndim)
    return func(whole._local_tensor)


def _equal(func: OpOverload, given: Any, tensors: list[DTensor]) -> bool:
    a, b = tensors
    if tuple(a.shape) != tuple(b.shape):
        return False
    a = relaid(a, for_gradient(a._spec.placements))
    b = relaid(b, a._spec.placements)
    mine = bool(func(a._local_tensor, b._local_tensor))
    flag: Any = make_tensor(_one(mine))
    for i in range(a._spec.mesh.ndim):
        collectives.all_reduce(flag, collectives.ReduceOp.MIN, a._spec.mesh.get_group(i))
    return bool(flag._array.item())


def _one(value: bool) -> Any:
    import numpy as np

    return np.array(int(value), np.int64)


def _same_size(func: OpOverload, given: Any, tensors: list[DTensor]) -> bool:
    return tuple(tensors[0].shape) == tuple(tensors[1].shape)


SPECIAL: dict[str, Any] = {
    "_local_scalar_dense": _item,
    "equal": _equal,
    "is_same_size": _same_size,
}


@contextmanager
def implicit_replication() -> Any:
    """Return a context manager in which plain tensors count as replicated when they meet distributed ones. Otherwise that is an error.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> from pellucid.distributed import tensor
    >>> from pellucid.distributed.tensor.experimental import implicit_replication
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = tensor.ones(2, device_mesh=dist.init_device_mesh("cpu", (1,)))
    >>> with implicit_replication():
    ...     print((x + torch.tensor([1.0, 2.0])).full_tensor())
    tensor([2., 3.])
    >>> dist.destroy_process_group()
    """
    before, _implicit[0] = _implicit[0], True
    try:
        yield
    finally:
        _implicit[0] = before


# ---- making them ---------------------------------------------------------------------------------
def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> DTensor:
    """Distribute a leaf tensor that all ranks have.

    Args:
        tensor: the whole tensor, on each rank.
        device_mesh: the mesh. Default: that of the surrounding `with` block.
        placements: one for each dimension of the mesh. Default: `Replicate`.
        src_data_rank: the rank whose values are used, within each line of the mesh. With None, each rank uses its own
            values and nothing is sent. Default: 0.

    Raises:
        RuntimeError: the tensor is not a leaf. ValueError: the placements do not fit the mesh, or the
            tensor is already distributed in another way.

    >>> import pellucid as torch
    >>> import pellucid.distributed as dist
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> from pellucid.distributed.tensor import Shard, distribute_tensor
    >>> x = distribute_tensor(torch.ones(4, 2), dist.init_device_mesh("cpu", (1,)), [Shard(0)])
    >>> x.to_local().shape  # with 2 ranks: (2, 2)
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """
    mesh = device_mesh or current_mesh()
    if not tensor.is_leaf:
        raise OperationError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!"
        )
    if placements is not None and len(placements) != mesh.ndim:
        raise ArgumentValueError(
            "`placements` must have the same length as `device_mesh.ndim`! "
            f"Found placements length: {len(placements)}, and device_mesh.ndim: {mesh.ndim}."
        )
    wanted = normalized(placements, tensor.ndim, mesh)
    if isinstance(tensor, DTensor):
        if tensor.device_mesh != mesh:
            raise ArgumentValueError(
                f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device mesh {mesh}."
            )
        if tensor.placements != wanted:
            raise ArgumentValueError(
                f"Cannot distribute a DTensor with placements {tensor.placements} to a different placements {wanted}. do you want to "
                "call `redistribute` instead?"
            )
        return tensor
    part: Any = tensor.detach()
    spec = DTensorSpec(mesh, wanted, meta_of(tensor.shape, tensor.dtype, tensor.stride()))
    if mesh.get_coordinate() is None:
        part = part.new_empty([0] * part.ndim)
    elif part.device.type == "meta":
        part = part.new_empty(compute_local_shape_and_global_offset(tensor.shape, mesh, wanted)[0])
    else:
        if src_data_rank is not None:
            part = part.contiguous().clone()
            for i in range(mesh.ndim):
                if mesh.size(i) > 1:
                    collectives.broadcast(part, group=mesh.get_group(i), group_src=src_data_rank)
        full = (REPLICATE,) * mesh.ndim
        array = redistributed(part._array, mesh, full, wanted, tuple(tensor.shape))
        part = (
            part
            if array is part._array
            else make_tensor(array if array.base is None else array.copy())
        )
        if src_data_rank is None and array is tensor._array:
            part = part.clone() if any(not p.is_replicate() for p in wanted) else part
    return DTensor(part, spec, requires_grad=tensor.requires_grad)
