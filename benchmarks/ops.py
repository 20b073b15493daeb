"""Single operations: everyday calls on a few numbers, where the engine's own cost shows, and large
arrays, where the kernels do.
"""

from __future__ import annotations

import harness

suite = harness.Suite("single operations")


def small(lib, *shape, grad=False):
    """Numbers between 0.1 and 0.9, the same on both sides."""
    count = 1
    for size in shape:
        count *= size
    x = (lib.arange(count, dtype=lib.float32) * 0.37 % 0.8 + 0.1).reshape(shape)
    return x.requires_grad_() if grad else x


# ---- a few numbers ----------------------------------------------------------------------------
TINY = {
    "max(dim)": lambda lib, x: lambda: x.max(1),
    "max(dim), recorded": lambda lib, x: lambda w=x.requires_grad_(): w.max(1),
    "sort": lambda lib, x: lambda: x.sort(1),
    "sort, recorded": lambda lib, x: lambda w=x.requires_grad_(): w.sort(1),
    "topk": lambda lib, x: lambda: x.topk(2, 1),
    "cummax": lambda lib, x: lambda: x.cummax(1),
    "unbind": lambda lib, x: lambda: x.unbind(0),
    "unbind, recorded": lambda lib, x: lambda w=x.requires_grad_(): w.unbind(0),
    "split": lambda lib, x: lambda: x.split(2, 1),
    "chunk": lambda lib, x: lambda: x.chunk(2, 1),
    "var_mean": lambda lib, x: lambda: lib.var_mean(x, 1),
    "aminmax": lambda lib, x: lambda: lib.aminmax(x, dim=1),
    "cat": lambda lib, x: lambda: lib.cat((x, x)),
    "cat, recorded": lambda lib, x: lambda w=x.requires_grad_(): lib.cat((w, w)),
    "stack": lambda lib, x: lambda: lib.stack((x, x)),
    "stack, recorded": lambda lib, x: lambda w=x.requires_grad_(): lib.stack((w, w)),
    "index_select": lambda lib, x: lambda i=lib.tensor([0, 1, 1]): lib.index_select(x, 0, i),
    "gather": lambda lib, x: lambda i=lib.tensor([[0, 1], [1, 0]]): lib.gather(x, 1, i),
    "flip": lambda lib, x: lambda: x.flip(0),
    "tril": lambda lib, x: lambda: x.tril(),
    "clamp": lambda lib, x: lambda: x.clamp(0.2, 0.7),
    "clamp, recorded": lambda lib, x: lambda w=x.requires_grad_(): w.clamp(0.2, 0.7),
    "where": lambda lib, x: lambda c=x > 0.5: lib.where(c, x, x),
    "where with a number": lambda lib, x: lambda c=x > 0.5: lib.where(c, x, 0.0),
    "where, recorded": lambda lib, x: lambda c=x > 0.5, w=x.requires_grad_(): lib.where(c, w, w),
    "masked_fill": lambda lib, x: lambda c=x > 0.5: x.masked_fill(c, 0.0),
    "addcmul": lambda lib, x: lambda: lib.addcmul(x, x, x, value=0.5),
    "addcmul, recorded": lambda lib, x: (
        lambda w=x.requires_grad_(): lib.addcmul(w, w, w, value=0.5)
    ),
    "lerp": lambda lib, x: lambda: lib.lerp(x, x, 0.3),
    "sigmoid": lambda lib, x: lambda: lib.sigmoid(x),
    "sigmoid, recorded": lambda lib, x: lambda w=x.requires_grad_(): lib.sigmoid(w),
    "softmax": lambda lib, x: lambda: lib.softmax(x, 1),
    "pow(3)": lambda lib, x: lambda: x**3,
    "cumsum": lambda lib, x: lambda: x.cumsum(1),
    "argmax": lambda lib, x: lambda: x.argmax(1),
    "x > 0.5": lambda lib, x: lambda: x > 0.5,
    "any": lambda lib, x: lambda c=x > 0.5: c.any(),
    "x + tensor of integers": lambda lib, x: lambda i=lib.tensor([1, 2, 3, 4]): x + i,
    "rand": lambda lib, x: lambda: lib.rand(3),
    "randn": lambda lib, x: lambda: lib.randn(3),
    "randn(64)": lambda lib, x: lambda: lib.randn(64),
    "randint": lambda lib, x: lambda: lib.randint(0, 10, (3,)),
    "zeros": lambda lib, x: lambda: lib.zeros(2, 4),
    "arange": lambda lib, x: lambda: lib.arange(4),
}
for _name, _make in TINY.items():
    suite.case(f"(2, 4) {_name}", target=1.0)(lambda lib, make=_make: make(lib, small(lib, 2, 4)))


# ---- products ---------------------------------------------------------------------------------
@suite.case("(8, 32, 64) @ (64, 64), forward and backward", target=1.0)
def batch_times_matrix(lib):
    x, w = small(lib, 8, 32, 64, grad=True), small(lib, 64, 64, grad=True)

    def work():
        x.grad = w.grad = None
        (x @ w).sum().backward()

    return work


@suite.case("(8, 32, 64) @ (8, 64, 32), forward and backward", target=1.0)
def batch_times_batch(lib):
    x, w = small(lib, 8, 32, 64, grad=True), small(lib, 8, 64, 32, grad=True)

    def work():
        x.grad = w.grad = None
        (x @ w).sum().backward()

    return work


# ---- large arrays -----------------------------------------------------------------------------
LARGE = {
    "exp": lambda lib, x: lambda: lib.exp(x),
    "log": lambda lib, x: lambda: lib.log(x),
    "sigmoid": lambda lib, x: lambda: lib.sigmoid(x),
    "tanh": lambda lib, x: lambda: lib.tanh(x),
    "clamp": lambda lib, x: lambda: x.clamp(0.2, 0.7),
    "pow(3)": lambda lib, x: lambda: x**3,
    "pow(2)": lambda lib, x: lambda: x**2,
    "where": lambda lib, x: lambda c=x > 0.5: lib.where(c, x, x),
    "sum": lambda lib, x: lambda: x.sum(),
    "max": lambda lib, x: lambda: x.max(),
}
for _name, _make in LARGE.items():
    suite.case(f"1M {_name}", target=1.0)(lambda lib, make=_make: make(lib, small(lib, 1 << 20)))


@suite.case("2M cumsum", target=1.0)
def cumsum(lib):
    x = small(lib, 1 << 21)
    return lambda: x.cumsum(0)


if __name__ == "__main__":
    suite.main()
