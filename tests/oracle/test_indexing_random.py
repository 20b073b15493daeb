"""Random mixed indices: values, errors, assignment and gradients as PyTorch's."""

from __future__ import annotations

import random
import warnings

import numpy as np
import pytest

import pellucid

torch = pytest.importorskip("torch")

SHAPES = [(4,), (3, 5), (2, 3, 4), (3, 1, 2, 2), (0, 3), ()]


def draw_item(pick, size, ndim_left):
    """One index item as text for a dimension of `size` elements, and how many dimensions it takes."""
    kind = pick.choice(
        [
            "int",
            "slice",
            "slice",
            "list",
            "tensor",
            "tensor2",
            "mask",
            "none",
            "scalar",
            "true",
            "false",
            "dots",
            "mask2",
        ]
    )
    if kind == "int":
        return str(pick.randint(-size - (pick.random() < 0.05), max(size - 1, 0))), 1
    if kind == "slice":
        ends = [None, *range(-size - 1, size + 2)]
        return f"{pick.choice(ends)}:{pick.choice(ends)}:{pick.choice([None, 1, 2, 3])}".replace(
            "None", ""
        ), 1
    if kind == "list":
        return str(
            [pick.randint(-size, size - 1) for _ in range(pick.choice([1, 2, 2]))] if size else "[]"
        ), 1
    if kind == "tensor":
        return (
            f"t.tensor({[pick.randint(-size, size - 1) for _ in range(2)] if size else []}, dtype=t.{pick.choice(['int64', 'int32'])})",
            1,
        )
    if kind == "tensor2":
        return (
            f"t.tensor({[[pick.randint(-size, size - 1) for _ in range(2)] for _ in range(2)] if size else [[]]}, dtype=t.int64)",
            1,
        )
    if kind == "mask":
        return f"t.tensor({[pick.random() < 0.5 for _ in range(size)]}, dtype=t.bool)", 1
    if kind == "mask2" and ndim_left >= 2:
        return "MASK2", 2
    if kind == "scalar":
        return (f"t.tensor({pick.randint(-size, size - 1)})", 1) if size else ("None", 0)
    return {"true": "True", "false": "False", "dots": "...", "none": "None", "mask2": "None"}[
        kind
    ], 0


def draw_index(pick, shape):
    items, dim = [], 0
    for _ in range(pick.randint(1, 4)):
        if dim >= len(shape):
            items.append(pick.choice(["None", "...", "True"]))
            continue
        text, taken = draw_item(pick, shape[dim], len(shape) - dim)
        if text == "MASK2":
            grid = [[pick.random() < 0.5 for _ in range(shape[dim + 1])] for _ in range(shape[dim])]
            text = f"t.tensor({grid}, dtype=t.bool).reshape({shape[dim]}, {shape[dim + 1]})"
        items.append(text)
        dim += taken
    if items.count("...") > 1:
        items = [i for i in items if i != "..."]
    return ", ".join(items) or "..."


def attempt(package, code, shape):
    scope = {"t": package}
    exec(
        f"x = t.arange({float(np.prod(shape, dtype=int))}).reshape({shape}) + 1\nx = x.double().requires_grad_(); y = x * 2",
        scope,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(code, scope)
    except Exception as error:
        return error
    return scope


@pytest.mark.parametrize("seed", range(30))
def test_random_indices(seed):
    pick = random.Random(seed)
    for _ in range(25):
        shape = pick.choice(SHAPES)
        index = draw_index(pick, shape)
        read = f"r = y[{index}]\n(r * (t.arange(float(r.numel())).reshape(r.shape) + 1)).sum().backward()"
        compare(attempt(pellucid, read, shape), attempt(torch, read, shape), index, shape)
        write = f"y[{index}] = 7.5\n(y * y).sum().backward()"
        compare(attempt(pellucid, write, shape), attempt(torch, write, shape), index, shape)
        part = f"p = y[{index}].detach().clone().requires_grad_()\ny[{index}] = p * 3\ny.sum().backward()\nr = p.grad"
        if "[" not in index:  # places that repeat get any of the values
            compare(attempt(pellucid, part, shape), attempt(torch, part, shape), index, shape)


def compare(ours, theirs, index, shape):
    where = f"y[{index}] of {shape}"
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)), f"{where}: {theirs!r}, here {ours!r}"
        return
    assert not isinstance(ours, Exception), f"{where}: {ours!r}"
    for name in ("r", "y"):
        if name in theirs:
            a, b = ours[name], theirs[name]
            if b is None:
                assert a is None, where
                continue
            assert tuple(a.shape) == tuple(b.shape), where
            np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), err_msg=where)
    a, b = ours["x"].grad, theirs["x"].grad
    assert (a is None) == (b is None), where
    if b is not None:
        np.testing.assert_allclose(a.numpy(), b.numpy(), err_msg=where)
