"""What programs do around `compile`: wrapped modules that are changed, copied and saved; names that
meet; errors and warnings.
"""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import pytest

import pellucid as torch
import pellucid.nn.functional as F
from pellucid import nn
from pellucid.errors import full_text

x = 1.0  # a global that changes between calls, and shares its name with an attribute


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2))
        self.x = 2.0

    def forward(self, value):
        return value * self.weight * self.x


class Holder:
    def __init__(self, factor):
        self.factor = factor

    @torch.compile
    def times(self, value):
        return value * self.factor


@torch.compile
def doubled(value):
    return value * 2


# ---- compiled modules -------------------------------------------------------------------------------
def test_attributes_set_on_a_compiled_module_are_the_modules():
    module = Scaled()
    compiled = torch.compile(module)
    ones = torch.ones(2)
    assert compiled(ones).tolist() == [2, 2]
    compiled.x = 5.0
    assert module.x == 5.0 and compiled(ones).tolist() == [5, 5]
    compiled.weight = nn.Parameter(torch.zeros(2))
    assert module.weight.tolist() == [0, 0] and compiled(ones).tolist() == [0, 0]
    compiled.extra = nn.Linear(1, 1)
    assert (
        "extra.weight" in module.state_dict() and "_orig_mod.extra.weight" in compiled.state_dict()
    )
    compiled.training = False
    assert not module.training
    module.train()
    assert compiled.training
    del compiled.extra
    assert not hasattr(module, "extra")


def test_compiled_modules_are_copied_and_saved():
    compiled = torch.compile(nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)))
    value = torch.arange(6.0).reshape(2, 3)
    compiled(value)
    compiled.eval()
    want = compiled(value)
    file = io.BytesIO()
    torch.save(compiled, file)
    file.seek(0)
    for other in (
        copy.deepcopy(compiled),
        pickle.loads(pickle.dumps(compiled)),
        torch.load(file, weights_only=False),
    ):
        torch.testing.assert_close(other(value), want)
        assert list(other.state_dict()) == list(compiled.state_dict())
        with torch.no_grad():
            for p in other.parameters():
                p.zero_()
        assert other(value).tolist() == [[0], [0]] and compiled(value).any()


def test_compiled_functions_and_methods_are_copied_and_saved():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    holder = Holder(3)
    ones = torch.ones(2)
    assert holder.times(ones).tolist() == [3, 3]
    for other in (copy.deepcopy(holder), pickle.loads(pickle.dumps(holder))):
        other.factor = 4
        assert other.times(ones).tolist() == [4, 4] and holder.times(ones).tolist() == [3, 3]


# ---- names and guards -------------------------------------------------------------------------------
def test_a_global_with_the_name_of_an_attribute_is_no_reason_to_trace_again(monkeypatch):
    compiled = torch.compile(Scaled())
    for k in range(4):
        monkeypatch.setitem(globals(), "x", float(k))
        compiled(torch.ones(2))
    assert len(compiled._compiled().history) == 1


def test_a_step_may_decide_after_a_check():
    """An encoder asks whether its mask is causal, after indices were checked."""
    table = torch.ones(4, 2)

    def f(index, mask):
        y = F.embedding(index, table)
        return y + 1 if mask.all() else y

    compiled = torch.compile(f)
    index = torch.tensor([1, 3])
    for _ in range(2):
        for mask in ([True], [False]):
            assert (
                compiled(index, torch.tensor(mask)).tolist()
                == f(index, torch.tensor(mask)).tolist()
            )
    assert len(compiled.versions) == 2
    with pytest.raises(IndexError, match="index out of range in self") as raised:
        compiled(torch.tensor([1, 4]), torch.tensor([True]))
    assert "num_embeddings must be larger than every index" in full_text(raised.value)


# ---- words ------------------------------------------------------------------------------------------
def test_warnings_name_the_module_the_line_and_the_call():
    seen = []

    class Counting(nn.Module):
        def forward(self, value):
            seen.append(1)  # what changes
            return value + len(seen)

    compiled = torch.compile(Counting())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(4):
            compiled(torch.ones(1))
    (warning,) = [w for w in told if w.category is torch.compiler.CompileWarning]
    assert warning.filename == __file__
    assert "Counting is compiled around a line that stays in Python: the step changes seen" in str(
        warning.message
    )
    assert "# what changes" in str(warning.message)


