"""Random numbers inside of `vmap`: "error", "same" and "different"."""

import pytest

import pellucid as torch
import pellucid.nn.functional as functional
from pellucid.func import jacfwd, vmap

REFUSED = "vmap: called random operation while in randomness error mode"
BATCHED = "Vmap does not currently support same randomness with a batched tensor input"
IN_PLACE = "vmap: Cannot ask for different inplace randomness on an unbatched tensor"
SAMPLES = torch.full((3, 4), 0.5)
ONE = torch.full((4,), 0.5)

FACTORIES = {
    "rand": lambda shape, g: torch.rand(shape, generator=g),
    "randn": lambda shape, g: torch.randn(*shape, generator=g),
    "randint": lambda shape, g: torch.randint(2, 90, shape, generator=g),
    "normal": lambda shape, g: torch.normal(1.0, 2.0, shape, generator=g),
}
LIKE = {
    "rand_like": lambda x, g: torch.rand_like(x, generator=g),
    "randn_like": lambda x, g: torch.randn_like(x, generator=g),
    "randint_like": lambda x, g: torch.randint_like(x, 90, generator=g),
}
FROM = {
    "bernoulli": lambda x, g: torch.bernoulli(x, generator=g),
    "bernoulli p": lambda x, g: torch.bernoulli(x, 0.5, generator=g),
    "normal mean": lambda x, g: torch.normal(x, 2.0, generator=g),
    "normal std": lambda x, g: torch.normal(0.0, x, generator=g),
    "normal both": lambda x, g: torch.normal(x, x, generator=g),
    "poisson": lambda x, g: torch.poisson(x, generator=g),
    "binomial": lambda x, g: torch.binomial(8 * x, x, generator=g),
    "gamma": lambda x, g: torch._standard_gamma(x, generator=g),
    "dirichlet": lambda x, g: torch._sample_dirichlet(x, generator=g),
    "multinomial": lambda x, g: torch.multinomial(x, 2, generator=g),
}
FILLS = {
    "uniform_": (),
    "normal_": (),
    "exponential_": (),
    "cauchy_": (),
    "log_normal_": (),
    "geometric_": (0.5,),
    "random_": (50,),
    "bernoulli_": (0.5,),
}


def generator(given):
    """A generator of one state: its own, or the global one."""
    return torch.Generator().manual_seed(5) if given else torch.manual_seed(5) and None


def dummy(function):
    """A function of a sample that uses nothing of it."""
    return lambda _: function()


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name, own):
    make = FACTORIES[name]
    wanted = make((3, 4), generator(own))
    g = generator(own)
    got = vmap(dummy(lambda: make((4,), g)), randomness="different")(SAMPLES)
    assert torch.equal(got, wanted)
    wanted = make((4,), generator(own))
    g = generator(own)
    got = vmap(dummy(lambda: make((4,), g)), randomness="same")(SAMPLES)
    assert torch.equal(got, wanted.expand(3, 4))
    with pytest.raises(RuntimeError, match=REFUSED):
        vmap(dummy(lambda: make((4,), g)))(SAMPLES)


def test_permutations_are_drawn_one_by_one():
    torch.manual_seed(1)
    wanted = torch.stack([torch.randperm(9) for _ in range(3)])
    torch.manual_seed(1)
    got = vmap(dummy(lambda: torch.randperm(9)), randomness="different")(SAMPLES)
    assert torch.equal(got, wanted)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("name", LIKE)
def test_like_functions(name, dim, own):
    make = LIKE[name]
    x = SAMPLES if dim == 0 else SAMPLES.t().contiguous()
    wanted = make(x.movedim(dim, 0), generator(own))
    g = generator(own)
    got = vmap(lambda t: make(t, g), in_dims=dim, randomness="different")(x)
    assert torch.equal(got, wanted)
    wanted = make(x.movedim(dim, 0)[0], generator(own))
    g = generator(own)
    got = vmap(lambda t: make(t, g), in_dims=dim, randomness="same")(x)
    assert torch.equal(got, wanted.expand(3, 4))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("name", FROM)
