"""Products with Jacobians and Hessians, and these matrices themselves
(`torch.autograd.functional`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..api import transforms
from ..core.bind import wrap
from ..core.modes import enable_grad, is_grad_enabled, set_grad_enabled
from ..core.primitive import TENSORS as F
from ..core.tensor import Tensor
from ..core.tracing import constant
from ..core.transforms import forward_mode

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Tensor, ...]
STRICT = "This is not allowed in strict mode"
OUTPUTS = "outputs of the user-provided function"


# ---- arguments and results -------------------------------------------------------------------
def _tuple(values: Any, what: str, name: str) -> tuple[bool, Tensors]:
    several = isinstance(values, tuple)
    found = values if several else (values,)
    for k, value in enumerate(found):
        if not isinstance(value, Tensor):
            detail = f"value at index {k}" if several else f"given {what}"
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of Tensors but the {detail} has type {type(value)}."
            )
    return several, found


def _prepared(inputs: Tensors, create_graph: bool) -> Tensors:
    """Fresh tensors to differentiate for, so that those which the function captures are told apart."""
    return tuple(
        x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_()
        for x in inputs
    )


def _result(values: Any, create_graph: bool) -> Any:
    if isinstance(values, tuple):
        return tuple(_result(v, create_graph) for v in values)
    return values if create_graph else values.detach()


def _check_v(v: Tensors, other: Tensors, several: bool) -> None:
    if len(other) != len(v):
        if several:
            raise RuntimeError(
                f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}."
            )
        raise RuntimeError("The given v should contain a single Tensor.")
    for k, (a, b) in enumerate(zip(v, other, strict=True)):
        if a.shape != b.shape:
            prefix = f"Entry {k} in " if several else ""
            raise RuntimeError(
                f"{prefix}v has invalid size: should be {b.shape} but got {a.shape}."
            )


def _vector(v: Any, others: Tensors, several: bool, name: str, missing: str) -> Tensors:
    """The vector given, or a single one where that is what it can only be."""
    if v is not None:
        _, vector = _tuple(v, "v", name)
        vector = tuple(
            x.detach() if not x.requires_grad or not is_grad_enabled() else x for x in vector
        )
        _check_v(vector, others, several)
        return vector
    if len(others) != 1 or others[0]._array.size != 1:
        raise RuntimeError(missing)
    return (_ones(others[0]),)


def _ones(x: Tensor) -> Tensor:
    return wrap(constant(np.ones(x._array.shape, x._array.dtype)))


def _grad(
    outputs: Sequence[Any],
    inputs: Tensors,
    seeds: Sequence[Any] | None,
    create: bool,
    batched: bool = False,
) -> tuple[Any, ...]:
    seeds = [None] * len(outputs) if seeds is None else seeds
    pairs = [
        (o, s) for o, s in zip(outputs, seeds, strict=True) if o is not None and o.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    return transforms.grad(
        tuple(o for o, _ in pairs),
        inputs,
        tuple(s for _, s in pairs),
        True,
        create,
        allow_unused=True,
        is_grads_batched=batched,
    )


def _require_grad(values: Sequence[Any], kind: str, strict: bool) -> None:
    """The refusals of strict mode for what does not depend on the inputs."""
    if not strict:
        return
    for k, value in enumerate(values):
        if value is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {k}. {STRICT}."
            )
        if value.requires_grad:
            continue
        if kind == "outputs":
            raise RuntimeError(
                f"Output {k} of the user-provided function does not require gradients. The outputs must be computed in a "
                "differentiable manner from the input when running in strict mode."
            )
        if kind == "grad_inputs":
            raise RuntimeError(
                f"The gradient with respect to input {k} is independent of the inputs of the user-provided function. {STRICT}."
            )
        raise RuntimeError(
            f"While computing the hessian, found that the jacobian of the user-provided function with respect to input {k} is "
            f"independent of the input. {STRICT}. You should ensure that your function is twice differentiable and that the jacobian "
            "depends on the inputs (this would be violated by a linear function for example)."
        )


_MISSING = {
    "back": "The output of the user-provided function is independent of input {k}. " + STRICT + ".",
    "back_trick": "The gradient with respect to the input is independent of entry {k} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. " + STRICT + ".",
    "double_back": "The jacobian of the user-provided function is independent of input {k}. "
    + STRICT
    + ".",
    "double_back_trick": "The hessian of the user-provided function is independent of entry {k} in the grad_jacobian. "
    + STRICT
    + " as it prevents from using the double backward trick to replace forward mode AD.",
}


def _filled(
    gs: Sequence[Any], like: Tensors, strict: bool, create_graph: bool, stage: str
) -> Tensors:
    """Zeros for gradients that are not there; in strict mode they are refused."""
    found = []
    for k, (g, x) in enumerate(zip(gs, like, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_MISSING[stage].format(k=k))
            g = wrap(constant(np.zeros(x._array.shape, x._array.dtype)))
        elif strict and create_graph and not g.requires_grad:
            matrix = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {matrix} of the user-provided function is independent of input {k}. {STRICT} when create_graph=True."
            )
        found.append(g)
    return tuple(found)


def _one(values: Any, several: bool) -> Any:
    return values if several else values[0]


# ---- products --------------------------------------------------------------------------------
def vjp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(output, product of the vector `v` with the Jacobian of `func` at `inputs`).

    Args:
        v: of the shape of the output; may be left out for one element.
        create_graph: make output and product differentiable.
        strict: refuse an input that the output does not depend on, instead of zeros.

    >>> import pellucid as torch
    >>> torch.autograd.functional.vjp(torch.exp, torch.zeros(2), torch.ones(2))[1]
    tensor([1., 1.])
    """
    with enable_grad():
        several_in, xs = _tuple(inputs, "inputs", "vjp")
        xs = _prepared(xs, create_graph)
        several_out, outs = _tuple(func(*xs), OUTPUTS, "vjp")
        _require_grad(outs, "outputs", strict)
        vector = _vector(
            v,
            outs,
            several_out,
            "vjp",
            "The vector v can only be None if the user-provided function returns a single Tensor with a single element.",
        )
    create = create_graph or is_grad_enabled()
    with set_grad_enabled(create):
        product = _filled(_grad(outs, xs, vector, create_graph), xs, strict, create_graph, "back")
    return _one(_result(outs, create_graph), several_out), _one(
        _result(product, create_graph), several_in
    )


def jvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(output, product of the Jacobian of `func` at `inputs` with the vector `v`), by
    differentiating backward twice.

    >>> import pellucid as torch
    >>> torch.autograd.functional.jvp(torch.exp, torch.zeros(2), torch.ones(2))[1]
    tensor([1., 1.])
    """
    with enable_grad():
        several_in, xs = _tuple(inputs, "inputs", "jvp")
        xs = _prepared(xs, create_graph)
        vector = _vector(
            v,
            xs,
            several_in,
            "jvp",
            "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
        )
        several_out, outs = _tuple(func(*xs), OUTPUTS, "jvp")
        _require_grad(outs, "outputs", strict)
        dummies = tuple(
            wrap(constant(np.zeros(o._array.shape, o._array.dtype))).requires_grad_() for o in outs
        )
        first = _grad(outs, xs, dummies, True)
        _require_grad(first, "grad_inputs", strict)
        wanted = [(g, s) for g, s in zip(first, vector, strict=True) if g is not None]
        if create_graph:
            product = _grad([g for g, _ in wanted], dummies, [s for _, s in wanted], True)
        else:
            product = _grad([g for g, _ in wanted], dummies, [s for _, s in wanted], False)
        filled = _filled(product, outs, strict, create_graph, "back_trick")
    return _one(_result(outs, create_graph), several_out), _one(
        _result(filled, create_graph), several_out
    )


def _scalar(outs: Tensors, several: bool, name: str) -> None:
    if several or len(outs) != 1:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outs[0]._array.size != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )


def _second(
    func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool, name: str
) -> Any:
    several, xs = _tuple(inputs, "inputs", name)
    xs = _prepared(xs, create_graph)
    vector = _vector(
        v,
        xs,
        several,
        name,
        "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element.",
    )
    several_out, outs = _tuple(func(*xs), OUTPUTS, name)
    _require_grad(outs, "outputs", strict)
    _scalar(outs, several_out, name)
    return several, xs, vector, outs, _grad(outs, xs, None, True)


def vhp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(output, product of the vector `v` with the Hessian of the scalar function `func` at
    `inputs`).

    >>> import pellucid as torch
    >>> torch.autograd.functional.vhp(lambda x: (x ** 3).sum(), torch.ones(2), torch.ones(2))[1]
    tensor([6., 6.])
    """
    with enable_grad():
        several, xs, vector, outs, slopes = _second(func, inputs, v, create_graph, strict, "vhp")
        _require_grad(slopes, "jacobian", strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):
        product = _filled(
            _grad(slopes, xs, vector, create_graph), xs, strict, create_graph, "double_back"
        )
    return _one(_result(outs, create_graph), False), _one(_result(product, create_graph), several)


