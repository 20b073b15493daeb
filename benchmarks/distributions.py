"""Distributions on small batches: making one (its parameters are checked), drawing, log
probabilities, entropies.
"""

from __future__ import annotations

import harness

suite = harness.Suite("distributions")


def normal(lib, n):
    return lambda: lib.distributions.Normal(lib.zeros(n), lib.ones(n))


def categorical(lib, n):
    probs = lib.full((n, 4), 0.25)
    return lambda: lib.distributions.Categorical(probs)


def categorical_logits(lib, n):
    logits = lib.linspace(-1, 1, n * 4).view(n, 4)
    return lambda: lib.distributions.Categorical(logits=logits)


def bernoulli(lib, n):
    probs = lib.full((n,), 0.25)
    return lambda: lib.distributions.Bernoulli(probs)


def bernoulli_logits(lib, n):
    logits = lib.linspace(-1, 1, n)
    return lambda: lib.distributions.Bernoulli(logits=logits)


def beta(lib, n):
    return lambda: lib.distributions.Beta(lib.full((n,), 2.0), lib.full((n,), 3.0))


def uniform(lib, n):
    return lambda: lib.distributions.Uniform(lib.zeros(n), lib.ones(n))


USES = {
    "made": lambda lib, make: make,
    "sample": lambda lib, make: make().sample,
    "log_prob": lambda lib, make: (lambda d, x: lambda: d.log_prob(x))(make(), make().sample()),
    "made, sample, log_prob": lambda lib, make: lambda: (lambda d: d.log_prob(d.sample()))(make()),
    "entropy": lambda lib, make: (lambda d: d.entropy)(make()),
}
for _make in (normal, categorical, categorical_logits, bernoulli, bernoulli_logits, beta, uniform):
    for _n in (1, 64):
        for _use, _work in USES.items():

            @suite.case(f"{_make.__name__} of {_n}, {_use}", target=1.0)
            def case(lib, make=_make, n=_n, work=_work):
                lib.manual_seed(0)
                return work(lib, make(lib, n))


@suite.case("policy step: linear, softmax, Categorical, sample, log_prob, backward", target=1.0)
def policy(lib):
    lib.manual_seed(0)
    layer, state = lib.nn.Linear(4, 2), lib.tensor([0.1, -0.2, 0.3, 0.4])

    def work():
        d = lib.distributions.Categorical(lib.softmax(layer(state), -1))
        (-d.log_prob(d.sample())).backward()

    return work


if __name__ == "__main__":
    suite.main()
