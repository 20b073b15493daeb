"""`grad`, `vjp`, `jvp`, Jacobians and Hessians as functions of functions; they nest with each other
and with `vmap`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._pytree import tree_flatten, tree_map, tree_unflatten, treespec_pprint
from ..api import transforms
from ..core.bind import wrap
from ..core.modes import enable_grad, inference_mode, local, no_grad
from ..core.primitive import TENSORS as F
from ..core.tape import walk
from ..core.tensor import Tensor, set_requires_grad
from ..core.tracing import constant
from ..core.transforms import capturing, forward_mode
from ..core.transforms.batching import all_samples, batched, level_of, physical, wrap_in_all
from ..errors import GraphError
from ..ops._rules import past_autocast
from .vmap import vmap

ArgNums = int | tuple[int, ...]


# ---- what all transforms share ---------------------------------------------------------------
def _fresh(x: Any, outer: bool) -> Tensor:
    """An alias to differentiate with respect to: part of the outer graph when there is one, a leaf
    otherwise.
    """
    if not isinstance(x, Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
    if level_of(x):
        return batched(_fresh(physical(x), outer), level_of(x))
    if x._rg and outer:
        with enable_grad():
            return F.alias(x)
    with no_grad():
        y: Tensor = wrap(x._array) if x.is_inference() else F.alias(x)
    y._view = None
    set_requires_grad(y, True, "only Tensors of floating point dtype")
    return y


def _depends_on_others(outputs: list[Tensor], fresh: list[Tensor]) -> bool:
    """Whether the graph of the outputs reaches tensors other than the ones differentiated for."""
    known = {id(all_samples(x)) for x in fresh}
    roots = [b._node or (b if b._rg else None) for b in map(all_samples, outputs)]
    return any(
        isinstance(edge, Tensor) and id(edge) not in known
        for edge in walk(r for r in roots if r is not None)
    )


def _outside(tree: Any, keep: bool) -> Any:
    """Results as the caller sees them: without the graph of the transform, unless something outside
    needs it.
    """
    return tree if keep else tree_map(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)


def _parted(name: str, output: Any) -> tuple[Any, Any]:
    """What a function with `has_aux` returned: its output, and tensors beside it.

    Raises:
        RuntimeError: it is no pair, or something else than a tensor is beside the output.
    """
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for x in tree_flatten(output[1])[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return output


def _check_outputs(name: str, outputs: list[Any]) -> None:
    """Refuse a function that returns nothing, or anything but tensors."""
    if not outputs or (len(outputs) == 1 and outputs[0] is None):
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got output = {outputs})"
        )
    for o in outputs:
        if not isinstance(o, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(o)}"
            )


def _check_argnums(argnums: Any, count: int) -> ArgNums:
    if isinstance(argnums, int):
        if not -count <= argnums < count:
            raise RuntimeError(f"Got argnum={argnums}, but only {count} positional inputs")
        return argnums % count
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for k in argnums:
        if not isinstance(k, int):
            raise RuntimeError(f"argnum must be int, got: {type(k)}")
    numbers: tuple[Any, ...] = tuple(_check_argnums(k, count) for k in argnums)
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return numbers


def _chosen(args: tuple[Any, ...], argnums: ArgNums) -> Any:
    return args[argnums] if isinstance(argnums, int) else tuple(args[k] for k in argnums)


def _replaced(args: tuple[Any, ...], argnums: ArgNums, new: Any) -> tuple[Any, ...]:
    values = list(args)
    for k, value in (
        [(argnums, new)] if isinstance(argnums, int) else zip(argnums, new, strict=True)
    ):
        values[k] = value
    return tuple(values)


def _zeros(x: Tensor) -> Tensor:
    with no_grad():
        return (
            x.detach() * 0
            if level_of(x)
            else F.full(shape=tuple(x._array.shape), value=0, dtype=x._array.dtype)
        )


def _differentiate(
    outputs: list[Any], inputs: list[Tensor], seeds: Any, create: bool, keep: bool = False
) -> list[Tensor]:
    roots = [
        (o, s)
        for o, s in zip(outputs, seeds or [None] * len(outputs), strict=True)
        if o.requires_grad
    ]
    if not roots:
        return [_zeros(x) for x in inputs]
    gs = transforms.grad(
        tuple(o for o, _ in roots),
        tuple(inputs),
        tuple(s for _, s in roots),
        retain_graph=keep or create,
        create_graph=create,
        allow_unused=True,
    )
    return [_zeros(x) if g is None else g for x, g in zip(inputs, gs, strict=True)]


@contextmanager
def _recorded() -> Iterator[None]:
    """Operations are recorded for the transform, as single ones: the gradient of a compiled
    function has no gradient itself.
    """
    local.transforms += 1
    try:
        with enable_grad():
            yield
    finally:
        local.transforms -= 1


def _normal(x: Any) -> Any:
    """A tensor of inference mode as one that has a place in graphs, in the same memory."""
    return wrap(x._array) if type(x) is Tensor and x.is_inference() else x


@contextmanager
def _saving_inference() -> Iterator[None]:
    """Inside the block, tensors of inference mode may be saved for backward."""
    before, local.beyond_inference = local.beyond_inference, 1
    try:
        yield
    finally:
        local.beyond_inference = before


def _past_inference(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transform that inference mode around it does not reach into: it needs graphs.

    Its own graph may save tensors of inference mode. The graph around it may not, and there is one
    if an argument requires a gradient.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if local.inference:
            with inference_mode(False), no_grad(), _saving_inference():
                args, kwargs = tree_map(_normal, (args, kwargs))
                return function(*args, **kwargs)
        leaves = tree_flatten((args, kwargs))[0]
        if local.grad and any(isinstance(x, Tensor) and x._rg for x in leaves):
            return function(*args, **kwargs)
        with _saving_inference():
            if any(type(x) is Tensor and x.is_inference() for x in leaves):
                args, kwargs = tree_map(_normal, (args, kwargs))
            return function(*args, **kwargs)

    return call


# ---- reverse mode ----------------------------------------------------------------------------
def grad_and_value(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """As `grad`, returning (gradient, value), or (gradient, (value, aux)).

    >>> import pellucid as torch
    >>> torch.func.grad_and_value(lambda x: x ** 2)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    @_past_inference
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        outer = local.grad
        numbers = _check_argnums(argnums, len(args))
        leaves, spec = tree_flatten(_chosen(args, numbers))
        fresh = [_fresh(wrap_in_all(x) if isinstance(x, Tensor) else x, outer) for x in leaves]
        with _recorded():
            with capturing.running(fresh, leaves=True, given=tree_flatten((args, kwargs))[0]):
                output = func(*_replaced(args, numbers, tree_unflatten(fresh, spec)), **kwargs)
            aux = None
            if has_aux:
                output, aux = _parted("grad_and_value(f)(*args)", output)
            if not isinstance(output, Tensor):
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
                )
            if output._array.ndim:
                raise RuntimeError(
                    f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {output._array.ndim} dims. "
                    "Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            if output.dtype.is_complex:
                raise GraphError(
                    f"grad can be implicitly created only for real scalar outputs but got {output.dtype}",
                    op="backward",
                )
            keep = outer and _depends_on_others([output], fresh)
            gs = _differentiate([output], fresh, None, keep, keep=aux is not None)
        gradient = tree_unflatten(gs, spec)
        value = _outside(output, keep)
        return (gradient, (value, _outside(aux, keep))) if has_aux else (gradient, value)

    return wrapper


def grad(
    func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a scalar function with respect to the arguments numbered `argnums`, as a
    function.

    Raises:
        RuntimeError: the function returns something else than one scalar (and aux, where
            `has_aux`).

    >>> import pellucid as torch
    >>> torch.func.grad(torch.func.grad(torch.sin))(torch.tensor(0.5)) == -torch.sin(torch.tensor(0.5))
    tensor(True)
    """
    inner = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = inner(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


@_past_inference
def _vjp(
    func: Callable[..., Any], args: tuple[Any, ...], argnums: ArgNums | None, has_aux: bool
) -> Any:
    """(output, function of cotangents, aux) for the arguments numbered, or all."""
    outer = local.grad
    chosen = args if argnums is None else _chosen(args, _check_argnums(argnums, len(args)))
    leaves, spec = tree_flatten(chosen)
    fresh = [_fresh(wrap_in_all(x) if isinstance(x, Tensor) else x, outer) for x in leaves]
    new = tree_unflatten(fresh, spec)
    with _recorded(), capturing.running(fresh, leaves=True, given=tree_flatten(args)[0]):
        output = func(
            *(new if argnums is None else _replaced(args, _check_argnums(argnums, len(args)), new))
        )
    aux = None
    if has_aux:
        output, aux = _parted("vjp(f, *primals)", output)
    outs, out_spec = tree_flatten(output)
    _check_outputs("vjp(f, *primals)", outs)
    for o in outs:
        if not (o.dtype.is_floating_point or o.dtype.is_complex):
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {o.dtype}"
            )
    keep = outer and _depends_on_others(outs, fresh)

    def pull_back(
        cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None
    ) -> Any:
        seeds, seed_spec = tree_flatten(cotangents)
        if seed_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. cotangents: "
                f"{treespec_pprint(seed_spec)}, primal output: {treespec_pprint(out_spec)}"
            )
        create = local.grad and (keep or any(s.requires_grad for s in seeds))
        with _saving_inference():
            gs = _differentiate(outs, fresh, seeds, bool(create), keep=True)
        return tree_unflatten(gs, spec)

    return _outside(output, keep), pull_back, _outside(aux, keep)


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """(output, function): the function maps cotangents of the outputs to a tuple of gradients of
    the primals.

    >>> import pellucid as torch
    >>> value, pull = torch.func.vjp(torch.exp, torch.zeros(2))
    >>> pull(torch.ones(2))
    (tensor([1., 1.]),)
    """
    output, pull, aux = _vjp(func, primals, None, has_aux)

    def wrapper(*cotangents: Any, **options: Any) -> Any:
        return pull(cotangents[0] if len(cotangents) == 1 else cotangents, **options)

    return (output, wrapper, aux) if has_aux else (output, wrapper)


# ---- forward mode ----------------------------------------------------------------------------
def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> Any:
    """(output, its tangent) of a function for tangents of its arguments, by forward mode.

    >>> import pellucid as torch
    >>> torch.func.jvp(torch.square, (torch.tensor(3.0),), (torch.tensor(1.0),))
    (tensor(9.), tensor(6.))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    return _jvp(func, primals, tangents, None, strict, has_aux)


@_past_inference
def _jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    argnums: ArgNums | None,
    strict: bool,
    has_aux: bool,
) -> Any:
    name = "jvp(f, primals, tangents)"
    chosen = primals if argnums is None else _chosen(primals, argnums)
    xs, spec = tree_flatten(chosen)
    vs, tangent_spec = tree_flatten(tangents)
    if spec != tangent_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {tangent_spec}"
        )
    for what, values in (("primals", xs), ("tangents", vs)):
        if not values:
            raise RuntimeError(f"{name}: Expected {what} to contain at least one Tensor.")
        for value in values:
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{name}: Expected {what} to only contain Tensors, got {type(value)}"
                )
    level = forward_mode.enter_level()
    local.transforms += 1
    try:
        duals = [forward_mode.make_dual(x, v, level) for x, v in zip(xs, vs, strict=True)]
        new = tree_unflatten(duals, spec)
        with capturing.running(duals, leaves=False, given=tree_flatten(primals)[0]):
            output = func(*(new if argnums is None else _replaced(primals, argnums, new)))
        aux = None
        if has_aux:
            output, aux = _parted(name, output)
            aux = tree_map(lambda x: forward_mode.unpack(x, level)[0], aux)
        outs, out_spec = tree_flatten(output)
        values, slopes = [], []
        _check_outputs(name, outs)
        for o in outs:
            value, slope = forward_mode.unpack(o, level)
            if slope is None:
                if strict:
                    raise RuntimeError(
                        "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
                        "with strict=True."
                    )
                slope = _zeros(value)
            values.append(value)
            slopes.append(slope)
    finally:
        local.transforms -= 1
        forward_mode.exit_level(level)
    result = tree_unflatten(values, out_spec), tree_unflatten(slopes, out_spec)
    return (*result, aux) if has_aux else result


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(output, function of tangents): the derivative of `func` at the primals as a linear function.

    >>> import pellucid as torch
    >>> value, slope = torch.func.linearize(torch.square, torch.tensor(3.0))
    >>> slope(torch.tensor(2.0))
    tensor(12.)
    """
    output = func(*primals)

    def push_forward(*tangents: Any) -> Any:
        return jvp(func, primals, tangents)[1]

    return output, push_forward


# ---- Jacobians -------------------------------------------------------------------------------
def _refuse_complex(name: str, tensors: list[Any], what: str) -> None:
    for k, t in enumerate(tensors):
        if isinstance(t, Tensor) and t.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what} to be real but received complex tensor at flattened {what[:-1]} idx: {k}"
            )


@past_autocast
def _basis(tensors: list[Tensor]) -> tuple[list[Tensor], list[int]]:
    """The standard basis of the space of several tensors together, split by tensor: (total, *shape)
    each; and their sizes.
    """
    sizes = [t._array.size for t in tensors]
    total, start, parts = sum(sizes), 0, []
    for t, size in zip(tensors, sizes, strict=True):
        rows = wrap(constant(np.eye(size, dtype=t._array.dtype)))
        before = F.full(shape=(start, size), value=0, dtype=t._array.dtype)
        after = F.full(shape=(total - start - size, size), value=0, dtype=t._array.dtype)
        parts.append(F.reshape(F.cat(before, rows, after, dim=0), shape=(total, *t._array.shape)))
        start += size
    return parts, sizes


def _split(t: Tensor, sizes: list[int], dim: int) -> list[Tensor]:
    start, parts = 0, []
    for size in sizes:
        parts.append(F.slice(t, dim=dim, start=start, end=start + size, step=1))
        start += size
    return parts


def jacrev(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The Jacobian by reverse mode, as a function: (*output shape, *input shape) for each output
    and input.

    >>> import pellucid as torch
    >>> torch.func.jacrev(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    @_past_inference
    def wrapper(*args: Any) -> Any:
        numbers = _check_argnums(argnums, len(args))
        _refuse_complex("jacrev", tree_flatten(args)[0], "inputs")
        output, pull, aux = _vjp(func, args, numbers, has_aux)
        outs, out_spec = tree_flatten(output)
        _refuse_complex("jacrev", outs, "outputs")
        basis, sizes = _basis(outs)
        chosen = _chosen(args, numbers)
        xs, spec = tree_flatten(chosen)

        def row(*seeds: Tensor) -> tuple[Any, ...]:
            return tuple(tree_flatten(pull(tree_unflatten(seeds, out_spec)))[0])

        if chunk_size == 1:  # nothing is mapped, nor held to what `vmap` can do
            found = [row(*(b[k] for b in basis)) for k in range(sum(sizes))]
            rows = [F.stack(*column, dim=0) for column in zip(*found, strict=True)]
        else:
            rows = vmap(row, chunk_size=chunk_size)(*basis)
        blocks: list[list[Any]] = [[] for _ in outs]
        for x, whole in zip(xs, rows, strict=True):
            for block, o, part in zip(blocks, outs, _split(whole, sizes, 0), strict=True):
                block.append(F.reshape(part, shape=(*o._array.shape, *x._array.shape)))
        result = tree_unflatten([tree_unflatten(block, spec) for block in blocks], out_spec)
        return (result, aux) if has_aux else result

    return wrapper


def jacfwd(
    func: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Callable[..., Any]:
    """The Jacobian by forward mode, as a function: (*output shape, *input shape) for each output
    and input.

    >>> import pellucid as torch
    >>> torch.func.jacfwd(torch.square)(torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    @_past_inference
    def wrapper(*args: Any) -> Any:
        numbers = _check_argnums(argnums, len(args))
        _refuse_complex("jacfwd", tree_flatten(args)[0], "inputs")
        xs, spec = tree_flatten(_chosen(args, numbers))
        basis, sizes = _basis(xs)
        box: dict[str, Any] = {}

        def push(*tangents: Any) -> Any:
            got = _jvp(func, args, tree_unflatten(tangents, spec), numbers, False, False)
            outs, box["spec"] = tree_flatten(got[1])
            _refuse_complex("jacfwd", outs, "outputs")
            return tuple(outs)

        if has_aux:
            # The aux of one run serves: it does not depend on the tangents.
            output, aux = _parted("jvp_wrapper", func(*args))
            inner = jacfwd(lambda *a: func(*a)[0], argnums, randomness=randomness)
            return inner(*args), aux
        columns = vmap(push, randomness=randomness)(*basis)
        blocks = []
        for column in columns:
            shape = tuple(column._array.shape[1:])
            moved = F.permute(column, dims=(*range(1, len(shape) + 1), 0))
            parts = _split(moved, sizes, len(shape))
            blocks.append(
                tree_unflatten(
                    [
                        F.reshape(p, shape=(*shape, *x._array.shape))
                        for p, x in zip(parts, xs, strict=True)
                    ],
                    spec,
                )
            )
        return tree_unflatten(blocks, box["spec"])

    return wrapper


def hessian(func: Callable[..., Any], argnums: ArgNums = 0) -> Callable[..., Any]:
    """Second derivatives, forward over reverse, as a function.

    >>> import pellucid as torch
    >>> torch.func.hessian(lambda x: (x ** 3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself: in-place operations and views are already recorded as functions of their
    inputs here.

    >>> import pellucid as torch
    >>> def double(x):
    ...     y = x.clone()
    ...     y.mul_(2)
    ...     return y
    >>> torch.func.functionalize(double)(torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced\n"
            "         with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will be\n"
            "         replaced with their non-aliasing counterparts, {view}_copy.\n"
        )
    return func


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The underlying tensor inside a transformed function: all samples of a `vmap`. For printing,
    not for computing.

    Args:
        recurse: down to the ordinary tensor; one level otherwise.

    >>> import pellucid as torch
    >>> def show(x):
    ...     print(torch.func.debug_unwrap(x).shape)
    ...     return x
    >>> _ = torch.vmap(show)(torch.ones(3, 2))
    torch.Size([3, 2])
    """
    while level_of(tensor):
        tensor = physical(tensor)
        if not recurse:
            break
    return tensor
