"""Check gradients against finite differences, and say why a check failed
(`torch.autograd.gradcheck`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..api import transforms
from ..core import reverse
from ..core.bind import wrap
from ..core.modes import enable_grad, no_grad
from ..core.primitive import TENSORS as F
from ..core.public import FUNCTIONS
from ..core.tensor import Tensor
from ..errors import UnsupportedError, warn

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

EPS_FLOAT32_HINT = (
    "an input is not float64: finite differences with eps={eps:g} are dominated by rounding in single precision. Use double precision "
    "inputs before looking for a mistake in the derivative"
)


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a gradient differs from finite differences. It is a RuntimeError.

    >>> import pellucid as torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         return 3 * g
    >>> x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(Double.apply, x)
    Traceback (most recent call last):
        ...
    pellucid.autograd.gradcheck.GradcheckError: Jacobian mismatch...analytical 3, numerical 2...
    """


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Iterable[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with central differences, element by element.

    Args:
        func: function of tensors that returns a tensor or a tuple of them.
        inputs: its arguments; those that require grad are checked. Use float64.
        eps: step of the finite differences.
        atol, rtol: tolerances.
        nondet_tol: how far two runs of the same backward may differ.
        check_forward_ad: check forward mode as well.
        check_backward_ad: check reverse mode.
        check_batched_grad: compare the gradients of two random vectors at once with those of each;
            draws from the default generator.
        check_grad_dtypes: gradients have their inputs' dtypes.
        fast_mode: compare in one random direction of each input, for each output, in place of element
            by element. The vectors are PyTorch's, and `atol` grows with the sums of their elements.

    Returns:
        True. False instead of an exception when `raise_exception` is False.

    Raises:
        GradcheckError: with the element, both values, and the likely reason: single precision, a
            kink, a function that is not deterministic, an input changed in place, or a wrong
            derivative.

    >>> import pellucid as torch
    >>> x = torch.tensor([0.3, -1.2], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.sin, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    if check_batched_forward_grad:
        raise UnsupportedError("gradcheck: check_batched_forward_grad is not there")
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    try:
        _check(
            func,
            arguments,
            eps,
            atol,
            rtol,
            nondet_tol,
            check_undefined_grad,
            check_forward_ad,
            check_backward_ad,
            fast_mode,
        )
        if check_batched_grad or check_grad_dtypes:
            _check_gradients(func, arguments, check_batched_grad, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Iterable[Any],
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare second derivatives with differences of the first ones; arguments as in `gradcheck`.

    Args:
        grad_outputs: the vectors of the first backward pass; by default drawn from the default
            generator, between -1 and 1.
        gen_non_contig_grad_outputs: make these vectors non-contiguous.
        check_fwd_over_rev: check forward mode through the first backward pass.
        check_rev_over_rev: check a backward pass through it.

    >>> import pellucid as torch
    >>> x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.sin, (x,))
    True
    """
    arguments = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    outs = _tensors(func(*arguments))
    if grad_outputs is None:
        seeds = tuple(_drawn(o, gen_non_contig_grad_outputs) for o in outs)
    else:
        seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)
    n = len(arguments)

    def first(*values: Any) -> tuple[Any, ...]:
        args, vectors = values[:n], values[n:]
        results = _tensors(func(*args))
        wanted = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
        got = reverse.grad(results, wanted, vectors, create_graph=True, allow_unused=True)
        return tuple(g for g in got if g is not None)

    return gradcheck(
        first,
        (*arguments, *seeds),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=False,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
    )


def _leaf(array: np.ndarray) -> Tensor:
    t = wrap(array)
    t.requires_grad = True
    return t


def _drawn(like: Tensor, gaps: bool) -> Tensor:
    """Random numbers between -1 and 1 of the shape of an output, with gaps in memory where asked."""
    shape = tuple(like._array.shape)
    gaps = gaps and like._array.size > 1
    made = FUNCTIONS["torch"]["empty"](
        (*shape[:-1], 2 * shape[-1]) if gaps else shape, dtype=like.dtype
    )
    (FUNCTIONS["torch"]["view_as_real"](made) if like.dtype.is_complex else made).uniform_(-1, 1)
    return (made[..., 1::2] if gaps else made).requires_grad_()


def _check_gradients(func: Any, inputs: tuple[Any, ...], batched: bool, same_types: bool) -> None:
    """Gradients of two vectors at once are those of each, and of the inputs' types."""
    wanted = tuple(x for x in inputs if isinstance(x, Tensor) and x.requires_grad)
    with enable_grad():
        outs = _tensors(func(*inputs))
    draw, ones = (FUNCTIONS["torch"][name] for name in ("randn_like", "ones_like"))
    for i, out in enumerate(outs):
        if same_types:
            made = transforms.grad((out,), wanted, (ones(out),), True, False, True)
            for x, g in zip(wanted, made, strict=True):
                if g is not None and g.dtype is not x.dtype:
                    raise GradcheckError("Gradient has dtype mismatch")
        if batched:
            vectors = [draw(out) for _ in range(2)]
            each = [transforms.grad((out,), wanted, (v,), True, False, True) for v in vectors]
            try:
                both = transforms.grad(
                    (out,), wanted, (F.stack(*vectors, dim=0),), True, False, True, True
                )
            except RuntimeError as error:
                raise GradcheckError(f"While computing batched gradients, got: {error}") from error
            for k, (got, *parts) in enumerate(zip(both, *each, strict=True)):
                if got is not None and not np.allclose(
                    got._array, np.stack([p._array for p in parts]), rtol=1e-5, atol=1e-8
                ):
                    raise GradcheckError(
                        f"For output {i} and input {k}, gradients of two vectors at once are not those of each:\n{got}\nand\n{parts}"
                    )


_REENTRANT = (
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives different "
    "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism was {}.\n"
)
_ONLY_FAST = """
Fast gradcheck failed but element-wise differences are small. This means that the
test might've passed in slow_mode!

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck:

If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `fast_mode=False` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_fast_mode=False`
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_fast_mode=False`
""".strip()
_NOT_DETERMINISTIC = """
NOTE: If your op relies on non-deterministic operations i.e., it is listed here:
https://pytorch.org/docs/stable/generated/torch.use_deterministic_algorithms.html
this failure might be expected.

If you are adding a new operator, please file an issue and then use one of the
workarounds. The workaround depends on how your test invokes gradcheck/gradgradcheck.
If the test
- manually invokes gradcheck/gradgradcheck, then call gradcheck/gradgradcheck
  with `nondet_tol=<tol>` as a keyword argument.
- is OpInfo-based (e.g., in test_ops_gradients.py), then modify the OpInfo for the test
  to have `gradcheck_nondet_tol=<tol>`.
- is a Module test (e.g., in common_nn.py), then modify the corresponding
  module_test entry to have `gradcheck_nondet_tol=<tol>`
"""


def _noted(text: str, *notes: str) -> GradcheckError:
    """An error with what we know beyond PyTorch's words."""
    error = GradcheckError(text)
    for note in notes:
        error.add_note(note)
    return error


def _tensors(result: Any) -> tuple[Tensor, ...]:
    values = (result,) if isinstance(result, Tensor) else tuple(result)
    return tuple(v for v in values if isinstance(v, Tensor) and v.requires_grad)


def _check(
    func: Any,
    inputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    undefined: bool,
    forward: bool,
    backward: bool,
    fast: bool,
) -> None:
    checked = [(k, x) for k, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
        )
    single = False
    for k, x in checked:
        if x._array.dtype not in (np.dtype(np.float64), np.dtype(np.complex128)):
            single = True
            warn(
                f"Input #{k} requires gradient and is not a double precision floating point or complex. This check will likely fail "
                "if all the inputs are not of double precision floating point or complex. ",
                UserWarning,
            )
        if x._array.size > 1 and 0 in [
            s for s, n in zip(x._array.strides, x._array.shape, strict=True) if n > 1
        ]:
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before passing it "
                "to gradcheck."
            )
    before = [x._array.copy() for _, x in checked]
    outs = _tensors(func(*inputs))
    for (k, x), old in zip(checked, before, strict=True):
        if not np.array_equal(x._array, old, equal_nan=True):
            raise GradcheckError(
                f"Input #{k} was changed by the function: finite differences need a function that leaves its inputs alone.\n"
                "  reason: an in-place operation on an input; clone() it first"
            )
    if not outs:
        raw = func(*inputs)
        values = (
            (raw,) if isinstance(raw, Tensor) else tuple(v for v in raw if isinstance(v, Tensor))
        )
        _no_outputs_depend(func, inputs, checked, values, eps)
        return
    with enable_grad():
        graph = _tensors(func(*inputs)) if backward else ()
    if fast:
        _check_fast(func, inputs, checked, outs, graph, eps, atol, rtol, nondet_tol, forward)
        return
    analytic = _jacobians(graph, checked) if backward else None
    numeric = _differences(func, inputs, checked, len(outs), eps)
    if backward:
        again = _jacobians(graph, checked)
        assert analytic is not None
        for (key, a), b in zip(analytic.items(), again.values(), strict=True):
            if a.size and float(np.nanmax(np.abs(a - b), initial=0.0)) > nondet_tol:
                raise _noted(
                    _REENTRANT.format(nondet_tol) + _NOT_DETERMINISTIC,
                    f"reason: the derivative is not deterministic (output {key[0]}, input {key[1]})",
                )
        _compare(func, inputs, checked, analytic, numeric, "Analytical", eps, atol, rtol, single)
    if forward:
        from .forward_ad import jacobian_forward

        _compare(
            func,
            inputs,
            checked,
            jacobian_forward(func, inputs, checked, len(outs)),
            numeric,
            "Forward-mode",
            eps,
            atol,
            rtol,
            single,
        )


def _check_fast(
    func: Any,
    inputs: tuple[Any, ...],
    checked: list[Any],
    outs: tuple[Tensor, ...],
    graph: tuple[Tensor, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    forward: bool,
) -> None:
    """Compare `v @ J @ u` by backward with that by differences, for random `u` of each input and `v`
    of each output; in forward mode `J @ u` element by element.
    """
    if graph:
        draws = FUNCTIONS["torch"]["Generator"]()
        us = [_direction(draws, x, x.dtype.is_complex) for _, x in checked]
        vs = [_direction(draws, o, False) for o in outs]
        tensors = [x for _, x in checked]
        first, again = (
            [_rows(out, tensors, v) for out, v in zip(graph, vs, strict=True)] for _ in range(2)
        )
        for n, ((k, x), u) in enumerate(zip(checked, us, strict=True)):
            slopes = _slopes(func, inputs, k, x, u, eps)
            for i, out in enumerate(outs):
                v, directions = vs[i].reshape(-1), 2 if out.dtype.is_complex else 1
                if float(np.max(np.abs(first[i][n] - again[i][n]), initial=0.0)) > nondet_tol:
                    raise _noted(_REENTRANT.format(nondet_tol) + _NOT_DETERMINISTIC)
                numeric = (slopes[i].reshape(-1, directions) * v[:, None]).sum(0)
                analytic = first[i][n] @ _pairs(u)
                allowed = atol * float(_pairs(u).sum()) * float(v.sum())
                if not np.allclose(analytic, numeric, rtol=rtol, atol=allowed, equal_nan=True):
                    _fail_fast(
                        func, inputs, checked, graph, (i, k), analytic, numeric, eps, atol, rtol
                    )
    if forward:
        from .forward_ad import along

        draws = FUNCTIONS["torch"]["Generator"]()
        for k, x in checked:
            u = _direction(draws, x, x.dtype.is_complex)
            slopes = _slopes(func, inputs, k, x, u, eps)
            made = along(func, inputs, checked, len(outs), k, u)
            allowed = atol * float(_pairs(u).sum())
            for i, (analytic, numeric) in enumerate(zip(made, slopes, strict=True)):
                if not np.allclose(analytic, numeric, rtol=rtol, atol=allowed, equal_nan=True):
                    _fail_fast(
                        func, inputs, checked, (), (i, k), analytic, numeric, eps, atol, rtol
                    )


def _direction(draws: Any, x: Tensor, both: bool) -> np.ndarray:
    """A random vector of the shape of `x` with length 1; of a complex one also its imaginary part."""
    real = x._array.real.dtype

    def drawn() -> np.ndarray:
        made = FUNCTIONS["torch"]["rand"](x._array.size, generator=draws)._array.astype(real)
        return (made / (np.linalg.norm(made) or 1)).reshape(x._array.shape)

    return drawn() + 1j * drawn() if both else drawn()


def _pairs(u: np.ndarray) -> np.ndarray:
    """A vector's real and imaginary parts in turn, or its elements."""
    return _real_pairs([u])[0]


def _slopes(
    func: Any, inputs: tuple[Any, ...], k: int, x: Tensor, u: np.ndarray, eps: float
) -> list[np.ndarray]:
    """How fast the outputs change, as real vectors, when input k moves along `u`."""
    step = (eps * u).astype(x._array.dtype)
    with no_grad():
        ahead, behind = (_values(func, inputs, k, x._array + s * step) for s in (1, -1))
    return [(a - b) / (2 * eps) for a, b in zip(ahead, behind, strict=True)]


def _fail_fast(
    func: Any,
    inputs: tuple[Any, ...],
    checked: list[Any],
    graph: tuple[Tensor, ...],
    pair: tuple[int, int],
    analytic: np.ndarray,
    numeric: np.ndarray,
    eps: float,
    atol: float,
    rtol: float,
) -> None:
    """Raise what a comparison in random directions says where it fails: with both Jacobians."""
    from .forward_ad import jacobian_forward

    (i, k), outs = pair, len(_tensors(func(*inputs)))
    made = _jacobians(graph, checked) if graph else jacobian_forward(func, inputs, checked, outs)
    slow = made[pair], _differences(func, inputs, checked, outs, eps)[pair]
    largest = float(np.max(np.abs(slow[0] - slow[1])))
    shown = [wrap(np.ascontiguousarray(j.T)) for j in slow]
    scalars = [wrap(np.asarray(a[0] if a.size == 1 else a)) for a in (numeric, analytic)]
    text = (
        _mismatch(i, k, not graph).format(*scalars)
        + "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
        f"Numerical:\n {shown[1]}\nAnalytical:\n{shown[0]}\n\n"
        f"The max per-element difference (slow mode) is: {largest}.\n"
    )
    close = np.allclose(*slow, rtol=rtol, atol=atol, equal_nan=True)
    raise GradcheckError(text + _ONLY_FAST if close else text)


def _mismatch(i: int, k: int, forward: bool) -> str:
    how = "computed with forward mode " if forward else ""
    return (
        f"Jacobian {how}mismatch for output {i} with respect to input {k},\n"
        "numerical:{}\nanalytical:{}\n"
    )


def _no_outputs_depend(
    func: Any, inputs: tuple[Any, ...], checked: list[Any], values: tuple[Any, ...], eps: float
) -> None:
    """All outputs are detached: right only when the function is constant."""
    with no_grad():
        for k, x in checked:
            flat = x._array.reshape(-1) if x._array.flags.c_contiguous else None
            if flat is None or not flat.size:
                continue
            base = [v._array.astype(complex) for v in values]
            old = flat[0]
            flat[0] = old + 1e3 * eps
            raw = func(*inputs)
            made = (raw,) if isinstance(raw, Tensor) else raw
            # copied, since an output may share the input's memory
            moved = [v._array.astype(complex) for v in made if isinstance(v, Tensor)]
            flat[0] = old
            if any(
                not np.array_equal(a, b, equal_nan=True) for a, b in zip(base, moved, strict=True)
            ):
                raise _noted(
                    "Numerical gradient for function expected to be zero",
                    f"no output requires grad, but input #{k} changes it",
                )


def _jacobians(outs: tuple[Tensor, ...], checked: list[Any]) -> dict[tuple[int, int], np.ndarray]:
    """(output elements, input elements) of each pair, by one backward per output element."""
    result = {}
    tensors = [x for _, x in checked]
    for i, out in enumerate(outs):
        rows: list[list[np.ndarray]] = [[] for _ in tensors]
        for e in range(out._array.size):
            seed = np.zeros(out._array.shape, out._array.dtype)
            seed.reshape(-1)[e] = 1
            for kept, row in zip(rows, _rows(out, tensors, seed), strict=True):
                kept.append(row)
        for j, (k, x) in enumerate(checked):
            width = x._array.size * (2 if x._array.dtype.kind in "cW" else 1)
            result[i, k] = (
                np.concatenate(rows[j]).reshape(-1, width) if rows[j] else np.zeros((0, width))
            )
    return result


def _rows(out: Tensor, tensors: list[Tensor], seed: np.ndarray) -> list[np.ndarray]:
    """`seed @ J` of an output and each input: a row for the output's real part, and one for its
    imaginary part.
    """
    made = [
        reverse.grad(
            (out,),
            tensors,
            (wrap((seed * direction).astype(out._array.dtype)),),
            retain_graph=True,
            allow_unused=True,
        )
        for direction in ((1.0, 1j) if out._array.dtype.kind in "cW" else (1.0,))
    ]
    return [
        _real_pairs(
            [np.zeros(x._array.shape, x._array.dtype) if g is None else g._array for g in parts]
        )
        for x, parts in zip(tensors, zip(*made, strict=True), strict=True)
    ]


def _real_pairs(parts: list[np.ndarray]) -> np.ndarray:
    """Gradients for the real (and imaginary) part of an output element with respect to real and
    imaginary parts of the input.
    """
    rows = []
    for p in parts:
        flat = np.ascontiguousarray(p).reshape(-1)
        rows.append(
            np.stack([flat.real, flat.imag], 1).reshape(-1) if flat.dtype.kind in "cW" else flat
        )
    return np.stack(rows).astype(np.float64)


def _differences(
    func: Any, inputs: tuple[Any, ...], checked: list[Any], n_outs: int, eps: float
) -> dict[tuple[int, int], np.ndarray]:
    """The same by central differences."""
    result: dict[tuple[int, int], list[np.ndarray]] = {}
    with no_grad():
        for place, (k, x) in enumerate(checked):
            assert place >= 0
            original = x._array
            for e in range(original.size):
                for direction in (1.0, 1j) if original.dtype.kind in "cW" else (1.0,):
                    values = []
                    for sign in (1, -1):
                        moved = original.copy()
                        moved.reshape(-1)[e] += original.dtype.type(sign * eps * direction)
                        values.append(_values(func, inputs, k, moved))
                    for i, (a, b) in enumerate(zip(*values, strict=True)):
                        result.setdefault((i, k), []).append((a - b) / (2 * eps))
    return {key: np.stack(columns, 1) for key, columns in result.items()}


def _values(func: Any, inputs: tuple[Any, ...], k: int, array: np.ndarray) -> list[np.ndarray]:
    """The function's outputs, as real vectors, with input k replaced."""
    changed = list(inputs)
    changed[k] = _leaf(array)
    for j, x in enumerate(inputs):
        if j != k and isinstance(x, Tensor) and x.requires_grad:
            changed[j] = _leaf(x._array)
    with enable_grad():  # so that it is known which outputs are differentiable
        outs = _tensors(func(*changed))
    flat = [np.ascontiguousarray(o._array).reshape(-1) for o in outs]
    return [
        np.stack([f.real, f.imag], 1).reshape(-1).astype(np.float64)
        if f.dtype.kind in "cW"
        else f.astype(np.float64)
        for f in flat
    ]


def _compare(
    func: Any,
    inputs: tuple[Any, ...],
    checked: list[Any],
    got: Any,
    numeric: Any,
    label: str,
    eps: float,
    atol: float,
    rtol: float,
    single: bool,
) -> None:
    for (i, k), a in got.items():
        n = numeric.get((i, k))
        if n is None or not a.size:
            continue
        if a.shape != n.shape:
            raise GradcheckError(
                f"Jacobian of output {i} and input {k} has shape {a.shape}, differences give {n.shape}"
            )
        bad = ~np.isclose(a, n, rtol=rtol, atol=atol, equal_nan=True)
        if not bad.any():
            continue
        row, column = (
            int(v)
            for v in np.unravel_index(int(np.argmax(np.where(bad, np.abs(a - n), -1))), a.shape)
        )
        reason = _reason(func, inputs, k, column, row, i, eps, float(a[row, column]), single)
        # printed as PyTorch does, a row for each element of the input
        kind = np.result_type(inputs[k]._array.dtype, a.dtype.kind in "cW" and np.complex64 or "f2")
        shown = (wrap(np.ascontiguousarray(j.T.astype(kind))) for j in (n, a))
        raise _noted(
            _mismatch(i, k, label == "Forward-mode").format(*shown),
            f"largest difference at output element {row}, input element {column}: {label.lower()} {a[row, column]:.6g}, "
            f"numerical {n[row, column]:.6g}",
            f"reason: {reason}",
        )


def _reason(
    func: Any,
    inputs: tuple[Any, ...],
    k: int,
    column: int,
    row: int,
    i: int,
    eps: float,
    analytic: float,
    single: bool,
) -> str:
    """Single precision, randomness, a kink, or the derivative itself."""
    x = inputs[k]._array
    first, second = _values(func, inputs, k, x.copy()), _values(func, inputs, k, x.copy())
    if any(not np.array_equal(p, q, equal_nan=True) for p, q in zip(first, second, strict=True)):
        return (
            "the function is not deterministic: two calls with the same input gave different values"
        )
    if single:
        return EPS_FLOAT32_HINT.format(eps=eps)
    element = column // 2 if x.dtype.kind in "cW" else column
    steps = []
    for sign in (1, -1):
        moved = x.copy()
        moved.reshape(-1)[element] += sign * eps
        steps.append(sign * (_values(func, inputs, k, moved)[i][row] - first[i][row]) / eps)
    if abs(steps[0] - steps[1]) > 1e-2 * (1 + abs(analytic)):
        return (
            f"the function has a kink or jump there (slope {steps[0]:.6g} to the right, {steps[1]:.6g} to the left): "
            "choose inputs away from points where it is not differentiable"
        )
    return "the derivative is wrong there (the function is smooth and deterministic at this point)"
