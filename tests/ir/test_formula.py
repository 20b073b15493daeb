"""The language of pointwise arithmetic: what formulas say, and that whoever computes them knows
their words.
"""

import numpy as np
import pytest

import pellucid as torch
from pellucid.arrays import numpy_cpu
from pellucid.arrays.formulas import forward_of
from pellucid.core.primitive import PRIMITIVES
from pellucid.ir.formula import ELEMENTARY, FORMULAS, Formula, word
from pellucid.kernels.pointwise.words import Words
from pellucid.llvm import math as functions
from pellucid.llvm.c_library import C_FUNCTIONS


def test_the_text_of_a_formula_has_each_value_once():
    def formula(m, x, *, slope):
        return m.where(x > 0, x, m.tanh(x) * slope + m.tanh(x))

    assert Formula(formula).text().splitlines() == [
        "%0 = greater x 0",
        "%1 = tanh x",
        "%2 = multiply %1 slope",
        "%3 = add %2 %1",
        "%4 = where %0 x %3",
        "return %4",
    ]
    assert Formula(formula).values == ("x",) and Formula(formula).numbers == ("slope",)


def test_several_results_numbers_ahead_and_other_operations():
    made = Formula(lambda m, x, y: (1 - x, abs(y) & ~x, m.softplus_of(x) / y)).text().splitlines()
    assert (
        made[0] == "%0 = subtract 1 x"
        and made[-1].startswith("return %0 ")
        and "log1p" in " ".join(made)
    )


def test_words():
    assert word("hypot").words() == {"hypot"} and word("nonsense") is None
    assert (
        word("pow").args == "power"
        and word("less").args == "compare"
        and word("where").masks == (0,)
    )
    assert FORMULAS["mul"].wide_numbers and not FORMULAS["sub"].wide_numbers


@pytest.mark.parametrize("name", FORMULAS)
def test_native_code_knows_the_words(name):
    known = (
        {w for w in dir(Words) if not w.startswith("_")}
        | set(C_FUNCTIONS)
        | set(functions.FUNCTIONS)
        | set(FORMULAS)
    )
    assert FORMULAS[name].words() <= known


@pytest.mark.parametrize("name", [n for n in FORMULAS if n in PRIMITIVES])
def test_numpy_knows_the_words(name):
    formula = FORMULAS[name]
    if PRIMITIVES[name].forward is not None and formula.words() <= {"largest"} | set(
        vars(np)
    ) | set(dir(numpy_cpu)):
        return
    pytest.fail(f"{sorted(formula.words())}")


def test_two_byte_floats_are_rounded_once(monkeypatch):
    formula = Formula(lambda m, x, *, by: m.sqrt(x) * by / 3)
    monkeypatch.setitem(FORMULAS, "scaled_root", formula)
    rule = forward_of("scaled_root", formula)
    for kind in ("float16", "bfloat16"):
        x = (
            np.random.default_rng(0)
            .random(200)
            .astype(np.float32)
            .astype(getattr(torch, kind).numpy)
        )
        want = (np.sqrt(x.astype(np.float32)) * np.float32(0.7) / np.float32(3)).astype(x.dtype)
        got = rule(numpy_cpu, x, by=0.7)
        assert got.dtype == x.dtype
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))


def test_elementary_functions_are_known_as_costly():
    assert FORMULAS["gelu"].words() & ELEMENTARY and FORMULAS["elu"].words() & ELEMENTARY
    assert not FORMULAS["hardswish"].words() & ELEMENTARY


def test_a_new_operation_is_in_loops_by_its_formula_alone():
    from pellucid.core.primitive import defop
    from pellucid.kernels.pointwise.loop import supports

    op = defop(
        "halved_sine",
        "x",
        formula=Formula(lambda m, x: m.sin(x) * 0.5),
        vjp={"x": lambda F, g, x: g * F.cos(x) * 0.5},
        elementwise=True,
    )
    try:
        assert supports("halved_sine", ("float32",), "float32")
        x = torch.linspace(-3, 3, 1000, requires_grad=True)
        run = torch.compile(lambda x: (op.call(x) + 1).sum())
        for _ in range(3):
            x.grad = None
            run(x).backward()
        np.testing.assert_allclose(
            x.grad.numpy(), np.cos(x.detach().numpy()) / 2, rtol=1e-5, atol=1e-6
        )
    finally:
        del PRIMITIVES["halved_sine"], FORMULAS["halved_sine"]
