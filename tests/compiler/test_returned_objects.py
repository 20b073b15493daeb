"""Results that hold objects of the user's classes, as the outputs of transformers do, which carry
their caches of keys and values.
"""

import abc
import collections
import dataclasses
import warnings

import pytest

import pellucid as torch


class Layer(abc.ABC):  # noqa: B024  (as the layers of a cache are)
    def __init__(self, keys):
        self.keys = keys
        self.dtype, self.device = keys.dtype, keys.device
        self.history = [1, keys * 2]


class Cache:
    def __init__(self, x):
        self.layers = [Layer(x), Layer(x + 1)]
        self.kind = Layer
        self.offloading = None


WEIGHT = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
SHARED = Cache(torch.zeros(3))


def compiled(function, refused=False):
    """The function compiled; a warning that it runs eagerly is an error unless that is expected."""
    step = torch.compile(function)

    def call(*args):
        with warnings.catch_warnings():
            if refused:
                warnings.simplefilter("ignore")
            return step(*args)

    return call


def test_a_new_object_is_made_at_each_call():
    def forward(x):
        y = x * WEIGHT
        return {"loss": (y * y).sum(), "past": Cache(y)}

    step, before = compiled(forward), []
    for k in range(5):
        x = torch.full((3,), float(k + 1))
        out = step(x)
        past = out["past"]
        assert type(past) is Cache and all(past is not p for p in before)
        before.append(past)
        assert (
            past.kind is Layer and past.offloading is None and past.layers[0].dtype is torch.float32
        )
        WEIGHT.grad = None
        (out["loss"] + past.layers[1].history[1].sum()).backward()
        want = 2 * x * x * WEIGHT.detach() + 2 * x
        torch.testing.assert_close(WEIGHT.grad, want)
        torch.testing.assert_close(past.layers[0].keys, x * WEIGHT)
    # What was returned earlier is not written again.
    torch.testing.assert_close(before[0].layers[0].keys, WEIGHT)


def test_objects_that_were_there_stay_themselves():
    def stores(x):
        SHARED.x = x * 2
        return SHARED, x * 3

    def returns_an_argument(x, cache):
        return cache, x * 3

    step, given = compiled(stores, refused=True), compiled(returns_an_argument, refused=True)
    for k in range(4):
        shared, y = step(torch.full((2,), float(k)))
        assert shared is SHARED and shared.x[0] == 2 * k and y[0] == 3 * k
        cache = Cache(torch.ones(1) * k)
        assert given(torch.ones(2), cache)[0] is cache


def twice(x):
    cache = Cache(x * 2)
    return cache, cache


def cyclic(x):
    cache = Cache(x * 2)
    cache.me = cache
    return cache, cache.me


def nested_cycle(x):
    cache = Cache(x * 2)
    cache.layers.append({"up": cache})
    return cache, cache.layers[-1]["up"]


@pytest.mark.parametrize("function", [twice, cyclic, nested_cycle])
def test_what_is_one_object_stays_one(function):
    step = compiled(function, refused=True)
    for k in range(4):
        first, second = step(torch.full((2,), float(k)))
        assert first is second and first.layers[0].keys[0] == 2 * k


def test_a_tensors_value_in_an_object():
    def summed(x):
        cache = Cache(x * 2)
        cache.total = [float(x.sum())]
        return cache

    step = compiled(summed, refused=True)
    for k in range(4):
        (total,) = step(torch.full((2,), float(k))).total
        assert type(total) is float and total == 2 * k


def test_an_object_of_a_class_made_in_the_call():
    def local(x):
        class Here:
            pass

        made = Here()
        made.x, made.kind = x * 2, Here
        return made

    step = compiled(local, refused=True)
    for k in range(4):
        made = step(torch.full((2,), float(k)))
        assert type(made) is made.kind and made.x[0] == 2 * k


@dataclasses.dataclass
class Output(collections.OrderedDict):
    """As results of transformers are: a dataclass and a dictionary of what is there."""

    loss: object = None
    logits: object = None
    past: object = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                self[field.name] = getattr(self, field.name)


def test_dictionaries_that_are_dataclasses_keep_both_forms():
    step = compiled(lambda x: Output(logits=x * 2, past=(x + 1, 3)))
    for k in range(4):
        x = torch.full((3,), float(k))
        out = step(x)
        assert type(out) is Output and list(out) == ["logits", "past"] and out.loss is None
        assert out["logits"] is out.logits and torch.equal(out.logits, x * 2)
        assert torch.equal(out.past[0], x + 1) and out.past[1] == 3


class Named(dict):
    """Takes pairs alone."""


