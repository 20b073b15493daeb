"""einsum on matrix products, and its relatives tensordot and kron. The order of a product of
several comes from opt_einsum.
"""

from __future__ import annotations

import functools
import operator
from math import prod
from typing import Any, NamedTuple

from ...core.display.packing import hooked
from ...core.interpret import thread
from ...core.primitive import TENSORS as F
from ...core.public import FUNCTIONS, public
from ...core.tape import titled
from ...core.tensor import Tensor
from ...errors import ArgumentTypeError, ArgumentValueError, OperationError, ShapeError, type_name
from ...shapes import broadcast_shapes, normalize_dims
from .._rules import checked_tensors, require_tensor
from ..shape._sizes import is_fast
from ..shape.view import unsafe_view_op
from ._einsum_nodes import arranged_as

# Labels are ints: 0-25 for A-Z, 26-51 for a-z (PyTorch's order), 52 and up for the dimensions of
# the ellipsis.
_ELLIPSIS = 52


def _label(letter: str) -> int:
    return ord(letter) - 65 if letter < "a" else ord(letter) - 71


def _letter(label: int) -> str:
    return chr(label + 65) if label < 26 else chr(label + 71)


def _parse(text: str, where: str) -> list[int | None]:
    """Return the labels of one operand or of the result, with None for the ellipsis."""
    labels: list[int | None] = []
    k = 0
    while k < len(text):
        c = text[k]
        if c == ".":
            if text[k : k + 3] != "..." or None in labels:
                if None in labels:
                    raise OperationError(
                        f"einsum(): found '.' for {where} for which an ellipsis was already found"
                    )
                raise OperationError(
                    f"einsum(): found '.' for {where} that is not part of any ellipsis"
                )
            labels.append(None)
            k += 3
            continue
        if c != " ":
            if not (c.isascii() and c.isalpha()):
                raise OperationError(
                    f"einsum(): invalid subscript given at index {k} in the equation string, subscripts must be in [a-zA-Z]"
                )
            labels.append(_label(c))
        k += 1
    return labels


@functools.lru_cache(256)
def _from_string(
    equation: str, count: int
) -> tuple[list[list[int | None]], list[int | None] | None]:
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) < count:
        raise OperationError("einsum(): more operands were provided than specified in the equation")
    if len(terms) > count:
        raise OperationError(
            "einsum(): fewer operands were provided than specified in the equation"
        )
    inputs = [_parse(term, f"operand {k}") for k, term in enumerate(terms)]
    return inputs, _parse(right, "output") if arrow else None


