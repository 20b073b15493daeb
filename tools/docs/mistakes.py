"""Calls that a function or layer refuses, with the error that it really raises: the "Errors" part
of its page in the reference.

A call that works is found first. It is then spoiled in the ways that people spoil calls: a shape
that does not fit, a dimension that is not there, an element type that is not supported, a list in
the place of a tensor.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import pellucid

MOST = 4  # errors that a page shows
LONGEST = 220  # characters of a message; the rest is left out

X = "torch.ones(2, 3)"  # `x` in the calls below
# Wrong calls of functions and layers whose arguments are lists, sizes, modes or states: a name, and
# then its calls.
GIVEN_CALLS = """
zeros: torch.zeros(-1)
    torch.zeros(2.5)
ones: torch.ones(-1)
empty: torch.empty(-1)
rand: torch.rand(-1)
randn: torch.randn(-1)
full: torch.full((2,), x)
eye: torch.eye(-1)
randint: torch.randint(5, 5, (2,))
randperm: torch.randperm(-1)
arange: torch.arange(0, 5, -1)
    torch.arange(0, 5, 0)
linspace: torch.linspace(0, 1, -1)
logspace: torch.logspace(0, 1, -1)
multinomial: torch.multinomial(torch.ones(3), 5)
tensor: torch.tensor([[1.0, 2.0], [3.0]])
    torch.tensor('a')
    torch.tensor([[1, 2], 3])
as_tensor: torch.as_tensor('a')
from_numpy: torch.from_numpy([1.0, 2.0])
cat: torch.cat([x, torch.ones(2, 4)])
    torch.cat([])
    torch.cat(x)
    torch.cat([x, x], dim=2)
stack: torch.stack([x, torch.ones(2, 4)])
    torch.stack([])
    torch.stack([x, x], dim=4)
hstack: torch.hstack([x, torch.ones(3, 3)])
vstack: torch.vstack([x, torch.ones(2, 4)])
dstack: torch.dstack([x, torch.ones(3, 3)])
column_stack: torch.column_stack([x, torch.ones(3)])
split: torch.split(x, [1, 3])
    torch.split(x, -1)
    torch.split(x, 1, dim=2)
chunk: torch.chunk(x, 0)
    torch.chunk(x, 2, dim=2)
dsplit: torch.dsplit(x, 2)
narrow: torch.narrow(x, 1, 2, 2)
    torch.narrow(x, 2, 0, 1)
unflatten: torch.unflatten(x, 1, (2, 2))
broadcast_to: torch.broadcast_to(x, (2, 4))
broadcast_shapes: torch.broadcast_shapes((2, 3), (4,))
scatter: x.scatter(1, torch.tensor([[3]]), 1.0)
    x.scatter(1, torch.ones(1, 1), 1.0)
index_select: torch.index_select(x, 1, torch.tensor([3]))
    torch.index_select(x, 1, torch.ones(1))
scatter_add: x.scatter_add(1, torch.tensor([[3]]), x)
index_add: x.index_add(0, torch.tensor([0, 1]), torch.ones(3, 3))
index_copy: x.index_copy(0, torch.tensor([2]), torch.ones(1, 3))
index_fill: x.index_fill(0, torch.tensor([2]), 1.0)
index_put: x.index_put((torch.tensor([2]),), torch.tensor(1.0))
masked_select: torch.masked_select(x, x)
masked_scatter: x.masked_scatter(x > 0, torch.ones(2))
put: x.put(torch.tensor([9]), torch.ones(1))
matrix_power: torch.matrix_power(x, 2)
chain_matmul: torch.chain_matmul(x, x)
einsum: torch.einsum('ij,jk->ik', x, x)
    torch.einsum('ij->ik', x)
    torch.einsum('ijk->i', x)
cholesky: torch.linalg.cholesky(-torch.eye(2))
    torch.linalg.cholesky(x)
inverse: torch.inverse(torch.zeros(2, 2))
    torch.inverse(x)
inv: torch.linalg.inv(torch.zeros(2, 2))
    torch.linalg.inv(x)
solve: torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))
    torch.linalg.solve(x, x)
multi_dot: torch.linalg.multi_dot([x, x])
addmm: torch.addmm(x, x, x)
addmv: torch.addmv(torch.ones(2), x, torch.ones(2))
addr: torch.addr(x, torch.ones(3), torch.ones(3))
addbmm: torch.addbmm(x, x, x)
baddbmm: torch.baddbmm(torch.ones(1, 2, 3), torch.ones(1, 2, 3), torch.ones(1, 2, 3))
conv2d: torch.nn.functional.conv2d(torch.ones(1, 3, 8, 8), torch.ones(4, 1, 3, 3))
    torch.nn.functional.conv2d(torch.ones(1, 3, 2, 2), torch.ones(4, 3, 3, 3))
    torch.nn.functional.conv2d(x, torch.ones(4, 3, 3, 3))
