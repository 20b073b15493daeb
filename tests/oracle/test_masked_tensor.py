"""MaskedTensor against PyTorch's: what is printed (elements that count, and which do not), and
gradients.
"""

import warnings
from importlib import import_module

import pytest

torch = pytest.importorskip("torch")

import pellucid  # noqa: E402

pytestmark = pytest.mark.filterwarnings(
    "ignore:The PyTorch API of MaskedTensors",
    "ignore:It is not recommended to create a MaskedTensor",
)

CALLS = {
    **{
        name: (lambda m, a, b, name=name: getattr(m, name)(a, b))
        for name in (
            "add",
            "sub",
            "mul",
            "div",
            "eq",
            "ne",
            "lt",
            "ge",
            "maximum",
            "fmin",
            "atan2",
            "logaddexp",
            "remainder",
        )
    },
    **{
        name: (lambda m, a, b, name=name: getattr(m, name)(a))
        for name in (
            "abs",
            "exp",
            "log",
            "sqrt",
            "neg",
            "sin",
            "tanh",
            "sigmoid",
            "sign",
            "floor",
            "square",
            "isnan",
            "ones_like",
        )
    },
    **{
        f"{name} {k}": (lambda m, a, b, name=name, k=k: getattr(a, name)(*k))
        for name in (
            "sum",
            "mean",
            "amin",
            "amax",
            "argmin",
            "argmax",
            "prod",
            "all",
            "var",
            "std",
        )
        for k in ((), (0,), (1,), (1, True))
    },
    "operators": lambda m, a, b: 1 + a * b / 2 - (-a) ** 2,
    "with plain": lambda m, a, b: a + m.ones(3),
    "plain first": lambda m, a, b: m.ones(2, 3) * a,
    "softmax": lambda m, a, b: a.softmax(1),
    "row": lambda m, a, b: a[0],
    "index": lambda m, a, b: a[:, m.tensor([0, 2])],
    "element": lambda m, a, b: a[0, 1],
    "view": lambda m, a, b: a.view(3, 2),
    "t": lambda m, a, b: a.t(),
    "stack": lambda m, a, b: m.stack([a, b]),
    "chunk": lambda m, a, b: a.chunk(2, 1),
    "where": lambda m, a, b: m.where(m.tensor([[True, False, False], [True, True, True]]), a, b),
    "to": lambda m, a, b: a.to(m.float64),
    "to_tensor": lambda m, a, b: a.to_tensor(-1.0),
    "in place": lambda m, a, b: a.clone().add_(b).exp_(),
    "clamp": lambda m, a, b: a.clamp(min=1),
}
GRADIENTS = {
    "sum": lambda x, b: x.sum(),
    "product": lambda x, b: (x * b).sum(),
    "exp": lambda x, b: x.exp().sum(1),
    "mean": lambda x, b: x.mean(),
    "prod": lambda x, b: x.prod(0),
    "amax": lambda x, b: x.amax(1),
    "reciprocal": lambda x, b: 1 / x,
    "square": lambda x, b: x**2,
    "std": lambda x, b: x.std(1),
    "row": lambda x, b: x[0],
    "reshape": lambda x, b: x.reshape(6) * 2,
    "to_tensor": lambda x, b: x.to_tensor(0) * 2,
}


def parts(m, requires_grad=False):
    masked = import_module(m.__name__ + ".masked")
    data, mask = (
        m.arange(6.0).reshape(2, 3) + 0.5,
        m.tensor([[True, False, True], [False, False, False]]),
    )
    return masked.masked_tensor(data, mask, requires_grad), masked.masked_tensor(data * 2 - 1, mask)


@pytest.mark.parametrize("name", CALLS)
def test_results(name):
    texts = [repr(CALLS[name](m, *parts(m))) for m in (torch, pellucid)]
    assert texts[1] == texts[0]


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    texts = []
    for m in (torch, pellucid):
        x, b = parts(m, True)
        y = GRADIENTS[name](x, b)
        (y if y.ndim == 0 else y.sum()).backward()
        texts.append(repr(x.grad))
    assert texts[1] == texts[0]


@pytest.mark.parametrize("make", [
    lambda m, f: f([1], m.ones(1)), lambda m, f: f(m.ones(2), [1]), lambda m, f: f(m.ones(2), m.ones(2)),
    lambda m, f: f(m.ones(2), m.ones(1, 2, dtype=m.bool)), lambda m, f: f(m.ones(2), m.ones(1, dtype=m.bool)),
    lambda m, f: f(m.ones(2, dtype=m.complex64), m.ones(2, dtype=m.bool)), lambda m, f: f(m.ones(2, dtype=m.uint8), m.ones(2, dtype=m.bool)),
])  # fmt: skip
def test_refusals(make):
    texts = []
    for m in (torch, pellucid):
        with pytest.raises((TypeError, ValueError)) as error, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            make(m, import_module(m.__name__ + ".masked").masked_tensor)
        texts.append((isinstance(error.value, TypeError), str(error.value)))
    assert texts[1] == texts[0]
