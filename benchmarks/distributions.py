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


def matrices(d, lib):
    return d.Wishart(lib.tensor(5.0), lib.eye(3))


# What is drawn by rejection, and samples of matrices and vectors.
DRAWN = {
    "Poisson(3), 100,000": (lambda d, lib: d.Poisson(lib.tensor(3.0)), (100_000,)),
    "Poisson(30), 100,000": (lambda d, lib: d.Poisson(lib.tensor(30.0)), (100_000,)),
    "Binomial(10, .3), 10,000": (lambda d, lib: d.Binomial(10, lib.tensor(0.3)), (10_000,)),
    "Binomial(100, .3), 10,000": (lambda d, lib: d.Binomial(100, lib.tensor(0.3)), (10_000,)),
    "Geometric(.3), 100,000": (lambda d, lib: d.Geometric(lib.tensor(0.3)), (100_000,)),
    "Cauchy(0, 1), 100,000": (
        lambda d, lib: d.Cauchy(lib.tensor(0.0), lib.tensor(1.0)),
        (100_000,),
    ),
    "VonMises(0, 1), 10,000": (
        lambda d, lib: d.VonMises(lib.tensor(0.0), lib.tensor(1.0)),
        (10_000,),
    ),
    "Wishart(5, eye(3)), 1": (matrices, ()),
    "Wishart(5, eye(3)), 1,000": (matrices, (1000,)),
    "LKJCholesky(3), 1,000": (lambda d, lib: d.LKJCholesky(3, lib.tensor(1.5)), (1000,)),
    "Multinomial(10), 1,000": (lambda d, lib: d.Multinomial(10, lib.ones(4)), (1000,)),
    "Categorical(4), 10,000": (lambda d, lib: d.Categorical(lib.ones(4)), (10_000,)),
    "MultivariateNormal(3), 10,000": (
        lambda d, lib: d.MultivariateNormal(lib.zeros(3), lib.eye(3)),
        (10_000,),
    ),
}
for _name, (_make, _shape) in DRAWN.items():

    @suite.case(f"{_name}, sample", target=1.0)
    def drawn(lib, make=_make, shape=_shape):
        lib.manual_seed(0)
        distribution = make(lib.distributions, lib)
        return lambda: distribution.sample(shape)

    @suite.case(f"{_name}, log_prob", target=1.0)
    def density(lib, make=_make, shape=_shape):
        lib.manual_seed(0)
        distribution = make(lib.distributions, lib)
        value = distribution.sample(shape)
        return lambda: distribution.log_prob(value)


# Samples with gradients of a rule of their own.
IMPLICIT = {
    "Gamma": lambda d, a: d.Gamma(a, 1.0),
    "Beta": lambda d, a: d.Beta(a, a + 0.5),
    "Dirichlet": lambda d, a: d.Dirichlet(a),
    "StudentT": lambda d, a: d.StudentT(a),
}
for _name, _make in IMPLICIT.items():
    for _shape in ((3,), (1000, 10)):

        @suite.case(f"{_name} of {_shape}, rsample and backward", target=1.0)
        def implicit(lib, make=_make, shape=_shape):
            lib.manual_seed(0)
            a = lib.full(shape, 2.5, requires_grad=True)

            def work():
                a.grad = None
                make(lib.distributions, a).rsample().sum().backward()

            return work


if __name__ == "__main__":
    suite.main()