def hvp(
    func: Callable[..., Any],
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> Any:
    """(output, product of the Hessian of the scalar function `func` at `inputs` with the vector
    `v`); `vhp` costs less.

    >>> import pellucid as torch
    >>> torch.autograd.functional.hvp(lambda x: (x ** 3).sum(), torch.ones(2), torch.ones(2))[1]
    tensor([6., 6.])
    """
    with enable_grad():
        several, xs, vector, outs, slopes = _second(func, inputs, v, create_graph, strict, "hvp")
        _require_grad(slopes, "jacobian", strict)
        dummies = tuple(
            wrap(constant(np.zeros(x._array.shape, x._array.dtype))).requires_grad_() for x in xs
        )
        twice = _grad(slopes, xs, dummies, True)
        _require_grad(twice, "hessian", strict)
        wanted = [(g, s) for g, s in zip(twice, vector, strict=True) if g is not None]
        product = _grad([g for g, _ in wanted], dummies, [s for _, s in wanted], create_graph)
        filled = _filled(product, xs, strict, create_graph, "double_back_trick")
    return _one(_result(outs, create_graph), False), _one(_result(filled, create_graph), several)


# ---- matrices --------------------------------------------------------------------------------
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of `func` at `inputs`: (*output shape, *input shape), in tuples by output and
    input where there are several.

    Args:
        create_graph: make it differentiable.
        strict: refuse inputs that an output does not depend on, instead of zeros.
        vectorize: compute all rows in one backward on batched gradients.
        strategy: "reverse-mode", or "forward-mode" (with `vectorize`).

    >>> import pellucid as torch
    >>> torch.autograd.functional.jacobian(torch.square, torch.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than inputs, '
            '"forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported together '
                '(yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _jacobian_forward(func, inputs, strict, vectorize)
    with enable_grad():
        several_in, xs = _tuple(inputs, "inputs", "jacobian")
        xs = _prepared(xs, create_graph)
        several_out, outs = _tuple(func(*xs), OUTPUTS, "jacobian")
        _require_grad(outs, "outputs", strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please either set "
                "`strict=False` or `vectorize=False`."
            )
        rows = []
        for i, out in enumerate(outs):
            blocks = (
                _rows(out, xs, create_graph)
                if vectorize
                else _row_by_row(out, xs, i, create_graph, strict)
            )
            rows.append(
                tuple(
                    b.reshape((*out._array.shape, *x._array.shape))
                    for b, x in zip(blocks, xs, strict=True)
                )
            )
    found = _result(tuple(rows), create_graph)
    found = found if several_in else tuple(row[0] for row in found)
    return _one(found, several_out)


def _rows(out: Tensor, xs: Tensors, create_graph: bool) -> Tensors:
    size = out._array.size
    basis = wrap(constant(np.eye(size, dtype=out._array.dtype).reshape(size, *out._array.shape)))
    gs = _grad([out], xs, [basis], create_graph, batched=True)
    return tuple(
        wrap(constant(np.zeros((size, *x._array.shape), x._array.dtype))) if g is None else g
        for g, x in zip(gs, xs, strict=True)
    )


def _row_by_row(out: Tensor, xs: Tensors, i: int, create_graph: bool, strict: bool) -> Tensors:
    columns: list[list[Tensor]] = [[] for _ in xs]
    if out.is_complex() and out._array.size:  # PyTorch takes each element's gradient without a seed
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
        )
    for e in range(out._array.size):
        seed = np.zeros(out._array.shape, out._array.dtype)
        seed.reshape(-1)[e] = 1
        gs = _grad([out], xs, [wrap(constant(seed))], create_graph)
        for k, (column, g, x) in enumerate(zip(columns, gs, xs, strict=True)):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {k}. {STRICT}."
                    )
                g = wrap(constant(np.zeros(x._array.shape, x._array.dtype)))
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {k}. {STRICT} when create_graph=True."
                )
            column.append(g)
    return tuple(
        F.stack(*c, dim=0) if c else wrap(constant(np.zeros((0, *x._array.shape), x._array.dtype)))
        for c, x in zip(columns, xs, strict=True)
    )