def test_draws_from_parameters(name, own):
    draw = FROM[name]
    wanted = draw(SAMPLES, generator(own))
    g = generator(own)
    assert torch.equal(vmap(lambda t: draw(t, g), randomness="different")(SAMPLES), wanted)
    g = generator(own)
    got = vmap(dummy(lambda: draw(ONE, g)), randomness="different")(SAMPLES)
    assert torch.equal(got, wanted)
    one = draw(ONE, generator(own))
    g = generator(own)
    got = vmap(dummy(lambda: draw(ONE, g)), randomness="same")(SAMPLES)
    assert torch.equal(got, one.expand(3, *one.shape))
    with pytest.raises(RuntimeError, match=BATCHED):
        vmap(lambda t: draw(t, g), randomness="same")(SAMPLES)
    with pytest.raises(RuntimeError, match=REFUSED):
        vmap(lambda t: draw(t, g))(SAMPLES)


def test_rows_of_matrices_are_drawn_in_order():
    weights = torch.rand(3, 5, 7)
    torch.manual_seed(0)
    wanted = torch.multinomial(weights.flatten(0, 1), 2).reshape(3, 5, 2)
    torch.manual_seed(0)
    got = vmap(lambda w: torch.multinomial(w, 2), randomness="different")(weights)
    assert torch.equal(got, wanted)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("name", FILLS)
def test_fills(name, own):
    def fill(x, g):
        return getattr(x.clone(), name)(*FILLS[name], generator=g)

    wanted = fill(SAMPLES, generator(own))
    g = generator(own)
    assert torch.equal(vmap(lambda t: fill(t, g), randomness="different")(SAMPLES), wanted)
    one = fill(ONE, generator(own))
    g = generator(own)
    got = vmap(lambda t: fill(t, g), randomness="same")(SAMPLES)
    assert torch.equal(got, one.expand(3, 4))
    g = generator(own)
    got = vmap(dummy(lambda: fill(ONE, g)), randomness="same")(SAMPLES)
    assert torch.equal(got, one.expand(3, 4))
    with pytest.raises(RuntimeError, match=IN_PLACE):
        vmap(dummy(lambda: fill(ONE, g)), randomness="different")(SAMPLES)
    with pytest.raises(RuntimeError, match=REFUSED):
        vmap(lambda t: fill(t, g))(SAMPLES)


def test_a_fill_writes_to_the_samples_themselves():
    x = torch.zeros(4, 3)
    vmap(lambda t: t.normal_(), in_dims=1, randomness="different")(x)
    assert (x != 0).all()


def test_bernoulli_with_probabilities():
    def fill(t, p):
        return t.clone().bernoulli_(p)

    probs = torch.rand(3, 4)
    torch.manual_seed(0)
    wanted = torch.zeros(3, 4).bernoulli_(probs)
    torch.manual_seed(0)
    assert torch.equal(vmap(fill, randomness="different")(SAMPLES, probs), wanted)
    with pytest.raises(RuntimeError, match=BATCHED):
        vmap(fill, randomness="same")(SAMPLES, probs)
    with pytest.raises(RuntimeError, match="has more elements than `self`"):
        vmap(fill, in_dims=(None, 0), randomness="different")(ONE, probs)


DROPOUTS = {
    "dropout": lambda x: functional.dropout(x, 0.5),
    "alpha_dropout": lambda x: functional.alpha_dropout(x, 0.5, True),
    "native_dropout": lambda x: torch.native_dropout(x, 0.5, True)[0],
}


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropouts(name):
    drop = DROPOUTS[name]
    torch.manual_seed(3)
    wanted = drop(torch.ones(3, 50))
    for function in (drop, dummy(lambda: drop(torch.ones(50)))):
        torch.manual_seed(3)
        got = vmap(function, randomness="different")(torch.ones(3, 50))
        assert torch.equal(got, wanted)
        torch.manual_seed(3)
        one = drop(torch.ones(50))
        torch.manual_seed(3)
        got = vmap(function, randomness="same")(torch.ones(3, 50))
        assert torch.equal(got, one.expand(3, 50))
        with pytest.raises(RuntimeError, match=REFUSED):
            vmap(function)(torch.ones(3, 50))