embedding: torch.nn.functional.embedding(torch.tensor([5]), x)
    torch.nn.functional.embedding(torch.tensor([0.5]), x)
layer_norm: torch.nn.functional.layer_norm(x, (4,))
rms_norm: torch.nn.functional.rms_norm(x, (4,))
group_norm: torch.nn.functional.group_norm(x, 2)
batch_norm: torch.nn.functional.batch_norm(torch.ones(1, 3), None, None, training=True)
    torch.nn.functional.batch_norm(x, torch.zeros(4), torch.ones(4))
max_pool1d: torch.nn.functional.max_pool1d(x, 4)
max_pool2d: torch.nn.functional.max_pool2d(torch.ones(1, 2, 2), 3)
    torch.nn.functional.max_pool2d(torch.ones(1, 4, 4), 2, padding=2)
avg_pool2d: torch.nn.functional.avg_pool2d(torch.ones(1, 2, 2), 3)
interpolate: torch.nn.functional.interpolate(torch.ones(1, 1, 4, 4))
grid_sample: torch.nn.functional.grid_sample(torch.ones(1, 1, 2, 2), torch.ones(1, 2, 2))
unfold: torch.nn.functional.unfold(torch.ones(1, 1, 2, 2), 3)
ctc_loss: torch.nn.functional.ctc_loss(torch.ones(4, 1, 3), torch.ones(1, 2, dtype=torch.int64), (5,), (2,))
triplet_margin_loss: torch.nn.functional.triplet_margin_loss(x, x, torch.ones(2, 4))
cosine_embedding_loss: torch.nn.functional.cosine_embedding_loss(x, x, torch.ones(2, 3))
bincount: torch.bincount(torch.tensor([-1]))
as_strided: torch.as_strided(x, (3, 3), (3, 1))
pixel_shuffle: torch.nn.functional.pixel_shuffle(torch.ones(1, 3, 2, 2), 2)
stft: torch.stft(torch.ones(8), 16, return_complex=True)
is_nonzero: torch.is_nonzero(x)
set_num_threads: torch.set_num_threads(0)
view: x.view(4)
    x.t().view(6)
expand: x.expand(2, 4)
    x.expand(3)
item: x.item()
numpy: x.requires_grad_().numpy()
backward: x.requires_grad_().backward()
    torch.ones(()).backward()
requires_grad_: torch.tensor([1]).requires_grad_()
    (x.requires_grad_() * 2).requires_grad_(False)
retain_grad: x.retain_grad()
register_hook: x.register_hook(print)
copy_: x.copy_(torch.ones(4))
uniform_: x.uniform_(1.0, 0.0)
normal_: x.normal_(0.0, -1.0)
to: x.to('float32')
resize_: x.requires_grad_().resize_(4)
new_zeros: x.new_zeros(-1)
coalesce: x.coalesce()
indices: x.indices()
values: x.values()
crow_indices: x.crow_indices()
prelu: torch.nn.functional.prelu(x, torch.ones(4))
bilinear: torch.nn.functional.bilinear(x, x, torch.ones(4, 3, 5))
polygamma: torch.polygamma(-1, x)
LSTM: torch.nn.LSTM(4, 6)(torch.ones(5, 7))
    torch.nn.LSTM(4, 6)(torch.ones(5))
    torch.nn.LSTM(4, 6)(torch.ones(2, 1, 4), torch.zeros(1, 1, 6))
GRU: torch.nn.GRU(4, 6)(torch.ones(5, 7))
    torch.nn.GRU(4, 6)(torch.ones(2, 1, 4), torch.zeros(1, 1, 5))
RNN: torch.nn.RNN(4, 6)(torch.ones(5, 7))
    torch.nn.RNN(4, 6)(torch.ones(5))
MultiheadAttention: torch.nn.MultiheadAttention(6, 4)
    torch.nn.MultiheadAttention(4, 2)(torch.ones(3, 1, 6), torch.ones(3, 1, 6), torch.ones(3, 1, 6))
TransformerEncoderLayer: torch.nn.TransformerEncoderLayer(6, 4)
    torch.nn.TransformerEncoderLayer(4, 2)(torch.ones(3, 1, 6))
Sequential: torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Linear(4, 6))(torch.ones(2, 4))
    torch.nn.Sequential(torch.relu)
ModuleList: torch.nn.ModuleList()(x)
    torch.nn.ModuleList()[0]
    torch.nn.ModuleList([torch.relu])
