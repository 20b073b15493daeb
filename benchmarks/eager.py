"""The engine's own cost: small operations, small backward passes, training steps of MLPs, long
chains.
"""

from __future__ import annotations

import harness

suite = harness.Suite("eager engine")


@suite.case("x*w, 3 elements, recorded", target=1.0)
def multiply(lib):
    x = lib.tensor([1.0, 2.0, 3.0])
    w = lib.tensor([4.0, 5.0, 6.0], requires_grad=True)
    return lambda: x * w


@suite.case("x+1.0, 3 elements, not recorded", target=1.0)
def add_number(lib):
    x = lib.tensor([1.0, 2.0, 3.0])
    return lambda: x + 1.0


@suite.case("(x*w).sum().backward()", target=1.0)
def backward(lib):
    x = lib.tensor([1.0, 2.0, 3.0])
    w = lib.tensor([4.0, 5.0, 6.0], requires_grad=True)

    def work():
        w.grad = None
        (x * w).sum().backward()

    return work


def mlp_step(lib, batch, sizes, optimizer):
    """A training step of an MLP with ReLU and cross entropy, on data drawn once."""
    lib.manual_seed(0)
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:], strict=False):
        layers += [lib.nn.Linear(fan_in, fan_out), lib.nn.ReLU()]
    model = lib.nn.Sequential(*layers[:-1])
    step = optimizer(lib, model.parameters())
    x = lib.randn(batch, sizes[0])
    y = lib.randint(0, sizes[-1], (batch,))
    cross_entropy = lib.nn.functional.cross_entropy

    def work():
        step.zero_grad()
        cross_entropy(model(x), y).backward()
        step.step()

    return work


@suite.case("MLP step, batch 16, 20-32-4, Adam", target=0.6)
def small_mlp(lib):
    return mlp_step(lib, 16, (20, 32, 4), lambda lib, p: lib.optim.Adam(p, lr=1e-3))


@suite.case("MLP step, batch 512, 784-1024-10, SGD", target=0.7)
def large_mlp(lib):
    return mlp_step(lib, 512, (784, 1024, 10), lambda lib, p: lib.optim.SGD(p, lr=1e-2))


@suite.case("chain of 10,000 multiplications, forward and backward", target=0.8)
def chain(lib):
    w = lib.tensor([1.0, 1.0, 1.0], requires_grad=True)

    def work():
        w.grad = None
        y = w
        for _ in range(10_000):
            y = y * w
        y.sum().backward()

    return work


if __name__ == "__main__":
    suite.main()
