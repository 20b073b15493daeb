"""What is left out, and what is used again, while code is written."""

import pytest

from pellucid.llvm import jit, target
from pellucid.llvm.emit import Module

pytestmark = pytest.mark.skipif(not target.available(), reason="no compiler")


def instructions(f):
    return [line.strip() for line in f.text().splitlines()[2:-1]]


def test_arithmetic_with_known_numbers_needs_no_instruction():
    f = Module().function("f", x="i64", flag="i1")
    numbers = [f.x * 1 + 0, f.x - 0, f.x / 1, f.x >> 0, f.x | 0, 0 + f.x]
    assert {value.name for value in numbers} == {"%x"}
    assert [value.name for value in (f.x * 0, f.x % 1, f.x & 0)] == ["0"] * 3
    assert (f.const(6, "i64") * 7 - 2).name == "40" and f.const(3, "i64").compare(
        "slt", 4
    ).name == "true"
    assert [value.name for value in (f.flag & f.const(1, "i1"), f.flag | f.const(0, "i1"))] == [
        "%flag"
    ] * 2
    assert f.at(f.x, 0) is f.x and f.select(f.const(0, "i1"), f.x, 5).name == "5"
    assert instructions(f) == []


def test_a_choice_that_is_known_emits_one_side():
    f = Module().function("f", out="ptr")
    f.branch(
        f.const(2, "i64").compare("sgt", 1),
        lambda: f.store(f.const(7, "i64"), f.out),
        lambda: f.ret(),
    )
    assert instructions(f) == ["store i64 7, ptr %out, align 8"]


def test_the_same_text_is_computed_once_where_it_can_be_seen():
    f = Module().function("f", x="i64")
    assert (f.x + 5).name == (f.x + 5).name
    with f.when(f.x.compare("sgt", 3)):
        inside = f.x * 9
        assert (f.x * 9).name == inside.name and (f.x + 5).name == (f.x + 5).name
    assert (f.x * 9).name != inside.name  # what is computed in there need not have been


@pytest.mark.parametrize("x", [-4, 2, 9])
def test_values_of_one_branch_are_not_used_in_the_other_or_after(x):
    module = Module()
    f = module.function("f", returns="i64", x="i64")
    total = f.var("i64", 0)
    f.branch(f.x.compare("slt", 0), lambda: total.set(f.x * 9), lambda: total.set(f.x * 9 + 1))
    with f.loop(0, f.x) as i:
        total.set(total.get() + i * 3)
    with f.loop(0, f.x) as i:
        total.set(total.get() + i * 3 + f.x * 9)
    f.ret(total.get() + f.x * 9)
    expected = x * 9 + (x >= 0) + sum(i * 6 + x * 9 for i in range(x)) + x * 9
    assert jit.compile_ir(module.text(), {"f": "i>i"})["f"](x) == expected
