# ruff: noqa: F722  (names of dimensions in annotations are no Python)
"""Shape assertions and contracts."""

import subprocess
import sys
import types
import typing

import numpy as np
import pytest

import pellucid as torch
from pellucid import config, debug
from pellucid.errors import ContractError, facts_of, full_text


def fails(call, *parts):
    with pytest.raises(AssertionError) as caught:
        call()
    assert facts_of(caught.value).kind is ContractError
    text = full_text(caught.value)
    for part in parts:
        assert part in text, text
    return text


@pytest.mark.parametrize(
    ("shape", "spec"),
    [
        ((4, 1), (4, 1)), ((4, 1), "4 1"), ((), ()), ((), "()"), ((4, 1), (None, 1)), ((2, 3, 5), (..., 5)), ((2, 3, 5), (2, ...)),
        ((2,), (2, ...)), ((3, 3), ("N", "N")), ((2, 3, 5), ("B", ..., "D")), ((2, 6), ("D", "3*D")), ((6, 2), ("3*D", "D")),
        ((1, 4), ("#N", "N")), ((4, 7), (-1, 7)), ((4, 7), "_ _"), ((4, 3), "B c=3"), ((5, 4), "T T-1"), ((4, 4), "N (N//2)*2"),
    ],
)  # fmt: skip
def test_shapes_that_fit(shape, spec):
    debug.expect_shape(torch.zeros(shape), spec)


@pytest.mark.parametrize(
    ("shape", "spec"),
    [
        ((4,), (4, 1)),
        ((4, 1), (4,)),
        ((4, 2), (4, 1)),
        ((3, 4), ("N", "N")),
        ((2, 5), (..., 2, 2)),
        ((), (1,)),
        ((2, 7), ("D", "3*D")),
    ],
)
def test_shapes_that_do_not_fit(shape, spec):
    t = torch.zeros(shape)
    fails(
        lambda: debug.expect_shape(t, spec),
        f"got {tuple(shape)}",
        "expected shape (",
        "test_contracts.py:",
    )


def test_names_hold_across_checks():
    dims = {}
    debug.expect_shape(torch.zeros(8, 3), "B D", dims)
    assert dims == {"B": 8, "D": 3}
    fails(
        lambda: debug.expect_shape(torch.zeros(7), "B", dims),
        "dimension",
        "B = 8 from known before",
        "B = 7 from dimension 0",
    )


@pytest.mark.parametrize(
    ("found", "wanted", "repair"),
    [
        ((4,), (4, 1), "unsqueeze(1)"), ((4, 1), (4,), "squeeze(1)"), ((8, 1, 28, 28), (8, 784), "flatten(1)"),
        ((2, 3, 5), (5, 2, 3), "permute(2, 0, 1)"),
    ],
)  # fmt: skip
def test_the_repair_works(found, wanted, repair):
    t = torch.zeros(found)
    text = fails(lambda: debug.expect_shape(t, wanted), repair)
    assert "hint: " + repair in text
    assert tuple(eval(f"t.{repair}", {"t": t}).shape) == wanted


def test_no_tensor_and_unreadable_specs():
    fails(lambda: debug.expect_shape(3, (1,)), "got int")
    for bad in ("B ... D ...", "B-", "2**B", "f(B)", "*a *b"):
        with pytest.raises(ValueError):
            debug.expect_shape(torch.zeros(1), bad)
    with pytest.raises(ValueError, match="no size"):
        debug.expect_shape(torch.zeros(1), (1.5,))


def test_close():
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    debug.expect_close(a, a + 1e-7)
    debug.expect_close(a, np.array([1.0, 2.0, 3.0]))
    debug.expect_close(torch.tensor([float("inf")]), torch.tensor([float("inf")]))
    nan = torch.tensor([float("nan")])
    debug.expect_close(nan, nan, equal_nan=True)
    fails(lambda: debug.expect_close(nan, nan), "1 of 1")
    fails(
        lambda: debug.expect_close(torch.tensor([float("inf")]), torch.tensor([0.0]), 1e9), "1 of 1"
    )
    fails(lambda: debug.expect_close(torch.tensor([0.0]), torch.tensor([float("inf")])), "1 of 1")
    fails(
        lambda: debug.expect_close(a, [1.0, 2.5, 9.0], atol=0.1, rtol=0),
        "2 of 3",
        "worst at [2]",
        "apart by 6",
    )
    fails(lambda: debug.expect_close(a, a.reshape(3, 1)), "equal shapes", "(3,)", "(3, 1)")
    fails(
        lambda: debug.expect_close(
            torch.tensor([2**53 + 1]), torch.tensor([2**53]), atol=0, rtol=0
        ),
        "apart by 1",
    )
    fails(lambda: debug.expect_close(torch.tensor([True]), torch.tensor([False])), "1 of 1")