def _from_lists(
    args: tuple[Any, ...],
) -> tuple[list[Any], list[list[int | None]], list[int | None] | None]:
    """Return operands and labels of the form `einsum(x, [0, 1], y, [1, 2], [0, 2])`."""
    operands, inputs = list(args[: len(args) // 2 * 2 : 2]), [_checked(a) for a in args[1::2]]
    output = _checked(args[-1]) if len(args) % 2 else None
    return operands, inputs, output


def _checked(labels: Any) -> list[int | None]:
    made: list[int | None] = []
    for label in labels:
        if label is Ellipsis:
            made.append(None)
        elif label >= 0 and label < 52:
            made.append(operator.index(label))
        else:
            raise ArgumentValueError(
                "einsum(): subscript in subscript list is not within the valid range [0, 52)"
            )
    return made


def _expand_ellipsis(inputs: list[Any], ndims: list[int]) -> tuple[list[list[int]], int]:
    """Replace each ellipsis by labels, aligned to the right. Also returns the number of dimensions
    of the longest ellipsis.
    """
    covered, made = 0, []
    for k, (labels, ndim) in enumerate(zip(inputs, ndims, strict=True)):
        rest = ndim - (len(labels) - (None in labels))
        if rest < 0 or (rest and None not in labels):
            raise OperationError(
                f"einsum(): the number of subscripts in the equation ({len(labels) - (None in labels)}) "
                + ("does not match" if None not in labels else "is more than")
                + f" the number of dimensions ({ndim}) for operand {k}"
                + (" and no ellipsis was given" if None not in labels else "")
            )
        if None in labels:
            covered = max(covered, rest)
    for labels, ndim in zip(inputs, ndims, strict=True):
        rest = ndim - (len(labels) - (None in labels))
        spelled: list[int] = []
        for label in labels:
            spelled += (
                range(_ELLIPSIS + covered - rest, _ELLIPSIS + covered) if label is None else [label]
            )
        made.append(spelled)
    return made, covered


def _output_labels(
    inputs: list[list[int]], output: list[int | None] | None, covered: int
) -> list[int]:
    dots = list(range(_ELLIPSIS, _ELLIPSIS + covered))
    if output is None:
        every = [label for labels in inputs for label in labels]
        return dots + sorted(
            label for label in set(every) if label < _ELLIPSIS and every.count(label) == 1
        )
    made: list[int] = []
    for label in output:
        if label is None:
            made += dots
        elif label in made:
            raise OperationError(
                f"einsum(): output subscript {_letter(label)} appears more than once in the output"
            )
        elif not any(label in labels for labels in inputs):
            raise OperationError(
                f"einsum(): output subscript {_letter(label)} does not appear in the equation for any input operand"
            )
        else:
            made.append(label)
    return made


def _diagonals(x: Any, labels: list[int], which: int) -> tuple[Any, list[int]]:
    """Replace the dimensions of each repeated label by their diagonal."""
    k = 0
    while k < len(labels):
        label = labels[k]
        if label in labels[:k]:
            first = labels.index(label)
            a, b = x._array.shape[first], x._array.shape[k]
            if a != b:
                raise ShapeError(
                    f"einsum(): subscript {_letter(label)} is repeated for operand {which} but the sizes don't match, {b} != {a}"
                )
            x = x.diagonal(0, first, k).movedim(-1, first)
            labels = labels[:k] + labels[k + 1 :]
        else:
            k += 1
    return x, labels


def _sizes(shapes: list[tuple[int, ...]], terms: list[list[int]]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for k, (shape, labels) in enumerate(zip(shapes, terms, strict=True)):
        for label, n in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if n != 1 and known != 1 and n != known:
                if label >= _ELLIPSIS:
                    broadcast_shapes((n,), (known,))
                raise ShapeError(
                    f"einsum(): subscript {_letter(label)} has size {n} for operand {k} which does not broadcast with previously "
                    f"seen size {known}"
                )
            sizes[label] = n if known == 1 else known
    return sizes


def _arranged(x: Any, labels: list[int], wanted: list[int]) -> Any:
    """Permute the dimensions to the order of `wanted`, all of which must be among `labels`."""
    return _ordered(x, [labels.index(label) for label in wanted])


def _ordered(x: Any, order: list[int]) -> Any:
    return x if order == list(range(len(order))) else x.permute(order)


def _aligned(x: Any, labels: list[int], wanted: list[int]) -> Any:
    """Permute the dimensions to the order of `wanted`, and insert one of size 1 for each label that
    the operand lacks.
    """
    x = _arranged(x, labels, [label for label in wanted if label in labels])
    shape = iter(x._array.shape)
    return _as(x, tuple(next(shape) if label in labels else 1 for label in wanted))


class _Product(NamedTuple):
    """A batched matrix product of two operands: the permutations of their dimensions, their shapes
    as matrices, and the shape of the result.
    """

    left: list[int]
    rows: tuple[int, ...]
    right: list[int]
    columns: tuple[int, ...]
    shape: tuple[int, ...]

    def of(self, x: Any, y: Any) -> Any:
        policy = thread.stack.autocast
        if policy is not None:
            x, y = policy.narrow(x), policy.narrow(y)
        xs, ys = _ordered(x, self.left), _ordered(y, self.right)
        if x.dtype is not y.dtype:
            if prod(self.shape) * self.rows[-1]:
                raise OperationError(
                    f"expected scalar type {x.dtype.scalar_type_name} but found {y.dtype.scalar_type_name}"
                )
            # PyTorch does not compare dtypes if there is nothing to multiply
            xs = F.cast(xs, dtype=ys._array.dtype)
        return _as(F.matmul(_as(xs, self.rows), _as(ys, self.columns)), self.shape)


def _planned(
    a: list[int],
    b: list[int],
    shapes: list[tuple[int, ...]],
    keep: set[int],
    rank: Any,
) -> tuple[_Product | None, list[int]]:
    """Plan the product of two operands, in which each label is in both operands or in `keep`.
    Returns the product, or None if nothing is summed, and the labels of the result.
    """
    both = sorted((label for label in a if label in b and label in keep), key=rank)
    inner = sorted((label for label in a if label in b and label not in keep), key=rank)
    left, right = (sorted(set(own) - set(other), key=rank) for own, other in ((a, b), (b, a)))
    made = both + left + right
    if not inner:
        return None, sorted(made, key=rank)
    x, y = (dict(zip(*pair, strict=True)) for pair in zip((a, b), shapes, strict=True))
    batch, rows = [tuple([x[label] for label in labels]) for labels in (both, left)]
    columns, depth = tuple([y[label] for label in right]), prod(x[label] for label in inner)
    lead = (prod(batch),) if both else ()
    return _Product(
        [a.index(label) for label in both + left + inner],
        (*lead, prod(rows), depth),
        [b.index(label) for label in both + inner + right],
        (*lead, depth, prod(columns)),
        batch + rows + columns,
    ), made


def _rank(wanted: list[int]) -> Any:
    """Return a sort key that puts labels in the order of the result, then the others."""
    return lambda label: (wanted.index(label), 0) if label in wanted else (len(wanted), label)


@functools.lru_cache(1024)
def _one_product(
    equation: str, x: tuple[int, ...], y: tuple[int, ...]
) -> tuple[_Product, list[int], tuple[list[int], list[int], list[int]]] | None:
    """Return the single matrix product to which an equation for these shapes amounts, the
    permutation from its dimensions to those of the result, and the labels of operands and result.
    None if more steps are needed.
    """
    inputs, output = _from_string(equation, 2)
    (a, b), covered = _expand_ellipsis(inputs, [len(x), len(y)])
    wanted = _output_labels([a, b], output, covered)
    if len(set(a)) < len(a) or len(set(b)) < len(b):
        return None
    sizes = _sizes([x, y], [a, b])
    if any(label not in wanted and (label not in a or label not in b) for label in sizes):
        return None
    for labels, shape in ((a, x), (b, y)):
        if any(
            n != sizes[label] or n == 1 and label not in wanted
            for label, n in zip(labels, shape, strict=True)
        ):
            return None
    plan, made = _planned(a, b, [x, y], set(wanted), _rank(wanted))
    every = (a, b, wanted)
    return None if plan is None else (plan, [made.index(label) for label in wanted], every)


def _pair(
    x: Any,
    a: list[int],
    y: Any,
    b: list[int],
    keep: set[int],
    sizes: dict[int, int],
    rank: Any = int,
) -> tuple[Any, list[int]]:
    """Multiply two operands and sum over the labels that are not in `keep`, as one batched matrix
    product.

    `rank` is a sort key that orders labels as the result does, which decides the strides of the
    product.
    """
    # A dimension of size 1 that the other operand has in full, or that is summed, is only a
    # broadcast: drop it.
    x, a = _without_ones(x, a, b, keep, sizes)
    y, b = _without_ones(y, b, a, keep, sizes)
    x, a = _summed(x, a, keep | set(b))
    y, b = _summed(y, b, keep | set(a))
    plan, made = _planned(a, b, [x._array.shape, y._array.shape], keep, rank)
    if plan is None:
        return _aligned(x, a, made) * _aligned(y, b, made), made
    return plan.of(x, y), made


def _as(x: Any, shape: tuple[int, ...]) -> Any:
    return x if x._array.shape == shape else x.reshape(shape)


def _without_ones(
    x: Any, own: list[int], other: list[int], keep: set[int], sizes: dict[int, int]
) -> tuple[Any, list[int]]:
    gone = [
        k
        for k, label in enumerate(own)
        if x._array.shape[k] == 1 and (label not in keep or label in other and sizes[label] != 1)
    ]
    if not gone:
        return x, own
    return x.squeeze(tuple(gone)), [label for k, label in enumerate(own) if k not in gone]


def _summed(x: Any, labels: list[int], keep: set[int]) -> tuple[Any, list[int]]:
    gone = tuple(k for k, label in enumerate(labels) if label not in keep)
    if not gone:
        return x, labels
    made = F.sum(x, dim=gone, keepdim=False)  # integers are summed in int64
    return made, [label for label in labels if label in keep]


def _order(
    terms: list[list[int]], output: list[int], sizes: dict[int, int]
) -> list[tuple[int, ...]]:
    """Return which two operands to multiply at each step, until one is left."""
    n = len(terms)
    if n <= 2:
        return [tuple(range(n))]
    import opt_einsum

    # opt_einsum takes any symbols. Pass shapes in which broadcast dimensions have their full size.
    letters = {label: opt_einsum.get_symbol(k) for k, label in enumerate(sizes)}
    equation = (
        ",".join("".join(letters[label] for label in t) for t in terms)
        + "->"
        + "".join(letters[label] for label in output)
    )
    shapes = [tuple(sizes[label] for label in t) for t in terms]
    path, _ = opt_einsum.contract_path(equation, *shapes, shapes=True)
    return [tuple(step) for step in path]


def _in_full(
    operands: list[Any], terms: list[list[int]], wanted: list[int], sizes: dict[int, int]
) -> Any:
    """Compute the sum of products of two operands in PyTorch's steps, each with all labels, for
    hooks that see the steps.
    """
    every = [*wanted, *sorted(set(sizes) - set(wanted))]
    own = range(len(wanted), len(every))
    full = []
    for x, labels in zip(operands, terms, strict=True):
        missing = [label for label in every if label not in labels]
        for _ in missing:
            x = x.unsqueeze(-1)
        full.append(x.permute([[*labels, *missing].index(label) for label in every]))
    shapes = [x._array.shape for x in full]
    for k, (mine, other) in enumerate((shapes, shapes[::-1])):
        if alone := [d for d in own if mine[d] != 1 == other[d]]:
            full[k] = full[k].sum(alone, keepdim=True)
    x, y = full
    a, b = x._array.shape, y._array.shape
    last = [d for d in own if a[d] != 1]
    if last:
        both = [d for d in range(len(every)) if d not in last and a[d] != 1 != b[d]]
        lo = [d for d in range(len(every)) if d not in last and a[d] != 1 == b[d]]
        ro = [d for d in range(len(every)) if a[d] == 1]
        if lo and ro and ro[-1] < lo[0]:
            x, y, a, b, lo, ro = y, x, b, a, ro, lo
        batch, rows, depth, columns = (
            prod(size[d] for d in ds) for size, ds in ((a, both), (a, lo), (a, last), (b, ro))
        )
        left = x.permute([*both, *lo, *last, *ro]).reshape(batch, rows, depth)
        right = y.permute([*both, *last, *ro, *lo]).reshape(batch, depth, columns)
        order = [*both, *lo, *last, *ro]
        made = FUNCTIONS["torch"]["bmm"](left, right)
        made = made.view([1 if d in last else (b if d in ro else a)[d] for d in order])
        made = made.permute([order.index(d) for d in range(len(every))])
    else:
        made = x * y
    return made.view(made._array.shape[: len(wanted)])


@public()
def einsum(*args: Any) -> Tensor:
    """A sum of products of the operands' elements, described by labels of their dimensions
    (Einstein's convention).

    Args:
        args: an equation such as "ij,jk->ik" and the operands (or one list of them), or operands
            and lists of ints in turn with the result's list last. `...` stands for dimensions that
            are broadcast; a repeated label takes a diagonal; labels that are not in the result are
            summed; without "->" the result has the labels that occur once, in order.

    Raises:
        RuntimeError: the labels do not fit the operands. ValueError: no operands.

    >>> import pellucid as torch
    >>> torch.einsum("ij,j->i", torch.ones(2, 3), torch.tensor([1.0, 2.0, 3.0]))
    tensor([6., 6.])
    """
    if len(args) < 2 or len(args) == 2 and type(args[1]) in (list, tuple) and not args[1]:
        raise ArgumentValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list"
        )
    if isinstance(args[0], Tensor):
        operands, inputs, output = _from_lists(args)
    else:
        equation, rest = args[0], args[1:]
        if not isinstance(equation, str):
            raise ArgumentTypeError(
                f"einsum(): argument 'equation' (position 1) must be str, not {type_name(equation)}"
            )
        operands = (
            list(rest[0]) if len(rest) == 1 and isinstance(rest[0], (list, tuple)) else list(rest)
        )
        checked_tensors(operands, 1)
        if len(operands) == 2 and is_fast(operands[0]) and is_fast(operands[1]) and not hooked():
            x, y = operands
            known = _one_product(equation, x._array.shape, y._array.shape)
            if known is not None:
                made = _ordered(known[0].of(x, y), known[1])
                made = made.view(made._array.shape)
                if made._rg:
                    arranged_as(made, x, y, known[2])
                return made
        inputs, output = _from_string(equation, len(operands))
    checked_tensors(operands, 1)
    if not operands:
        raise OperationError("einsum(): must provide at least one operand")
    terms, covered = _expand_ellipsis(inputs, [x._array.ndim for x in operands])
    wanted = _output_labels(terms, output, covered)
    pairs = [
        _diagonals(x, labels, k) for k, (x, labels) in enumerate(zip(operands, terms, strict=True))
    ]
    operands, terms = [p[0] for p in pairs], [p[1] for p in pairs]
    sizes = _sizes([x._array.shape for x in operands], terms)
    contracted = any(label not in wanted for labels in terms for label in labels)
    if len(operands) == 1:
        every = wanted + [label for label in terms[0] if label not in wanted]
        return _summed(
            operands[0].permute([terms[0].index(label) for label in every]), every, set(wanted)
        )[0]
    if contracted and len(operands) == 2 and hooked() and operands[0].dtype is operands[1].dtype:
        return _in_full(operands, terms, wanted, sizes)
    given, labelled = list(operands), list(terms)
    if not contracted:  # an elementwise product of the aligned operands, not a view
        operands, terms = (
            [_aligned(x, labels, wanted) for x, labels in zip(operands, terms, strict=True)],
            [wanted] * len(operands),
        )

    rank = _rank(wanted)
    for step in _order(terms, wanted, sizes):
        taken = sorted(step, reverse=True)
        group = [(operands.pop(k), terms.pop(k)) for k in taken][::-1]
        keep = set(wanted).union(*terms) if terms else set(wanted)
        x, labels = group[0]
        for k, (y, other) in enumerate(group[1:], 2):
            if contracted:
                later = keep.union(*(t for _, t in group[k:]))
                x, labels = _pair(x, labels, y, other, later, sizes, rank)
            else:
                x = x * y
        operands.append(x)
        terms.append(labels)
    x, labels = operands[0], terms[0]
    if not contracted:
        if x._rg and len(given) == 2:
            arranged_as(x, given[0], given[1], (labelled[0], labelled[1], wanted))
        return x
    x, labels = _summed(x, labels, set(wanted))
    missing = [label for label in wanted if label not in labels]
    if missing:  # a label whose every size is 1
        x, labels = x.reshape((*x._array.shape, *(1,) * len(missing))), labels + missing
    made = _arranged(x, labels, wanted)
    # As in PyTorch, return a view of the result with the summed dimensions.
    made = made.view(made._array.shape)
    if made._rg and len(given) == 2:
        arranged_as(made, given[0], given[1], (labelled[0], labelled[1], wanted))
    return made


@public(out=True)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over some dimensions of two tensors.

    Args:
        dims: a number n (the last n of a with the first n of b), or two lists of dimensions, a's
            and b's.

    >>> import pellucid as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist() if dims._array.ndim else dims.item()
    counted = isinstance(dims, int) and not isinstance(dims, bool)
    if counted and dims < 0:
        raise OperationError(f"tensordot expects dims >= 0, but got dims={dims}")
    if counted and dims > min(a.dim(), b.dim()):
        raise OperationError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
    if not counted and (not isinstance(dims, (tuple, list)) or len(dims) != 2):
        raise OperationError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got "
            f"dims={dims}"
        )
    sa, sb = (
        require_tensor(a, "tensordot", "input")._array.shape,
        require_tensor(b, "tensordot", "other", 2)._array.shape,
    )
    da, db = (
        (range(-dims, 0), range(dims))
        if counted
        else ([d] if isinstance(d, int) else list(d) for d in dims)
    )
    if len(da) != len(db):
        raise OperationError("both dimension lists should have same length")
    given = list(zip(da, db, strict=True))
    da, db = list(normalize_dims(da, len(sa))), list(normalize_dims(db, len(sb)))
    for i, j, (first, second) in zip(da, db, given, strict=True):
        if sa[i] != sb[j] and 1 not in (sa[i], sb[j]):
            raise ShapeError(
                f"contracted dimensions need to match, but first has size {sa[i]} in dim {first} and second has size {sb[j]} in dim "
                f"{second}"
            )
    # A contracted dimension of size 1 is broadcast against the other's.
    for i, j in zip(da, db, strict=True):
        if sa[i] != sb[j]:
            if sa[i] == 1:
                b = b.sum(j, keepdim=True, dtype=b.dtype)
            else:
                a = a.sum(i, keepdim=True, dtype=a.dtype)
    if a.dtype is not b.dtype:
        raise OperationError("both inputs should have same dtype")
    rest_a, rest_b = (
        [k for k in range(n) if k not in d] for n, d in ((len(sa), da), (len(sb), db))
    )
    shape = tuple([sa[k] for k in rest_a] + [sb[k] for k in rest_b])
    policy = thread.stack.autocast
    if policy is not None:
        if prod(shape) == 1:
            # not a matrix product, so autocast does not lower its precision
            terms = _ordered(a, [*rest_a, *da]).reshape(-1)
            terms = terms * _ordered(b, [*rest_b, *db]).reshape(-1)
            return terms.sum().reshape([1] * len(shape))
        a, b = policy.narrow(a), policy.narrow(b)
    x, y = a.permute([*rest_a, *da]), b.permute([*db, *rest_b])
    depth = prod(a._array.shape[k] for k in da)
    if prod(shape) == 1 and depth > 1 and max(x._array.ndim, y._array.ndim) > 1:
        return (x.squeeze() * y.squeeze()).sum().view(shape)
    if prod(shape) == 1:
        x, y = (t if t._array.ndim == 1 else t.reshape((depth,)) for t in (x, y))
        return FUNCTIONS["torch"]["dot"](x, y).view(shape)
    x = x.reshape((prod(sa[k] for k in rest_a), depth))
    y = y.reshape((depth, prod(sb[k] for k in rest_b)))
    return F.matmul(x, y).view(shape)


@public(methods="=", out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: replace each element of `input` by that element times `other`.

    Args:
        input, other: any shapes.

    >>> import pellucid as torch
    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    a, b = (
        require_tensor(input, "kron")._array.shape,
        require_tensor(other, "kron", "other", 2)._array.shape,
    )
    n = max(len(a), len(b))
    a, b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    x = input.reshape([size for pair in zip(a, (1,) * n, strict=True) for size in pair])
    y = other.reshape([size for pair in zip((1,) * n, b, strict=True) for size in pair])
    x, y = (
        titled(t, "UnsafeView") if t is not given else t for t, given in ((x, input), (y, other))
    )
    return unsafe_view_op.call(x * y, shape=tuple([i * j for i, j in zip(a, b, strict=True)]))
