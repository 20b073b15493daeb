"""Functions that differ in numbers alone share code, each with its own numbers."""

import gc
import threading

import numpy as np
import pytest

from pellucid.llvm import jit, target
from pellucid.llvm.lengths import Area, Filling, Lengths, read

needs_llvm = pytest.mark.skipif(not target.available(), reason="no vector unit, or no LLVM")


def scaled(factor: int, more: int) -> str:
    return f"""define i64 @f(i64 %x) {{
entry:
  %y = mul i64 %x, {factor}
  %z = add i64 %y, {more}
  ret i64 %z
}}
"""


def total(count: int, factor: str) -> str:
    """The sum of `count` numbers in memory on the stack, each `factor` times its position, and a
    vector of that factor.
    """
    return f"""define double @f(i64 %x) {{
entry:
  %b = alloca [{count} x double], align 64
  br i1 {"true" if count > 1 else "false"}, label %loop, label %done
loop:
  %i = phi i64 [ 1, %entry ], [ %j, %loop ]
  %r = sitofp i64 %i to double
  %v = fmul double %r, {factor}
  %p = getelementptr double, ptr %b, i64 %i
  store double %v, ptr %p, align 8
  %w = fadd <2 x double> splat (double {factor}), <double 0x0000000000000000, double 0x3FF0000000000000>
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, {count}
  br i1 %more, label %loop, label %done
done:
  %last = phi double [ 0x0000000000000000, %entry ], [ %v, %loop ]
  ret double %last
}}
"""


def made(lengths: Lengths, text: str, signature: str = "i>i"):
    filling = Filling(lengths.area)
    natives = lengths.compile(text, {"f": signature}, "a test", filling)
    return filling.around(natives["f"])


@needs_llvm
def test_one_code_serves_many_numbers():
    lengths = Lengths()
    functions = [made(lengths, scaled(k, 7)) for k in (2, 3)]
    before = dict(jit.statistics)
    functions += [made(lengths, scaled(k, 7)) for k in (4, 5, 100)]
    assert jit.statistics["compiled"] == before["compiled"]
    assert jit.statistics["loaded"] == before["loaded"]
    for _ in range(2):
        assert [f(10) for f in functions] == [27, 37, 47, 57, 1007]


@needs_llvm
def test_a_number_that_differs_later_gets_its_place():
    lengths = Lengths()
    functions = [made(lengths, scaled(*pair)) for pair in ((2, 7), (3, 7), (3, 8), (5, -1))]
    assert [f(10) for f in functions] == [27, 37, 38, 49]


@needs_llvm
def test_two_functions_of_one_family_in_one_schedule_have_a_table_each():
    lengths = Lengths()
    filling = Filling(lengths.area)
    lengths.note(scaled(1, 0), {"f": "i>i"})
    natives = [
        lengths.compile(scaled(k, 0), {"f": "i>i"}, "a test", filling)["f"] for k in (2, 3, 2)
    ]
    assert [filling.around(native)(10) for native in natives] == [20, 30, 20]


@needs_llvm
def test_numbers_of_all_kinds():
    lengths = Lengths()
    half, two = "0x3FE0000000000000", "0x4000000000000000"
    functions = [
        made(lengths, total(count, factor), "i>d")
        for count, factor in ((4, half), (9, two), (1, half), (300, two))
    ]
    assert [f(0) for f in functions] == [1.5, 16.0, 0.0, 598.0]


@needs_llvm
@pytest.mark.parametrize("kind", ["i64", "i32", "i16", "i8"])
def test_vectors_of_one_number(kind):
    def text(number: int) -> str:
        return f"""define i64 @f(i64 %x) {{
entry:
  %a = insertelement <4 x {kind}> poison, {kind} 1, i32 2
  %b = add <4 x {kind}> %a, splat ({kind} {number})
  %c = extractelement <4 x {kind}> %b, i32 2
  %d = {"add i64 0, %c" if kind == "i64" else f"sext {kind} %c to i64"}
  ret i64 %d
}}
"""

    lengths = Lengths()
    assert [made(lengths, text(k))(0) for k in (4, 5, -9, 64)] == [5, 6, -8, 65]


def test_a_text_is_its_pieces_and_numbers():
    text = total(9, "0x3FE0000000000000")
    assert read(text).written((), "none").startswith(text.rstrip("\n"))


def test_what_must_be_constant_is_no_gap():
    text = """define void @f(ptr %p) {
entry:
  %a = load <8 x i64>, ptr %p, align 8
  %b = add <8 x i64> %a, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %b, ptr %p, i32 8, <8 x i1> splat (i1 true))
  %c = extractelement <8 x i64> %b, i32 0
  ret void
}
"""
    assert read(text).values == ()
    assert "".join(read(text).pieces) == text


def test_types_are_part_of_the_family():
    assert read(scaled(2, 7)).family == read(scaled(3, 8)).family
    assert read(scaled(2, 7)).family != read(scaled(2, 7).replace("mul", "add")).family
    assert (
        read(scaled(2, 7)).family != read(scaled(2, 7).replace("add i64 %y", "add i32 %y")).family
    )


def waiting(factor: int) -> str:
    """`factor` times what memory holds, once it is not zero there."""
    return f"""define i64 @f(ptr %p) {{
entry:
  br label %loop
loop:
  %x = load atomic i64, ptr %p seq_cst, align 8
  %more = icmp eq i64 %x, 0
  br i1 %more, label %loop, label %done
done:
  %y = mul i64 %x, {factor}
  ret i64 %y
}}
"""


@needs_llvm
def test_functions_with_areas_of_their_own_run_at_the_same_time():
    flags = [np.zeros(1, np.int64) for _ in range(2)]
    first, second = Lengths(), Lengths()
    functions = [
        [made(lengths, waiting(k), "a>i") for k in (2, 3, 5 + n)]
        for n, lengths in enumerate((first, second))
    ]
    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(functions[0][2](flags[0])))
    thread.start()
    flags[1][0] = 10
    try:  # while the first one waits
        assert [f(flags[1]) for f in functions[1]] == [20, 30, 60]
    finally:
        flags[0][0] = 100
        thread.join()
    assert results == [500]


@needs_llvm
def test_tables_of_functions_that_are_gone_are_used_again():
    def tables() -> set[str]:
        lengths, filling = Lengths(), Filling(Area())
        names = set()
        for k in (2, 3):
            lengths.compile(scaled(k, 99), {"f": "i>i"}, "a test", filling)
            names |= filling._parts.keys()
        return names

    first = tables()
    gc.collect()
    assert first and tables() == first