def test_other_dictionaries_are_made_of_pairs():
    step = compiled(lambda x: Named({"a": x * 2, 5: x}))
    for k in range(4):
        x = torch.full((3,), float(k))
        out = step(x)
        assert type(out) is Named and torch.equal(out["a"], x * 2) and torch.equal(out[5], x)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_lists_and_dictionaries_that_were_there_are_returned_themselves():
    class Holder:
        def __init__(self):
            self.rates, self.parts = [0.5, 2.0], {"a": torch.ones(1)}

    holder = Holder()

    def twice(x):
        made = [x + 1]
        return made, made

    own = torch.compile(lambda x: (holder.rates, x + 1))
    part = torch.compile(lambda x: {"in": [holder.parts], "y": x + 1})
    both = torch.compile(twice)
    for _ in range(3):
        x = torch.ones(1)
        assert own(x)[0] is holder.rates and part(x)["in"][0] is holder.parts
        one, other = both(x)
        assert one is other


def test_jacobians_by_no_numbers():
    compiled = torch.compile(lambda x: torch.func.jacrev(lambda t: t)(x))
    for _ in range(3):
        assert compiled(torch.ones(0)).shape == (0, 0)


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize(
    "function",
    [
        lambda given: given,
        lambda given: {"a": given, "b": given[0] + 1},
        lambda given: (given, given[0].shape),
    ],
)
def test_a_list_that_was_given_stays_itself(function):
    compiled = torch.compile(function)
    for _ in range(3):
        given = [torch.ones(1)]
        result = compiled(given)
        found = result["a"] if isinstance(result, dict) else result
        assert (found[0] if isinstance(found, tuple) else found) is given


def test_writes_of_a_compiled_function_outdate_views():
    x = torch.ones(2, 3, requires_grad=True)

    def step():
        with torch.no_grad():
            x.mul_(2)

    compiled = torch.compile(step)
    for _ in range(3):
        view = x.unbind(-1)[1]
        compiled()
        with pytest.raises(RuntimeError, match="Output 1 of Unbind is a view and its base"):
            _ = view.grad_fn


@dataclasses.dataclass
class Plain:
    x: torch.Tensor
    k: float = 1.0


@dataclasses.dataclass
class Sized:
    x: torch.Tensor
    k: float = 1.0
    total: torch.Tensor = dataclasses.field(init=False)

    def __post_init__(self):
        self.total = self.x.sum()
        self.made = 1


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.parametrize("kind", ["dict", "list", "dataclass", "plain", "nested"])
def test_an_argument_that_comes_back_is_the_same_object(kind):
    make = {
        "dict": lambda k: {"x": torch.ones(2), "k": k},
        "list": lambda k: [torch.ones(2), k],
        "dataclass": lambda k: Sized(torch.ones(2), k),
        "plain": lambda k: Plain(torch.ones(2), k),
        "nested": lambda k: {"x": torch.ones(2), "k": k, "more": ({"k": k},)},
    }[kind]
    kept = {}

    def returned(given):
        x, k = (
            (given.x, given.k)
            if kind in ("dataclass", "plain")
            else (given[0], given[1])
            if kind == "list"
            else (given["x"], given["k"])
        )
        return x * k, given

    def stored(given):
        y, kept["last"] = returned(given)
        return y

    back, store = torch.compile(returned), torch.compile(stored)
    for k in range(6):
        given = make(1.0 + k)
        y, found = back(given)
        assert found is given and y.tolist() == [1.0 + k] * 2
        assert store(given).tolist() == y.tolist() and kept["last"] is given


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
def test_an_argument_that_is_also_a_global_is_one_object():
    settings = {"scale": 1.0}

    def f(x, y):
        settings["scale"] = settings["scale"] * 0.5
        return x * 2, y, y is settings

    compiled, x = torch.compile(f), torch.ones(3)
    compiled(x, x)
    for k in range(4):
        _, found, same = compiled(x, settings)
        assert found is settings and same and settings["scale"] == 0.25 * 0.5**k


def test_fields_that_init_does_not_take():
    def f(given):
        return given.x * given.k + given.total * given.made, Sized(given.x + 1, given.k)

    compiled = torch.compile(f)
    for k in range(5):
        given = Sized(torch.ones(2), 1.0 + k)
        given.made = 1 if k < 3 else 2
        given.total = torch.tensor(float(k))
        for (y, made), (want, new) in [(compiled(given), f(given))]:
            assert y.tolist() == want.tolist()
            assert made.x.tolist() == new.x.tolist() and made.k == new.k
            assert made.total.item() == new.total.item() and made.made == new.made


@pytest.mark.filterwarnings("ignore::pellucid.compiler.CompileWarning")
@pytest.mark.filterwarnings("ignore:The .grad attribute")
def test_a_gradient_that_a_result_keeps_comes_with_it():
    kept = {}

    def retained(x):
        y = x.sin()
        y.retain_grad()
        (y * 2).sum().backward()
        kept["y"] = y
        return y

    def given(x):
        y = x * 2
        y.grad = torch.ones(3)
        return y

    for f in (retained, given):
        compiled = torch.compile(f)
        for _ in range(4):
            y = compiled(torch.ones(3, requires_grad=True))
            assert y.grad is not None and y.retains_grad is (f is retained)
            assert f is given or kept["y"] is y