LINALG = torch.linalg
REFUSED = {
    "solve": (lambda a: LINALG.solve(a, torch.ones(2, 2)), torch.eye(2), torch.ones(2, 2)),
    "solve of several": (
        lambda a: LINALG.solve(a, torch.ones(2, 2, 2)),
        torch.eye(2).expand(2, 2, 2).clone(),
        torch.ones(2, 2, 2),
    ),
    "inv": (lambda a: LINALG.inv(a) + 1, torch.eye(2), torch.ones(2, 2)),
    "power": (lambda a: LINALG.matrix_power(a, -2), torch.eye(2), torch.ones(2, 2)),
    "eigh": (lambda a: LINALG.eigh(a)[0], torch.eye(2), torch.full((2, 2), float("nan"))),
    "index": (lambda i: torch.zeros(3, 3)[i], torch.tensor([1, 2]), torch.tensor([1, 5])),
    "gather": (
        lambda i: torch.zeros(2, 3).gather(1, i),
        torch.tensor([[1], [2]]),
        torch.tensor([[1], [7]]),
    ),
    "embedding": (
        lambda i: F.embedding(i, torch.ones(4, 2)),
        torch.tensor([1, 2]),
        torch.tensor([1, -1]),
    ),
    "labels": (
        lambda y: F.cross_entropy(torch.zeros(2, 3), y),
        torch.tensor([1, 2]),
        torch.tensor([1, 5]),
    ),
    "labels without mean": (
        lambda y: F.cross_entropy(torch.zeros(2, 3), y, reduction="none"),
        torch.tensor([1, 2]),
        torch.tensor([-5, 0]),
    ),
    "division": (lambda y: torch.tensor([4, 4]) // y, torch.tensor([1, 2]), torch.tensor([1, 0])),
    "scale": (
        lambda s: torch.distributions.Normal(0.0, s).log_prob(s),
        torch.tensor([1.0, 2.0]),
        torch.tensor([1.0, -1.0]),
    ),
    "logits": (
        lambda s: torch.distributions.Categorical(logits=s).sample(),
        torch.tensor([1.0, 2.0]),
        torch.tensor([1.0, float("nan")]),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_those_of_eager_execution_with_the_line_of_the_operation(name):
    f, good, bad = REFUSED[name]
    compiled = torch.compile(f, fullgraph=True)
    compiled(good)
    compiled(good)
    assert compiled.versions[0].hits == 1
    with pytest.raises(Exception) as want:
        f(bad)
    with pytest.raises(type(want.value)) as got:
        compiled(bad)
    assert str(got.value).splitlines()[0] == str(want.value).splitlines()[0]
    assert got.value.facts.source.line == f.__code__.co_firstlineno
    compiled(good)
    assert compiled.versions[0].hits == 2


# ---- numbers that change ----------------------------------------------------------------------------
def same_for(f, calls, versions, compiled=None):
    """Compiled and eager results are the same for each call, and that took so many versions."""
    compiled = compiled or torch.compile(f)
    for args in calls:
        for a, b in zip(compiled(*args), f(*args), strict=True):
            assert torch.as_tensor(a).dtype == torch.as_tensor(b).dtype
            torch.testing.assert_close(torch.as_tensor(a), torch.as_tensor(b), equal_nan=True)
    assert len(compiled.versions) == versions
    return compiled


def test_a_number_that_is_another_at_each_call_is_an_input():
    def f(x, beta, it):
        return x * beta + (1 - beta) * x.exp() / (it + 1), x - it, beta * 2, it + 1, x**beta

    calls = [(torch.arange(3.0) + k, 0.5 * k, k) for k in range(9)]
    # the one of 0.5 is no other exponent's, as a root is taken
    assert same_for(f, calls, 3).versions[0].hits == 6


def test_a_whole_step_with_a_weight_that_grows():
    def train(compiling):
        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def step(value, beta):
            optimizer.zero_grad()
            loss = (model(value) ** 2).mean() + beta * model.weight.abs().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        called = torch.compile(step) if compiling else step
        losses = [called(torch.randn(3, 4), min(1.0, k / 10)) for k in range(14)]
        return torch.stack([*losses, *model.weight.detach().flatten()]), called

    expected, _ = train(False)
    got, compiled = train(True)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
    assert compiled.versions[0].hits == 12 and len(compiled.versions) == 2


@pytest.mark.parametrize(
    "kind", [torch.float64, torch.int64, torch.int32, torch.bool, torch.float16, torch.bfloat16]
)
def test_numbers_are_promoted_as_in_eager_execution(kind):
    def f(x, s):
        return x * s, x + s, s - x.float(), x > s

    half = kind.itemsize == 2
    same_for(f, [(torch.tensor([1, 0, 2]).to(kind), s) for s in (1, 2, 3, 70000)], 4 if half else 2)
    same_for(
        f,
        [(torch.tensor([1, 0, 2]).to(kind), s) for s in (1.5, 2.25, -3.0, 1e-9, float("inf"))],
        5 if half else 2,
    )


def test_numbers_that_decide_or_are_handed_to_kernels_hold_for_one_value():
    def f(x, s):
        y = x + s if s > 2 else x - s
        return y, x.clamp(max=s), torch.full((2,), s)

    compiled = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for k in range(24):
            for a, b in zip(
                compiled(torch.arange(4.0), k / 4), f(torch.arange(4.0), k / 4), strict=True
            ):
                assert a.tolist() == b.tolist()
    assert len(compiled.history) < 40 and compiled.refused


def test_numbers_in_attributes_globals_and_closures(monkeypatch):
    module, factor, table = Scaled(), 1, {"scale": 0.5}

    def f(value):
        return (module(value) * factor + x * table["scale"],)

    def bump():
        nonlocal factor
        factor += 1

    compiled = torch.compile(f)
    for k in range(10):
        module.x = k / 2
        monkeypatch.setitem(globals(), "x", k + 0.5)
        table["scale"] = 1.0 / (k + 1)
        bump()
        torch.testing.assert_close(compiled(torch.ones(2)), f(torch.ones(2)))
        assert (module.x, x, table["scale"], factor) == (k / 2, k + 0.5, 1.0 / (k + 1), k + 2)
    assert len(compiled.history) <= 5 and compiled.versions[0].hits >= 5


def test_numbers_that_the_step_itself_changes_are_not_inputs():
    module = Scaled()

    def f(value):
        module.x = module.x * 0.5
        return module(value)

    compiled = torch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", torch.compiler.CompileWarning)
        for k in range(5):
            assert compiled(torch.ones(2)).tolist() == [2.0 * 0.5 ** (k + 1)] * 2
            assert type(module.x) is float


@pytest.mark.parametrize(
    "draw",
    [
        lambda p: torch.bernoulli(p),
        lambda p: torch.multinomial(p, 2),
        lambda p: torch.poisson(p * 3),
        lambda p: torch.normal(p, p),
        lambda p: torch.distributions.Binomial(5, p).sample(),
        lambda p: torch.empty(3).bernoulli_(p),
    ],
    ids=["bernoulli", "multinomial", "poisson", "normal", "binomial", "bernoulli_"],
)
@pytest.mark.parametrize("made", [True, False], ids=["made inside", "argument"])
def test_draws_read_their_parameters_and_leave_them_alone(draw, made):
    """Parameters of a distribution were taken for what the draw fills: constants among them were
    never there.
    """

    def f(p):
        p = torch.full((3,), 0.4) if made else p
        return draw(p) + p.sum()

    results = []
    for run in (f, torch.compile(f)):
        torch.manual_seed(0)
        p = torch.tensor([0.2, 0.9, 0.5])
        results.append([run(p) for _ in range(5)])
        assert p._version == 0 and p.tolist() == [pytest.approx(v) for v in (0.2, 0.9, 0.5)]
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


def test_numbers_that_change_reach_kernels_as_plain_numbers():
    """Options of operations and of modules that change: as they are, in the right dtype."""

    def f(x, v):
        return (
            torch.addcmul(x, x, x, value=v)
            + F.dropout(x, v)
            + torch.nn.functional.batch_norm(
                x, torch.zeros(3), torch.ones(3), training=True, momentum=v
            )
        )

    def g(x, v):
        return torch.addcmul(x, x, x, value=v) + F.dropout(x, v) + torch.lerp(x, x * 2, v)

    for function in (f, g):
        results = []
        for run in (function, torch.compile(function)):
            torch.manual_seed(0)
            results.append([run(torch.randn(4, 3), k / 10) for k in range(1, 7)])
        for a, b in zip(*results, strict=True):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b)


def test_a_number_whose_type_is_asked_for_is_no_input():
    def f(x, v):
        return x * 2 if type(v) is float else x * 3

    run = torch.compile(f)
    for k in range(6):
        torch.testing.assert_close(run(torch.ones(2), 0.5 + k), torch.ones(2) * 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.func.jacrev(lambda y: y**2)(x),
        lambda x: torch.func.jacfwd(lambda y: y**2)(x),
        lambda x: torch.func.hessian(lambda y: (y**3).sum())(x),
        lambda x: F.gumbel_softmax(x),
        lambda x: F.gumbel_softmax(x, tau=0.5, hard=True),
        lambda x: x.new_zeros(3, 3).fill_diagonal_(2.0) * x,
    ],
    ids=["jacrev", "jacfwd", "hessian", "gumbel", "hard gumbel", "diagonal"],
)
def test_bases_masks_and_noise_are_part_of_the_program(f):
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for run in (f, torch.compile(f)):
            torch.manual_seed(0)
            results.append([run(torch.tensor([0.3, 1.2, -0.5]) + k) for k in range(3)])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b)


# ---- constructors of old ------------------------------------------------------------------------------
def test_constructors_of_old_are_constants_of_the_step():
    def step(value):
        given = torch.Tensor([value.shape[0], 3.0]) + value.new([0.5, 0.25])
        counted = torch.FloatTensor(2).fill_(2.0)
        counted[0] += 1
        place = torch.LongTensor([1, 0])
        empty = value.new().sum() + torch.Tensor().sum()
        return (value * given * counted)[:, place] + torch.Tensor([1]).expand(2) + empty

    compiled = torch.compile(step)
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a part that stays with Python would be told
        for value in (w, w * 2, torch.cat([w, w]), w * 3):
            made, wanted = compiled(value), step(value)
            assert made.tolist() == wanted.tolist()
            got, expected = (
                torch.autograd.grad(y.sum(), w, retain_graph=True) for y in (made, wanted)
            )
            assert got[0].tolist() == expected[0].tolist()