def _jacobian_forward(func: Callable[..., Any], inputs: Any, strict: bool, vectorize: bool) -> Any:
    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together (yet). Please '
            'either set `strict=False` or `strategy="reverse-mode"`.'
        )
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    several_in, xs = _tuple(inputs, "inputs", "jacobian")
    blocks: list[list[Any]] = []
    several_out = False
    for k, x in enumerate(xs):
        columns: list[list[Any]] = []
        for e in range(x._array.size):
            seed = np.zeros(x._array.shape, x._array.dtype)
            seed.reshape(-1)[e] = 1
            level = forward_mode.enter_level()
            try:
                args = tuple(
                    forward_mode.make_dual(y, wrap(constant(seed)), level) if j == k else y
                    for j, y in enumerate(xs)
                )
                several_out, outs = _tuple(func(*args), OUTPUTS, "jacobian")
                slopes = [forward_mode.unpack(o, level) for o in outs]
            finally:
                forward_mode.exit_level(level)
            columns.append([o.detach() * 0 if s is None else s for o, s in slopes])
        blocks.append(
            [
                F.stack(*c, dim=c[0]._array.ndim).reshape((*c[0]._array.shape, *x._array.shape))
                for c in zip(*columns, strict=True)
            ]
        )
    found = tuple(tuple(blocks[k][i] for k in range(len(xs))) for i in range(len(blocks[0])))
    found = found if several_in else tuple(row[0] for row in found)
    return _one(found, several_out)


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of the scalar function `func` at `inputs`, in tuples by pair of inputs where
    there are several.

    >>> import pellucid as torch
    >>> torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    several, xs = _tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*args: Any) -> Tensor:
        out = func(*args)
        several_out, outs = _tuple(out, OUTPUTS, "hessian")
        _scalar(outs, several_out, "hessian")
        if strict:
            _require_grad(outs, "outputs", strict)
        return outs[0].reshape(())

    def slopes(*args: Any) -> Tensors:
        if outer_jacobian_strategy == "forward-mode":
            args = tuple(a if a.requires_grad else a.view_as(a).requires_grad_() for a in args)
        found: Tensors = jacobian(single, args, create_graph=True)
        _require_grad(found, "jacobian", strict)
        return found

    result = jacobian(
        slopes,
        xs,
        create_graph=create_graph,
        strict=strict,
        vectorize=vectorize,
        strategy=outer_jacobian_strategy,
    )
    return result if several else result[0][0]
