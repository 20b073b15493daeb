"""Random programs (views, broadcasting, reductions, in-place writes, products, updates of
parameters): compiled as a whole they give what eager execution gives, call after call.
"""

import random

import numpy as np
import pytest

import pellucid as torch
import pellucid.nn.functional as F

SHAPES = [(4,), (3, 4), (2, 3, 4), (1, 4), (3, 1), (5, 4), (1,), (4, 4), (17, 33), (64, 4)]


def write(change):
    """An operation that overwrites a copy of its operand, or a part of it."""

    def operation(x):
        y = x.clone()
        change(y)
        return y

    return operation


def first_set(y):
    y[0] = 0.25


def last_column_moved(y):
    part = y[..., :1]
    part.add_(2.0)


ONE = [
    torch.relu,
    torch.tanh,
    torch.sigmoid,
    torch.abs,
    torch.sin,
    torch.sign,
    F.gelu,
    F.silu,
    F.softplus,
    lambda x: -x,
    lambda x: (x * 0.1).exp(),
    lambda x: (x.abs() + 0.1).sqrt(),
    lambda x: x.square() * 0.1,
    lambda x: x.abs().log1p(),
    lambda x: x.double().mul(1.5).float(),
    lambda x: x.detach() + 0.1 * x,
    lambda x: x.clone(),
    lambda x: x.sum(-1),
    lambda x: x.mean(0),
    lambda x: x.max(-1).values,
    lambda x: x.softmax(0),
    lambda x: x.softmax(-1),
    lambda x: x - x.mean(-1, keepdim=True),
    lambda x: x - 0.1 * x.sum(0, keepdim=True),
    lambda x: x.logsumexp(-1),
    lambda x: x.cumsum(0),
    lambda x: x + x.var(-1, unbiased=False, keepdim=True),
    lambda x: F.normalize(x, dim=0),
    lambda x: x.argmax(-1).float(),
    lambda x: (x.abs() * 0.5 + 0.5).prod(-1),
    lambda x: F.layer_norm(x, x.shape[-1:]),
    lambda x: x.transpose(0, -1),
    lambda x: x[..., 1:],
    lambda x: x.unsqueeze(0),
    lambda x: x.unsqueeze(-1),
    lambda x: x.reshape(-1),
    lambda x: x.expand(2, *x.shape),
    lambda x: x.flip(0),
    lambda x: x.chunk(2, 0)[0],
    lambda x: x.select(0, 0),
    lambda x: x[::2],
    lambda x: x.tril(),
    lambda x: x.permute(*reversed(range(x.dim()))),
    lambda x: torch.cat([x, x * 2], 0),
    lambda x: x.mT @ x,
    write(lambda y: y.add_(1.5)),
    write(lambda y: y.mul_(0.5)),
    write(torch.relu_),
    write(first_set),
    write(last_column_moved),
    write(lambda y: y.copy_(y * 2)),
]
TWO = [
    torch.add,
    torch.mul,
    torch.maximum,
    torch.minimum,
    torch.outer,
    lambda x, y: x - y * 0.5,
    lambda x, y: x / (y.abs() + 1),
    lambda x, y: torch.where(x > y, x, y * 2),
    lambda x, y: (x > y).float(),
    lambda x, y: x @ y,
]


def recipe(seed):
    """Shapes of the inputs, and operations with the numbers of their operands: inputs, two
    parameters, then each other's results.
    """
    choose = random.Random(seed)
    shapes = [choose.choice(SHAPES) for _ in range(2)]
    pool = [*(torch.ones(s) for s in shapes), torch.ones(4, 4), torch.ones(4)]
    steps = []
    while len(steps) < 3 + seed % 20:
        operation = choose.choice(ONE if choose.random() < 0.7 else TWO)
        operands = [choose.randrange(len(pool)) for _ in range(1 if operation in ONE else 2)]
        try:
            made = operation(*[pool[k] for k in operands])
        except (RuntimeError, IndexError, ValueError):
            continue  # not for these shapes
        if 0 < made.numel() <= 3000 and made.dim() <= 4:
            steps.append((operation, operands))
            pool.append(made)
    return shapes, steps


def trained(shapes, steps, seed, compiling):
    g = torch.Generator().manual_seed(seed)
    params = [
        torch.randn(4, 4, generator=g).requires_grad_(),
        torch.randn(4, generator=g).requires_grad_(),
    ]

    def step(*inputs):
        for p in params:
            p.grad = None
        pool = [*inputs, *params]
        for operation, operands in steps:
            pool.append(operation(*[pool[k] for k in operands]))
        results = pool[4:]
        losses = [r.mean() for r in results[-4:] if r.requires_grad] or [p.sum() for p in params]
        loss = torch.stack(losses).sum()
        loss.backward()
        with torch.no_grad():
            for p in params:
                if p.grad is not None:
                    p -= 0.01 * p.grad.clamp(-1, 1)
        return loss.detach(), *[r.detach() for r in results[-3:]]

    run = torch.compile(step) if compiling else step
    made = [
        [t.clone() for t in run(*[torch.randn(*s, generator=g) for s in shapes])] for _ in range(4)
    ]
    return made, params, run


@pytest.mark.parametrize("seed", range(24))
def test_random_program(seed):
    shapes, steps = recipe(seed)
    want, params, _ = trained(shapes, steps, seed, False)
    got, moved, run = trained(shapes, steps, seed, True)
    for call, (a, b) in enumerate(zip(got, want, strict=True)):
        for x, y in zip(a, b, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            np.testing.assert_allclose(
                x.numpy(), y.numpy(), rtol=2e-3, atol=2e-4, err_msg=f"call {call}"
            )
    for x, y in zip(moved, params, strict=True):
        np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), rtol=2e-3, atol=2e-4)
    assert run.versions[0].hits == 3