class TaggedList(list):
    def __init__(self, *items):
        list.__init__(self, items)
        self.tag = 1


class OfSize(dict):
    def __init__(self, size):
        self.size = size


@pytest.mark.parametrize(
    "make",
    [
        lambda y: TaggedList(y, 1),
        lambda y: (lambda held: (held.update(a=y), held)[1])(OfSize(5)),
        lambda y: (y, collections.Counter("aab")),
        lambda y: collections.Counter({"loss": 2}),
        lambda y: (lambda held: (held["a"].append(y), held)[1])(collections.defaultdict(list)),
        lambda y: collections.OrderedDict([("z", y), ("a", 1)]),
    ],
)
@pytest.mark.filterwarnings("ignore:.*stays in Python")
@pytest.mark.parametrize("where", ["returned", "appended"])
def test_containers_whose_constructors_take_other_things(make, where):
    found = []
    for compiled in (False, True):
        kept = []

        def step(x, kept=kept):
            made = make(x * 2)
            if where == "returned":
                return made
            kept.append(made)
            return x

        run = torch.compile(step) if compiled else step
        results = [run(torch.full((2,), k)) for k in (1.0, 2.0, 3.0, 4.0)]
        every = results if where == "returned" else kept
        found.append([(repr(v), type(v), getattr(v, "__dict__", None)) for v in every])
        for value in every:
            if isinstance(value, collections.defaultdict):
                assert value["none"] == []
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*runs eagerly")
@pytest.mark.parametrize("kind", [type("Held", (dict,), {}), type("Held", (list,), {})])
def test_a_container_with_a_tensor_as_attribute(kind):
    def step(x):
        made = kind()
        made.loss = x.sum()
        return made

    run = torch.compile(step)
    assert [run(torch.full((3,), k)).loss.item() for k in (1.0, 2.0, 3.0)] == [3.0, 6.0, 9.0]


class Counts:
    number = 1
    held = None


COUNTS, TABLE, ROW = Counts(), {"n": 1, "row": [1, 2]}, [1]
OPTIMIZER = torch.optim.Adagrad([torch.ones(2, requires_grad=True)], lr=0.1)
LINEAR = torch.nn.Linear(2, 2)


def rebound():
    global rebinding
    rebinding = lambda t: t


def table_counted():
    TABLE["n"] += 1
    return TABLE


def row_counted():
    TABLE["row"][0] += 1
    return TABLE["row"]


def list_counted():
    ROW[0] += 1
    return ROW


def counted_beside_python():
    rebound()
    TABLE["n"] += 1
    return TABLE


def group_decayed():
    for group in OPTIMIZER.param_groups:
        group["lr"] *= 0.9
    return group


WHOLE = [
    (table_counted, lambda: TABLE),
    (row_counted, lambda: TABLE["row"]),
    (list_counted, lambda: ROW),
    (counted_beside_python, lambda: TABLE),
    (group_decayed, lambda: OPTIMIZER.param_groups[0]),
    (lambda: OPTIMIZER.param_groups, lambda: OPTIMIZER.param_groups),
    (lambda: OPTIMIZER.param_groups[0]["params"], lambda: OPTIMIZER.param_groups[0]["params"]),
    (lambda: LINEAR._parameters, lambda: LINEAR._parameters),
]


@pytest.mark.parametrize(("made", "same"), WHOLE)
def test_what_was_there_is_returned_itself_at_each_call(made, same):
    step = compiled(lambda x: [made(), x + 1], refused=True)
    for _ in range(4):
        assert step(torch.ones(2))[0] is same()


def list_kept(x):
    COUNTS.held = [x.sum().item()]
    return COUNTS.held


def dictionary_kept(x):
    COUNTS.held = {"sum": x.sum().item(), "more": [x.amax().item()]}
    return COUNTS.held


@pytest.mark.parametrize("function", [list_kept, dictionary_kept])
def test_a_new_container_of_numbers_is_one_object(function):
    step = compiled(function, refused=True)
    for k in range(4):
        result = step(torch.full((2,), float(k)))
        assert result is COUNTS.held
        first = result[0] if isinstance(result, list) else result["sum"]
        assert type(first) is float and first == 2.0 * k


def test_a_list_of_numbers_that_is_there_twice():
    def twice(x):
        row = [x.sum().item()]
        return [row, (row, 1)]

    step = compiled(twice, refused=True)
    for k in range(3):
        first, (second, _) = step(torch.full((2,), float(k)))
        assert first is second and first == [2.0 * k]


LEAF = torch.ones(2, 3, requires_grad=True)


def test_a_view_by_as_strided_shares_the_memory():
    step = compiled(lambda x: [LEAF.as_strided((2,), (2,), 1), x + 1])
    for _ in range(3):
        view = step(torch.ones(2))[0]
        assert view._base is LEAF
        with torch.no_grad():
            LEAF[0, 1] += 1
        assert view[0] == LEAF[0, 1]
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            view.mul_(2)