def test_shape_str():
    assert (
        debug.shape_str(torch.zeros(2, 3, dtype=torch.int64))
        == "shape=(2, 3), dtype=torch.int64, device=cpu"
    )
    assert (
        debug.shape_str(torch.zeros((), device="meta"))
        == "shape=(), dtype=torch.float32, device=meta"
    )
    assert debug.shape_str(3) == "int (not a tensor)"


@debug.shapes("B T D, D -> B T")
def score(x, w):
    return x @ w


def test_a_contract_binds_across_arguments_and_results():
    assert score(torch.zeros(2, 5, 3), torch.zeros(3)).shape == (2, 5)
    fails(
        lambda: score(torch.zeros(2, 5, 3), w=torch.zeros(4)),
        "score: dimension D is 3 and 4",
        "D = 3 from dimension 2 of argument 'x' (2, 5, 3)",
        "D = 4 from dimension 0 of argument 'w' (4,)",
        "test_contracts.py:",
        "declared at",
    )
    fails(lambda: score(torch.zeros(5, 3), torch.zeros(3)), "3 dimensions", "got 2: (5, 3)")

    @debug.shapes("N K -> K N")
    def wrong(x):
        return x + 0

    fails(
        lambda: wrong(torch.zeros(2, 3)),
        "dimension K is 3 and 2",
        "K = 2 from dimension 0 of the result (2, 3)",
    )
    assert wrong(torch.zeros(2, 2)).shape == (2, 2)


def test_contracts_with_everything():
    @debug.shapes("*batch 2*D, -, ..., bias: D -> (), *batch D")
    def halves(x, flag, rest, bias=None):
        half = x.shape[-1] // 2
        return x.sum(), x[..., :half] if flag else x

    x = torch.zeros(7, 5, 6)
    assert halves(x, True, x)[1].shape == (7, 5, 3)
    halves(x, True, x, bias=torch.zeros(3))
    fails(lambda: halves(x, False, x, torch.zeros(3)), "dimension D is 3 and 6")
    fails(
        lambda: halves(x, True, x, torch.zeros(4)),
        "dimension D is 4 and 3",
        "D = 4 from dimension 0 of argument 'bias'",
    )
    fails(lambda: halves("x", True, x), "argument 'x' should be a tensor", "got str")
    with pytest.raises(TypeError, match="missing a required|required positional"):
        halves()

    @debug.shapes("B -> B, B")
    def two(x):
        return [x]

    fails(lambda: two(x[:, 0, 0]), "should be 2 values, got 1 values")

    @debug.shapes("2*D ->")
    def unbound(x):
        return x

    fails(lambda: unbound(torch.zeros(2)), "dimension D of 2*D is bound by no shape")

    @debug.shapes("N N//0")
    def zero(x):
        return x

    fails(lambda: zero(torch.zeros(2, 2)), "divides by zero")


def test_methods_skip_self():
    class Layer(torch.nn.Module):
        @debug.shapes("B D -> B")
        def forward(self, x):
            return x.sum(1)

    assert Layer()(torch.zeros(2, 3)).shape == (2,)
    fails(lambda: Layer()(torch.zeros(2)), "Layer.forward: argument 'x' should have 2 dimensions")


def test_contracts_that_cannot_be():
    with pytest.raises(ValueError, match="2 parameters, its contract"):
        debug.shapes("A, B, C")(lambda x, y: x)
    with pytest.raises(ValueError, match="no parameter 'z'"):
        debug.shapes("z: A")(lambda x, y: x)
    with pytest.raises(TypeError, match="no annotation with a shape"):
        debug.shapes(lambda x: x)(1)


def test_one_line_switches_all_off():
    try:
        debug.enable_contracts(False)
        assert not debug.contracts_enabled()
        assert score(torch.zeros(5, 3), torch.zeros(3)).shape == (5,)
    finally:
        debug.enable_contracts(True)
    with config.override(contracts=False):
        score(torch.zeros(5, 3), torch.zeros(3))
    fails(lambda: score(torch.zeros(5, 3), torch.zeros(3)), "3 dimensions")