Module: torch.nn.Module()(x)
ModuleDict: torch.nn.ModuleDict({'a': 1})
PReLU: torch.nn.PReLU(4)(x)
Unflatten: torch.nn.Unflatten(1, (2, 2))(x)
CTCLoss: torch.nn.CTCLoss()(torch.ones(4, 1, 3), torch.ones(1, 2, dtype=torch.int64), (5,), (2,))
ParameterList: torch.nn.ParameterList()(x)
Dropout: torch.nn.Dropout(2)
"""


def _given() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in GIVEN_CALLS.strip().splitlines():
        if not line.startswith(" "):
            name, _, line = line.partition(": ")
            found[name] = []
        found[name].append(re.sub(r"\bx\b", X, line.strip()))
    return found


GIVEN = _given()


class Mistake(NamedTuple):
    """A call, the class of its error, and the first line of the message."""

    call: str
    error: str
    message: str


class Argument(NamedTuple):
    """An argument as text, and what it is if it is a tensor."""

    text: str
    shape: tuple[int, ...] | None = None
    kind: str = ""


def tensor(shape: tuple[int, ...], kind: str = "f") -> Argument:
    """A tensor argument: ones of a shape; zeros of whole numbers, which serve as indices."""
    sizes = ", ".join(map(str, shape)) if shape else "()"
    made = {
        "f": f"torch.ones({sizes})",
        "i": f"torch.zeros({sizes}, dtype=torch.int64)",
        "b": f"torch.ones({sizes}, dtype=torch.bool)",
        "c": f"torch.ones({sizes}, dtype=torch.complex64)",
    }
    return Argument(made[kind], shape, kind)


def refusal(call: str) -> Mistake | None:
    """The error of a call, or None if it works or the error says nothing about the call."""
    before = pellucid.get_rng_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(call, {"torch": pellucid})
    except Exception as error:
        lines = str(error).strip().splitlines()
        if not lines or "missing" in lines[0] or "unexpected keyword" in lines[0]:
            return None
        text = lines[0] if len(lines[0]) <= LONGEST else lines[0][: LONGEST - 3].rstrip() + "..."
        return Mistake(call, type(error).__name__, text)
    finally:
        pellucid.set_rng_state(before)
    return None


def works(call: str) -> bool:
    """Whether a call gives a result."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            eval(call, {"torch": pellucid})
    except Exception:
        return False
    return True


def given(name: str) -> list[Mistake]:
    """The errors of the calls that stand in `GIVEN`."""
    found = [refusal(call) for call in GIVEN[name]]
    return [mistake for mistake in found if mistake is not None]


# ---- functions -------------------------------------------------------------------------------
def called(name: str, arguments: list[Argument], options: dict[str, str]) -> str:
    """The text of a call of `torch.f`, `nn.functional.f` or `Tensor.f`."""
    texts = [a.text for a in arguments]
    space, _, own = name.rpartition(".")
    if space == "Tensor":
        owner, texts = texts[0], texts[1:]
    else:
        owner = space if space == "torch" else f"torch.{space}"
    return f"{owner}.{own}({', '.join([*texts, *(f'{k}={v}' for k, v in options.items())])})"


def bases(entry: Any) -> Iterator[tuple[list[Argument], dict[str, str]]]:
    """Arguments that a function may take: those of its operation's samples, and then tensors of
    usual shapes.
    """
    kinds = {"f": "f", "c": "c", "i": "i", "u": "i", "b": "b"}
    for op in entry.records[:1]:
        if op.samples is None:
            continue
        for sample in op.samples(np.random.default_rng(zlib.crc32(op.name.encode()))):
            arrays = [a for a in sample.args if isinstance(a, np.ndarray)]
            if (
                sample.error is not None
                or any(0 in a.shape for a in arrays)
                or not arrays
                or arrays[0].ndim == 0
            ):
                continue
            arguments = [
                tensor(a.shape, kinds[a.dtype.kind])
                if isinstance(a, np.ndarray)
                else Argument(repr(a))
                for a in sample.args
            ]
            plain = all(
                isinstance(v, (int, float, str, bool, tuple, list, type(None)))
                for v in sample.params.values()
            )
            if plain and len(arguments) < 6:
                yield arguments, {k: repr(v) for k, v in sample.params.items()}
                yield arguments, {}
    for shapes in (
        ((2, 3),),
        ((2, 3), (2, 3)),
        ((3, 3),),
        ((3, 3), (3, 3)),
        ((3,), (3,)),
        ((2, 3, 4),),
        ((2, 3, 8, 8),),
    ):
        yield [tensor(s) for s in shapes], {}
        yield [tensor(s) for s in shapes], {"dim": "0"}
    yield [tensor((2, 3)), tensor((2,), "i")], {}
    yield [tensor((2, 3)), Argument("0")], {}
    yield [tensor((2, 3)), Argument("0"), Argument("0")], {}
    yield [tensor((2, 3)), Argument("0"), tensor((2, 3), "i")], {}
    yield [tensor((3, 4), "i")], {}
    yield [tensor((3, 4), "b")], {}