def test_channels_are_dropped_in_each_sample():
    torch.manual_seed(3)
    got = vmap(lambda x: functional.dropout2d(x, 0.5), randomness="different")(
        torch.ones(4, 2, 5, 3, 3)
    )
    sums = got.sum((3, 4))
    assert ((sums == 0) | (sums == 18)).all()
    assert len({tuple(s.flatten().tolist()) for s in sums}) > 1
    torch.manual_seed(3)
    mask = functional.dropout2d(torch.ones(8, 5, 3, 3), 0.5).reshape(4, 2, 5, 3, 3)
    assert torch.equal(got, mask)


def test_levels_have_their_own_modes():
    x = torch.zeros(2, 3)
    torch.manual_seed(0)
    wanted = torch.randn(2, 3, 4)
    torch.manual_seed(0)
    inner = vmap(dummy(lambda: torch.randn(4)), randomness="different")
    assert torch.equal(vmap(inner, randomness="different")(x), wanted)
    torch.manual_seed(0)
    got = vmap(inner, randomness="same")(x)
    assert torch.equal(got[0], got[1])
    assert not torch.equal(got[0, 0], got[0, 1])
    with pytest.raises(RuntimeError, match=REFUSED):
        vmap(inner)(x)


def test_chunks_share_their_numbers():
    got = vmap(dummy(lambda: torch.randn(4)), randomness="same", chunk_size=2)(torch.zeros(5))
    assert torch.equal(got, got[:1].expand(5, 4))


def test_tangents_do_not_say_what_is_drawn():
    x = torch.rand(3)
    assert jacfwd(torch.bernoulli, randomness="same")(x).tolist() == torch.zeros(3, 3).tolist()


def test_no_out_and_no_rrelu():
    with pytest.raises(RuntimeError, match="calling out variants of random operations"):
        vmap(lambda x: torch.randn(4, out=torch.empty(4)), randomness="same")(SAMPLES)
    with pytest.raises(RuntimeError, match="we do not yet support aten::rrelu"):
        vmap(lambda x: torch.rrelu(x, training=True), randomness="same")(SAMPLES)


def test_distributions_check_all_samples():
    torch.manual_seed(0)
    wanted = torch.normal(SAMPLES, torch.ones(3, 4))
    torch.manual_seed(0)
    got = vmap(lambda m: torch.distributions.Normal(m, 1.0).sample(), randomness="different")(
        SAMPLES
    )
    assert torch.equal(got, wanted)
    with pytest.raises(ValueError, match="to satisfy the constraint GreaterThan"):
        vmap(lambda s: torch.distributions.Normal(0.0, s).mean)(-SAMPLES)


def test_set_state_returns_the_generator():
    g = torch.Generator()
    assert g.set_state(g.get_state()) is g


def test_what_is_made_like_samples_takes_their_values():
    def double(x):
        y = torch.zeros_like(x)
        z = x.new_full((2, 4), 1.0)
        y += x
        z[0] = x
        return y, z

    x = torch.arange(12.0).reshape(3, 4)
    y, z = vmap(double)(x)
    assert torch.equal(y, x)
    assert torch.equal(z[:, 0], x)
    assert torch.equal(z[:, 1], torch.ones(3, 4))


def test_truth_of_all_samples():
    seen = []

    def f(x):
        seen.append((torch._is_all_true(x > 0).item(), torch._is_any_true(x > 2).item()))
        return x

    vmap(f)(torch.tensor([[1.0, 2.0], [0.0, 3.0]]))
    assert seen == [(False, True)]