def test_the_environment_switches_all_off():
    code = "from pellucid import debug; print(debug.contracts_enabled())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PELLUCID_CONTRACTS": "0", "PATH": "", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_annotations_of_our_own():
    @debug.shapes
    def attend(
        q: debug.Float[torch.Tensor, "batch q dim"],
        k: debug.Float[torch.Tensor, "batch k dim"],
        mask: debug.Bool[torch.Tensor, "q k"] | None = None,
    ) -> tuple[debug.Float[torch.Tensor, "batch q k"], debug.Int[torch.Tensor, ""]]:
        return q @ k.transpose(1, 2), torch.tensor(3)

    q, k = torch.zeros(2, 3, 4), torch.zeros(2, 5, 4)
    attend(q, k)
    attend(q, k, torch.ones(3, 5, dtype=torch.bool))
    fails(lambda: attend(q, torch.zeros(2, 5, 6)), "dimension dim is 4 and 6")
    fails(lambda: attend(q, k, torch.ones(3, 4, dtype=torch.bool)), "dimension k is 5 and 4")
    fails(
        lambda: attend(q, k, torch.ones(3, 5)),
        "argument 'mask' should have a dtype among bool, got float32",
    )
    fails(lambda: attend(q, k.long()), "argument 'k' should have a dtype among float16")
    with pytest.raises(TypeError, match="write Float"):
        debug.Float["B"]
    assert repr(debug.Float[torch.Tensor, "B"]) == 'Float[Tensor, "B"]'


def test_annotations_in_the_manner_of_jaxtyping():
    """Classes with the attributes that jaxtyping puts on its annotations."""
    image = type(
        "Float[Tensor, 'n c=3 *grid']",
        (),
        {"dim_str": "n c=3 *grid", "dtypes": ["float32"], "array_type": torch.Tensor},
    )
    anything = type(
        "Shaped",
        (),
        {"dim_str": "n #m", "dtypes": types.SimpleNamespace(), "array_type": torch.Tensor},
    )

    def f(x, y):
        return x

    f.__annotations__ = {"x": image, "y": anything, "return": image}
    checked = debug.shapes(f)
    checked(torch.zeros(2, 3, 8, 8), torch.zeros(2, 1))
    fails(lambda: checked(torch.zeros(2, 4, 8), torch.zeros(2, 1)), "should have size 3, got 4")
    fails(lambda: checked(torch.zeros(2, 3), torch.zeros(9, 1)), "dimension n is 2 and 9")


@pytest.fixture(params=["ours", "jaxtyping"])
def kinds(request):
    """The module with Float, Int, Bool and Shaped: ours, and jaxtyping's where it is installed."""
    return debug if request.param == "ours" else pytest.importorskip("jaxtyping")


def annotated(function, **hints):
    function.__annotations__ = hints
    return debug.shapes(function)


def test_annotations_bind_across_arguments_and_results(kinds):
    T = torch.Tensor
    f = annotated(
        lambda x, w: x @ w,
        x=kinds.Float[T, "batch dim"],
        w=kinds.Float[T, "dim"],
        **{"return": kinds.Float[T, "batch"]},
    )
    f(torch.zeros(2, 3), torch.zeros(3))
    fails(lambda: f(torch.zeros(2, 3), torch.zeros(4)), "dimension dim is 3 and 4")
    fails(
        lambda: f(torch.zeros(2, 3).double().long(), torch.zeros(3)),
        "should have a dtype among",
        "float32",
        "got int64",
    )
    g = annotated(lambda x: x.sum(), x=kinds.Float[T, "n"], **{"return": kinds.Float[T, "n"]})
    fails(lambda: g(torch.zeros(3)), "the result should have 1 dimension")


def test_expressions_over_the_arguments(kinds):
    f = annotated(lambda size, x: x, x=kinds.Float[torch.Tensor, "{size} d {size}-1"])
    f(3, torch.zeros(3, 5, 2))
    fails(lambda: f(4, torch.zeros(3, 5, 2)), "should have size 4, got 3")


def test_unions_lists_and_variable_arguments(kinds):
    T = torch.Tensor
    one, two = kinds.Float[T, "b"], kinds.Float[T, "b d"]
    f = annotated(lambda x, y=None: x, x=typing.Union[one, two], y=typing.Optional[one])  # noqa: UP007, UP045  (as values, not in annotations)
    f(torch.zeros(2))
    f(torch.zeros(2, 3), torch.zeros(2))
    fails(lambda: f(torch.zeros(2, 3, 4)), "argument 'x' fits none of (b,) or (b, d)")
    fails(lambda: f(torch.zeros(2, 3), torch.zeros(3)), "dimension b is 2 and 3")

    def several(parts, *rest, **named):
        return parts

    g = annotated(several, parts=list[one], rest=one, named=kinds.Int[T, "b"])
    g([torch.zeros(2)] * 3, torch.zeros(2), labels=torch.arange(2))
    fails(
        lambda: g([torch.zeros(2), torch.zeros(3)]), "dimension b is 2 and 3", "argument 'parts'[1]"
    )
    fails(lambda: g([torch.zeros(2)], torch.zeros(3)), "argument 'rest'[0]")
    fails(
        lambda: g([torch.zeros(2)], labels=torch.zeros(2)),
        "argument 'named'['labels'] should have a dtype",
    )
    fails(lambda: g(torch.zeros(2)), "should hold several tensors, got Tensor")