def spoiled(
    arguments: list[Argument], options: dict[str, str], names: set[str]
) -> Iterator[tuple[list[Argument], dict[str, str]]]:
    """The same arguments with one mistake."""
    places = [k for k, a in enumerate(arguments) if a.shape is not None]
    for k in places[1:]:  # a size that does not fit
        shape = arguments[k].shape
        if shape:
            for other in ((*shape[:-1], shape[-1] + 2), (shape[0] + 2, *shape[1:])):
                yield (
                    [*arguments[:k], tensor(other, arguments[k].kind), *arguments[k + 1 :]],
                    options,
                )
    if "dim" in names:
        yield arguments, {**options, "dim": "5"}
    first = arguments[places[0]]
    assert first.shape is not None
    if first.kind == "f":
        for kind in "bic":  # an element type that is not supported
            yield (
                [
                    tensor(a.shape, kind) if a.shape is not None and a.kind == "f" else a
                    for a in arguments
                ],
                options,
            )
    # a number of dimensions that does not fit
    for shape in ((), (5,), (2, 3, 4), (1, 2, 3, 4, 5, 6)):
        if len(shape) != len(first.shape):
            yield (
                [*arguments[: places[0]], tensor(shape, first.kind), *arguments[places[0] + 1 :]],
                options,
            )


@functools.cache
def _names(function: Any) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return frozenset()


def of_function(entry: Any) -> list[Mistake]:
    """The errors of a public function's page, at most `MOST`, with different messages."""
    name = entry.names[0]
    if name.endswith("_") or re.search(
        r"manual_seed|set_|_state|load|save|compile|enable|inference", name
    ):
        return []
    if name.rpartition(".")[2] in GIVEN:
        return given(name.rpartition(".")[2])
    names = set(_names(entry.function))
    for arguments, options in bases(entry):
        if options.keys() - names or not works(called(name, arguments, options)):
            continue
        found: dict[str, Mistake] = {}
        for wrong, other in spoiled(arguments, options, names):
            mistake = refusal(called(name, wrong, other))
            if mistake is not None:
                found.setdefault(
                    re.sub(r"\d+|Bool|Long|ComplexFloat", "", mistake.message), mistake
                )
        if not found and not name.startswith("Tensor."):
            mistake = refusal(called(name, [Argument("[1.0, 2.0]"), *arguments[1:]], options))
            if mistake is not None:
                found[""] = mistake
        return list(found.values())[:MOST]
    return []


# ---- layers ----------------------------------------------------------------------------------
def made_layer(cls: type) -> str | None:
    """A call that makes a layer of sizes: `torch.nn.Conv2d(4, 6, 3)`."""
    try:
        wanted = [
            p
            for p in inspect.signature(cls).parameters.values()
            if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
        ]
    except (TypeError, ValueError):
        return None
    for sizes in ((4, 6, 3, 2, 2), (2, 4, 3, 2, 2), (2, 2, 2, 2, 2)):
        call = f"torch.nn.{cls.__name__}({', '.join(map(str, sizes[: len(wanted)]))})"
        if len(wanted) <= len(sizes) and works(call):
            return call
    return None


def of_layer(cls: type) -> list[Mistake]:
    """The errors of calling a layer with tensors of shapes and numbers of dimensions that do not
    fit.

    Args:
        cls: the class, in `torch.nn`.
    """
    name = cls.__name__
    if name in GIVEN:
        return given(name)
    if name.startswith("Lazy") or getattr(pellucid.nn, name, None) is not cls:
        return []
    made = made_layer(cls)
    if made is None:
        return []
    found: dict[str, Mistake] = {}
    shapes = ((5,), (5, 7), (5, 7, 9), (5, 7, 9, 11), (5, 7, 9, 11, 13), (2, 3, 4, 5, 6, 7))
    forward = inspect.signature(cls.forward).parameters.values()  # type: ignore[attr-defined]  # a Module has it
    needed = [p for p in forward if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
    count = len(needed) - 1
    if count not in (1, 2, 3):
        return []
    for shape in shapes:
        arguments = [tensor(shape)] + [
            tensor((*shape[:-1], shape[-1] + 2)) for _ in range(count - 1)
        ]
        mistake = refusal(f"{made}({', '.join(a.text for a in arguments)})")
        if mistake is not None:
            found.setdefault(re.sub(r"\d+|, ", "", mistake.message), mistake)
    return list(found.values())[: MOST - 1]


def table(mistakes: list[Mistake]) -> Iterator[str]:
    """The errors as Markdown."""
    if not mistakes:
        return
    yield from ["**Errors**", "", "| call | error |", "|---|---|"]
    for call, error, message in mistakes:
        shown = message.replace("`", "'")
        yield f"| {_code(call)} | `{error}`: {_code(shown)} |"
    yield ""


def _code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"
